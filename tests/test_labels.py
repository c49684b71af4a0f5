"""The door for labels: every kind of them gives the right codes, categories and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from somscale.engine.readers.columns import Column
from somscale.engine.readers.labels import factorize
from somscale.errors import InputError

texts = st.text("ab é1", max_size=3)
integers = st.integers(-3, 9) | st.sampled_from([-(10**15), 70_000, 10**15])


def decoded(column: Column) -> list[Any]:
    """The labels again, None where a sample takes no part."""
    codes = column.read(0, len(column))
    assert codes.dtype.kind in "iu"
    labels = [None] * len(codes)
    for position in np.flatnonzero(codes >= 0):
        labels[position] = column.labels_of(codes[[position]]).tolist()[0]
    return labels


def known(column: Column) -> list[Any]:
    return np.asarray(column.categories).tolist()


# --- what may be a label

CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "objects": lambda labels: np.array(labels, dtype=object),
    "masked array without a mask": lambda labels: np.ma.array(np.array(labels)),
    "every second of an array": lambda labels: np.repeat(np.array(labels), 2)[::2],
    "Series": pd.Series,
    "Index": pd.Index,
    "Categorical": pd.Categorical,
    "Series of categories": lambda labels: pd.Series(labels, dtype="category"),
    "DataArray": lambda labels: xr.DataArray(np.array(labels), dims="time"),
    "lazy DataArray": lambda labels: xr.DataArray(np.array(labels), dims="time").chunk(time=2),
    "Dask array": lambda labels: da.from_array(np.array(labels), chunks=2),
}
each_container = pytest.mark.parametrize("container", CONTAINERS)


@each_container
@given(labels=st.lists(integers, min_size=1, max_size=9))
def test_integers_come_back(container: str, labels: list[int]) -> None:
    column = factorize(CONTAINERS[container](labels))
    assert decoded(column) == labels
    assert len(column) == len(labels)
    assert column.n_categories == len(column.categories)
    assert known(column) == sorted(set(known(column)))
    assert column.n_excluded == 0


@each_container
@given(labels=st.lists(texts, min_size=1, max_size=9))
def test_texts_come_back(container: str, labels: list[str]) -> None:
    column = factorize(CONTAINERS[container](labels))
    assert decoded(column) == labels
    assert known(column) == sorted(set(labels))


@each_container
@given(labels=st.lists(st.booleans(), min_size=1, max_size=9))
def test_booleans_come_back(container: str, labels: list[bool]) -> None:
    column = factorize(CONTAINERS[container](labels))
    assert decoded(column) == labels
    assert set(known(column)) <= {False, True}


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u4", ">i4", "u8", "f2", "f4", "f8", ">f8"])
def test_numbers_of_any_width_are_integers(dtype: str) -> None:
    column = factorize(np.array([7, 3, 3], dtype))
    assert decoded(column) == [7, 3, 3]
    assert all(isinstance(label, int) for label in decoded(column))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array([b"y", b"x"]), [b"x", b"y"]),
        (np.array(["y", "x"], np.dtypes.StringDType()), ["x", "y"]),
        (np.array([10**15, 5], ">i8"), [5, 10**15]),
        (np.array([2**64 - 1, 2], np.uint64), [2, 2**64 - 1]),
        (np.array([2**63, 2**63 - 1], np.uint64), [2**63 - 1, 2**63]),
        ([2**70, 1], [1, 2**70]),
        (np.array([2.0, 1, True], object), [1, 2]),
        (pd.Series([3, 1], dtype="Int64"), [1, 3]),
        (pd.Series([3.0, 1.0], dtype="Float64"), [1, 3]),
        (pd.Series([True, False], dtype="boolean"), [False, True]),
        (pd.Series(["y", "x"], dtype="string"), ["x", "y"]),
    ],
)
def test_other_types_have_sorted_categories(labels: Any, expected: list[Any]) -> None:
    column = factorize(labels)
    assert known(column) == expected
    assert decoded(column) == list(labels)
    assert column.values.dtype == np.int32


def test_dates_are_labels() -> None:
    days = np.array(["2021-03-01", "2020-01-01", "NaT"], "M8[D]")
    column = factorize(days, missing="drop")
    assert column.read(0, 3).tolist() == [1, 0, -1]
    np.testing.assert_array_equal(column.categories, days[[1, 0]])


def test_texts_that_only_look_missing_are_texts() -> None:
    labels = ["nan", "", "None", "NaT"]
    assert decoded(factorize(np.array(labels))) == labels


def test_categories_keep_their_order_and_the_unused_ones() -> None:
    sizes = pd.Categorical(["10", "2", "10"], categories=["2", "10", "none"])
    for labels in (sizes, pd.Series(sizes), pd.Index(sizes), xr.DataArray(sizes, dims="time")):
        column = factorize(labels)
        assert known(column) == ["2", "10", "none"]
        assert column.read(0, 3).tolist() == [1, 0, 1]


def test_intervals_go_by_their_text() -> None:
    column = factorize(pd.cut([1, 5], [0, 3, 6]))
    assert known(column) == ["(0, 3]", "(3, 6]"]


def test_a_dask_series_and_unknown_lengths_are_computed() -> None:
    class Lazy:
        """What Dask's collections have in common; its Series need pyarrow."""

        shape = (np.nan,)

        def __dask_graph__(self) -> dict[str, Any]:
            return {}

        def compute(self) -> pd.Series[Any]:
            return pd.Series(["b", "a"], dtype="category")

    assert decoded(factorize(Lazy())) == ["b", "a"]
    numbers = da.arange(6, chunks=2)
    assert decoded(factorize(numbers[numbers > 2])) == [3, 4, 5]


