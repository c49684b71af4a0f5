"""Arrays of any dims as samples × features: every range reads what reshaping gives."""

from __future__ import annotations

import math
import pickle
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import xarray as xr
import zarr
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from zarr.storage import MemoryStore

from somscale.engine.readers.blocked import Blocks
from somscale.engine.readers.boxes import readings
from somscale.engine.readers.sources import (
    ArraySource,
    Ranges,
    RegularChunks,
    Source,
    XarraySource,
    ZarrSource,
)
from somscale.engine.readers.views import (
    FlatSource,
    JoinedFeatures,
    JoinedSource,
    SelectedFeatures,
    flatten,
)


class Watched(ArraySource):
    """Counts the entries decoded, as whole chunks of the size given."""

    decoded_entries = 0

    def read(self, *box: slice) -> NDArray[Any]:
        total = 1
        for axis, part in enumerate(box):
            total *= self.decoded(axis, (np.array([part.start]), np.array([part.stop])))
        object.__setattr__(self, "decoded_entries", self.decoded_entries + total)
        return super().read(*box)


@st.composite
def splits(draw: st.DrawFn) -> tuple[NDArray[Any], tuple[int, ...], list[int], int]:
    """An array, its chunks, an order of its axes and how many of them are the samples'."""
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    chunks = tuple(draw(st.integers(1, size)) for size in shape)
    order = draw(st.permutations(range(len(shape))))
    n_sample_dims = draw(st.integers(1, len(shape)))
    values = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    return values, chunks, order, n_sample_dims


def flat(values: NDArray[Any], order: list[int], n_sample_dims: int) -> NDArray[Any]:
    moved = values.transpose(order)
    return moved.reshape(math.prod(moved.shape[:n_sample_dims]), -1)


def some_range(draw: Any, size: int) -> slice:
    start = draw(st.integers(0, size - 1))
    return slice(start, draw(st.integers(start + 1, size)))


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.data())
def test_boxes_hold_a_range_in_order(shape: list[int], data: st.DataObject) -> None:
    numbers = np.arange(math.prod(shape)).reshape(shape)
    wanted = some_range(data.draw, numbers.size)
    parts = readings(wanted.start, wanted.stop, shape)
    found = np.concatenate([numbers[part.box].ravel()[part.wanted] for part in parts])
    assert found.tolist() == list(range(wanted.start, wanted.stop))
    assert sum(part.size for part in parts) == len(found)
    # what is read besides is at most half of what is wanted
    assert 2 * sum(numbers[part.box].size for part in parts) <= 3 * len(found)
    assert len(parts) <= 2 * len(shape) - 1


@given(splits(), st.data())
def test_a_view_reads_what_reshaping_gives(
    split: tuple[NDArray[Any], tuple[int, ...], list[int], int], data: st.DataObject
) -> None:
    values, chunks, order, n = split
    expected = flat(values, order, n)
    names = [f"d{axis}" for axis in range(values.ndim)]
    array = zarr.create_array(MemoryStore(), data=values, chunks=chunks)
    sources: list[Source] = [
        flatten(ArraySource(values), order, n),
        FlatSource(ArraySource(values), tuple(order), n),
        flatten(ZarrSource(array), order, n),
        flatten(XarraySource(xr.DataArray(values, dims=names), chunks), order, n),
    ]
    rows, features = (some_range(data.draw, size) for size in expected.shape)
    for source in (pickle.loads(pickle.dumps(s)) for s in sources):
        assert (source.shape, source.dtype) == (expected.shape, np.float32)
        assert np.array_equal(source.read(rows, features), expected[rows, features])


@given(splits(), st.data())
def test_what_a_read_decodes_is_known_beforehand(
    split: tuple[NDArray[Any], tuple[int, ...], list[int], int], data: st.DataObject
) -> None:
    values, chunks, order, n = split
    source = Watched(values, chunks)
    view = FlatSource(source, tuple(order), n)
    rows, features = (some_range(data.draw, size) for size in view.shape)
    view.read(rows, features)
    announced = math.prod(
        view.decoded(axis, (np.array([part.start]), np.array([part.stop])))
        for axis, part in enumerate((rows, features))
    )
    assert announced == source.decoded_entries


