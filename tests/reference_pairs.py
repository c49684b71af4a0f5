"""What the tests of pair indices compare with: each index from its article, over all pairs.

Nothing is quick or clever, and nothing but the class of finished totals is taken from
somscale.  Samples are (N, D), an embedding (N, C); d and e are (N, N) tables of distances.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr

from somscale.reductions.pair_stats import PairTotals

Floats = NDArray[np.float64]


def distances(samples: Any, name: Any = "euclidean", p: float = 2) -> Floats:
    """All distances, (N, N), by scipy's name."""
    x = np.asarray(samples, np.float64)
    options: dict[str, Any] = {"p": p} if name == "minkowski" else {}
    table: Floats = cdist(x, x, name, **options)
    np.fill_diagonal(table, 0)
    return table


def best_units(samples: Any, codes: Any) -> NDArray[np.intp]:
    """The nearest code of every sample, the lowest of several, (N,)."""
    nearest: NDArray[np.intp] = cdist(samples, codes, "sqeuclidean").argmin(axis=1)
    return nearest


def map_distances(bmu: Any, delta: Any) -> Floats:
    """δ of the best-matching units, (N, N)."""
    return np.asarray(delta, np.float64)[np.ix_(bmu, bmu)]


def pairs(table: Floats) -> Floats:
    """The entries i < j, one after the other."""
    return np.asarray(table)[np.triu_indices(len(table), 1)]


def totals_of(d: Floats, e: Floats, e_max_possible: float | None = None) -> PairTotals:
    """Every total over the pairs i < j, each rounded once."""
    x, y = pairs(d), pairs(e)
    apart = x > 0
    largest = float(y.max(initial=0))
    return PairTotals(
        len(d),
        {
            "d": math.fsum(x),
            "d2": math.fsum(x**2),
            "d4": math.fsum(x**4),
            "e": math.fsum(y),
            "e2": math.fsum(y**2),
            "de": math.fsum(x * y),
            "d2e": math.fsum(x**2 * y),
            "stress": math.fsum((x - y) ** 2),
            "sammon": math.fsum((x - y)[apart] ** 2 / x[apart]),
            "collapsed": float(np.count_nonzero(~apart & (y > 0))),
            "d_max": float(x.max(initial=0)),
            "e_max": largest,
            "e_max_possible": largest if e_max_possible is None else e_max_possible,
        },
    )


def c_measure(d: Floats, e: Floats, *, normalize: bool = False, power: int = 1) -> float:
    """Σ_{j<i} d^power e; over N(N − 1)/2 where normalised."""
    products = pairs(d) ** power * pairs(e)
    return math.fsum(products) / (len(products) if normalize else 1)


def kruskal_shepard_error(d: Floats, e: Floats, e_max: float | None = None) -> float:
    """The survey's, 1/(N(N − 1)) ‖d²/max d² − e/e_max‖²; `e_max` defaults to the largest e."""
    table = d**2 / (d**2).max() - e / (e.max() if e_max is None else e_max)
    return math.fsum(np.ravel(table**2)) / (len(d) * (len(d) - 1))


def somperf_kruskal_shepard_error(d: Floats, e: Floats) -> float:
    """SOMperf's, 1/(N(N − 1)) ‖d/max d − e/max e‖²."""
    return math.fsum(np.ravel((d / d.max() - e / e.max()) ** 2)) / (len(d) * (len(d) - 1))


def sammon_stress(d: Floats, e: Floats) -> float:
    """Σ (d − e)²/d over Σ d, pairs i < j; those with d = e = 0 add nothing."""
    x, y = pairs(d), pairs(e)
    kept = (x > 0) | (y > 0)
    return math.fsum((x - y)[kept] ** 2 / x[kept]) / math.fsum(x)


def raw_stress(d: Floats, e: Floats) -> float:
    """Σ (d − e)², pairs i < j."""
    return math.fsum((pairs(d) - pairs(e)) ** 2)


def normalized_stress(d: Floats, e: Floats) -> float:
    """√(Σ (d − e)² / Σ d²)."""
    return math.sqrt(raw_stress(d, e) / math.fsum(pairs(d) ** 2))


def scale_normalized_stress(d: Floats, e: Floats) -> float:
    """The normalised stress of e times the factor α that makes it smallest."""
    squares = math.fsum(pairs(e) ** 2)
    factor = math.fsum(pairs(d) * pairs(e)) / squares if squares else 0.0
    return normalized_stress(d, factor * e)


def shepard_correlation(d: Floats, e: Floats) -> float:
    """Pearson's correlation of d and e, pairs i < j."""
    return float(np.corrcoef(pairs(d), pairs(e))[0, 1])


def tied(values: Floats) -> Floats:
    """Values that differ by less than 1e-12 of themselves made equal, (P,)."""
    values = np.asarray(values, np.float64)
    order = np.argsort(values)
    found = values.copy()
    for before, here in itertools.pairwise(order):
        if values[here] - values[before] <= 1e-12 * values[here]:
            found[here] = found[before]
    return found


def shepard_rank_correlation(d: Floats, e: Floats) -> float:
    """Spearman's correlation of d and e, pairs i < j, nearly equal ones as ties."""
    return float(spearmanr(tied(pairs(d)), tied(pairs(e))).statistic)


def shepard_diagram(d: Floats, e: Floats, d_edges: Floats, e_edges: Floats) -> Floats:
    """Pairs i < j by bins of d and e."""
    return np.histogram2d(pairs(d), pairs(e), bins=[d_edges, e_edges])[0]
