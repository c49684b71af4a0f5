"""Lattices: distances and neighbours against searches, brute force and lists written by hand."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from somscale.errors import InputError
from somscale.topology import Grid

PERIODICS = (False, "rows", "cols", True)
SHAPES = tuple(itertools.product(range(1, 6), range(1, 7)))
KINDS: tuple[dict[str, Any], ...] = (
    {"topology": "rectangular", "neighbors": 4},
    {"topology": "rectangular", "neighbors": 8},
    {"topology": "hexagonal", "offset": "odd"},
    {"topology": "hexagonal", "offset": "even"},
)
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
periodics = pytest.mark.parametrize("periodic", PERIODICS)


def is_lattice(rows: int, kind: dict[str, Any], periodic: object) -> bool:
    return not (kind["topology"] == "hexagonal" and periodic in ("rows", True) and rows % 2)


def grids(kind: dict[str, Any], periodic: Any, delta: Any) -> list[Grid]:
    return [
        Grid(rows, cols, periodic=periodic, delta=delta, **kind)
        for rows, cols in SHAPES
        if is_lattice(rows, kind, periodic)
    ]


def searched(grid: Grid, neighborhood: Any = None) -> np.ndarray:
    """Hops found by a search over the edges."""
    i, j = grid.edges(neighborhood).T
    graph = csr_array((np.ones(i.size), (i, j)), shape=(grid.size, grid.size))
    return shortest_path(graph, directed=False, unweighted=True)


def nearest_images(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Euclidean and maximum distances of positions, the smallest over the nine images."""
    height = math.sqrt(3) / 2 if grid.topology == "hexagonal" else 1.0
    row_turns = (-1, 0, 1) if grid.periodic in (True, "rows") else (0,)
    col_turns = (-1, 0, 1) if grid.periodic in (True, "cols") else (0,)
    images = [(col * grid.cols, row * grid.rows * height) for row in row_turns for col in col_turns]
    apart = grid.positions[:, None] - grid.positions + np.array(images)[:, None, None]
    return np.hypot(*np.moveaxis(apart, -1, 0)).min(0), np.abs(apart).max(-1).min(0)


@kinds
@periodics
def test_hops_are_those_of_a_search(kind: dict[str, Any], periodic: Any) -> None:
    for grid in grids(kind, periodic, "hops"):
        np.testing.assert_array_equal(grid.distances(), searched(grid), repr(grid))


@kinds
@periodics
@pytest.mark.parametrize("delta", ["euclidean", "max"])
def test_metric_deltas_are_those_of_the_nearest_image(
    kind: dict[str, Any], periodic: Any, delta: str
) -> None:
    for grid in grids(kind, periodic, delta):
        expected = nearest_images(grid)[delta == "max"]
        np.testing.assert_allclose(grid.distances(), expected, rtol=1e-14, err_msg=repr(grid))


@kinds
@periodics
@pytest.mark.parametrize("neighborhood", [None, "edge", "vertex"])
def test_neighbours_are_those_whose_cells_touch(
    kind: dict[str, Any], periodic: Any, neighborhood: Any
) -> None:
    corners = neighborhood == "vertex" or (neighborhood is None and kind.get("neighbors") == 8)
    reach = 1.45 if corners and kind["topology"] == "rectangular" else 1.05
    for grid in grids(kind, periodic, "hops"):
        euclidean, _ = nearest_images(grid)
        touch = (euclidean > 0) & (euclidean < reach)
        # A unit of a ring of one is its own image, never its own neighbour.
        np.fill_diagonal(touch, False)
        units = np.arange(grid.size)
        adjacent = grid.adjacent(units[:, None], units, neighborhood)
        np.testing.assert_array_equal(adjacent, touch, repr(grid))
        np.testing.assert_array_equal(grid.edges(neighborhood), np.argwhere(np.triu(touch)))


@kinds
@periodics
@pytest.mark.parametrize("delta", ["hops", "euclidean", "max"])
def test_max_distance_and_pairs_agree_with_the_table(
    kind: dict[str, Any], periodic: Any, delta: Any
) -> None:
    for grid in grids(kind, periodic, delta):
        table = grid.distances()
        assert grid.max_distance == table.max(), grid
        i, j = np.divmod(np.arange(grid.size**2), grid.size)
        np.testing.assert_array_equal(grid.distance(i, j), table.ravel(), repr(grid))


