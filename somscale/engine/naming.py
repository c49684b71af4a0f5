"""Names of passes, for keys that a dashboard or a store shows."""

from __future__ import annotations

from collections.abc import Sequence

from somscale.reductions.base import HasFields

__all__ = ["label_of"]


def label_of(reductions: Sequence[HasFields]) -> str:
    """Names of a pass's reductions, each once."""
    return "+".join(dict.fromkeys(r.name.split(":")[0] for r in reductions))
