"""Grids as objects: graphs and tables, refusals, copies, storage, pickles."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

from somscale.errors import InputError
from somscale.topology import Grid, network, search

STAR = [(0, 1), (0, 2), (3, 0), (1, 0)]
LINE_TABLE = np.abs(np.subtract.outer([0.0, 0.5, 2.5], [0.0, 0.5, 2.5]))


def samples_of_every_kind() -> list[Grid]:
    return [
        Grid(4, 3),
        Grid(4, 3, neighbors=8, periodic="rows", delta="max"),
        Grid(4, 3, topology="hexagonal", offset="even", periodic=True, delta="euclidean"),
        Grid.chain(5, periodic=True),
        Grid.from_edges(4, STAR),
        Grid.from_edges(4, STAR, positions=[[0, 0], [1, 0], [0, 1], [-1, 0]]),
        Grid.from_distances(LINE_TABLE),
        Grid.from_distances(LINE_TABLE, edges=[(1, 2)]),
    ]


every_kind = pytest.mark.parametrize("grid", samples_of_every_kind(), ids=repr)


def test_a_graph_of_edges() -> None:
    grid = Grid.from_edges(4, STAR)
    assert grid.edges().tolist() == grid.edges("vertex").tolist() == [[0, 1], [0, 2], [0, 3]]
    assert grid.distances().tolist() == [[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]]
    assert grid.adjacent([0, 1, 1, 2], [0, 0, 2, 0], "edge").tolist() == [False, True, False, True]
    assert (grid.shape, grid.max_distance, grid.dimension) == ((1, 4), 2, 2)
    assert grid.positions.tolist() == [[0, 0], [1, 0], [2, 0], [3, 0]]
    assert Grid.from_edges(1, []).distances().tolist() == [[0]]
    assert Grid.from_edges(4, {(0, 1), (2, 0), (0, 3)}) == grid


def test_a_large_graph_is_searched_from_the_units_that_occur(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lattice = Grid(5, 6, topology="hexagonal", periodic="cols")
    monkeypatch.setattr(network, "KEPT_SIZE", 0)
    monkeypatch.setattr(search, "SEARCH_BLOCK", 70)  # two of the 30 units at a time
    graph = Grid.from_edges(lattice.size, lattice.edges())
    i, j = np.random.default_rng(0).integers(0, 30, (2, 200))
    np.testing.assert_array_equal(graph.distance(i, j), lattice.distance(i, j))
    np.testing.assert_array_equal(graph.distance(i[:, None], j), lattice.distance(i[:, None], j))
    assert graph.distance(3, 17) == lattice.distance(3, 17)
    assert graph.distance(i[:0], j[:0]).shape == (0,)
    assert graph.max_distance == lattice.max_distance


def test_a_table_of_distances() -> None:
    grid = Grid.from_distances(LINE_TABLE)
    assert grid.edges().tolist() == [[0, 1]]
    np.testing.assert_array_equal(grid.distances(), LINE_TABLE)
    assert (grid.distance(2, 0), grid.max_distance, grid.shape) == (2.5, 2.5, (1, 3))
    assert Grid.from_distances(LINE_TABLE, edges=[(2, 1)]).adjacent(1, [0, 2]).tolist() == [0, 1]


@every_kind
def test_pairs_broadcast_as_numpy_does(grid: Grid) -> None:
    table = grid.distances()
    units = np.arange(grid.size)
    for dtype in (np.uint8, np.int32, np.uint64):
        pairs = grid.distance(units.astype(dtype)[:, None], units.astype(dtype))
        np.testing.assert_array_equal(pairs, table)
        assert pairs.dtype == np.float64
    assert isinstance(grid.distance(0, 1), np.float64)
    assert isinstance(grid.adjacent(0, 1), np.bool_)
    assert grid.distance([], []).shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": 0}, "rows must be an integer of at least 1, not 0"),
        ({"cols": 2.0}, "cols must be an integer of at least 1, not 2.0"),
        ({"rows": True}, "rows must be an integer"),
        ({"topology": "hex"}, "topology must be 'rectangular' or 'hexagonal', not 'hex'"),
        ({"offset": "odd-r"}, "offset must be 'odd' or 'even', not 'odd-r'"),
        ({"periodic": "columns"}, "periodic must be False, True, 'rows' or 'cols'"),
        ({"periodic": 1}, "periodic must be .* not 1"),
        ({"neighbors": 6}, "neighbors of a rectangular grid must be 4 or 8, not 6"),
        ({"topology": "hexagonal", "neighbors": 8}, "hexagonal grid must be 6, not 8"),
        ({"delta": "manhattan"}, "delta must be 'hops', 'euclidean' or 'max', not 'manhattan'"),
        ({"topology": "hexagonal", "periodic": True}, "3 rows and 4 columns .* not a lattice"),
        ({"topology": "hexagonal", "periodic": "rows"}, "even number of rows, such as 4, or wrap"),
    ],
)
def test_grid_refuses(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Grid(**{"rows": 3, "cols": 4, **arguments})


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(0, 1), (2, 3)], "2 separate parts: no path joins units 0 and 2"),
        ([], "4 separate parts: no path joins units 0 and 1"),
        ([(0, 4)], r"edges\[0, 1\] is 4, which is no unit of this map: its 4 units"),
        ([(0, 1), (-1, 2)], r"edges\[1, 0\] is -1"),
        ([(0, 1), (2, 2)], r"edges\[1\] joins unit 2 to itself"),
        ([(0, 1, 2)], r"shape \(E, 2\), not \(1, 3\)"),
        ([(0, 1), (2,)], r"edges must be pairs of unit numbers, shape \(E, 2\)"),
        ([(0.0, 1.0)], "integers, not float64"),
        (7, "edges must be pairs of unit numbers"),
    ],
)
def test_from_edges_refuses(edges: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Grid.from_edges(4, edges)


@pytest.mark.parametrize(
    ("delta", "message"),
    [
        ([[0, 1, 2], [1, 0, 1]], r"delta must be square.* not \(2, 3\)"),
        ([], "delta must be square"),
        ([[0, np.nan], [1, 0]], r"delta\[0, 1\] is nan, but every distance must be finite"),
        ([[0, 1], [np.inf, 0]], r"delta\[1, 0\] is inf, but every distance must be finite"),
        ([[0, -1], [-1, 0]], r"delta\[0, 1\] is -1\.0, but no distance may be negative"),
        ([[0, 1], [1, 0.5]], r"delta\[1, 1\] is 0\.5, but a unit must be at distance 0"),
        ([[0, 1], [2, 0]], r"delta\[0, 1\] is 1\.0, but it must equal its mirror image"),
        ([["a"]], "delta must hold real numbers"),
        ([[0], [1, 2]], "delta must be an array of numbers"),
    ],
)
def test_from_distances_refuses(delta: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Grid.from_distances(delta)


def test_other_refusals() -> None:
    grid = Grid(2, 3)
    refused: list[tuple[Any, str]] = [
        (lambda: grid.distance(6, 0), "i is 6, which is no unit of this map: its 6 units"),
        (lambda: grid.distance([0, 1], [[0], [-1]]), r"j\[1, 0\] is -1"),
        (lambda: grid.adjacent([0.0], 1), "i must hold unit numbers, which are integers"),
        (lambda: grid.distance([0, 1], [0, 1, 2]), r"shape \(2,\) and j of shape \(3,\)"),
        (lambda: grid.edges("corner"), "neighborhood must be 'edge' or 'vertex', not 'corner'"),
        (lambda: grid.adjacent(0, 1, 8), "neighborhood must be 'edge' or 'vertex', not 8"),
        (lambda: Grid.chain(0), "n must be an integer of at least 1"),
        (lambda: Grid.chain(3, periodic="cols"), "periodic of a chain must be True or False"),
        (lambda: Grid.from_edges(2, [(0, 1)], positions=[0, 1]), r"shape \(2, 2\), not \(2,\)"),
        (
            lambda: Grid.from_edges(2, [(0, 1)], positions=[[0, 1], [np.nan, 0]]),
            r"positions\[1, 0\] is nan",
        ),
        (lambda: Grid.from_spec({"topology": "rectangular", "rows": 2}), "lacks 'periodic'"),
        (lambda: Grid.from_spec({"topology": "cube"}), "topology must be .* not 'cube'"),
    ]
    for call, message in refused:
        with pytest.raises(InputError, match=message):
            call()


@every_kind
def test_round_trips(grid: Grid) -> None:
    spec = grid.to_spec()
    small = {key: value for key, value in spec.items() if not isinstance(value, np.ndarray)}
    assert {type(value) for value in small.values()} == {str, int}
    stored = {**spec, **json.loads(json.dumps(small)), "title": "not the grid's"}
    grid.distance(0, 1)  # whatever is kept of this must not be pickled
    for other in (Grid.from_spec(stored), pickle.loads(pickle.dumps(grid))):
        assert other == grid
        assert hash(other) == hash(grid)
        assert repr(other) == repr(grid)
        np.testing.assert_array_equal(other.distances(), grid.distances())
    assert len(pickle.dumps(grid)) == len(pickle.dumps(Grid.from_spec(spec)))


def test_grids_differ_if_anything_does() -> None:
    grids = samples_of_every_kind()
    assert len(set(grids)) == len(grids)
    assert Grid(3, 3, offset="even") == Grid(3, 3, neighbors=4)  # rows are not shifted
    assert Grid.chain(3) != Grid(1, 3)
    assert Grid(3, 3) != "Grid(3, 3)"


@every_kind
def test_grids_are_immutable(grid: Grid) -> None:
    twin = Grid.from_spec(grid.to_spec())
    for name in ("rows", "_layout", "anything"):
        with pytest.raises(AttributeError):
            setattr(grid, name, 7)
    returned = [grid.positions, grid.row, grid.distances(), grid.edges(), grid.distance([0], [1])]
    for array in [*returned, *grid.to_spec().values()]:
        if isinstance(array, np.ndarray):
            array += 1
    assert grid == twin
    np.testing.assert_array_equal(grid.distances(), twin.distances())


def test_grids_keep_copies_of_what_they_are_given() -> None:
    delta, edges, positions = LINE_TABLE.copy(), np.array([[0, 1], [1, 2]]), np.zeros((3, 2))
    table = Grid.from_distances(delta, edges=edges)
    graph = Grid.from_edges(3, edges, positions=positions)
    for array in (delta, edges, positions):
        array += 1
    assert table == Grid.from_distances(LINE_TABLE, edges=[(0, 1), (1, 2)])
    assert graph == Grid.from_edges(3, [(0, 1), (1, 2)], positions=np.zeros((3, 2)))


def test_representations() -> None:
    for grid in samples_of_every_kind()[:4]:
        assert eval(repr(grid)) == grid
    assert repr(Grid.from_edges(4, STAR)) == "Grid.from_edges(4, <3 edges>)"
    assert repr(Grid.from_distances(LINE_TABLE)) == (
        "Grid.from_distances(<3 x 3 table>, edges=<1 edges>)"
    )
