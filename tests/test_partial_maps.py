"""Maps judged on samples that lack features, each compared by those it has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import reference
import reference_map
import xarray as xr
import zarr
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_gaps import Gapped

import somscale as ss
from somscale.cli import main
from somscale.errors import InputError, SampleValueError
from somscale.extending import UnitStats, map_index
from somscale.metrics.spec import _registry, all_specs
from somscale.store import open_dataset, write_dataset

GRID = ss.Grid(2, 3)
HOPS = reference.hops(reference.grid_adjacency(2, 3))
PARTIAL = {"missing": "partial"}


@st.composite
def gapped(draw: st.DrawFn, *, weighted: bool = True) -> Gapped:
    """Samples of any pattern of gaps, sample 0 whole; small whole numbers make many ties."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(2, 30)), draw(st.integers(1, 6))
    ties = draw(st.booleans())
    samples, codes = rng.standard_normal((n, d)), rng.standard_normal((6, d))
    if ties:
        samples, codes = np.rint(samples), np.rint(codes)
    samples[rng.random((n, d)) < draw(st.floats(0, 0.9))] = np.nan
    samples[0] = codes[0] + 1
    if draw(st.booleans()):
        samples, codes = samples.astype(np.float32).astype(float), codes + 100
    v, w = np.ones(d), np.ones(n)
    if weighted and draw(st.booleans()):
        v, w = rng.integers(0, 4, d).astype(float), rng.integers(0, 4, n).astype(float)
        v[0] = w[0] = 2
    return Gapped(samples, codes, v, w)


def judged(case: Gapped, samples: Any = None, **asked: Any) -> xr.Dataset:
    given_weights: dict[str, Any] = {}
    if (case.v != 1).any() or (case.w != 1).any():
        given_weights = {"feature_weights": case.v, "sample_weights": case.w}
    som = ss.codebook(case.codes, GRID)
    samples = case.samples if samples is None else samples
    return ss.evaluate(samples, som, **PARTIAL, **given_weights, **asked)


def number(result: xr.Dataset, name: str) -> float:
    return float(result["value"].sel(metric=name))


# --- every value is that of its definition


