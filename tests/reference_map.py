"""What the tests of map indices compare with: each index straight from its article.

Nothing is quick or clever, and nothing is taken from somscale.  Samples are (N, D),
codes (K, D); δ and adjacency are (K, K) tables; best and second are (N,).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import reference
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def shortest_paths(adjacent: Bools, lengths: Floats) -> Floats:
    """Floyd and Warshall: the smallest Σ of lengths over paths of neighbours, (K, K)."""
    paths = np.where(adjacent, lengths, np.inf)
    np.fill_diagonal(paths, 0)
    for middle in range(len(paths)):
        paths = np.minimum(paths, paths[:, middle, None] + paths[middle])
    return paths


def combined_errors(samples: Any, codes: Any, adjacent: Bools, *, squared: bool) -> Floats:
    """d(x, m_b1) + the shortest path over the map from b1 to b2, of every sample, (N,)."""
    best, second = reference.best_two(samples, codes)
    lengths = reference.squared_distances(codes, codes)
    errors = reference.smallest_squares(samples, codes)
    if not squared:
        lengths, errors = np.sqrt(lengths), np.sqrt(errors)
    return errors + shortest_paths(adjacent, lengths)[best, second]


def connectivity(best: Ints, second: Ints, size: int) -> Bools:
    """Which units are the two best of some sample, either way, (K, K)."""
    table = np.zeros((size, size), bool)
    for one, other in zip(best, second, strict=True):
        if other >= 0:
            table[one, other] = table[other, one] = True
    return table


def topographic_function(connected: Bools, delta: Floats, k: float) -> int:
    """Σ_c #{c′ : connected(c, c′), δ(c, c′) > k}."""
    return sum(int((connected[c] & (delta[c] > k)).sum()) for c in range(len(delta)))


def villmann(connected: Bools, max_norm: Floats, adjacent: Bools, k: float) -> int:
    """k > 0: connected, but far on the map; k < 0: adjacent, but far among the connected."""
    if k == 0:
        return villmann(connected, max_norm, adjacent, 1) + villmann(
            connected, max_norm, adjacent, -1
        )
    if k > 0:
        return topographic_function(connected, max_norm, k)
    return topographic_function(adjacent, reference.hops(connected), -k)


def weighted_function(best: Ints, second: Ints, delta: Floats, k: float) -> float:
    """Share of samples whose two best units are more than k − 1 and at most k apart."""
    return float(np.mean([k - 1 < delta[i, j] <= k for i, j in zip(best, second, strict=True)]))


def u_matrix(codes: Floats, adjacent: Bools) -> list[float]:
    """Mean distance of each code to those of its neighbours; nan where there are none."""
    lengths = np.sqrt(reference.squared_distances(codes, codes))
    return [
        math.fsum(row[near]) / near.sum() if near.any() else math.nan
        for row, near in zip(lengths, adjacent, strict=True)
    ]


def entropy(counts: Any) -> float:
    """−Σ p ln p in nats."""
    whole = sum(counts)
    return -math.fsum(n / whole * math.log(n / whole) for n in counts if n)


def davies_bouldin(samples: Any, codes: Any) -> float:
    """Mean over units with samples of max (s_u + s_v) / ‖m_u − m_v‖; nan where undefined."""
    best, _ = reference.best_two(samples, codes)
    distances = np.sqrt(reference.smallest_squares(samples, codes))
    between = np.sqrt(reference.squared_distances(codes, codes))
    spread = {int(u): math.fsum(distances[best == u]) / (best == u).sum() for u in np.unique(best)}
    if len(spread) < 2 or any(between[u, v] == 0 for u in spread for v in spread if u != v):
        return math.nan
    worst = [max((spread[u] + spread[v]) / between[u, v] for v in spread if u != v) for u in spread]
    return math.fsum(worst) / len(worst)


def class_scatter(labels: Any, units: Any, adjacent: Bools) -> float:
    """Mean over the classes that occur of the connected groups of the units that hold them."""
    groups = []
    for label in set(labels):
        left = {int(u) for u, own in zip(units, labels, strict=True) if own == label}
        found = 0
        while left:
            found += 1
            reached = [left.pop()]
            while reached:
                unit = reached.pop()
                near = {other for other in left if adjacent[unit, other]}
                left -= near
                reached += near
        groups.append(found)
    return sum(groups) / len(groups)


def counts_of_units(labels: Any, units: Any) -> dict[int, Counter[Any]]:
    """How often each class occurs in each unit that has samples."""
    found: dict[int, Counter[Any]] = {}
    for label, unit in zip(labels, units, strict=True):
        found.setdefault(int(unit), Counter())[label] += 1
    return found


