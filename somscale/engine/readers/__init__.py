"""Readers: what the user holds, and how a task reads it."""

from __future__ import annotations
