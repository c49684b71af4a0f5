"""Whether neighbours stay neighbours: PCA, a random plane and t-SNE of digits, judged by ranks."""

from __future__ import annotations

from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.random_projection import GaussianRandomProjection

import somscale as ss

digits = load_digits()
samples, labels = digits.data[:800] / 16, digits.target[:800]

embeddings = {
    "PCA": PCA(2, random_state=0).fit_transform(samples),
    "random": GaussianRandomProjection(2, random_state=0).fit_transform(samples),
    "t-SNE": TSNE(init="pca", random_state=0, max_iter=300).fit_transform(samples),
}

# All embeddings and indices share one walk over the samples, at as many K as one likes.
indices = ["trustworthiness", "continuity", "r_nx", "neighborhood_hit"]
q = ss.evaluate(samples, embeddings, metrics=indices, labels=labels, k=[5, 20, 100])
for index in indices:
    print(f"{index}, {q[index].attrs['direction']} is better")
    print(q[index].to_pandas().round(3).to_string(), "\n")

# The area under R_NX over ln K weighs every scale alike: one number for a ranking of candidates.
scores = ss.evaluate(samples, embeddings, metrics=["auc_r_nx", "k_max"])["value"]
print(scores.to_pandas().round(3).to_string(), "\n")

# Q' asks two things apart: which neighbours matter (kappa_s), and by how many ranks they may move
# (kappa_t).  The whole surface is one pass; as a heat map it is surface.plot(x="kappa_t").
ranks = ss.CoRanking(samples)
surface = ranks.evaluate(embeddings["t-SNE"], kappa_s="all", kappa_t=range(200), norm="region")
cells = surface.sel(kappa_s=[5, 20, 100, 400], kappa_t=[0, 5, 20, 100])
print("Q' of t-SNE, as the share of near pairs:")
print(cells.to_pandas().round(3).to_string(), "\n")

# Point by point: whom the plane misplaces.
quality = ranks.pointwise(embeddings["t-SNE"], kappa_s=20, kappa_t=20)
by_digit = quality.groupby(quality.copy(data=labels).rename("digit")).mean()
print("mean Q'_i of t-SNE by digit:")
print(by_digit.to_series().round(2).to_frame().T.to_string(header=True, index=False), "\n")

# A hundred samples, ranked against all others, tell nearly as much.
estimate = ss.metrics.trustworthiness(samples, embeddings["t-SNE"], k=20, sample_anchors=100)
error = estimate.standard_error.item()
print(f"trustworthiness of t-SNE from 100 anchors: {estimate.item():.3f} ± {error:.3f}")
