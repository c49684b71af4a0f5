"""Fourth moments: sums over all pairs against brute force, in any cut, with gaps and weights."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import reference_pairs as plain
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from passes import cut_by_hand
from unit_passes import TILE, Values, any_cut, pass_of

from somscale.engine.linear.job import Cut, LinearJob
from somscale.engine.linear.walk import walk_window
from somscale.engine.readers.sources import ArraySource
from somscale.errors import InputError, SampleValueError
from somscale.reductions.fourth_moments import (
    FourthMoments,
    FourthMomentsReduction,
    fourth_moments_pay,
    mean_of_units,
)

FIELDS = ("sums", "squares", "fourths", "skew", "products", "largest_radius", "radius")


def moments(
    samples: ArrayLike,
    center: ArrayLike | None = None,
    cut: Cut | None = None,
    excluded: ArrayLike | None = None,
    tile_rows: int = TILE,
    **options: Any,
) -> FourthMoments:
    values = np.asarray(samples)
    n, d = values.shape
    middle = values.mean(axis=0) if center is None else center
    columns: Any = {}
    if excluded is not None:
        columns, options["excluded"] = {"out": Values(np.asarray(excluded))}, "out"
    reduction = FourthMomentsReduction(middle, samplewise=True, **options)
    reduction.tile_rows = tile_rows
    job = LinearJob([reduction], n, d, source=ArraySource(values), columns=columns)
    stats: FourthMoments = cut_by_hand(job, cut or Cut("rows", 1 << 20, d, tile_rows))[0]
    return stats


def assert_same_bits(found: FourthMoments, expected: FourthMoments) -> None:
    assert found.n_samples == expected.n_samples
    for name in FIELDS:
        left, right = np.asarray(getattr(found, name)), np.asarray(getattr(expected, name))
        assert left.tobytes() == right.tobytes(), name


def assert_sums(stats: FourthMoments, d: NDArray[np.float64], rtol: float = 1e-12) -> None:
    totals = plain.totals_of(d, d)
    np.testing.assert_allclose(stats.sum_of_squares(), totals["d2"], rtol=rtol, atol=1e-300)
    np.testing.assert_allclose(stats.sum_of_fourth_powers(), totals["d4"], rtol=rtol, atol=1e-300)


# --- sums over pairs


@pytest.mark.parametrize(("n", "d"), [(2, 1), (2, 7), (3, 1), (41, 1), (60, 5), (30, 40), (7, 3)])
def test_sums_over_pairs_are_those_of_brute_force(n: int, d: int) -> None:
    samples = np.random.default_rng(n * d).standard_normal((n, d)) * np.arange(1, d + 1)
    assert_sums(moments(samples), plain.distances(samples))


def test_samples_far_from_zero_lose_no_digits() -> None:
    samples = np.random.default_rng(0).standard_normal((50, 4)) + 1e8
    assert_sums(moments(samples), plain.distances(samples))
    # what the pass makes of the samples moved to their own mean, which is exact here
    moved = samples - 1e8
    assert_sums(moments(samples, np.full(4, 1e8)), plain.distances(moved))


def test_any_centre_near_the_mean_gives_the_same_sums() -> None:
    samples = np.random.default_rng(1).standard_normal((40, 3))
    stats = moments(samples, samples.mean(axis=0) + 0.5)
    assert_sums(stats, plain.distances(samples))
    again = FourthMomentsReduction(np.zeros(3)).about(samples.mean(axis=0))
    assert again.center.tolist() == samples.mean(axis=0).tolist()


def test_feature_weights_multiply_squared_differences() -> None:
    rng = np.random.default_rng(2)
    samples, weights = rng.standard_normal((30, 4)), np.array([0.0, 0.5, 1.0, 3.0])
    stats = moments(samples, feature_weights=weights)
    assert_sums(stats, plain.distances(samples * np.sqrt(weights)))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32"])
def test_samples_of_other_types(dtype: str) -> None:
    samples = np.random.default_rng(3).integers(0, 200, (25, 6)).astype(dtype)
    stats = moments(samples, np.full(6, 100.0))
    # sums of integers are exact
    d = plain.distances(samples)
    assert stats.sum_of_squares() == round(plain.pairs(d**2).sum())
    assert stats.sum_of_fourth_powers() == round((plain.pairs(d**2).round() ** 2).sum())


def test_equal_samples_have_no_distances() -> None:
    stats = moments(np.full((20, 3), 0.1))
    assert stats.sum_of_squares() == pytest.approx(0, abs=1e-30)
    assert stats.sum_of_fourth_powers() == pytest.approx(0, abs=1e-60)


def test_fields_are_what_they_are_defined_to_be() -> None:
    samples = np.random.default_rng(4).standard_normal((33, 5))
    center = samples.mean(axis=0) + 0.25
    z = samples - center
    q = (z**2).sum(axis=1)
    stats = moments(samples, center)
    expected = {
        "sums": z.sum(axis=0),
        "squares": q.sum(),
        "fourths": (q**2).sum(),
        "skew": q @ z,
        "products": (z.T @ z)[np.triu_indices(5)],
        "radius": np.sqrt(q),
    }
    for name, value in expected.items():
        np.testing.assert_allclose(getattr(stats, name), value, rtol=1e-12, err_msg=name)
    assert stats.radius is not None
    assert stats.largest_radius == stats.radius.max()


def test_sums_that_overflow_are_no_numbers() -> None:
    stats = moments(np.array([[1e100, 0], [-1e100, 0], [0, 1e100]]))
    assert not np.isfinite(stats.sum_of_fourth_powers())
    assert np.isfinite(stats.sum_of_squares())


# --- the same bits in any cut


@settings(max_examples=60, deadline=None)
@given(data=st.data(), n=st.integers(2, 40), d=st.integers(1, 9))
def test_same_bits_in_any_cut(data: st.DataObject, n: int, d: int) -> None:
    samples = np.random.default_rng(n + 100 * d).standard_normal((n, d))
    excluded = np.random.default_rng(n).random(n) < 0.2
    excluded[0] = False
    center = samples.mean(axis=0)
    cut = data.draw(any_cut(d))
    found = moments(samples, center, cut, excluded)
    assert_same_bits(found, moments(samples, center, excluded=excluded))


def test_same_bits_of_any_part_of_a_long_tile() -> None:
    samples = np.random.default_rng(5).standard_normal((700, 6))
    whole = moments(samples, tile_rows=1024)
    for piece in (1, 63, 64, 65, 130):
        cut = Cut("rows", 1, 4, piece, read_rows=257)
        assert_same_bits(moments(samples, cut=cut, tile_rows=1024), whole)
    assert_same_bits(moments(samples, cut=Cut("features", 1, 1, 1), tile_rows=1024), whole)


def test_a_tile_may_go_on_in_another_task() -> None:
    samples = np.random.default_rng(6).standard_normal((8, 3))
    reduction = FourthMomentsReduction(samples.mean(axis=0), samplewise=True)
    reduction.tile_rows = TILE
    job = LinearJob([reduction], 8, 3, source=ArraySource(samples))
    cut = Cut("rows", 1, 3, TILE)
    first = walk_window(job, cut, (0, 5), None)
    last = walk_window(job, cut, (5, 8), pickle.loads(pickle.dumps(first)))
    assert_same_bits(reduction.finalize(last[0]), moments(samples))


# --- samples that take no part, and faults


@settings(max_examples=30, deadline=None)
@given(n=st.integers(4, 40), seed=st.integers(0, 99), cut=any_cut(3))
def test_samples_left_out_change_nothing(n: int, seed: int, cut: Cut) -> None:
    rng = np.random.default_rng(seed)
    samples = rng.standard_normal((n, 3))
    excluded = rng.random(n) < 0.4
    excluded[:2] = False
    kept, center = samples[~excluded], samples.mean(axis=0)
    samples[excluded] = [np.nan, np.inf, 1e300]
    stats = moments(samples, center, cut, excluded)
    assert (stats.n_samples, stats.dropped_samples) == (len(kept), n - len(kept))
    assert stats.radius is not None
    assert np.isnan(stats.radius).tolist() == excluded.tolist()
    assert_sums(stats, plain.distances(kept))


def test_samples_and_features_with_gaps() -> None:
    samples = np.random.default_rng(7).standard_normal((20, 4))
    center = samples.mean(axis=0)
    gapped = samples.copy()
    gapped[3, 1] = gapped[11, 0] = np.nan
    stats = moments(gapped, center, missing="drop_any_sample")
    assert_sums(stats, plain.distances(np.delete(samples, [3, 11], axis=0)))
    assert stats.dropped_samples == 2
    whole = samples.copy()
    whole[:, 2], whole[5] = np.nan, np.nan
    stats = moments(whole, np.where([0, 0, 1, 0], 0, center), missing="drop")
    assert_sums(stats, plain.distances(np.delete(np.delete(samples, 5, 0), 2, 1)))
    assert stats.dropped_samples == 1
    with pytest.raises(SampleValueError, match="isolated"):
        moments(gapped, center, missing="drop")


@pytest.mark.parametrize(
    ("value", "words"),
    [(np.nan, "nan"), (np.inf, "infinity"), (1e200, "too large to square")],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_faulty_entries_are_named(value: float, words: str, weighted: bool) -> None:
    samples = np.zeros((20, 4))
    samples[13, 2] = value
    options: dict[str, Any] = {"feature_weights": [1.0, 1.0, 0.0, 1.0]} if weighted else {}
    with pytest.raises(SampleValueError, match=rf"{words} at .*13.*2"):
        moments(samples, np.zeros(4), Cut("rows", 1, 3, 5), **options)


def test_samples_that_are_far_apart_are_refused() -> None:
    with pytest.raises(SampleValueError, match="1 of the samples are so far"):
        moments(np.array([[0.0, 0], [2e153, 0]]), [-1.2e154, 0])


def test_nothing_left_is_refused() -> None:
    with pytest.raises(SampleValueError, match="no sample is left"):
        moments(np.zeros((5, 2)), excluded=np.ones(5, bool))


@pytest.mark.parametrize("center", [[[0.0]], [], [np.nan, 0.0]])
def test_centres_that_are_none(center: ArrayLike) -> None:
    with pytest.raises(InputError, match="one finite vector"):
        FourthMomentsReduction(center)


def test_centre_of_other_samples() -> None:
    with pytest.raises(InputError, match="centre of 2 features does not fit samples of 3"):
        FourthMomentsReduction(np.zeros(3)).about(np.zeros(2))


# --- where it pays, and about which centre


def test_where_the_read_pays() -> None:
    assert fourth_moments_pay(100, 50)
    assert not fourth_moments_pay(100, 51)


def test_mean_from_a_pass_over_a_map() -> None:
    rng = np.random.default_rng(8)
    samples = rng.standard_normal((30, 4)) + 1e8
    codes = samples[:6].copy()
    np.testing.assert_allclose(
        mean_of_units(pass_of(samples, codes)), samples.mean(axis=0), rtol=1e-15
    )
    samples[:, 2] = codes[:, 2] = np.nan
    mean = mean_of_units(pass_of(samples, codes, missing="drop"))
    np.testing.assert_allclose(mean[[0, 1, 3]], samples.mean(axis=0)[[0, 1, 3]], rtol=1e-15)
    assert mean[2] == 0
