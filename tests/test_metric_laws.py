"""What every index owes its users: its range, its name, its documentation, a few laws."""

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
    "hits": Law(twice=2, ideal=1),
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
}
CHOICES: dict[str, list[Any]] = {
    "kernel": list(KERNELS),
    "temperature": [0.4, 1.0, 3.0],
    "neighborhood": [None, "edge", "vertex"],
    "kind": ["mean", "squared", "rms"],
}
each_spec = pytest.mark.parametrize("spec", all_specs(), ids=lambda spec: spec.name)


def test_every_index_is_classified() -> None:
    assert {spec.name for spec in all_specs()} == set(LAWS), "enter new indices in LAWS above"


@each_spec
def test_every_parameter_has_choices(spec: MetricSpec) -> None:
    assert set(spec.defaults) <= set(CHOICES), "enter new parameters in CHOICES above"


# --- what is said of it


@each_spec
def test_it_is_public_under_its_name(spec: MetricSpec) -> None:
    function = getattr(metrics, spec.name)
    assert spec.name in metrics.__all__
    assert (function.__name__, function.spec) == (spec.name, spec)
    parameters = list(inspect.signature(function).parameters.values())
    data = ["samples", "som"] if spec.subject == "map" else ["labels", "clusters"]
    assert [p.name for p in parameters[:2]] == data
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters[2:])
    assert set(spec.defaults) <= {p.name for p in parameters[2:]}


@each_spec
def test_its_facts_are_complete(spec: MetricSpec) -> None:
    assert spec.direction in ("higher", "lower", "zero", "none")
    assert spec.cost in ("linear", "pairs", "ranks")
    assert spec.lower < spec.upper
    assert re.search(r"\b(18|19|20)\d\d\b", spec.source), "the source has no year"
    for text in (spec.long_name, spec.definition, spec.units, spec.family):
        assert text
        assert text == text.strip()
    assert (spec.parameter is None) == (not spec.dims or spec.dims[-1] != spec.parameter)
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

Problem = tuple[Any, Any]


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


PROBLEMS = {"map": map_problems(), "partition": partition_problems()}


def variants(spec: MetricSpec) -> list[dict[str, Any]]:
    """Every combination of its parameters' choices."""
    names = list(spec.defaults)
    chosen = itertools.product(*(CHOICES[name] for name in names))
    return [dict(zip(names, values, strict=True)) for values in chosen]


def value(spec: MetricSpec, problem: Problem, **parameters: Any) -> xr.DataArray:
    found: xr.DataArray = getattr(metrics, spec.name)(*problem, **parameters)
    return found


@each_spec
def test_its_values_lie_in_its_range_or_are_undefined_for_a_reason(spec: MetricSpec) -> None:
    for name, problem in PROBLEMS[spec.subject].items():
        for parameters in variants(spec):
            found = value(spec, problem, **parameters)
            facts = spec.with_parameters(parameters)
            assert found.attrs["range"] == facts.range
            undefined = np.isnan(found.values)
            defined = found.values[~undefined]
            where = f"{name}, {parameters}"
            assert (defined >= facts.lower).all(), where
            assert (defined <= facts.upper).all(), where
            if undefined.any():
                reason = found.attrs.get("note" if spec.scalar else "undefined")
                assert reason, where


@each_spec
def test_it_scales_with_the_samples_as_its_units_say(spec: MetricSpec) -> None:
    if spec.subject != "map":
        return
    samples, som = PROBLEMS["map"]["gaussian"]
    larger = samples * 8, som.assign(codes=som["codes"] * 8)
    for parameters in variants(spec):
        before, after = value(spec, (samples, som), **parameters), value(spec, larger, **parameters)
        power = {"data": 1, "data^2": 2}.get(spec.with_parameters(parameters).units, 0)
        np.testing.assert_array_equal(after, before * 8**power)


@each_spec
def test_samples_that_occur_twice(spec: MetricSpec) -> None:
    factor = LAWS[spec.name].twice
    if factor is None:
        return
    samples, projection = PROBLEMS[spec.subject]["gaussian" if spec.subject == "map" else "random"]
    before = value(spec, (samples, projection))
    second = projection if spec.subject == "map" else np.repeat(projection, 2)
    after = value(spec, (np.repeat(samples, 2, axis=0), second))
    expected = np.repeat(before, 2) if "sample" in spec.dims else before * factor
    np.testing.assert_allclose(after, expected, rtol=1e-13)


@each_spec
def test_the_order_of_the_samples_is_nothing_to_it(spec: MetricSpec) -> None:
    order = np.random.default_rng(1).permutation(60)
    first, second = PROBLEMS[spec.subject]["gaussian" if spec.subject == "map" else "random"]
    turned = (first[order], second if spec.subject == "map" else second[order])
    before = value(spec, (first, second)).values
    expected = before[order] if "sample" in spec.dims else before
    np.testing.assert_allclose(value(spec, turned), expected, rtol=1e-13)


@each_spec
def test_it_is_best_where_all_is_well(spec: MetricSpec) -> None:
    ideal = LAWS[spec.name].ideal
    if ideal is None:
        return
    labels = np.arange(60) // 7
    chain = np.arange(60.0)[:, None]
    well = (
        (chain, ss.codebook(chain, ss.Grid.chain(60)))
        if spec.subject == "map"
        else (labels, labels)
    )
    best = value(spec, well).values
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