# --- what stays as it is


@pytest.mark.parametrize(
    ("labels", "base", "n_categories"),
    [
        (np.array([0, 0, 5, 5]), 0, 6),
        (np.array([-1, 3, -1]), -1, 5),
        (np.array([20200101, 20201231], np.uint32), 20200101, 1131),
        (np.array([0, 65_535]), 0, 65_536),
        (np.array([4, 2**63 - 1, 2**63 - 5], np.uint64)[1:], 2**63 - 5, 5),
        (np.array([3, 9, 5, 9])[::2], 3, 3),
    ],
)
def test_compact_integers_are_not_copied(labels: Any, base: int, n_categories: int) -> None:
    column = factorize(labels)
    assert np.shares_memory(column.values, labels)
    assert (column.base, column.n_categories) == (base, n_categories)
    assert isinstance(column.categories, range)
    assert decoded(column) == labels.tolist()


def test_wide_ranges_are_factorised() -> None:
    column = factorize(np.array([0, 65_536]))
    assert known(column) == [0, 65_536]
    n = 40_000
    assert factorize(np.arange(n) * 3 + 5).n_categories == 3 * n - 2  # less than 4 N
    assert factorize(np.arange(n) * 5 + 5).n_categories == n


def test_booleans_and_categories_are_not_copied() -> None:
    flags = np.array([True, False])
    assert np.shares_memory(factorize(flags).values, flags)
    sizes = pd.Categorical(["a", "b"])
    assert np.shares_memory(factorize(sizes).values, sizes.codes)


# --- missing labels

MISSING = {
    "None": ["a", "b", None, "a", None],
    "nan among texts": ["a", "b", np.nan, "a", np.nan],
    "nan": [1.0, 2.0, np.nan, 1.0, np.nan],
    "NA": [1, 2, pd.NA, 1, pd.NA],
    "NaT": np.array(["2020", "2021", "NaT", "2020", "NaT"], "M8[Y]"),
    "masked integers": np.ma.array([1, 2, 9, 1, -9], mask=[0, 0, 1, 0, 1]),
    "masked floats": np.ma.array([1.0, 2, 0.5, 1, np.nan], mask=[0, 0, 1, 0, 0]),
    "masked booleans": np.ma.array([True, False, True, True, False], mask=[0, 0, 1, 0, 1]),
    "masked texts": np.ma.array(["a", "b", "c", "a", "d"], mask=[0, 0, 1, 0, 1]),
    "Series": pd.Series(["a", "b", None, "a", None]),
    "Int64": pd.Series([1, 2, None, 1, None], dtype="Int64"),
    "category": pd.Series(["a", "b", None, "a", None], dtype="category"),
    "wide integers": np.ma.array([1, 10**12, 5, 1, 7], mask=[0, 0, 1, 0, 1]),
}
each_missing = pytest.mark.parametrize("labels", MISSING.values(), ids=MISSING)


@each_missing
def test_missing_labels_are_counted_and_the_first_is_named(labels: Any) -> None:
    with pytest.raises(InputError, match="clusters: 2 of 5 are missing, the first at position 2;"):
        factorize(labels, name="clusters")


@each_missing
def test_missing_labels_are_dropped_where_that_is_asked(labels: Any) -> None:
    column = factorize(labels, missing="drop")
    codes = column.read(0, 5).tolist()
    assert codes[2] == codes[4] == -1
    assert codes[0] == codes[3] != codes[1]
    assert sorted([codes[0], codes[1]]) == sorted({*codes} - {-1})
    assert column.n_excluded == 2
    present = [label for label in decoded(column) if label is not None]
    assert set(present) <= set(known(column))
    assert 9 not in present
    assert "c" not in known(column)


@pytest.mark.parametrize("labels", [[None, None], [np.nan], np.ma.array([1], mask=[1])])
def test_nothing_may_be_left(labels: Any) -> None:
    column = factorize(labels, missing="drop")
    assert (column.n_categories, column.n_excluded) == (0, len(labels))


# --- noise


