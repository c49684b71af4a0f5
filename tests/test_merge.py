"""Merging: one tree over tile numbers, whatever the runs, the grouping and the gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from somscale.kernels import counts as counts_module
from somscale.kernels.counts import as_keyed, as_keyed_weights, sort_keyed
from somscale.reductions.base import Field, Partial, fresh_partial
from somscale.reductions.merge import Fold, fold_nodes, merge_partials

FIELDS = {
    "sum": Field("sum", "float64", (3,)),
    "count": Field("sum", "int64"),
    "high": Field("max", "float64", (2,)),
    "low": Field("min", "int64"),
    "samples": Field("concat", "int32"),
    "keyed": Field("keyed", "int64"),
    "weights": Field("keyed", "float64"),
}
Node = tuple[int, int, Partial]


def random_partial(rng: np.random.Generator) -> Partial:
    """A tile's partial that nobody may write to; its sums have many magnitudes."""
    partial: Partial = {
        "sum": rng.standard_normal(3) * 10.0 ** rng.integers(-8, 9, 3),
        "count": np.asarray(rng.integers(0, 2**40)),
        "high": rng.standard_normal(2),
        "low": np.asarray(rng.integers(-(2**62), 2**62)),
        "samples": rng.integers(-5, 5, rng.integers(0, 4)).astype(np.int32),
        "keyed": as_keyed(rng.integers(0, 5, rng.integers(0, 4))),
        # whole numbers: the order in which they are added shows in no bit
        "weights": keyed_weights(rng, lambda size: rng.integers(0, 2**40, size) / 2),
    }
    for array in partial.values():
        array.flags.writeable = False
    return partial


def keyed_weights(rng: np.random.Generator, draw: Callable[[int], Any]) -> Any:
    keys = rng.integers(0, 5, rng.integers(0, 4))
    return as_keyed_weights(keys, draw(len(keys)))


