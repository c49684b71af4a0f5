"""The public checks: all that is built in keeps the laws, and each law can be seen broken."""

from __future__ import annotations

import doctest
import importlib
import itertools
import pkgutil
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray

import somscale as ss
import somscale.reductions
from somscale import extending, testing
from somscale.engine.linear import run as linear_run
from somscale.engine.linear.job import LinearJob
from somscale.engine.pairs import run as pairs_run
from somscale.engine.pairs.job import PairJob
from somscale.errors import InputError, UnknownMetricError
from somscale.metrics import spec as registry
from somscale.metrics.spec import all_specs
from somscale.reductions.base import Field, Side, Way, Workspace
from somscale.spaces import DISTANCES, make_space
from somscale.testing.cases import UNITS, plain_cases

Array = NDArray[Any]
THIRDS = {"unit_clusters": np.arange(UNITS) * 3 // UNITS}
PLACES = {"codes", "composite", "centroids"}
"""Indices that are places among the samples, and move with them."""


# --- all that is built in


def built_in() -> list[Any]:
    """The checks of all indices: those of one subject share what is computed."""
    specs = [(s, "unit_clusters" in s.defaults, s.name in PLACES) for s in all_specs()]
    checks = []
    for clusters, places in itertools.product((False, True), repeat=2):
        names = [s.name for s, *own in specs if own == [clusters, places]]
        if names:
            parameters = THIRDS if clusters else {}
            without = ["translation"] if places else []
            checks += testing.checks_of_metric(names, parameters=parameters, without=without)
    return checks


@pytest.mark.parametrize("check", built_in(), ids=str)
def test_every_index_keeps_the_laws(check: Any) -> None:
    check()


def test_places_do_not_keep_the_law_that_they_are_spared() -> None:
    for name in sorted(PLACES):
        with pytest.raises(AssertionError, match=f"^{name} breaks the law 'translation'"):
            testing.check_metric(name, without=laws_but("translation", name))


@pytest.mark.parametrize("features", [5, 20])
@pytest.mark.parametrize("name", DISTANCES)
def test_every_distance_keeps_the_laws(name: str, features: int) -> None:
    samples = np.random.default_rng(0).standard_normal((24, features))
    summed = name in ("cityblock", "chebyshev", "minkowski")
    exact = summed or (features == 5 and name.endswith("euclidean"))
    # with its default power "minkowski" is another distance
    distance = make_space(name, p=3) if name == "minkowski" else name
    testing.check_space(distance, samples=samples, rounding=0 if exact else 2e-12)


def asked() -> None:
    """Ask for what takes every reduction."""
    (on_map,), (embedded, _), (clustered,) = (
        plain_cases(subject, 0) for subject in ("map", "projection", "clusters")
    )
    x, som, classes = on_map.samples, on_map.projection, on_map.labels
    names = [s.name for s in all_specs() if s.subject in ("map", "projection")]
    ss.evaluate(x, som, metrics=names, labels=classes, **THIRDS)
    ss.evaluate(clustered.samples, clustered.projection, labels=classes)
    ss.evaluate(embedded.samples, embedded.projection, sample_anchors=10)
    gaps = np.where(np.arange(x.size).reshape(x.shape) == 7, np.nan, x)
    ss.evaluate(gaps, som, missing="partial")
    ss.metrics.quantization_error(gaps, som, missing="drop_any_feature")
    ss.train(x, ss.Grid(3, 4), epochs=1, seed=0)
    ss.compare(x, {"a": som, "b": som}, metrics=["quantization_error"])
    halves = {"a": clustered.projection, "b": clustered.projection[::-1]}
    ss.compare(clustered.samples, halves, labels=classes, metrics=["purity"])
    ss.metrics.p_matrix(x, som)
    ss.metrics.generalized_dunn_index(clustered.samples, clustered.projection, delta="hausdorff")
    for keep in ("lists", "ranks"):
        kept = ss.CoRanking(embedded.samples, k_max=3, keep=keep)
        kept.curves(embedded.projection, ["q_nx"], [1, 3])


@pytest.fixture(scope="module")
def reductions() -> dict[str, list[tuple[Any, Any, int]]]:
    """Reductions of every class as passes run them: with their job, and their place in it."""
    found: dict[tuple[str, str], tuple[Any, Any, int]] = {}

    def seeing(plan: Callable[..., Any]) -> Callable[..., Any]:
        def seen(job: Any, **where: Any) -> Any:
            for place, reduction in enumerate(job.reductions):
                # planned first, and again once it is told what it needs to know
                found[type(reduction).__name__, reduction.name] = (reduction, job, place)
            return plan(job, **where)

        return seen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear_run, "plan_linear", seeing(linear_run.plan_linear))
        patch.setattr(pairs_run, "plan_pairs", seeing(pairs_run.plan_pairs))
        asked()
    by_class: dict[str, list[tuple[Any, Any, int]]] = {}
    for (name, _), entry in found.items():
        by_class.setdefault(name, []).append(entry)
    return by_class


