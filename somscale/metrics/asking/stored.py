"""Distances and ranks that a store has: what a walk takes in the place of the samples."""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from somscale._types import Bool
from somscale.engine.readers.columns import RowValues, SampleValues
from somscale.engine.readers.samples import Samples
from somscale.engine.readers.sources import Source
from somscale.errors import InputError
from somscale.metrics.asking.pair_wishes import Measure
from somscale.reductions.rank_keys import keyed_by_distance
from somscale.spaces import Space
from somscale.spaces.given import StoredValues

__all__ = ["MatrixGaps", "StoredMatrices", "StoredSpace"]

_DIAGONAL_ROWS = 1024


@dataclass(frozen=True)
class MatrixGaps:
    """True where a stored matrix has no distances of a sample, as its diagonal tells.

    Every read decodes what lies on the diagonal; a walk is given what :meth:`known` reads once.

    Parameters
    ----------
    source : Source
        The distances, (N, N); nan in the rows and columns of samples that take no part.
    """

    source: Source
    width: ClassVar[int] = 1

    @property
    def values(self) -> Bool:
        """All of them, read."""
        return self.read(0, self.source.shape[0])

    def read(self, start: int, stop: int) -> Bool:
        """Those of some samples."""
        chunk = max(1, *self.source.chunks)
        step = chunk * max(1, _DIAGONAL_ROWS // chunk)
        gaps = np.empty(stop - start, bool)
        low = start
        while low < stop:
            high = min(stop, low // step * step + step)
            box = self.source.read(slice(low, high), slice(low, high))
            gaps[low - start : high - start] = np.isnan(np.diagonal(box))
            low = high
        return gaps

    def known(self) -> SampleValues:
        """The same, held in memory."""
        return SampleValues(self.values)

    def identity(self) -> bytes:
        """Bytes that are equal only where the values are."""
        return self.known().identity()


@dataclass(frozen=True)
class StoredSpace:
    """A stored matrix in the place of the samples of one walk.

    Attributes
    ----------
    name : str
        Where it is stored, as "distances/euclidean".
    source : Source
        The matrix, (N, N).
    taken : (N,) bool or None
        Samples that take part; None where the matrix itself tells, which holds distances.
    """

    name: str
    source: Source
    taken: Bool | None = None

    @property
    def symmetric(self) -> bool:
        """Whether it equals its transpose: distances do, ranks do not."""
        return self.taken is None

    @property
    def checked(self) -> StoredValues:
        """What its values have to be."""
        below = math.inf if self.taken is None else float(self.source.shape[0])
        return StoredValues(self.name, below)

    def excluded(self, samples: Samples) -> RowValues | None:
        """Which samples take no part; None where all do.

        Where nan are an error, there were none when the matrix was written, and the mask
        tells.  Else samples were left out that only a read of their features would find.
        """
        if self.taken is not None:
            return None if self.taken.all() else SampleValues(~self.taken)
        return samples.excluded if samples.missing == "raise" else MatrixGaps(self.source)


@dataclass(eq=False)
class StoredMatrices:
    """What a store has of the samples of a problem, read in the same way.

    Attributes
    ----------
    distances : mapping of Measure to Source
        Distances in float64, (N, N), nan in the rows and columns of samples that take no part.
    ranks : mapping of Measure to (Source, (N,) bool)
        Ranks, (N, N) unsigned, equal distances sharing the least and 0 on the diagonal; and
        the samples that take part.
    names : mapping of (str, Measure) to str
        Where each is stored: ("distances", measure) to "distances/euclidean".
    passed_over : dict of str to str
        What is stored and does not serve, and why, in a clause.
    used : set of str
        Names of those that walks take; filled as these are planned.
    token : str
        A text that is equal only where the matrices are: keys of results that are put off.

    Raises
    ------
    InputError
        A matrix of distances is not of float64, or one of ranks not of unsigned integers.
    """

    distances: Mapping[Measure, Source] = field(default_factory=dict)
    ranks: Mapping[Measure, tuple[Source, Bool]] = field(default_factory=dict)
    names: Mapping[tuple[str, Measure], str] = field(default_factory=dict)
    passed_over: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        for measure, source in self.distances.items():
            if source.dtype != np.float64:
                name = self._name("distances", measure)
                raise InputError(f"{name} holds {source.dtype}; only float64 serves as it is")
        for measure, (source, _) in self.ranks.items():
            if source.dtype.kind != "u":
                name = self._name("ranks", measure)
                raise InputError(f"{name} holds {source.dtype}; ranks are unsigned integers")

    def distances_of(self, measure: Measure, n_samples: int) -> StoredSpace | None:
        """The distances that a walk over pairs adds up, if they are stored."""
        if measure not in self.distances:
            return None
        return self._checked("distances", measure, self.distances[measure], n_samples)

    def order_of(self, measure: Measure, space: Space, n_samples: int) -> StoredSpace | None:
        """What puts the samples in order around each: ranks, or distances that do as well.

        Distances do where ranks are decided on them: city-block, Chebyshev and Minkowski
        distances, and those of functions (bit for bit if the function gives a pair the same
        distance in any block).  Euclidean order is decided on exact squares, of which roots
        merge some that differ and matrix products swap some that are close; so it is with
        the unit vectors of angles.
        """
        if measure in self.ranks:
            return self._checked("ranks", measure, self.ranks[measure][0], n_samples)
        return self.distances_of(measure, n_samples) if keyed_by_distance(space) else None

    def _name(self, kind: str, measure: Measure) -> str:
        return self.names.get((kind, measure), f"{kind}/{measure.distance}")

    def _checked(self, kind: str, measure: Measure, source: Source, n_samples: int) -> StoredSpace:
        name = self._name(kind, measure)
        if source.shape != (n_samples, n_samples):
            raise InputError(
                f"{name} has shape {source.shape}, and there are {n_samples} samples; store the "
                "matrix of these samples"
            )
        taken = self.ranks[measure][1] if kind == "ranks" else None
        return StoredSpace(name, source, taken)
