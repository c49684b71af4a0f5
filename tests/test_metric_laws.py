"""What every index owes its users: its range, its name, its documentation, a few laws.

Those that a user's own index keeps as well are in test_testing.py.
"""

from __future__ import annotations

import inspect
import itertools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray

import somscale as ss
from somscale import metrics
from somscale.errors import InputError
from somscale.metrics.spec import MetricSpec, all_specs
from somscale.topology import KERNELS


@dataclass(frozen=True)
class Law:
    """How an index behaves.

    Attributes
    ----------
    scale : int
        Power of the factor by which samples and codes are scaled that its value has.
    twice : float or None
        Factor of its value when every sample occurs twice; None where it is no factor.
    ideal : float or None
        Value where each sample has a unit of its own in order, or for a partition compared
        with itself; None where that is no single number.
    symmetric : bool
        Whether labels and clusters may be swapped.
    """

    scale: int = 0
    twice: float | None = 1
    ideal: float | None = None
    symmetric: bool = False


# A new index is entered here: without it the first test below fails.
LAWS = {
    "quantization_error": Law(scale=1, ideal=0),
    "unit_quantization_error": Law(scale=1, ideal=0),
    "explained_variance": Law(ideal=1),
    "codes": Law(scale=1),
    "composite": Law(scale=1),
    "frequency": Law(),
    "rms_per_feature": Law(scale=1, ideal=0),
    "samples_dropped": Law(ideal=0),
    "features_dropped": Law(ideal=0),
    "hits": Law(twice=2, ideal=1),
    "simplified_silhouette": Law(ideal=1),
    "unit_simplified_silhouette": Law(ideal=1),
    "sample_simplified_silhouette": Law(ideal=1),
    "dead_units": Law(ideal=0),
    "topographic_error": Law(ideal=0),
    "unit_topographic_error": Law(ideal=0),
    "distortion": Law(scale=2),
    "unit_distortion": Law(scale=2),
    "distortion_parts": Law(scale=2),
    "bmu": Law(),
    "second_bmu": Law(),
    "distance": Law(scale=1, ideal=0),
    "pair_counts": Law(twice=None),
    "rand_score": Law(twice=None, ideal=1, symmetric=True),
    "adjusted_rand_score": Law(twice=None, ideal=1, symmetric=True),
    "pair_jaccard_score": Law(twice=None, ideal=1, symmetric=True),
    "fowlkes_mallows_score": Law(twice=None, ideal=1, symmetric=True),
    "purity": Law(ideal=1),
    "clustering_accuracy": Law(ideal=1, symmetric=True),
    "split_join_distance": Law(twice=2, ideal=0, symmetric=True),
    "mutual_info_score": Law(symmetric=True),
    "normalized_mutual_info_score": Law(ideal=1, symmetric=True),
    "adjusted_mutual_info_score": Law(twice=None, ideal=1, symmetric=True),
    "homogeneity_score": Law(ideal=1),
    "completeness_score": Law(ideal=1),
    "v_measure_score": Law(ideal=1, symmetric=True),
    "variation_of_information": Law(ideal=0, symmetric=True),
    "mirkin_metric": Law(twice=4, ideal=0, symmetric=True),
    "normalized_mirkin_metric": Law(ideal=0, symmetric=True),
    "pair_precision": Law(twice=None, ideal=1),
    "pair_recall": Law(twice=None, ideal=1),
    "pair_f_score": Law(twice=None, ideal=1, symmetric=True),
    "wallace_clusters_to_labels": Law(twice=None, ideal=1),
    "wallace_labels_to_clusters": Law(twice=None, ideal=1),
    "hubert_gamma": Law(twice=None, ideal=1, symmetric=True),
    "bcubed_precision": Law(ideal=1),
    "bcubed_recall": Law(ideal=1),
    "bcubed_f_score": Law(ideal=1, symmetric=True),
    "combined_error": Law(scale=1),
    "unit_combined_error": Law(scale=1),
    "topographic_function": Law(),
    "differential_topographic_function": Law(),
    "weighted_differential_topographic_function": Law(),
    "villmann_function": Law(ideal=0),
    "u_matrix": Law(scale=1, ideal=1),
    "hit_entropy": Law(),
    "codebook_davies_bouldin": Law(ideal=0),
    "map_distance_correlation": Law(ideal=1),
    "topographic_product": Law(ideal=0),
    "unit_topographic_product": Law(ideal=0),
    "zrehen_measure": Law(ideal=0),
    "unit_zrehen_measure": Law(ideal=0),
    "conn_index": Law(),
    "unit_intra_connectivity": Law(),
    # more samples make smaller differences significant
    "map_embedding_accuracy": Law(twice=None, ideal=1),
    "feature_ks_distance": Law(ideal=0),
    "feature_embedding_p_value": Law(twice=None, ideal=1),
    "feature_mean_difference": Law(twice=None),
    "feature_variance_ratio": Law(twice=None),
    "nmco": Law(ideal=0),
    "entropy_sum": Law(ideal=0),
    "class_scatter_index": Law(ideal=1),
    "unit_entropy": Law(ideal=0),
    "unit_label_entropy": Law(ideal=0),
    "label_distribution": Law(),
    "within_scatter": Law(scale=2, twice=2, ideal=0),
    "between_scatter": Law(scale=2, twice=2),
    "r_squared": Law(ideal=1),
    "calinski_harabasz_score": Law(twice=None, ideal=float("inf")),
    "xie_beni_index": Law(ideal=0),
    "davies_bouldin_index": Law(twice=None, ideal=0),
    "davies_bouldin_score": Law(ideal=0),
    "cluster_sizes": Law(twice=2),
    "cluster_within_scatter": Law(scale=2, twice=2, ideal=0),
    "cluster_radius": Law(scale=1, ideal=0),
    "cluster_dispersion": Law(scale=1, ideal=0),
    "centroids": Law(scale=1),
    "centroid_distances": Law(scale=1),
    "cluster_mean_distance": Law(scale=1, twice=None, ideal=0),
    "cluster_diameter": Law(scale=1, ideal=0),
    "cluster_separation": Law(scale=1),
    "cluster_distances": Law(scale=1),
    "dunn_index": Law(ideal=float("inf")),
    "generalized_dunn_index": Law(ideal=float("inf")),
    "silhouette_score": Law(twice=None, ideal=1),
    "centroid_silhouette": Law(ideal=1),
    "squared_silhouette": Law(twice=None, ideal=1),
    "cluster_silhouette": Law(twice=None, ideal=1),
    "sample_silhouette": Law(twice=None, ideal=1),
    "c_measure": Law(scale=1, twice=4),
    "kruskal_shepard_error": Law(twice=None),
    "metric_stress": Law(ideal=0),
    "sammon_stress": Law(ideal=0),
    "shepard_correlation": Law(twice=None, ideal=1),
    "shepard_rank_correlation": Law(twice=None, ideal=1),
    "shepard_diagram": Law(twice=None),
    # samples that occur twice are each other's nearest neighbours
    "q_nx": Law(twice=None, ideal=1),
    "r_nx": Law(twice=None, ideal=1),
    "lcmc": Law(twice=None),
    "u_n": Law(twice=None, ideal=0),
    "u_x": Law(twice=None, ideal=0),
    "b_nx": Law(twice=None, ideal=0),
    "neighborhood_jaccard": Law(twice=None, ideal=1),
    "neighborhood_hit": Law(twice=None),
    "trustworthiness": Law(twice=None, ideal=1),
    "continuity": Law(twice=None, ideal=1),
    "neighborhood_preservation": Law(twice=None, ideal=1),
    "mrre_intrusion": Law(twice=None, ideal=0),
    "mrre_extrusion": Law(twice=None, ideal=0),
    "k_max": Law(twice=None),
    "q_local": Law(twice=None, ideal=1),
    "q_global": Law(twice=None, ideal=1),
    "auc_r_nx": Law(twice=None, ideal=1),
    "mean_r_nx": Law(twice=None, ideal=1),
    # as published they are 1 where all ranks are kept, and reach 2 where they are not
    "rank_quality": Law(twice=None),
    "pointwise_rank_quality": Law(twice=None),
    "unit_rank_quality": Law(twice=None),
    "rank_regions": Law(twice=None),
    "coranking_matrix": Law(twice=None),
    "sample_q_nx": Law(twice=None, ideal=1),
    "sample_trustworthiness": Law(twice=None, ideal=1),
    "sample_continuity": Law(twice=None, ideal=1),
    "unit_q_nx": Law(twice=None, ideal=1),
    "unit_trustworthiness": Law(twice=None, ideal=1),
    "unit_continuity": Law(twice=None, ideal=1),
}
_TIES = ["index", "expected"]
CHOICES: dict[str, list[Any]] = {
    "beta": [1.0, 0.5, 2.0],
    "average_method": ["arithmetic", "geometric", "max", "min"],
    "kernel": list(KERNELS),
    "temperature": [0.4, 1.0, 3.0],
    "neighborhood": [None, "edge", "vertex"],
    "kind": ["mean", "squared", "rms"],
    "squared": [False, True],
    "normalize": [False, True],
    "delta": [[-1.0, 0, 0.5, 1, 2, 3], None],
    "dispersion": ["pairwise", "centroid", "rms"],
    "linkage": ["single", "complete", "average"],
    "average": ["micro", "macro"],
    "generalized_dunn_index.delta": [
        *("single", "complete", "average"),
        *("centroid", "average_to_centroid", "hausdorff"),
    ],
    "diameter": ["complete", "average", "centroid"],
    "power": [1, 2],
    "bins": [50, 7],
    "kruskal_shepard_error.form": ["survey", "somperf"],
    "metric_stress.form": ["raw", "normalized", "scale_normalized"],
    "distance": ["euclidean"],
    "p": [2],
    "k": [None],
    "kappa_s": [None],
    "kappa_t": [None],
    "k_max": [None, 1],
    "ties": _TIES,
    **{
        f"{name}.ties": [*_TIES, "weighted"]
        for kind in ("", "sample_", "unit_")
        for name in (f"{kind}trustworthiness", f"{kind}continuity")
    },
    "neighborhood_preservation.ties": [*_TIES, "weighted"],
    "space": [None],
    "norm": ["lueks", "region"],
    "normalizer": ["symmetric", "lee"],
    "unit_clusters": [None, "thirds"],  # of the units, however many there are
    "map_embedding_accuracy.test": ["ks", "moments"],
    "feature_embedding_p_value.test": ["ks", "mean", "variance"],
    "weighted": [False, True],
    "significance": [0.05, 0.4],
    "side": ["both", "row", "column"],
}
DATA = {
    "map": ["samples", "som"],
    "projection": ["samples", "projection"],
    "clusters": ["samples", "clusters"],
    "partition": ["labels", "clusters"],
    "units": ["labels", "units", "grid"],
}
each_spec = pytest.mark.parametrize("spec", all_specs(), ids=lambda spec: spec.name)


