"""Boxes of an array, and the chunks that they overlap."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

__all__ = ["inside", "overlaps"]

Index = tuple[int, ...]


def overlaps(
    ranges: Sequence[slice], chunks: tuple[int, ...]
) -> Iterator[tuple[Index, tuple[slice, ...]]]:
    """Chunks that a box overlaps, and which part of the array each gives to it."""
    if any(part.start >= part.stop for part in ranges):
        return
    parts = [
        [
            (number, slice(max(part.start, number * size), min(part.stop, (number + 1) * size)))
            for number in range(part.start // size, -(-part.stop // size))
        ]
        for part, size in zip(ranges, chunks, strict=True)
    ]
    for chosen in itertools.product(*parts):
        yield tuple(number for number, _ in chosen), tuple(part for _, part in chosen)


def inside(parts: tuple[slice, ...], ranges: tuple[slice, ...]) -> tuple[slice, ...]:
    """Where in a box a part of the array lies."""
    return tuple(
        slice(part.start - whole.start, part.stop - whole.start)
        for part, whole in zip(parts, ranges, strict=True)
    )
