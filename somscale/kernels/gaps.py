"""Values a block of samples lacks: counted as its features go by, and left out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from somscale._types import Bool, Int

__all__ = ["Gaps", "SlabGaps"]


class SlabGaps(NamedTuple):
    """Where the compiled loops count the nan of some features, and the rows they skip."""

    excluded: Bool | None
    by_sample: Int | None
    by_feature: Int | None


class Gaps:
    """The rows of a block that take no part, and the nan of the others.

    Parameters
    ----------
    n_rows, n_features : int
        Samples in the block, and features D.
    excluded : (n,) bool, optional
        Rows to leave out, whatever they hold.
    tolerated : int, optional
        The most nan a sample may hold and still take part; without it nan are not
        looked for, and make the sample's distances nan.
    partial : bool
        Whether samples may lack different features, each being compared by its own.

    Attributes
    ----------
    by_sample : (n,) int64
        nan of every row so far.
    by_feature : (D,) int64
        nan of every feature so far.
    """

    def __init__(
        self,
        n_rows: int,
        n_features: int,
        *,
        excluded: Bool | None = None,
        tolerated: int | None = None,
        partial: bool = False,
    ) -> None:
        self.partial = partial
        self.excluded = excluded
        self.tolerated = tolerated
        self.n_taken = n_rows if excluded is None else n_rows - int(np.count_nonzero(excluded))
        self.by_sample = np.zeros(n_rows, np.int64)
        self.by_feature = np.zeros(0 if tolerated is None else n_features, np.int64)

    def slab(self, n_features: int) -> SlabGaps:
        """Counters for some features; the loop adds to `by_sample` as it counts."""
        if self.tolerated is None:
            return SlabGaps(self.excluded, None, None)
        return SlabGaps(self.excluded, self.by_sample, np.zeros(n_features, np.int64))

    def take(self, features: slice, counts: Int | None) -> Bool | None:
        """Add the counts of some features; the features that no row has, if there are any."""
        if counts is None or not counts.any():
            return None
        self.by_feature[features] += counts
        missing = counts == self.n_taken
        # where every sample keeps all its values, no feature needs to be left out
        return missing if self.tolerated and missing.any() else None

    def left_out(self) -> Bool | None:
        """Rows that take no part, once all features were seen."""
        if self.tolerated is None:
            return self.excluded
        missing = np.asarray(self.by_sample > self.tolerated)
        return missing if self.excluded is None else missing | self.excluded
