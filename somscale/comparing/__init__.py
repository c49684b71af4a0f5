"""Many candidates side by side: ranks and intervals of their indices, and which belong together."""

from __future__ import annotations

from somscale.comparing.compare import compare
from somscale.comparing.matching import match_clusters, match_units

__all__ = ["compare", "match_clusters", "match_units"]
