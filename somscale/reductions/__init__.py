"""Reductions: what a pass over the samples accumulates, merges and finishes."""

from __future__ import annotations
