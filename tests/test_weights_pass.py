"""Weights in the units pass: distances, sums and pairs against their definitions."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passes import assert_same_bits
from strategies import KINDS, Case, cases
from unit_passes import (
    any_cut,
    assert_equal_statistics,
    assert_sums,
    expected_sums,
    pass_of,
    squares_by_weight,
)

from somscale.errors import InputError, SampleValueError
from somscale.kernels import code_filter
from somscale.kernels.best_two import BestTwo
from somscale.kernels.code_filter import CodeFilter
from somscale.reductions.units import UnitsReduction

each_kind = pytest.mark.parametrize("kind", KINDS)

FEATURE_WEIGHTS: dict[str, Callable[[Any, int], Any]] = {
    "ordinary": lambda rng, d: rng.random(d),
    "ones": lambda rng, d: np.ones(d),
    "some zero": lambda rng, d: np.where(rng.random(d) < 0.5, 0.0, rng.random(d)),
    "of any size": lambda rng, d: 10.0 ** rng.uniform(-12, 12, d),
    "tiny": lambda rng, d: 1e-300 * rng.random(d),
    "denormal": lambda rng, d: np.full(d, 5e-324),
    "large": lambda rng, d: 1e30 * rng.random(d),
}


def draw_weights(data: st.DataObject, n_features: int) -> Any:
    make = FEATURE_WEIGHTS[data.draw(st.sampled_from(sorted(FEATURE_WEIGHTS)))]
    weights = make(np.random.default_rng(data.draw(st.integers(0, 99))), n_features)
    weights[0] = weights[0] or 0.5  # at least one counts
    return weights


def overflows(case: Case, weights: Any) -> bool:
    with np.errstate(over="ignore"):
        return bool((squares_by_weight(case.samples, case.codes, weights) > 1e300).any())


# --- feature weights


@each_kind
@settings(max_examples=25)
@given(data=st.data())
def test_the_two_nearest_are_exact_by_any_weights(kind: str, data: st.DataObject) -> None:
    case = data.draw(cases([kind], features=(1, 9)))
    n, d = case.samples.shape
    weights = draw_weights(data, d)
    if overflows(case, weights):
        return
    order = np.argsort(squares_by_weight(case.samples, case.codes, weights), 1, kind="stable")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code_filter, "FILTER_WIDTH", data.draw(st.sampled_from([4, 1024])))
        for precision in (np.float32, np.float64):
            search = BestTwo(CodeFilter(case.codes, weights), n, precision)
            search.add(case.samples, slice(0, d))
            undecided = search.decide()
            undecided.add(case.samples, case.codes, weights=weights)
            search.settle(undecided)
            sure = ~search.doubtful()
            np.testing.assert_array_equal(search.best[sure], order[sure, 0])
            if len(case.codes) > 1:
                np.testing.assert_array_equal(search.second[sure], order[sure, 1])


@each_kind
@settings(max_examples=12)
@given(data=st.data())
def test_weighted_sums_are_what_they_are_defined_to_be(kind: str, data: st.DataObject) -> None:
    case = data.draw(cases([kind]))
    n, d = case.samples.shape
    v = draw_weights(data, d)
    if overflows(case, v):
        return
    stats = pass_of(case.samples, case.codes, feature_weights=v)
    expected = expected_sums(case.samples, case.codes, v, np.ones(n), np.ones(n, bool))
    assert_sums(stats, expected, 1e-13)
    assert stats.weights is stats.pair_weights is None
    np.testing.assert_array_equal(stats.raw_codes, case.codes)
    np.testing.assert_array_equal(stats.codes, case.codes * np.sqrt(v))
    np.testing.assert_array_equal(stats.residuals, stats.raw_residuals * np.sqrt(v))
    assert stats.weight_sum == v.sum()
    # residuals have no weights of features, not even where these are 0
    plain = np.zeros(case.codes.shape)
    sizes = np.zeros(case.codes.shape)
    assert stats.bmu is not None
    difference = case.samples - case.codes[stats.bmu]
    np.add.at(plain, stats.bmu, difference)
    np.add.at(sizes, stats.bmu, np.abs(difference))
    assert (np.abs(stats.raw_residuals - plain) <= 200 * 2.0**-53 * sizes + 1e-320).all()


@each_kind
@settings(max_examples=10)
@given(data=st.data())
def test_any_cut_gives_the_same_weighted_bits(kind: str, data: st.DataObject) -> None:
    case = data.draw(cases([kind]))
    n, d = case.samples.shape
    v = draw_weights(data, d)
    if overflows(case, v):
        return
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    columns: dict[str, Any] = {"w": sample_weights(rng, n), "out": rng.random(n) < 0.2}
    columns["out"][0] = False
    options: dict[str, Any] = {"feature_weights": v, "sample_weights": "w", "excluded": "out"}
    whole = pass_of(case.samples, case.codes, columns, **options)
    cut = data.draw(any_cut(d))
    assert_same_bits(pass_of(case.samples, case.codes, columns, cut, **options), whole)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_equal_data_times_their_root(dtype: Any) -> None:
    """Weights by the cosine of latitude are those of the usual scaled data."""
    rng = np.random.default_rng(1)
    weights = np.cos(np.deg2rad(np.linspace(-89, 89, 40)))
    samples = rng.standard_normal((300, 40)).astype(dtype)
    codes = rng.standard_normal((12, 40))
    found = pass_of(samples, codes, feature_weights=weights)
    scaled = pass_of(samples * np.sqrt(weights), codes * np.sqrt(weights))
    assert_equal_statistics(found, scaled, rtol=1e-12)
    np.testing.assert_allclose(found.codes, scaled.codes, rtol=1e-12)
    np.testing.assert_allclose(found.residuals, scaled.residuals, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found.bmu, scaled.bmu)


@given(case=cases(), seed=st.integers(0, 99))
def test_weights_of_one_change_no_bit(case: Case, seed: int) -> None:
    n, d = case.samples.shape
    plain = pass_of(case.samples, case.codes)
    columns = {"w": np.ones(n)}
    found = pass_of(
        case.samples, case.codes, columns, feature_weights=np.ones(d), sample_weights="w"
    )
    assert_equal_statistics(found, plain)
    np.testing.assert_array_equal(found.raw_residuals, plain.residuals)
    assert found.total == plain.total == n
    assert plain.raw_codes is plain.codes
    assert plain.raw_residuals is plain.residuals


def test_ties_by_weight_go_to_the_lowest_unit() -> None:
    codes = np.array([[1.0, 5.0], [-1.0, 7.0], [0.5, 3.0], [0.5, -3.0]])
    stats = pass_of(np.zeros((3, 2)), codes, feature_weights=[1.0, 0.0])
    assert stats.bmu is not None
    assert stats.second_bmu is not None
    assert stats.bmu.tolist() == [2, 2, 2]
    assert stats.second_bmu.tolist() == [3, 3, 3]
    assert stats.raw_residuals[2].tolist() == [-1.5, -9]
    assert stats.residuals[2].tolist() == [-1.5, 0]


@pytest.mark.parametrize("value", [1e300, -1e200, np.inf, np.nan])
@pytest.mark.parametrize("weight", [0.0, 1e-300])
def test_a_small_weight_hides_no_value_that_cannot_be_squared(value: float, weight: float) -> None:
    samples = np.random.default_rng(2).standard_normal((20, 3))
    samples[13, 1] = value
    with pytest.raises(SampleValueError, match="at sample 13, feature 1"):
        pass_of(samples, np.eye(3), feature_weights=[1.0, weight, 1.0])


@pytest.mark.parametrize(
    ("weights", "complaint"),
    [
        ([1.0, 2.0], r"shape \(2,\); give one weight for each of 3 features"),
        ([1.0, -2.0, 1.0], r"holds -2.0 at feature 1"),
        ([1.0, 1.0, np.nan], r"holds nan at feature 2"),
    ],
)
def test_weights_that_are_none_are_refused(weights: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        UnitsReduction(np.eye(3), feature_weights=weights)


def test_features_of_no_weight_at_all_are_refused() -> None:
    with pytest.raises(SampleValueError, match="no feature with a weight above 0 is left"):
        pass_of(np.ones((3, 2)), np.eye(2), feature_weights=[0.0, 0.0])


# --- sample weights


def sample_weights(rng: np.random.Generator, n: int) -> Any:
    return np.where(rng.random(n) < 0.2, 0.0, 10.0 ** rng.uniform(-12, 12, n))


@each_kind
@settings(max_examples=15)
@given(data=st.data())
def test_every_sum_is_weighted_by_sample(kind: str, data: st.DataObject) -> None:
    case = data.draw(cases([kind]))
    n, d = case.samples.shape
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    w = sample_weights(rng, n)
    excluded: Any = rng.integers(0, 2, n)
    excluded[rng.integers(n)] = 0
    w[np.argmin(excluded)] = 1  # someone counts
    w[excluded == 1] = np.nan  # looked at by nobody
    with np.errstate(over="ignore", invalid="ignore"):
        if not (squares_by_weight(case.samples, case.codes, np.ones(d)) < 1e290).all():
            return
    stats = pass_of(
        case.samples, case.codes, {"w": w, "out": excluded}, sample_weights="w", excluded="out"
    )
    expected = expected_sums(case.samples, case.codes, np.ones(d), w, excluded == 0)
    assert_sums(stats, expected, 1e-13)
    assert stats.total == pytest.approx(expected["weights"].sum(), rel=1e-13)
    assert stats.n_samples == np.count_nonzero(excluded == 0) == stats.hits.sum()
    assert stats.dropped_samples == excluded.sum()
    assert stats.weights is stats.mass
    assert stats.pair_weights is stats.pair_mass


def test_a_sample_of_no_weight_has_a_unit_and_adds_nothing() -> None:
    stats = pass_of([[0.1], [0.9], [0.8]], [[0.0], [1.0]], {"w": [2, 0, 0]}, sample_weights="w")
    assert stats.bmu is not None
    assert stats.bmu.tolist() == [0, 1, 1]
    assert stats.hits.tolist() == [1, 2]
    assert stats.mass.tolist() == [2, 0]
    assert stats.counts.tolist() == [1, 2]
    assert stats.pair_mass.tolist() == [2, 0]
    assert stats.squares[1] == stats.residuals[1, 0] == stats.distances[1] == 0
    assert stats.total == 2


# --- excluded samples


@given(case=cases(), data=st.data())
def test_excluded_samples_are_as_if_they_were_not_there(case: Case, data: st.DataObject) -> None:
    n, d = case.samples.shape
    excluded = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    excluded[data.draw(st.integers(0, n - 1))] = False
    samples = case.samples.astype(np.float64)
    wild = np.random.default_rng(0).choice([np.nan, np.inf, -np.inf, 1e300, 0.0], samples.shape)
    samples[excluded] = wild[excluded]
    cut = data.draw(any_cut(d))
    columns = {"out": excluded.astype(data.draw(st.sampled_from([bool, np.int8, np.int64])))}
    # one tile, so that no boundary moves
    stats = pass_of(samples, case.codes, columns, tile_rows=1 << 12, excluded="out")
    alone = pass_of(samples[~excluded], case.codes, tile_rows=1 << 12)
    assert_equal_statistics(stats, alone)
    np.testing.assert_array_equal(stats.residuals, alone.residuals)
    assert (stats.n_samples, stats.dropped_samples) == (alone.n_samples, excluded.sum())
    assert stats.bmu is not None
    assert stats.distance is not None
    np.testing.assert_array_equal(stats.bmu[~excluded], alone.bmu)
    assert (stats.bmu[excluded] == -1).all()
    assert np.isnan(stats.distance[excluded]).all()
    tiled = pass_of(samples, case.codes, columns, excluded="out")
    assert_same_bits(pass_of(samples, case.codes, columns, cut, excluded="out"), tiled)


def test_faults_are_named_beside_excluded_samples() -> None:
    samples = np.ones((20, 2))
    samples[[3, 7], [1, 0]] = [np.inf, np.nan]
    excluded = np.arange(20) == 3
    with pytest.raises(SampleValueError, match=r"nan at sample 7, feature 0 \(1 sample is"):
        pass_of(samples, np.eye(2), {"out": excluded}, excluded="out")


def test_no_sample_left_is_refused() -> None:
    with pytest.raises(SampleValueError, match="no sample is left: all 3 are excluded"):
        pass_of(np.ones((3, 2)), np.eye(2), {"out": np.ones(3, bool)}, excluded="out")


# --- what is held and sent


def test_a_wide_map_is_not_held_twice() -> None:
    codes = np.zeros((25, 174_688))
    codes[:, ::3] = 1.0
    tracemalloc.start()
    UnitsReduction(codes, feature_weights=np.ones(codes.shape[1]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * codes.nbytes


def test_a_filter_that_was_used_is_not_sent() -> None:
    rng = np.random.default_rng(3)
    reduction = UnitsReduction(rng.standard_normal((30, 200)), feature_weights=rng.random(200))
    before = len(pickle.dumps(reduction))
    search = BestTwo(reduction._filter, 5)
    search.add(rng.standard_normal((5, 200)), slice(0, 200))
    assert len(pickle.dumps(reduction)) == before < 1.2 * reduction.codes.nbytes
