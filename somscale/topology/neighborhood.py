"""Neighbourhood kernels: how much a unit learns, or counts, at a distance on the map."""

from __future__ import annotations

import difflib
from typing import Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from somscale.errors import InputError
from somscale.topology.checks import listed

__all__ = ["KERNELS", "NeighborhoodKernel", "neighborhood_kernel"]

# Every kernel that decays has underflowed to 0 long before; squares of more could overflow.
FAR: Final = 1e3


class NeighborhoodKernel(Protocol):
    """A function h of the distance on the map and the temperature."""

    def __call__(self, delta: ArrayLike, temperature: ArrayLike) -> NDArray[np.float64]:
        """Return h, float64, of the shape `delta` and `temperature` broadcast to."""
        ...


def neighborhood_kernel(name: str = "gaussian") -> NeighborhoodKernel:
    """Return the neighbourhood kernel h(delta, temperature) of a name.

    Parameters
    ----------
    name : str
        One of `KERNELS`, with δ the distance on the map and T the temperature (the radius
        of the neighbourhood, in units of δ):

        - ``"gaussian"``: exp(−δ²/T²), of the survey by Forest et al. (2020), the default;
        - ``"gaussian_half"``: exp(−δ²/2T²), of SOM Toolbox and MiniSom;
        - ``"window"``: 1 where δ ≤ T, else 0 (the "bubble");
        - ``"triangular"``: max(0, 1 − δ/T);
        - ``"mexican_hat"``: (1 − δ²/T²) exp(−δ²/2T²), negative where δ > T.

    Returns
    -------
    callable
        ``h(delta, temperature)`` takes arrays that broadcast and returns float64.  It is 1
        at δ = 0 and at most 1 everywhere.  It raises `InputError` unless every temperature
        is finite and positive; a window may also have temperature 0.  It can be pickled.

    Raises
    ------
    InputError
        If no kernel has that name; the nearest names are given.

    References
    ----------
    Forest, Lebbah, Azzag & Lacaille (2020), A survey and implementation of performance
    metrics for self-organized maps, arXiv:2011.05847.

    Examples
    --------
    >>> h = neighborhood_kernel("triangular")
    >>> h([0, 1, 2, 3], 2).tolist()
    [1.0, 0.5, 0.0, 0.0]
    """
    if name in KERNELS:
        return _KERNELS[name]
    near = difflib.get_close_matches(str(name), KERNELS, n=2)
    hint = f"; did you mean {listed(near)}?" if near else "."
    raise InputError(
        f"No neighbourhood kernel is called {name!r}{hint} Kernels are {', '.join(KERNELS)}."
    )


def _gaussian(delta: ArrayLike, temperature: ArrayLike) -> NDArray[np.float64]:
    return np.exp(-np.square(_scaled(delta, temperature)))


def _gaussian_half(delta: ArrayLike, temperature: ArrayLike) -> NDArray[np.float64]:
    return np.exp(-np.square(_scaled(delta, temperature)) / 2)


def _window(delta: ArrayLike, temperature: ArrayLike) -> NDArray[np.float64]:
    radius = _temperature(temperature, zero=True)
    return (np.asarray(delta) <= radius) * np.float64(1)


def _triangular(delta: ArrayLike, temperature: ArrayLike) -> NDArray[np.float64]:
    return np.maximum(0.0, 1 - _scaled(delta, temperature))


def _mexican_hat(delta: ArrayLike, temperature: ArrayLike) -> NDArray[np.float64]:
    square = np.square(_scaled(delta, temperature))
    return (1 - square) * np.exp(-square / 2)


_KERNELS: Final[dict[str, NeighborhoodKernel]] = {
    "gaussian": _gaussian,
    "gaussian_half": _gaussian_half,
    "window": _window,
    "triangular": _triangular,
    "mexican_hat": _mexican_hat,
}
KERNELS: Final = tuple(_KERNELS)


def _temperature(temperature: ArrayLike, *, zero: bool = False) -> NDArray[np.float64]:
    """Return the temperature as float64, refusing one that is not positive and finite."""
    values = np.asarray(temperature, np.float64)
    wrong = ~(np.isfinite(values) & ((values >= 0) if zero else (values > 0)))
    if wrong.any():
        rule = "at least 0" if zero else "greater than 0"
        raise InputError(f"temperature must be finite and {rule}, not {values[wrong].flat[0]}.")
    return values


def _scaled(delta: ArrayLike, temperature: ArrayLike) -> NDArray[np.float64]:
    """Return delta / temperature, cut off where it no longer matters."""
    scale = _temperature(temperature)
    with np.errstate(over="ignore"):
        return np.minimum(np.asarray(delta, np.float64) / scale, FAR)
