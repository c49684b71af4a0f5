"""Maps compared with each other: how far apart two are, and how stable several runs."""

from __future__ import annotations