@given(
    rows=st.integers(1, 9),
    cols=st.integers(1, 9),
    kind=st.sampled_from(KINDS),
    periodic=st.sampled_from(PERIODICS),
    delta=st.sampled_from(["hops", "euclidean", "max"]),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_delta_is_a_metric(
    rows: int, cols: int, kind: dict[str, Any], periodic: Any, delta: Any
) -> None:
    rows += not is_lattice(rows, kind, periodic)
    table = Grid(rows, cols, periodic=periodic, delta=delta, **kind).distances()
    np.testing.assert_array_equal(table, table.T)
    np.testing.assert_array_equal(table == 0, np.eye(rows * cols, dtype=bool))
    for through in range(rows * cols):
        assert (table <= table[:, through, None] + table[through] + 1e-12).all()


@pytest.mark.parametrize(
    ("shape", "offset", "periodic", "unit", "expected"),
    [
        ((4, 4), "odd", False, 5, [1, 2, 4, 6, 9, 10]),
        ((4, 4), "odd", False, 10, [5, 6, 9, 11, 13, 14]),
        ((4, 4), "even", False, 5, [0, 1, 4, 6, 8, 9]),
        ((4, 4), "even", False, 10, [6, 7, 9, 11, 14, 15]),
        ((3, 3), "odd", False, 3, [0, 1, 4, 6, 7]),
        ((3, 3), "odd", False, 5, [2, 4, 8]),
        ((3, 3), "odd", False, 6, [3, 7]),
        ((3, 3), "odd", False, 8, [4, 5, 7]),
        ((3, 3), "even", False, 3, [0, 4, 6]),
        ((3, 3), "even", False, 5, [1, 2, 4, 7, 8]),
        ((3, 3), "even", False, 6, [3, 4, 7]),
        ((3, 3), "even", False, 8, [5, 7]),
        ((3, 3), "odd", "cols", 6, [3, 5, 7, 8]),
        ((3, 3), "even", "cols", 8, [3, 5, 6, 7]),
        ((4, 3), "odd", "rows", 0, [1, 3, 9]),
        ((4, 3), "odd", True, 0, [1, 2, 3, 5, 9, 11]),
        ((4, 3), "even", True, 0, [1, 2, 3, 4, 9, 10]),
    ],
)
def test_hexagonal_neighbours_of_both_parities(
    shape: tuple[int, int], offset: Any, periodic: Any, unit: int, expected: list[int]
) -> None:
    grid = Grid(*shape, topology="hexagonal", offset=offset, periodic=periodic)
    assert np.flatnonzero(grid.adjacent(unit, np.arange(grid.size))).tolist() == expected
    edges = grid.edges()
    assert sorted(edges[(edges == unit).any(1)].sum(1) - unit) == expected


@pytest.mark.parametrize("offset", ["odd", "even"])
def test_every_unit_of_a_hexagonal_torus_has_six_neighbours(offset: Any) -> None:
    grid = Grid(6, 5, topology="hexagonal", offset=offset, periodic=True)
    assert np.bincount(grid.edges().ravel()).tolist() == [6] * 30


def test_positions_of_hexagonal_rows() -> None:
    height = math.sqrt(3) / 2
    odd = Grid(2, 2, topology="hexagonal", offset="odd").positions
    even = Grid(2, 2, topology="hexagonal", offset="even").positions
    np.testing.assert_array_equal(odd, [[0, 0], [1, 0], [0.5, height], [1.5, height]])
    np.testing.assert_array_equal(even, [[0.5, 0], [1.5, 0], [0, height], [1, height]])


def test_hexagonal_neighbours_are_at_a_euclidean_distance_of_exactly_one() -> None:
    grid = Grid(9, 7, topology="hexagonal", delta="euclidean")
    np.testing.assert_array_equal(grid.distance(*grid.edges().T), 1.0)
    assert grid.distance(0, 14) == math.sqrt(3)


def test_properties() -> None:
    grid = Grid(3, 2, topology="hexagonal", offset="even", periodic="cols", delta="max")
    assert (grid.size, grid.rows, grid.cols, grid.shape) == (6, 3, 2, (3, 2))
    assert (grid.topology, grid.offset, grid.periodic) == ("hexagonal", "even", "cols")
    assert (grid.neighbors, grid.delta, grid.dimension) == (6, "max", 2)
    assert grid.row.tolist() == [0, 0, 1, 1, 2, 2]
    assert grid.col.tolist() == [0, 1, 0, 1, 0, 1]
    assert grid.row.dtype == grid.col.dtype == np.int32
    assert [Grid(1, 5).dimension, Grid(5, 1).dimension, Grid(1, 1).dimension] == [1, 1, 1]


@pytest.mark.parametrize("n", range(1, 7))
def test_chains(n: int) -> None:
    line, ring = Grid.chain(n), Grid.chain(n, periodic=True)
    units = np.arange(n)
    apart = np.abs(units[:, None] - units)
    np.testing.assert_array_equal(line.distances(), apart)
    np.testing.assert_array_equal(ring.distances(), np.minimum(apart, n - apart))
    for grid, neighborhood in itertools.product((line, ring), (None, "edge", "vertex")):
        np.testing.assert_array_equal(searched(grid, neighborhood), grid.distances())
    assert (ring.topology, ring.shape, ring.dimension, ring.neighbors) == ("chain", (1, n), 1, 2)


def test_a_map_of_65536_units_needs_no_table() -> None:
    plane = Grid(256, 256, neighbors=8)
    torus = Grid(256, 256, topology="hexagonal", periodic=True)
    i, j = np.random.default_rng(1).integers(0, 65_536, (2, 10_000))
    tracemalloc.start()
    hops, steps = torus.distance(i, j), plane.distance(i, j)
    assert (plane.max_distance, torus.max_distance) == (255, 192)
    assert len(torus.edges()) == 3 * 65_536
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**26
    rows, cols = np.abs(i // 256 - j // 256), np.abs(i % 256 - j % 256)
    np.testing.assert_array_equal(steps, np.maximum(rows, cols))
    moved = (i + 2 * 256) % 65_536, (j + 2 * 256) % 65_536
    np.testing.assert_array_equal(torus.distance(*moved), hops)
    with pytest.raises(InputError, match=r"65536 units would hold 32\.0 GiB.*distance\(i, j\)"):
        plane.distances()


def test_the_package_is_light_to_import() -> None:
    heavy = "scipy", "dask", "numba", "sklearn"
    code = f"import sys, somscale.topology; print([m for m in {heavy} if m in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert output.stdout.strip() == "[]", output.stderr