def test_noise_is_a_cluster_by_default() -> None:
    assert decoded(factorize([0, -1, 1, -1])) == [0, -1, 1, -1]


@pytest.mark.parametrize(
    ("labels", "noise_label", "left"),
    [
        (np.array([0, -1, 1, -1]), -1, [0, None, 1, None]),
        (np.array([0, -1, -2, -1]), -1, [0, None, -2, None]),
        (np.array([5, 9, 9]), 9, [5, None, None]),
        (np.array([5, 9, 9]), 5.0, [None, 9, 9]),
        (np.array([-1, 10**12]), -1, [None, 10**12]),
        (np.array([-1, -1]), -1, [None, None]),
        (["a", "noise", "b"], "noise", ["a", None, "b"]),
        (pd.Categorical(["a", "noise"], categories=["noise", "a"]), "noise", ["a", None]),
        ([True, False], False, [True, None]),
        (np.array([1.0, -1.0, np.nan]), -1, [1, None, None]),
    ],
)
def test_noise_may_take_no_part(labels: Any, noise_label: Any, left: list[Any]) -> None:
    column = factorize(labels, noise="ignore", noise_label=noise_label, missing="drop")
    assert decoded(column) == left
    assert column.n_excluded == left.count(None)


def test_leaving_the_lowest_label_out_copies_nothing() -> None:
    labels = np.array([0, -1, 1])
    column = factorize(labels, noise="ignore")
    assert np.shares_memory(column.values, labels)
    assert list(column.categories) == [0, 1]


@pytest.mark.parametrize("noise", ["ignore", "singletons"])
@pytest.mark.parametrize(
    ("labels", "noise_label"),
    [([0, 1], -1), (["-1", "a"], -1), ([1, 2], np.nan), ([1, 2], "1"), ([1, 2], 1.5)],
)
def test_without_noise_all_labels_stay(noise: Any, labels: list[Any], noise_label: Any) -> None:
    column = factorize(labels, noise=noise, noise_label=noise_label)
    assert decoded(column) == labels
    assert column.n_excluded == 0


@pytest.mark.parametrize(
    ("labels", "noise_label"),
    [
        (np.array([0, -1, 1, -1, 0]), -1),
        (["a", "n", "b", "n", "a"], "n"),
        (np.array([0, 10**12, 1, 10**12, 0]), 10**12),
    ],
)
def test_noise_may_be_singletons(labels: Any, noise_label: Any) -> None:
    column = factorize(labels, noise="singletons", noise_label=noise_label)
    codes = column.read(0, 5).tolist()
    assert len({codes[0], codes[1], codes[2], codes[3]}) == 4
    assert codes[4] == codes[0]
    assert decoded(column) == list(labels)
    assert max(codes) < column.n_categories
    assert column.n_excluded == 0


# --- refusals


@pytest.mark.parametrize(
    ("labels", "complaint"),
    [
        ([], "there are none"),
        (np.zeros(0, int), "there are none"),
        ([[1, 2], [3, 4]], r"the shape \(2, 2\)"),
        (pd.DataFrame({"a": [1]}), r"the shape \(1, 1\)"),
        (da.zeros((10**6, 10**6)), r"the shape \(1000000, 1000000\)"),
        (xr.DataArray([[1]]), r"the shape \(1, 1\)"),
        (3, r"the shape \(\)"),
        ("text", "this is the text 'text'; give the values"),
        ([[1], [2, 3]], "this list does not hold one label a sample"),
        (xr.Dataset({"a": 1}), "this Dataset does not hold one label a sample"),
        ([1, 0.5], "0.5 at position 1 is not an integer"),
        ([None, 1, 1, 0.5], "0.5 at position 3 is not an integer"),
        ([1.0, np.inf], "inf at position 1 is not an integer"),
        ([1e19, 1.0], r"1e\+19 at position 0 is not an integer"),
        (["a", "b", 3], "3 at position 2 is of type int, unlike the first label"),
        (np.array([1j]), "values of type complex128 cannot be labels"),
        ([{}, {}], "unhashable"),
        (pd.Series([(1, 2), (3, 4)]), r"\(1, 2\) at position 0 is of type tuple"),
    ],
)
@pytest.mark.parametrize("missing", ["error", "drop"])
def test_what_names_no_group_is_refused(labels: Any, complaint: str, missing: Any) -> None:
    with pytest.raises(InputError, match=complaint) as caught:
        factorize(labels, name="clusters", missing=missing)
    assert str(caught.value).startswith("clusters: ")


@pytest.mark.parametrize(
    ("policies", "complaint"),
    [
        ({"noise": "drop"}, "noise is one of 'cluster', 'ignore', 'singletons', not 'drop'"),
        ({"missing": "ignore"}, "missing is one of 'error', 'drop', not 'ignore'"),
    ],
)
def test_unknown_policies_are_refused(policies: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        factorize([1, 2], **policies)