@settings(max_examples=25)
@given(case=gapped())
def test_units_and_distances_are_partial(case: Gapped) -> None:
    names = ["bmu", "second_bmu", "distance", "hits", "dead_units", "samples_dropped"]
    found = judged(case, metrics=names)
    best, second = case.best_two()
    taken, whole = case.taken, np.full(len(case.samples), -1)
    whole[taken] = best
    np.testing.assert_array_equal(found["bmu"], whole)
    whole[taken] = second
    np.testing.assert_array_equal(found["second_bmu"], whole)
    distances = np.full(len(whole), np.nan)
    distances[taken] = np.sqrt(case.squares.min(axis=1))
    np.testing.assert_allclose(found["distance"], distances, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(found["hits"], np.bincount(best, minlength=6))
    assert number(found, "dead_units") == (np.bincount(best, minlength=6) == 0).sum()
    assert number(found, "samples_dropped") == (~taken).sum()


@settings(max_examples=25)
@given(case=gapped())
def test_means_over_samples_are_of_partial_distances(case: Gapped) -> None:
    names = ["quantization_error", "rms_per_feature", "topographic_error", "combined_error"]
    names += ["unit_quantization_error", "simplified_silhouette", "frequency"]
    found = judged(case, metrics=names)
    squares, (best, second) = case.squares, case.best_two()
    least = np.sqrt(squares.min(axis=1))
    every = np.arange(len(best))
    expected = {
        "quantization_error": case.weighted_mean(least),
        "rms_per_feature": np.sqrt(case.weighted_mean(least**2) / case.v.sum()),
        "topographic_error": case.weighted_mean(HOPS[best, second] > 1),
    }
    other = np.sqrt(squares[every, second])
    ratio = np.divide(least, other, out=np.ones(len(best)), where=other > 0)
    expected["simplified_silhouette"] = case.weighted_mean(1 - ratio)
    roots = case.codes * np.sqrt(case.v)
    lengths = np.sqrt(reference.squared_distances(roots, roots))
    paths = reference_map.shortest_paths(reference.grid_adjacency(2, 3), lengths)
    expected["combined_error"] = case.weighted_mean(least + paths[best, second])
    for name, value in expected.items():
        assert number(found, name) == pytest.approx(value, rel=1e-10, abs=1e-12), name
    of_units = [case.weighted_mean(least, best == unit) for unit in range(6)]
    np.testing.assert_allclose(found["unit_quantization_error"], of_units, rtol=1e-10)
    shares = np.bincount(best, case.w[case.taken], 6) / case.w[case.taken].sum()
    np.testing.assert_allclose(found["frequency"], shares, rtol=1e-12)


@settings(max_examples=25)
@given(case=gapped(), temperature=st.sampled_from([0.5, 1.0, 3.0]))
def test_composites_variance_and_distortion_take_what_there_is(
    case: Gapped, temperature: float
) -> None:
    names = ["composite", "explained_variance", "distortion", "distortion_parts"]
    found = judged(case, metrics=[*names, "unit_distortion", "hits"], temperature=temperature)
    np.testing.assert_allclose(found["composite"], case.composite(), rtol=1e-9, atol=1e-9)
    value = number(found, "explained_variance")
    if not np.isnan(value):
        assert value == pytest.approx(case.explained_variance(), rel=1e-6, abs=1e-6)
    expected = case.distortion(HOPS, temperature)
    np.testing.assert_allclose(found["distortion"], [expected], rtol=1e-9)
    parts = case.distortion_parts(HOPS, temperature)
    np.testing.assert_allclose(
        found["distortion_parts"].values[:, 0], parts, rtol=1e-7, atol=1e-9 * expected
    )
    np.testing.assert_allclose(parts.sum(), expected, rtol=1e-9)


def test_one_unit_at_the_mean_explains_nothing() -> None:
    rng = np.random.default_rng(0)
    samples = np.where(rng.random((50, 4)) < 0.4, np.nan, rng.standard_normal((50, 4)) + 1e6)
    som = ss.codebook(np.nanmean(samples, axis=0)[None], ss.Grid(1, 1))
    found = ss.evaluate(samples, som, metrics=["explained_variance", "second_bmu"], **PARTIAL)
    assert abs(number(found, "explained_variance")) < 1e-8
    assert (found["second_bmu"] == -1).all()


def test_functions_of_pairs_and_labels_go_by_partial_units() -> None:
    rng = np.random.default_rng(1)
    samples = np.where(rng.random((80, 4)) < 0.4, np.nan, rng.standard_normal((80, 4)))
    samples[5] = np.nan
    case = Gapped(samples, rng.standard_normal((6, 4)), np.ones(4), np.ones(80))
    labels = rng.integers(0, 3, 80)
    names = ["topographic_function", "villmann_function", "unit_entropy", "purity"]
    found = judged(case, metrics=names, labels=labels, delta=[1, 2])
    best, second = case.best_two()
    joined = reference_map.connectivity(best, second, 6)
    expected = [reference_map.topographic_function(joined, HOPS, k) for k in (1, 2)]
    np.testing.assert_array_equal(found["topographic_function"], expected)
    own = labels[case.taken]
    assert number(found, "unit_entropy") == pytest.approx(reference_map.unit_entropy(own, best))
    majority = sum(np.bincount(own[best == unit]).max() for unit in set(best.tolist()))
    assert number(found, "purity") == pytest.approx(majority / len(own))


# --- nothing else changes a bit


@settings(max_examples=6)
@given(case=gapped(), rows=st.integers(1, 30), columns=st.integers(1, 6), single=st.booleans())
def test_chunks_change_no_bit(case: Gapped, rows: int, columns: int, single: bool) -> None:
    samples = case.samples.astype(np.float32 if single else np.float64)
    chunks = (min(rows, samples.shape[0]), min(columns, samples.shape[1]))
    names = ["bmu", "second_bmu", "distance", "composite", "distortion", "quantization_error"]
    expected = judged(case, samples, metrics=names)
    stored = zarr.create_array(zarr.storage.MemoryStore(), data=samples, chunks=chunks)
    for form in (stored, da.from_array(samples, chunks=chunks)):
        found = judged(case, form, metrics=names).compute()
        xr.testing.assert_identical(found.drop_attrs(), expected.drop_attrs())


def test_long_and_wide_samples_are_the_same_in_any_form(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    for shape in ((9_000, 3), (40, 2_100)):
        samples = np.where(rng.random(shape) < 0.3, np.nan, rng.standard_normal(shape))
        samples[3] = np.nan
        som = ss.codebook(rng.standard_normal((6, shape[1])), GRID)
        whole = ss.project(samples, som, **PARTIAL)
        path = tmp_path / f"{shape[0]}.zarr"
        stored = zarr.create_array(path, data=samples, chunks=(700, 512))
        lazy = ss.project(da.from_array(samples, chunks=(1_000, 300)), som, **PARTIAL)
        assert lazy["distance"].chunks is not None
        for found in (ss.project(stored, som, **PARTIAL), lazy.compute()):
            xr.testing.assert_identical(found, whole)
        case = Gapped(samples[:30], som["codes"].values, np.ones(shape[1]), np.ones(30))
        best, _ = case.best_two()
        np.testing.assert_array_equal(whole["bmu"][:30].values[case.taken], best)


@settings(max_examples=8)
@given(case=gapped())
def test_without_gaps_every_value_is_that_without_missing_bit_for_bit(case: Gapped) -> None:
    whole = np.where(np.isnan(case.samples), 0.25, case.samples)
    som = ss.codebook(case.codes, GRID)
    weights = {"feature_weights": case.v, "sample_weights": case.w}
    plain = ss.evaluate(whole, som, cost="linear", **weights)
    found = ss.evaluate(whole, som, cost="linear", **PARTIAL, **weights)
    assert set(found.data_vars) <= set(plain.data_vars)
    plain = plain.sel(metric=found["metric"])
    for name in found.data_vars:
        np.testing.assert_array_equal(found[name].values, plain[name].values, err_msg=name)
    other = ss.project(whole, som, feature_weights=case.v)
    xr.testing.assert_identical(ss.project(whole, som, feature_weights=case.v, **PARTIAL), other)


def test_a_sample_has_the_same_distance_whatever_others_have() -> None:
    rng = np.random.default_rng(3)
    samples = np.where(rng.random((20, 4)) < 0.5, np.nan, rng.standard_normal((20, 4)))
    som = ss.codebook(rng.standard_normal((6, 4)), GRID)
    whole = ss.project(samples, som, **PARTIAL)
    for row in np.flatnonzero(whole["bmu"] >= 0):
        alone = ss.project(samples[[row]], som, **PARTIAL)
        xr.testing.assert_equal(
            alone, whole.isel(sample=[row]).drop_vars("sample", errors="ignore")
        )


# --- features that nobody has, and maps that mask them


def test_a_trained_map_is_judged_as_it_was_trained() -> None:
    rng = np.random.default_rng(4)
    samples = np.where(rng.random((90, 5)) < 0.3, np.nan, rng.standard_normal((90, 5)))
    samples[:, 2] = np.nan
    samples[::9] = np.nan
    weights = {"feature_weights": rng.random(5) + 0.1, "sample_weights": rng.random(90)}
    som = ss.train(samples, GRID, epochs=3, **PARTIAL, **weights)
    # one epoch more tells of the codes that it begins with
    asked: dict[str, Any] = {**PARTIAL, **weights, "temperature": (1.5, 1.5)}
    after = ss.train(samples, GRID, epochs=1, init=som, **asked)
    found = ss.evaluate(samples, som, temperature=1.5, **PARTIAL, **weights)
    assert number(found, "quantization_error") == pytest.approx(
        after["quantization_error"].item(), rel=1e-12
    )
    assert found["distortion"].item() == pytest.approx(after["distortion"].item(), rel=1e-12)
    assert number(found, "samples_dropped") == 10
    assert number(found, "features_dropped") == 1
    assert np.isnan(found["composite"].isel(feature=2)).all()


def test_distances_are_scaled_to_features_that_the_map_has_and_nobody_else() -> None:
    samples = np.array([[1.0, np.nan], [2.0, np.nan]])
    som = ss.codebook([[0.0, 0.0], [5.0, 5.0]], ss.Grid.chain(2))
    found = ss.evaluate(samples, som, **PARTIAL)
    np.testing.assert_allclose(found["distance"], np.sqrt(2) * np.array([1.0, 2.0]))
    assert np.isnan(found["composite"].values[:, 1]).all()
    masked = ss.codebook([[0.0, np.nan], [5.0, np.nan]], ss.Grid.chain(2))
    np.testing.assert_allclose(ss.project(samples, masked, **PARTIAL)["distance"], [1.0, 2.0])
    with pytest.raises(SampleValueError, match="masked at feature 1 where the samples have"):
        ss.project([[1.0, 2.0]], masked, **PARTIAL)


def test_samples_may_lack_more_than_the_map_masks() -> None:
    som = ss.codebook([[0.0, 0.0, np.nan], [5.0, 5.0, np.nan]], ss.Grid.chain(2))
    found = ss.project([[1.0, np.nan, np.nan], [4.0, np.nan, np.nan]], som, **PARTIAL)
    np.testing.assert_array_equal(found["bmu"], [0, 1])
    np.testing.assert_allclose(found["distance"], np.sqrt([2, 2]))


def test_samples_without_any_value_are_an_error() -> None:
    som = ss.codebook(np.eye(6), GRID)
    with pytest.raises(SampleValueError, match="no sample is left: all 4 are missing in every"):
        ss.project(np.full((4, 6), np.nan), som, **PARTIAL)
    with pytest.raises(SampleValueError, match="infinity at sample 1"):
        ss.project(np.where(np.arange(3)[:, None] == 1, np.inf, np.ones((3, 6))), som, **PARTIAL)


# --- what has no meaning with gaps

SAMPLES = np.array([[0.0, np.nan], [0.1, 0.2], [np.nan, 1.0], [1.1, 1.0]])
SOM = ss.codebook([[0.0, 0.1], [1.0, 1.1]], ss.Grid.chain(2))


@pytest.mark.parametrize("name", ["map_embedding_accuracy", "c_measure", "trustworthiness"])
def test_an_index_without_meaning_is_refused_by_name(name: str) -> None:
    for call in (
        lambda: ss.evaluate(SAMPLES, SOM, metrics=name, **PARTIAL),
        lambda: getattr(ss.metrics, name)(SAMPLES, SOM, **PARTIAL),
    ):
        with pytest.raises(InputError, match=f"{name} does not apply: missing='partial'"):
            call()


def test_all_leaves_out_what_has_no_meaning_and_says_why() -> None:
    found = ss.evaluate(SAMPLES, SOM, **PARTIAL)
    reasons = json.loads(found.attrs["indices_left_out"])
    why = {name: text for text, names in reasons.items() for name in names}
    assert why["feature_ks_distance"].startswith("missing='partial' has no meaning")
    assert why["trustworthiness"].startswith("missing='partial' compares samples with codes")
    given_back = {*found["metric"].values.tolist(), *map(str, found.data_vars)}
    assert not given_back & set(why)
    linear = ss.evaluate(SAMPLES, SOM, cost="linear", **PARTIAL).attrs["indices_left_out"]
    assert "trustworthiness" not in linear
    assert "feature_ks_distance" in linear


def test_indices_of_a_map_say_whether_gaps_leave_them_a_meaning() -> None:
    own = [spec for spec in all_specs() if spec.formula.__module__.startswith("somscale.")]
    meaningless = {
        s.name for s in own if (s.subject, s.cost) == ("map", "linear") and not s.with_gaps
    }
    assert meaningless == {
        "map_embedding_accuracy",
        "feature_ks_distance",
        "feature_embedding_p_value",
        "feature_mean_difference",
        "feature_variance_ratio",
    }


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: ss.evaluate(SAMPLES, [0, 0, 1, 1], **PARTIAL), "clusterings"),
        (lambda: ss.evaluate(SAMPLES, np.eye(4)[:, :2], **PARTIAL), "embeddings"),
        (lambda: ss.metrics.p_matrix(SAMPLES, SOM, **PARTIAL), "spheres about codes"),
        (lambda: ss.CoRanking(SAMPLES, **PARTIAL), "ranks of samples"),
    ],
)
def test_partial_distances_are_for_maps(call: Any, what: str) -> None:
    with pytest.raises(InputError, match=f"missing='partial' is for maps, .* not for {what}"):
        call()


