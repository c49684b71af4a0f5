"""Indices of maps."""

from __future__ import annotations
