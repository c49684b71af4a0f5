"""Some rows and their nearest samples in several spaces, and from these the ranks that matter.

First the k nearest of every row in every space; then, of each pair that is near in one space
and not in another, how many samples are nearer there.  Samples come in blocks; what is kept
from one block to the next is exact, so that no block is looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from somscale._types import Float, Int
from somscale.kernels.scratch import Scratch

__all__ = ["Met", "NearRows", "SpaceKeys", "near_row_bytes"]

_BUCKETS: Final = 4096
"""Buckets of the thresholds of a row; twice as many where there are 64 or more."""
_SAMPLE: Final = 512
"""Samples from which it is guessed how far the nearest reach."""
_MOST_SINGLE: Final = 1e25
"""Keys in single precision are smaller: squares of such samples are below 1e20."""
_scratch = Scratch()


@dataclass(frozen=True)
class SpaceKeys:
    """Keys of some rows to the samples of a block, in one space.

    Attributes
    ----------
    keys : (P, b) float32 or float64
        In the order of the block; infinite where a sample takes no part, or is the row itself.
        Narrower where they are computed again sooner than kept.
    margins : (P,) float64
        How far a key may be from δ.
    left, right : (P, D), (b, D)
        The values from which δ is computed where that matters; D = 0 where keys are δ.
    weights : (D,) float64 or None
        Of the features.
    """

    keys: Float
    margins: Float
    left: Float
    right: Float
    weights: Float | None


@dataclass(frozen=True)
class Met:
    """A block of samples, and the rows' keys to them.

    Attributes
    ----------
    start : int
        Number of the block's first sample.
    spaces : mapping of str to SpaceKeys
        By the names of the spaces.
    """

    start: int
    spaces: Mapping[str, SpaceKeys]


@dataclass
class _Nearest:
    """The k nearest of every row in one space, in order, and their δ in some others."""

    keys: Float
    others: Int
    counts: Int
    fresh_keys: Float
    fresh_others: Int
    fresh_counts: Int
    carried: dict[str, Float]
    far: _Far | None = None

    @classmethod
    def of(cls, n_rows: int, k: int, carried: Sequence[str]) -> _Nearest:
        size = capacity_of(k)
        return cls(
            np.empty((n_rows, k)),
            np.empty((n_rows, k), np.int64),
            np.zeros(n_rows, np.int64),
            np.empty((n_rows, size)),
            np.empty((n_rows, size), np.int64),
            np.zeros(n_rows, np.int64),
            {name: np.empty((n_rows, k)) for name in carried},
        )


@dataclass
class _Far:
    """Pairs whose ranks are counted, in order, and how many samples lie before each."""

    keys: Float
    others: Int
    counts: Int
    places: Int

    @property
    def below(self) -> Int:
        """Samples that are nearer than each pair."""
        return np.cumsum(self.places, axis=1)


def capacity_of(k: int) -> int:
    """Samples that are collected before the nearest of them are chosen."""
    return 2 * k + 64


def near_row_bytes(k: int, n_spaces: int) -> int:
    """Bytes that a row holds for its nearest in so many spaces."""
    lists = n_spaces * (16 * capacity_of(k) + 48 * k) + 16 * k * n_spaces
    return lists + 64 * k * n_spaces


@dataclass
class NearRows:
    """Rows that meet all samples, block after block.

    Parameters
    ----------
    n_rows : int
        Rows P.
    k : int
        Nearest samples that are looked for, at least 1.
    input : str
        Name of the samples' space.
    outputs : sequence of str
        Names of the spaces of projections.
    n_samples : int
        Samples N, whose numbers are below it.
    """

    n_rows: int
    k: int
    input: str
    outputs: Sequence[str]
    n_samples: int
    _near: dict[str, _Nearest] = field(default_factory=dict, init=False)
    _input_ranks: dict[str, Int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        own = {name: [self.input] for name in self.outputs}
        for name, carried in {self.input: list(self.outputs), **own}.items():
            self._near[name] = _Nearest.of(self.n_rows, self.k, carried)

    def scan(self, name: str, own: SpaceKeys, start: int, rows: slice) -> int:
        """Collect what may be near some rows from a block.

        Parameters
        ----------
        own : SpaceKeys
            Of these rows alone.
        start : int
            Number of the block's first sample.

        Returns
        -------
        int
            How many keys were in doubt.
        """
        from somscale.kernels.rank_near import scan_keys

        near = self._near[name]
        full = near.counts[rows] == self.k
        bounds = np.full(len(full), np.inf)
        bounds[full] = near.keys[rows][full, self.k - 1] + own.margins[full]
        again: int = scan_keys(
            own.keys,
            start,
            self.k,
            own.margins,
            own.left,
            own.right,
            own.weights,
            bounds,
            near.fresh_keys[rows],
            near.fresh_others[rows],
            near.fresh_counts[rows],
            np.empty(near.fresh_keys.shape[1]),
            np.empty(_SAMPLE),
        )
        return again

    def settle(self, met: Met) -> None:
        """End a block: choose the nearest so far, and find their δ in the other spaces."""
        from somscale.kernels.rank_near import settle
        from somscale.kernels.rank_pairs import carry_keys

        size = capacity_of(self.k)
        for name, near in self._near.items():
            own = met.spaces[name]
            moved = np.empty((self.n_rows, self.k), np.int64)
            settle(
                self.k,
                own.margins,
                own.left,
                own.right,
                own.weights,
                met.start,
                near.fresh_keys,
                near.fresh_others,
                near.fresh_counts,
                near.keys,
                near.others,
                near.counts,
                moved,
                np.empty(size),
                np.empty(size, np.int64),
            )
            for other, carried in near.carried.items():
                there = met.spaces[other]
                carry_keys(
                    near.others,
                    near.counts,
                    moved,
                    # one type for all, where they are not looked at
                    there.keys if not there.right.shape[1] else np.empty((0, 0)),
                    met.start,
                    there.left,
                    there.right,
                    there.weights,
                    carried,
                )

    def nearest(self, name: str) -> tuple[Int, Int]:
        """Numbers of the nearest in a space, (P, k), in order, and how many are known, (P,)."""
        return self._near[name].others, self._near[name].counts

    @property
    def listed(self) -> bool:
        """Whether the pairs that are counted are listed."""
        return all(near.far is not None for near in self._near.values())

    def ties(self, output: str) -> tuple[int, int]:
        """How many of the nearest in an output are as far as another, and of how many."""
        near = self._near[output]
        # what was never filled in equals nothing
        known = np.arange(self.k) < near.counts[:, None]
        equal = (near.keys[:, 1:] == near.keys[:, :-1]) & known[:, 1:]
        tied = np.zeros(known.shape, bool)
        tied[:, 1:] |= equal
        tied[:, :-1] |= equal
        return int(np.count_nonzero(tied)), int(near.counts.sum())

    def turn(self) -> None:
        """Once all samples were met: list the pairs whose ranks are to be counted."""
        for name, near in self._near.items():
            sources = self.outputs if name == self.input else [self.input]
            lists = [self._near[source] for source in sources]
            self._list_far(name, [(own.others, own.carried[name], own.counts) for own in lists])
            near.fresh_keys, near.fresh_others = np.empty((0, 0)), np.empty((0, 0), np.int64)

    def _list_far(self, name: str, lists: Sequence[tuple[Int, Float, Int]]) -> None:
        """List those pairs that are not near in a space: their numbers, δ there, and counts."""
        from somscale.kernels.rank_pairs import far_pairs, order_far

        near, width = self._near[name], sum(others.shape[1] for others, _, _ in lists)
        shape = self.n_rows, width
        far = near.far = _Far(
            np.empty(shape),
            np.empty(shape, np.int64),
            np.zeros(self.n_rows, np.int64),
            np.zeros((self.n_rows, width + 1), np.int64),
        )
        for others, carried, counts in lists:
            far_pairs(
                others,
                carried,
                counts,
                near.keys,
                near.others,
                near.counts,
                far.keys,
                far.others,
                far.counts,
            )
        order_far(far.keys, far.others, far.counts)

    def count(self, name: str, own: SpaceKeys, start: int, rows: slice) -> int:
        """Count the samples of a block below the pairs that are listed for some rows.

        Parameters
        ----------
        own : SpaceKeys
            Of these rows alone.
        start : int
            Number of the block's first sample.

        Returns
        -------
        int
            How many keys were in doubt.
        """
        from somscale.kernels.rank_counts import count_below

        far = self._near[name].far
        if far is None or not far.counts[rows].any():
            return 0
        width, most = own.keys.shape[1], int(far.counts[rows].max())
        size = (_BUCKETS if most < 64 else 2 * _BUCKETS) + 2
        again: int = count_below(
            own.keys,
            start,
            own.margins,
            own.left,
            own.right,
            own.weights,
            far.keys[rows],
            far.others[rows],
            far.counts[rows],
            far.places[rows],
            _MOST_SINGLE if own.keys.dtype == np.float32 else np.inf,
            _scratch.take("buckets", (1, width), np.uint16)[0],
            np.empty(size, np.uint16 if 4 * most + 3 < 1 << 16 else np.uint32),
            np.empty((4, most + 1), np.int32),
            _scratch.take("listed", (1, width + 1), np.uint32)[0],
        )
        return again

    def pairs(self, output: str) -> tuple[Int, Int, Int, Int]:
        """All pairs that are near in the input or in an output: ρ, r, number, and how many.

        Returns
        -------
        (P, 2k), (P, 2k), (P, 2k), (P,) int64
            Ranks in the input, ranks in the output, numbers of the other samples, and how
            many entries of each row are valid.
        """
        from somscale.kernels.rank_pairs import join_pairs

        own, projected = self._near[self.input], self._near[output]
        shape = self.n_rows, 2 * self.k
        rho, r, others = (np.empty(shape, np.int64) for _ in range(3))
        counts = np.empty(self.n_rows, np.int64)
        if not self._input_ranks:
            # of all outputs at once, for the input's places are many
            found = self._ranks(self.outputs, self.input)
            self._input_ranks = dict(zip(self.outputs, found, strict=True))
        join_pairs(
            own.others,
            own.counts,
            self._ranks([self.input], output)[0],
            projected.others,
            projected.counts,
            self._input_ranks[output],
            rho,
            r,
            others,
            counts,
        )
        return rho, r, others, counts

    def _ranks(self, of: Sequence[str], there: str) -> Int:
        """Ranks in one space of the nearest in some others."""
        sources = [self._near[name] for name in of]
        others = np.stack([source.others for source in sources])
        return self._ranked(others, np.stack([source.counts for source in sources]), there)

    def _ranked(self, others: Int, counts: Int, there: str) -> Int:
        """Ranks in one space of listed samples, (e, P, k), of which `counts` are valid."""
        from somscale.kernels.rank_pairs import rank_pairs

        near = self._near[there]
        far: Any = near.far
        places = _scratch.take("places", (1, self.n_samples), np.int64)[0]
        ranks = np.empty(others.shape, np.int64)
        rank_pairs(
            others,
            counts,
            near.others,
            near.counts,
            far.others,
            far.counts,
            far.below,
            places,
            ranks,
        )
        return ranks
