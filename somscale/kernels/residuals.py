"""Residuals of samples from their units' codes, summed by unit in row order.

Every unit adds its samples one after the other onto what it holds, so taking
rows in two portions gives the same bits as taking them in one.
"""

from __future__ import annotations

from somscale._types import AnyArray, Float, Int, as_floats

__all__ = ["add_residuals", "add_squares", "add_units"]


def add_residuals(
    values: AnyArray,
    codes: Float,
    best: Int,
    residuals: Float,
    squares: Float,
    *,
    feature_weights: Float | None = None,
    sample_weights: Float | None = None,
    gaps: bool = False,
) -> None:
    """Add some features' differences x − m_b to the units' and the samples' sums.

    Parameters
    ----------
    values : (n, f)
        The samples' next features.
    codes : (K, f) float64
        The code vectors in these features.
    best : (n,) int32
        Unit of every sample; −1 for samples to leave out.
    residuals : (K, f) float64
        Σ w (x − m) of every unit, updated in place.
    squares : (n,) float64
        Σ v (x − m)² of every sample over the features before these, updated in place,
        in feature order.
    feature_weights : (f,) float64, optional
        v, 1 by default.
    sample_weights : (n,) float64, optional
        w, 1 by default.
    gaps : bool
        Whether features that are nan add nothing.
    """
    from somscale.kernels import loops

    loops.add_residuals(
        as_floats(values),
        codes,
        best,
        residuals,
        squares,
        feature_weights,
        sample_weights,
        gaps or None,  # what is None is left out of the compiled loop
    )


def add_squares(
    values: AnyArray,
    codes: Float,
    units: Int,
    squares: Float,
    *,
    feature_weights: Float | None = None,
    gaps: bool = False,
) -> None:
    """Add some features' (x − m_u)² to the samples' sums, in place and in feature order.

    `units` (n,) says which code each sample is compared with, −1 with none; the rest is
    as in :func:`add_residuals`.
    """
    from somscale.kernels import loops

    loops.add_squares(as_floats(values), codes, units, squares, feature_weights, gaps or None)


def add_units(
    best: Int,
    squares: Float,
    hits: Int,
    unit_squares: Float,
    distances: Float,
    *,
    sample_weights: Float | None = None,
    weights: Float | None = None,
) -> None:
    """Add samples to their units' hits, squared errors and distances, in place.

    Sample weights, where there are any, multiply squares and distances and are added
    up in `weights`, (K,).
    """
    from somscale.kernels import loops

    loops.add_to_units(best, squares, hits, unit_squares, distances, sample_weights, weights)
