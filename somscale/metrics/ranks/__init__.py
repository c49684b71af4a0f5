"""Indices that compare ranks of neighbours in two spaces: the co-ranking family."""

from __future__ import annotations
