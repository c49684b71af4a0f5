"""What two partitions tell of each other, in nats, from their table of counts.

Every sum is of terms that are not negative, so nothing cancels, and is rounded once,
so the order of classes and clusters changes no digit:

* H(classes) = Σ_j (n_j/N) log(1 + (N − n_j)/n_j);
* H(classes | clusters) = Σ_jk (n_jk/N) log(1 + (n_k − n_jk)/n_jk);
* I = Σ_jk q h(n_jk/(N q)) with q = n_j n_k/N² and h(r) = r log r − r + 1 over all cells, the
  empty ones too; the terms −r + 1 add up to 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from somscale._types import Float, Int
from somscale.reductions.contingency import Contingency

__all__ = ["Information", "expected_information", "information_of"]

_BLOCK = 1 << 16
_PRODUCT_FITS = 1 << 31
_NEAR = 1 / 16


@dataclass(frozen=True)
class Information:
    """Entropies of two partitions, and what they share.

    Attributes
    ----------
    classes, clusters : float
        H(classes) and H(clusters).
    classes_left, clusters_left : float
        H(classes | clusters) and H(clusters | classes), exactly 0 where nothing is left.
    mutual : float
        I(classes; clusters).
    """

    classes: float
    clusters: float
    classes_left: float
    clusters_left: float
    mutual: float


def information_of(table: Contingency) -> Information:
    """Entropies and mutual information of a table that counts at least one sample."""
    if "information" not in table.derived:
        classes, clusters = _entropy(table.row_sums), _entropy(table.column_sums)
        classes_left = _left(table, table.columns, table.column_sums)
        clusters_left = _left(table, table.rows, table.row_sums)
        # the partition that the other says more of; both ways give the same digits
        left, whole = min((classes_left, classes), (clusters_left, clusters))
        mutual = whole - left if 2 * left <= whole else _divergence_from_independence(table)
        table.derived["information"] = Information(
            classes, clusters, classes_left, clusters_left, mutual
        )
    found: Information = table.derived["information"]
    return found


def expected_information(table: Contingency) -> float:
    """E[I] over all tables of the same margins, by the hypergeometric model."""
    from somscale.kernels.expected_information import add_expected_divergences

    if "expected_information" not in table.derived:
        sums = [sums[sums > 0] for sums in (table.row_sums, table.column_sums)]
        margins = [np.unique(s, return_counts=True) for s in sums]
        # in an order of their own, so that classes and clusters may be swapped
        first, second = sorted(margins, key=lambda found: (len(found[0]), found[0].tolist()))
        totals = np.zeros(len(first[0]))
        add_expected_divergences(*first, *second, table.n_samples, totals)
        table.derived["expected_information"] = math.fsum(totals) / table.n_samples**2
    found: float = table.derived["expected_information"]
    return found


def _entropy(sizes: Int) -> float:
    sizes = sizes[sizes > 0]
    total = int(sizes.sum())
    return math.fsum(sizes * np.log1p((total - sizes) / sizes)) / total


def _left(table: Contingency, groups: Int, sizes: Int) -> float:
    """Entropy of one partition that is left where the other is known."""
    terms = (
        counts * np.log1p((sizes[inside] - counts) / counts)
        for inside, counts in _blocks(groups, table.counts)
    )
    return math.fsum(itertools.chain.from_iterable(terms)) / table.n_samples


def _divergence_from_independence(table: Contingency) -> float:
    """Mutual information as the sum of q h(n/(N q)), accurate near independence."""
    total = table.n_samples
    kind = np.int64 if total < _PRODUCT_FITS else object
    terms: list[Float] = []
    filled = 0
    for rows, columns, counts in _blocks(table.rows, table.columns, table.counts):
        products = table.row_sums[rows].astype(kind) * table.column_sums[columns].astype(kind)
        filled += int(products.sum())
        delta = (counts.astype(kind) * total - products) / products
        terms.append(products.astype(np.float64) * _divergence(delta.astype(np.float64)))
    # h(0) = 1 in every empty cell
    terms.append(np.array([float(total * total - filled)]))
    return math.fsum(itertools.chain.from_iterable(terms)) / total**2


def _divergence(delta: Float) -> Float:
    """h(1 + δ), accurate where δ is small too."""
    series = np.zeros_like(delta)
    near = np.where(np.abs(delta) > _NEAR, 0.0, delta)
    for k in range(14, 1, -1):
        series = 1 / (k * (k - 1)) - near * series
    found: Float = np.where(
        np.abs(delta) > _NEAR, (1 + delta) * np.log1p(delta) - delta, series * near * near
    )
    return found


def _blocks(*arrays: Int) -> Iterator[tuple[Int, ...]]:
    """Equal parts of several arrays, short enough for their temporaries to cost little."""
    for start in range(0, len(arrays[0]), _BLOCK):
        yield tuple(array[start : start + _BLOCK] for array in arrays)
