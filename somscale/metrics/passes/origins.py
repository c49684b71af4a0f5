"""Where the samples lie: a look at a few of them, so that far from 0 no digits are lost.

Sums about a point among the samples hold differences of the samples' own size.  Any
point does; the looks depend on the samples alone, so that every way to run a pass gives
the same digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from somscale._types import AnyArray, Bool, Float
from somscale.engine.arrays import call_later
from somscale.engine.readers.blocked import Arrival, Blocks
from somscale.engine.readers.columns import Column
from somscale.engine.readers.samples import Samples
from somscale.reductions.faults import LARGEST_VALUE

__all__ = ["Look", "everyone", "first_looks", "look_later", "look_now"]

_ROWS = 32
_BYTES = 16 << 20


@dataclass(frozen=True)
class Look:
    """Some rows in a row, and which of them take part."""

    start: int
    stop: int
    taken: Bool


def everyone(samples: Samples) -> Column:
    """One cluster of all samples that a mask does not leave out."""
    n_rows = samples.shape[0]
    codes = np.broadcast_to(np.int32(0), n_rows)
    if samples.excluded is not None:
        codes = -samples.excluded.read(0, n_rows).astype(np.int32)
    return Column(codes, 0, range(1), "samples", int(np.count_nonzero(codes)))


def first_looks(samples: Samples, clusterings: Iterable[Column]) -> list[list[Look]]:
    """What to look at for every clustering: rows near the first, middle and last samples."""
    return [_looks(column, *samples.shape) for column in clusterings]


def _looks(column: Column, n_rows: int, n_features: int) -> list[Look]:
    taken = column.read(0, n_rows) >= 0
    rows = max(1, min(_ROWS, _BYTES // (8 * n_features)))
    starts = {_first_taken(taken, at) for at in (0, n_rows // 2, max(0, n_rows - rows))}
    stops = {start: min(start + rows, n_rows) for start in sorted(starts)}
    return [Look(start, stop, taken[start:stop]) for start, stop in stops.items()]


def _first_taken(taken: Bool, at: int) -> int:
    """The first sample from a place on that takes part, or the first of all."""
    place = at + int(np.argmax(taken[at:]))
    return place if taken[place] else int(np.argmax(taken))


def look_now(samples: Samples, looks: Sequence[Sequence[Look]]) -> list[Float]:
    """A point near the samples of every clustering."""
    source = samples.source
    if source is None:
        raise ValueError("what is in Dask arrays is looked at later")
    features = slice(0, samples.shape[1])
    return [
        _middle(own, *(source.read(slice(look.start, look.stop), features) for look in own))
        for own in looks
    ]


def look_later(blocks: Blocks, looks: Sequence[Sequence[Look]], token: str) -> list[Any]:
    """The same, delayed."""
    origins = []
    for number, own in enumerate(looks):
        name, rows = f"look-{number}-{token}", []
        for place, look in enumerate(own):
            inputs, arrival = blocks.inputs(look.start, look.stop)
            rows.append(
                call_later(
                    _arrived, arrival, look.start, look.stop, *inputs, name=f"{name}-{place}"
                )
            )
        origins.append(call_later(_middle, list(own), *rows, name=name))
    return origins


def _arrived(arrival: Arrival, start: int, stop: int, *blocks: AnyArray) -> AnyArray:
    source = arrival.source(blocks)
    return np.array(source.read(slice(start, stop), slice(0, source.shape[1])))


def _middle(looks: Sequence[Look], *rows: AnyArray) -> Float:
    """The median of every feature: no outlier draws it away; 0 where nothing is seen."""
    pairs = zip(rows, looks, strict=True)
    values = np.concatenate([part[look.taken].astype(np.float64) for part, look in pairs])
    values[~(np.abs(values) <= LARGEST_VALUE)] = np.nan
    unseen = np.isnan(values).all(axis=0)
    middle = np.zeros(values.shape[1])
    if not unseen.all():
        middle[~unseen] = np.nanmedian(values[:, ~unseen], axis=0)
    return middle
