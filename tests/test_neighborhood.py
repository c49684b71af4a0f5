"""Neighbourhood kernels: values known in closed form, extremes, refusals."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from somscale.errors import InputError
from somscale.topology import KERNELS, Grid, neighborhood_kernel


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gaussian", [1, math.exp(-1 / 4), math.exp(-1), math.exp(-9 / 4)]),
        ("gaussian_half", [1, math.exp(-1 / 8), math.exp(-1 / 2), math.exp(-9 / 8)]),
        ("window", [1, 1, 1, 0]),
        ("triangular", [1, 0.5, 0, 0]),
        ("mexican_hat", [1, 0.75 * math.exp(-1 / 8), 0, -1.25 * math.exp(-9 / 8)]),
    ],
)
def test_kernels_have_their_values(name: str, expected: list[float]) -> None:
    kernel = pickle.loads(pickle.dumps(neighborhood_kernel(name)))
    np.testing.assert_allclose(kernel([0, 1, 2, 3], 2), expected, rtol=1e-14)
    both = kernel(np.arange(4)[:, None], np.array([2, 1e-200, 1e-320]))
    assert both.dtype == np.float64
    np.testing.assert_allclose(both[:, 0], expected, rtol=1e-14)
    np.testing.assert_array_equal(both[:, 1:], [[1, 1], [0, 0], [0, 0], [0, 0]])
    for wrong in (-1, np.nan, np.inf, [1, -2]):
        with pytest.raises(InputError, match="temperature must be finite and"):
            kernel(1, wrong)


def test_only_a_window_may_have_temperature_zero() -> None:
    assert neighborhood_kernel("window")([0, 1], 0).tolist() == [1, 0]
    for name in set(KERNELS) - {"window"}:
        with pytest.raises(InputError, match=r"finite and greater than 0, not 0\.0"):
            neighborhood_kernel(name)(1, 0)


def test_distortion_of_a_chain_of_three() -> None:
    delta = Grid.chain(3).distance(0, [0, 1, 2])
    squares = np.array([0, 1, 4])
    assert neighborhood_kernel()(delta, 1) @ squares == pytest.approx(0.441142, abs=1e-6)
    assert neighborhood_kernel("gaussian_half")(delta, 1) @ squares == pytest.approx(
        1.147872, abs=1e-6
    )


def test_a_window_of_one_is_the_neighbourhood_on_a_euclidean_hexagonal_grid() -> None:
    grid = Grid(5, 5, topology="hexagonal", delta="euclidean")
    units = np.arange(25)
    inside = neighborhood_kernel("window")(grid.distances(), 1)
    np.testing.assert_array_equal(inside - np.eye(25), grid.adjacent(units[:, None], units))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gausian", "did you mean 'gaussian' or 'gaussian_half'"),
        ("box", f"called 'box'. Kernels are {', '.join(KERNELS)}"),
        (None, "called None"),
    ],
)
def test_unknown_kernels_are_refused(name: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        neighborhood_kernel(name)
