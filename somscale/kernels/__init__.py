"""Kernels: array loops and GEMM tiles that know neither Dask, nor labels, nor an index's name."""

from __future__ import annotations
