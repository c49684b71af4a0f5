"""Settings of all tests: what hypothesis draws is the same in every run, and few."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile(
    "deterministic", derandomize=True, deadline=None, max_examples=50, database=None
)
settings.load_profile("deterministic")
