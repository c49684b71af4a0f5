"""Grid: the units of a map, their places, distances and neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from somscale.errors import InputError
from somscale.topology.arguments import chain_lattice, grid_lattice, lattice_from_spec
from somscale.topology.checks import as_units, one_of
from somscale.topology.lattice import Delta, Lattice, Neighborhood, Offset, Periodic, Topology
from somscale.topology.network import Graph, Table

__all__ = ["Grid"]

MAX_TABLE_SIZE: Final = 8_192  # units whose table of distances takes 512 MB


@dataclass(frozen=True, init=False, repr=False)
class Grid:
    """The arrangement of a map's units: where they lie, how far apart, and who adjoins whom.

    Units are numbered row by row, ``unit = row * cols + col``.  A grid is immutable, can be
    compared, hashed and pickled, and every array it returns is the caller's own.  Other
    arrangements are made by `Grid.chain`, `Grid.from_edges` and `Grid.from_distances`.

    Parameters
    ----------
    rows, cols : int
        Numbers of rows and columns, at least 1.
    topology : {"rectangular", "hexagonal"}
        Hexagonal cells lie in offset rows, √3/2 of a column's width apart.
    offset : {"odd", "even"}
        Which rows of a hexagonal grid are shifted right by half a cell, counting from row 0:
        "odd" is also known as odd-r, "even" as even-r.  Rectangular grids ignore it.
    periodic : {False, True, "rows", "cols"}
        False is planar.  "cols": each row closes into a ring (a cylinder); "rows": each
        column does; True: both (a torus).  Distances are the smallest over all images.
    neighbors : {4, 8, 6}, optional
        Units that adjoin one in the middle of the map: 4 (default) or 8 on a rectangular
        grid, 6 on a hexagonal one.
    delta : {"hops", "euclidean", "max"}
        The distance on the map: steps between neighbours; the Euclidean distance of the
        positions; or the larger of their absolute differences in x and y.

    Raises
    ------
    InputError
        If an argument has no such value, or a hexagonal grid has an odd number of rows that
        wrap, which is not a lattice.

    Examples
    --------
    >>> grid = Grid(12, 8, topology="hexagonal")
    >>> grid.size, grid.max_distance
    (96, 13.0)
    >>> grid.distance(0, [1, 8, 95]).tolist()
    [1.0, 1.0, 13.0]
    """

    _layout: Lattice | Graph | Table

    def __init__(
        self,
        rows: int,
        cols: int,
        *,
        topology: Topology = "rectangular",
        offset: Offset = "odd",
        periodic: Periodic = False,
        neighbors: int | None = None,
        delta: Delta = "hops",
    ) -> None:
        layout = grid_lattice(
            rows,
            cols,
            topology=topology,
            offset=offset,
            periodic=periodic,
            neighbors=neighbors,
            delta=delta,
        )
        object.__setattr__(self, "_layout", layout)

    @classmethod
    def _of(cls, layout: Lattice | Graph | Table) -> Self:
        grid = cls.__new__(cls)
        object.__setattr__(grid, "_layout", layout)
        return grid

    @classmethod
    def chain(cls, n: int, *, periodic: bool = False, delta: Delta = "hops") -> Self:
        """Return a one-dimensional map of `n` units, each adjoining the one before and after.

        Parameters
        ----------
        n : int
            Number of units, at least 1.
        periodic : bool
            Whether the last unit adjoins the first.  Positions lie on a line even so.
        delta : {"hops", "euclidean", "max"}
            As in `Grid`; on a chain the three are equal.

        Raises
        ------
        InputError
            If an argument has no such value.
        """
        return cls._of(chain_lattice(n, periodic=periodic, delta=delta))

    @classmethod
    def from_edges(
        cls, n: int, edges: Iterable[Any], *, positions: ArrayLike | None = None
    ) -> Self:
        """Return a map whose units adjoin along the edges of any undirected, connected graph.

        Its delta is the number of edges on the shortest path.

        Parameters
        ----------
        n : int
            Number of units, at least 1.
        edges : iterable of pairs of int, shape (E, 2)
            The units that each edge joins, in either order; an edge may be repeated.
        positions : array_like, shape (n, 2), optional
            x and y of each unit, for drawing; by default units lie on a line.

        Raises
        ------
        InputError
            If an edge names a unit out of range or joins a unit to itself, or if no path joins
            two of the units (both are named).

        Examples
        --------
        >>> star = Grid.from_edges(4, [(0, 1), (0, 2), (0, 3)])
        >>> star.distance(1, [0, 1, 2]).tolist()
        [1.0, 0.0, 2.0]
        """
        return cls._of(Graph.checked(n, edges, positions))

    @classmethod
    def from_distances(
        cls,
        delta: ArrayLike,
        *,
        edges: Iterable[Any] | None = None,
        positions: ArrayLike | None = None,
    ) -> Self:
        """Return a map with any distances between its units.

        Parameters
        ----------
        delta : array_like, shape (K, K)
            Finite, non-negative, symmetric, zero on the diagonal.
        edges : iterable of pairs of int, shape (E, 2), optional
            The units that adjoin.  By default they are those with 0 < delta ≤ 1, the rule of
            the survey by Forest et al. (2020, arXiv:2011.05847); give the edges when distances
            of 1 are subject to rounding.  They need not connect all units.
        positions : array_like, shape (K, 2), optional
            x and y of each unit, for drawing; by default units lie on a line.

        Raises
        ------
        InputError
            If an entry of `delta` breaks one of these rules (it is named), or an edge names
            a unit out of range or joins a unit to itself.
        """
        return cls._of(Table.checked(delta, edges, positions))

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """Return the grid whose `to_spec` is `spec`; keys of any other meaning are ignored.

        Raises
        ------
        InputError
            If a parameter is missing or has no such value.
        """
        if not isinstance(spec, Mapping):
            raise InputError(f"The spec of a grid is a mapping, not a {type(spec).__name__}.")
        try:
            match spec["topology"]:
                case "graph":
                    positions = spec["positions"]
                    return cls.from_edges(spec["size"], spec["edges"], positions=positions)
                case "table":
                    edges, positions = spec["edges"], spec["positions"]
                    return cls.from_distances(spec["distances"], edges=edges, positions=positions)
                case _:
                    return cls._of(lattice_from_spec(spec))
        except KeyError as missing:
            raise InputError(f"The spec of a grid lacks {missing}; it has {list(spec)}.") from None

    def to_spec(self) -> dict[str, Any]:
        """Return all that defines the grid, for storage.

        Returns
        -------
        dict
            Of strings and integers, which JSON, Zarr and netCDF attributes can all hold.
            Grids made from edges or distances also have arrays: "edges" (E, 2) int64,
            "positions" (K, 2) and, from distances, "distances" (K, K), float64.
        """
        return self._layout.spec()

    def __repr__(self) -> str:
        return str(self._layout)

    @property
    def size(self) -> int:
        """Number of units, K."""
        return self._layout.size

    @property
    def rows(self) -> int:
        """Number of rows; 1 unless the units form a rectangle."""
        return self._layout.rows

    @property
    def cols(self) -> int:
        """Number of columns; K unless the units form a rectangle."""
        return self._layout.cols

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.rows, self.cols

    @property
    def dimension(self) -> int:
        """1 for a chain or a single row or column, else 2 (also for edges and distances)."""
        return self._layout.dimension

    @property
    def topology(self) -> str:
        """One of "rectangular", "hexagonal", "chain", "graph" (from edges), "table"."""
        return self._layout.topology

    @property
    def offset(self) -> str | None:
        """Which rows of a hexagonal grid are shifted right, "odd" or "even"; else None."""
        return self._layout.offset

    @property
    def periodic(self) -> Periodic:
        """Which axes wrap: False, True, "rows" or "cols"."""
        return self._layout.periodic

    @property
    def neighbors(self) -> int | None:
        """Neighbours of a unit in the middle: 4, 8, 6, 2 on a chain; None for a graph or table."""
        return self._layout.neighbors

    @property
    def delta(self) -> str:
        """The distance on the map: "hops", "euclidean", "max", or "table"."""
        return self._layout.delta

    @property
    def row(self) -> NDArray[np.int32]:
        """Row of each unit, (K,)."""
        return (np.arange(self.size) // self.cols).astype(np.int32)

    @property
    def col(self) -> NDArray[np.int32]:
        """Column of each unit, (K,)."""
        return (np.arange(self.size) % self.cols).astype(np.int32)

    @property
    def positions(self) -> NDArray[np.float64]:
        """Position x, y of each unit, (K, 2), in columns' widths; y grows with the row."""
        return self._layout.positions()

    @property
    def max_distance(self) -> float:
        """Largest delta of any two units of the map, found anew at each call in O(K).

        (Not so for a graph, which is searched from every unit.)
        """
        return self._layout.max_distance()

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        """Return the map distance delta between units, without a table of all pairs.

        Parameters
        ----------
        i, j : array_like of int
            Unit numbers, of shapes that broadcast.

        Returns
        -------
        ndarray of float64
            Delta, ≥ 0, of the broadcast shape; a scalar for two scalars.

        Raises
        ------
        InputError
            If a number is not that of a unit, or the shapes do not broadcast.
        """
        return self._layout.distance(*self._pair(i, j))

    def distances(self) -> NDArray[np.float64]:
        """Return delta between all units, (K, K).

        Raises
        ------
        InputError
            If there are more than 8,192 units, whose table would exceed 512 MB.
        """
        if self.size > MAX_TABLE_SIZE:
            raise InputError(
                f"A table of the distances between {self.size} units would hold "
                f"{self.size**2 * 8 / 2**30:.1f} GiB (limit: {MAX_TABLE_SIZE} units); "
                f"use distance(i, j) for the pairs at hand."
            )
        return self._layout.table()

    def adjacent(
        self, i: ArrayLike, j: ArrayLike, neighborhood: Neighborhood | None = None
    ) -> NDArray[np.bool_]:
        """Return whether units adjoin; no unit adjoins itself.

        Parameters
        ----------
        i, j : array_like of int
            Unit numbers, of shapes that broadcast.
        neighborhood : {None, "edge", "vertex"}
            None: the grid's own `neighbors`.  "edge": units whose cells share an edge, 4 on
            a rectangular grid; "vertex": or a corner, 8.  On a hexagonal grid both are the 6,
            on a chain both are the 2, and from edges or distances both are the edges.

        Returns
        -------
        ndarray of bool
            Of the broadcast shape; a scalar for two scalars.

        Raises
        ------
        InputError
            As `distance` does, or if there is no such neighbourhood.
        """
        return self._layout.adjacent(*self._pair(i, j), _neighborhood(neighborhood))

    def edges(self, neighborhood: Neighborhood | None = None) -> NDArray[np.int64]:
        """Return the pairs of units that adjoin, (E, 2), each once with i < j, sorted.

        Parameters
        ----------
        neighborhood : {None, "edge", "vertex"}
            As in `adjacent`.

        Raises
        ------
        InputError
            If there is no such neighbourhood.
        """
        return self._layout.edges(_neighborhood(neighborhood))

    def _pair(self, i: ArrayLike, j: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        first, second = as_units(i, self.size, "i"), as_units(j, self.size, "j")
        try:
            np.broadcast_shapes(first.shape, second.shape)
        except ValueError:
            raise InputError(
                f"Units i of shape {first.shape} and j of shape {second.shape} do not broadcast; "
                f"insert axes of length 1 to compare all with all."
            ) from None
        return first, second


def _neighborhood(neighborhood: object) -> str | None:
    if neighborhood is None:
        return None
    return one_of(neighborhood, "neighborhood", ("edge", "vertex"))
