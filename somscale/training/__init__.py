"""Training of maps: the batch rule, and the stochastic one of a sample at a time."""

from __future__ import annotations

from somscale.training.public import train

__all__ = ["train"]
