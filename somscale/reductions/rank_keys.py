"""Keys that put the samples in the order of their distances from a row.

Euclidean order is decided on Σ v (x − y)² in feature order in float64, whatever is quicker:
keys of many features come from matrix products, with a margin that their rounding cannot
leave, and what lies within it is decided by that sum.  Angles are Euclidean distances of
samples of length 1.  All other distances are their own keys.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import numpy as np

from somscale._types import Float
from somscale.spaces import AngleSpace, EuclideanSpace
from somscale.spaces.base import Prepared, Space
from somscale.spaces.euclidean import DIRECT_FEATURES
from somscale.spaces.vectors import as_columns

__all__ = ["Keys", "Room", "in_single", "keyed_by_distance", "keys_of"]

_ROUNDING: Final = 4.0 * float(np.finfo(np.float64).eps)
"""Of (D + 8) roundings of ‖x‖² + ‖y‖² each: centring, both norms, the product, and δ itself."""

_SINGLE: Final = float(np.finfo(np.float32).eps) * 0.51
"""A rounding of single precision, and what double precision adds to it."""

_SMALLEST: Final = 1e-290
"""Where squares underflow, margins must not."""
_FAR_BELOW: Final = 1e-20
"""Squares from here to its inverse, and what is made of them, fit single precision."""
_MOST_FEATURES: Final = 10_000
"""Beyond, the roundings of single precision add up to too wide a margin."""


class Keys(Protocol):
    """Keys of one space; a key is δ, or within a margin of it."""

    @property
    def space(self) -> Space:
        """Makes samples ready."""

    @property
    def weights(self) -> Float | None:
        """Feature weights of the sum that decides."""

    @property
    def cheap(self) -> bool:
        """Whether keys are sooner computed again than kept."""

    @property
    def dtype(self) -> Any:
        """Type of the keys."""

    def ready(self, prepared: Prepared) -> Any:
        """What is made of a block of samples, once for all rows that meet it."""

    def fill(self, left: Prepared, ready: Any, taken: slice, room: Room) -> None:
        """Write the keys of some rows to the samples `taken`."""

    def margins(self, left: Prepared, ready: Any) -> Float:
        """How far a key may be from its δ, (p,)."""

    def rows(self, prepared: Prepared) -> Float | None:
        """The values, (n, D), of which the deciding sum is taken; None if keys are all there is."""


@dataclass(frozen=True)
class Room:
    """Where keys go: the columns of `out`, (p, b), from `low` on; `chunk`, (p, c), is scratch."""

    out: Float
    low: int
    chunk: Float


@dataclass(frozen=True)
class OwnKeys:
    """Distances that are taken as they are."""

    space: Space
    weights: Float | None = None
    cheap: bool = False
    dtype: Any = np.float64

    def ready(self, prepared: Prepared) -> Prepared:
        """Samples as the space made them ready."""
        return prepared

    def fill(self, left: Prepared, ready: Prepared, taken: slice, room: Room) -> None:
        """Write the keys of some rows to the samples `taken`."""
        self.space.distances(left, ready.part(taken), room.chunk)
        room.out[:, room.low : room.low + room.chunk.shape[1]] = room.chunk

    def margins(self, left: Prepared, ready: Any) -> Float:
        """Keys are exact."""
        return np.zeros(len(left))

    def rows(self, prepared: Prepared) -> None:
        """Distances of single pairs are not taken."""


@dataclass(frozen=True)
class Columns:
    """Samples feature by feature, (D, b), and the lowest and the highest of each, (D,)."""

    values: Float
    low: Float
    high: Float


@dataclass(frozen=True)
class DirectKeys:
    """Sums of squares in feature order."""

    space: Space
    weights: Float | None = None
    cheap: bool = True
    dtype: Any = np.float64

    def ready(self, prepared: Prepared) -> Columns:
        """Samples feature by feature."""
        values = as_columns(prepared.arrays[0])
        return Columns(values, values.min(axis=1), values.max(axis=1))

    def fill(self, left: Prepared, ready: Columns, taken: slice, room: Room) -> None:
        """Write the keys of some rows to the samples `taken`."""
        from somscale.kernels.rank_near import direct_keys

        rows, span = left.arrays[0], (taken.start, taken.stop)
        direct_keys(rows, ready.values, *span, self.weights, room.out, room.low)

    def margins(self, left: Prepared, ready: Columns) -> Float:
        """Keys are exact; in single precision, but for a rounding of every feature."""
        if self.dtype is np.float64:
            return np.zeros(len(left))
        rows = left.arrays[0].astype(np.float64)
        largest = np.square(np.maximum(np.abs(rows - ready.low), np.abs(rows - ready.high)))
        if self.weights is not None:
            largest *= self.weights
        return np.asarray(_SINGLE * (rows.shape[1] + 2) * largest.sum(axis=1) + _SMALLEST)

    def rows(self, prepared: Prepared) -> Float:
        """The samples, or those at length 1."""
        return prepared.arrays[0]

    def fits_single(self, left: Prepared, right: Prepared) -> bool:
        """Whether squares are far inside the range of single precision."""
        both = [side.arrays[0].astype(np.float64, copy=False) for side in (left, right)]
        high = np.max([values.max(axis=0) for values in both], axis=0)
        spread = np.square(high - np.min([values.min(axis=0) for values in both], axis=0))
        return _fits(float((spread if self.weights is None else spread * self.weights).sum()))


@dataclass(frozen=True)
class ProductKeys:
    """Squared distances of centred samples from matrix products.

    `space` prepares (rows, points, norms), or samples of length 1 alone.  Single precision
    is quicker by half, and its margin wider.
    """

    space: Space
    weights: Float | None = None
    cheap: bool = False
    dtype: Any = np.float64

    def ready(self, prepared: Prepared) -> Prepared:
        """Points and norms."""
        points = prepared.arrays[min(1, len(prepared.arrays) - 1)]
        norms = self._norms(prepared).astype(self.dtype, copy=False)
        return Prepared((points.astype(self.dtype, copy=False), norms))

    def fill(self, left: Prepared, ready: Prepared, taken: slice, room: Room) -> None:
        """Write the keys of some rows to the samples `taken`."""
        from somscale.kernels.rank_near import finish_keys

        (points, norms), (others, other_norms) = self.ready(left).arrays, ready.part(taken).arrays
        np.matmul(points, others.T, out=room.chunk)
        finish_keys(room.chunk, norms, other_norms, room.out, room.low)

    def margins(self, left: Prepared, ready: Prepared) -> Float:
        """Keys lie within some roundings of the largest terms."""
        (points, norms), largest = self.ready(left).arrays, ready.arrays[1].max(initial=0.0)
        terms = norms.astype(np.float64) + float(largest)
        single = self.dtype is np.float32
        rounding, more = (_SINGLE, 12) if single else (_ROUNDING, 8)
        return np.asarray(rounding * (points.shape[1] + more) * terms + _SMALLEST)

    def rows(self, prepared: Prepared) -> Float:
        """The samples, or those at length 1."""
        return prepared.arrays[0]

    def fits_single(self, left: Prepared, right: Prepared) -> bool:
        """Whether squares are far inside the range of single precision."""
        largest = max(float(self._norms(side).max(initial=0.0)) for side in (left, right))
        return right.arrays[0].shape[1] < _MOST_FEATURES and _fits(largest)

    def _norms(self, prepared: Prepared) -> Float:
        return prepared.arrays[2] if len(prepared.arrays) == 3 else np.ones(len(prepared))


def _fits(square: float) -> bool:
    return _FAR_BELOW < square < 1 / _FAR_BELOW


def in_single(keys: Keys, left: Prepared, right: Prepared) -> Keys:
    """The same keys in single precision, where the squares of rows and samples allow it."""
    if not isinstance(keys, DirectKeys | ProductKeys) or not keys.fits_single(left, right):
        return keys
    return replace(keys, dtype=np.float32)


def keys_of(space: Space, n_features: int, *, exact: bool) -> Keys:
    """The keys of a space, of so many features; `exact` where nothing can be decided again."""
    direct = exact or n_features <= DIRECT_FEATURES
    if isinstance(space, EuclideanSpace):
        space = replace(space, squared=True)
        weights = space.feature_weights
        return DirectKeys(space, weights) if direct else ProductKeys(space, weights)
    if isinstance(space, AngleSpace):
        return DirectKeys(space) if direct else ProductKeys(space)
    return OwnKeys(space)


def keyed_by_distance(space: Space) -> bool:
    """Whether order is decided on the distances of a space as they are."""
    return isinstance(keys_of(space, 1, exact=True), OwnKeys)
