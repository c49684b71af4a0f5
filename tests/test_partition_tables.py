"""Indices of tables that were counted elsewhere, of labels of every kind, and of huge tables."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linear_sum_assignment

import somscale as ss
from somscale import metrics
from somscale.errors import InputError
from somscale.kernels.assignment import heaviest_assignment
from somscale.metrics.public import TableFunction
from somscale.metrics.spec import all_specs
from somscale.reductions.contingency import Contingency

PARTITION = [spec.name for spec in all_specs() if spec.subject == "partition"]
each_index = pytest.mark.parametrize("name", PARTITION)
LABELS, CLUSTERS = [0, 0, 0, 1, 1, 2], [1, 1, 0, 0, 2, 3]
TABLE = np.array([[1, 2, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]])


def index(name: str) -> TableFunction:
    found: TableFunction = getattr(metrics, name)
    return found


# --- from_table


def split_cells(table: Any) -> Any:
    """Cells in two parts each, out of order, and a zero that is held."""
    rows, columns = np.nonzero(table)
    counts = table[rows, columns]
    parts = np.concatenate([counts[::-1], np.zeros_like(counts), [0]])
    places = [np.concatenate([p[::-1], p, [0]]) for p in (rows, columns)]
    return sparse.coo_array((parts, tuple(places)), shape=table.shape)


TABLES = {
    "list": TABLE.tolist(),
    "floats": TABLE.astype(float),
    "narrow": TABLE.astype(np.uint8),
    "DataArray": xr.DataArray(TABLE, dims=("class", "cluster")),
    "lazy DataArray": xr.DataArray(TABLE, dims=("class", "cluster")).chunk(),
    "crosstab": pd.crosstab(pd.Series(LABELS), pd.Series(CLUSTERS)),
    "csr matrix": sparse.csr_matrix(TABLE),
    "csc array": sparse.csc_array(TABLE),
    "coo array of parts": split_cells(TABLE),
    "sparse floats": sparse.csr_array(TABLE.astype(float)),
}


@pytest.mark.parametrize("kind", TABLES)
@each_index
def test_tables_of_any_kind_give_what_their_labels_give(name: str, kind: str) -> None:
    found = index(name).from_table(TABLES[kind])
    xr.testing.assert_identical(found, index(name)(LABELS, CLUSTERS))


@each_index
def test_from_table_is_documented(name: str) -> None:
    function = index(name)
    assert f"``{name}.from_table(table)``" in (function.__doc__ or "")
    assert "Parameters\n" in (function.from_table.__doc__ or "")


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        (sparse.csr_array([[1, 0], [0, -3]]), "-3 at row 1, column 1"),
        (
            sparse.coo_array(([1.5, -1.0], ([2, 0], [0, 1])), shape=(3, 2)),
            "-1.0 at row 0, column 1",
        ),
        (sparse.csr_array([[True, False]]), "not values of type bool"),
        (sparse.coo_array([1, 2]), r"the shape \(2,\)"),
        (xr.DataArray([[1, 2.5]]), "2.5 at row 0, column 1"),
        (pd.crosstab(pd.Series(LABELS), pd.Series(CLUSTERS), normalize=True), "at row 0, column 0"),
        (pd.crosstab(pd.Series(LABELS), pd.Series(CLUSTERS), margins=True), "margins=False"),
        (sparse.coo_array(([2**62] * 2, ([0, 0], [0, 0])), shape=(1, 1)), "9223372036854775808"),
    ],
)
def test_what_is_no_table_is_refused(table: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        metrics.purity.from_table(table)


def test_a_class_called_all_is_no_margin() -> None:
    table = pd.DataFrame([[3, 1], [2, 9]], index=["x", "All"], columns=["y", "All"])
    assert metrics.purity.from_table(table) == 12 / 15


# --- labels of every kind, one place for policies


@each_index
def test_noise_and_missing_labels(name: str) -> None:
    function = index(name)
    labels, clusters = [0, 0, 0, 1, 1, 1, 2], [5, 5, 7, 7, -1, 7, -1]
    kept = [0, 1, 2, 3, 5]
    some = [np.array(part)[kept] for part in (labels, clusters)]
    np.testing.assert_equal(
        function(labels, clusters, noise="ignore").values, function(*some).values
    )
    alone = [5, 5, 7, 7, 8, 7, 9]
    np.testing.assert_equal(
        function(labels, clusters, noise="singletons").values, function(labels, alone).values
    )
    texts = ["a", "a", None, "b", "b", "c", "a"]
    masked = np.ma.array(clusters, mask=[0, 0, 0, 0, 0, 1, 0])
    both = [np.array(part, object)[[0, 1, 3, 4, 6]] for part in (texts, clusters)]
    found = function(texts, masked, missing="drop")
    np.testing.assert_equal(found.values, function(*both).values)
    with pytest.raises(InputError, match="labels: 1 of 7 are missing, the first at position 2"):
        function(texts, clusters)


@each_index
def test_evaluate_says_the_same(name: str) -> None:
    found = ss.evaluate(None, CLUSTERS, labels=LABELS, metrics=[name])
    own = index(name)(LABELS, CLUSTERS)
    values = found["value"].sel(metric=name) if "value" in found else found[name]
    np.testing.assert_equal(values.values, own.values)


# --- assignments


@given(
    st.integers(1, 7).flatmap(
        lambda width: st.lists(
            st.lists(st.integers(0, 3) | st.integers(0, 1000), min_size=width, max_size=width),
            min_size=1,
            max_size=7,
        )
    )
)
def test_assignments_are_the_heaviest(entries: list[list[int]]) -> None:
    array = np.array(entries)
    table = Contingency.from_table(array)
    column_of = heaviest_assignment(table.rows, table.columns, table.counts, table.shape)
    assigned = np.flatnonzero(column_of >= 0)
    assert len(set(column_of[assigned].tolist())) == len(assigned)
    expected = array[linear_sum_assignment(array, maximize=True)].sum()
    assert array[assigned, column_of[assigned]].sum() == expected
    if table.n_samples:
        assert metrics.clustering_accuracy.from_table(array) == expected / table.n_samples
        assert metrics.clustering_accuracy.from_table(array.T) == expected / table.n_samples


def test_assignments_of_many_equal_cells() -> None:
    rng = np.random.default_rng(0)
    array = rng.poisson(0.02, (300, 400)) + np.diag(np.arange(400) % 3)[:300]
    expected = array[linear_sum_assignment(array, maximize=True)].sum()
    assert metrics.clustering_accuracy.from_table(array) == expected / array.sum()


def test_assignments_beyond_the_integers_of_floats() -> None:
    big = 2**60
    table = [[big + 1, big + 2], [big, big + 2]]
    # 2 big + 3 beats 2 big + 2, which doubles cannot tell apart
    counted = Contingency.from_table(table)
    column_of = heaviest_assignment(counted.rows, counted.columns, counted.counts, (2, 2))
    assert column_of.tolist() == [0, 1]


# --- huge tables


@pytest.mark.parametrize("exponent", [9, 14])
def test_every_index_of_billions(exponent: int) -> None:
    scale = 10**exponent
    table = [[4 * scale, scale], [scale, 4 * scale]]
    small = [[4 * 10**6, 10**6], [10**6, 4 * 10**6]]
    for name in PARTITION:
        found, expected = index(name).from_table(table), index(name).from_table(small)
        if found.attrs["units"] in ("1", "nats"):
            np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert metrics.split_join_distance.from_table(table) == 4 * scale
    n, kept = 10 * scale, 2 * (4 * scale) ** 2 + 2 * scale**2
    assert metrics.mirkin_metric.from_table(table) == float(2 * 2 * (5 * scale) ** 2 - 2 * kept)
    assert metrics.bcubed_precision.from_table(table) == kept / (5 * scale * n)


def test_a_hundred_thousand_clusters_and_classes_fit_little_memory() -> None:
    rng = np.random.default_rng(0)
    labels, clusters = rng.integers(0, 100_000, (2, 1_000_000))
    metrics.adjusted_mutual_info_score([0, 0, 1, 1], [0, 1, 1, 1])  # compiles
    metrics.clustering_accuracy([0, 0, 1, 1], [0, 1, 1, 1])
    tracemalloc.start()
    found = ss.evaluate(None, clusters, labels=labels, metrics="partition")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 << 20
    assert found["value"].sel(metric="clustering_accuracy").item() == pytest.approx(0.1, abs=1e-3)
    assert abs(found["value"].sel(metric="adjusted_mutual_info_score").item()) < 1e-2
