"""Which samples are drawn, and what is known of them: places, values, classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from somscale.errors import InputError
from somscale.reporting.result import Result

__all__ = ["MOST_CANDIDATES", "MOST_POINTS", "POINT", "Draw", "draw", "draw_of", "points_of"]

MOST_POINTS: Final = 5_000
MOST_CANDIDATES: Final = 24
"""Embeddings whose points are drawn."""
POINT: Final = "drawn sample"
_ALL_POINTS: Final = 30_000
_FEWEST: Final = 500
_SEED: Final = 0


@dataclass(frozen=True)
class Draw:
    """Samples that stand for all in a picture.

    Attributes
    ----------
    places : (n,) int
        Their places among the samples, ascending.
    n_samples : int
        How many samples there are.
    """

    places: NDArray[np.int64]
    n_samples: int

    @property
    def words(self) -> str:
        """What there is to say of it."""
        if len(self.places) == self.n_samples:
            return f"All {self.n_samples:,} samples are drawn."
        return (
            f"Of {self.n_samples:,} samples {len(self.places):,} are drawn, chosen at random by a "
            "fixed seed, the same ones each time."
        )

    def of(self, values: xr.DataArray, dims: Sequence[Hashable]) -> xr.DataArray:
        """The values of the drawn samples, their dims in the place of which stands a new one."""
        return values if POINT in values.dims else self.pick(values, dims).compute()

    def pick(self, values: xr.DataArray, dims: Sequence[Hashable]) -> xr.DataArray:
        """The same, as lazy as the values are."""
        shape = tuple(values.sizes[dim] for dim in dims)
        found = np.unravel_index(self.places, shape)
        where = {d: xr.DataArray(p, dims=POINT) for d, p in zip(dims, found, strict=True)}
        return values.isel(where)


def draw(n_samples: int, most: int = MOST_POINTS) -> Draw:
    """Draw at most so many samples."""
    if n_samples <= most:
        return Draw(np.arange(n_samples), n_samples)
    chosen = np.random.default_rng(_SEED).choice(n_samples, size=most, replace=False)
    return Draw(np.sort(chosen), n_samples)


def draw_of(result: Result) -> Draw:
    """Draw the samples of a page: fewer for each embedding where there are many.

    Raises
    ------
    InputError
        The result does not say how many samples there were.
    """
    if result.n_samples is None:
        raise InputError("the result does not say of how many samples it is; evaluate anew")
    if result.kind != "embedding":
        return draw(result.n_samples, MOST_POINTS)
    count = min(len(result.heads), MOST_CANDIDATES)
    return draw(result.n_samples, min(MOST_POINTS, max(_FEWEST, _ALL_POINTS // count)))


def points_of(
    values: Any, drawn: Draw, dims: Sequence[Hashable], like: xr.DataArray | None, what: str
) -> NDArray[Any]:
    """The rows of the drawn samples, (n, …), of an array or a DataArray.

    Parameters
    ----------
    values : array_like or DataArray
        Of all samples, on the first axis or on the dims `dims`.
    drawn : Draw
        Which rows.
    dims : sequence of hashable
        The samples' dims in the result.
    like : DataArray, optional
        A variable of the result with the samples' coordinates; labelled values are put in
        their order.
    what : str
        What the values are, for a message.

    Raises
    ------
    InputError
        There are as many values as samples no more.
    """
    if isinstance(values, xr.DataArray):
        values = _in_order(values, dims, like)
        own = [dim for dim in dims if dim in values.dims] or [values.dims[0]]
        _check(int(np.prod([values.sizes[d] for d in own])), drawn, what)
        rows = drawn.of(values, own)
        return np.asarray(rows.transpose(POINT, ...).values)
    if not hasattr(values, "shape"):
        values = np.asarray(values)
    _check(len(values), drawn, what)
    return np.asarray(values[drawn.places])


def _in_order(
    values: xr.DataArray, dims: Sequence[Hashable], like: xr.DataArray | None
) -> xr.DataArray:
    """Labelled values in the order of the result's samples, where both have labels."""
    if like is None:
        return values
    for dim in dims:
        if dim in values.indexes and dim in like.indexes:
            if not set(like.indexes[dim]) <= set(values.indexes[dim]):
                raise InputError(
                    f"the values have other labels along {dim!r} than the result's samples"
                )
            values = values.sel({dim: like[dim].values})
    return values


def _check(count: int, drawn: Draw, what: str) -> None:
    if count != drawn.n_samples:
        raise InputError(
            f"{what} has {count:,} rows, and the result is of {drawn.n_samples:,} samples; give "
            "what was judged"
        )
