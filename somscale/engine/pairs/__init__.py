"""Walks over pairs of samples: each unordered pair once, or one side kept."""

from __future__ import annotations