def classes_of_reductions() -> set[str]:
    """Classes that are run by themselves, not inside of a walk."""
    found = set()
    for module in pkgutil.iter_modules(somscale.reductions.__path__, "somscale.reductions."):
        if module.name.endswith(".base"):
            continue
        for name, own in vars(importlib.import_module(module.name)).items():
            run = hasattr(own, "wants") or (hasattr(own, "side") and hasattr(own, "fields"))
            if isinstance(own, type) and run and not name.startswith("_"):
                found.add(name)
    return found


# these fill matrices of a workspace and merge nothing
FILLING = {"DistanceBlocks", "RankRowsWalk"}


def test_no_reduction_is_forgotten(reductions: dict[str, Any]) -> None:
    assert set(reductions) == classes_of_reductions() - FILLING


@pytest.mark.parametrize("name", sorted(classes_of_reductions() - FILLING))
def test_every_reduction_keeps_the_laws(reductions: dict[str, Any], name: str) -> None:
    for reduction, job, place in reductions[name]:
        samples: Array = np.zeros((job.n_rows, 0))
        if job.source is not None and job.n_features:
            samples = job.source.read(slice(0, job.n_rows), slice(0, job.n_features))
        before = job.reductions[:place] if isinstance(job, LinearJob) else ()
        assert isinstance(job, LinearJob | PairJob)
        matrix = getattr(job, "matrix", None)
        if matrix is not None:
            matrix = matrix.read(slice(0, job.n_rows), slice(0, job.n_rows))
        given = {"columns": job.columns, "matrix": matrix, "after": before}
        testing.check_reduction(reduction, samples, **given)


# --- every law can be seen broken


