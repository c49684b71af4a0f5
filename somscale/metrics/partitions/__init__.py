"""Indices of two partitions."""

from __future__ import annotations
