"""The laws of a distance: what a walk over pairs of samples counts on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from somscale._types import AnyArray
from somscale.errors import InputError
from somscale.spaces import Space, make_space
from somscale.spaces.function import NEAR_ZERO
from somscale.spaces.given import rounding_of
from somscale.testing.checks import Check, chosen_checks, run_all
from somscale.testing.comparing import broken, shown

__all__ = ["check_space", "checks_of_space"]

_CUTS: Final = ((1, 3), (4, 1), (7, 5))
"""Rows of the blocks on either side."""


@dataclass(frozen=True)
class _Measured:
    """A distance and the samples that it is tried on."""

    name: str
    measure: Callable[[AnyArray, AnyArray], AnyArray]
    near_zero: float
    rounding: float
    samples: AnyArray
    origin: str

    def __str__(self) -> str:
        n, d = self.samples.shape
        return f"{n} samples of {d} features, {self.origin}"

    @property
    def left(self) -> AnyArray:
        """Block of the rows."""
        return self.samples[: 2 * len(self.samples) // 3].copy()

    @property
    def right(self) -> AnyArray:
        """Block of the columns, some samples of which are in the other block too."""
        return self.samples[len(self.samples) // 2 :].copy()

    @cached_property
    def whole(self) -> AnyArray:
        """Distances of the two blocks, taken at once."""
        return self.measure(self.left, self.right)

    @cached_property
    def square(self) -> AnyArray:
        """Distances of all samples."""
        return self.measure(self.samples.copy(), self.samples.copy())

    def fail(self, law: str, what: str) -> None:
        """Say that a law is broken."""
        broken(self.name, law, what, self)

    def require(self, law: str, agree: Any, wrong: AnyArray, right: Any, what: str) -> None:
        """Refuse an array where it does not agree, by the first place."""
        agree = np.asarray(agree)
        if agree.all():
            return
        i, j = (int(n) for n in np.argwhere(~agree)[0])
        other = "" if right is None else f", not {shown(right[i, j])}"
        self.fail(law, f"{shown(wrong[i, j])}{other}, at [{i}, {j}] {what}")


def _check_shape(given: _Measured) -> None:
    """Blocks of n and m samples give real numbers, (n, m)."""
    for n, m in ((len(given.left), len(given.right)), (1, 3), (3, 1), (1, 1)):
        left, right = given.left[:n], given.right[:m]
        try:
            found = given.measure(left, right)
        except (IndexError, TypeError, ValueError) as error:
            given.fail("shape", f"blocks {left.shape} and {right.shape} make it fail: {error}")
        if found.shape != (n, m) or found.dtype.kind not in "biuf":
            what = f"{found.dtype} of shape {found.shape}, not real numbers of shape {(n, m)}"
            given.fail("shape", f"blocks {left.shape} and {right.shape} give {what}")


def _check_finite(given: _Measured) -> None:
    """No distance is nan or infinite."""
    given.require("finite", np.isfinite(given.square), given.square, None, "is not finite")


def _check_sign(given: _Measured) -> None:
    """No distance is negative."""
    given.require("sign", ~(given.square < 0), given.square, None, "is negative")


def _check_self(given: _Measured) -> None:
    """A sample is at distance 0 from itself."""
    found = given.square
    limit = given.near_zero * float(np.nan_to_num(found).max(initial=0))
    agree = ~np.eye(len(found), dtype=bool) | (np.abs(found) <= limit)
    given.require("self", agree, found, None, "is not 0, from a sample to itself")


def _check_symmetry(given: _Measured) -> None:
    """Blocks that change places give the transposed distances, but for rounding."""
    found, swapped = given.whole, given.measure(given.right, given.left).T
    limit = max(rounding_of(found.dtype), given.rounding)
    close = np.abs(found - swapped) <= limit * np.maximum(np.abs(found), np.abs(swapped))
    # what is next to 0 is what rounding left of it
    close |= np.abs(found - swapped) <= given.near_zero * np.abs(found).max(initial=0)
    given.require("symmetry", close, found, swapped, "with the blocks swapped")


def _check_blocks(given: _Measured) -> None:
    """However the blocks are cut, the distances are the same: bit for bit, or to `rounding`."""
    left, right, whole = given.left, given.right, given.whole
    for high, wide in _CUTS:
        found = np.empty_like(whole)
        for i in range(0, len(left), high):
            for j in range(0, len(right), wide):
                rows, columns = slice(i, i + high), slice(j, j + wide)
                found[rows, columns] = given.measure(left[rows], right[columns])
        close = np.abs(found - whole) <= given.rounding * np.abs(whole)
        # of a root it is the square that is rounded
        close |= np.abs(found**2 - whole**2) <= given.rounding * np.square(whole).max(initial=0)
        place = f"in blocks of {high} and {wide} rows instead of {len(left)} and {len(right)}"
        given.require("blocks", close | (found == whole), found, whole, place)


def _check_repeat(given: _Measured) -> None:
    """Asked again, it gives the same bits."""
    found = given.measure(given.left, given.right)
    given.require("repeat", found == given.whole, found, given.whole, "when it is called again")


def _check_input(given: _Measured) -> None:
    """It leaves the samples as they are, and takes arrays that cannot be written."""
    left, right = given.left, given.right
    given.measure(left, right)
    for before, after in ((given.left, left), (given.right, right)):
        given.require("input", before == after, after, before, "of the samples after the call")
    for block in (left, right):
        block.flags.writeable = False
    try:
        found = given.measure(left, right)
    except ValueError as error:
        given.fail("input", f"samples that cannot be written make it fail: {error}")
    given.require("input", found == given.whole, found, given.whole, "of read-only samples")


def _check_precision(given: _Measured) -> None:
    """Samples in float32 give what the same numbers give in float64, to three digits."""
    left, right = given.left.astype(np.float32), given.right.astype(np.float32)
    found = given.measure(left, right)
    wide = given.measure(left.astype(np.float64), right.astype(np.float64))
    close = np.abs(found - wide) <= NEAR_ZERO * np.abs(wide).max(initial=0)
    given.require("precision", close, found, wide, "of samples in float32")


_LAWS: Final[dict[str, Callable[[_Measured], None]]] = {
    "shape": _check_shape,
    "finite": _check_finite,
    "sign": _check_sign,
    "self": _check_self,
    "symmetry": _check_symmetry,
    "blocks": _check_blocks,
    "repeat": _check_repeat,
    "input": _check_input,
    "precision": _check_precision,
}


def check_space(
    distance: str | Callable[..., Any] | Space,
    *,
    samples: ArrayLike | None = None,
    rounding: float = 0.0,
    without: Iterable[str] = (),
    seed: int = 0,
) -> None:
    """Check that a distance keeps the laws that walks over pairs of samples count on.

    Parameters
    ----------
    distance : str, callable or Space
        What ``distance=`` takes: a function of two blocks of samples, (n, D) and (m, D), that
        returns their distances, (n, m); or a name.
    samples : array_like, (N, D), optional
        Samples that the distance is meant for, at least 6; by default 24 of 5 features, normal
        about 0.
    rounding : float
        Share by which a distance, or its square by that of the largest, may differ where blocks
        are cut otherwise.  0: not by a bit.  A function that takes matrix products needs about
        1e-12; what is cut to fit the memory may then differ in the last digits.
    without : iterable of str
        Laws that are not looked at, by their names below.
    seed : int
        What the samples are drawn from where none are given.

    Raises
    ------
    AssertionError
        A law is broken: the sentence names the distance, the law, the values and their place.
    InputError
        It is no distance, there are too few samples, or `without` names no law.

    Notes
    -----
    The laws, in the order in which they are checked:

    shape
        Blocks of n and m samples, also of one, give real numbers, (n, m).
    finite, sign
        No distance is nan, infinite or negative.
    self
        A sample is at distance 0 from itself; of a function, up to 1e−3 of the largest distance,
        which is what rounding leaves of a root of differences.
    symmetry
        Blocks that change places give the transposed distances, up to rounding.
    blocks
        Distances are the same however the blocks are cut: none depends on other samples.
    repeat
        A second call gives the same bits.
    input
        Samples are left as they are, and may be read-only.
    precision
        Samples in float32 give what the same numbers give in float64, up to 1e−3 of the largest
        distance.

    The triangle inequality is not among them: no index takes it for granted.

    Examples
    --------
    >>> import numpy as np
    >>> from somscale.testing import check_space
    >>> def worst_feature(a, b):
    ...     return np.abs(a[:, None] - b[None]).max(axis=2)
    >>> check_space(worst_feature)
    """
    run_all(
        checks_of_space(distance, samples=samples, rounding=rounding, without=without, seed=seed)
    )


def checks_of_space(
    distance: str | Callable[..., Any] | Space,
    *,
    samples: ArrayLike | None = None,
    rounding: float = 0.0,
    without: Iterable[str] = (),
    seed: int = 0,
) -> list[Check[_Measured]]:
    """Give the checks of :func:`somscale.testing.check_space` one by one, to be listed.

    Parameters
    ----------
    distance, samples, rounding, without, seed
        As in :func:`somscale.testing.check_space`.

    Returns
    -------
    list of Check
        As :func:`somscale.testing.checks_of_metric` gives them.

    Raises
    ------
    InputError
        It is no distance, there are too few samples, or `without` names no law.
    """
    values, origin = _samples(samples, seed)
    name, measure, near_zero = _measure(distance)
    given = _Measured(name, measure, near_zero, rounding, values, origin)
    return chosen_checks(_LAWS, name, given, without)


def _samples(samples: ArrayLike | None, seed: int) -> tuple[AnyArray, str]:
    if samples is None:
        return np.random.default_rng(seed).standard_normal((24, 5)), f"seed {seed}"
    values = np.asarray(samples)
    if values.ndim != 2 or len(values) < 6 or values.dtype.kind not in "iuf":
        raise InputError(
            f"samples are real numbers, (sample, feature), 6 samples at least, not {values.dtype} "
            f"of shape {values.shape}"
        )
    return values, "as given"


def _measure(
    distance: str | Callable[..., Any] | Space,
) -> tuple[str, Callable[[AnyArray, AnyArray], AnyArray], float]:
    """Name of a distance, a function of two blocks, and what passes for 0."""
    if callable(distance):
        function = distance
        name = str(getattr(function, "__name__", type(function).__name__))
        return name, lambda left, right: np.asarray(function(left, right)), NEAR_ZERO
    space = make_space(distance) if isinstance(distance, str) else distance

    def measure(left: AnyArray, right: AnyArray) -> AnyArray:
        out = np.full((len(left), len(right)), np.nan)
        space.distances(space.prepare(left), space.prepare(right), out)
        return out

    return space.name, measure, 0.0
