"""Linear passes: every sample is seen once."""

from __future__ import annotations
