"""Mean relative rank errors, of neighbours that intrude and of those that extrude."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.metrics.checks import check_choice
from somscale.metrics.ranks.along import BEYOND, LEE, along_k, rank_index
from somscale.metrics.values import Noted, Value, number_of
from somscale.reductions.rank_stats import RankCurves, RankStats

__all__ = ["mrre_extrusion", "mrre_intrusion", "mrre_of"]

_NORMALIZERS: Final = ("symmetric", "lee")
_SOURCE: Final = f"Lee & Verleysen 2007, Nonlinear Dimensionality Reduction, Springer; {LEE}"
_UNDEFINED: Final = f"two samples, unless normalizer is 'lee'; {BEYOND}"


def mrre_of(moved: AnyArray, curves: RankCurves, k: Int, normalizer: str) -> Float:
    """Σ |ρ − r|/rank over H; nan where H is 0."""
    n, shift = curves.n_samples, int(normalizer == "lee")
    all_k = np.arange(1, int(k.max(initial=0)) + 1)
    largest = np.cumsum(np.abs(n - 2 * all_k + shift) / all_k)[k - 1]
    largest = np.where(largest > 0, largest, np.nan)
    return np.asarray(moved[..., k - 1] / (curves.n_rows * largest))


def _check(parameters: Mapping[str, Any]) -> None:
    check_choice(parameters, "normalizer", _NORMALIZERS)


def _value(name: str, stats: RankStats, k: Any, normalizer: str) -> Value:
    def of(curves: RankCurves, ks: Int) -> Float:
        return mrre_of(getattr(curves, name), curves, ks, normalizer)

    value = along_k(of, stats, k)
    if stats.n_samples == 2 and normalizer != "lee" and not isinstance(value, Noted):
        return Noted(number_of(value), "two samples have one rank, and nothing to be relative to")
    return value


@rank_index(
    tables=("curves",),
    long_name="mean relative rank error of intrusions",
    definition="(1 / H) sum over r <= K of |rho - r| / r",
    direction="lower",
    upper=float("nan"),
    dims=("k",),
    source=_SOURCE,
    check=_check,
    undefined=_UNDEFINED,
)
def mrre_intrusion(
    stats: RankStats,
    *,
    k: Any = None,
    normalizer: str = "symmetric",
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Mean relative rank error of the K nearest in the projection, W_n.

    (1/H) Σ_{r_ij ≤ K} |ρ_ij − r_ij|/r_ij, K = 1..N − 1.

    Parameters
    ----------
    normalizer : {"symmetric", "lee"}
        H = N Σ_{l=1..K} |N − 2l|/l, or |N − 2l + 1| in the place of |N − 2l| as in the book
        of Lee and Verleysen (2007).

    Notes
    -----
    0 for ranks that are all kept.  Neither H is the largest sum that there is when K is
    large: the value may exceed 1, as for N = 4 and K = 2.
    """
    return _value("moved_in", stats, k, normalizer)


@rank_index(
    tables=("curves",),
    long_name="mean relative rank error of extrusions",
    definition="(1 / H) sum over rho <= K of |rho - r| / rho",
    direction="lower",
    upper=float("nan"),
    dims=("k",),
    source=_SOURCE,
    check=_check,
    undefined=_UNDEFINED,
)
def mrre_extrusion(
    stats: RankStats,
    *,
    k: Any = None,
    normalizer: str = "symmetric",
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Mean relative rank error of the K nearest samples, W_ν.

    (1/H) Σ_{ρ_ij ≤ K} |ρ_ij − r_ij|/ρ_ij, K = 1..N − 1: `mrre_intrusion` with both spaces
    swapped.

    Parameters
    ----------
    normalizer : {"symmetric", "lee"}
        H, as in `mrre_intrusion`.

    Notes
    -----
    0 for ranks that are all kept; may exceed 1 when K is large.
    """
    return _value("moved_out", stats, k, normalizer)
