"""Columns: one value a sample, read beside the samples (labels, clusters, weights, masks)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from somscale._types import AnyArray, Int
from somscale.engine.readers.boxes import readings

__all__ = ["Column", "RowValues", "SampleValues", "SampleVectors", "code_dtype"]


class RowValues(Protocol):
    """One value a sample, or some, as a pass reads it."""

    @property
    def values(self) -> AnyArray:
        """Where they are held."""

    @property
    def width(self) -> int:
        """Values of one sample."""

    def read(self, start: int, stop: int) -> AnyArray:
        """The values of some samples."""

    def identity(self) -> bytes:
        """Bytes that are equal only where the values are."""


def code_dtype(n_categories: int) -> type[np.signedinteger[Any]]:
    """The integer type of codes that are made at the door."""
    return np.int32 if n_categories < 1 << 31 else np.int64


@dataclass(frozen=True)
class Column:
    """Codes of every sample, and the categories they stand for.

    Integers of a compact range stay as the user holds them; their codes are
    made block by block, so ten million labels cost no copy.

    Parameters
    ----------
    values : (N,) integer
        Codes plus `base`; ``base - 1``: the sample takes no part.
    base : int
        Value of the first category.
    categories : (C,) array or range
        Label of every code; a range where the labels are integers that stay as they are.
    name : str
        What errors call it.
    n_excluded : int
        Samples that take no part.
    """

    values: NDArray[np.integer[Any]]
    base: int
    categories: AnyArray | range
    name: str = "labels"
    n_excluded: int = 0
    width: ClassVar[int] = 1

    def __len__(self) -> int:
        return len(self.values)

    @property
    def n_categories(self) -> int:
        """Categories C, those that no sample has included."""
        return len(self.categories)

    def labels_of(self, codes: Int) -> AnyArray:
        """The labels that some codes stand for."""
        if isinstance(self.categories, range):
            return np.asarray(codes, dtype=np.int64) + self.categories.start
        return np.asarray(self.categories[codes])

    def code_of(self, label: Any) -> int | None:
        """The first code that stands for a label, if any does."""
        if isinstance(self.categories, range):
            return _position_in(self.categories, label)
        matches = (code for code, known in enumerate(self.categories) if known == label)
        return next(matches, None)

    def read(self, start: int, stop: int) -> NDArray[np.integer[Any]]:
        """Codes 0 to C − 1 of some samples, negative where a sample takes no part.

        They are the user's own array where `base` is 0, and otherwise as narrow as
        they can be: a block of wide ones costs more in fresh pages than in arithmetic.
        """
        part = self.values[start:stop]
        if self.base == 0:
            return part
        # both steps wrap round alike, so that the difference is right
        dtype = np.min_scalar_type(-1 - self.n_categories)
        codes = part.astype(dtype)
        codes -= np.asarray(self.base).astype(dtype)
        return codes

    def identity(self) -> bytes:
        """Bytes that are equal only where the codes are."""
        return _identity(self.values, f"{self.base};{self.n_categories}")


def _identity(values: AnyArray, facts: str) -> bytes:
    # what is broadcast is looked at once
    stored = values[tuple(slice(0, 1) if step == 0 else slice(None) for step in values.strides)]
    digest = hashlib.sha256(f"{facts};{values.dtype};{values.shape};{stored.shape}".encode())
    digest.update(np.ascontiguousarray(stored).tobytes())
    return digest.digest()


def _position_in(integers: range, label: Any) -> int | None:
    # a range looks for anything but Python's own integers one by one
    if not isinstance(label, int | float | np.integer | np.floating):
        return None
    if not float(label).is_integer() or int(label) not in integers:
        return None
    return integers.index(int(label))


@dataclass(frozen=True)
class SampleValues:
    """A number of every sample, on some of the samples' dims and broadcast along the others.

    Parameters
    ----------
    values : array on the samples' dims
        Of any strides: what is broadcast is stored once.
    """

    values: AnyArray
    width: ClassVar[int] = 1

    def __len__(self) -> int:
        return self.values.size

    def read(self, start: int, stop: int) -> AnyArray:
        """The values of some samples."""
        shape = self.values.shape
        if len(shape) == 1:
            return self.values[start:stop]
        parts = [self.values[r.box].ravel()[r.wanted] for r in readings(start, stop, shape)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def identity(self) -> bytes:
        """Bytes that are equal only where the values are."""
        return _identity(self.values, "")


@dataclass(frozen=True)
class SampleVectors:
    """Some numbers of every sample: its place in an embedding.

    Parameters
    ----------
    values : (N, C)
        In memory.
    """

    values: AnyArray

    def __len__(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        """Components C."""
        return int(self.values.shape[1])

    def read(self, start: int, stop: int) -> AnyArray:
        """The vectors of some samples, (n, C)."""
        return self.values[start:stop]

    def identity(self) -> bytes:
        """Bytes that are equal only where the vectors are."""
        return _identity(self.values, "vectors")