@pytest.fixture
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test declares is forgotten after it."""
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))


def laws_but(law: str, index: Any) -> list[str]:
    return [check.law for check in testing.checks_of_metric(index) if check.law != law]


FACTS: dict[str, Any] = {
    "long_name": "an index",
    "definition": "some formula",
    "direction": "lower",
    "source": "nobody 2000",
}


def of_map(formula: Callable[..., Any], **facts: Any) -> Any:
    given = {**FACTS, "needs": ("units",), **facts}
    return extending.map_index(**given)(formula)


def of_clusters(formula: Callable[..., Any], **facts: Any) -> Any:
    return extending.clusters_index(**{**FACTS, **facts})(formula)


def share(units: Any) -> float:
    return float(units.hits.max() / units.hits.sum())


def counting() -> Callable[..., float]:
    """A formula whose value is another one at every call."""
    calls = itertools.count()

    def counter(units: Any) -> float:
        return float(next(calls))

    return counter


def spoiling(units: Any) -> float:
    units.squares[0] += 1
    return float(units.squares[0])


def half_defined(units: Any) -> float:
    return float("nan") if units.n_samples == 1 else 0.0


def by_place(units: Any) -> Any:
    return units.distance * np.arange(len(units.distance))


def mean_square(units: Any) -> float:
    return float(units.squares.sum() / units.n_samples)


def mean_place(units: Any) -> float:
    return float(abs(units.codes).mean())


def first_cluster(moments: Any) -> float:
    return float(moments.hits[0])


class Posing:
    """A public function that does something else than the index that it stands for."""

    def __init__(self, name: str, act: Callable[..., Any]) -> None:
        self.index = getattr(ss.metrics, name)
        self.spec, self.act, self.__name__ = self.index.spec, act, name

    def __call__(self, *data: Any, **parameters: Any) -> Any:
        return self.act(self.index, *data, **parameters)


BROKEN_INDICES: dict[str, tuple[str, Callable[[], Any], str]] = {
    "type": (
        "facts",
        lambda: of_map(share, dtype="int64"),
        "its dtype is declared as 'int64', but the value has 'float64'",
    ),
    "empty text": ("facts", lambda: of_map(share, source=" "), "its source is ' '"),
    "empty range": ("facts", lambda: of_map(share, lower=2.0, upper=1.0), r"range \[2, 1\]"),
    "too large": ("range", lambda: of_map(share, upper=0.1), "above its greatest value 0.1"),
    "too small": ("range", lambda: of_map(share, lower=0.9), "below its least value 0.9"),
    "no reason": ("range", lambda: of_map(half_defined), r"nan, and neither .*'one sample'"),
    "takes anything": (
        "refusals",
        lambda: Posing("topographic_error", lambda index, x, som, **_: index(x, som)),
        "it takes no_such_parameter=1 as if it knew it",
    ),
    "changes hits": ("repeat", lambda: of_map(spoiling), "asking twice at once, the second time"),
    "another value alone": (
        "alone",
        lambda: Posing("quantization_error", lambda index, *data, **_: index(*data) + 1),
        r"from its own function, but \d\S+ from evaluate",
    ),
    "chunks": (
        "chunks",
        lambda: of_map(counting()),
        r"from an array in memory, but \S+ from a Dask array of chunks ragged \(\(7, 1",
    ),
    "schedulers": ("schedulers", lambda: of_map(counting()), "from the scheduler 'serial'"),
    "eager": (
        "laziness",
        lambda: Posing("topographic_error", lambda index, x, som: index(np.array(x), som)),
        "it computes a Dask array of samples before its value is asked for",
    ),
    "not lazy": (
        "laziness",
        lambda: Posing("topographic_error", lambda *_: xr.DataArray(0.0)),
        "it is computed at once",
    ),
    "candidates": ("candidates", lambda: of_map(counting()), "from candidate 'a' of two"),
    "order": (
        "order",
        lambda: of_map(by_place, dims=("sample",), sample_field="distance"),
        "from the same samples in another order",
    ),
    "precision": (
        "precision",
        lambda: of_map(counting()),
        "from samples in float64, but .* from the same samples in float32",
    ),
    "scale": (
        "scale",
        lambda: of_map(mean_square, units="data"),
        r"from its units 'data' \(8\^1 times the value before\), but \S+ from samples times 8",
    ),
    "no scale": ("scale", lambda: of_map(mean_square), "from its units '1'"),
    "translation": ("translation", lambda: of_map(mean_place), "from samples shifted by"),
    "labels": ("labels", lambda: of_clusters(first_cluster), "from other numbers for the same"),
}


@pytest.mark.usefixtures("_own_registry")
@pytest.mark.parametrize("fault", BROKEN_INDICES)
def test_a_broken_index_is_caught(fault: str) -> None:
    law, make, sentence = BROKEN_INDICES[fault]
    index = make()
    with pytest.raises(AssertionError, match=sentence) as caught:
        testing.check_metric(index, without=laws_but(law, index))
    message = str(caught.value)
    assert message.startswith(f"{index.__name__} breaks the law {law!r}: ")
    assert message.endswith("seed 0)")


def test_a_fault_is_listed_for_every_law() -> None:
    laws = {check.law for check in testing.checks_of_metric(["quantization_error", "r_squared"])}
    assert laws == {law for law, *_ in BROKEN_INDICES.values()}


@pytest.mark.usefixtures("_own_registry")
def test_an_own_index_by_its_function_and_by_its_name() -> None:
    def scaled_share(units: Any, *, power: float = 1.0) -> float:
        return share(units) ** power

    index = of_map(scaled_share, upper=1.0)
    testing.check_metric(index, seed=3)
    testing.check_metric("scaled_share", parameters={"power": 2.0})
    with pytest.raises(AssertionError, match="above its greatest value 1"):
        testing.check_metric("scaled_share", parameters={"power": -1.0})
    with pytest.raises(InputError, match="scaled_share has no parameter 'other'"):
        testing.check_metric(index, parameters={"other": 1})


@pytest.mark.usefixtures("_own_registry")
def test_an_error_of_a_formula_says_on_what() -> None:
    def inverse(units: Any) -> float:
        return 1 / (units.n_samples - 1)

    index = of_map(inverse, needs=("units",))
    with pytest.raises(ZeroDivisionError) as caught:
        testing.check_metric(index)
    assert "inverse fails on case 'one sample', seed 0" in caught.value.__notes__


@pytest.mark.usefixtures("_own_registry")
def test_an_index_that_refuses_plain_data_is_caught() -> None:
    def refusing(units: Any) -> float:
        raise InputError("not today")

    with pytest.raises(AssertionError, match="'facts': it refuses: not today"):
        testing.check_metric(of_map(refusing))


@pytest.mark.parametrize(
    ("index", "options", "error", "sentence"),
    [
        ("purityy", {}, UnknownMetricError, "did you mean 'purity'"),
        (share, {}, InputError, "is no index; give its name, or what a decorator"),
        ([], {}, InputError, "there is no index to check"),
        ("purity", {"without": ["speed"]}, InputError, "without='speed' names no law of purity"),
    ],
)
def test_what_is_no_index_is_refused(
    index: Any, options: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        testing.check_metric(index, **options)


# --- distances


def manhattan(left: Array, right: Array) -> Array:
    found: Array = np.abs(left[:, None] - right[None]).sum(axis=2)
    return found


def in_place(left: Array, right: Array) -> Array:
    found = manhattan(left, right)
    left += 1
    return found


def centring(left: Array, right: Array) -> Array:
    if not left.flags.writeable:
        raise ValueError("assignment destination is read-only")
    return manhattan(left, right)


def restless() -> Callable[[Array, Array], Array]:
    calls = itertools.count(1)
    return lambda left, right: manhattan(left, right) * next(calls)


def single_offset(left: Array, right: Array) -> Array:
    return manhattan(left, right) * (2 if left.dtype == np.float32 else 1)


BROKEN_DISTANCES: dict[str, tuple[str, Callable[[Array, Array], Any], str]] = {
    "of two vectors": ("shape", lambda a, b: abs(a - b).sum(), "make it fail"),
    "one number": ("shape", lambda a, b: np.float64(1), r"of shape \(\), not real numbers of"),
    "texts": ("shape", lambda a, b: np.full((len(a), len(b)), "x"), "<U1 of shape"),
    "nan": ("finite", lambda a, b: manhattan(a, b) * np.nan, r"nan, at \[0, 0\] is not finite"),
    "negative": ("sign", lambda a, b: -manhattan(a, b), "is negative"),
    "similarity": ("self", lambda a, b: 1 / (1 + manhattan(a, b)), "1.0, at .* to itself"),
    "one-sided": (
        "symmetry",
        lambda a, b: np.maximum(a[:, None] - b[None], 0).sum(axis=2),
        r"not \d\S+, at \[0, 0\] with the blocks swapped",
    ),
    "of the block": (
        "blocks",
        lambda a, b: manhattan(a, b) / max(1, abs(a).max()),
        r"not \S+, at .* in blocks of 1 and 3 rows instead of 16 and 12",
    ),
    "rounded anew": ("blocks", lambda a, b: manhattan(a, b) + len(a) * 1e-12, "in blocks of 1"),
    "restless": ("repeat", restless(), "when it is called again"),
    "changes samples": ("input", in_place, "of the samples after the call"),
    "wants to write": ("input", centring, "samples that cannot be written make it fail"),
    "single": ("precision", single_offset, "of samples in float32"),
}


@pytest.mark.parametrize("fault", BROKEN_DISTANCES)
def test_a_broken_distance_is_caught(fault: str) -> None:
    law, distance, sentence = BROKEN_DISTANCES[fault]
    without = [check.law for check in testing.checks_of_space(distance) if check.law != law]
    with pytest.raises(AssertionError, match=sentence) as caught:
        testing.check_space(distance, without=without)
    name = getattr(distance, "__name__", "")
    assert str(caught.value).startswith(f"{name} breaks the law {law!r}: ")
    assert str(caught.value).endswith("(24 samples of 5 features, seed 0)")


def test_a_fault_is_listed_for_every_law_of_distances() -> None:
    laws = {check.law for check in testing.checks_of_space("euclidean")}
    assert laws == {law for law, *_ in BROKEN_DISTANCES.values()}


def test_products_need_some_rounding() -> None:
    def hellinger(left: Array, right: Array) -> Array:
        a, b = (np.sqrt(block / block.sum(axis=1, keepdims=True)) for block in (left, right))
        found: Array = np.sqrt(np.clip(1 - a @ b.T, 0, None))
        return found

    samples = np.random.default_rng(0).random((24, 20))
    testing.check_space(hellinger, samples=samples, rounding=1e-12)
    with pytest.raises(AssertionError, match="'finite'"), np.errstate(invalid="ignore"):
        testing.check_space(hellinger)  # it is meant for positive numbers
    with pytest.raises(InputError, match=r"6 samples at least, not float64 of shape \(5, 20\)"):
        testing.check_space(hellinger, samples=samples[:5])


# --- reductions


class Sums:
    """A plain linear reduction: sums of the features."""

    name = "sums"
    tile_rows: int | None = 8
    sweeps = 1
    operations = 1.0
    workspace = Workspace()
    fields: ClassVar[dict[str, Field]] = {"total": Field("sum", shape=(3,))}

    def begin(self, rows: Any, partial: Any) -> Any:
        return partial

    def wants(self, sweep: int, state: Any) -> bool:
        return True

    def sweep(self, sweep: int, state: Any, first_feature: int, values: Array) -> None:
        for row in values:  # in the same order for every cut
            state["total"][first_feature : first_feature + len(row)] += row

    def end(self, state: Any) -> None:
        pass

    def finalize(self, total: Any) -> Any:
        return total["total"]


class UnknownMerge(Sums):
    fields: ClassVar[dict[str, Field]] = {"total": Field("mean", shape=(3,))}  # type: ignore[arg-type]


class WrongType(Sums):
    def end(self, state: Any) -> None:
        state["total"] = state["total"].astype(np.float32)


class WrongShape(Sums):
    def end(self, state: Any) -> None:
        state["total"] = state["total"][:2]


class Extra(Sums):
    def end(self, state: Any) -> None:
        state["nested"] = {"total": 1}


class NoArray(Sums):
    def end(self, state: Any) -> None:
        state["total"] = state["total"].tolist()


class Remembering(Sums):
    def __init__(self) -> None:
        self.seen = 0

    def end(self, state: Any) -> None:
        self.seen += 1
        state["total"] += self.seen


class InPieces(Sums):
    def end(self, state: Any) -> None:
        state["total"] += 1


class Spoiling(Sums):
    def finalize(self, total: Any) -> Any:
        total["total"] /= 2
        return total["total"]


class Unsent(Sums):
    def __init__(self) -> None:
        self.function = lambda: None


class Forgetting(Sums):
    def __init__(self) -> None:
        self.factor = 2.0

    def __getstate__(self) -> dict[str, Any]:
        return {"factor": 1.0}

    def end(self, state: Any) -> None:
        state["total"] *= self.factor


class Writing(Sums):
    def sweep(self, sweep: int, state: Any, first_feature: int, values: Array) -> None:
        super().sweep(sweep, state, first_feature, values)
        values *= 1.5


BROKEN_REDUCTIONS: list[tuple[str, type[Sums], str]] = [
    ("fields", UnknownMerge, "field 'total' merges by 'mean', none of"),
    ("fields", WrongType, "field 'total' of tile 0 is float32, but declared as float64"),
    ("fields", WrongShape, r"field 'total' of tile 0 has shape \(2,\), but merges as \(3,\)"),
    ("fields", Extra, r"tile 0 is \['nested', 'total'\], but its fields are \['total'\]"),
    ("fields", NoArray, "field 'total' of tile 0 is a list, not an array"),
    ("order", Remembering, "when tile 4 is walked again"),
    ("grouping", Remembering, "from tasks of 2 tiles"),
    ("cuts", InPieces, "from rows in pieces of 3"),
    ("finalize", Spoiling, "when it has been finished once"),
    ("pickle", Unsent, "it cannot be pickled"),
    ("pickle", Forgetting, "from a copy that was pickled"),
    ("input", Writing, r"the samples hold \S+ at \[0, 0\] after the walk"),
]
SAMPLES = np.random.default_rng(0).standard_normal((37, 3))


def test_a_plain_reduction_keeps_the_laws() -> None:
    testing.check_reduction(Sums(), SAMPLES)


@pytest.mark.parametrize(("law", "kind", "sentence"), BROKEN_REDUCTIONS)
def test_a_broken_reduction_is_caught(law: str, kind: type[Sums], sentence: str) -> None:
    laws = [check.law for check in testing.checks_of_reduction(kind(), SAMPLES)]
    without = [own for own in laws if own != law]
    with pytest.raises(AssertionError, match=sentence) as caught:
        testing.check_reduction(kind(), SAMPLES, without=without)
    assert str(caught.value).startswith(f"sums breaks the law {law!r}: ")
    assert str(caught.value).endswith("(37 samples in tiles of 8 rows)")


def test_a_fault_is_listed_for_every_law_of_reductions() -> None:
    laws = {check.law for check in testing.checks_of_reduction(Sums(), SAMPLES)}
    assert laws == {law for law, *_ in BROKEN_REDUCTIONS}


class Greedy:
    """A reduction in sweeps whose groups show in its sums."""

    name = "greedy"
    tile_rows = 8
    side = Side.SWEEPS
    operations = 1.0
    fields: ClassVar[dict[str, Field]] = {"groups": Field("sum", "int64")}

    def ways(self, n_rows: int) -> Sequence[Way]:
        return [Way(8, 1, 0, 0), Way(3, 1, 0, 0)]

    def start(self, kept: Any, way: Way, first: int) -> Any:
        return kept

    def meet(self, group: Any, others: Any, sweep: int, given: Any = None) -> None:
        pass

    def turn(self, group: Any, sweep: int) -> None:
        pass

    def finish(self, groups: Sequence[Any]) -> Any:
        return {"groups": np.array(len(groups))}

    def finalize(self, total: Any) -> Any:
        return int(total["groups"])


def test_every_way_of_sweeps_is_walked() -> None:
    with pytest.raises(AssertionError, match=r"'cuts': .* is 15 from groups of 3 rows in 1 sweeps"):
        testing.check_reduction(Greedy(), np.zeros((40, 2)))


def test_what_cannot_be_walked_is_refused() -> None:
    with pytest.raises(InputError, match=r"more than the 8 rows of a tile, not of shape \(8, 3\)"):
        testing.check_reduction(Sums(), SAMPLES[:8])
    with pytest.raises(InputError, match="column 'c' has 2 values for 37 samples"):
        testing.check_reduction(Sums(), SAMPLES, columns={"c": [1, 2]})
    with pytest.raises(InputError, match="without='speed' names no law of sums"):
        testing.check_reduction(Sums(), SAMPLES, without="speed")


# --- the examples


@pytest.mark.usefixtures("_own_registry")
@pytest.mark.parametrize("name", ["", ".metric", ".space", ".reduction"])
def test_the_examples_run(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"somscale.testing{name}"))
    assert found.attempted
    assert not found.failed