def test_every_index_is_classified() -> None:
    assert {spec.name for spec in all_specs()} == set(LAWS), "enter new indices in LAWS above"


@each_spec
def test_every_parameter_has_choices(spec: MetricSpec) -> None:
    known = set(CHOICES) | {name.partition(".")[2] for name in CHOICES}
    assert set(spec.defaults) <= known, "enter new parameters in CHOICES above"


# --- what is said of it


@each_spec
def test_it_is_public_under_its_name(spec: MetricSpec) -> None:
    function = getattr(metrics, spec.name)
    assert spec.name in metrics.__all__
    assert (function.__name__, function.spec) == (spec.name, spec)
    parameters = list(inspect.signature(function).parameters.values())
    data = DATA[spec.subject]
    assert [p.name for p in parameters[: len(data)]] == data
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters[len(data) :])
    assert set(spec.defaults) <= {p.name for p in parameters[len(data) :]}


@each_spec
def test_its_facts_are_complete(spec: MetricSpec) -> None:
    assert spec.direction in ("higher", "lower", "zero", "none")
    assert spec.cost in ("linear", "pairs", "ranks")
    assert not spec.lower >= spec.upper, "nan is an end that is not known"
    assert re.search(r"\b(18|19|20)\d\d\b", spec.source), "the source has no year"
    for text in (spec.long_name, spec.definition, spec.units, spec.family):
        assert text
        assert text == text.strip()
    own = spec.parameters_as_dims
    assert spec.dims[len(spec.dims) - len(own) :] == own
    assert {"data": 1, "data^2": 2}.get(spec.units, 0) == LAWS[spec.name].scale