@st.composite
def tiles(draw: st.DrawFn, most: int = 40) -> dict[int, Partial]:
    """Partials of some of the tiles below `most`, in order."""
    numbers = draw(st.sets(st.integers(0, most - 1), min_size=1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return {number: random_partial(rng) for number in sorted(numbers)}


def plain_merge(left: Partial, right: Partial) -> Partial:
    return {
        "sum": left["sum"] + right["sum"],
        "count": left["count"] + right["count"],
        "high": np.maximum(left["high"], right["high"]),
        "low": np.minimum(left["low"], right["low"]),
        "samples": np.concatenate([left["samples"], right["samples"]]),
        "keyed": np.concatenate([left["keyed"], right["keyed"]], axis=1),
        "weights": np.concatenate([left["weights"], right["weights"]], axis=1),
    }


def tree_total(tiles: dict[int, Partial], level: int, index: int) -> Partial | None:
    """The node of a tree, by its definition: its left child merged with its right one."""
    if level == 0:
        return tiles.get(index)
    left = tree_total(tiles, level - 1, 2 * index)
    right = tree_total(tiles, level - 1, 2 * index + 1)
    if left is None or right is None:
        return right if left is None else left
    return plain_merge(left, right)


def assert_equal_bits(found: Partial | None, expected: Partial | None) -> None:
    assert found is not None
    assert expected is not None
    assert set(found) == set(expected)
    for name, array in expected.items():
        counts = FIELDS[name].merge == "keyed"
        left, right = (sort_keyed(a) if counts else a for a in (found[name], array))
        assert (left.dtype, left.shape) == (right.dtype, right.shape), name
        assert left.tobytes() == right.tobytes(), name


def runs(tiles: dict[int, Partial], level: int) -> Iterator[Node]:
    """Aligned runs of 2^level tiles, each folded on its own."""
    for index in sorted({number >> level for number in tiles}):
        members = [(0, n, tiles[n]) for n in tiles if n >> level == index]
        node = fold_nodes(FIELDS, members)
        assert node is not None
        yield level, index, node


@given(tiles=tiles(), level=st.integers(0, 6))
def test_any_length_of_runs_gives_the_trees_total(tiles: dict[int, Partial], level: int) -> None:
    assert_equal_bits(fold_nodes(FIELDS, runs(tiles, level)), tree_total(tiles, 6, 0))


@given(tiles=tiles(), data=st.data())
def test_runs_of_mixed_lengths_give_the_trees_total(
    tiles: dict[int, Partial], data: st.DataObject
) -> None:
    def split(level: int, index: int) -> Iterator[Node]:
        members = [(0, n, partial) for n, partial in tiles.items() if n >> level == index]
        if not members:
            return
        if level and data.draw(st.booleans()):
            yield from split(level - 1, 2 * index)
            yield from split(level - 1, 2 * index + 1)
        else:
            node = fold_nodes(FIELDS, members)
            assert node is not None
            yield level, index, node

    assert_equal_bits(fold_nodes(FIELDS, split(6, 0)), tree_total(tiles, 6, 0))


@given(tiles=tiles(), data=st.data())
def test_any_fan_in_gives_the_trees_total(tiles: dict[int, Partial], data: st.DataObject) -> None:
    nodes = list(runs(tiles, data.draw(st.integers(0, 2))))
    level = nodes[0][0]
    while level < 6:
        step = data.draw(st.integers(1, 4))
        groups: dict[int, list[Node]] = {}
        for node in nodes:
            groups.setdefault(node[1] >> step, []).append(node)
        level += step
        merged = ((index, fold_nodes(FIELDS, group)) for index, group in groups.items())
        nodes = [(level, index, node) for index, node in merged if node is not None]
    assert_equal_bits(nodes[0][2], tree_total(tiles, 6, 0))


@given(tiles=tiles(), sort_above=st.sampled_from([0, 3]))
def test_keyed_counts_may_be_sorted_at_any_time(tiles: dict[int, Partial], sort_above: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts_module, "_SORT_ABOVE", sort_above)
        found = fold_nodes(FIELDS, runs(tiles, 2))
    assert_equal_bits(found, tree_total(tiles, 6, 0))


@given(
    seed=st.integers(0, 2**32 - 1),
    level=st.integers(0, 4),
    sort_above=st.sampled_from([0, 3, 1 << 16]),
)
def test_keyed_weights_have_the_same_bits_from_any_runs(
    seed: int, level: int, sort_above: int
) -> None:
    rng = np.random.default_rng(seed)
    fields = {"weights": FIELDS["weights"]}
    tiles = [
        (0, n, {"weights": keyed_weights(rng, lambda size: 10.0 ** rng.uniform(-9, 9, size))})
        for n in range(16)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts_module, "_SORT_ABOVE", sort_above)
        whole = fold_nodes(fields, tiles)
        width = 1 << level
        parts = [tiles[n : n + width] for n in range(0, 16, width)]
        folded = [(level, n, fold_nodes(fields, part)) for n, part in enumerate(parts)]
        again = fold_nodes(fields, [(at, n, node) for at, n, node in folded if node is not None])
    assert whole is not None
    assert again is not None
    assert sort_keyed(again["weights"]).tobytes() == sort_keyed(whole["weights"]).tobytes()


def test_the_tree_is_over_tile_numbers_not_over_arrivals() -> None:
    fields = {"sum": Field("sum", "float64", ())}
    values = {0: 1.0, 1: 1e-16, 2: 1e-16, 3: 0.0}
    nodes = [(0, n, {"sum": np.asarray(value)}) for n, value in values.items()]
    whole = fold_nodes(fields, nodes)
    without_first = fold_nodes(fields, nodes[1:])
    assert whole is not None
    assert without_first is not None
    assert whole["sum"] == (1.0 + 1e-16) + (1e-16 + 0.0)
    assert without_first["sum"] == 2e-16


def test_partials_that_are_shared_stay_as_they_are() -> None:
    rng = np.random.default_rng(3)
    left, right = random_partial(rng), random_partial(rng)  # neither can be written to
    before = {name: array.copy() for name, array in left.items()}
    first, again = merge_partials(FIELDS, left, right), merge_partials(FIELDS, left, right)
    assert_equal_bits(first, plain_merge(left, right))
    for array in first.values():
        array[...] = 0
    assert_equal_bits(again, plain_merge(left, right))
    assert_equal_bits(left, before)


@given(seed=st.integers(0, 2**32 - 1))
def test_a_fresh_partial_changes_nothing(seed: int) -> None:
    partial = random_partial(np.random.default_rng(seed))
    assert_equal_bits(merge_partials(FIELDS, fresh_partial(FIELDS), partial), partial)
    assert_equal_bits(merge_partials(FIELDS, partial, fresh_partial(FIELDS)), partial)


def test_a_fresh_partial_has_room_for_the_values_of_its_rows() -> None:
    fresh = fresh_partial({"a": Field("concat", "int32", (2,)), "b": Field("max", "int32")}, 3)
    assert fresh["a"].shape == (3, 2)
    assert fresh["a"].dtype == np.int32
    assert fresh["b"] == np.iinfo(np.int32).min


def test_no_tiles_have_no_total() -> None:
    assert Fold(FIELDS).result() is None


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (Field("sum", "float64", (3, 2)), 48),
        (Field("concat", "int32"), 4),
        (Field("keyed", "int64"), 0),
        (Field("keyed", "float64"), 0),
    ],
)
def test_fields_tell_their_bytes(field: Any, expected: int) -> None:
    assert field.nbytes == expected
