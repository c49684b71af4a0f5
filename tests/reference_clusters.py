"""Indices of samples and clusters as they are defined, in plain loops over exact fractions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

Point: TypeAlias = tuple[Fraction, ...]


def groups(samples: Iterable[Sequence[float]], clusters: Iterable[Any]) -> dict[Any, list[Point]]:
    """The samples of every cluster, in the order of the clusters' names."""
    found: dict[Any, list[Point]] = {}
    for sample, cluster in zip(samples, clusters, strict=True):
        found.setdefault(cluster, []).append(tuple(Fraction(float(x)) for x in sample))
    return dict(sorted(found.items()))


def mean(points: Sequence[Point]) -> Point:
    """The exact mean of some points."""
    return tuple(sum(values, Fraction()) / len(points) for values in zip(*points, strict=True))


def square(a: Point, b: Point) -> Fraction:
    """The exact squared distance of two points."""
    return sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Fraction())


def root(value: Fraction) -> float:
    """A root that neither overflows nor underflows on the way."""
    return math.sqrt(value)


def cluster_sizes(samples: Any, clusters: Any) -> list[int]:
    return [len(points) for points in groups(samples, clusters).values()]


def centroids(samples: Any, clusters: Any) -> list[list[float]]:
    return [[float(x) for x in mean(points)] for points in groups(samples, clusters).values()]


def scatters(samples: Any, clusters: Any) -> list[Fraction]:
    return [
        sum((square(x, mean(points)) for x in points), Fraction())
        for points in groups(samples, clusters).values()
    ]


def cluster_within_scatter(samples: Any, clusters: Any) -> list[float]:
    return [float(scatter) for scatter in scatters(samples, clusters)]


def cluster_radius(samples: Any, clusters: Any) -> list[float]:
    pairs = zip(scatters(samples, clusters), cluster_sizes(samples, clusters), strict=True)
    return [root(scatter / size) for scatter, size in pairs]


def cluster_dispersion(samples: Any, clusters: Any) -> list[float]:
    return [
        math.fsum(root(square(x, mean(points))) for x in points) / len(points)
        for points in groups(samples, clusters).values()
    ]


def centroid_distances(samples: Any, clusters: Any) -> list[list[float]]:
    centres = [mean(points) for points in groups(samples, clusters).values()]
    return [[root(square(a, b)) for b in centres] for a in centres]


def within(samples: Any, clusters: Any) -> Fraction:
    return sum(scatters(samples, clusters), Fraction())


def between(samples: Any, clusters: Any) -> Fraction:
    found = groups(samples, clusters)
    middle = mean([x for points in found.values() for x in points])
    return sum((len(p) * square(mean(p), middle) for p in found.values()), Fraction())


def within_scatter(samples: Any, clusters: Any) -> float:
    return float(within(samples, clusters))


def between_scatter(samples: Any, clusters: Any) -> float:
    return float(between(samples, clusters))


def r_squared(samples: Any, clusters: Any) -> float:
    b, total = between(samples, clusters), between(samples, clusters) + within(samples, clusters)
    return float(b / total) if total else math.nan


def calinski_harabasz_score(samples: Any, clusters: Any) -> float:
    n, k = len(samples), len(groups(samples, clusters))
    b, w = between(samples, clusters), within(samples, clusters)
    if k < 2 or n <= k or (b == 0 and w == 0):
        return math.nan
    return float((b / (k - 1)) / (w / (n - k))) if w else math.inf


def xie_beni_index(samples: Any, clusters: Any) -> float:
    centres = [mean(points) for points in groups(samples, clusters).values()]
    if len(centres) < 2:
        return math.nan
    nearest = min(square(a, b) for i, a in enumerate(centres) for b in centres[:i])
    error = within(samples, clusters) / len(samples)
    if nearest:
        return float(error / nearest)
    return math.inf if error else math.nan


def davies_bouldin_score(samples: Any, clusters: Any) -> float:
    return _davies_bouldin(samples, clusters, cluster_dispersion(samples, clusters))


def davies_bouldin_rms(samples: Any, clusters: Any) -> float:
    return _davies_bouldin(samples, clusters, cluster_radius(samples, clusters))


def _davies_bouldin(samples: Any, clusters: Any, spread: Sequence[float]) -> float:
    apart, count = centroid_distances(samples, clusters), len(spread)
    if count < 2:
        return math.nan
    worst = []
    for k in range(count):
        ratios = []
        for other in range(count):
            both = spread[k] + spread[other]
            if other == k:
                continue
            if apart[k][other]:
                ratios.append(both / apart[k][other])
            else:
                ratios.append(math.inf if both else math.nan)
        worst.append(math.nan if any(map(math.isnan, ratios)) else max(ratios))
    return math.nan if any(map(math.isnan, worst)) else math.fsum(worst) / count
