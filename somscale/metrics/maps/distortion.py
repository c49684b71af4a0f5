"""Distortion at any temperature, and its parts, in K × K work on finished statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from somscale._types import Float, Int
from somscale.metrics.maps.quantization import per_hit
from somscale.metrics.public import map_index
from somscale.metrics.values import Value
from somscale.reductions.units import UnitStats
from somscale.topology import Grid, neighborhood_kernel

__all__ = ["distortion", "distortion_parts", "unit_distortion"]

_HESKES = "Heskes 1999, doi:10.1016/B978-044450270-4/50024-3"
_VESANTO = (
    "Vesanto, Sulkava & Hollmén 2003, On the decomposition of the self-organizing map "
    "distortion measure, WSOM'03"
)

_BLOCK_VALUES = 1 << 18
"""Differences of codes, and weights, at hand at a time: 2 MiB, which stays in cache."""

_SIGNED = {("kernel", "mexican_hat"): {"lower": -float("inf")}}


def _check(parameters: Mapping[str, Any]) -> None:
    neighborhood_kernel(parameters["kernel"])(0.0, parameters["temperature"])


@map_index(
    needs=("units", "grid"),
    with_gaps=True,
    long_name="distortion",
    definition="mean over samples of sum_k h(delta(b1, k)) |x - m_k|^2",
    direction="lower",
    units="data^2",
    dims=("temperature",),
    source=_HESKES,
    check=_check,
    variants=_SIGNED,
)
def distortion(
    units: UnitStats, grid: Grid, *, temperature: Any = 1.0, kernel: str = "gaussian"
) -> Value:
    """Mean over samples of the neighbourhood-weighted squared distances to all units.

    (1/N) Σ_i Σ_k h(δ(b_i, k)) ‖x_i − m_k‖², the loss that a map's training lowers.

    Parameters
    ----------
    temperature : float or sequence of float
        T > 0, in units of map distance (0 is allowed for "window").
    kernel : {"gaussian", "gaussian_half", "window", "triangular", "mexican_hat"}
        h(δ) = exp(−δ²/T²), the survey's; exp(−δ²/2T²), as in the SOM Toolbox and
        MiniSom; 1[δ ≤ T]; max(0, 1 − δ/T); or (1 − δ²/T²) exp(−δ²/2T²).

    Notes
    -----
    For the samples of unit u, Σ‖x − m_k‖² = E_u + 2 (m_u − m_k)·R_u + n_u ‖m_u − m_k‖²,
    so every temperature comes from the same read of the samples.  The weights of
    "mexican_hat" are negative from δ = T on, and so may the distortion be.  With
    ``missing="partial"`` distances to all units are partial ones, see :func:`distance`.
    """
    return np.asarray(_unit_sums(units, grid, temperature, kernel).sum(axis=0) / units.total)


@map_index(
    needs=("units", "grid"),
    with_gaps=True,
    long_name="distortion of each unit",
    definition="mean over a unit's samples of sum_k h(delta(b1, k)) |x - m_k|^2",
    direction="lower",
    units="data^2",
    dims=("unit", "temperature"),
    source=_HESKES,
    check=_check,
    undefined="units without samples",
    variants=_SIGNED,
)
def unit_distortion(
    units: UnitStats, grid: Grid, *, temperature: Any = 1.0, kernel: str = "gaussian"
) -> Value:
    """Mean over each unit's samples of the neighbourhood-weighted squared distances.

    Parameters
    ----------
    temperature : float or sequence of float
        T > 0, as in :func:`distortion`, which is the hit-weighted mean of this.
    kernel : {"gaussian", "gaussian_half", "window", "triangular", "mexican_hat"}
        As in :func:`distortion`.

    Notes
    -----
    nan for units without samples.
    """
    sums = _unit_sums(units, grid, temperature, kernel)
    return np.stack([per_hit(column, units) for column in sums.T], axis=1)


@map_index(
    needs=("units", "grid"),
    with_gaps=True,
    long_name="parts of the distortion",
    definition="within-unit scatter, bias of centroids, scatter of neighbouring codes; they add up",
    direction="lower",
    units="data^2",
    dims=("part", "temperature"),
    source=_VESANTO,
    check=_check,
    undefined="temperatures at which the weights around a unit with samples add up to zero",
    variants=_SIGNED,
)
def distortion_parts(
    units: UnitStats, grid: Grid, *, temperature: Any = 1.0, kernel: str = "gaussian"
) -> Value:
    """The distortion as a sum of three parts.

    "within": Σ_u H_u Σ_{x∈u} ‖x − c_u‖²; "bias": Σ_u n_u H_u ‖c_u − m̄_u‖²;
    "neighborhood": Σ_u n_u Σ_k h_uk ‖m_k − m̄_u‖²; each over N, where c_u is the mean
    of the unit's samples, H_u = Σ_k h_uk and m̄_u = Σ_k h_uk m_k / H_u.

    Parameters
    ----------
    temperature : float or sequence of float
        T > 0, as in :func:`distortion`.
    kernel : {"gaussian", "gaussian_half", "window", "triangular", "mexican_hat"}
        As in :func:`distortion`.

    Notes
    -----
    The parts add up to the distortion.  With "mexican_hat" H_u can vanish; the
    parts are nan there.  With ``missing="partial"`` all squares are scaled as partial distances
    are, feature by feature, and c_u is the mean with these factors as weights.
    """
    parts = np.zeros((3, len(temperature)))
    for block, weights, moves in _unit_blocks(units, grid, temperature, kernel):
        parts += _parts_of_block(units, block, weights, moves)
    return parts / units.total


def _parts_of_block(units: UnitStats, block: Int, weights: Float, moves: Float) -> Float:
    """The three parts summed over some units, (3, temperatures), about each one's code."""
    mass, residuals = units.distance_mass[block], units.distance_residuals[block]
    means = np.divide(residuals, mass, out=np.zeros_like(residuals), where=mass > 0)
    total = weights.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        centres = np.matmul(weights.transpose(0, 2, 1), moves) / total[..., None]
    scatter = units.squares[block] - np.einsum("bd,bd->b", residuals, means)
    bias = _squares(means[:, None, :] - centres, mass)
    around = np.einsum("bk,bkt->bt", _squares(moves, mass), weights)
    around -= total * _squares(centres, mass)
    within = total * np.maximum(scatter, 0)[:, None]
    return np.asarray(np.stack([within, total * bias, around]).sum(axis=1))


