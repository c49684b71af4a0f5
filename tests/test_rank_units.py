"""Indices of ranks of every unit of a map, against means of their plain definitions."""

from __future__ import annotations

from functools import cache
from typing import Any

import dask.array as da
import numpy as np
import pytest
import reference_ranks as reference
import xarray as xr

import somscale as ss
from somscale import metrics
from somscale.errors import InputError

N = 60
RNG = np.random.default_rng(11)
SAMPLES = RNG.standard_normal((N, 4))
CODES = np.vstack([SAMPLES[:5], np.full((1, 4), 30.0)])
SOM = ss.codebook(CODES, ss.Grid(2, 3))
EMPTY = 5
OTHER = ss.codebook(SAMPLES[10:16], ss.Grid(3, 2))
GLOBAL = {
    "unit_q_nx": "q_nx",
    "unit_trustworthiness": "trustworthiness",
    "unit_continuity": "continuity",
    "unit_rank_quality": "rank_quality",
}
NAMES = [*GLOBAL]


def ranks_at(name: str, s: Any = 6, t: Any = 4) -> dict[str, Any]:
    return {"kappa_s": s, "kappa_t": t} if name == "unit_rank_quality" else {"k": s}


def units_of(samples: Any = SAMPLES, som: Any = SOM, **given: Any) -> Any:
    return metrics.bmu(samples, som, **given).values


@cache
def tables(space: str) -> tuple[Any, Any]:
    """Squared distances of the samples, and distances of their units."""
    units = units_of()
    apart = SOM_DISTANCES if space == "map" else reference.square_distances(CODES)
    return reference.square_distances(SAMPLES), apart[np.ix_(units, units)]


SOM_DISTANCES = ss.Grid(2, 3).distances()


def own_values(name: str, ties: Any, space: str, side: str = "both") -> Any:
    """Every sample's own value by its definition, at the ranks of `ranks_at`."""
    pair = reference.pair_spans(*tables(space), ties)
    if name == "unit_q_nx":
        return reference.overlaps(pair, 6) / 6
    if name == "unit_rank_quality":
        inside = reference.pairs_inside(pair, 6, 4)
        row, column = inside.sum(axis=1) / 6, inside.sum(axis=0) / 6
        return {"row": row, "column": column, "both": (row + column) / 2}[side]
    into, out = reference.excesses(pair, 6)
    excess = into if name == "unit_trustworthiness" else out
    return 1 - excess / reference.worst_excess(N, 6)


def means(values: Any, units: Any) -> Any:
    return np.array([values[units == u].mean() if (units == u).any() else np.nan for u in range(6)])


@pytest.mark.parametrize("space", ["map", "codebook"])
@pytest.mark.parametrize("ties", ["expected", "index", "best", "worst"])
@pytest.mark.parametrize("name", NAMES)
def test_means_of_the_samples_of_each_unit(name: str, ties: str, space: str) -> None:
    given = {} if (ties, space) == ("expected", "map") else {"ties": ties, "space": space}
    found = getattr(metrics, name)(SAMPLES, SOM, **ranks_at(name), **given)
    assert found.dims == ("unit",)
    assert (found.attrs["ties"], found.attrs["space"]) == (ties, space)
    expected = means(own_values(name, ties, space), units_of())
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    assert np.isnan(found).values.tolist() == [u == EMPTY for u in range(6)]


@pytest.mark.parametrize("side", ["row", "column", "both"])
def test_sides_of_the_quality_of_ranks(side: str) -> None:
    found = metrics.unit_rank_quality(SAMPLES, SOM, kappa_s=6, kappa_t=4, side=side)
    expected = means(own_values("unit_rank_quality", "expected", "map", side), units_of())
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    with pytest.raises(InputError, match="unit_rank_quality: side is one of"):
        metrics.unit_rank_quality(SAMPLES, SOM, side="left")


def test_the_norm_of_the_region() -> None:
    near: dict[str, Any] = {"kappa_s": 6, "kappa_t": 4, "norm": "region"}
    found = metrics.unit_rank_quality(SAMPLES, SOM, **near)
    pair = reference.pair_spans(*tables("map"), "expected")
    own = reference.pointwise_rank_quality(pair, 6, 4, "both", "region")
    np.testing.assert_allclose(found, means(own, units_of()), rtol=1e-11)
    hits = metrics.hits(SAMPLES, SOM)
    whole = metrics.rank_quality(SAMPLES, SOM, **near)
    assert (found.fillna(0) * hits).sum() / N == pytest.approx(whole.item(), rel=1e-11)


