"""Indices of labels on a map: where the classes lie, and what the units hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import reference_map
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import somscale as ss
from somscale import metrics
from somscale.errors import InputError
from somscale.metrics.asking import limits

GRIDS = [
    ss.Grid(3, 4),
    ss.Grid(3, 4, neighbors=8),
    ss.Grid(3, 4, topology="hexagonal"),
    ss.Grid(4, 3, periodic=True),
    ss.Grid(4, 3, topology="hexagonal", periodic="cols"),
    ss.Grid.chain(12, periodic=True),
    ss.Grid.from_edges(12, [(i, i // 2) for i in range(1, 12)]),
]


# --- golden values


def test_golden_values(digits_map: Any) -> None:
    from sklearn.datasets import load_digits

    samples, codes = digits_map
    labels = load_digits().target
    som = ss.codebook(codes, ss.Grid(8, 8))
    units = metrics.bmu(samples, som)
    assert metrics.class_scatter_index(labels, units, som).item() == 8.4
    assert metrics.class_scatter_index(labels, units, ss.Grid(8, 8)).item() == 8.4
    # SOMperf adds 1e-12 to the counts
    found = metrics.entropy_sum(labels, units).item()
    assert found == pytest.approx(8.200856009021091, rel=1e-12)
    assert metrics.nmco(labels, units).item() == pytest.approx(0.1213132999443517, rel=1e-14)
    assert metrics.purity(labels, units).item() == pytest.approx(0.8786867000556483, rel=1e-15)
    result = ss.evaluate(samples, som, labels=labels, convention="somperf")
    assert result["value"].sel(metric="class_scatter_index").item() == 8.4
    assert result["value"].sel(metric="nmco").item() == metrics.nmco(labels, units).item()


# --- by hand


def test_what_units_hold() -> None:
    labels, units = ["a", "a", "b", "c", "c", "c"], [0, 0, 0, 2, 2, 3]
    grid = ss.Grid(2, 2)
    shares = metrics.label_distribution(labels, units, grid)
    assert shares.dims == ("unit", "class")
    assert shares["class"].values.tolist() == ["a", "b", "c"]
    assert shares["row"].values.tolist() == [0, 0, 1, 1]
    expected = [[2 / 3, 1 / 3, 0], [np.nan] * 3, [0, 0, 1], [0, 0, 1]]
    np.testing.assert_array_equal(shares, expected)
    assert shares.idxmax("class").values[[0, 2, 3]].tolist() == ["a", "c", "c"]
    entropies = metrics.unit_label_entropy(labels, units, grid)
    one = math.log(3) - 2 / 3 * math.log(2)
    np.testing.assert_allclose(entropies, [one, np.nan, 0, 0], rtol=1e-15)
    assert metrics.unit_entropy(labels, units, grid).item() == pytest.approx(one / 2)
    assert metrics.entropy_sum(labels, units).item() == pytest.approx(math.log(1.5))
    assert metrics.nmco(labels, units).item() == 1 / 6


def test_groups_of_a_class() -> None:
    grid = ss.Grid(3, 3)
    cross = [0, 1, 3, 8, 2, 6]  # of class 0: 0, 1, 3 and 2 in one piece with 6, and 8 apart
    assert metrics.class_scatter_index([0] * 6, cross, grid).item() == 2
    assert metrics.class_scatter_index([0, 0, 1, 1], [0, 4, 0, 1], grid).item() == 1.5
    vertex = ss.Grid(3, 3, neighbors=8)
    assert metrics.class_scatter_index([0, 0, 1, 1], [0, 4, 0, 1], vertex).item() == 1
    # two classes in one unit are two groups, of one each
    assert metrics.class_scatter_index([0, 1], [4, 4], grid).item() == 1


def test_classes_that_do_not_occur_count_for_nothing() -> None:
    grid, units = ss.Grid.chain(4), [0, 2, 3]
    wide = metrics.class_scatter_index([-1, -1, 70], units, grid)
    assert wide.item() == 1.5
    shares = metrics.label_distribution([-1, -1, 3], units, grid)
    assert shares["class"].values.tolist() == [-1, 0, 1, 2, 3]
    assert shares.sum("unit").values.tolist() == [2, 0, 0, 0, 1]
    named = pd.Categorical(["x", "x", "y"], categories=["w", "y", "x"])
    assert metrics.class_scatter_index(named, units, grid).item() == 1.5
    shares = metrics.label_distribution(named, units, grid)
    assert shares["class"].values.tolist() == ["w", "y", "x"]
    assert shares.sel({"class": "w"}).values[[0, 2, 3]].tolist() == [0, 0, 0]
    assert metrics.unit_entropy(named, units, grid).item() == 0
    alone = metrics.class_scatter_index(["a"], [0], ss.Grid.chain(1))
    assert alone.item() == 1


def test_samples_that_take_no_part() -> None:
    labels, units = np.array([0, 1, np.nan, 0]), np.array([0, 1, 1, -1])
    grid = ss.Grid.chain(2)
    assert metrics.unit_entropy(labels, units, grid, missing="drop").item() == 0
    with pytest.raises(InputError, match="labels: 1 of 4 are missing"):
        metrics.unit_entropy(labels, units, grid)
    for index in (metrics.class_scatter_index, metrics.unit_entropy):
        none = index([0, 1], [-1, -1], grid)
        assert math.isnan(none.item())
        assert none.attrs["note"] == "no sample takes part"
    assert np.isnan(metrics.label_distribution([0, 1], [-1, -1], grid)).all()
    for index in (metrics.nmco, metrics.entropy_sum):
        none = index([0, 1], [-1, -1], noise="ignore")
        assert none.attrs["note"] == "no sample takes part"


@pytest.mark.parametrize(
    ("units", "grid", "complaint"),
    [
        ([0, 4], ss.Grid(2, 2), "units hold 4 at position 1; the grid has the units 0 to 3"),
        ([0, -2], ss.Grid(2, 2), "units hold -2 at position 1"),
        (["a", "b"], ss.Grid(2, 2), "integers from 0 up"),
        ([0, 1, 2], ss.Grid(2, 2), "2 labels and 3 units"),
        ([0, 1], [0, 1], r"the grid is a list, not a Grid or a map; .*\(labels, units, grid\)"),
    ],
)
def test_bad_arguments_are_refused(units: Any, grid: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        metrics.class_scatter_index([0, 1], units, grid)


def test_labels_need_a_map_and_a_map_needs_labels() -> None:
    samples, som = np.zeros((3, 1)), ss.codebook([[0.0], [1.0]], ss.Grid.chain(2))
    with pytest.raises(InputError, match="class_scatter_index does not apply: it needs labels="):
        ss.evaluate(samples, som, metrics="class_scatter_index")
    with pytest.raises(InputError, match="unit_entropy does not apply: it judges a map"):
        ss.evaluate(samples, [0, 1, 1], labels=[0, 1, 1], metrics="unit_entropy")
    assert "label_distribution" not in ss.evaluate(samples, [0, 1, 1], labels=[0, 1, 1])


def test_a_table_too_large_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_CELLS", 3)
    samples, som = np.zeros((3, 1)), ss.codebook([[0.0], [1.0]], ss.Grid.chain(2))
    result = ss.evaluate(samples, som, labels=[0, 1, 1])
    assert "label_distribution" not in result
    assert "class" not in result.dims
    with pytest.raises(InputError, match="2 units and 2 classes would hold"):
        ss.evaluate(samples, som, labels=[0, 1, 1], metrics="label_distribution")
    with pytest.raises(InputError, match="2 units and 2 classes would hold"):
        metrics.label_distribution([0, 1], [0, 1], ss.Grid.chain(2))


def test_units_are_put_in_the_order_of_the_labels() -> None:
    labels = xr.DataArray([0, 1, 1], dims="time", coords={"time": [3, 1, 2]})
    units = xr.DataArray([0, 1, 2], dims="time", coords={"time": [1, 2, 3]})
    found = metrics.label_distribution(labels, units, ss.Grid.chain(3))
    assert found.values.tolist() == [[0, 1], [0, 1], [1, 0]]


# --- any labels, any units


@given(
    grid=st.sampled_from(GRIDS),
    n=st.integers(1, 60),
    n_classes=st.integers(1, 6),
    n_units=st.integers(1, 12),
    seed=st.integers(0, 2**32 - 1),
)
def test_they_are_those_of_the_definition(
    grid: ss.Grid, n: int, n_classes: int, n_units: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n) * 3 - 1
    units = rng.permutation(12)[rng.integers(0, n_units, n)]
    every = np.arange(12)
    adjacent = grid.adjacent(every[:, None], every)
    scatter = metrics.class_scatter_index(labels, units, grid).item()
    assert scatter == reference_map.class_scatter(labels.tolist(), units, adjacent)
    pairs = labels.tolist(), units.tolist()
    found = metrics.unit_entropy(labels, units, grid).item()
    assert found == pytest.approx(reference_map.unit_entropy(*pairs), rel=1e-12, abs=1e-15)
    found = metrics.entropy_sum(labels, units).item()
    assert found == pytest.approx(reference_map.entropy_sum(*pairs), rel=1e-12, abs=1e-15)
    table = reference_map.counts_of_units(*pairs)
    entropies = metrics.unit_label_entropy(labels, units, grid).values
    shares = metrics.label_distribution(labels, units, grid)
    for unit in every.tolist():
        if unit not in table:
            assert np.isnan(entropies[unit])
            assert np.isnan(shares[unit]).all()
            continue
        counts = table[unit]
        expected = reference_map.entropy(counts.values())
        assert entropies[unit] == pytest.approx(expected, rel=1e-12, abs=1e-15)
        for label, count in counts.items():
            assert shares[unit].sel({"class": label}).item() == count / counts.total()
        assert shares[unit].sum().item() == pytest.approx(1, rel=1e-14)
    whole = metrics.purity(labels, units).item() + metrics.nmco(labels, units).item()
    assert whole == pytest.approx(1, rel=1e-15)


@pytest.mark.parametrize("kind", ["texts", "dates", "booleans", "integers"])
@pytest.mark.parametrize("suffix", ["zarr", "nc"])
def test_the_labels_come_back_from_a_file(kind: str, suffix: str, tmp_path: Any) -> None:
    from somscale.store import open_dataset, write_dataset

    labels: Any = {
        "texts": np.array(["north", "south", "south"]),
        "dates": np.array(["2000-01", "2000-02", "2000-02"], "datetime64[ns]"),
        "booleans": np.array([True, False, False]),
        "integers": np.array([0, -1, -1]),
    }[kind]
    samples, som = np.zeros((3, 1)), ss.codebook([[0.0], [1.0]], ss.Grid.chain(2))
    result = ss.evaluate(samples, som, labels=labels)
    write_dataset(result, tmp_path / f"result.{suffix}")
    with open_dataset(tmp_path / f"result.{suffix}") as back:
        shares = back["label_distribution"].load()
    assert set(shares["class"].values.tolist()) == set(np.unique(labels).tolist())
    np.testing.assert_array_equal(shares, result["label_distribution"])
