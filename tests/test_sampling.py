"""Sampled answers: their mean over all draws, how often the interval covers the exact value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import reference_pairs as plain
from numpy.typing import NDArray

from somscale._types import Float
from somscale.errors import InputError
from somscale.metrics.answering.sampled_clusters import (
    estimate_cluster_means,
    estimate_from_clusters,
)
from somscale.metrics.asking.sampling import (
    Estimate,
    draw_anchors,
    estimate_mean,
    estimate_totals,
    exact_totals,
    refuse_sampling,
)
from somscale.metrics.spec import find_spec
from somscale.metrics.values import Value
from somscale.reductions.anchored import AnchorTotals
from somscale.reductions.pair_stats import PairTotals
from somscale.reductions.sample_pairs import silhouettes_of

N, M, DRAWS = 1500, 60, 400
LARGEST = ("d_max", "e_max", "e_max_possible")


class Population:
    """Overlapping groups of samples, their embedding on two axes, and all distances."""

    def __init__(self, n: int = N, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        shares = [0.25, 0.2, 0.17, 0.14, 0.13, 0.11]
        n_groups = len(shares)
        self.codes = rng.choice(n_groups, n, p=shares)
        centres = 2.5 * rng.standard_normal((n_groups, 5))
        x = centres[self.codes] + rng.standard_normal((n, 5)) * [1.5, 1.2, 1.0, 0.8, 0.5]
        x -= x.mean(axis=0)
        self.samples = x
        embedded = x @ np.linalg.svd(x, full_matrices=False)[2][:2].T
        self.d, self.e = plain.distances(x), plain.distances(embedded)
        self.hits = np.bincount(self.codes, minlength=n_groups)
        self.totals = plain.totals_of(self.d, self.e)
        sums = np.array([self.d[self.codes == k].sum(axis=0) for k in range(n_groups)])
        self.silhouettes = silhouettes_of(sums, self.codes, self.hits)
        own = sums[self.codes, np.arange(n)]
        self.own_means = own / (self.hits[self.codes] - 1)
        self.rows = self._rows()

    def _rows(self) -> dict[str, Float]:
        """What each sample would gather as an anchor."""
        d, e = self.d, self.e
        apart = d > 0
        tables = {
            "d": d,
            "d2": d**2,
            "d4": d**4,
            "e": e,
            "e2": e**2,
            "de": d * e,
            "d2e": d**2 * e,
            "stress": (d - e) ** 2,
            "sammon": np.divide((d - e) ** 2, d, out=np.zeros(d.shape), where=apart),
            "collapsed": 1.0 * (~apart & (e > 0)),
        }
        return {name: table.sum(axis=1) for name, table in tables.items()}

    def gathered(self, anchors: NDArray[Any]) -> AnchorTotals:
        return AnchorTotals(anchors, {name: sums[anchors] for name, sums in self.rows.items()})

    @property
    def largest(self) -> dict[str, float]:
        return {name: self.totals[name] for name in LARGEST}


@cache
def population() -> Population:
    return Population()


@cache
def draws() -> list[NDArray[np.integer[Any]]]:
    return [draw_anchors(N, M, seed) for seed in range(DRAWS)]


def formula(index: str, **parameters: Any) -> Callable[[PairTotals], Value]:
    spec = find_spec(index)
    return lambda totals: spec.formula(totals, **parameters)


FORMULAS = {
    "c_measure": formula("c_measure"),
    "raw stress": formula("metric_stress", form="raw"),
    "normalized stress": formula("metric_stress"),
    "scale-normalized stress": formula("metric_stress", form="scale_normalized"),
    "sammon": formula("sammon_stress"),
    "shepard": formula("shepard_correlation"),
    "kruskal-shepard": formula("kruskal_shepard_error"),
    "somperf": formula("kruskal_shepard_error", form="somperf"),
}


@cache
def estimates_of(name: str) -> list[Estimate]:
    people = population()
    if name == "silhouette":
        return [estimate_mean(people.silhouettes[own], N) for own in draws()]
    if name in ("macro silhouette", "mean distances in clusters"):
        values = people.silhouettes if name == "macro silhouette" else people.own_means
        return [
            estimate_from_clusters(CLUSTERED[name], values[own], people.codes[own], people.hits)
            for own in draws()
        ]
    return [
        estimate_totals(FORMULAS[name], people.gathered(own), N, exact=people.largest)
        for own in draws()
    ]


def _mean(means: Float) -> float:
    return float(np.nanmean(means))


def _quadratic_mean(means: Float) -> float:
    return float(np.sqrt(np.nanmean(means**2)))


CLUSTERED: dict[str, Callable[[Float], Value]] = {
    "macro silhouette": _mean,
    "mean distances in clusters": _quadratic_mean,
}


def exact_of(name: str) -> float:
    people = population()
    if name == "silhouette":
        return float(people.silhouettes.mean())
    if name in CLUSTERED:
        values = people.silhouettes if name == "macro silhouette" else people.own_means
        groups = [values[people.codes == k].mean() for k in range(len(people.hits))]
        return float(np.asarray(CLUSTERED[name](np.array(groups))))
    return float(np.asarray(FORMULAS[name](people.totals)))


NAMES = ("silhouette", *CLUSTERED, *FORMULAS)


# --- over many draws


@pytest.mark.parametrize("name", NAMES)
def test_the_interval_covers_the_exact_value_as_often_as_it_says(name: str) -> None:
    exact, found = exact_of(name), estimates_of(name)
    covered = np.mean([one.low <= exact <= one.high for one in found])
    assert 0.91 <= covered <= 0.98


@pytest.mark.parametrize("name", NAMES)
def test_estimates_are_right_on_average(name: str) -> None:
    values = np.array([one.value for one in estimates_of(name)])
    values = values[~np.isnan(values)]
    error = values.std() / math.sqrt(len(values))
    assert abs(values.mean() - exact_of(name)) < 3.5 * error
    # the errors that are told are those that there are
    told = np.nanmean([float(one.standard_error) for one in estimates_of(name)])
    assert told == pytest.approx(values.std(), rel=0.12)


def test_samples_of_the_data_are_biased_where_anchors_are_not() -> None:
    people, found = population(), []
    for own in draws():
        codes, d = people.codes[own], people.d[np.ix_(own, own)]
        sums = np.array([d[codes == k].sum(axis=0) for k in range(len(people.hits))])
        hits = np.bincount(codes, minlength=len(people.hits))
        found.append(silhouettes_of(sums, codes, hits).mean())
    off = float(np.mean(found)) - exact_of("silhouette")
    assert abs(off) > 4 * np.std(found) / math.sqrt(DRAWS)
    # far more than anchors are off
    anchored = np.mean([float(one.value) for one in estimates_of("silhouette")])
    assert abs(off) > 5 * abs(anchored - exact_of("silhouette"))


def test_over_all_choices_value_and_variance_are_exact() -> None:
    people = Population(30)
    few = replace(people.gathered(np.arange(30)), sums={"de": people.rows["de"][:7]})
    choices = [np.array(own) for own in combinations(range(7), 3)]
    found = [
        estimate_totals(FORMULAS["c_measure"], AnchorTotals(own, {"de": few.sums["de"][own]}), 7)
        for own in choices
    ]
    values = np.array([one.value for one in found])
    assert values.mean() == pytest.approx(few.sums["de"].sum() / 2, rel=1e-12)
    squares = np.mean([one.standard_error**2 for one in found])
    assert squares == pytest.approx(values.var(), rel=1e-12)


# --- one draw


@pytest.mark.parametrize("name", FORMULAS)
def test_all_samples_as_anchors_give_the_exact_value(name: str) -> None:
    people = population()
    everyone = draw_anchors(N, N, 3)
    assert everyone.tolist() == list(range(N))
    found = estimate_totals(FORMULAS[name], people.gathered(everyone), N, exact=people.largest)
    assert found.value == pytest.approx(exact_of(name), rel=1e-9)
    assert (found.standard_error, found.low, found.high) == (0, found.value, found.value)


@pytest.mark.parametrize("name", ["silhouette", *CLUSTERED])
def test_all_samples_of_clusters_as_anchors(name: str) -> None:
    people = population()
    if name == "silhouette":
        found = estimate_mean(people.silhouettes, N)
    else:
        values = people.silhouettes if name == "macro silhouette" else people.own_means
        found = estimate_from_clusters(CLUSTERED[name], values, people.codes, people.hits)
    assert found.value == pytest.approx(exact_of(name), rel=1e-12)
    assert (found.standard_error, found.low, found.high) == (0, found.value, found.value)


def test_a_mean_by_hand() -> None:
    found = estimate_mean(np.array([1.0, 2.0, 6.0]), 12)
    error = math.sqrt(0.75 * 7 / 3)
    assert found.value == 3
    assert found.standard_error == pytest.approx(error)
    # Student's t of two degrees of freedom
    assert found.high == pytest.approx(3 + 4.302653 * error)
    narrow = estimate_mean(np.array([1.0, 2.0, 6.0]), 12, confidence=0.5)
    assert narrow.low == pytest.approx(3 - 0.816497 * error)
    assert (found.n_anchors, found.note) == (3, "")


def test_linear_totals_have_the_error_of_a_mean() -> None:
    people, own = population(), draws()[0]
    found = estimate_totals(FORMULAS["c_measure"], people.gathered(own), N)
    mean = estimate_mean(people.rows["de"][own] * N / 2, N)
    for name in ("value", "standard_error", "low", "high"):
        assert getattr(found, name) == pytest.approx(getattr(mean, name), rel=1e-9)


def test_largest_distances_are_given() -> None:
    people, own = population(), draws()[0]
    gathered = people.gathered(own)
    once = estimate_totals(FORMULAS["somperf"], gathered, N, exact=people.largest)
    twice = {**people.largest, "d_max": 2 * people.totals["d_max"]}
    assert estimate_totals(FORMULAS["somperf"], gathered, N, exact=twice).value != once.value
    with pytest.raises(ValueError, match="kept no total 'd_max'"):
        estimate_totals(FORMULAS["somperf"], gathered, N)
    spec = find_spec("kruskal_shepard_error")
    survey = spec.with_parameters(spec.parameters({}))
    assert exact_totals(survey) == {"d_max", "e_max_possible"}
    assert exact_totals(spec.with_parameters(spec.parameters({"form": "somperf"}))) == {
        "d_max",
        "e_max",
    }
    assert exact_totals(find_spec("sammon_stress")) == set()


def test_one_collapsed_pair_makes_sammon_stress_undefined() -> None:
    people, own = population(), draws()[0]
    gathered = people.gathered(own)
    gathered = replace(gathered, sums={**gathered.sums, "collapsed": 1.0 * (own == own[0])})
    # more anchors than half of the samples: one end of the pair counts for less than the pair
    found = estimate_totals(FORMULAS["sammon"], gathered, M + 10)
    assert math.isnan(float(found.value))
    assert "1 pair of samples coincides" in found.note


def test_undefined_values_and_single_anchors() -> None:
    assert "undefined" in estimate_mean(np.array([1.0, np.nan]), 10).note
    one = estimate_mean(np.array([2.0]), 10)
    assert one.value == 2
    assert math.isnan(float(one.standard_error))
    assert "draw more" in one.note
    assert estimate_mean(np.array([2.0]), 1).standard_error == 0
    alone = population().gathered(np.array([5]))
    assert math.isnan(float(estimate_totals(FORMULAS["c_measure"], alone, N).low))


# --- clusters


def test_means_of_clusters_by_hand() -> None:
    hits = np.array([4, 1, 2, 0, 10, 9, 1])
    values = np.array([1.0, 3.0, 0.0, 5.0, 7.0, 2.0])
    codes = np.array([0, 0, 1, 2, 2, 4])
    found = estimate_cluster_means(values, codes, hits)
    np.testing.assert_array_equal(found.value, [2, 0, 6, np.nan, 2, np.nan, 0])
    expected = [math.sqrt(0.5 * 2 / 2), 0, 0, np.nan, np.nan, np.nan, 0]
    np.testing.assert_allclose(found.standard_error, expected)
    assert "1 of the clusters have no anchor, the first of them number 5" in found.note
    assert math.isnan(float(estimate_from_clusters(_mean, values, codes, hits).value))


def test_a_cluster_with_one_anchor_tells_no_error() -> None:
    hits, codes = np.array([4, 5]), np.array([0, 0, 1])
    found = estimate_from_clusters(_mean, np.array([1.0, 2.0, 3.0]), codes, hits)
    assert found.value == 2.25
    assert math.isnan(float(found.standard_error))
    assert "1 of the clusters have one anchor, the first of them number 1" in found.note


def test_a_mean_of_cluster_means_has_the_error_of_independent_means() -> None:
    people, own = population(), draws()[1]
    parts = estimate_cluster_means(people.silhouettes[own], people.codes[own], people.hits)
    whole = estimate_from_clusters(_mean, people.silhouettes[own], people.codes[own], people.hits)
    errors = np.asarray(parts.standard_error)
    expected = math.sqrt((errors**2).sum()) / len(errors)
    assert whole.standard_error == pytest.approx(expected, rel=1e-9)
    low, high = np.asarray(parts.low), np.asarray(parts.high)
    np.testing.assert_allclose((low + high) / 2, parts.value)


def test_undefined_formulas_of_clusters() -> None:
    hits, codes = np.array([4, 5]), np.array([0, 0, 1])
    values = np.array([1.0, np.nan, 3.0])
    assert "undefined" in estimate_from_clusters(_mean, values, codes, hits).note


# --- anchors


def test_every_sample_is_as_likely_an_anchor() -> None:
    counts = np.bincount(np.concatenate(draws()), minlength=N)
    mean = DRAWS * M / N
    assert abs(counts - mean).max() < 5.5 * math.sqrt(mean)
    halves = counts[: N // 2].sum(), counts[N // 2 :].sum()
    assert abs(halves[0] - halves[1]) < 4 * math.sqrt(DRAWS * M)


def test_anchors_ascend_and_depend_on_the_seed_alone() -> None:
    own = draw_anchors(1000, 50, 7)
    assert own.dtype == np.int64
    assert (np.diff(own) > 0).all()
    assert own.tolist() == draw_anchors(1000, 50, 7).tolist()
    assert own.tolist() != draw_anchors(1000, 50, 8).tolist()


def test_only_samples_that_take_part_are_drawn() -> None:
    taken = np.arange(40) % 4 == 1
    assert set(draw_anchors(40, 6, 0, taken)) <= set(range(1, 40, 4))
    assert draw_anchors(40, 10, 0, taken).tolist() == list(range(1, 40, 4))
    with pytest.raises(InputError, match="is 11, but 10 samples take part"):
        draw_anchors(40, 11, 0, taken)
    assert draw_anchors(1, 1, 0).tolist() == [0]


@pytest.mark.parametrize(
    ("m", "seed", "words"),
    [
        (1, 0, "sample_anchors is a whole number of at least 2, not 1"),
        (2.5, 0, "sample_anchors is a whole number"),
        (True, 0, "sample_anchors is a whole number"),
        (5, -1, "seed is a whole number of at least 0, not -1"),
        (5, None, "seed is a whole number"),
        (11, 0, "is 11, but 10 samples take part; draw fewer"),
    ],
)
def test_anchors_that_cannot_be_drawn(m: Any, seed: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        draw_anchors(10, m, seed)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sample_silhouette", "a value of every sample"),
        ("quantization_error", "linear in the samples"),
        ("dunn_index", "smallest or largest distances"),
        ("cluster_diameter", "smallest or largest distances"),
        ("cluster_separation", "smallest or largest distances"),
        ("cluster_distances", "smallest or largest distances"),
        ("generalized_dunn_index", "smallest or largest distances"),
    ],
)
def test_indices_that_anchors_do_not_estimate(name: str, words: str) -> None:
    spec = find_spec(name)
    with pytest.raises(InputError, match=f"{name} .*{words}.*leave sample_anchors out"):
        refuse_sampling(spec.with_parameters(spec.parameters({})))


@pytest.mark.parametrize(
    "name",
    [
        "c_measure",
        "kruskal_shepard_error",
        "metric_stress",
        "sammon_stress",
        "shepard_correlation",
        "silhouette_score",
        "cluster_silhouette",
        "cluster_mean_distance",
        "davies_bouldin_index",
    ],
)
def test_indices_that_anchors_estimate(name: str) -> None:
    spec = find_spec(name)
    refuse_sampling(spec.with_parameters(spec.parameters({})))