def entropy_sum(labels: Any, units: Any) -> float:
    """Σ over units with samples of −ln of the share of the most frequent class."""
    table = counts_of_units(labels, units)
    return math.fsum(-math.log(max(c.values()) / c.total()) for c in table.values())


def unit_entropy(labels: Any, units: Any) -> float:
    """Mean over samples of the entropy of the labels in their units."""
    table = counts_of_units(labels, units)
    parts = [counts.total() / len(units) * entropy(counts.values()) for counts in table.values()]
    return math.fsum(parts)


def _mean_of_ties(values: Any, by: Any) -> list[float]:
    """Values in the order of `by`, each the mean of those that are equal in it (to 1e-12)."""
    order = np.argsort(by, kind="stable")
    found: list[float] = []
    group = [int(order[0])]
    for before, after in itertools.pairwise(order):
        if by[after] - by[before] > 1e-12 * by[after]:
            found += [math.fsum(values[i] for i in group) / len(group)] * len(group)
            group = []
        group.append(int(after))
    return found + [math.fsum(values[i] for i in group) / len(group)] * len(group)


def topographic_products(codes: Floats, delta: Floats) -> list[float]:
    """Mean over k of ln P3(j, k) of every unit; nan where a distance is 0."""
    codes = codes / (np.abs(codes).max() or 1)  # squares of what is minute underflow
    distances, products = np.sqrt(reference.squared_distances(codes, codes)), []
    for j in range(len(codes)):
        d, e = np.delete(distances[j], j), np.delete(delta[j], j)
        if not (d.all() and e.all()):
            products.append(math.nan)
            continue
        log_d, log_e = np.log(d), np.log(e)
        q1 = np.subtract(_mean_of_ties(log_d, e), _mean_of_ties(log_d, d))
        q2 = np.subtract(_mean_of_ties(log_e, e), _mean_of_ties(log_e, d))
        logs = [math.fsum(q1[:k] + q2[:k]) / (2 * k) for k in range(1, len(codes))]
        products.append(math.fsum(logs) / len(logs))
    return products


def intruders(codes: Floats, adjacent: Bools) -> Floats:
    """Units inside the sphere between the codes of neighbours, (K, K); 0 for no neighbours."""
    codes = codes / (np.abs(codes).max() or 1)
    squares = reference.squared_distances(codes, codes)
    found = np.zeros(adjacent.shape)
    for u, v in np.argwhere(adjacent):
        inside = squares[u] + squares[v] < squares[u, v] * (1 - 1e-12)
        found[u, v] = inside.sum()
    return found


def conn_index(best: Ints, second: Ints, clusters: Any) -> float:
    """Intra (1 − Inter), cluster by cluster; clusters without samples left out."""
    size = len(clusters)
    cadj = np.zeros((size, size))
    for u, v in zip(best, second, strict=True):
        cadj[u, v] += 1
    conn = cadj + cadj.T
    intra, inter = [], []
    for k in set(clusters):
        own = clusters == k
        if not cadj[own].sum():
            continue
        intra.append(cadj[own][:, own].sum() / cadj[own].sum())
        shares = [0.0]
        for other in set(clusters) - {k}:
            far = clusters == other
            touching = own & (cadj[:, far].sum(axis=1) > 0)
            if touching.any():
                shares.append(min(1.0, conn[own][:, far].sum() / conn[touching].sum()))
        inter.append(max(shares))
    return float(np.mean(intra) * (1 - np.mean(inter)))


def ks_distance(samples: Any, codes: Any) -> float:
    """Largest |F_N(t) − F_K(t)| over all values t of either."""
    points = [*samples, *codes]
    return max(float(abs(np.mean(samples <= t) - np.mean(codes <= t))) for t in points)


def ways(samples: Any, codes: Floats, adjacent: Bools) -> Floats:
    """Lengths of the ways between samples over their units, (N, N)."""
    best, _ = reference.best_two(samples, codes)
    paths = shortest_paths(adjacent, np.sqrt(reference.squared_distances(codes, codes)))
    reach = np.sqrt(reference.smallest_squares(samples, codes))
    return reach[:, None] + paths[best][:, best] + reach


def map_distance(one: Floats, two: Floats) -> float:
    """Mean over pairs i < j of |d_L − d_M| / (d_L + d_M), 0 where both are."""
    shares = [
        abs(one[i, j] - two[i, j]) / (one[i, j] + two[i, j]) if one[i, j] + two[i, j] else 0.0
        for i in range(len(one))
        for j in range(i + 1, len(one))
    ]
    return math.fsum(shares) / len(shares)
