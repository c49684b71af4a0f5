"""Exact quality indices of maps and clusterings on data larger than memory."""

from __future__ import annotations

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
from somscale.workspace import Workspace

__all__ = [
    "ChunkError",
    "ClusterError",
    "CoRanking",
    "Grid",
    "InputError",
    "MemoryBudgetError",
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
    "project",
    "read_codebook",
    "set_options",
    "train",
    "write_codebook",
]
