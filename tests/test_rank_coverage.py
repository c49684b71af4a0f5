"""Sampled indices of ranks: how often intervals hold the exact value, and the mean over draws.

What every row tells is found once, from all rows drawn; draws then take rows of it, as the
public functions are seen to do.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import reference_ranks as reference
import xarray as xr
from numpy.typing import NDArray

import somscale as ss
from somscale.metrics.asking.problem import READING, pose, with_sampling
from somscale.metrics.asking.rank_sampling import DrawnRanks, estimate_ranks
from somscale.metrics.asking.rank_values import RankScope
from somscale.metrics.asking.rank_wishes import rank_wishes
from somscale.metrics.asking.requests import make_request
from somscale.metrics.asking.sampling import Estimate, draw_anchors
from somscale.metrics.passes.rank_passes import find_ranks
from somscale.metrics.spec import find_spec
from somscale.reductions.rank_stats import RankCurves, RankStats, RankSurface

N, M, DRAWS, FEW_DRAWS, PUBLIC_DRAWS = 900, 60, 400, 100, 20
KS, KAPPAS = (5, 20, 100), (20, 10)
CURVES = (
    "q_nx",
    "r_nx",
    "b_nx",
    "u_n",
    "u_x",
    "trustworthiness",
    "continuity",
    "mrre_intrusion",
    "mrre_extrusion",
    "neighborhood_jaccard",
    "neighborhood_hit",
)
MEANS = ("auc_r_nx", "mean_r_nx")
EXTREMAL = ("k_max", "q_local", "q_global")
SURFACES = {"rank_quality": "lueks", "rank_quality of the region": "region"}
GIVEN: dict[str, dict[str, Any]] = {
    **{name: {"k": np.array(KS)} for name in CURVES},
    **{name: {} for name in (*MEANS, *EXTREMAL)},
    **{
        label: {"kappa_s": np.array([5, 20]), "kappa_t": np.array([2, 10]), "norm": norm}
        for label, norm in SURFACES.items()
    },
}


@cache
def data() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Overlapping groups of samples, their two main axes, and the groups."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 5, N)
    x = 2.0 * rng.standard_normal((5, 6))[groups] + rng.standard_normal((N, 6))
    x -= x.mean(axis=0)
    return x, x @ np.linalg.svd(x, full_matrices=False)[2][:2].T, groups


@cache
def every_row() -> tuple[RankStats, NDArray[Any], NDArray[Any]]:
    """What each row tells by itself: its curves, and its pairs by κs and κt."""
    x, y, labels = data()
    problem = with_sampling(pose(x, {"a": y}, labels, {}, READING), N, 0)
    scope = RankScope.of(problem)
    k = {"k": np.arange(1, max(KS) + 1)}
    asked = [(name, k if name in CURVES else {}) for name in (*CURVES, *MEANS)]
    requests = [make_request(name, find_spec(name), own, scope=scope) for name, own in asked]
    (found,) = find_ranks(problem, rank_wishes(problem, requests), {}).values()
    rho, r = (reference.ranks(reference.square_distances(z)) for z in (x, y))
    near, moved = np.minimum(rho, r), abs(rho - r)
    near[np.diag_indices(N)] = N
    counts = np.zeros((N, KAPPAS[0] + 1, KAPPAS[1] + 2))
    i, j = np.nonzero(near <= KAPPAS[0])
    np.add.at(counts, (i, near[i, j], np.minimum(moved[i, j], KAPPAS[1] + 1)), 1)
    sums = counts[:, 1:].cumsum(axis=1).cumsum(axis=2)
    return found.stats, sums[:, :, :-1], sums[:, :, -1]


def drawn(numbers: NDArray[Any]) -> RankStats:
    """What some rows tell together, as if they alone had been walked."""
    stats, inside, region = every_row()
    groups = stats.groups
    assert groups is not None
    arrays = {
        f.name: getattr(groups, f.name)[numbers]
        for f in fields(RankCurves)
        if f.name not in ("n_samples", "n_rows") and getattr(groups, f.name) is not None
    }
    m = len(numbers)
    each = replace(groups, n_rows=np.ones((m, 1), np.int64), **arrays)
    total = {name: own.sum(axis=0) for name, own in arrays.items()}
    own, near = inside[numbers], region[numbers]
    surface = RankSurface(
        N,
        m,
        own.sum(axis=0),
        near.sum(axis=0),
        (own**2).sum(axis=0),
        (own * near[:, :, None]).sum(axis=0),
        (near**2).sum(axis=0),
    )
    return replace(stats, curves=RankCurves(N, m, **total), groups=each, surface=surface)


def estimated(name: str, stats: RankStats) -> Estimate:
    spec = find_spec(name.split()[0])
    spec = spec.with_parameters({**spec.defaults, **GIVEN[name]})
    formula = partial(spec.formula, **GIVEN[name])
    return estimate_ranks(spec, formula, DrawnRanks(stats), GIVEN[name])


@cache
def estimates() -> dict[str, list[Estimate]]:
    """Of every index, from one draw after another."""
    found: dict[str, list[Estimate]] = {name: [] for name in GIVEN}
    for seed in range(DRAWS):
        stats = drawn(draw_anchors(N, M, seed))
        for name, own in found.items():
            if name not in EXTREMAL or seed < FEW_DRAWS:
                own.append(estimated(name, stats))
    return found


@cache
def exact() -> xr.Dataset:
    return evaluated()


def evaluated(**sampling: Any) -> xr.Dataset:
    x, y, labels = data()
    region = ("rank_quality", {"norm": "region"})
    return ss.evaluate(
        x,
        y,
        labels=labels,
        metrics={
            **{name: name for name in (*CURVES, *MEANS, *EXTREMAL, "rank_quality")},
            "rank_quality of the region": region,
        },
        k=KS,
        kappa_s=[5, 20],
        kappa_t=[2, 10],
        **sampling,
    )


def exact_of(name: str) -> NDArray[Any]:
    found = exact()
    own = found[name] if name in found else found["value"].sel(metric=name)
    return np.asarray(own.values, float)


def held(name: str) -> NDArray[Any]:
    """Share of the intervals that hold the exact value, at each K."""
    true = exact_of(name)
    found = [(one.low <= true) & (true <= one.high) for one in estimates()[name]]
    return np.asarray(np.mean(found, axis=0))


@pytest.mark.parametrize("name", [name for name in GIVEN if name not in EXTREMAL])
def test_intervals_hold_the_exact_value_as_often_as_they_say(name: str) -> None:
    # of 400 draws at 95 %, four standard errors are 0.044
    shares = held(name)
    assert (shares > 0.906).all(), shares
    assert (shares < 0.985).all(), shares


@pytest.mark.parametrize("name", EXTREMAL)
def test_intervals_of_what_is_largest_hold_the_exact_value_mostly(name: str) -> None:
    assert 0.88 < held(name) <= 1


@pytest.mark.parametrize("name", [name for name in GIVEN if name not in EXTREMAL])
def test_estimates_are_right_on_average(name: str) -> None:
    values = np.array([one.value for one in estimates()[name]])
    spread = values.std(axis=0)
    assert (abs(values.mean(axis=0) - exact_of(name)) < 4 * spread / math.sqrt(DRAWS)).all()
    # the errors that are told are those that there are
    told = np.mean([np.asarray(one.standard_error) for one in estimates()[name]], axis=0)
    np.testing.assert_allclose(told, spread, rtol=0.12)


@pytest.mark.parametrize("name", EXTREMAL)
def test_errors_of_what_is_largest_are_of_the_right_size(name: str) -> None:
    values = np.array([float(one.value) for one in estimates()[name]])
    told = np.mean([float(one.standard_error) for one in estimates()[name]])
    assert 0.8 < told / values.std() < 1.5
    assert abs(values.mean() - exact_of(name)) < values.std()


def test_draws_are_what_the_public_functions_give() -> None:
    for seed in range(PUBLIC_DRAWS):
        found = evaluated(sample_anchors=M, seed=seed)
        for name in GIVEN:
            own = estimates()[name][seed]
            for part, expected in {
                "": own.value,
                "standard_error": own.standard_error,
                "interval_low": own.low,
                "interval_high": own.high,
            }.items():
                if name in found:
                    values = found[f"{name}_{part}" if part else name]
                else:
                    values = found[part or "value"].sel(metric=name)
                np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)
