"""Names that a result needs itself."""

from __future__ import annotations

from somscale.metrics.asking.diagram_bins import DIAGRAM_DIMS, DIAGRAM_ENDS

__all__ = ["RESERVED_LABELS", "RESERVED_NAMES"]

RESERVED_NAMES = frozenset(
    {"candidate", "metric", "value", "note", "n_units", "unit", "row", "col", "part", "pair"}
    | {"temperature", "direction", "lower", "upper", "long_name", "metric_units", "source"}
)
"""Names of a result's own dimensions, coordinates and variables."""

RESERVED_LABELS = (
    RESERVED_NAMES
    | {"delta", "class", "cluster", "other_cluster"}
    | {"k", "kappa_s", "kappa_t", "region", "rank_in", "rank_out"}
    | {
        *DIAGRAM_DIMS,
        *DIAGRAM_ENDS,
    }
)
"""The same and those that only some results have."""
