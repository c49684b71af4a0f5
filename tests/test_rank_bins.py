"""Ranks of distances from bins: what is counted, and how far off the correlation may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference_pairs as plain
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from shepard_walks import SPACES, Floats, some, table_of, walk_of, walked, within
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from somscale.engine.pairs.run import run_pairs
from somscale.kernels import shepard_loops as loops
from somscale.reductions.distance_ranks import BinnedPairs, PairTable, fine_keys
from somscale.topology import Grid


@pytest.mark.parametrize("tile_rows", [7, 64, 2048])
def test_binned_counts_are_those_of_all_pairs(tile_rows: int) -> None:
    samples, projection = some(150)
    projection[:40] *= 1e-9  # far outside the window of all others
    job = walk_of(samples, projection, Raw("r", SPACES), tile_rows=tile_rows)
    fine_d, fine_e, cells = run_pairs(job)[0]["r"]
    d, e = (plain.pairs(table) for table in table_of(samples, projection))
    width = loops.COARSE_BITS + loops.FINE_BITS
    for distances, (keys, counts) in ((d, fine_d), (e, fine_e)):
        own = np.where(distances > 0, _exponents(distances), 0)
        assert counts.sum() == len(d)
        np.testing.assert_array_equal(
            np.bincount(keys >> width, counts), np.bincount(own).astype(float)
        )
    what = cells[0] & 3
    assert cells[1][what == 0].sum() == len(d)
    for number, (keys, counts) in ((1, fine_d), (2, fine_e)):
        places = (keys & ((1 << loops.FINE_BITS) - 1)) * counts
        assert cells[1][what == number].sum() == places.sum()


class Raw(BinnedPairs):
    """The counts themselves."""

    def finalize(self, total: Any) -> Any:
        from somscale.kernels.counts import sort_keyed

        return [sort_keyed(total[name]) for name in self.fields]


def _exponents(distances: Floats) -> NDArray[np.int64]:
    return (distances.view(np.int64) + loops.SHIFT) >> 52


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(3, 40),
    seed=st.integers(0, 999),
    kind=st.sampled_from(["normal", "ties", "duplicates", "scales", "flat", "falling"]),
    tile_rows=st.sampled_from([5, 16, 2048]),
)
def test_the_exact_value_is_within_the_bound(n: int, seed: int, kind: str, tile_rows: int) -> None:
    rng = np.random.default_rng(seed)
    samples = rng.standard_normal((n, 9))
    projection = rng.standard_normal((n, 2))
    if kind == "ties":
        samples, projection = np.rint(samples), np.rint(projection)
    elif kind == "duplicates":
        samples[n // 2 :] = samples[: n - n // 2]
    elif kind == "scales":
        samples *= 10.0 ** rng.integers(-5, 5, (n, 1))
        projection = samples[:, :2] ** 3
    elif kind == "flat":
        samples = 1 + samples * 1e-7
        projection = 100 + projection * 1e-5
        projection[0] = -1e4  # all others are in a few bins
    elif kind == "falling":
        projection = 1 / (1 + samples**2)
    found = walked(samples, projection, BinnedPairs("r", SPACES), tile_rows=tile_rows)
    exact = walked(samples, projection, PairTable("r", SPACES, n), tile_rows=tile_rows)
    if exact.constant or found.constant:
        return
    assert within(found, exact.correlation)
    assert -1 <= found.correlation <= 1


def test_the_bound_is_wide_where_all_distances_are_in_a_few_bins() -> None:
    rng = np.random.default_rng(0)
    samples = np.eye(60) * 10 + rng.random((60, 60)) * 1e-3
    projection = rng.standard_normal((60, 2))
    found = walked(samples, projection, BinnedPairs("r", SPACES))
    assert found.error > 0.01
    assert within(found, plain.shepard_rank_correlation(*table_of(samples, projection)))


MAPS = {
    "steps": Grid(6, 5, topology="hexagonal"),
    "plane": Grid(9, 7, topology="hexagonal", delta="euclidean"),
}


@pytest.mark.parametrize("grid", MAPS.values(), ids=MAPS)
def test_ties_on_a_map_are_known(grid: Grid) -> None:
    samples, _ = some(400, features=9)
    units = np.random.default_rng(0).integers(0, grid.size, 400)
    units[:200] = np.argsort(np.argsort(samples[:200, 0])) * grid.size // 200
    everything = np.arange(grid.size)
    levels = np.unique(grid.distance(everything[:, None], everything[None, :]))
    exact = plain.shepard_rank_correlation(*table_of(samples, units, grid))
    told = walked(samples, units, BinnedPairs("r", SPACES, levels=levels), grid=grid)
    untold = walked(samples, units, BinnedPairs("r", SPACES), grid=grid)
    assert within(told, exact)
    assert within(untold, exact)
    assert told.error < 2e-3 < untold.error


def test_ties_of_a_map_are_not_taken_from_levels_of_one_bin() -> None:
    nearly = 1 + 1e-6
    delta = np.array([[0, nearly, 1], [nearly, 0, 1], [1, 1, 0]])
    corners = np.array([[0.0, 0], [10, 0], [5, 3]])
    units = np.arange(60) % 3
    samples = corners[units] + np.random.default_rng(0).random((60, 2))
    grid = Grid.from_distances(delta, edges=())
    exact = plain.shepard_rank_correlation(*table_of(samples, units, grid))
    levels = np.array([0, 1, nearly])
    found = walked(samples, units, BinnedPairs("r", SPACES, levels=levels), grid=grid)
    assert abs(found.correlation - exact) > 0.05
    assert within(found, exact)


def test_rounding_does_not_part_equal_distances() -> None:
    whole = np.arange(1.0, 4000)
    for values in (whole, np.sqrt(whole), whole / 8, whole * 0.1):
        keys = fine_keys(values.view(np.int64))
        for factor in (1 - 1e-12, 1 + 1e-12):
            np.testing.assert_array_equal(fine_keys((values * factor).view(np.int64)), keys)


def test_digits_are_within_a_thousandth() -> None:
    samples = load_digits().data
    projection = PCA(2, random_state=0).fit_transform(samples)
    binned = walked(samples, projection, BinnedPairs("r", SPACES))
    exact = walked(samples, projection, PairTable("r", SPACES, len(samples)))
    assert within(binned, exact.correlation)
    assert 0 < binned.error < 1e-3
    assert abs(binned.correlation - exact.correlation) < 2e-6
