"""The contingency reduction: exact counts, however the samples are cut and the cells are held."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import cuts, parts

from somscale.engine.linear import job as job_module
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import run_job
from somscale.engine.readers.columns import Column
from somscale.engine.readers.sources import ArraySource
from somscale.errors import InputError
from somscale.kernels.counts import count_keyed, sort_keyed
from somscale.reductions.base import Rows, fresh_partial
from somscale.reductions.contingency import Contingency, ContingencyReduction
from somscale.reductions.merge import Fold
from somscale.reductions.units import UnitsReduction

HEIGHT, WIDTH = 5, 4
DTYPES = ["int8", "int16", "int32", "int64", ">i4"]


@st.composite
def codes(draw: st.DrawFn, n: int, n_categories: int) -> NDArray[Any]:
    values = draw(st.lists(st.integers(-2, n_categories - 1), min_size=n, max_size=n))
    return np.array(values, dtype=draw(st.sampled_from(DTYPES)))


@st.composite
def problems(draw: st.DrawFn) -> tuple[NDArray[Any], NDArray[Any], tuple[int, ...]]:
    """Two columns of codes, and the sizes of the pieces they arrive in."""
    n = draw(st.integers(1, 40))
    return draw(codes(n, HEIGHT)), draw(codes(n, WIDTH)), draw(cuts(n))


def plain_count(rows: Sequence[int], columns: Sequence[int]) -> dict[tuple[int, int], int]:
    both = zip(map(int, rows), map(int, columns), strict=True)
    return dict(sorted(Counter(pair for pair in both if min(pair) >= 0).items()))


def cells(table: Contingency) -> dict[tuple[int, int], int]:
    """The cells in their order."""
    for array in (table.rows, table.columns, table.counts):
        assert array.dtype == np.int64
    places = zip(table.rows.tolist(), table.columns.tolist(), strict=True)
    return dict(zip(places, table.counts.tolist(), strict=True))


def count_pieces(
    reduction: ContingencyReduction, rows: Any, columns: Any, sizes: Sequence[int], in_tile: bool
) -> Contingency:
    """Walk pieces by hand: all of one tile, or each a tile of its own."""
    fold, partial = Fold(reduction.fields), fresh_partial(reduction.fields)
    for number, part in enumerate(parts(sizes)):
        here = {"rows": rows[part], "columns": columns[part]}
        if not in_tile:
            partial = fresh_partial(reduction.fields)
        state = reduction.begin(Rows(part.start, part.stop, columns=here), partial)
        reduction.end(state)
        if not in_tile:
            fold.add(0, number, partial)
    total = partial if in_tile else fold.result()
    assert total is not None
    return reduction.finalize(total)


@given(problem=problems(), dense=st.booleans(), in_tile=st.booleans())
def test_counts_are_those_of_a_plain_loop_for_any_cut(
    problem: tuple[Any, Any, tuple[int, ...]], dense: bool, in_tile: bool
) -> None:
    rows, columns, sizes = problem
    limit = HEIGHT * WIDTH if dense else HEIGHT * WIDTH - 1
    reduction = ContingencyReduction("rows", "columns", HEIGHT, WIDTH, dense_cells=limit)
    assert reduction.dense == dense
    table = count_pieces(reduction, rows, columns, sizes, in_tile)
    expected = plain_count(rows, columns)
    assert list(cells(table).items()) == list(expected.items())
    assert table.shape == (HEIGHT, WIDTH)
    assert table.n_samples == sum(expected.values())
    assert table.excluded == len(rows) - table.n_samples


@given(problem=problems(), base=st.sampled_from([-(10**12), -1, 3, 2**40]))
def test_any_base_gives_the_same_table(
    problem: tuple[Any, Any, tuple[int, ...]], base: int
) -> None:
    rows, columns = (np.maximum(c, -1).astype(np.int64) for c in problem[:2])
    shifted = Column(rows + base, base, range(base, base + HEIGHT))
    read = {"rows": shifted, "columns": Column(columns, 0, np.arange(WIDTH))}
    assert shifted.read(0, len(rows)).tolist() == rows.tolist()
    assert shifted.read(1, 3).tolist() == rows[1:3].tolist()
    with patch.object(job_module, "FREE_TILE_ROWS", 8):
        job = LinearJob(
            [ContingencyReduction("rows", "columns", HEIGHT, WIDTH)], len(rows), columns=read
        )
        table = run_job(job)[0]
    assert cells(table) == plain_count(rows, columns)


@pytest.mark.parametrize("n_categories", [127, 128, 129, 40_000, 2**31 + 5])
def test_codes_are_read_into_a_type_that_holds_them(n_categories: int) -> None:
    base = 10**15
    codes = np.array([0, -1, n_categories - 1])
    column = Column(codes + base, base, range(base, base + n_categories))
    assert column.read(0, 3).tolist() == codes.tolist()


@pytest.mark.parametrize("dense_cells", [0, 1 << 17])
def test_large_codes_of_unsigned_and_narrow_types(dense_cells: int) -> None:
    rows = np.array([255, 0, 255], np.uint8)
    columns = np.array([299, 1, 299], np.uint64)
    reduction = ContingencyReduction("rows", "columns", 256, 300, dense_cells=dense_cells)
    table = count_pieces(reduction, rows, columns, [3], True)
    assert cells(table) == {(0, 1): 1, (255, 299): 2}


def test_units_that_are_published_in_the_same_pass_are_counted() -> None:
    rng = np.random.default_rng(0)
    samples, map_codes = rng.standard_normal((200, 3)), rng.standard_normal((7, 3))
    labels = rng.integers(-1, 4, 200)
    units = UnitsReduction(map_codes, name="units:x")
    units.tile_rows = 16
    job = LinearJob(
        [units, ContingencyReduction("labels", "units:x", 4, 7)],
        *samples.shape,
        source=ArraySource(samples),
        columns={"labels": Column(labels, 0, np.arange(4))},
    )
    _, table = run_job(job)
    best, _ = reference.best_two(samples, map_codes)
    assert cells(table) == plain_count(labels, best)


def test_columns_without_a_category_have_an_empty_table() -> None:
    reduction = ContingencyReduction("rows", "columns", 0, 3)
    table = count_pieces(reduction, np.array([-1, -1]), np.array([0, 1]), [2], True)
    assert (cells(table), table.n_samples, table.excluded) == ({}, 0, 2)
    assert table.dense().shape == (0, 3)


def test_columns_are_counted_without_a_copy() -> None:
    n = 1 << 21
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, 100, n), rng.integers(-1, 99, n)
    read = {"rows": Column(rows, 0, range(100)), "columns": Column(columns, -1, range(-1, 99))}
    job = LinearJob([ContingencyReduction("rows", "columns", 100, 100)], n, columns=read)
    tracemalloc.start()
    table = run_job(job)[0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.n_samples == n
    assert peak < 4 << 20  # each column alone takes four times as much


# --- keyed counts


@given(st.lists(st.tuples(st.integers(-50, 2**62), st.integers(1, 2**40)), max_size=20))
def test_keyed_counts_far_apart_are_joined(pairs: list[tuple[int, int]]) -> None:
    joined_plainly: Counter[int] = Counter()
    for key, count in [*pairs, *pairs[:3]]:
        joined_plainly[key] += count
    counts = np.array([*pairs, *pairs[:3]], np.int64).reshape(-1, 2).T
    joined = sort_keyed(counts)
    assert joined.T.tolist() == [list(item) for item in sorted(joined_plainly.items())]


@given(st.lists(st.tuples(st.integers(-3, 12), st.integers(1, 2**60)), min_size=4, max_size=6))
def test_keyed_counts_close_together_are_joined(pairs: list[tuple[int, int]]) -> None:
    joined_plainly: Counter[int] = Counter()
    for key, count in pairs:
        joined_plainly[key] += count
    joined = sort_keyed(np.array(pairs, np.int64).T)
    assert joined.T.tolist() == [list(item) for item in sorted(joined_plainly.items())]


@given(st.lists(st.integers(0, 99), max_size=30), st.sampled_from([100, 10**15]))
def test_keys_are_counted_alike_in_any_range(keys: list[int], n_keys: int) -> None:
    counted = count_keyed(np.array(keys, np.int64), n_keys)
    assert counted.T.tolist() == [list(item) for item in sorted(Counter(keys).items())]


# --- the finished table


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=4),
    st.sampled_from(["int64", "uint8", "float16"]),
)
def test_a_given_table_comes_back(entries: list[list[int]], dtype: str) -> None:
    array = np.array(entries).astype(dtype)
    table = Contingency.from_table(array)
    np.testing.assert_array_equal(table.dense(), array.astype(np.int64), strict=True)
    np.testing.assert_array_equal(table.row_sums, array.astype(np.int64).sum(1), strict=True)
    np.testing.assert_array_equal(table.column_sums, array.astype(np.int64).sum(0), strict=True)
    assert table.n_samples == array.astype(np.int64).sum()
    assert (table.counts > 0).all()
    assert table.excluded == 0


def test_sums_of_large_counts_are_exact() -> None:
    table = Contingency.from_table([[2**53, 1], [1, 2**60]])
    assert table.row_sums.tolist() == [2**53 + 1, 2**60 + 1]
    assert table.column_sums.tolist() == [2**53 + 1, 2**60 + 1]
    assert table.n_samples == 2**53 + 2**60 + 2


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ([[1, 2], [3, -4]], "-4 at row 1, column 1"),
        ([[1, 2.5]], "2.5 at row 0, column 1"),
        ([[1], [np.nan]], "nan at row 1, column 0"),
        ([[np.inf, 1]], "inf at row 0, column 0"),
        ([[1e19, 1]], "1e\\+19 at row 0, column 0"),
        (np.array([[2**63]], np.uint64), "9223372036854775808 at row 0, column 0"),
        ([[2**62, 2**62]], "9223372036854775808 samples"),
        ([1, 2, 3], r"the shape \(3,\)"),
        ([[]], r"the shape \(1, 0\)"),
        ([["a", "b"]], "not values of type <U1"),
        ([[True, False]], "not values of type bool"),
    ],
)
def test_what_is_no_table_of_counts_is_refused(table: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Contingency.from_table(table)
