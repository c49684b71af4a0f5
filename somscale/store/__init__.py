"""Datasets and workspaces on disk: written whole or not at all, read without surprises."""

from __future__ import annotations

from somscale.store.datasets import check_target, open_dataset, write_dataset

__all__ = ["check_target", "open_dataset", "write_dataset"]
