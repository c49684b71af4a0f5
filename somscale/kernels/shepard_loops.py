"""Compiled loops that sort pairs of distances into bins; imported only by what calls them.

Rows p form pairs with the columns from ``p + offset + 1`` on.  A bin of a distance is the
start of its bits, exponent and first digits of the mantissa: bins are of equal relative
width, whatever the scale.  NumPy would take a pass over the tile for every step.
"""

from __future__ import annotations

from typing import Any

from somscale.kernels.compiling import compiled

__all__ = [
    "COARSE_BITS",
    "CUT",
    "FINE_BITS",
    "SHIFT",
    "SMALLEST",
    "WINDOW",
    "bin_pairs",
    "count_diagram",
]

COARSE_BITS = 6
"""Digits of the mantissa in a coarse bin: 64 bins an octave."""

FINE_BITS = 7
"""More digits in a fine bin: 128 in a coarse one, each 1.2·10⁻⁴ of the distance wide."""

CUT = 52 - COARSE_BITS - FINE_BITS
"""Digits of a float64 that fine bins leave out."""

SHIFT = 209_000_000_000
"""Added to the bits first, 0.38 of a fine bin.  Whole numbers would be ends of bins else,
and rounding would put equal distances on both sides."""

WINDOW = 8
"""Octaves for which a tile has a table."""

SMALLEST = 1 << 52
"""Bits of the smallest normal number; below, distances count as 0."""

_DOUBTFUL = 1e-6
"""Share of a bin near its ends: products are off by some 10⁻¹⁶ of up to a million bins."""

_SLOTS = WINDOW << (COARSE_BITS + FINE_BITS)
_OUTSIDE = _SLOTS + 1
_MASK = (1 << FINE_BITS) - 1


@compiled
def _find_slots(bits: Any, lowest: int, slots: Any) -> bool:
    """Fine slots of a row's distances, 0 for no distance; whether any is outside the window."""
    before = (lowest << (COARSE_BITS + FINE_BITS)) - 1
    highest = 0
    for q in range(bits.shape[0]):
        slot = ((bits[q] + SHIFT) >> CUT) - before
        slot = slot if 0 < slot <= _SLOTS else _OUTSIDE
        slot = slot if bits[q] >= SMALLEST else 0
        slots[q] = slot
        highest = max(highest, slot)
    return highest == _OUTSIDE


@compiled
def bin_pairs(
    d: Any,
    e: Any,
    offset: int,
    lowest_d: int,
    lowest_e: int,
    slots: Any,
    fine_d: Any,
    fine_e: Any,
    cells: Any,
    missed: Any,
) -> int:
    """Count the pairs of two windows; how many lie outside, and their bits in `missed`.

    Parameters
    ----------
    d, e : (n, m) int64
        Bits of both distances.
    offset : int
        See above.
    lowest_d, lowest_e : int
        Exponents, with float64's bias, at which the windows begin.
    slots : (2, m) int32
        Scratch.
    fine_d, fine_e : (slots + 2,) int32
        Counts of fine bins: no distance first, last what is outside and counts for nothing.
    cells : (side, side, 2) int64
        By the coarse bins of d and e, likewise: the count, plus 2²⁴ times the sum of the
        places of d among the fine bins of its coarse one; the sum of those of e.
    missed : (n·m, 2) int64
        Overwritten.
    """
    outside = 0
    for p in range(d.shape[0]):
        first = max(0, p + offset + 1)
        if first >= d.shape[1]:
            break
        size = d.shape[1] - first
        rows, columns = slots[0, :size], slots[1, :size]
        left = _find_slots(d[p, first:], lowest_d, rows)
        right = _find_slots(e[p, first:], lowest_e, columns)
        if left or right:
            for q in range(size):
                if rows[q] == _OUTSIDE or columns[q] == _OUTSIDE:
                    rows[q], columns[q] = _OUTSIDE, _OUTSIDE
                    missed[outside, 0], missed[outside, 1] = d[p, first + q], e[p, first + q]
                    outside += 1
        # short loops over one table each: more of their reads are under way at a time
        for q in range(size):
            fine_d[rows[q]] += 1
        for q in range(size):
            fine_e[columns[q]] += 1
        for q in range(size):
            i, j = rows[q] + _MASK, columns[q] + _MASK
            a, b = i >> FINE_BITS, j >> FINE_BITS
            cells[a, b, 0] += 1 + ((i & _MASK) << 24)
            cells[a, b, 1] += j & _MASK
    return outside


@compiled
def _find_bins(values: Any, edges: Any, scale: float, bins: Any) -> None:
    last = edges.shape[0] - 2
    for q in range(values.shape[0]):
        product = min(values[q] * scale, last + 0.5)
        place = int(product)
        if abs(product - place - 0.5) > 0.5 - _DOUBTFUL:
            # the product is rounded, the edges decide
            while place > 0 and values[q] < edges[place]:
                place -= 1
            while place < last and values[q] >= edges[place + 1]:
                place += 1
        bins[q] = place


@compiled
def count_diagram(
    d: Any,
    e: Any,
    offset: int,
    edges_d: Any,
    edges_e: Any,
    scale_d: float,
    scale_e: float,
    bins: Any,
    counts: Any,
) -> None:
    """Count pairs in a table of even bins, which hold their lower edges; the last all beyond."""
    for p in range(d.shape[0]):
        first = max(0, p + offset + 1)
        if first >= d.shape[1]:
            break
        size = d.shape[1] - first
        rows, columns = bins[0, :size], bins[1, :size]
        _find_bins(d[p, first:], edges_d, scale_d, rows)
        _find_bins(e[p, first:], edges_e, scale_e, columns)
        for q in range(size):
            counts[rows[q], columns[q]] += 1
