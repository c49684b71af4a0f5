"""Exact quality indices of maps and clusterings on data larger than memory."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from somscale import metrics
from somscale._version import __version__
from somscale.clustering import cluster_units
from somscale.codebook import (
    codebook,
    from_minisom,
    from_somoclu,
    project,
    read_codebook,
    write_codebook,
)
from somscale.comparing import compare, match_clusters, match_units
from somscale.coranking import CoRanking
from somscale.errors import (
    ChunkError,
    ClusterError,
    InputError,
    MemoryBudgetError,
    SampleValueError,
    SomscaleError,
    UnknownMetricError,
    WorkspaceBusyError,
    WorkspaceError,
)
from somscale.evaluate import evaluate, plan
from somscale.metrics.comparison.stability import neighborhood_stability
from somscale.options import set_options
from somscale.topology import Grid
from somscale.training import train
from somscale.versions import show_versions
from somscale.workspace import Workspace

if TYPE_CHECKING:
    from somscale import plot as plot
    from somscale.reporting import Report as Report
    from somscale.reporting import report as report

__all__ = [
    "ChunkError",
    "ClusterError",
    "CoRanking",
    "Grid",
    "InputError",
    "MemoryBudgetError",
    "Report",
    "SampleValueError",
    "SomscaleError",
    "UnknownMetricError",
    "Workspace",
    "WorkspaceBusyError",
    "WorkspaceError",
    "__version__",
    "cluster_units",
    "codebook",
    "compare",
    "evaluate",
    "from_minisom",
    "from_somoclu",
    "match_clusters",
    "match_units",
    "metrics",
    "neighborhood_stability",
    "plan",
    "plot",
    "project",
    "read_codebook",
    "report",
    "set_options",
    "show_versions",
    "train",
    "write_codebook",
]

# Loaded where they are asked for: they need libraries that not everyone has, or wants to wait for.
_LATER = {"Report": "somscale.reporting", "report": "somscale.reporting"}


def __getattr__(name: str) -> Any:
    if name == "plot":
        return import_module("somscale.plot")
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
