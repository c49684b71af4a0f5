"""Maps trained with MiniSom: the same codes, the same neighbours, and its own numbers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from minisom import MiniSom
from numpy.typing import NDArray

import somscale as ss
from somscale.codebook import as_map
from somscale.errors import InputError

SHAPES = [(4, 6), (5, 6), (6, 5), (5, 5), (1, 5), (5, 1), (2, 2), (1, 1)]
each_shape = pytest.mark.parametrize("shape", SHAPES)
each_topology = pytest.mark.parametrize("topology", ["rectangular", "hexagonal"])


@pytest.fixture(scope="module")
def samples() -> NDArray[np.float64]:
    return np.random.default_rng(0).random((400, 3))


def trained(samples: NDArray[np.float64], shape: tuple[int, int], topology: str) -> MiniSom:
    som = MiniSom(*shape, samples.shape[1], topology=topology, sigma=1.0, random_seed=1)
    som.random_weights_init(samples)
    som.train_random(samples, 400)
    return som


@each_topology
@each_shape
def test_units_lie_where_minisom_puts_them(
    samples: NDArray[np.float64], shape: tuple[int, int], topology: str
) -> None:
    theirs = trained(samples, shape, topology)
    som = ss.from_minisom(theirs)
    grid = as_map(som).grid
    units = [(x, y) for x in range(shape[0]) for y in range(shape[1])]
    place = np.array([theirs.convert_map_to_euclidean(unit) for unit in units])
    ours = [y * shape[0] + x if topology == "hexagonal" else x * shape[1] + y for x, y in units]
    for unit, (x, y) in zip(ours, units, strict=True):
        np.testing.assert_array_equal(som["codes"][unit], theirs.get_weights()[x, y])
    apart = np.linalg.norm(place[:, None] - place, axis=2)
    adjoin = grid.adjacent(np.array(ours)[:, None], ours)
    np.testing.assert_array_equal(adjoin, np.isclose(apart, 1))
    flipped = grid.positions[ours] if topology == "hexagonal" else grid.positions[ours][:, ::-1]
    np.testing.assert_allclose(flipped - flipped[0], place - place[0], atol=1e-12)


@each_topology
@each_shape
def test_minisoms_own_errors_come_back(
    samples: NDArray[np.float64], shape: tuple[int, int], topology: str
) -> None:
    theirs = trained(samples, shape, topology)
    som = ss.from_minisom(theirs)
    found = ss.metrics.quantization_error(samples, som).item()
    assert found == pytest.approx(theirs.quantization_error(samples), rel=1e-12)
    if shape == (1, 1):
        return
    # "vertex" is the 8 of a rectangle, as MiniSom counts, and the same 6 of a hexagonal map
    error = ss.metrics.topographic_error(samples, som, neighborhood="vertex").item()
    assert error == pytest.approx(theirs.topographic_error(samples), abs=1e-15)


def test_best_units_are_minisoms(samples: NDArray[np.float64]) -> None:
    theirs = trained(samples, (4, 6), "rectangular")
    winners = [theirs.winner(x) for x in samples]
    found = ss.project(samples, theirs)["bmu"].values
    assert found.tolist() == [int(x * 6 + y) for x, y in winners]


@each_topology
def test_a_minisom_needs_no_conversion(samples: NDArray[np.float64], topology: str) -> None:
    theirs = trained(samples, (4, 6), topology)
    direct = ss.evaluate(samples, theirs)
    assert direct.identical(ss.evaluate(samples, ss.from_minisom(theirs)))
    assert ss.metrics.hits(samples, theirs).identical(direct["hits"])
    both = ss.evaluate(samples, {"a": theirs, "b": ss.from_minisom(theirs)})
    np.testing.assert_array_equal(both["value"].sel(candidate="a"), direct["value"])


@pytest.mark.parametrize(
    ("trained", "complaint"),
    [
        (object(), "this object is no MiniSom: .*get_weights"),
        (
            SimpleNamespace(
                get_weights=lambda: np.zeros((2, 2, 1)),
                get_euclidean_coordinates=lambda: (np.zeros((2, 2)),) * 2,
                topology="toroidal",
            ),
            "'toroidal' is neither rectangular nor hexagonal",
        ),
    ],
)
def test_what_is_no_minisom_is_refused(trained: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        ss.from_minisom(trained)