# --- workspaces, comparisons and the command


def test_a_workspace_stands_for_its_samples(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    values = np.where(rng.random((60, 3)) < 0.3, np.nan, rng.standard_normal((60, 3)))
    values[0] = 0
    samples = xr.DataArray(values, dims=("day", "station"), coords={"station": list("abc")})
    work = ss.Workspace(tmp_path / "work.zarr")
    work.write_samples(samples, sample_dims="day")
    som = ss.train(work, GRID, epochs=2, **PARTIAL)
    xr.testing.assert_identical(som, ss.train(samples, GRID, epochs=2, **PARTIAL))
    expected = ss.project(samples, som, **PARTIAL)
    xr.testing.assert_identical(ss.project(work, som, **PARTIAL), expected)
    kept = ss.evaluate(work, som, **PARTIAL)
    xr.testing.assert_equal(kept, ss.evaluate(samples, som, **PARTIAL))
    xr.testing.assert_identical(ss.evaluate(work, som, **PARTIAL), kept)
    error = ss.metrics.quantization_error(work, som, **PARTIAL)
    assert float(error) == number(kept, "quantization_error")
    with pytest.raises(InputError, match="leave sample_dims= and variable= out"):
        ss.train(work, GRID, sample_dims="day", **PARTIAL)
    with pytest.raises(InputError, match="not for distances and ranks of samples"):
        work.write_distances(**PARTIAL)


def test_maps_are_compared_by_partial_distances() -> None:
    rng = np.random.default_rng(6)
    samples = np.where(rng.random((80, 3)) < 0.3, np.nan, rng.standard_normal((80, 3)))
    maps = {name: ss.codebook(rng.standard_normal((6, 3)), GRID) for name in "ab"}
    names = ["quantization_error", "explained_variance", "rms_per_feature"]
    found = ss.compare(samples, maps, metrics=names, n_boot=50, **PARTIAL)
    for name, som in maps.items():
        alone = ss.evaluate(samples, som, metrics=names, **PARTIAL)
        np.testing.assert_array_equal(found["value"].sel(candidate=name), alone["value"])
    assert (found["standard_error"] > 0).all()
    assert ss.match_units(samples, maps["a"], maps["b"], **PARTIAL).sizes["unit"] == 6


def test_the_command_takes_partial_distances(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", SAMPLES)
    write_dataset(SOM, tmp_path / "som.zarr")
    files = [str(tmp_path / name) for name in ("x.npy", "q.nc", "som.zarr")]
    asked = ["evaluate", files[0], "--map", files[2], "--missing", "partial", "-o", files[1]]
    result = CliRunner().invoke(main, asked)
    assert result.exit_code == 0, result.output
    with open_dataset(tmp_path / "q.nc") as found:
        expected = ss.evaluate(SAMPLES, SOM, **PARTIAL)
        np.testing.assert_array_equal(found["value"], expected["value"])


def test_an_index_of_ones_own_says_that_it_has_a_meaning() -> None:
    facts = {
        "needs": ("units",),
        "long_name": "most samples",
        "definition": "largest hits",
        "direction": "none",
        "source": "here",
    }

    def most_hits_with_gaps(units: UnitStats) -> float:
        """Most samples of a unit."""
        return float(units.hits.max())

    def most_hits_without(units: UnitStats) -> float:
        """Most samples of a unit."""
        return float(units.hits.max())

    known = dict(_registry)
    try:
        own = map_index(with_gaps=True, **facts)(most_hits_with_gaps)
        assert float(own(SAMPLES, SOM, **PARTIAL)) == 2
        with pytest.raises(InputError, match="does not apply: missing='partial'"):
            map_index(**facts)(most_hits_without)(SAMPLES, SOM, **PARTIAL)
    finally:
        _registry.clear()
        _registry.update(known)
