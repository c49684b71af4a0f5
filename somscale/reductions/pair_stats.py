"""What walks over pairs of samples found, ready for formulas.

Sums go over unordered pairs i < j of the samples that take part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from somscale._types import Float, Int

__all__ = ["ClusterPairs", "Extremes", "PairTotals", "Silhouettes"]


@dataclass(frozen=True)
class PairTotals:
    """Sums and extremes of the samples' distances d and the projection's e.

    Attributes
    ----------
    n_samples : int
        Samples N that take part.
    values : mapping of str to float
        Those totals that were asked for: "d" Σd, "d2" Σd², "d4" Σd⁴, "e" Σe, "e2" Σe²,
        "de" Σd·e, "d2e" Σd²e, "stress" Σ(d−e)², "sammon" Σ(d−e)²/d over d > 0, "collapsed"
        the pairs with d = 0 < e, "d_max", "e_max", "e_max_possible" (the largest map
        distance of the grid, whether or not a pair has it; of an embedding "e_max").
    """

    n_samples: int
    values: Mapping[str, float] = field(default_factory=dict)

    @property
    def n_pairs(self) -> int:
        """Unordered pairs N(N − 1)/2."""
        return self.n_samples * (self.n_samples - 1) // 2

    def __getitem__(self, name: str) -> float:
        """A total by its name.

        Raises
        ------
        ValueError
            It was not asked for.
        """
        if name not in self.values:
            raise ValueError(f"the walk over pairs kept no total {name!r}")
        return self.values[name]


@dataclass(frozen=True)
class ClusterPairs:
    """Sums and extremes of distances within and between clusters.

    Attributes
    ----------
    hits : (K,) int64
        Samples of every cluster.
    within : (K,) float64
        Σ d over the pairs inside each cluster.
    within_squares : (K,) float64 or None
        Σ d² over the same pairs.
    between : (K, K) float64 or None
        Σ d over the pairs of samples of two clusters; symmetric, `within` on the diagonal.
    largest : (K, K) float64 or None
        Largest d; diameters on the diagonal, −inf where there is no pair.
    smallest : (K, K) float64 or None
        Smallest d; +inf where there is no pair.
    to_centroids : (K, K) float64 or None
        Σ d(x, μ_l) over the samples x of cluster k, at [k, l].
    diameters : (K,) float64 or None
        Largest d inside each cluster: 0 of one sample, nan of none.
    hausdorff : (K, K) float64 or None
        max over the samples x of cluster k of min over the samples y of cluster l of
        d(x, y), at [k, l]; not symmetric, diagonal unused.
    """

    hits: Int
    within: Float
    within_squares: Float | None = None
    between: Float | None = None
    largest: Float | None = None
    smallest: Float | None = None
    diameters: Float | None = None
    to_centroids: Float | None = None
    hausdorff: Float | None = None


@dataclass(frozen=True)
class Extremes:
    """Largest distances inside clusters and the smallest one between two of them.

    Attributes
    ----------
    hits : (K,) int64
        Samples of every cluster.
    diameters : (K,) float64
        Largest distance of two samples of a cluster; 0 of one sample, nan of none.
    separation : float
        Smallest distance of samples of two clusters; inf where there is one cluster.
    """

    hits: Int
    diameters: Float
    separation: float


@dataclass(frozen=True)
class Silhouettes:
    """Silhouettes of samples, summed by cluster.

    Attributes
    ----------
    hits : (K,) int64
        Samples of every cluster.
    sums : (K,) float64
        Σ s_i over the samples of each cluster; nan where any is undefined.
    values : (N,) float64 or None
        s_i of every sample, nan where it takes no part or is undefined.
    """

    hits: Int
    sums: Float
    values: Float | None = None
