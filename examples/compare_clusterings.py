"""How many clusters: clusterings against known classes, and what to do with noise."""

from __future__ import annotations

from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

import somscale as ss

iris = load_iris()
species = iris.target_names[iris.target]  # labels may be texts
samples = StandardScaler().fit_transform(iris.data)

candidates = {
    f"k={k}": KMeans(k, n_init=10, random_state=0).fit_predict(samples) for k in (2, 3, 4)
}
candidates["dbscan"] = DBSCAN(eps=0.6).fit_predict(samples)  # -1 is noise

q = ss.evaluate(None, candidates, labels=species, noise="ignore")
print(q["value"].to_pandas().round(4).T.to_string(), "\n")
print("pairs of flowers that each clustering keeps together or apart:")
print(q["pair_counts"].to_pandas().to_string(), "\n")

best = q["value"].sel(metric="adjusted_rand_score").idxmax("candidate").item()
print("nearest to the species by the adjusted Rand index:", best)
