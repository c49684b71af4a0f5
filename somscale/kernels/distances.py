"""Squared Euclidean distances by direct differences, summed in feature order.

These sums *define* every order and every distance of somscale; a feature's weight
multiplies its square.  Each is the plain left-to-right float64 sum over the
features, with no fused multiply-add and no reassociation, so it is the same on
every machine, for any chunking and for any cut of the features, and equals
``scipy.spatial.distance.cdist(…, "sqeuclidean")`` bit for bit.
"""

from __future__ import annotations

import numpy as np

from somscale._types import AnyArray, Float, Int, as_floats

__all__ = ["add_squares", "pair_squares", "squares_to"]


def add_squares(total: Float, differences: Float, weights: Float | None = None) -> None:
    """Add the squares of some features to running sums, in feature order.

    Parameters
    ----------
    total : (n,) float64
        Sums over the features before these; updated in place.
    differences : (n, f) float64
        Differences in the next ``f`` features; overwritten.
    weights : (f,) float64, optional
        Factors of the squares.
    """
    if differences.shape[1] == 0:
        return
    np.multiply(differences, differences, out=differences)
    if weights is not None:
        np.multiply(differences, weights, out=differences)
    differences[:, 0] += total
    # accumulate is sequential by definition; add.reduce would sum pairwise
    np.add.accumulate(differences, axis=1, out=differences)
    total[:] = differences[:, -1]


def squares_to(points: AnyArray, target: Float) -> Float:
    """Squared distances from every point to one target, shape (n,)."""
    total = np.zeros(len(points))
    add_squares(total, np.subtract(points, target, dtype=np.float64))
    return total


def pair_squares(
    total: Float,
    left: AnyArray,
    right: Float,
    rows: Int,
    columns: Int,
    *,
    weights: Float | None = None,
    gaps: bool = False,
) -> None:
    """Add squared differences of listed pairs ``left[rows[p]] - right[columns[p]]``.

    Parameters
    ----------
    total : (p,) float64
        Sums over the features before these; updated in place.
    left, right : (n, f) and (m, f)
        The next ``f`` features of both sides.
    rows, columns : (p,) integer
        The pairs.
    weights : (f,) float64, optional
        Factors of the squares.
    gaps : bool
        Whether features that are nan add nothing.
    """
    from somscale.kernels import loops

    # what is None is left out of the compiled loop
    loops.add_pair_squares(total, as_floats(left), right, rows, columns, weights, gaps or None)