@each_spec
def test_its_docstring_is_numpydoc(spec: MetricSpec) -> None:
    function = getattr(metrics, spec.name)
    text = inspect.cleandoc(function.__doc__)
    summary, _, rest = text.partition("\n")
    assert summary.endswith(".")
    assert len(summary) <= 100
    found = re.findall(r"^(\w[\w ]*)\n(-{3,})$", rest, re.MULTILINE)
    sections = [title for title, _ in found]
    assert all(len(title) == len(line) for title, line in found)
    order = ["Parameters", "Returns", "Raises", "Notes", "References"]
    assert sections == [title for title in order if title in sections]
    assert {"Parameters", "Returns", "Raises", "References"} <= set(sections)
    body = dict(
        zip(sections, re.split(r"^\w[\w ]*\n-{3,}$", rest, flags=re.MULTILINE)[1:], strict=True)
    )
    documented = re.findall(r"^(\w[\w, ]*) :", body["Parameters"], re.MULTILINE)
    names = [name for line in documented for name in line.split(", ")]
    assert names == list(inspect.signature(function).parameters)
    assert spec.range in body["Returns"]
    assert spec.source in body["References"]


# --- what its values are

Problem = tuple[Any, ...]


def map_problems() -> dict[str, Problem]:
    rng = np.random.default_rng(0)
    plain, grid = rng.standard_normal((60, 3)), ss.Grid(3, 4)
    integers = rng.integers(0, 3, (60, 2))
    star = ss.Grid.from_edges(5, [(0, 1), (0, 2), (0, 3), (0, 4)])
    return {
        "gaussian": (plain, ss.codebook(rng.standard_normal((12, 3)), grid)),
        "far from the map": (plain + 30, ss.codebook(rng.standard_normal((12, 3)), grid)),
        "ties": (integers, ss.codebook(integers[:12], grid)),
        "one code": (plain, ss.codebook(np.zeros((5, 3)), star)),
        "one unit": (plain, ss.codebook([[0.0, 0, 0]], ss.Grid(1, 1))),
        "one sample": (plain[:1], ss.codebook(plain[:5], star)),
        "one of each": (plain[:1], ss.codebook(plain[:1], ss.Grid.chain(1))),
        "constant": (np.full((60, 3), 0.1), ss.codebook(plain[:12], grid)),
        "fitted": (plain, ss.codebook(plain, ss.Grid(6, 10, topology="hexagonal"))),
        "offset": (plain + 1e8, ss.codebook(plain[:12] + 1e8, grid)),
    }


