"""Values of every sample; the mean over samples is the value of the index of that name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.metrics.checks import check_choice
from somscale.metrics.ranks.along import BEYOND, LEE, LUEKS, ks_of, rank_index, spread
from somscale.metrics.ranks.trust import without_excess
from somscale.metrics.values import Noted, Value
from somscale.reductions.rank_stats import RankSamples, RankStats

__all__ = [
    "NORMS",
    "SIDES",
    "check_form",
    "pointwise_rank_quality",
    "sample_continuity",
    "sample_q_nx",
    "sample_trustworthiness",
]

SIDES: Final = ("both", "row", "column")
NORMS: Final = ("lueks", "region")
_NONE: Final = f"samples that take no part; {BEYOND}"
_TRUST: Final = "Venna & Kaski 2001, Neighborhood preservation in nonlinear projection methods: An "
_WEIGHTED: Final = {("ties", "weighted"): {"lower": float("nan")}}


def _samples_in(stats: RankStats) -> RankSamples:
    if stats.samples is None:
        raise ValueError("the walk was not asked for values of samples")
    return stats.samples


def _at(values: AnyArray, known: Mapping[Any, int], wanted: list[Any]) -> AnyArray:
    return values[:, [known[key] for key in wanted]]


def _along_k(
    of: Callable[[Callable[[Float], Float], Int], Float], stats: RankStats, k: Any
) -> Value:
    """Values (sample, k) of a function of a picker of columns and of K."""
    samples, n = _samples_in(stats), stats.n_samples
    ks = samples.ks if k is None else ks_of(k)
    taken = (ks >= 1) & (ks < n)
    known = {int(own): column for column, own in enumerate(samples.ks)}
    wanted = ks[taken]
    found = of(lambda values: _at(values, known, wanted.tolist()), wanted)
    if taken.all():
        return found
    return Noted(spread(found, taken), f"K is from 1 to N - 1 = {n - 1} for N = {n}")


@rank_index(
    tables=("samples",),
    long_name="share of a sample's neighbours that are kept",
    definition="share of the sample's K nearest that are among its K nearest in the projection",
    direction="higher",
    upper=1.0,
    dims=("sample", "k"),
    source=LEE,
    undefined=_NONE,
)
def sample_q_nx(
    stats: RankStats,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Share of a sample's own K nearest neighbours that both spaces have in common.

    1/K #{j ≠ i : ρ_ij ≤ K, r_ij ≤ K}, K = 1..N − 1; the mean over samples is `q_nx`.
    """
    samples = _samples_in(stats)
    return _along_k(lambda at, ks: at(samples.overlap) / ks, stats, k)


