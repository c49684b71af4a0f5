"""A user's own distance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from somscale._types import AnyArray, Float
from somscale.errors import InputError
from somscale.spaces.base import BadPair, Prepared
from somscale.spaces.given import asymmetric

__all__ = ["FunctionSpace"]

NEAR_ZERO: Final = 1e-3
"""Share of a block's largest distance up to which a sample's distance from itself passes for
0: the root of a rounded ‖x‖² + ‖x‖² − 2 x·x is that large in float32."""


@dataclass(frozen=True, eq=False)
class FunctionSpace:
    """Distances from a function of two blocks of samples.

    Parameters
    ----------
    function : callable
        Takes samples (n, D) and (m, D) as they are stored, nan included, and returns their
        distances, (n, m): real, finite, not negative, symmetric, and 0 from a sample to
        itself.  ``lambda X, Y: scipy.spatial.distance.cdist(X, Y, f)`` makes one of a
        function ``f`` of two vectors.

    Raises
    ------
    InputError
        It is no function.
    """

    function: Callable[[AnyArray, AnyArray], Any]
    is_metric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(f"distance is a name or a function, not {self.function!r}")

    @property
    def name(self) -> str:
        """The function's own."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def operations(self, n_features: int) -> float:
        """A guess: ten a feature."""
        return 10.0 * n_features

    def prepare(self, values: AnyArray) -> Prepared:
        """Keep the samples as they are: what they may hold is the function's affair."""
        return Prepared((np.asarray(values),))

    def distances(self, left: Prepared, right: Prepared, out: Float, *, same: bool = False) -> None:
        """Write what the function returns, checked.

        Raises
        ------
        InputError
            The function fails, or returns another shape or type.
        BadPair
            A distance is nan, infinite, negative or, if both blocks are the `same`, not
            that of the swapped samples, or not 0 from a sample to itself.
        """
        found = self._called(left.arrays[0], right.arrays[0])
        low, high = found.min(initial=0), found.max(initial=0)
        if not (low >= 0 and np.isfinite(high)):  # nan is neither
            self._refuse(found)
        if same:
            self._compare(found, float(high))
        out[...] = found

    def _called(self, samples: AnyArray, others: AnyArray) -> AnyArray:
        shape = len(samples), len(others)
        rule = (
            f"distance function {self.name!r} must take samples {samples.shape} and "
            f"{others.shape} and return their distances {shape}"
        )
        wrap = (
            "; a function f of two vectors becomes one of two blocks as "
            "lambda X, Y: scipy.spatial.distance.cdist(X, Y, f)"
        )
        try:
            found = np.asarray(self.function(samples, others))
        except (IndexError, TypeError, ValueError) as error:
            raise InputError(f"{rule}, but it fails ({error}){wrap}") from error
        if found.shape != shape:
            what = "a single value" if found.ndim == 0 else f"an array of shape {found.shape}"
            raise InputError(f"{rule}, but it returns {what}{wrap}")
        if found.dtype.kind not in "biuf":
            raise InputError(f"{rule} as real numbers, but it returns {found.dtype}")
        return found

    def _refuse(self, found: AnyArray) -> None:
        i, j = np.argwhere(~((found >= 0) & np.isfinite(found)))[0].tolist()
        raise BadPair(
            i,
            j,
            f"distance function {self.name!r} gives {found[i, j]}",
            "it must return finite distances of at least 0",
        )

    def _compare(self, found: AnyArray, high: float) -> None:
        wrong = np.flatnonzero(np.diag(found) > NEAR_ZERO * high)
        if wrong.size:
            at = int(wrong[0])
            raise BadPair(
                at,
                at,
                f"distance function {self.name!r} gives {found[at, at]} from a sample to itself",
                "it must return 0 there (a similarity is no distance)",
            )
        uneven = asymmetric(found, found)
        if uneven is not None:
            i, j = uneven
            raise BadPair(
                i,
                j,
                f"distance function {self.name!r} gives {found[i, j]}, "
                f"but {found[j, i]} for the same samples swapped",
                "it must be symmetric; (f(X, Y) + f(Y, X).T) / 2 is",
            )
