"""Where the bins of a Shepard diagram lie, as coordinates of its dims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from somscale.metrics.asking.pair_wishes import named_distance
from somscale.metrics.spec import power_of
from somscale.reductions.shepard import ShepardDiagram

__all__ = ["DIAGRAM_DIMS", "DIAGRAM_ENDS", "diagram_ends", "ends_facts"]

DIAGRAM_DIMS = ("input_distance", "output_distance")
DIAGRAM_ENDS = {f"{dim}_{end}": dim for dim in DIAGRAM_DIMS for end in ("low", "high")}
"""Coordinates that hold the ends of the bins, and their dims."""


def diagram_ends(diagram: ShepardDiagram) -> dict[str, tuple[str, Any]]:
    """Ends of the bins as coordinates beside the diagram's dims.

    The dims have no coordinates of their own: an index of middles would have to be known
    before a lazy result is computed, and would put bins of several candidates apart.
    """
    edges = {"input_distance": diagram.input_edges, "output_distance": diagram.output_edges}
    sides = {"low": slice(None, -1), "high": slice(1, None)}
    return {
        name: (dim, edges[dim][sides[name.rpartition("_")[2]]])
        for name, dim in DIAGRAM_ENDS.items()
    }


def ends_facts(
    parameters: Mapping[str, Any], data_units: str | None, kind: str
) -> dict[str, dict[str, str]]:
    """Attributes of the ends of the bins, by name.

    Parameters
    ----------
    parameters : mapping
        Those of the diagram, of which the distance decides on the units.
    data_units : str or None
        The samples' own units.
    kind : str
        What the candidates are, as in :class:`~somscale.metrics.asking.question.Problem`.
    """
    distance, unit = named_distance(parameters["distance"]), data_units or "data units"
    own = {"cosine": "1", "correlation": "1", "sqeuclidean": power_of(unit, "2")}
    units = {
        "input_distance": own.get(distance, unit) if isinstance(distance, str) else unit,
        "output_distance": "1" if kind == "map" else "embedding units",
    }
    whats = {
        "input_distance": "distance of two samples",
        "output_distance": "distance of their projections",
    }
    ends = {"low": "lower end of a bin", "high": "upper end of a bin"}
    return {
        name: {"long_name": f"{whats[dim]}, {ends[name.rpartition('_')[2]]}", "units": units[dim]}
        for name, dim in DIAGRAM_ENDS.items()
    }
