"""Indices of maps as their articles write them, pair by pair, for maps of a few units.

Products are products here, paths are walked one step at a time and nothing is put in logs,
sorted in place or taken from somscale: what :mod:`reference_map` has in closed form is
here in the first form that one would write down.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
from scipy import stats


def distance(one: Any, two: Any) -> float:
    """Euclidean, of two vectors."""
    return math.sqrt(math.fsum((float(a) - float(b)) ** 2 for a, b in zip(one, two, strict=True)))


def two_best(sample: Any, codes: Any) -> tuple[int, int]:
    """The nearest and the second-nearest code of a sample, the first of equals."""
    order = sorted(range(len(codes)), key=lambda u: (distance(sample, codes[u]), u))
    return order[0], order[1] if len(order) > 1 else -1


def topographic_product(codes: Any, delta: Any) -> float:
    """Bauer & Pawelzik: the mean of ln P3 where no two distances of a unit are equal."""
    size, logs = len(codes), []
    for j in range(size):
        others = [u for u in range(size) if u != j]
        on_map = sorted(others, key=lambda u: delta[j][u])
        in_data = sorted(others, key=lambda u: distance(codes[j], codes[u]))
        for k in range(1, size):
            product = 1.0
            for far, near in zip(on_map[:k], in_data[:k], strict=True):
                q1 = distance(codes[j], codes[far]) / distance(codes[j], codes[near])
                q2 = delta[j][far] / delta[j][near]
                product *= q1 * q2
            logs.append(math.log(product ** (1 / (2 * k))))
    return math.fsum(logs) / len(logs)


def steps(start: int, neighbors: list[set[int]]) -> dict[int, int]:
    """Steps from a unit to every unit that can be reached."""
    found, queue = {start: 0}, deque([start])
    while queue:
        unit = queue.popleft()
        for other in sorted(neighbors[unit] - set(found)):
            found[other] = found[unit] + 1
            queue.append(other)
    return found


def villmann(samples: Any, codes: Any, adjacent: Any, max_norm: Any, k: int) -> int:
    """Villmann et al.: Σ_j f_j(k), both signs."""
    size = len(codes)
    if k == 0:
        return sum(villmann(samples, codes, adjacent, max_norm, own) for own in (1, -1))
    induced: list[set[int]] = [set() for _ in range(size)]
    for sample in samples:
        best, second = two_best(sample, codes)
        if second >= 0:
            induced[best].add(second)
            induced[second].add(best)
    if k > 0:
        return sum(max_norm[j][i] > k for j in range(size) for i in induced[j])
    walks = [steps(j, induced) for j in range(size)]
    return sum(
        walks[j].get(i, math.inf) > -k for j in range(size) for i in range(size) if adjacent[j][i]
    )


def zrehen(codes: Any, adjacent: Any) -> int:
    """Zrehen: codes nearer than both ends to the middle of the line between neighbours.

    Where the line leads past another unit's cell it does so about its middle.
    """
    count = 0
    for u in range(len(codes)):
        for v in range(u):
            if not adjacent[u][v]:
                continue
            middle = [(a + b) / 2 for a, b in zip(codes[u], codes[v], strict=True)]
            reach = distance(codes[u], codes[v]) / 2
            count += sum(distance(code, middle) < reach * (1 - 1e-9) for code in codes)
    return count


def conn_index(samples: Any, codes: Any, clusters: Any) -> float:
    """Taşdemir & Merényi: Intra (1 − Inter), each ratio 1 at most, of clusters with samples."""
    size, names = len(codes), sorted(set(clusters))
    cadj = [[0] * size for _ in range(size)]
    for sample in samples:
        best, second = two_best(sample, codes)
        cadj[best][second] += 1

    def conn(u: int, v: int) -> int:
        return cadj[u][v] + cadj[v][u]

    members = {k: [u for u in range(size) if clusters[u] == k] for k in names}
    every, intra, inter = range(size), [], []
    for k in names:
        whole = sum(cadj[u][v] for u in members[k] for v in every)
        if not whole:
            continue
        intra.append(sum(cadj[u][v] for u in members[k] for v in members[k]) / whole)
        worst = 0.0
        for other in names:
            border = [u for u in members[k] if any(cadj[u][v] for v in members[other])]
            if other == k or not border:
                continue
            shared = sum(conn(u, v) for u in members[k] for v in members[other])
            worst = max(worst, min(1, shared / sum(conn(u, v) for u in border for v in every)))
        inter.append(worst)
    return float(np.mean(intra) * (1 - np.mean(inter)))


def embedding_accuracy(samples: Any, codes: Any, *, weighted: bool) -> float:
    """Hamel: features that the Kolmogorov-Smirnov test does not tell apart at 5 %."""
    shares = np.var(samples, axis=0, ddof=1) if weighted else np.ones(samples.shape[1])
    if weighted:
        shares[np.ptp(samples, axis=0) == 0] = 0
    n, k, held = len(samples), len(codes), 0.0
    for f, share in enumerate(shares):
        gap = max(
            abs(np.mean(samples[:, f] <= t) - np.mean(codes[:, f] <= t))
            for t in [*samples[:, f], *codes[:, f]]
        )
        x = gap * math.sqrt(n * k / (n + k))
        terms = [(-1) ** (i - 1) * math.exp(-2 * i * i * x * x) for i in range(1, 400)]
        held += share * (x < 0.1 or 2 * math.fsum(terms) > 0.05)
    return float(held / shares.sum())


def embedding_by_moments(samples: Any, codes: Any) -> float:
    """Hamel & Ott: share of variance of the features whose intervals hold 0 and 1."""
    n, k, held = len(samples), len(codes), 0.0
    shares = np.var(samples, axis=0, ddof=1)
    for f, share in enumerate(shares):
        low, high = stats.ttest_ind(
            codes[:, f], samples[:, f], equal_var=False
        ).confidence_interval(0.95)
        ratio = np.var(codes[:, f], ddof=1) / share
        lower, upper = (ratio / stats.f.ppf(q, k - 1, n - 1) for q in (0.975, 0.025))
        if low <= 0 <= high and lower <= 1 <= upper:
            held += share
    return float(held / shares.sum())


def map_distance(samples: Any, maps: Any) -> float:
    """Kaski & Lagus: mean of |d_L − d_M| / (d_L + d_M), each way the cheapest of all walks."""
    ways = []
    for codes, adjacent in maps:
        size = len(codes)
        cost = [[0.0 if u == v else math.inf for v in range(size)] for u in range(size)]
        for _ in range(size):  # Bellman and Ford
            for u in range(size):
                for v in range(size):
                    if adjacent[u][v]:
                        step = distance(codes[u], codes[v])
                        for start in range(size):
                            cost[start][v] = min(cost[start][v], cost[start][u] + step)
        best = [two_best(sample, codes)[0] for sample in samples]
        reach = [distance(s, codes[u]) for s, u in zip(samples, best, strict=True)]
        ways.append((cost, best, reach))
    found = []
    for i in range(len(samples)):
        for j in range(i):
            a, b = (reach[i] + cost[best[i]][best[j]] + reach[j] for cost, best, reach in ways)
            found.append(abs(a - b) / (a + b) if a + b else 0.0)
    return math.fsum(found) / len(found)


def stability(samples: Any, maps: Any, delta: Any, radius: float) -> list[list[float]]:
    """De Bodt et al.: STAB of every pair of samples, (N, N)."""
    best = [[two_best(sample, codes)[0] for sample in samples] for codes in maps]
    n = range(len(samples))
    return [
        [float(np.mean([delta[own[i]][own[j]] <= radius for own in best])) for j in n] for i in n
    ]


def u_star(samples: Any, codes: Any, adjacent: Any, radius: float) -> list[float]:
    """Ultsch: U · (P − mean P) / (mean P − max P) + U, nan for units without neighbours."""
    density = [sum(distance(s, code) <= radius for s in samples) for code in codes]
    mean, largest = sum(density) / len(density), max(density)
    found = []
    for u, code in enumerate(codes):
        near = [distance(code, codes[v]) for v in range(len(codes)) if adjacent[u][v]]
        height = sum(near) / len(near) if near else math.nan
        scale = 1 + (density[u] - mean) / (mean - largest) if largest > mean else 1.0
        found.append(height * scale)
    return found
