"""The engine runs reductions over blocks of samples; it alone knows Dask's graphs."""

from __future__ import annotations
