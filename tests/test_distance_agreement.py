"""Indices that compare distances of samples with a projection's: definitions, golden, laws."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import reference_pairs as plain
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from passes import cut_by_hand
from scipy.stats import ortho_group
from sklearn.datasets import load_digits
from unit_passes import pass_of

from somscale.engine.linear.job import Cut, LinearJob
from somscale.engine.readers.sources import ArraySource
from somscale.errors import InputError
from somscale.metrics.asking.conventions import convention_parameters
from somscale.metrics.passes import map_pair_totals as closed
from somscale.metrics.passes.map_pair_totals import map_pair_totals
from somscale.metrics.projections.distance_agreement import (
    c_measure,
    kruskal_shepard_error,
    shepard_correlation,
)
from somscale.metrics.projections.stress import metric_stress, sammon_stress
from somscale.metrics.public import IndexFunction
from somscale.metrics.values import note_of, number_of
from somscale.reductions.fourth_moments import FourthMomentsReduction, mean_of_units
from somscale.reductions.pair_stats import PairTotals
from somscale.topology import Grid

Floats = NDArray[np.float64]
Definition = Callable[[Floats, Floats], float]

FORMS: list[tuple[IndexFunction, dict[str, Any], Definition]] = [
    (c_measure, {}, plain.c_measure),
    (c_measure, {"normalize": True}, lambda d, e: plain.c_measure(d, e, normalize=True)),
    (c_measure, {"power": 2}, lambda d, e: plain.c_measure(d, e, power=2)),
    (kruskal_shepard_error, {}, plain.kruskal_shepard_error),
    (kruskal_shepard_error, {"form": "somperf"}, plain.somperf_kruskal_shepard_error),
    (shepard_correlation, {}, plain.shepard_correlation),
    (sammon_stress, {}, plain.sammon_stress),
    (metric_stress, {"form": "raw"}, plain.raw_stress),
    (metric_stress, {}, plain.normalized_stress),
    (metric_stress, {"form": "scale_normalized"}, plain.scale_normalized_stress),
]
NAMES = [f"{i.__name__}-{'-'.join(map(str, given.values()))}" for i, given, _ in FORMS]
each_form = pytest.mark.parametrize(("index", "given_", "definition"), FORMS, ids=NAMES)
INDICES = [c_measure, kruskal_shepard_error, shepard_correlation, sammon_stress, metric_stress]


def value(index: IndexFunction, totals: PairTotals, **given_: Any) -> Any:
    """What the formula makes of those totals alone that it says it reads."""
    parameters = index.spec.parameters(given_)
    if index.spec.check is not None:
        index.spec.check(parameters)
    spec = index.spec.with_parameters(parameters)
    kept = {name: totals[name] for name in spec.totals}
    found = spec.formula(PairTotals(totals.n_samples, kept), **parameters)
    assert np.isnan(number_of(found)) or spec.lower <= number_of(found) <= spec.upper
    return found


def number(index: IndexFunction, d: Floats, e: Floats, **given_: Any) -> float:
    found = value(index, plain.totals_of(d, e), **given_)
    assert not note_of(found)
    return float(number_of(found))


def random_pair(seed: int = 0, n: int = 25) -> tuple[Floats, Floats]:
    """Samples and an embedding."""
    rng = np.random.default_rng(seed)
    samples = rng.standard_normal((n, 5)) * [3, 2, 1, 0.5, 0.1]
    return samples, samples[:, :2] + 0.3 * rng.standard_normal((n, 2))


# --- the definitions


@each_form
@pytest.mark.parametrize("name", ["euclidean", "cityblock", "chebyshev", "cosine", "minkowski"])
def test_formulas_on_totals_are_the_definitions(
    index: IndexFunction, given_: dict[str, Any], definition: Definition, name: str
) -> None:
    samples, embedding = random_pair()
    d, e = plain.distances(samples, name, 3), plain.distances(embedding)
    found = number(index, d, e, distance=name, p=3, **given_)
    np.testing.assert_allclose(found, definition(d, e), rtol=1e-12)


def test_kruskal_shepard_of_a_map_is_scaled_by_the_whole_map() -> None:
    d = plain.distances([[0.0], [1.0], [3.0]])
    e = plain.map_distances([0, 1, 1], np.abs(np.subtract.outer(range(5), range(5))))
    totals = plain.totals_of(d, e, 4.0)
    pairs = [1 / 9 - 1 / 4, 1 - 1 / 4, 4 / 9]
    expected = sum(p**2 for p in pairs) / 3
    assert number_of(value(kruskal_shepard_error, totals)) == pytest.approx(expected, rel=1e-14)
    assert plain.kruskal_shepard_error(d, e, 4) == pytest.approx(expected, rel=1e-14)
    expected = ((1 / 3 - 1) ** 2 + 0 + (2 / 3) ** 2) / 3
    found = value(kruskal_shepard_error, totals, form="somperf")
    assert number_of(found) == pytest.approx(expected, rel=1e-14)


# --- golden values


@pytest.fixture(scope="module")
def digits() -> tuple[Floats, Floats, Grid]:
    """Samples, codes and grid of the golden values."""
    samples = load_digits().data / 16
    codes = samples[np.random.default_rng(0).permutation(1797)][:64]
    return samples, codes, Grid(8, 8)


@pytest.fixture(scope="module")
def digit_totals(digits: tuple[Floats, Floats, Grid]) -> PairTotals:
    samples, codes, grid = digits
    bmu = plain.best_units(samples, codes)
    e = plain.map_distances(bmu, grid.distances())
    return plain.totals_of(plain.distances(samples), e, grid.max_distance)


GOLDEN = [
    (c_measure, {}, 24731383.11903191),
    (c_measure, {"power": 2}, 77333109.86328125),
    (kruskal_shepard_error, {}, 0.04752027955835522),
    (kruskal_shepard_error, {"form": "somperf"}, 0.11316030995446379),
]


@pytest.mark.parametrize(("index", "given_", "expected"), GOLDEN)
def test_golden_values(
    digit_totals: PairTotals, index: IndexFunction, given_: dict[str, Any], expected: float
) -> None:
    assert number_of(value(index, digit_totals, **given_)) == pytest.approx(expected, rel=1e-13)


def test_golden_values_from_closed_forms(
    digits: tuple[Floats, Floats, Grid], digit_totals: PairTotals
) -> None:
    samples, codes, grid = digits
    units = pass_of(samples, codes, tile_rows=2048)
    moments = fourth_moments(samples, mean_of_units(units))
    found = map_pair_totals(units, grid)
    for name, total in found.values.items():
        assert total == pytest.approx(digit_totals[name], rel=1e-13), name
    assert (found["e"], found["e2"]) == (digit_totals["e"], digit_totals["e2"])
    assert moments.sum_of_squares() == pytest.approx(digit_totals["d2"], rel=1e-13)
    linear = {
        **found.values,
        "d4": moments.sum_of_fourth_powers(),
        "d_max": digit_totals["d_max"],
    }
    survey = value(kruskal_shepard_error, PairTotals(1797, linear))
    assert number_of(survey) == pytest.approx(0.04752027955835522, rel=1e-12)
    squared = value(c_measure, found, power=2)
    assert number_of(squared) == pytest.approx(77333109.86328125, rel=1e-13)


def fourth_moments(samples: Floats, center: Any) -> Any:
    n, d = samples.shape
    job = LinearJob([FourthMomentsReduction(center)], n, d, source=ArraySource(samples))
    return cut_by_hand(job, Cut("rows", 1, 16, 2048))[0]


def test_convention_is_the_form_of_somperf() -> None:
    preset = convention_parameters("somperf")
    assert preset["kruskal_shepard_error"] == {"form": "somperf"}
    assert preset["c_measure"] == {"normalize": False, "power": 1}
    for index in (kruskal_shepard_error, c_measure):
        assert set(preset[index.__name__]) <= set(index.spec.defaults)


def test_c_measure_grows_with_the_pairs() -> None:
    # a pitfall: the sum over twice the samples is four times as large
    chain = np.abs(np.subtract.outer(range(3), range(3)))
    for copies, expected in ((1, 6.0), (2, 24.0)):
        x = np.repeat([[0.0], [1.0], [2.0]], copies, axis=0)
        e = plain.map_distances(np.repeat(range(3), copies), chain)
        assert number(c_measure, plain.distances(x), e) == expected


# --- closed forms of a map

GRIDS = [
    Grid(3, 4),
    Grid(4, 3, topology="hexagonal", periodic=True),
    Grid(3, 4, delta="euclidean"),
    Grid.chain(12),
    Grid.from_edges(12, [(0, k) for k in range(1, 12)]),
    Grid.from_distances(np.abs(np.subtract.outer(np.arange(12.0) ** 2, np.arange(12.0) ** 2)) / 7),
]


@settings(max_examples=40, deadline=None)
@given(grid=st.sampled_from(GRIDS), seed=st.integers(0, 999), n=st.integers(1, 40))
def test_totals_of_a_map_are_those_of_brute_force(grid: Grid, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    samples, codes = rng.standard_normal((n, 3)), rng.standard_normal((12, 3))
    assert_map_totals(samples, codes, grid)


def assert_map_totals(
    samples: Floats, codes: Floats, grid: Grid, rtol: float = 1e-12, **options: Any
) -> None:
    units = pass_of(samples, codes, **options)
    weights = options.get("feature_weights", np.ones(samples.shape[1]))
    d = plain.distances(samples * np.sqrt(weights))
    delta = grid.distance(np.arange(grid.size)[:, None], np.arange(grid.size))
    expected = plain.totals_of(d, plain.map_distances(units.bmu, delta), grid.max_distance)
    found = map_pair_totals(units, grid)
    assert found.n_samples == len(samples)
    for name, total in found.values.items():
        assert total == pytest.approx(expected[name], rel=rtol, abs=1e-12), name
    if (delta == delta.round()).all():
        assert [found[n] for n in ("e", "e2")] == [expected[n] for n in ("e", "e2")]


@pytest.mark.parametrize("block", [1, 5, 17, 1 << 20])
def test_totals_of_a_map_by_rows_of_units(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closed, "_BLOCK_VALUES", block)
    rng = np.random.default_rng(1)
    assert_map_totals(rng.standard_normal((60, 4)), rng.standard_normal((12, 4)), GRIDS[1])


def test_totals_of_a_map_far_from_zero_and_with_feature_weights() -> None:
    rng = np.random.default_rng(2)
    samples, codes = rng.standard_normal((50, 4)), rng.standard_normal((12, 4))
    assert_map_totals(samples + 1e8, codes + 1e8, GRIDS[0])
    assert_map_totals(samples, codes, GRIDS[0], feature_weights=np.array([0.0, 2.0, 0.5, 1.0]))


def test_totals_of_a_map_that_fits_closely() -> None:
    # residuals far smaller than the distances between units, which raw sums cannot tell
    rng = np.random.default_rng(3)
    codes = 100 * rng.standard_normal((12, 3))
    samples = codes[rng.integers(0, 12, 40)] + 1e-6 * rng.standard_normal((40, 3))
    assert_map_totals(samples, codes, GRIDS[0])


def test_totals_of_samples_of_one_unit() -> None:
    samples = np.random.default_rng(4).standard_normal((10, 2))
    found = map_pair_totals(pass_of(samples, [[0.0, 0.0], [99.0, 99.0]]), Grid.chain(2))
    assert (found["e"], found["e2"], found["e_max"]) == (0, 0, 0)
    assert (found["d2e"], found["e_max_possible"]) == (0, 1)
    d = plain.distances(samples)
    assert found["d2"] == pytest.approx(plain.totals_of(d, d)["d2"], rel=1e-13)


def test_sums_of_steps_beyond_the_integers_of_float64() -> None:
    stats = pass_of([[0.0], [1.0]], [[0.0], [1.0]])
    hits = np.array([3_000_000_001, 3_000_000_007])
    many = replace(stats, hits=hits, n_samples=int(hits.sum()))
    found = map_pair_totals(many, Grid.from_distances([[0, 3], [3, 0]]))
    assert found["e"] == float(3 * 3_000_000_001 * 3_000_000_007)
    assert found["e2"] == float(9 * 3_000_000_001 * 3_000_000_007)


# --- laws

seeds = st.integers(0, 999)


@each_form
@settings(max_examples=15, deadline=None)
@given(seed=seeds)
def test_moving_turning_and_reordering_change_nothing(
    index: IndexFunction, given_: dict[str, Any], definition: Definition, seed: int
) -> None:
    samples, embedding = random_pair(seed)
    base = number(index, plain.distances(samples), plain.distances(embedding), **given_)
    turn = ortho_group.rvs(5, random_state=seed)
    moved = samples @ turn + 7.0
    order = np.random.default_rng(seed).permutation(len(samples))
    for x, y in [
        (moved, embedding),
        (samples, embedding[:, ::-1] - 3.0),
        (samples[order], embedding[order]),
    ]:
        found = number(index, plain.distances(x), plain.distances(y), **given_)
        assert found == pytest.approx(base, rel=1e-10)


# powers of the samples' scale, and of the projection's, that each value goes with
SCALES = [(1, 1), (1, 1), (2, 1), (0, 0), (0, 0), (0, 0), None, None, None, (0, 0)]
BOTH = [2, 2, 3, 0, 0, 0, 0, 2, 0, 0]


@pytest.mark.parametrize(
    ("form", "scales", "both"), list(zip(FORMS, SCALES, BOTH, strict=True)), ids=NAMES
)
def test_scales(form: Any, scales: tuple[int, int] | None, both: int) -> None:
    index, given_, _ = form
    samples, embedding = random_pair(11)
    d, e = plain.distances(samples), plain.distances(embedding)
    base, c = number(index, d, e, **given_), 37.0
    assert number(index, c * d, c * e, **given_) == pytest.approx(c**both * base, rel=1e-11)
    if scales is not None:
        own, other = scales
        assert number(index, c * d, e, **given_) == pytest.approx(c**own * base, rel=1e-9)
        assert number(index, d, c * e, **given_) == pytest.approx(c**other * base, rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_an_embedding_that_keeps_all_distances(seed: int) -> None:
    d = plain.distances(random_pair(seed)[0])
    assert number(kruskal_shepard_error, d, d, form="somperf") == pytest.approx(0, abs=1e-15)
    assert number(kruskal_shepard_error, d, d**2) == pytest.approx(0, abs=1e-15)
    assert number(shepard_correlation, d, d) == pytest.approx(1, abs=1e-14)
    assert number(shepard_correlation, d, d.max() - d + np.eye(len(d))) < -0.99
    assert number(sammon_stress, d, d) == 0
    assert number(metric_stress, d, d, form="raw") == 0
    assert number(metric_stress, d, d) == 0
    assert number(metric_stress, d, d, form="scale_normalized") < 1e-15
    # on another scale the difference from 1 cancels
    assert number(metric_stress, d, 3 * d, form="scale_normalized") < 1e-7


@pytest.mark.parametrize("noise", [1e-3, 1e-6, 1e-9])
def test_small_stress_keeps_its_digits(noise: float) -> None:
    d = plain.distances(random_pair(5, 40)[0])
    change = plain.distances(np.random.default_rng(6).random((40, 1)))
    e = d * (1 + noise * change)
    for form, definition in (
        ("normalized", plain.normalized_stress),
        ("scale_normalized", plain.scale_normalized_stress),
    ):
        # what float64 keeps of d − e
        expected = definition(d, e)
        assert number(metric_stress, d, e, form=form) == pytest.approx(expected, rel=1e-15 / noise)


@settings(max_examples=20, deadline=None)
@given(seed=seeds, factor=st.floats(1e-3, 1e3))
def test_scale_normalized_stress_is_the_least(seed: int, factor: float) -> None:
    samples, embedding = random_pair(seed)
    d, e = plain.distances(samples), factor * plain.distances(embedding)
    least = number(metric_stress, d, e, form="scale_normalized")
    assert least <= number(metric_stress, d, e) * (1 + 1e-12)
    best = plain.totals_of(d, e)["de"] / plain.totals_of(d, e)["e2"]
    assert least == pytest.approx(number(metric_stress, d, best * e), rel=1e-9)


# --- undefined


def undefined(index: IndexFunction, d: Any, e: Any, match: str, **given_: Any) -> None:
    tables = np.asarray(d, float), np.asarray(e, float)
    found = value(index, plain.totals_of(*tables), **given_)
    assert math.isnan(number_of(found))
    assert match in note_of(found)


MEANS = [
    (c_measure, {"normalize": True}),
    (kruskal_shepard_error, {}),
    (kruskal_shepard_error, {"form": "somperf"}),
    (shepard_correlation, {}),
    (sammon_stress, {}),
    (metric_stress, {}),
    (metric_stress, {"form": "scale_normalized"}),
]


@pytest.mark.parametrize(("index", "given_"), MEANS)
def test_one_sample(index: IndexFunction, given_: dict[str, Any]) -> None:
    undefined(index, [[0]], [[0]], "one sample has no pairs", **given_)


def test_sums_over_no_pairs_are_zero() -> None:
    nothing = np.zeros((1, 1))
    assert number(c_measure, nothing, nothing) == 0
    assert number(metric_stress, nothing, nothing, form="raw") == 0


@pytest.mark.parametrize(("index", "given_"), MEANS[1:])
def test_samples_that_all_coincide(index: IndexFunction, given_: dict[str, Any]) -> None:
    words = "all equal" if index is shepard_correlation else "all samples coincide"
    undefined(index, np.zeros((4, 4)), np.zeros((4, 4)), words, **given_)


def test_projections_to_one_place() -> None:
    d, e = plain.distances(random_pair()[0]), np.zeros((25, 25))
    undefined(kruskal_shepard_error, d, e, "one place in the projection")
    undefined(kruskal_shepard_error, d, e, "one place in the projection", form="somperf")
    undefined(shepard_correlation, d, e, "distances of the projections are all equal")
    assert number(metric_stress, d, e) == 1
    assert number(metric_stress, d, e, form="scale_normalized") == 1
    assert number(sammon_stress, d, e) == pytest.approx(1, rel=1e-15)
    # on a map the grid's largest distance is there all the same
    survey = value(kruskal_shepard_error, plain.totals_of(d, e, 3.0))
    assert number_of(survey) == pytest.approx(plain.kruskal_shepard_error(d, e, 3), rel=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1 / 3])
def test_distances_that_are_equal_but_for_rounding(scale: float) -> None:
    simplex = plain.distances(np.eye(12) * scale)
    spread = plain.distances(random_pair(3, 12)[0])
    undefined(shepard_correlation, simplex, spread, "distances of the samples are all equal")
    undefined(shepard_correlation, spread, simplex, "distances of the projections are all equal")


def test_two_samples_have_no_correlation() -> None:
    d = plain.distances([[0.0], [1.0]])
    undefined(shepard_correlation, d, d, "two samples")
    assert number(kruskal_shepard_error, d, d) == 0


def test_samples_that_coincide_but_not_in_the_projection() -> None:
    d = plain.distances([[0.0], [0.0], [1.0], [1.0]])
    e = plain.distances([[0.0], [0.5], [1.0], [1.0]])
    undefined(sammon_stress, d, e, "1 pair of samples coincides")
    undefined(sammon_stress, d, plain.distances([[0], [1], [2], [3]]), "2 pairs coincide")
    assert number(sammon_stress, d, d) == 0


# --- declared as they are


def test_totals_not_declared_are_not_read() -> None:
    with pytest.raises(ValueError, match="kept no total 'de'"):
        c_measure.spec.formula(PairTotals(3, {"d2e": 1.0}))


def test_facts_of_the_forms() -> None:
    def facts(index: IndexFunction, **given_: Any) -> tuple[Any, ...]:
        spec = index.spec.with_parameters(index.spec.parameters(given_))
        return spec.totals, spec.units_of("K")

    assert facts(c_measure) == (("de",), "K")
    assert facts(c_measure, power=2) == (("d2e",), "K^2")
    assert facts(c_measure, power=2, distance="sqeuclidean") == (("d2e",), "K^4")
    assert facts(c_measure, distance="cosine") == (("de",), "1")
    assert facts(metric_stress, form="raw") == (("stress",), "K^2")
    assert facts(metric_stress, form="raw", distance="sqeuclidean")[1] == "K^4"
    assert facts(metric_stress) == (("stress", "d2"), "1")
    assert facts(metric_stress, form="scale_normalized")[0] == ("stress", "d2", "de", "e2")
    for index in INDICES:
        assert (index.spec.subject, index.spec.needs) == ("projection", ("totals",))
        assert index.spec.cost == "pairs"


@pytest.mark.parametrize("index", INDICES)
def test_documents_say_what_the_parameters_are(index: IndexFunction) -> None:
    text = index.__doc__ or ""
    names = list(inspect.signature(index).parameters)
    assert names[:2] == ["samples", "projection"]
    for name in [*names[:2], *index.spec.defaults]:
        assert text.count(f"\n{name} : ") == 1, name


@pytest.mark.parametrize(
    ("index", "given_", "match"),
    [
        (c_measure, {"power": 3}, "power is 1 or 2, not 3"),
        (c_measure, {"power": True}, "power is 1 or 2, not True"),
        (c_measure, {"normalize": 1}, "normalize is True or False"),
        (kruskal_shepard_error, {"form": "plain"}, "form is one of"),
        (metric_stress, {"form": "sqrt"}, "form is one of"),
    ],
)
def test_bad_parameters(index: IndexFunction, given_: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        value(index, plain.totals_of(np.zeros((2, 2)), np.zeros((2, 2))), **given_)
