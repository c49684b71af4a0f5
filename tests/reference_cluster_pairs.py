"""Indices of clusters from pairs of samples, as they are defined, from whole distance matrices.

Besides, the statistics that walks over pairs find, made from the same matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somscale.reductions.moments import MomentStats
from somscale.reductions.pair_stats import ClusterPairs, Extremes, Silhouettes

Floats = NDArray[np.float64]
Groups = list[NDArray[np.int64]]


# --- distances


def between(x: Any, y: Any, distance: str = "euclidean", p: float = 2) -> float:
    """The distance of two vectors."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if distance in ("cosine", "correlation"):
        if distance == "correlation":
            x, y = x - x.mean(), y - y.mean()
        return float(1 - x @ y / math.sqrt((x @ x) * (y @ y)))
    away = np.abs(x - y)
    named: dict[str, Callable[[], Any]] = {
        "euclidean": lambda: np.sqrt((away**2).sum()),
        "sqeuclidean": lambda: (away**2).sum(),
        "cityblock": lambda: away.sum(),
        "chebyshev": lambda: away.max(),
        "minkowski": lambda: (away**p).sum() ** (1 / p),
    }
    return float(named[distance]())


def matrix(samples: Any, distance: str = "euclidean", p: float = 2) -> Floats:
    """All distances of samples, (N, N)."""
    values = np.asarray(samples, np.float64)
    if distance == "euclidean":
        return np.array([np.sqrt(((values - x) ** 2).sum(axis=1)) for x in values])
    return np.array([[between(x, y, distance, p) for y in values] for x in values])


def members(clusters: Any) -> Groups:
    """The samples of every cluster, in the order of the clusters' names."""
    names = np.asarray(clusters)
    return [np.flatnonzero(names == name) for name in np.unique(names)]


