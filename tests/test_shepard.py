"""The Shepard diagram and the rank correlation of distances: counts, ranks, laws, bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import reference_pairs as plain
from distributed import Client, LocalCluster
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from shepard_walks import BINNED, SPACES, some, table_of, walk_of, walked, within

from somscale.engine.pairs.job import PairJob
from somscale.engine.pairs.run import plan_pair_job, run_pairs
from somscale.engine.readers.columns import Column
from somscale.errors import InputError
from somscale.kernels import shepard_loops as loops
from somscale.metrics.asking.diagram_bins import diagram_ends
from somscale.metrics.projections.shepard import (
    MOST_BINS,
    shepard_diagram,
    shepard_rank_correlation,
)
from somscale.metrics.values import note_of, number_of
from somscale.options import set_options
from somscale.reductions.distance_ranks import (
    EXACT_ROWS,
    BinnedPairs,
    PairTable,
    rank_accumulator,
)
from somscale.reductions.pair_rows import RowChoice
from somscale.reductions.rank_correlation import RankedPairs, exact_correlation
from somscale.reductions.shepard import ShepardCounts

# --- the diagram


@pytest.mark.parametrize("tile_rows", [7, 64, 2048])
@pytest.mark.parametrize("bins", [1, 13, 50])
def test_the_diagram_is_a_histogram(tile_rows: int, bins: int) -> None:
    samples, projection = some(150)
    d, e = table_of(samples, projection)
    largest = float(d.max() * 1.2), float(e.max() * 1.01)
    counts = ShepardCounts("s", SPACES, largest=largest, bins=bins)
    found = walked(samples, projection, counts, tile_rows=tile_rows)
    np.testing.assert_array_equal(
        found.counts, plain.shepard_diagram(d, e, found.input_edges, found.output_edges)
    )
    assert found.counts.sum() == 150 * 149 // 2
    assert found.input_edges[0] == found.output_edges[0] == 0
    assert (found.input_edges[-1], found.output_edges[-1]) == largest


@given(st.integers(1, 60), st.integers(1, 999), st.floats(1e-3, 1e6), st.integers(0, 99))
def test_bins_of_the_diagram_hold_their_lower_ends(
    n: int, bins: int, largest: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    edges = np.linspace(0, largest, bins + 1)
    near = edges[rng.integers(0, bins + 1, (2, n))]
    nudged = np.nextafter(near, rng.choice([-1, 1], (2, n)) * np.inf)
    d, e = np.clip(np.where(rng.random((2, n)) < 0.5, near, nudged), 0, largest)
    counts = np.zeros((bins, bins), np.int64)
    scale = bins / largest
    scratch = np.empty((2, n), np.int32)
    loops.count_diagram(d[None], e[None], -2, edges, edges, scale, scale, scratch, counts)
    np.testing.assert_array_equal(counts, np.histogram2d(d, e, bins=[edges, edges])[0])


def test_the_last_bin_takes_what_rounding_put_beyond() -> None:
    samples = np.array([[0.0], [1.0], [2.0]])
    counts = ShepardCounts("s", SPACES, largest=(np.nextafter(2, 0), 1.9), bins=2)
    np.testing.assert_array_equal(walked(samples, samples, counts).counts, [[0, 0], [0, 3]])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_diagram_of_samples_that_coincide(n: int) -> None:
    counts = ShepardCounts("s", SPACES, largest=(0.0, 0.0), bins=4)
    found = walked(np.ones((n, 3)), np.ones((n, 2)), counts)
    assert found.counts[0, 0] == found.counts.sum() == n * (n - 1) // 2


def test_the_diagram_has_coordinates() -> None:
    samples, projection = some(20)
    counts = ShepardCounts("s", SPACES, largest=(20.0, 10.0), bins=5)
    diagram = walked(samples, projection, counts)
    assert shepard_diagram.spec.formula(diagram, bins=5) is diagram.counts
    found = diagram_ends(diagram)
    assert {dim for dim, _ in found.values()} == set(shepard_diagram.spec.dims)
    np.testing.assert_allclose(found["input_distance_low"][1], [0, 4, 8, 12, 16])
    np.testing.assert_allclose(found["input_distance_high"][1], [4, 8, 12, 16, 20])
    np.testing.assert_allclose(found["output_distance_low"][1], [0, 2, 4, 6, 8])
    np.testing.assert_allclose(found["output_distance_high"][1], [2, 4, 6, 8, 10])


@pytest.mark.parametrize("bins", [0, MOST_BINS + 1, 2.5, True, "many", None])
def test_bins_that_are_none_are_refused(bins: Any) -> None:
    check = shepard_diagram.spec.check
    assert check is not None
    check({"bins": 50})
    with pytest.raises(InputError, match="bins is a whole number"):
        check({"bins": bins})


# --- exact ranks


@pytest.mark.parametrize("tile_rows", [7, 64, 2048])
@pytest.mark.parametrize("sort_by", [None, "order"])
def test_exact_ranks_are_those_of_scipy(tile_rows: int, sort_by: str | None) -> None:
    samples, projection = some(150)
    order = Column(np.random.default_rng(1).integers(0, 4, 150), 0, range(4))
    excluded = Column((np.arange(150) % 11 == 3).astype(np.int64), 0, range(2))
    found = walked(
        samples,
        projection,
        PairTable("r", SPACES, 150),
        tile_rows=tile_rows,
        choice=RowChoice(excluded="excluded", sort_by=sort_by),
        columns={"order": order, "excluded": excluded},
    )
    kept = np.arange(150) % 11 != 3
    d, e = table_of(samples[kept], projection[kept])
    assert found.correlation == pytest.approx(plain.shepard_rank_correlation(d, e), abs=1e-13)
    assert found.n_pairs == kept.sum() * (kept.sum() - 1) // 2
    assert found.error == 0


@pytest.mark.parametrize("features", [3, 12])
def test_ties_are_ties_whatever_the_rounding(features: int) -> None:
    rng = np.random.default_rng(3)
    steps = rng.integers(0, 3, (120, features)).astype(np.float64)
    projection = steps[:, :2] * 4
    samples = steps * 0.1 + 1 / 3  # no distance is what it is on paper
    gaps = steps[:, None] - steps[None]
    d, e = np.sqrt((gaps**2).sum(axis=2)), plain.distances(projection)
    expected = plain.shepard_rank_correlation(d, e)
    for tile_rows in (16, 2048):
        found = walked(samples, projection, PairTable("r", SPACES, 120), tile_rows=tile_rows)
        assert found.correlation == pytest.approx(expected, abs=1e-13)
        binned = walked(samples, projection, BinnedPairs("r", SPACES), tile_rows=tile_rows)
        assert within(binned, expected)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=40))
def test_any_exact_ranks(points: list[tuple[int, int]]) -> None:
    d, e = np.array(points, np.float64).T
    found = exact_correlation(d, e)
    if found.constant:
        assert len(set({"samples": d, "projection": e}[found.constant])) == 1
        assert np.isnan(found.correlation)
    else:
        expected = spearmanr(d, e).statistic
        assert found.correlation == pytest.approx(expected, abs=1e-13)


def test_the_number_of_samples_alone_decides_what_is_exact() -> None:
    assert isinstance(rank_accumulator("r", SPACES, EXACT_ROWS), PairTable)
    assert isinstance(rank_accumulator("r", SPACES, EXACT_ROWS + 1), BinnedPairs)
    n = EXACT_ROWS * (EXACT_ROWS - 1) // 2
    ranks = np.arange(n, dtype=np.float64)  # sums of the most ranks are integers of 64 bits
    assert exact_correlation(ranks, -ranks).correlation == -1
    assert exact_correlation(ranks, ranks).correlation == 1


# --- laws


@pytest.mark.parametrize("make", [lambda n: PairTable("r", SPACES, n), lambda n: BINNED])
def test_the_rank_correlation_does_not_heed_scales(make: Any) -> None:
    samples, projection = some(80)
    accumulator = make(80)
    one = walked(samples, projection, accumulator)
    other = walked(samples * 4, projection * 0.125, accumulator)
    assert one.correlation == pytest.approx(other.correlation, abs=1e-6)
    same = walked(samples, samples, accumulator)
    assert within(same, 1.0)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("binned", [False, True])
def test_too_few_samples(n: int, binned: bool) -> None:
    samples, projection = some(4)
    accumulator = BINNED if binned else PairTable("r", SPACES, n)
    found = walked(samples[:n], projection[:n], accumulator)
    assert found.n_pairs == n - 1
    value = shepard_rank_correlation.spec.formula(found)
    assert np.isnan(number_of(value))
    assert ("no pairs" if n == 1 else "one pair") in note_of(value)


@pytest.mark.parametrize("binned", [False, True])
@pytest.mark.parametrize("whose", ["samples", "projections"])
def test_distances_that_do_not_vary(whose: str, binned: bool) -> None:
    samples, projection = some(10)
    corners = np.eye(10)
    accumulator = BINNED if binned else PairTable("r", SPACES, 10)
    if whose == "samples":
        samples = corners
    else:
        projection = corners
    value = shepard_rank_correlation.spec.formula(walked(samples, projection, accumulator))
    assert np.isnan(number_of(value))
    assert whose in note_of(value)


def test_a_binned_value_says_how_far_off_it_may_be() -> None:
    value = shepard_rank_correlation.spec.formula(RankedPairs(10, 0.5, 2.41e-4))
    assert number_of(value) == 0.5
    assert "within 2.5e-04 of the exact value" in note_of(value)
    assert note_of(shepard_rank_correlation.spec.formula(RankedPairs(10, 0.5))) == ""


# --- the same bits, however it is computed


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster, set_as_default=False) as found,
        found.as_current(),
    ):
        yield found


@pytest.mark.parametrize("scheduler", ["serial", "threads", "distributed"])
def test_same_bits_for_all_tasks(scheduler: str, client: Client) -> None:
    samples, projection = some(200)
    projection[:30] *= 1e-9

    def job(operations: float | None) -> PairJob:
        accumulators = [
            PairTable("exact", SPACES, 200),
            BinnedPairs("binned", SPACES),
            ShepardCounts("counts", SPACES, largest=(30.0, 10.0), bins=20),
        ]
        how: dict[str, Any] = {"tile_rows": 16, "operations": operations}
        return walk_of(samples, projection, *accumulators, **how)

    with set_options(scheduler="serial", workers=1):
        expected = run_pairs(job(1.0))[0]
    with set_options(scheduler=scheduler, workers=2):
        assert plan_pair_job(job(1e9)).tasks > 1
        found = run_pairs(job(1e9))[0]
    assert found["exact"] == expected["exact"]
    assert found["binned"] == expected["binned"]
    np.testing.assert_array_equal(found["counts"].counts, expected["counts"].counts)
