"""The Shepard diagram: pairs of samples counted by their distance and the projection's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from somscale._types import Float, Int
from somscale.reductions.base import Field, Partial
from somscale.reductions.pair_tiles import PairTile, RowsAtHand

__all__ = ["ShepardCounts", "ShepardDiagram"]


@dataclass(frozen=True)
class ShepardDiagram:
    """Pairs i < j by the bins of their distances d and e.

    Attributes
    ----------
    counts : (b_d, b_e) int64
        Pairs in every two bins.
    input_edges : (b_d + 1,) float64
        Ends of the bins of d; each holds its lower end, the last one its upper end too.
    output_edges : (b_e + 1,) float64
        Those of e.
    """

    counts: Int
    input_edges: Float
    output_edges: Float


@dataclass
class _State:
    partial: Partial
    bins: Int


class ShepardCounts:
    """Count pairs in a table of even bins, exactly as ``np.histogram2d`` does.

    Parameters
    ----------
    name : str
        Prefix of the fields.
    spaces : (str, str)
        The samples' space and the projection's.
    largest : (float, float)
        Where the last bins of d and e end: bounds that no distance exceeds (but for its
        rounding: what is beyond counts in the last bin).  0 stands for 1.
    bins : int
        Bins of each.
    """

    def __init__(
        self, name: str, spaces: tuple[str, str], *, largest: tuple[float, float], bins: int
    ) -> None:
        self.name = name
        self.needs = spaces
        self.edges = [np.linspace(0.0, end if end > 0 else 1.0, bins + 1) for end in largest]
        self.scales = [bins / float(edges[-1]) for edges in self.edges]
        self.bins = bins

    def reaching(self, largest: tuple[float, float]) -> ShepardCounts:
        """The same table with other ends."""
        return ShepardCounts(self.name, self.needs, largest=largest, bins=self.bins)

    @property
    def fields(self) -> Mapping[str, Field]:
        """The table."""
        return {"counts": Field("sum", "int64", (self.bins, self.bins))}

    def tile_bytes(self, rows: int) -> int:
        """Bins of a row's pairs."""
        return 8 * rows

    def begin(self, left: RowsAtHand, right: RowsAtHand, partial: Partial, same: bool) -> _State:
        """Start a tile."""
        return _State(partial, np.empty((2, len(right)), np.int32))

    def add(self, state: _State, tile: PairTile) -> None:
        """Take the pairs of a part of the tile."""
        from somscale.kernels import shepard_loops

        d, e = (tile.distances[name] for name in self.needs)
        (edges, other_edges), (scale, other_scale) = self.edges, self.scales
        counts = state.partial["counts"]
        shepard_loops.count_diagram(
            d, e, tile.offset, edges, other_edges, scale, other_scale, state.bins, counts
        )

    def end(self, state: _State) -> None:
        """All is in the partial."""

    def finalize(self, total: Partial) -> ShepardDiagram:
        """The diagram."""
        return ShepardDiagram(total["counts"], self.edges[0], self.edges[1])
