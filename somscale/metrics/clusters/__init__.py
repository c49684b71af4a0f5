"""Indices of clusters of samples."""

from __future__ import annotations