def _squares(vectors: Float, mass: Int | Float) -> Float:
    """Squares of each unit's vectors (b, n, D), times its mass (b, 1), or by features (b, D)."""
    if mass.shape[1] == 1:
        return np.asarray(np.einsum("bkd,bkd->bk", vectors, vectors) * mass)
    return np.asarray(np.matmul(vectors * vectors, mass[..., None])[..., 0])


def _unit_sums(units: UnitStats, grid: Grid, temperature: Float, kernel: str) -> Float:
    """Σ over each unit's samples of Σ_k h ‖x − m_k‖², (K, temperatures)."""
    key = ("distortion", grid, temperature.tobytes(), kernel)
    if key not in units.derived:
        units.derived[key] = _sum_units(units, grid, temperature, kernel)
    return units.derived[key]


def _sum_units(units: UnitStats, grid: Grid, temperature: Float, kernel: str) -> Float:
    sums = np.zeros((units.n_units, len(temperature)))
    mass, residuals = units.distance_mass, units.distance_residuals
    for block, weights, moves in _unit_blocks(units, grid, temperature, kernel):
        # moves are m_k − m_u: direct differences, so nothing cancels where codes are close
        squares = _squares(moves, mass[block])
        squares -= 2 * np.matmul(moves, residuals[block][..., None])[..., 0]
        squares += units.squares[block, None]
        sums[block] = np.matmul(squares[:, None, :], weights)[:, 0]
    return sums


def _unit_blocks(
    units: UnitStats, grid: Grid, temperature: Float, kernel: str
) -> Iterator[tuple[Int, Float, Float]]:
    """Some units with samples, h (b, K, temperatures) around each and m_k − m_u (b, K, D)."""
    weigh = neighborhood_kernel(kernel)
    every = np.arange(units.n_units)
    alive = np.flatnonzero(units.mass)
    step = max(1, _BLOCK_VALUES // (units.n_units * max(len(temperature), units.n_features)))
    for start in range(0, len(alive), step):
        block = alive[start : start + step]
        weights = weigh(grid.distance(block[:, None], every)[..., None], temperature)
        yield block, weights, units.codes - units.codes[block, None, :]
