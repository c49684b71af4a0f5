"""Irregular maps: a user's graph, and a user's table of distances."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from somscale.topology.checks import as_count, as_pairs, as_positions, as_table
from somscale.topology.lattice import Periodic
from somscale.topology.search import hops_between, hops_from, max_hops, require_connected

__all__ = ["Graph", "Network", "Table"]

KEPT_SIZE: Final = 2_048  # units up to which a graph keeps its table of hops (32 MB) once needed


@dataclass(frozen=True, eq=False)
class Network:
    """What graphs and tables share: units in one row, their places, and a list of edges.

    The arrays never leave the object; whoever asks gets a copy.
    """

    topology: ClassVar[str]
    delta: ClassVar[str]
    rows: ClassVar[int] = 1
    offset: ClassVar[str | None] = None
    periodic: ClassVar[Periodic] = False
    neighbors: ClassVar[int | None] = None
    dimension: ClassVar[int] = 2

    size: int
    pairs: NDArray[np.int64]
    places: NDArray[np.float64]

    def __eq__(self, other: object) -> bool:
        """Return whether both are of one kind and hold the same arrays."""
        if type(other) is not type(self):
            return NotImplemented
        theirs = other.arrays()
        return all(np.array_equal(mine, theirs[name]) for name, mine in self.arrays().items())

    def __hash__(self) -> int:
        return hash((self.topology, self.size, self.pairs.tobytes()))

    @property
    def cols(self) -> int:
        """Number of units."""
        return self.size

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what defines the map, by its name in a spec."""
        return {"edges": self.pairs, "positions": self.places}

    def spec(self) -> dict[str, Any]:
        """Return what defines the map, for storage."""
        arrays = {name: array.copy() for name, array in self.arrays().items()}
        return {"topology": self.topology, "size": self.size, **arrays}

    def positions(self) -> NDArray[np.float64]:
        """Return x, y of every unit, (K, 2)."""
        return self.places.copy()

    def edges(self, neighborhood: str | None) -> NDArray[np.int64]:
        """Return the edges, (E, 2), i < j, sorted: the same in every neighbourhood."""
        return self.pairs.copy()

    def adjacent(
        self, i: NDArray[np.int64], j: NDArray[np.int64], neighborhood: str | None
    ) -> NDArray[np.bool_]:
        """Return whether an edge joins units `i` and `j`, broadcast."""
        known = self.pairs[:, 0] * self.size + self.pairs[:, 1]
        return np.isin(np.minimum(i, j) * self.size + np.maximum(i, j), known)[()]


class Graph(Network):
    """A connected graph; delta is the number of edges on the shortest path."""

    topology = "graph"
    delta = "hops"

    @classmethod
    def checked(cls, n: object, edges: Iterable[Any], positions: ArrayLike | None) -> Graph:
        """Check the arguments of `Grid.from_edges`."""
        size = as_count(n, "n")
        pairs = as_pairs(edges, size)
        require_connected(size, pairs)
        return cls(size, pairs, as_positions(positions, size))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the table of hops out of a pickle: it is found again sooner than it is sent."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __str__(self) -> str:
        """Return the call that makes this map, in short."""
        return f"Grid.from_edges({self.size}, <{len(self.pairs)} edges>)"

    @cached_property
    def _hops(self) -> NDArray[np.float64]:
        return self.table()

    def distance(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return delta between units `i` and `j`, broadcast."""
        if self.size <= KEPT_SIZE:
            return self._hops[i, j]
        return hops_between(self.size, self.pairs, i, j)

    def table(self) -> NDArray[np.float64]:
        """Return delta between all units, (K, K)."""
        return hops_from(self.size, self.pairs, np.arange(self.size))

    def max_distance(self) -> float:
        """Return the largest delta of any two units."""
        return max_hops(self.size, self.pairs)


@dataclass(frozen=True, eq=False)
class Table(Network):
    """Any distances between the units, as a table (K, K)."""

    topology = "table"
    delta = "table"

    values: NDArray[np.float64]

    @classmethod
    def checked(
        cls, delta: ArrayLike, edges: Iterable[Any] | None, positions: ArrayLike | None
    ) -> Table:
        """Check the arguments of `Grid.from_distances`."""
        values = as_table(delta, "delta")
        size = len(values)
        if edges is None:
            pairs = np.argwhere(np.triu((values > 0) & (values <= 1)))
        else:
            pairs = as_pairs(edges, size)
        return cls(size, pairs, as_positions(positions, size), values)

    def __str__(self) -> str:
        """Return the call that makes this map, in short."""
        size = self.size
        return f"Grid.from_distances(<{size} x {size} table>, edges=<{len(self.pairs)} edges>)"

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what defines the map, by its name in a spec."""
        return {**super().arrays(), "distances": self.values}

    def distance(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return delta between units `i` and `j`, broadcast."""
        return self.values[i, j]

    def table(self) -> NDArray[np.float64]:
        """Return delta between all units, (K, K)."""
        return self.values.copy()

    def max_distance(self) -> float:
        """Return the largest delta of any two units."""
        return float(self.values.max())
