"""Missing values in the units pass: what is left out, what is refused, and the counts of both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from passes import assert_same_bits
from strategies import KINDS, Case, cases
from unit_passes import TILE, Values, any_cut, assert_equal_statistics, pass_of

from somscale.engine.linear.job import Cut, LinearJob
from somscale.engine.linear.walk import walk_run
from somscale.engine.readers.sources import ArraySource
from somscale.errors import InputError, SampleValueError
from somscale.kernels import code_filter
from somscale.reductions.census import Census
from somscale.reductions.merge import fold_nodes
from somscale.reductions.names import AxisNames, EntryNames
from somscale.reductions.units import UnitsReduction

each_kind = pytest.mark.parametrize("kind", KINDS)
ONE_TILE = 1 << 12
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Gapped:
    """Samples with whole gaps, and which samples and features have them."""

    samples: NDArray[Any]
    codes: NDArray[np.float64]
    no_sample: Bools
    no_feature: Bools

    @property
    def rest(self) -> Case:
        """What takes part."""
        samples = self.samples[~self.no_sample][:, ~self.no_feature]
        return Case("rest", samples, self.codes[:, ~self.no_feature])


def some_but_one(data: st.DataObject, size: int) -> Bools:
    """Any flags of which one at least is not set."""
    flags = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    flags[data.draw(st.integers(0, size - 1))] = False
    return flags


def draw_gapped(data: st.DataObject, kinds: Sequence[str] = tuple(KINDS)) -> Gapped:
    case = data.draw(cases(kinds, features=(1, 9)))
    samples = case.samples if case.samples.dtype == np.float32 else case.samples.astype(np.float64)
    no_sample, no_feature = (some_but_one(data, size) for size in samples.shape)
    samples[no_sample] = np.nan
    samples[:, no_feature] = np.nan
    return Gapped(samples, case.codes, no_sample, no_feature)


def gaussian(n: int = 40, d: int = 4, k: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)), rng.standard_normal((k, d))


# --- whole gaps are left out


@each_kind
@settings(max_examples=15)
@given(data=st.data())
def test_whole_gaps_are_as_if_they_were_not_there(kind: str, data: st.DataObject) -> None:
    gapped = draw_gapped(data, [kind])
    stats = pass_of(gapped.samples, gapped.codes, tile_rows=ONE_TILE, missing="drop")
    alone = pass_of(gapped.rest.samples, gapped.rest.codes, tile_rows=ONE_TILE)
    assert_equal_statistics(stats, alone)
    assert (stats.n_samples, stats.dropped_samples) == (alone.n_samples, gapped.no_sample.sum())
    assert stats.bmu is not None
    assert stats.second_bmu is not None
    assert stats.distance is not None
    taken, kept = ~gapped.no_sample, ~gapped.no_feature
    np.testing.assert_array_equal(stats.bmu[taken], alone.bmu)
    np.testing.assert_array_equal(stats.second_bmu[taken], alone.second_bmu)
    np.testing.assert_array_equal(stats.distance[taken], alone.distance)
    assert (stats.bmu[~taken] == -1).all()
    assert (stats.second_bmu[~taken] == -1).all()
    assert np.isnan(stats.distance[~taken]).all()
    for found, own in ((stats.codes, alone.codes), (stats.residuals, alone.residuals)):
        np.testing.assert_array_equal(found[:, kept], own)
        assert (found[:, ~kept] == 0).all()
    for found, own in (
        (stats.raw_codes, alone.raw_codes),
        (stats.raw_residuals, alone.raw_residuals),
    ):
        np.testing.assert_array_equal(found[:, kept], own)
        assert np.isnan(found[:, ~kept]).all()
    assert stats.n_features == len(kept)
    assert stats.n_valid_features == stats.weight_sum == kept.sum()
    if gapped.no_feature.any():
        np.testing.assert_array_equal(stats.missing_features, gapped.no_feature)
    else:
        assert stats.missing_features is None


@each_kind
@settings(max_examples=12)
@given(data=st.data())
def test_any_cut_leaves_out_the_same(kind: str, data: st.DataObject) -> None:
    gapped = draw_gapped(data, [kind])
    n, d = gapped.samples.shape
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    columns: dict[str, Any] = {"w": rng.random(n), "out": rng.random(n) < 0.2}
    columns["out"][np.argmin(gapped.no_sample)] = False
    weights: Any = rng.random(d) * 10.0 ** rng.integers(-6, 1, d)
    options: dict[str, Any] = {"sample_weights": "w", "excluded": "out", "feature_weights": weights}
    missing = data.draw(st.sampled_from(["drop", "drop_any_sample"]))
    if missing == "drop_any_sample":
        gapped.samples[:, gapped.no_feature] = 0.5
    whole = pass_of(gapped.samples, gapped.codes, columns, missing=missing, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code_filter, "FILTER_WIDTH", data.draw(st.sampled_from([2, 1024])))
        cut = data.draw(any_cut(d))
        found = pass_of(gapped.samples, gapped.codes, columns, cut, missing=missing, **options)
    assert_same_bits(found, whole)
    out: Bools = columns["out"] | gapped.no_sample
    alone = pass_of(
        gapped.samples[~out],
        gapped.codes,
        {"w": columns["w"][~out]},
        missing=missing,
        sample_weights="w",
        feature_weights=weights,
    )
    assert_equal_statistics(whole, alone, rtol=1e-12)
    assert whole.dropped_samples == out.sum()
    valid = np.ones(d, bool) if missing == "drop_any_sample" else ~gapped.no_feature
    assert whole.weight_sum == weights[valid].sum()


@given(case=cases(), missing=st.sampled_from(["drop", "drop_any_sample"]), data=st.data())
def test_without_gaps_no_policy_changes_a_bit(
    case: Case, missing: Any, data: st.DataObject
) -> None:
    cut = data.draw(any_cut(case.samples.shape[1]))
    found = pass_of(case.samples, case.codes, cut=cut, missing=missing)
    assert_same_bits(found, pass_of(case.samples, case.codes))


@given(case=cases(features=(2, 6)), data=st.data())
def test_samples_with_any_gap_are_left_out(case: Case, data: st.DataObject) -> None:
    samples = case.samples.astype(np.float64)
    n, d = samples.shape
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    gaps: Any = rng.random((n, d)) < 0.15
    gaps[rng.integers(n)] = False
    samples[gaps] = np.nan
    out = gaps.any(axis=1)
    samples[out, rng.integers(0, d, out.sum())] = np.nan
    stats = pass_of(samples, case.codes, tile_rows=ONE_TILE, missing="drop_any_sample")
    alone = pass_of(samples[~out], case.codes, tile_rows=ONE_TILE)
    assert_equal_statistics(stats, alone)
    np.testing.assert_array_equal(stats.residuals, alone.residuals)
    assert stats.bmu is not None
    np.testing.assert_array_equal(stats.bmu[~out], alone.bmu)
    assert (stats.bmu[out] == -1).all()
    assert stats.dropped_samples == out.sum()
    assert stats.missing_features is None


def test_a_feature_missing_in_far_slabs_is_left_out_of_wide_samples() -> None:
    samples, codes = gaussian(50, 2500, 6)
    gone: Any = np.arange(2500) % 7 == 3
    gone[1100:1400] = True
    samples[:, gone] = np.nan
    samples[[4, 30]] = np.nan
    for cut in (Cut("rows", 2, 1024, TILE), Cut("features", 8, 300, TILE)):
        stats = pass_of(samples, codes, cut=cut, missing="drop")
        taken = np.delete(samples, [4, 30], axis=0)[:, ~gone]
        alone = pass_of(taken, codes[:, ~gone])
        assert_equal_statistics(stats, alone, rtol=1e-12)


# --- what is refused, and the counts


def brute_counts(missing: Bools) -> tuple[int, int, int, int]:
    """Features missing in every sample, samples in every feature, isolated entries, their samples.

    Features are judged by the samples that hold any value, where there are some.
    """
    samples: Any = missing.all(axis=1)
    features = missing[~samples].all(axis=0)
    isolated = missing & ~samples[:, None] & ~features
    return (
        int(features.sum()),
        int(samples.sum()),
        int(isolated.sum()),
        int(isolated.any(axis=1).sum()),
    )


COUNTS = re.compile(
    r"there are (\d+) features? missing in every sample, (\d+) samples? missing in every "
    r"feature, and (\d+) isolated missing values? in (\d+) samples?[;]"
)


@given(data=st.data(), missing=st.sampled_from(["raise", "drop"]))
def test_gaps_are_counted_as_brute_force_counts_them(data: st.DataObject, missing: Any) -> None:
    n, d = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    gaps: Any = rng.random((n, d)) < data.draw(st.sampled_from([0.0, 0.05, 0.5]))
    gaps[rng.random(n) < 0.2] = True
    gaps[:, rng.random(d) < 0.2] = True
    excluded = rng.random(n) < 0.2
    samples = np.where(gaps, np.nan, rng.standard_normal((n, d)))
    expected = brute_counts(gaps[~excluded])
    arguments: Any = {"excluded": "out", "missing": missing, "cut": data.draw(any_cut(d))}
    refused = missing == "raise" and gaps[~excluded].any()
    try:
        pass_of(samples, rng.standard_normal((3, d)), {"out": excluded}, **arguments)
    except SampleValueError as error:
        text = str(error)
        if "no sample is left" in text:
            assert gaps[~excluded].all()
            return
        found = COUNTS.search(text)
        assert found is not None, text
        assert tuple(map(int, found.groups())) == expected
        assert ("missing='drop_any_sample' or missing='drop_any_feature'" in text) == (
            expected[2] > 0
        )
    else:
        assert not refused
        assert expected[2] == 0


def test_the_first_nan_is_named_with_its_counts_and_the_call() -> None:
    samples, codes = gaussian()
    samples[5], samples[:, 2] = np.nan, np.nan
    with pytest.raises(SampleValueError) as caught:
        pass_of(samples, codes)
    assert str(caught.value) == (
        "the samples hold nan at sample 0, feature 2 (40 samples are affected); drop or fill such "
        "values: there are 1 feature missing in every sample, 1 sample missing in every feature, "
        "and 0 isolated missing values in 0 samples; missing='drop' leaves these out"
    )
    samples[9, 0] = np.nan
    with pytest.raises(SampleValueError, match="and 1 isolated missing value in 1 sample; give"):
        pass_of(samples, codes)


def test_an_isolated_gap_is_named_by_its_feature() -> None:
    samples, codes = gaussian()
    samples[5], samples[:, 2] = np.nan, np.nan
    samples[[9, 11], 3] = np.nan
    labels = {"site": np.array(["a", "b", "c", "Oslo"])}
    names = EntryNames(features=AxisNames(("site",), labels=labels), hint="; see the manual")
    with pytest.raises(SampleValueError) as caught:
        pass_of(samples, codes, missing="drop", names=names)
    assert str(caught.value) == (
        "missing values are isolated, first at site 3 (Oslo), which is nan in 2 of 39 samples: "
        "there are 1 feature missing in every sample, 1 sample missing in every feature, and 2 "
        "isolated missing values in 2 samples; give missing='drop_any_sample' or "
        "missing='drop_any_feature', or missing='partial' where a map is trained or judged; "
        "see the manual"
    )


@pytest.mark.parametrize("missing", ["drop", "drop_any_sample"])
@pytest.mark.parametrize(("value", "words"), [(np.inf, "infinity"), (1e300, "a value too large")])
def test_other_faults_are_named_under_every_policy(missing: Any, value: float, words: str) -> None:
    samples, codes = gaussian()
    samples[3] = np.nan
    samples[17, 1] = value
    with pytest.raises(SampleValueError, match=f"hold {words}.* at sample 17, feature 1 "):
        pass_of(samples, codes, missing=missing)


def test_a_sample_that_is_left_out_may_hold_infinity() -> None:
    samples, codes = gaussian()
    samples[3, 0], samples[3, 1] = np.nan, np.inf
    stats = pass_of(samples, codes, missing="drop_any_sample")
    assert (stats.n_samples, stats.dropped_samples) == (39, 1)


# --- nothing is left


def test_samples_without_any_value_are_refused() -> None:
    samples, codes = gaussian()
    with pytest.raises(SampleValueError, match="all 40 are missing in every feature"):
        pass_of(samples * np.nan, codes, missing="drop")
    with pytest.raises(SampleValueError, match="no sample has any value"):
        pass_of(samples * np.nan, codes)


def test_no_sample_without_a_gap_is_refused_with_what_would_do() -> None:
    samples, codes = gaussian()
    samples[:, [1, 2]] = np.nan
    with pytest.raises(SampleValueError) as caught:
        pass_of(samples, codes, missing="drop_any_sample")
    assert str(caught.value) == (
        "no sample is left: every one of 40 has a missing value, and 2 features missing in every "
        "sample; give missing='drop', which leaves such features out, or mask= to choose what "
        "takes part"
    )


def test_no_weight_left_is_refused() -> None:
    samples, codes = gaussian(d=2)
    samples[:, 0] = np.nan
    with pytest.raises(SampleValueError, match="no feature with a weight above 0 is left"):
        pass_of(samples, codes, missing="drop", feature_weights=[1.0, 0.0])


def test_a_single_sample_keeps_what_it_has() -> None:
    stats = pass_of([[np.nan, 1.0]], [[9.0, 0.0], [9.0, 3.0]], missing="drop")
    assert stats.distances.tolist() == [1, 0]
    assert stats.missing_features is not None
    assert stats.missing_features.tolist() == [True, False]


# --- masked maps


@given(data=st.data())
def test_a_map_masked_where_the_samples_are_is_as_without(data: st.DataObject) -> None:
    gapped = draw_gapped(data)
    masked = np.where(gapped.no_feature, np.nan, gapped.codes)
    arguments: Any = {"missing": "drop", "cut": data.draw(any_cut(len(gapped.no_feature)))}
    found = pass_of(gapped.samples, masked, **arguments)
    assert_same_bits(found, pass_of(gapped.samples, gapped.codes, missing="drop"))


def test_a_map_masked_elsewhere_is_refused_by_name() -> None:
    samples, codes = gaussian()
    samples[:, 1] = np.nan
    names = EntryNames(features=AxisNames(("lat", "lon"), (2, 2)))
    codes[:, [1, 3]] = np.nan
    with pytest.raises(SampleValueError) as caught:
        pass_of(samples, codes, missing="drop", names=names)
    assert str(caught.value) == (
        "the map is masked at lat 1, lon 1 where the samples have values (1 feature differs); "
        "give mask= to leave it out"
    )
    samples[:, 0] = samples[:, 3] = np.nan
    with pytest.raises(SampleValueError, match="the samples are missing at lat 0, lon 0 where"):
        pass_of(samples, codes, missing="drop", names=names)


@pytest.mark.parametrize("missing", ["raise", "drop_any_sample"])
def test_a_masked_map_needs_gaps_to_be_dropped(missing: Any) -> None:
    codes = np.eye(3)
    codes[:, 1] = np.nan
    with pytest.raises(InputError, match=r"1 feature, first at feature 1; give missing='drop'"):
        UnitsReduction(codes, missing=missing)


def test_a_map_that_is_nan_in_some_units_is_refused() -> None:
    codes = np.eye(3)
    codes[:, 0], codes[1, 2] = np.nan, np.nan
    with pytest.raises(InputError, match="nan at feature 2 in 1 of 3 units"):
        UnitsReduction(codes, missing="drop")
    with pytest.raises(InputError, match="nan at every feature"):
        UnitsReduction(codes * np.nan, missing="drop")


def test_an_unknown_policy_is_refused() -> None:
    policy: Any = "drop_all"
    with pytest.raises(InputError, match="missing is one of raise, drop, drop_any_sample, not"):
        UnitsReduction(np.eye(3), missing=policy)


# --- what one run may say before the whole pass is known


def runs_of(samples: NDArray[Any], missing: Any, codes: NDArray[Any]) -> tuple[Any, list[Any]]:
    """A reduction, and what each run of one tile found."""
    reduction = UnitsReduction(codes, missing=missing, excluded="out")
    reduction.tile_rows = TILE
    n, d = samples.shape
    columns: Any = {"out": Values(np.zeros(n, bool))}
    job = LinearJob([reduction], n, d, source=ArraySource(samples), columns=columns)
    cut = Cut("rows", 1, d, TILE)
    return reduction, [walk_run(job, cut, run)[0] for run in range(cut.runs(job))]


def test_one_run_refuses_only_what_is_sure() -> None:
    samples, codes = gaussian(3 * TILE)
    samples[:TILE, 1] = np.nan  # may be missing everywhere, as far as the first run knows
    samples[TILE : 2 * TILE] = np.nan
    reduction, partials = runs_of(samples, "drop", codes)
    for partial in partials:
        reduction.check(partial)
    with pytest.raises(SampleValueError, match="isolated, first at feature 1"):
        pass_of(samples, codes, missing="drop")
    samples[2, 0] = np.nan
    reduction, partials = runs_of(samples, "drop", codes)
    with pytest.raises(SampleValueError, match="isolated, first at feature 0"):
        reduction.check(partials[0])
    reduction.check(partials[1])
    any_sample, partials = runs_of(samples, "drop_any_sample", codes)
    for partial in partials:
        any_sample.check(partial)
    strict, partials = runs_of(samples, "raise", codes)
    for partial, sample in zip(partials[:2], (0, TILE), strict=True):
        with pytest.raises(SampleValueError, match=f"nan at sample {sample}, "):
            strict.check(partial)
    strict.check(partials[2])


def test_a_masked_map_is_compared_only_with_the_whole() -> None:
    samples, codes = gaussian(2 * TILE)
    samples[:, 1] = np.nan
    samples[:TILE, 1:3] = np.nan
    codes[:, 1] = np.nan
    reduction, partials = runs_of(samples[:TILE], "drop", codes)
    reduction.check(partials[0])
    with pytest.raises(SampleValueError, match="missing at feature 2"):
        reduction.finalize(partials[0])


@given(data=st.data())
def test_a_census_of_merged_runs_is_that_of_the_whole(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    gaps = rng.random((20, 3)) < 0.3
    gaps[:, 1] |= data.draw(st.booleans())
    samples = np.where(gaps, np.nan, 1.0)
    _, partials = runs_of(samples, data.draw(st.sampled_from(["raise", "drop"])), np.eye(3))
    fields = UnitsReduction(np.eye(3)).fields
    total = fold_nodes(fields, [(0, number, partial) for number, partial in enumerate(partials)])
    assert total is not None
    census = Census.of(total)
    found = int(census.features.sum()), census.samples, census.entries, census.affected
    assert found == brute_counts(gaps)