@given(splits(), st.data())
def test_blocks_of_dask_arrays_read_what_reshaping_gives(
    split: tuple[NDArray[Any], tuple[int, ...], list[int], int], data: st.DataObject
) -> None:
    values, chunks, order, n = split
    expected = flat(values, order, n)
    blocks = Blocks.of(da.from_array(values, chunks=chunks), order, n)
    assert (blocks.shape, blocks.dtype) == (expected.shape, np.float32)
    rows, features = (some_range(data.draw, size) for size in expected.shape)
    inputs, arrival = blocks.inputs(rows.start, rows.stop)
    source = arrival.source(dask.compute(*inputs))
    assert np.array_equal(source.read(rows, features), expected[rows, features])
    # no more blocks than hold these rows and their neighbours in a box
    assert len(inputs) <= math.prod(blocks.parts[0].array.numblocks)


def test_only_the_blocks_of_some_rows_are_asked_for() -> None:
    array = da.zeros((40, 6, 8), chunks=(5, 6, 4))
    inputs, arrival = Blocks.of(array, (0, 1, 2), 1).inputs(12, 18)
    assert len(inputs) == 2 * 2
    assert arrival.source(dask.compute(*inputs)).read(slice(12, 18), slice(0, 48)).shape == (6, 48)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_joined_features_stand_side_by_side(widths: list[int], data: st.DataObject) -> None:
    parts = [np.random.default_rng(w).random((7, w)) for w in widths]
    expected = np.concatenate(parts, axis=1)
    source = JoinedFeatures(tuple(ArraySource(part) for part in parts))
    rows, features = (some_range(data.draw, size) for size in expected.shape)
    assert source.shape == expected.shape
    assert np.array_equal(source.read(rows, features), expected[rows, features])


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(0, 2), st.data())
def test_joined_files_continue_each_other(sizes: list[int], axis: int, data: st.DataObject) -> None:
    shapes = [[3, 4, 2] for _ in sizes]
    for shape, size in zip(shapes, sizes, strict=True):
        shape[axis] = size
    parts = [np.random.default_rng(n).random(shape) for n, shape in enumerate(shapes)]
    expected = np.concatenate(parts, axis=axis)
    source = JoinedSource(tuple(ArraySource(part) for part in parts), axis)
    box = [some_range(data.draw, size) for size in expected.shape]
    assert source.shape == expected.shape
    assert np.array_equal(source.read(*box), expected[tuple(box)])
    assert source.decoded(axis, (np.array([0, 1]), np.array([1, 1]))) == 1


@given(st.sets(st.integers(0, 9), min_size=1), st.data())
def test_selected_features_are_those_of_a_mask(kept: set[int], data: st.DataObject) -> None:
    values = np.random.default_rng(0).random((6, 10))
    chosen = np.array(sorted(kept))
    source = SelectedFeatures(ArraySource(values), chosen)
    rows, features = (some_range(data.draw, size) for size in (6, len(chosen)))
    assert np.array_equal(source.read(rows, features), values[:, chosen][rows, features])


class Chunked(RegularChunks):
    shape = (10, 100)
    chunks = (4, 30)


@pytest.mark.parametrize(
    ("axis", "ranges", "expected"),
    [
        (0, ([0], [10]), 10),
        (0, ([0, 5], [5, 10]), 8 + 6),
        (1, ([31], [59]), 30),
        (1, ([90], [100]), 10),
    ],
)
def test_chunks_are_decoded_whole(axis: int, ranges: Any, expected: int) -> None:
    pair: Ranges = (np.array(ranges[0]), np.array(ranges[1]))
    assert Chunked().decoded(axis, pair) == expected