def projection_problems() -> dict[str, Problem]:
    rng = np.random.default_rng(1)
    plain = rng.standard_normal((60, 3))
    integers = rng.integers(0, 3, (60, 2))
    embeddings = {
        "embedding": (plain, plain[:, :2] + rng.standard_normal((60, 2)) / 9),
        "the samples": (plain, plain),
        "one component": (plain, plain[:, :1]),
        "ties in both": (integers, integers[:, ::-1]),
        "collapsed": (plain, np.zeros((60, 2))),
        "equal samples": (np.full((60, 3), 0.1), plain),
        "two samples": (plain[:2], plain[:2, :2]),
        "one sample, embedded": (plain[:1], plain[:1, :2]),
        "far off": (plain + 1e8, plain),
    }
    return {**map_problems(), **embeddings}


def cluster_problems() -> dict[str, Problem]:
    rng = np.random.default_rng(0)
    plain, clusters = rng.standard_normal((60, 3)), rng.integers(0, 4, 60)
    return {
        "random": (plain, clusters),
        "apart": (plain + 9 * clusters[:, None], clusters),
        "ties": (rng.integers(0, 3, (60, 2)), clusters),
        "one cluster": (plain, np.zeros(60, int)),
        "singletons": (plain, np.arange(60)),
        "one sample": (plain[:1], ["a"]),
        "points": (np.repeat(plain[:4], 15, axis=0), np.repeat(np.arange(4), 15)),
        "constant": (np.full((60, 3), 0.1), clusters),
        "one point twice": (np.full((60, 3), 0.1) * (clusters > 1)[:, None], clusters),
        "concentric": (np.array([[-1.0], [1], [-2], [2], [9]]), [0, 0, 1, 1, 2]),
        "gaps and texts": (plain, np.array(["x", "y", "zz"])[clusters % 3]),
        "offset": (plain + 1e8, clusters),
    }


