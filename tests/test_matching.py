"""Matched units and clusters: no assignment shares more, and what stays alone says so."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

import somscale as ss
from somscale.errors import InputError, SampleValueError

RNG = np.random.default_rng(0)
SAMPLES = RNG.standard_normal((3000, 3))
SOM = ss.codebook(SAMPLES[:12], ss.Grid(3, 4))
OTHER = ss.codebook(SAMPLES[100:120], ss.Grid(4, 5))


def bmu(som: xr.Dataset) -> np.ndarray[Any, Any]:
    return np.asarray(ss.project(SAMPLES, som)["bmu"].values)


def test_a_turned_map_is_found() -> None:
    order = RNG.permutation(12)
    turned = ss.codebook(SOM["codes"].values[order], ss.Grid(3, 4))
    found = ss.match_units(SAMPLES, SOM, turned)
    np.testing.assert_array_equal(order[found["partner"].values], np.arange(12))
    np.testing.assert_array_equal(found["partner_of_other"], order)
    assert (found["share"] == 1).all()
    assert (found["other_share"] == 1).all()
    assert found.attrs["shared_samples"] == found.attrs["n_samples"] == 3000
    assert found["other_row"].dims == ("other_unit",)
    assert found["col"].values.tolist() == [0, 1, 2, 3] * 3


@pytest.mark.parametrize("turn", [False, True])
def test_units_of_maps_of_different_sizes(turn: bool) -> None:
    one, two = (OTHER, SOM) if turn else (SOM, OTHER)
    found = ss.match_units(SAMPLES, one, two)
    table = np.zeros((found.sizes["unit"], found.sizes["other_unit"]), int)
    np.add.at(table, (bmu(one), bmu(two)), 1)
    rows, columns = linear_sum_assignment(table, maximize=True)
    assert found.attrs["shared_samples"] == table[rows, columns].sum()
    partner = found["partner"].values
    known = partner >= 0
    np.testing.assert_array_equal(
        found["shared"], np.where(known, table[np.arange(len(table)), partner], 0)
    )
    np.testing.assert_array_equal(found["samples"], table.sum(axis=1))
    np.testing.assert_allclose(found["share"], found["shared"] / table.sum(axis=1))
    own = found["shared"].values[known] / table.sum(axis=0)[partner[known]]
    np.testing.assert_allclose(found["other_share"].values[known], own)
    back = found["partner_of_other"].values
    np.testing.assert_array_equal(back[partner[known]], np.flatnonzero(known))
    assert np.count_nonzero(back >= 0) == np.count_nonzero(known)
    if turn:
        assert (~known).sum() >= 8


def test_dead_units_stay_alone_and_chunks_do_not_matter() -> None:
    codes = np.concatenate([SAMPLES[:3], [[50.0, 0, 0]]])
    som = ss.codebook(codes, ss.Grid(2, 2))
    found = ss.match_units(SAMPLES, som, OTHER)
    assert found["partner"].values[3] == -1
    assert found["samples"].values[3] == 0
    assert np.isnan(found["share"].values[3])
    chunked = da.from_array(SAMPLES, chunks=(701, 2))
    xr.testing.assert_identical(ss.match_units(chunked, som, OTHER), found)


def test_masked_samples_take_no_part() -> None:
    keep = np.arange(3000) % 3 > 0
    found = ss.match_units(SAMPLES, SOM, OTHER, mask=(keep, None))
    xr.testing.assert_identical(found, ss.match_units(SAMPLES[keep], SOM, OTHER))
    assert found.attrs["n_samples"] == 2000


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=60))
def test_no_assignment_of_clusters_shares_more(pairs: list[tuple[int, int]]) -> None:
    labels, other = np.array(pairs).T
    found = ss.match_clusters(labels, other)
    table = contingency_matrix(labels, other)
    rows, columns = linear_sum_assignment(table, maximize=True)
    shared = found.attrs["shared_samples"]
    assert shared == table[rows, columns].sum() == found["shared"].sum()
    accuracy = float(ss.metrics.clustering_accuracy(labels, other))
    assert shared / found.attrs["n_samples"] == pytest.approx(accuracy)
    partners = found["partner"].values[found["partner"].values >= 0]
    assert len(set(partners)) == len(partners)
    assert ((found["shared"] > 0) == (found["partner"] >= 0)).all()


def test_labels_of_any_kind() -> None:
    found = ss.match_clusters(["b", "b", "a", "c"], ["x", "x", "y", "x"])
    assert found["cluster"].values.tolist() == ["a", "b", "c"]
    assert found["partner_label"].values.tolist()[:2] == ["y", "x"]
    assert found["partner_label"].isnull().values.tolist() == [False, False, True]
    numbers = ss.match_clusters([5, 5, 9], [30, 30, 20])
    assert numbers["partner_label"].values.tolist() == [30, 20]
    assert numbers["partner_label"].dtype.kind == "i"
    alone = ss.match_clusters([1, 2, 3], [7, 7, 7])["partner_label"]
    assert np.count_nonzero(np.isnan(alone)) == 2


def test_noise_and_missing_labels() -> None:
    one, two = [0, 0, 1, -1], [3, 3, -1, 4]
    found = ss.match_clusters(one, two, noise="ignore")
    assert found.attrs["n_samples"] == 2
    assert found["partner_label"].values.tolist()[0] == 3
    gaps = [0, 0, 1, np.nan]
    assert ss.match_clusters(gaps, two, missing_labels="drop").attrs["n_samples"] == 3
    with pytest.raises(InputError, match="missing"):
        ss.match_clusters(gaps, two)


def test_coordinates_are_put_in_order() -> None:
    days = np.arange(6)
    one = xr.DataArray([0, 0, 1, 1, 2, 2], dims="day", coords={"day": days})
    found = ss.match_clusters(one, one[::-1])
    assert found["partner"].values.tolist() == [0, 1, 2]
    assert (found["share"] == 1).all()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: ss.match_clusters([0, 1], [0, 1, 1]), "there are 2 labels and 3 other"),
        (lambda: ss.match_units(SAMPLES, SOM, SAMPLES[:, 0]), "must be of one kind"),
        (lambda: ss.match_units(SAMPLES, bmu(SOM), bmu(SOM)), "ss.match_clusters"),
        (lambda: ss.match_units(SAMPLES, SOM, OTHER, kind=1), "has no parameter 'kind'"),
        (
            lambda: ss.match_units(SAMPLES, SOM, OTHER, sample_weights=np.ones(3000)),
            "takes no sample_weights=",
        ),
        (lambda: ss.match_units(None, SOM, OTHER), "a map is judged on samples"),
    ],
)
def test_bad_arguments(call: Any, text: str) -> None:
    with pytest.raises(InputError) as refusal:
        call()
    assert text in str(refusal.value)


def test_samples_that_are_not_finite() -> None:
    bad = SAMPLES.copy()
    bad[17, 1] = np.nan
    with pytest.raises(SampleValueError, match="17"):
        ss.match_units(bad, SOM, OTHER)
