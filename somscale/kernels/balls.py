"""Points in balls: groups cut into leaves of neighbours, each with its centre and radius."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from somscale._types import AnyArray, Float, Int

__all__ = ["Balls"]


@dataclass(frozen=True)
class Balls:
    """Leaves of neighbouring points.

    Attributes
    ----------
    order : (n,) int64
        The points, leaf by leaf.
    starts : (L + 1,) int64
        Where each leaf begins in `order`, and where the last one ends.
    centers : (L, D) float64
        Means of the leaves.
    radii : (L,) float64
        Largest distance of a leaf's points from its centre, rounded up.
    """

    order: Int
    starts: Int
    centers: Float
    radii: Float

    @classmethod
    def of(cls, places: Float, rows: Int, cuts: Int, most: int) -> Balls:
        """Halve groups of points along their widest feature until no leaf holds more than `most`.

        Parameters
        ----------
        places : (n, D) float64
            All points.
        rows : (m,) int64
            Those to cut, group by group.
        cuts : (G + 1,) int64
            Where each group begins in `rows`, and where the last one ends.
        most : int
            Points of a leaf at most.
        """
        order, starts = rows.astype(np.int64), [0]
        waiting = [(int(a), int(b)) for a, b in itertools.pairwise(cuts) if a < b]
        waiting.reverse()
        while waiting:
            start, stop = waiting.pop()
            if stop - start <= most:
                starts.append(stop)
                continue
            held = places[order[start:stop]]
            widest = int((held.max(axis=0) - held.min(axis=0)).argmax())
            # whole leaves on the left, so that only a group's last one is not full
            half = -(-(stop - start) // (2 * most)) * most
            halves = np.argpartition(held[:, widest], half)
            order[start:stop] = order[start:stop][halves]
            waiting += [(start + half, stop), (start, start + half)]
        edges = np.array(starts)
        return cls(order, edges, *_measure(places, order, edges))

    def __len__(self) -> int:
        return len(self.radii)

    def rows(self, leaf: int) -> Int:
        """The points of a leaf."""
        return self.order[self.starts[leaf] : self.starts[leaf + 1]]

    def each(self, values: AnyArray, merge: np.ufunc) -> AnyArray:
        """A value of every point, merged by leaf."""
        return np.asarray(merge.reduceat(values[self.order], self.starts[:-1]))


def _measure(places: Float, order: Int, starts: Int) -> tuple[Float, Float]:
    """Centre and radius of every leaf."""
    centers = np.empty((len(starts) - 1, places.shape[1]))
    radii = np.empty(len(centers))
    for leaf in range(len(centers)):
        held = places[order[starts[leaf] : starts[leaf + 1]]]
        centers[leaf] = held.mean(axis=0)
        away = held - centers[leaf]
        radii[leaf] = np.sqrt(np.einsum("nd,nd->n", away, away).max())
    eps = np.finfo(np.float64).eps
    return centers, radii * (1 + (4 * places.shape[1] + 16) * eps)
