"""Ranks of candidates by indices of any direction, and what no other candidate beats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from somscale._types import Bool, Float

__all__ = ["front_of", "losses_of", "mean_ranks", "ranks_of"]


def losses_of(values: Float, direction: str) -> Float:
    """Values of an index as losses: less is better; nan where none is better.

    Parameters
    ----------
    values : array
        Of any shape.
    direction : {"higher", "lower", "zero", "none"}
        Which values are better.
    """
    if direction == "none":
        return np.full(values.shape, np.nan)
    if direction == "lower":
        return values
    return -values if direction == "higher" else np.abs(values)


def ranks_of(values: Float, directions: Sequence[str]) -> Float:
    """Ranks of the candidates by every index, (metric, candidate): 1 is the best.

    Equal values share the mean of their ranks; nan has none, and neither has an index of
    direction "none".
    """
    ranks = np.full(values.shape, np.nan)
    for own, found, direction in zip(values, ranks, directions, strict=True):
        losses = losses_of(own, direction)
        known = ~np.isnan(losses)
        _, place, sizes = np.unique(losses[known], return_inverse=True, return_counts=True)
        ends = np.cumsum(sizes)
        found[known] = (ends - (sizes - 1) / 2)[place]
    return ranks


def mean_ranks(ranks: Float) -> Float:
    """Mean of each candidate's ranks over the indices by which every candidate has one."""
    whole = ranks[~np.isnan(ranks).any(axis=1)]
    return whole.mean(axis=0) if len(whole) else np.full(ranks.shape[1], np.nan)


def front_of(losses: Float) -> Bool:
    """Which candidates no other one beats: as good by every loss, and better by one.

    Parameters
    ----------
    losses : (criterion, candidate)
        Less is better; who has a nan is on no front and beats nobody.

    Returns
    -------
    (candidate,) bool
    """
    others, own = losses[:, :, None], losses[:, None, :]
    beaten = ((others <= own).all(axis=0) & (others < own).any(axis=0)).any(axis=0)
    return np.asarray(~beaten & ~np.isnan(losses).any(axis=0))