@rank_index(
    tables=("samples",),
    long_name="trustworthiness of a sample's neighbours",
    definition="1 - (2 N / G_k) sum over j with r <= k < rho of (rho - k)",
    direction="higher",
    upper=1.0,
    dims=("sample", "k"),
    source=f"{_TRUST}experimental study, ICANN",
    undefined=_NONE,
    variants=_WEIGHTED,
)
def sample_trustworthiness(
    stats: RankStats,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Whether a sample's neighbours in the projection are neighbours among the samples.

    1 − (2N/G_k) Σ_{j : r_ij ≤ k < ρ_ij} (ρ_ij − k), k = 1..N − 1, G_k as in
    `trustworthiness`, which is the mean over samples.
    """
    samples, n = _samples_in(stats), stats.n_samples
    return _along_k(lambda at, ks: without_excess(at(samples.excess_in), 1, n, ks), stats, k)


@rank_index(
    tables=("samples",),
    long_name="continuity of a sample's neighbours",
    definition="1 - (2 N / G_k) sum over j with rho <= k < r of (r - k)",
    direction="higher",
    upper=1.0,
    dims=("sample", "k"),
    source=f"{_TRUST}experimental study, ICANN",
    undefined=_NONE,
    variants=_WEIGHTED,
)
def sample_continuity(
    stats: RankStats,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Whether a sample's neighbours among the samples are neighbours in the projection.

    1 − (2N/G_k) Σ_{j : ρ_ij ≤ k < r_ij} (r_ij − k), k = 1..N − 1, G_k as in
    `trustworthiness`; the mean over samples is `continuity`.
    """
    samples, n = _samples_in(stats), stats.n_samples
    return _along_k(lambda at, ks: without_excess(at(samples.excess_out), 1, n, ks), stats, k)


def check_form(parameters: Mapping[str, Any]) -> None:
    """Refuse an unknown side or norm."""
    check_choice(parameters, "side", SIDES)
    check_choice(parameters, "norm", NORMS)


_KEPT: Final = "with min(rho, r) <= kappa_s and |rho - r| <= kappa_t"
_REGION: Final = "N / #{all pairs with min(rho, r) <= kappa_s}"
_HALVES: Final = "sum over j of pairs (i, j) and (j, i)"
_ROW: Final = f"#{{j: pair (i, j) {_KEPT.replace('with', 'has')}}}"
_COLUMN: Final = f"#{{j: pair (j, i) {_KEPT.replace('with', 'has')}}}"


@rank_index(
    tables=("samples",),
    long_name="quality of ranks Q' of a sample",
    definition=f"1 / (2 kappa_s) {_HALVES} {_KEPT}",
    direction="higher",
    upper=float("inf"),
    dims=("sample", "kappa_s", "kappa_t"),
    source=LUEKS,
    check=check_form,
    undefined="samples that take no part; κs beyond the number of neighbours that dropped "
    "samples leave",
    variants={
        ("side", "row"): {"upper": 2.0, "definition": f"1 / kappa_s {_ROW}"},
        ("side", "column"): {"definition": f"1 / kappa_s {_COLUMN}"},
        ("norm", "region"): {"definition": f"{_REGION}, times half the {_HALVES} {_KEPT}"},
        (("norm", "region"), ("side", "row")): {"definition": f"{_REGION}, times {_ROW}"},
        (("norm", "region"), ("side", "column")): {"definition": f"{_REGION}, times {_COLUMN}"},
    },
)
def pointwise_rank_quality(
    stats: RankStats,
    *,
    kappa_s: Any = None,
    kappa_t: Any = None,
    side: str = "both",
    norm: str = "lueks",
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """How many of a sample's neighbours keep their rank to within a tolerance, Q′_i(κs, κt).

    Q′_i = 1/(2κs) Σ_{j≠i} [pair (i, j) + pair (j, i)], where a pair counts if
    min(ρ, r) ≤ κs and |ρ − r| ≤ κt; κs = 1..N − 1, κt ≥ 0.  The mean over samples is
    `rank_quality` of the same norm.

    Parameters
    ----------
    side : {"both", "row", "column"}
        "both": as above.  "row": 1/κs Σ_j pair (i, j), of the sample's own neighbours.
        "column": 1/κs Σ_j pair (j, i), of those whose neighbour it is.
    norm : {"lueks", "region"}
        "lueks": over κs, as above.  "region": over the mean number of pairs (i, j) with
        min(ρ, r) ≤ κs that a sample i has, in the place of κs.

    Notes
    -----
    Not in [0, 1], in neither norm: a sample may be near to many; of the side "row" the range
    is [0, 2].  The article has a further factor 1/N, with which the *sum* over samples is Q′.
    In the norm "region" every sample is divided by one number, that of the mean sample: the
    values tell which samples are above and below `rank_quality`, and are no shares themselves.
    """
    samples, n = _samples_in(stats), stats.n_samples
    counts = samples.inside if side == "row" else samples.inside_back
    if side == "both":
        counts = (samples.inside + counts) / 2
    known = {(int(s), int(t)): column for column, (s, t) in enumerate(samples.pairs)}
    near, far = (
        np.unique(samples.pairs[:, part]) if own is None else ks_of(own)
        for part, own in enumerate((kappa_s, kappa_t))
    )
    taken = (near >= 1) & (near < n)
    wanted = [(s, t) for s in near[taken].tolist() for t in far.tolist()]
    found = _at(counts, known, wanted).reshape(len(counts), -1, len(far))
    size = near[taken] if norm == "lueks" else _mean_region(samples, n, near[taken])
    values = found / size[:, None]
    if taken.all():
        return values
    whole = np.full((len(counts), len(near), len(far)), np.nan)
    whole[:, taken] = values
    return Noted(whole, f"kappa_s is from 1 to N - 1 = {n - 1} for N = {n}")


def _mean_region(samples: RankSamples, n_samples: int, kappa_s: Int) -> Float:
    """How many pairs (i, j) with min(ρ, r) ≤ κs a sample i has in the mean, by κs.

    These are the pairs that are kept at a tolerance that no rank exceeds.
    """
    near, far = samples.pairs.T
    columns = [np.flatnonzero((near == s) & (far >= n_samples - 2))[0] for s in kappa_s.tolist()]
    return np.asarray(np.nanmean(samples.inside[:, columns], axis=0))
