"""Which embedding keeps the distances: PCA, random projection and t-SNE of the digits."""

from __future__ import annotations

from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.random_projection import GaussianRandomProjection

import somscale as ss

digits = load_digits()
samples = digits.data / 16

embeddings = {
    "PCA": PCA(2, random_state=0).fit_transform(samples),
    "random": GaussianRandomProjection(2, random_state=0).fit_transform(samples),
    "t-SNE": TSNE(init="pca", random_state=0, max_iter=500).fit_transform(samples),
}
q = ss.evaluate(samples, embeddings)
table = q["value"].to_pandas().round(4).T
table["better"] = q["direction"].to_series()
print(table.to_string())
print("C and stress grow with the scale of an embedding, which t-SNE does not keep.\n")

# So compare stress at the scale that suits each embedding best, or correlations.  Every pair of
# samples counts, and most pairs are far apart: none of these indices says whether neighbours
# stay neighbours, which is what t-SNE is after.
forms = {form: ("metric_stress", {"form": form}) for form in ("normalized", "scale_normalized")}
stress = ss.evaluate(samples, embeddings, metrics=forms)["value"]
print(stress.to_pandas().round(4).T.to_string(), "\n")
best = q["value"].sel(metric="shepard_rank_correlation").idxmax("candidate").item()
print("distances keep their order best in:", best)

# The Shepard diagram says where: the mean embedded distance over the distance of the samples.
diagram = ss.metrics.shepard_diagram(samples, embeddings["PCA"], bins=8)
middle = (diagram.output_distance_low + diagram.output_distance_high) / 2
mean = (diagram * middle).sum("output_distance") / diagram.sum("output_distance")
for low, high, near in zip(
    diagram.input_distance_low.values, diagram.input_distance_high.values, mean.values, strict=True
):
    print(f"samples {low:4.2f} to {high:4.2f} apart: {near:4.2f} in the plane of PCA")

# A few hundred samples, compared with all others, tell nearly as much.
estimate = ss.metrics.metric_stress(samples, embeddings["PCA"], sample_anchors=200, seed=0)
print(f"\nstress of PCA from 200 anchors: {estimate.item():.4f} ± {estimate.standard_error:.4f}")