def test_weights_of_the_survey() -> None:
    for name, part in (("unit_trustworthiness", 0), ("unit_continuity", 1)):
        found = getattr(metrics, name)(SAMPLES, SOM, k=6, ties="weighted")
        excess = reference.weighted_excess(*tables("map"), 6)[part]
        expected = means(1 - excess / reference.worst_excess(N, 6), units_of())
        np.testing.assert_allclose(found, expected, rtol=1e-11)
    with pytest.raises(InputError, match="ties='weighted' is for"):
        metrics.unit_q_nx(SAMPLES, SOM, ties="weighted")


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_their_mean_weighted_by_hits_is_the_global_value(name: str, lazy: bool) -> None:
    samples = SAMPLES.copy()
    samples[3] = np.nan
    data = da.from_array(samples, chunks=(17, 3)) if lazy else samples
    given = ranks_at(name, [1, 6, 20], [0, 4])
    asked = [name, GLOBAL[name], "hits"]
    found = ss.evaluate(data, SOM, metrics=asked, missing="drop", **given).compute()
    assert found["hits"].sum() == N - 1
    mean = (found[name] * found["hits"]).sum("unit", skipna=True) / (N - 1)
    xr.testing.assert_allclose(mean, found[GLOBAL[name]], rtol=1e-12)
    assert found[name].dims[0] == "unit"
    assert np.isnan(found[name].sel(unit=EMPTY)).all()
    if name != "unit_rank_quality":
        own = metrics.sample_q_nx if name == "unit_q_nx" else getattr(metrics, f"sample{name[4:]}")
        values = own(samples, SOM, missing="drop", k=6).values
        units = units_of(samples, missing="drop")
        np.testing.assert_allclose(found[name].sel(k=6), means(values, units), rtol=1e-13)


@pytest.mark.parametrize("candidates", [SOM, {"one": SOM, "other": OTHER}], ids=["one", "two"])
def test_lazy_values_are_those_in_memory(candidates: Any) -> None:
    asked: dict[str, Any] = {"metrics": NAMES, "k": [2, 9], "kappa_s": 5, "kappa_t": [0, 3]}
    now = ss.evaluate(SAMPLES, candidates, **asked)
    later = ss.evaluate(da.from_array(SAMPLES, chunks=(13, 4)), candidates, **asked)
    assert all(later[name].chunks is not None for name in NAMES)
    xr.testing.assert_identical(later.compute().drop_attrs(), now.drop_attrs())
    if isinstance(candidates, dict):
        for label, som in candidates.items():
            alone = ss.evaluate(SAMPLES, som, **asked)
            for name in NAMES:
                np.testing.assert_array_equal(now[name].sel(candidate=label), alone[name])


def test_by_default_at_the_ranks_of_values_of_samples() -> None:
    found = ss.evaluate(SAMPLES, SOM, metrics="ranks")
    for name in NAMES[:3]:
        assert (found[name].dims, found[name].attrs["k"]) == (("unit",), 10)
    quality = found["unit_rank_quality"]
    assert (quality.dims, quality.attrs["kappa_s"], quality.attrs["kappa_t"]) == (("unit",), 20, 10)
    assert {"row", "col"} <= set(quality.coords)
    assert quality.attrs["range"] == "[0, inf)"


def test_ranks_beyond_the_samples_that_are_left() -> None:
    gaps = SAMPLES.copy()
    gaps[:10] = np.nan
    found = metrics.unit_q_nx(gaps, SOM, missing="drop", k=[5, 55])
    assert np.isnan(found.sel(k=55)).all()
    assert "N - 1 = 49" in found.attrs["note"]
    np.testing.assert_array_equal(found.sel(k=5), metrics.unit_q_nx(SAMPLES[10:], SOM, k=5))


def test_what_they_refuse() -> None:
    with pytest.raises(InputError, match="unit_q_nx does not apply: it judges a map"):
        ss.evaluate(SAMPLES, SAMPLES[:, :2], metrics="unit_q_nx")
    with pytest.raises(InputError, match="leave sample_anchors out"):
        ss.evaluate(SAMPLES, SOM, metrics="unit_q_nx", sample_anchors=9)
    assert "unit_q_nx" not in ss.evaluate(SAMPLES, SOM, metrics="ranks", sample_anchors=9)
    with pytest.raises(InputError, match="unit_q_nx: k is from 1 to N - 1 = 59 here, not 60"):
        metrics.unit_q_nx(SAMPLES, SOM, k=60)
    with pytest.raises(InputError, match="a map is judged on samples, not on their distances"):
        metrics.unit_q_nx(reference.square_distances(SAMPLES), SOM, distance="precomputed")
    with pytest.raises(InputError, match="sample_weights= has no meaning for ranks"):
        metrics.unit_q_nx(SAMPLES, SOM, sample_weights=np.ones(N))