def partition_problems() -> dict[str, Problem]:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 60)
    return {
        "random": (labels, rng.integers(0, 7, 60)),
        "alike": (labels, np.where(rng.random(60) < 0.2, 0, labels)),
        "equal": (labels, labels + 5),
        "one cluster": (labels, np.zeros(60, int)),
        "one class": (np.zeros(60, int), labels),
        "both one": (np.zeros(60, int), np.zeros(60, int)),
        "singletons": (labels, np.arange(60)),
        "both singletons": (np.arange(60), np.arange(60)[::-1]),
        "opposed": (np.repeat([0, 1], 30), np.tile([0, 1], 30)),
        "one sample": ([3], ["a"]),
        "texts": (["a", "b", "b"], ["x", "x", "y"]),
    }


def units_problems() -> dict[str, Problem]:
    rng = np.random.default_rng(0)
    labels, grid = rng.integers(0, 4, 60), ss.Grid(3, 4)
    units = rng.integers(0, 12, 60)
    return {
        "random": (labels, units, grid),
        "in order": (units // 3, units, grid),
        "dead units": (labels, units // 4, grid),
        "one unit": (labels, np.zeros(60, int), ss.Grid.chain(1)),
        "one class": (np.zeros(60, int), units, grid),
        "apart": (labels, units % 3, ss.Grid.from_distances(np.ones((3, 3)) * 5 - np.eye(3) * 5)),
        "one sample": (["a"], [3], grid),
        "texts": (["a", "b", "b"], [0, 1, 11], grid),
        "hexagons": (labels, units, ss.Grid(3, 4, topology="hexagonal")),
    }


PROBLEMS = {
    "map": map_problems(),
    "projection": projection_problems(),
    "clusters": cluster_problems(),
    "partition": partition_problems(),
    "units": units_problems(),
}
USUAL = {
    "map": "gaussian",
    "projection": "embedding",
    "clusters": "random",
    "partition": "random",
    "units": "random",
}


def refused(spec: MetricSpec, problem: Problem, parameters: dict[str, Any]) -> str | None:
    """Why a form is refused: few units are not normalised, one sample has no ranks."""
    if spec.name == "topographic_function":
        small = parameters["normalize"] and problem[1].sizes["unit"] <= 9
        return "cannot be normalised" if small else None
    if spec.name == "coranking_matrix" and len(problem[0]) == 1:
        return "one sample has no neighbours"
    return None


def variants(spec: MetricSpec) -> list[dict[str, Any]]:
    """Every combination of its parameters' choices."""
    names = list(spec.defaults)
    own = (CHOICES.get(f"{spec.name}.{name}") or CHOICES[name] for name in names)
    chosen = itertools.product(*own)
    return [dict(zip(names, values, strict=True)) for values in chosen]


def value(spec: MetricSpec, problem: Problem, **parameters: Any) -> xr.DataArray:
    if "agreement" in spec.tables:
        first = np.asarray(problem[0])[:, 0]
        parameters["labels"] = first > first.mean()
    if "unit_clusters" in spec.defaults and parameters.get("unit_clusters", True):
        size = problem[1].sizes["unit"]
        parameters["unit_clusters"] = np.arange(size) * 3 // size
    found: xr.DataArray = getattr(metrics, spec.name)(*problem, **parameters)
    return found


@each_spec
def test_its_values_lie_in_its_range_or_are_undefined_for_a_reason(spec: MetricSpec) -> None:
    for name, problem in PROBLEMS[spec.subject].items():
        for parameters in variants(spec):
            if (why := refused(spec, problem, parameters)) is not None:
                with pytest.raises(InputError, match=why):
                    value(spec, problem, **parameters)
                continue
            found = value(spec, problem, **parameters)
            facts = spec.with_parameters(parameters)
            assert found.attrs["range"] == facts.range
            undefined = np.isnan(found.values)
            defined = found.values[~undefined]
            where = f"{name}, {parameters}"
            assert not (defined < facts.lower).any(), where
            assert not (defined > facts.upper).any(), where
            if undefined.any():
                reason = found.attrs.get("note" if spec.scalar else "undefined")
                assert reason, where


@each_spec
def test_it_scales_with_the_samples_as_its_units_say(spec: MetricSpec) -> None:
    if spec.subject not in ("map", "clusters") and spec.family != "ranks":
        return
    samples, projection = PROBLEMS[spec.subject][USUAL[spec.subject]]
    larger = samples * 8, projection / 4 if spec.subject == "projection" else projection
    if spec.subject == "map":
        larger = samples * 8, projection.assign(codes=projection["codes"] * 8)
    for parameters in variants(spec):
        before = value(spec, (samples, projection), **parameters)
        after = value(spec, larger, **parameters)
        power = {"data": 1, "data^2": 2}.get(spec.with_parameters(parameters).units, 0)
        np.testing.assert_array_equal(after, before * 8**power)


@each_spec
def test_samples_that_occur_twice(spec: MetricSpec) -> None:
    factor = LAWS[spec.name].twice
    if factor is None:
        return
    samples, projection, *rest = PROBLEMS[spec.subject][USUAL[spec.subject]]
    before = value(spec, (samples, projection, *rest))
    second = projection if spec.subject == "map" else np.repeat(projection, 2, axis=0)
    after = value(spec, (np.repeat(samples, 2, axis=0), second, *rest))
    expected = np.repeat(before, 2) if "sample" in spec.dims else before * factor
    np.testing.assert_allclose(after, expected, rtol=1e-13)


@each_spec
def test_it_is_best_where_all_is_well(spec: MetricSpec) -> None:
    ideal = LAWS[spec.name].ideal
    if ideal is None:
        return
    labels = np.arange(60) // 7
    chain = np.arange(60.0)[:, None]
    well: dict[str, Problem] = {
        "map": (chain, ss.codebook(chain, ss.Grid.chain(60))),
        "projection": (chain, chain),
        "clusters": (chain // 7, labels),
        "partition": (labels, labels),
        "units": (labels, np.arange(60), ss.Grid.chain(60)),
    }
    # ties that both spaces have are kept only where one rule decides them in both
    ties = {"ties": "index"} if "ties" in spec.defaults else {}
    best = value(spec, well[spec.subject], **ties).values
    np.testing.assert_array_equal(best, np.full_like(best, ideal))
    # and no worse anywhere
    worst: NDArray[Any] = np.concatenate(
        [np.ravel(value(spec, problem).values) for problem in PROBLEMS[spec.subject].values()]
    )
    if spec.direction == "lower":
        assert np.nanmin(worst) >= ideal
    if spec.direction == "higher":
        assert np.nanmax(worst) <= ideal


@pytest.mark.parametrize("name", [name for name, law in LAWS.items() if law.symmetric])
def test_labels_and_clusters_may_be_swapped(name: str) -> None:
    for labels, clusters in PROBLEMS["partition"].values():
        index = getattr(metrics, name)
        np.testing.assert_array_equal(index(labels, clusters), index(clusters, labels))
