"""The front door: one Dataset whatever is asked, lazy where the samples are, refusals that help."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from distributed import Client, LocalCluster
from numpy.typing import NDArray

import somscale as ss
from somscale import metrics
from somscale.codebook import as_map
from somscale.errors import InputError, MemoryBudgetError, UnknownMetricError
from somscale.metrics.spec import MetricSpec, all_specs
from somscale.store import open_dataset, write_dataset

N, D = 3000, 4
RNG = np.random.default_rng(0)
VALUES = RNG.standard_normal((N, D))
SAMPLES = xr.DataArray(
    VALUES,
    dims=("time", "station"),
    coords={
        "time": pd.date_range("2000-01-01", periods=N)[::-1],
        "station": list("abcd"),
        "season": ("time", np.arange(N) // 90 % 4),
        "height": ("station", [1.0, 2, 3, 4]),
        "run": 7,
    },
    attrs={"units": "K"},
)
SOM = ss.codebook(SAMPLES[:12].drop_vars("season"), ss.Grid(3, 4))
SMALL = ss.codebook(VALUES[20:25], ss.Grid.chain(5))
LABELS = RNG.integers(0, 5, N)
CLUSTERS = (LABELS + (RNG.random(N) < 0.2)) % 5
CHUNKED = da.from_array(VALUES, chunks=(700, 2))
# tests/test_rank_asking.py and tests/test_topographic_indices.py have the others
UNRANKED = [s for s in all_specs() if s.cost != "ranks" and "marginals" not in s.needs]
SPECS = [spec for spec in UNRANKED if spec.subject != "clusters"]
MAP_SPECS = [spec for spec in UNRANKED if spec.subject == "map"]
PAIR_SPECS = [spec for spec in UNRANKED if spec.subject == "projection"]
PARTITION_SPECS = [spec for spec in all_specs() if spec.subject == "partition"]
UNITS_SPECS = [spec for spec in all_specs() if spec.subject == "units"]
TEMPERATURES = [0.5, 1.0, 2.0]
DELTAS = [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]
VALUES_OF: dict[str, Any] = {
    "temperature": TEMPERATURES,
    "delta": DELTAS,
    "unit_clusters": np.arange(12) % 3,
}


def value(result: xr.Dataset, label: str) -> xr.DataArray:
    """One index of a result, wherever it stands."""
    return result[label] if label in result else result["value"].sel(metric=label)


def alone(spec: MetricSpec, *data: Any, **parameters: Any) -> xr.DataArray:
    found: xr.DataArray = getattr(metrics, spec.name)(*data, **parameters)
    return found


# --- one Dataset


@pytest.fixture(scope="module")
def everything() -> xr.Dataset:
    return ss.evaluate(SAMPLES, SOM, labels=LABELS, cost="pairs", **VALUES_OF)


def test_all_indices_are_there(everything: xr.Dataset) -> None:
    scalars = [spec.name for spec in SPECS if spec.scalar]
    assert everything["metric"].values.tolist() == scalars
    others = {spec.name for spec in SPECS if not spec.scalar}
    assert set(everything.data_vars) == others | {"value", "note"}


def test_dims_are_those_of_the_indices_and_of_the_user(everything: xr.Dataset) -> None:
    assert dict(everything.sizes) == {
        "metric": len([spec for spec in SPECS if spec.scalar]),
        "time": N,
        "station": 4,
        "unit": 12,
        "temperature": 3,
        "delta": 6,
        "part": 3,
        "pair": 4,
        "class": 5,
        "input_distance": 50,
        "output_distance": 50,
    }
    for spec in SPECS:
        own = {"sample": "time", "feature": "station"}
        dims = tuple(own.get(dim, dim) for dim in spec.dims)
        assert value(everything, spec.name).dims == dims, spec.name


def test_coordinates_are_kept(everything: xr.Dataset) -> None:
    bmu = everything["bmu"]
    pd.testing.assert_index_equal(bmu.indexes["time"], SAMPLES.indexes["time"])
    xr.testing.assert_equal(
        bmu["season"].drop_vars("run", errors="ignore"), SAMPLES["season"].drop_vars("run")
    )
    assert everything["row"].values.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert everything["temperature"].values.tolist() == TEMPERATURES
    assert everything["part"].values.tolist() == ["within", "bias", "neighborhood"]
    assert everything["pair"].values.tolist() == list("abcd")
    assert everything["delta"].values.tolist() == DELTAS
    assert everything["class"].values.tolist() == [0, 1, 2, 3, 4]
    means = SAMPLES.groupby(bmu).mean()
    np.testing.assert_allclose(means.sel(bmu=3), VALUES[bmu.values == 3].mean(axis=0))


def test_every_variable_says_what_it_is(everything: xr.Dataset) -> None:
    for spec in SPECS:
        if spec.scalar:
            one = everything.sel(metric=spec.name)
            found: Any = {name: one[name].item() for name in ("direction", "long_name", "source")}
            assert (one["lower"].item(), one["upper"].item()) == (spec.lower, spec.upper)
            units = one["metric_units"].item()
        else:
            found = everything[spec.name].attrs
            assert everything[spec.name].name == spec.name
            assert found["range"] == spec.range
            units = found["units"]
        assert (found["long_name"], found["direction"]) == (spec.long_name, spec.direction)
        assert found["source"] == spec.source
        assert units == {"data": "K", "data^2": "K^2"}.get(spec.units, spec.units)
    for name, variable in everything.variables.items():
        if name not in ("time", "season", "station", "height"):
            assert {"long_name", "units"} <= set(variable.attrs), name


def test_provenance_is_kept(everything: xr.Dataset) -> None:
    attributes = everything.attrs
    assert attributes["somscale_version"] == ss.__version__
    assert attributes["n_samples"] == N
    assert attributes["labels_excluded"] == 0
    prints = json.loads(attributes["map_fingerprints"])
    assert prints == {"projection": as_map(SOM).fingerprint}
    parameters = json.loads(attributes["parameters"])
    assert parameters["distortion"] == {"temperature": TEMPERATURES, "kernel": "gaussian"}
    assert everything["distortion"].attrs["kernel"] == "gaussian"


@pytest.mark.parametrize("name", ["result.zarr", "result.nc"])
@pytest.mark.parametrize("lazy", [False, True])
def test_a_result_comes_back_from_a_file(name: str, lazy: bool, tmp_path: Path) -> None:
    samples = SAMPLES.chunk(time=700) if lazy else SAMPLES
    both = {"large": SOM, "small": SMALL}
    result = ss.evaluate(samples, both, labels=LABELS, temperature=TEMPERATURES, cost="pairs")
    write_dataset(result, tmp_path / name)
    with open_dataset(tmp_path / name) as back:
        xr.testing.assert_identical(back.load(), result.compute())


# --- each index alone


@pytest.mark.parametrize("spec", [*MAP_SPECS, *PAIR_SPECS], ids=lambda spec: spec.name)
@pytest.mark.parametrize("lazy", [False, True])
def test_an_index_alone_is_as_in_evaluate(
    spec: MetricSpec, lazy: bool, everything: xr.Dataset
) -> None:
    samples = SAMPLES.chunk(time=700, station=3) if lazy else SAMPLES
    parameters = {name: VALUES_OF[name] for name in VALUES_OF if name in spec.defaults}
    found = alone(spec, samples, SOM, **parameters)
    assert (found.name, found.chunks is not None) == (spec.name, lazy)
    in_all = value(everything, spec.name)
    np.testing.assert_array_equal(found.values, in_all.values)
    assert found.dims == in_all.dims
    if spec.scalar:
        facts = {"long_name", "units", "direction", "range", "source"}
        assert facts <= set(found.attrs)
    else:
        xr.testing.assert_identical(found.compute(), in_all)


@pytest.mark.parametrize("spec", PARTITION_SPECS, ids=lambda spec: spec.name)
def test_an_index_of_partitions_alone_is_as_in_evaluate(spec: MetricSpec) -> None:
    found = alone(spec, LABELS, CLUSTERS)
    in_all = value(ss.evaluate(None, CLUSTERS, labels=LABELS), spec.name)
    np.testing.assert_array_equal(found.values, in_all.values)
    assert found.dims == in_all.dims


def test_labels_judge_the_units_of_a_map(everything: xr.Dataset) -> None:
    bmu = metrics.bmu(SAMPLES, SOM).values
    for spec in PARTITION_SPECS:
        np.testing.assert_array_equal(value(everything, spec.name), alone(spec, LABELS, bmu))
    for spec in UNITS_SPECS:
        for grid in (SOM, ss.Grid(3, 4)):
            found = alone(spec, LABELS, bmu, grid)
            np.testing.assert_array_equal(value(everything, spec.name), found)
            if not spec.scalar:
                xr.testing.assert_equal(found, everything[spec.name])


@pytest.mark.parametrize("name", ["distortion", "unit_distortion", "distortion_parts"])
def test_a_scalar_parameter_drops_its_dim_and_keeps_its_coordinate(name: str) -> None:
    index = getattr(metrics, name)
    several = index(VALUES, SMALL, temperature=[1.0, 2.0])
    one = index(VALUES, SMALL, temperature=2)
    assert one.dims == several.dims[:-1]
    assert one["temperature"].item() == 2
    np.testing.assert_array_equal(one, several.sel(temperature=2))
    assert index(VALUES, SMALL, temperature=[2]).dims == several.dims


# --- what is asked for


def test_a_name_a_list_and_a_family() -> None:
    one = ss.evaluate(VALUES, SOM, metrics="hits")
    assert list(one.data_vars) == ["hits"]
    assert "metric" not in one.dims
    names = ["topographic_error", "hits", "topographic_error"]
    listed = ss.evaluate(VALUES, SOM, metrics=names)
    assert set(listed.data_vars) == {"hits", "value", "note"}
    assert listed["metric"].values.tolist() == ["topographic_error"]
    family = ss.evaluate(VALUES, SOM, labels=LABELS, metrics=["map", "distances"])
    whole = ss.evaluate(VALUES, SOM, cost="pairs")
    assert set(family.data_vars) == set(whole.data_vars)
    assert family["metric"].equals(whole["metric"])


def test_variants_have_their_own_labels_and_parameters() -> None:
    result = ss.evaluate(
        VALUES,
        SOM,
        metrics={
            "te8": ("topographic_error", {"neighborhood": "vertex"}),
            "te4": "topographic_error",
            "squared": ("quantization_error", {"kind": "squared"}),
            "bubble": ("distortion", {"kernel": "window", "temperature": 0}),
        },
    )
    assert result["metric"].values.tolist() == ["te8", "te4", "squared"]
    vertex = metrics.topographic_error(VALUES, SOM, neighborhood="vertex")
    assert value(result, "te8").item() == vertex.item() < value(result, "te4").item()
    assert value(result, "squared").item() == result["bubble"].item()
    assert result["metric_units"].sel(metric="squared").item() == "(data units)^2"
    assert result["bubble"].attrs["kernel"] == "window"
    assert json.loads(result.attrs["parameters"])["te8"] == {"neighborhood": "vertex"}


def test_variants_at_several_temperatures_have_no_gaps() -> None:
    asked: Any = {
        "a": ("distortion", {"temperature": [2, 1]}),
        "b": ("distortion", {"temperature": 3, "kernel": "window"}),
        "c": "hits",
    }
    result = ss.evaluate(VALUES, SOM, metrics=asked)
    assert result["temperature"].values.tolist() == [2, 1, 3]
    for label, kernel in (("a", "gaussian"), ("b", "window")):
        expected = metrics.distortion(VALUES, SOM, temperature=[2, 1, 3], kernel=kernel)
        np.testing.assert_array_equal(result[label], expected)


def test_parameters_reach_every_index_that_has_them() -> None:
    asked: dict[str, Any] = {
        "kernel": "window",
        "temperature": 1,
        "neighborhood": "vertex",
        "kind": "rms",
        "delta": 0.2,
        "squared": True,
        "normalize": True,
        "unit_clusters": np.arange(12) % 3,
    }
    result = ss.evaluate(VALUES, SOM, **asked)
    for spec in MAP_SPECS:
        own = {name: asked[name] for name in asked if name in spec.defaults}
        expected = alone(spec, VALUES, SOM, **own).values
        np.testing.assert_array_equal(value(result, spec.name).values.squeeze(), expected.squeeze())
    variant = ss.evaluate(
        VALUES, SOM, kernel="window", metrics={"own": ("distortion", {"kernel": "triangular"})}
    )
    assert variant["own"].attrs["kernel"] == "triangular"


@pytest.mark.parametrize("cost", ["linear", "pairs"])
def test_indices_that_cost_more_are_left_out(cost: str) -> None:
    order = ["linear", "pairs", "ranks"]
    both = [*MAP_SPECS, *PAIR_SPECS]
    affordable = [s for s in both if order.index(s.cost) <= order.index(cost)]
    of_clusters = {"conn_index", "unit_intra_connectivity"}
    result = ss.evaluate(VALUES, SOM, cost=cost)
    found = set(result["metric"].values.tolist()) | set(result.data_vars) - {"value", "note"}
    assert found == {spec.name for spec in affordable} - of_clusters
    assert "unit_clusters" in result.attrs["indices_left_out"]


@pytest.mark.parametrize(
    ("arguments", "error", "complaint"),
    [
        ({"metrics": "topographic_eror"}, UnknownMetricError, "did you mean 'topographic_error'"),
        ({"metrics": ["hits", "xyzzy"]}, UnknownMetricError, "'xyzzy'; see `somscale metrics`"),
        ({"metrics": {"a": "hit"}}, UnknownMetricError, "'hit'; did you mean 'hits'"),
        ({"metrics": []}, InputError, "no index is left to compute"),
        ({"metrics": 5}, InputError, "name, a list of names or a dict of variants, not 5"),
        ({"metrics": [5]}, InputError, "metrics are names, not 5"),
        ({"metrics": {"a": ("hits",)}}, InputError, r"variant 'a' is a name, or a pair"),
        ({"metrics": {"a/b": "hits"}}, InputError, "without '/', not 'a/b'"),
        ({"metrics": {1: "hits"}}, InputError, "a label is a text"),
        ({"metrics": {"value": "hits"}}, InputError, "'value' is a name of the result's own"),
        ({"metrics": {"unit": "hits"}}, InputError, "'unit' is a name of the result's own"),
        ({"metrics": "rand_score"}, InputError, "rand_score does not apply: it needs labels="),
        ({"metrics": {"a": "purity"}}, InputError, "purity does not apply: it needs labels="),
        ({"metrics": "partition"}, InputError, "'partition' does not apply: it needs labels="),
        ({"cost": "cheap"}, InputError, "cost is one of .*not 'cheap'"),
        ({"temprature": 1}, InputError, "no index asked for has a parameter 'temprature'; .*kind"),
        (
            {"metrics": "hits", "kernel": "window"},
            InputError,
            "parameter 'kernel'; they have: none",
        ),
        ({"metrics": {"a": ("hits", {"k": 3})}}, InputError, "hits has no parameter 'k'"),
        ({"temperature": 0}, InputError, "greater than 0, not 0.0"),
        ({"temperature": "warm"}, InputError, "temperature of distortion is no number: 'warm'"),
        ({"temperature": []}, InputError, "is a number or a list"),
        ({"temperature": [[1.0]]}, InputError, "is a number or a list"),
        ({"temperature": [1, 2, 1.0]}, InputError, "holds a value twice"),
        ({"kernel": "gauss"}, InputError, "did you mean 'gaussian'"),
        ({"neighborhood": "corner"}, InputError, "one of .'edge', 'vertex'., not 'corner'"),
        ({"kind": "median"}, InputError, "kind is one of .*not 'median'"),
        ({"labels": LABELS[:-1]}, InputError, f"{N - 1} labels and {N} samples"),
        ({"labels": VALUES[:, 0]}, InputError, "is not an integer"),
        ({"labels": VALUES}, InputError, "one dimension"),
    ],
)
@pytest.mark.parametrize("lazy", [False, True])
def test_bad_questions_are_refused_at_once(
    arguments: dict[str, Any], error: type[Exception], complaint: str, lazy: bool
) -> None:
    samples = CHUNKED if lazy else VALUES
    for ask in (ss.evaluate, ss.plan):
        with pytest.raises(error, match=complaint):
            ask(samples, SOM, **arguments)


@pytest.mark.parametrize(
    ("samples", "projection", "complaint"),
    [
        (SOM, VALUES, r"first argument is a map; the order is \(samples, som\)"),
        (VALUES, VALUES[:12], r"embedding has shape \(12, 4\), .* 3000 samples.*ss\.codebook"),
        (VALUES, np.zeros((2, 3, 4)), r"ndarray of shape \(2, 3, 4\): neither a.*ss\.codebook"),
        (VALUES, [[1], [1, 2]], "list of shape unknown: neither a cluster"),
        (VALUES, 3, r"int of shape \(\)"),
        (VALUES, {}, "dict of candidates is empty"),
        (VALUES, {"a": SOM, "b": LABELS}, "of one kind, not {'a': 'map', 'b': 'clusters'}"),
        (VALUES, {1.0: SOM}, "names that are texts"),
        (VALUES, {True: SOM}, "names that are texts"),
        (VALUES, {1: SOM, "2": SOM}, r"texts, or integers all of them, not \[1, '2'\]"),
        (VALUES, {1 << 63: SOM}, "candidate 9223372036854775808 is no integer of 64 bits"),
        (VALUES, {"": SOM}, "names that are texts"),
        (VALUES, xr.Dataset(), "not a codebook"),
        (None, SOM, "a map is judged on samples"),
        (VALUES.T, SOM, r"look transposed: pass samples\.T"),
        (VALUES[:, :3], SOM, "map has 4 features and the samples have 3"),
        (None, LABELS, "judged on samples or compared with labels; give one of them"),
    ],
)
def test_bad_candidates_are_refused(samples: Any, projection: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        ss.evaluate(samples, projection)


def test_swapped_arguments_of_one_index_are_refused() -> None:
    with pytest.raises(InputError, match=r"the order is \(samples, som\)"):
        metrics.quantization_error(SOM, VALUES)
    with pytest.raises(InputError, match=r"ss\.codebook\(weights, grid\), and mind the order"):
        metrics.quantization_error(VALUES, VALUES[:12])
    with pytest.raises(InputError, match="quantization_error has no parameter 'temperature'"):
        metrics.quantization_error(VALUES, SOM, temperature=1)


@pytest.mark.parametrize("name", ["unit", "temperature", "metric", "hits", "row", "value"])
@pytest.mark.parametrize("as_dim", [False, True])
def test_samples_whose_names_the_result_needs_are_refused(name: str, as_dim: bool) -> None:
    plain = xr.DataArray(VALUES, dims=("time", "station"))
    taken = plain.rename(time=name) if as_dim else plain.assign_coords({name: ("time", LABELS)})
    for ask in (ss.evaluate, ss.plan):
        with pytest.raises(InputError, match=f"'{name}'.*rename"):
            ask(taken, SOM)
    # where no value of a sample is asked for, nothing clashes
    found = ss.evaluate(taken, SOM, metrics="quantization_error")
    assert found["value"].item() == metrics.quantization_error(VALUES, SOM).item()


def test_a_budget_too_small_names_the_smallest() -> None:
    with (
        ss.set_options(memory_budget="1MiB"),
        pytest.raises(MemoryBudgetError, match=r"needs at least .* set memory_budget='\d+MiB'"),
    ):
        ss.evaluate(VALUES, SOM)


# --- candidates


def test_candidates_are_as_each_alone() -> None:
    both = {"large": SOM, "small": SMALL}
    result = ss.evaluate(SAMPLES, both, labels=LABELS, cost="pairs")
    assert result["candidate"].values.tolist() == ["large", "small"]
    assert result["n_units"].values.tolist() == [12, 5]
    assert result.sizes["unit"] == 12
    for name, som in both.items():
        expected = ss.evaluate(SAMPLES, som, labels=LABELS, cost="pairs")
        own = result.sel(candidate=name)
        n_units = int(own["n_units"])
        for spec in SPECS:
            if "unit_clusters" in spec.defaults:
                continue  # those of one map are none of another
            if "feature" in spec.dims:
                assert spec.name not in result  # of several candidates only when asked for
                continue
            found = value(own, spec.name)
            if "unit" in spec.dims:
                assert np.isnan(found.isel(unit=slice(n_units, None))).all()
                found = found.isel(unit=slice(n_units))
            if "delta" in spec.dims:
                beyond = found["delta"] > som["unit"].size
                np.testing.assert_array_equal(found[{"delta": beyond}], 0)
                found = found.sel(delta=expected["delta"])
            if spec.cost == "pairs":
                # rows of a walk are sorted by the units of the first candidate
                np.testing.assert_allclose(found, value(expected, spec.name), rtol=1e-12)
            else:
                np.testing.assert_array_equal(found.values, value(expected, spec.name).values)
        assert own["note"].values.tolist() == expected["note"].values.tolist()
    assert "row" not in result.coords
    prints = {name: as_map(som).fingerprint for name, som in both.items()}
    assert json.loads(result.attrs["map_fingerprints"]) == prints


def test_diagrams_of_candidates_have_bins_of_their_own() -> None:
    both = {"large": SOM, "small": SMALL}
    result = ss.evaluate(SAMPLES, both, metrics="shepard_diagram", bins=6)
    assert result["shepard_diagram"].dtype == np.int64
    for name, som in both.items():
        alone = metrics.shepard_diagram(SAMPLES, som, bins=6)
        own = result["shepard_diagram"].sel(candidate=name)
        np.testing.assert_array_equal(own, alone)
        for end in ("input_distance_low", "output_distance_high"):
            np.testing.assert_array_equal(own[end], alone[end])
    assert alone["input_distance_low"].attrs["units"] == "K"
    squared = metrics.shepard_diagram(SAMPLES, SOM, bins=6, distance="sqeuclidean")
    assert squared["input_distance_high"].attrs["units"] == "K^2"
    unlike: Any = {"a": ("shepard_diagram", {"bins": 4}), "b": ("shepard_diagram", {"bins": 5})}
    with pytest.raises(InputError, match="a and b have bins of their own"):
        ss.evaluate(SAMPLES, SOM, metrics=unlike)


def test_rows_and_columns_are_kept_where_all_candidates_have_them() -> None:
    turned = ss.codebook(VALUES[:12], ss.Grid(4, 3))
    alike = ss.evaluate(VALUES, {"a": SOM, "b": SOM}, cost="pairs")
    assert alike["row"].values.tolist() == SOM["row"].values.tolist()
    assert "row" not in ss.evaluate(VALUES, {"a": SOM, "b": turned}, cost="pairs").coords


def test_one_candidate_in_a_dict_has_the_dim_too() -> None:
    result = ss.evaluate(VALUES, {"only": SOM}, cost="pairs")
    assert result.sizes["candidate"] == 1
    alone = ss.evaluate(VALUES, SOM, cost="pairs")
    xr.testing.assert_equal(result.isel(candidate=0, drop=True).drop_vars("n_units"), alone)


def test_clusterings_are_candidates_too() -> None:
    # the first name is one that the engine uses itself
    both = {"labels": CLUSTERS, "other": LABELS % 2}
    result = ss.evaluate(None, both, labels=LABELS)
    for name, clusters in both.items():
        for spec in PARTITION_SPECS:
            found = value(result.sel(candidate=name), spec.name)
            np.testing.assert_array_equal(found, alone(spec, LABELS, clusters))
    assert json.loads(result.attrs["clusters_excluded"]) == {"labels": 0, "other": 0}
    with pytest.raises(InputError, match=f"{N - 1} other and {N} labels"):
        ss.evaluate(None, {"all": CLUSTERS, "other": LABELS[:-1]}, labels=LABELS)


# --- labels


def test_noise_and_missing_labels_go_by_policy() -> None:
    noisy = np.where(np.arange(N) % 10 == 0, -1, CLUSTERS)
    kept = noisy >= 0
    result = ss.evaluate(None, noisy, labels=LABELS, noise="ignore")
    expected = metrics.adjusted_rand_score(LABELS[kept], CLUSTERS[kept]).item()
    assert value(result, "adjusted_rand_score").item() == expected
    assert json.loads(result.attrs["clusters_excluded"]) == {"projection": N - kept.sum()}
    own = metrics.adjusted_rand_score(LABELS, noisy, noise="ignore")
    assert own.item() == expected
    gaps = np.where(kept, LABELS, np.nan)
    with pytest.raises(InputError, match=f"labels: {N - kept.sum()} of {N} are missing"):
        ss.evaluate(VALUES, SOM, labels=gaps)
    dropped = ss.evaluate(VALUES, SOM, labels=gaps, missing_labels="drop", cost="linear")
    assert dropped.attrs["labels_excluded"] == N - kept.sum()
    bmu = metrics.bmu(VALUES, SOM).values
    assert value(dropped, "purity").item() == metrics.purity(LABELS[kept], bmu[kept]).item()
    # the map itself is judged on all samples
    assert (
        value(dropped, "quantization_error").item()
        == metrics.quantization_error(VALUES, SOM).item()
    )


def test_masked_labels_are_missing() -> None:
    masked = np.ma.masked_equal(LABELS, 3)
    with pytest.raises(InputError, match="are missing, the first at position"):
        ss.evaluate(VALUES, SOM, labels=masked)


# --- degenerate samples and maps


def test_undefined_values_are_nan_with_a_reason() -> None:
    one_unit = ss.codebook([[0.0] * D], ss.Grid(1, 1))
    result = ss.evaluate(VALUES[:1], {"one": one_unit, "more": SOM})
    notes = dict(
        zip(result["metric"].values.tolist(), result["note"].values.T.tolist(), strict=True)
    )
    assert notes["topographic_error"] == ["a map of one unit has no second-best unit", ""]
    assert all("no variance to explain" in note for note in notes["explained_variance"])
    undefined = np.isnan(result["value"])
    assert (undefined == (result["note"] != "")).all()
    assert math.isnan(result["unit_topographic_error"].sel(candidate="one", unit=0))
    assert (result["second_bmu"].sel(candidate="one") == -1).all()


@pytest.mark.parametrize("lazy", [False, True])
def test_constant_samples(lazy: bool) -> None:
    samples = np.full((2500, D), 0.1)
    given = da.from_array(samples, chunks=400) if lazy else samples
    result = ss.evaluate(given, SOM, cost="pairs").compute()
    assert result["hits"].max() == 2500
    assert value(result, "dead_units").item() == 11
    undefined = result["metric"][np.isnan(result["value"])].values.tolist()
    no_distances = {s.name for s in PAIR_SPECS if s.scalar} - {"c_measure"}
    of_units = {"explained_variance", "codebook_davies_bouldin"}
    assert set(undefined) == of_units | no_distances
    assert value(result, "c_measure") == 0
    assert (result["note"][np.isnan(result["value"])] != "").all()
    assert np.isnan(result["unit_quantization_error"]).sum() == 11


# --- laziness


def refuse_to_compute(*_: Any, **__: Any) -> Any:
    raise AssertionError("something was computed")


ASKED: Any = [
    lambda x: ss.evaluate(x, SOM, temperature=TEMPERATURES, cost="pairs"),
    lambda x: ss.evaluate(x, {"large": SOM, "small": SMALL}, labels=LABELS, cost="pairs"),
    lambda x: ss.evaluate(x, CLUSTERS, labels=LABELS),
    lambda x: ss.evaluate(x, {"a": CLUSTERS, "b": LABELS}),
    lambda x: metrics.centroids(x, CLUSTERS).to_dataset(),
    lambda x: ss.project(x, SOM),
    *[
        (lambda x, name=spec.name: getattr(metrics, name)(x, SOM).to_dataset())
        for spec in MAP_SPECS
    ],
]


@pytest.mark.parametrize("number", range(len(ASKED)))
def test_dask_in_gives_dask_out_and_nothing_is_computed(number: int) -> None:
    ask = ASKED[number]
    with dask.config.set(scheduler=refuse_to_compute):
        lazy = ask(CHUNKED)
        repr(lazy)
    assert all(v.chunks is not None for n, v in lazy.data_vars.items() if n != "n_units")
    eager = ask(VALUES)
    for name, variable in lazy.variables.items():
        assert variable.shape == eager[name].shape
        assert name == "note" or variable.dtype == eager[name].dtype, name
    computed = lazy.compute()
    for name in eager.variables:
        found, expected = computed[name].values, eager[name].values
        assert found.astype(expected.dtype).tobytes() == expected.tobytes() or (
            expected.dtype == object and found.tolist() == expected.tolist()
        ), name
        assert computed[name].dims == eager[name].dims
    if "note" not in {key for v in eager.data_vars.values() for key in v.attrs}:
        xr.testing.assert_identical(computed, eager)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_a_lazy_result_is_the_same_on_any_scheduler(scheduler: str, everything: xr.Dataset) -> None:
    lazy = ss.evaluate(SAMPLES.chunk(time=700), SOM, labels=LABELS, cost="pairs", **VALUES_OF)
    xr.testing.assert_identical(lazy.compute(scheduler=scheduler), everything)


def test_a_cluster_gives_the_same_bits(everything: xr.Dataset) -> None:
    # port 0 is any that is free
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=":0", host="127.0.0.1"
        ) as local,
        Client(local),
    ):
        for samples in (SAMPLES, SAMPLES.chunk(time=700)):
            found = ss.evaluate(samples, SOM, labels=LABELS, cost="pairs", **VALUES_OF)
            xr.testing.assert_identical(found.compute(), everything)


def test_lazy_indices_computed_together_read_the_samples_once() -> None:
    seen: Counter[Any] = Counter()

    def read(block: NDArray[np.float64], block_id: Any) -> NDArray[np.float64]:
        seen[block_id] += 1
        return block

    counted = CHUNKED.map_blocks(read, dtype=np.float64)
    seen.clear()
    apart = [
        metrics.quantization_error(counted, SOM),
        metrics.topographic_error(counted, SOM),
        metrics.bmu(counted, SOM),
        ss.evaluate(counted, SMALL, metrics="hits")["hits"],
    ]
    assert not seen
    found = dask.compute(*apart, scheduler="threads")
    assert len(seen) == seen.total() == counted.npartitions
    for one, index, som in zip(
        found,
        (metrics.quantization_error, metrics.topographic_error, metrics.bmu, metrics.hits),
        (SOM, SOM, SOM, SMALL),
        strict=True,
    ):
        np.testing.assert_array_equal(one, index(VALUES, som))


def test_lazy_indices_of_one_pass_share_their_tasks() -> None:
    first, second = (
        metrics.quantization_error(CHUNKED, SOM),
        metrics.topographic_error(CHUNKED, SOM),
    )
    reads = [
        {key for key in dict(one.__dask_graph__()) if str(key).startswith("('read-")}
        for one in (first, second)
    ]
    assert reads[0]
    assert reads[0] == reads[1]


def test_lazy_indices_that_differ_are_told_apart() -> None:
    turned = ss.codebook(VALUES[:12], ss.Grid(4, 3))
    table = ss.codebook(VALUES[:12], ss.Grid.from_distances(ss.Grid(3, 4).distances()))
    far = ss.codebook(VALUES[:12], ss.Grid.from_distances(2 * ss.Grid(3, 4).distances()))
    asked: list[tuple[Any, Any, dict[str, Any]]] = [
        (metrics.quantization_error, SOM, {"kind": "mean"}),
        (metrics.quantization_error, SOM, {"kind": "squared"}),
        (metrics.topographic_error, SOM, {}),
        (metrics.topographic_error, SOM, {"neighborhood": "vertex"}),
        (metrics.topographic_error, turned, {}),
        (metrics.topographic_error, table, {}),
        (metrics.topographic_error, far, {}),
        (metrics.distortion, SOM, {"temperature": 1}),
        (metrics.distortion, SOM, {"temperature": 2}),
        (metrics.distortion, SOM, {"temperature": 2, "kernel": "window"}),
        (metrics.distortion, far, {"temperature": 2}),
    ]
    lazy = [index(CHUNKED, som, **own) for index, som, own in asked]
    labelled = [
        ss.evaluate(CHUNKED, SOM, metrics={"a": name})["value"]
        for name in ("quantization_error", "explained_variance")
    ]
    found = dask.compute(*lazy, *labelled)
    for one, (index, som, own) in zip(found, asked, strict=False):
        assert one.item() == index(VALUES, som, **own).item()
    assert found[-2].item() == metrics.quantization_error(VALUES, SOM).item()
    assert found[-1].item() == metrics.explained_variance(VALUES, SOM).item()