def pairs_of(rows: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    return combinations(rows.tolist(), 2)


def centred(samples: Any) -> Floats:
    """Samples about one of them, so that means lose no digit far from 0."""
    values = np.asarray(samples, np.float64)
    return np.asarray(values - values[0])


def means(samples: Any, clusters: Any) -> Floats:
    """Centroids of centred samples; that of equal samples is one of them, without rounding."""
    values = centred(samples)
    found = []
    for rows in members(clusters):
        own = values[rows]
        found.append(own[0] if (own == own[0]).all() else own.mean(axis=0))
    return np.array(found)


# --- clusters


def mean_distance(d: Floats, clusters: Any) -> list[float]:
    found = []
    for rows in members(clusters):
        inside = [d[i, j] for i, j in pairs_of(rows)]
        found.append(math.fsum(inside) / len(inside) if inside else 0.0)
    return found


def diameter(d: Floats, clusters: Any) -> list[float]:
    return [float(d[np.ix_(rows, rows)].max()) for rows in members(clusters)]


def separation(d: Floats, clusters: Any) -> list[float]:
    found = []
    for rows in members(clusters):
        rest = np.setdiff1d(np.arange(len(d)), rows)
        found.append(float(d[np.ix_(rows, rest)].min()) if len(rest) else math.nan)
    return found


def linked(d: Floats, clusters: Any, linkage: str) -> Floats:
    named: dict[str, Callable[[Floats], Any]] = {
        "single": np.min,
        "complete": np.max,
        "average": np.mean,
    }
    reduce = named[linkage]
    groups = members(clusters)
    table = np.zeros((len(groups), len(groups)))
    for k, a in enumerate(groups):
        for m, b in enumerate(groups):
            if k != m:
                table[k, m] = reduce(d[np.ix_(a, b)])
    return table


# --- Davies-Bouldin and Dunn


def davies_bouldin(
    samples: Any,
    clusters: Any,
    dispersion: str = "pairwise",
    distance: str = "euclidean",
    p: float = 2,
) -> float:
    values, groups, centres = centred(samples), members(clusters), means(samples, clusters)
    if len(groups) < 2:
        return math.nan
    if dispersion == "pairwise":
        spread = mean_distance(matrix(samples, distance, p), clusters)
    else:
        spread = []
        for rows, centre in zip(groups, centres, strict=True):
            away = np.array([between(x, centre) for x in values[rows]])
            rms = math.sqrt((away**2).mean())
            spread.append(rms if dispersion == "rms" else float(away.mean()))
    worst = []
    for k, centre in enumerate(centres):
        ratios = [
            _ratio(spread[k] + spread[m], between(centre, other, distance, p))
            for m, other in enumerate(centres)
            if m != k
        ]
        worst.append(math.nan if any(map(math.isnan, ratios)) else max(ratios))
    return math.nan if any(map(math.isnan, worst)) else math.fsum(worst) / len(worst)


def _ratio(over: float, under: float) -> float:
    if under:
        return over / under
    return math.inf if over else math.nan


def dunn(d: Floats, clusters: Any) -> float:
    if len(members(clusters)) < 2:
        return math.nan
    return _ratio(min(separation(d, clusters)), max(diameter(d, clusters)))


def generalized_dunn(
    samples: Any,
    clusters: Any,
    delta: str,
    width: str,
    distance: str = "euclidean",
    p: float = 2,
) -> float:
    groups = members(clusters)
    if len(groups) < 2:
        return math.nan
    d, values, centres = matrix(samples, distance, p), centred(samples), means(samples, clusters)

    def to(rows: NDArray[np.int64], cluster: int) -> list[float]:
        return [between(values[i], centres[cluster], distance, p) for i in rows]

    def apart(k: int, m: int) -> float:
        a, b = groups[k], groups[m]
        block = d[np.ix_(a, b)]
        forms: dict[str, Callable[[], Any]] = {
            "single": lambda: block.min(),
            "complete": lambda: block.max(),
            "average": lambda: block.mean(),
            "centroid": lambda: between(centres[k], centres[m], distance, p),
            "average_to_centroid": lambda: np.mean(to(a, m) + to(b, k)),
            "hausdorff": lambda: max(block.min(axis=1).max(), block.min(axis=0).max()),
        }
        return float(forms[delta]())

    widths: dict[str, Callable[[], list[float]]] = {
        "complete": lambda: diameter(d, clusters),
        "average": lambda: mean_distance(d, clusters),
        "centroid": lambda: [2 * float(np.mean(to(rows, k))) for k, rows in enumerate(groups)],
    }
    nearest = min(apart(k, m) for k, m in combinations(range(len(groups)), 2))
    return _ratio(nearest, max(widths[width]()))


# --- silhouettes


def silhouettes(d: Floats, clusters: Any) -> Floats:
    """Silhouettes of all samples from their distances, or from whatever else stands in d."""
    groups, found = members(clusters), np.full(len(d), math.nan)
    for rows in groups:
        rest = [other for other in groups if other is not rows]
        for i in rows if rest else ():
            if len(rows) == 1:
                found[i] = 0.0
                continue
            own = math.fsum(d[i, rows[rows != i]]) / (len(rows) - 1)
            nearest = min(math.fsum(d[i, other]) / len(other) for other in rest)
            found[i] = _silhouette(own, nearest)
    return found


def centroid_silhouettes(samples: Any, clusters: Any) -> Floats:
    """The same with distances to centroids in the place of mean distances."""
    groups, found = members(clusters), np.full(len(samples), math.nan)
    values, centres = centred(samples), means(samples, clusters)
    for k, rows in enumerate(groups):
        for i in rows if len(groups) > 1 else ():
            away = [between(values[i], centre) for centre in centres]
            own = away.pop(k)
            found[i] = _silhouette(own, min(away)) if len(rows) > 1 else 0.0
    return found


def _silhouette(own: float, nearest: float) -> float:
    larger = max(own, nearest)
    return (nearest - own) / larger if larger else math.nan


def averaged(values: Floats, clusters: Any, average: str) -> float:
    """Mean over samples, or over the means of clusters; nan if all are clusters alone."""
    groups = members(clusters)
    if max(map(len, groups)) == 1:
        return math.nan
    if average == "micro":
        return float(np.mean(values))
    return float(np.mean([values[rows].mean() for rows in groups]))


# --- what walks find


def codes_of(clusters: Any) -> tuple[NDArray[np.int64], int]:
    """Clusters by number, and how many there are."""
    names, codes = np.unique(np.asarray(clusters), return_inverse=True)
    return codes.astype(np.int64), len(names)


def moment_stats(samples: Any, codes: Any, n_clusters: int) -> MomentStats:
    """Moments of samples; those of code −1 take no part."""
    values, codes = np.asarray(samples, np.float64), np.asarray(codes)
    taken = codes >= 0
    origin, hits = values[taken][0], np.bincount(codes[taken], minlength=n_clusters)
    offsets = np.zeros((n_clusters, values.shape[1]))
    offsets[hits > 0] = means(np.vstack([origin, values[taken]]), [-1, *codes[taken]])[1:]
    squares, distances = np.zeros(n_clusters), np.zeros(n_clusters)
    for k in range(n_clusters):
        away = values[codes == k] - origin - offsets[k]
        squares[k] = (away**2).sum()
        distances[k] = np.sqrt((away**2).sum(axis=1)).sum()
    mass = hits.astype(np.float64)
    return MomentStats(hits, mass, origin, offsets, offsets, squares, distances)


def cluster_pairs(
    d: Floats,
    codes: Any,
    n_clusters: int,
    fields: Collection[str] = ("between", "largest", "smallest", "hausdorff"),
    to_centroids: Floats | None = None,
) -> ClusterPairs:
    """Sums and extremes over pairs, with the tables that are asked for."""
    codes = np.asarray(codes)
    groups = [np.flatnonzero(codes == k) for k in range(n_clusters)]
    tables = {
        "between": np.zeros((n_clusters, n_clusters)),
        "largest": np.full((n_clusters, n_clusters), -np.inf),
        "smallest": np.full((n_clusters, n_clusters), np.inf),
        "hausdorff": np.full((n_clusters, n_clusters), np.nan),
    }
    for k, a in enumerate(groups):
        for m, b in enumerate(groups):
            block = d[np.ix_(a, b)]
            if k == m:
                block = block[np.triu_indices(len(a), 1)]
            if block.size:
                # the same digits either way
                tables["between"][k, m] = block.sum() if k <= m else tables["between"][m, k]
                tables["largest"][k, m] = block.max()
                tables["smallest"][k, m] = block.min()
            if block.ndim == 2 and block.size:
                tables["hausdorff"][k, m] = block.min(axis=1).max()
    return ClusterPairs(
        hits=np.array([len(rows) for rows in groups]),
        within=tables["between"].diagonal().copy(),
        to_centroids=to_centroids if "to_centroids" in fields else None,
        **{name: table for name, table in tables.items() if name in fields},
    )


def sums_to_centroids(
    samples: Any, codes: Any, n_clusters: int, distance: str = "euclidean", p: float = 2
) -> Floats:
    """Σ d(x, μ_l) over the samples x of cluster k, at [k, l]."""
    stats = moment_stats(samples, codes, n_clusters)
    values = np.asarray(samples, np.float64) - stats.origin
    sums = np.zeros((n_clusters, n_clusters))
    for code, x in zip(codes, values, strict=True):
        if code >= 0:
            sums[code] += [between(x, centre, distance, p) for centre in stats.offsets]
    return sums


def extremes(d: Floats, codes: Any, n_clusters: int) -> Extremes:
    """Diameters, and the smallest distance between two clusters."""
    codes = np.asarray(codes)
    groups = [np.flatnonzero(codes == k) for k in range(n_clusters)]
    apart = (codes[:, None] != codes) & (codes >= 0) & (codes[:, None] >= 0)
    return Extremes(
        hits=np.array([len(rows) for rows in groups]),
        diameters=np.array([d[np.ix_(g, g)].max() if len(g) else np.nan for g in groups]),
        separation=float(d[apart].min()) if apart.any() else math.inf,
    )


def silhouette_stats(values: Floats, codes: Any, n_clusters: int) -> Silhouettes:
    """Sums of the silhouettes of samples; those of code −1 take no part."""
    codes = np.asarray(codes)
    sums = [values[codes == k].sum() for k in range(n_clusters)]
    hits = np.bincount(codes[codes >= 0], minlength=n_clusters)
    return Silhouettes(hits, np.array(sums), np.where(codes >= 0, values, np.nan))
