"""Spaces of vectors by name."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from somscale._types import Float
from somscale.errors import InputError
from somscale.spaces.angles import AngleSpace
from somscale.spaces.base import Space
from somscale.spaces.euclidean import EuclideanSpace
from somscale.spaces.function import FunctionSpace
from somscale.spaces.sums import ChebyshevSpace, CityblockSpace, MinkowskiSpace

__all__ = ["ALIASES", "DISTANCES", "make_space"]

DISTANCES: Final = (
    "euclidean",
    "sqeuclidean",
    "cityblock",
    "chebyshev",
    "minkowski",
    "cosine",
    "correlation",
)
"""Names of the distances between vectors, as scipy has them."""

ALIASES: Final = {"manhattan": "cityblock", "l1": "cityblock", "l2": "euclidean"}
"""What scikit-learn also calls them."""

_WEIGHTED: Final = ("euclidean", "sqeuclidean")


def make_space(
    distance: str | Callable[..., Any],
    *,
    n_features: int | None = None,
    p: float | None = None,
    feature_weights: ArrayLike | None = None,
    center: ArrayLike | None = None,
) -> Space:
    """Return the space of a distance between vectors.

    Parameters
    ----------
    distance : str or callable
        One of `DISTANCES` or `ALIASES`, or a function as in `FunctionSpace`.
    n_features : int, optional
        D, with which the shapes of the arrays below are compared.
    p : float, optional
        Exponent of "minkowski", at least 1, 2 by default.  1, 2 and inf give "cityblock",
        "euclidean" and "chebyshev".
    feature_weights : (D,) array_like, optional
        v ≥ 0 of √Σ v (x − y)², for "euclidean" and "sqeuclidean" only.
    center : (D,) array_like, optional
        A place near the middle of the data, which makes "euclidean" and "sqeuclidean"
        quicker where data lie far from 0; no result depends on it but by rounding.

    Raises
    ------
    InputError
        No such distance, or an argument that it does not take.
    """
    name = "a function" if callable(distance) else _name_of(distance)
    if p is not None and name != "minkowski":
        raise InputError(f"p is the exponent of distance='minkowski'; {name} takes none")
    exponent = _exponent(p)
    if name == "minkowski":
        name = {1.0: "cityblock", 2.0: "euclidean", math.inf: "chebyshev"}.get(exponent, name)
    if feature_weights is not None and name not in _WEIGHTED:
        raise InputError(
            f"feature_weights go with distance='euclidean' or 'sqeuclidean', not {name}; "
            f"scale the samples' features instead"
        )
    if callable(distance):
        return FunctionSpace(distance)
    if name in _WEIGHTED:
        middle = _vector(center, "center", n_features)
        weights = _weights(feature_weights, n_features)
        return EuclideanSpace(name == "sqeuclidean", middle, weights)
    if name == "minkowski":
        return MinkowskiSpace(exponent)
    others: dict[str, Space] = {
        "cityblock": CityblockSpace(),
        "chebyshev": ChebyshevSpace(),
        "cosine": AngleSpace(),
        "correlation": AngleSpace(centred=True),
    }
    return others[name]


def _name_of(distance: object) -> str:
    known = (*DISTANCES, *ALIASES)
    if isinstance(distance, str) and distance in known:
        return ALIASES.get(distance, distance)
    close = difflib.get_close_matches(str(distance).lower(), known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise InputError(
        f"unknown distance {distance!r}; {hint}it is one of {', '.join(map(repr, known))}, or a "
        f"function of two blocks of samples"
    )


def _exponent(p: object) -> float:
    if p is None:
        return 2.0
    if isinstance(p, bool) or not isinstance(p, int | float | np.number) or not float(p) >= 1:
        raise InputError(f"p must be a number of at least 1, not {p!r}: below, it is no distance")
    return float(p)


def _weights(weights: ArrayLike | None, n_features: int | None) -> Float | None:
    vector = _vector(weights, "feature_weights", n_features)
    if vector is not None and not (vector >= 0).all():
        at = int(np.argmin(vector >= 0))
        raise InputError(f"feature_weights[{at}] is {vector[at]}; weights are not negative")
    return vector


def _vector(values: ArrayLike | None, name: str, n_features: int | None) -> Float | None:
    """Return a float64 copy, (D,) and finite."""
    if values is None:
        return None
    vector = np.array(values, np.float64)
    if vector.ndim != 1 or n_features not in (None, len(vector)):
        wanted = "(D,)" if n_features is None else f"({n_features},)"
        raise InputError(f"{name} must have shape {wanted}, a value a feature, not {vector.shape}")
    if not np.isfinite(vector).all():
        at = int(np.argmin(np.isfinite(vector)))
        raise InputError(f"{name}[{at}] is {vector[at]}; it must be finite")
    return vector
