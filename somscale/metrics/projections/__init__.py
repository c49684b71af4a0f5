"""Indices of how far a projection keeps distances."""

from __future__ import annotations
