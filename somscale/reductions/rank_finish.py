"""From merged tallies of ranks to what formulas read."""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale._types import AnyArray, Float
from somscale.reductions.base import Partial
from somscale.reductions.rank_stats import (
    RankCurves,
    RankSamples,
    RankStats,
    RankSurface,
    curves_of,
    surface_of,
)
from somscale.reductions.rank_want import RankWant

__all__ = ["finish_ranks", "jaccard_of", "tally_of"]


def tally_of(sums: AnyArray) -> AnyArray:
    """A tally, (..., 9, L), of sums by columns (:mod:`somscale.kernels.rank_tally`)."""
    c = np.arange(sums.shape[-1])
    equal, *sides = (sums[..., row, :] for row in range(9))
    r_above, r_above_sum, r_below, r_below_sum = sides[:4]
    rho_above, rho_above_sum, rho_below, rho_below_sum = sides[4:]
    rows = [
        equal,
        rho_below,
        r_below,
        r_above_sum - c * rho_below,
        r_above - rho_below,
        rho_above_sum - c * r_below,
        rho_above - r_below,
        r_above_sum - r_below_sum - c * (r_above - r_below),
        rho_above_sum - rho_below_sum - c * (rho_above - rho_below),
    ]
    return np.stack(rows, axis=-2)


def jaccard_of(overlap: AnyArray) -> Float:
    """Overlap over union of neighbourhoods of K samples each, (..., k_max)."""
    k = np.arange(1, overlap.shape[-1] + 1)
    return np.asarray(overlap / (2 * k - overlap))


def finish_ranks(want: RankWant, total: Partial, n_samples: int, n_rows: int) -> RankStats:
    """Turn the merged partial of a want into its statistics; see `RankWant.finalize`."""
    tied, looked = (int(number) for number in total["tied"])
    return RankStats(
        n_samples,
        curves=_finish_curves(want, total, n_samples, n_rows) if want.k_max else None,
        groups=_finish_groups(want, total, n_samples) if want.k_max and want.drawn else None,
        surface=_finish_surface(want, total, n_samples, n_rows) if want.kappa_s else None,
        samples=_finish_samples(want, total) if "numbers" in total else None,
        matrix=total["matrix"] if want.matrix else None,
        tied=tied / looked if looked else 0.0,
    )


def _curves(want: RankWant, tally: AnyArray, **told: Any) -> RankCurves:
    if want.ties != "weighted":
        return curves_of(tally, **told)
    unknown = np.full_like(tally[..., 0, 1:], np.nan)
    return RankCurves(
        told["n_samples"],
        told["n_rows"],
        overlap=unknown,
        equal=unknown,
        intrusions=unknown,
        extrusions=unknown,
        excess_in=tally[..., 0, 1:],
        excess_out=tally[..., 1, 1:],
        moved_in=unknown,
        moved_out=unknown,
    )


def _finish_curves(want: RankWant, total: Partial, n_samples: int, n_rows: int) -> RankCurves:
    jaccard = total.get("jaccard")
    if jaccard is not None and want.dtype == "int64":
        overlaps = np.arange(want.k_max + 1)
        doubled = 2 * np.arange(1, want.k_max + 1)
        # no row has an overlap above K
        each = overlaps / np.maximum(doubled[:, None] - overlaps, 1)
        jaccard = (jaccard * each).sum(axis=1)
    return _curves(
        want,
        total["tally"],
        n_samples=n_samples,
        n_rows=n_rows,
        jaccard=jaccard,
        agreement=total.get("agreement"),
    )


def _finish_groups(want: RankWant, total: Partial, n_samples: int) -> RankCurves:
    if want.groups is None:
        tally, agreement, n_rows = total["row_tally"], total.get("row_agreement"), 1
        jaccard = None
        if want.jaccard:
            jaccard = jaccard_of(curves_of(tally, n_samples=n_samples, n_rows=1).overlap)
        told = {"n_rows": n_rows, "jaccard": jaccard, "agreement": agreement}
    else:
        tally = total["group_tally"]
        told = {
            "n_rows": total["group_rows"][:, None],
            "jaccard": total.get("group_jaccard"),
            "agreement": total.get("group_agreement"),
        }
    return _curves(want, tally, n_samples=n_samples, **told)


def _finish_surface(want: RankWant, total: Partial, n_samples: int, n_rows: int) -> RankSurface:
    names = ("inside_squares", "products", "region_squares") if want.drawn else ()
    moments = {name: total[name] for name in names}
    return surface_of(total["cells"], n_samples=n_samples, n_rows=n_rows, **moments)


def _finish_samples(want: RankWant, total: Partial) -> RankSamples:
    numbers, back = total["numbers"], total["inside_back"]

    def place(values: AnyArray) -> Float:
        placed = np.full((len(back), *values.shape[1:]), np.nan)
        placed[numbers] = values
        return placed

    overlap, excess_in, excess_out = (place(total["sample_sums"][:, row]) for row in range(3))
    return RankSamples(
        np.array(want.sample_ks, np.int64),
        overlap,
        excess_in,
        excess_out,
        np.array(want.sample_pairs, np.int64).reshape(-1, 2),
        place(total["inside"]),
        place(back[numbers]),
    )
