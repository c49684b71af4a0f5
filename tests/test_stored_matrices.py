"""Indices of stored distances and ranks: the numbers of streaming, and no read of the samples."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

from somscale.engine.pairs.job import PairJob
from somscale.engine.pairs.run import run_pairs
from somscale.engine.readers.samples import open_samples
from somscale.engine.readers.sources import ArraySource
from somscale.errors import InputError, SomscaleError
from somscale.metrics.answering.compute import plan_problem, solve
from somscale.metrics.asking.pair_wishes import Measure, wishes_of
from somscale.metrics.asking.question import Problem
from somscale.metrics.asking.rank_wishes import rank_wishes
from somscale.metrics.asking.selection import select
from somscale.metrics.asking.stored import MatrixGaps, StoredMatrices
from somscale.metrics.passes.pair_passes import walk_jobs
from somscale.metrics.passes.rank_walks import rank_walks
from somscale.options import set_options
from tests.reference_ranks import square_distances
from tests.stored_cases import (
    EUCLIDEAN,
    Array,
    answer,
    applicable,
    compare,
    in_zarr,
    is_of_pairs,
    is_of_ranks,
    problem_of,
    some_map,
    stored_of,
    walked_specs,
)

FEW: dict[str, Any] = {"k_max": 20, "kappa_s": [2, 5], "kappa_t": [1]}
PAIRS = ["c_measure", "kruskal_shepard_error", "shepard_correlation", "shepard_rank_correlation"]
RANKED = ["trustworthiness", "continuity", "q_nx", "rank_quality", "coranking_matrix"]
KINDS = ("map", "embedding", "clusters")


def halves(samples: Array, others: Array) -> Array:
    """A distance that is a function."""
    return np.asarray(cdist(samples, others, "cityblock") / 2)


MEASURES = {
    "euclidean": Measure("euclidean"),
    "sqeuclidean": Measure("sqeuclidean"),
    "cityblock": Measure("cityblock"),
    "chebyshev": Measure("chebyshev"),
    "minkowski": Measure("minkowski", 3.0),
    "cosine": Measure("cosine"),
    "function": Measure(halves),
}
READINGS: dict[str, Callable[[Array], tuple[Array, dict[str, Any]]]] = {
    "mask": lambda x: (x, {"mask": np.arange(len(x)) % 5 != 1}),
    "weights": lambda x: (x, {"feature_weights": np.linspace(0.5, 2, x.shape[1])}),
    "gaps": lambda x: (_gapped(x), {"missing": "drop"}),
    "gaps and mask": lambda x: (
        _gapped(x),
        {"missing": "drop", "mask": np.arange(len(x)) % 7 != 2},
    ),
    "any sample": lambda x: (_holed(x), {"missing": "drop_any_sample"}),
    "any feature": lambda x: (_holed(x), {"missing": "drop_any_feature"}),
}


def _gapped(samples: Array) -> Array:
    """Samples of which some, and a feature, are missing altogether."""
    samples = samples.copy()
    samples[3::11] = samples[:, 2] = np.nan
    return samples


def _holed(samples: Array) -> Array:
    samples = samples.copy()
    samples[3::11, 1] = np.nan
    return samples


def data(n: int = 90, d: int = 10, *, whole: bool = False) -> tuple[Array, Array, Array]:
    """Samples, an embedding and a clustering."""
    rng = np.random.default_rng(n + d)
    samples = rng.standard_normal((n, d))
    if whole:
        samples = rng.integers(0, 3, (n, d)).astype(float)
    clusters = rng.integers(0, 5, n)
    clusters[::13] = -1
    return samples, samples[:, :2] + 0.3 * rng.standard_normal((n, 2)), clusters


def asked(kind: str, samples: Array, embedding: Array, clusters: Array, **reading: Any) -> Problem:
    """A problem of two candidates of a kind."""
    candidates: dict[str, dict[str, Any]] = {
        "embedding": {"one": embedding, "rounded": np.round(embedding)},
        "clusters": {"one": clusters, "coarse": clusters // 2},
    }
    own = candidates.get(kind)
    if own is None:
        own = {"one": some_map(samples, gaps=reading.get("missing") == "drop")}
    return problem_of(samples, own, labels=np.arange(len(samples)) % 3, **reading)


class CountingSource(ArraySource):
    """An array that counts how often it is read, and how many values."""

    reads: list[int]

    def __init__(self, values: Array, chunks: tuple[int, ...] = (16, 16)) -> None:
        super().__init__(values, chunks=chunks, resident=False)
        object.__setattr__(self, "reads", [])

    def read(self, *box: slice) -> Array:
        found = super().read(*box)
        self.reads.append(found.size)
        return found


def test_every_index_of_pairs_or_ranks_is_asked_for() -> None:
    samples, embedding, clusters = data()
    found = {
        name
        for kind in KINDS
        for name in applicable(asked(kind, samples, embedding, clusters), walked_specs(), **FEW)
    }
    assert found == {spec.name for spec in walked_specs()}


@pytest.mark.parametrize(
    ("kind", "measure"),
    [("embedding", name) for name in MEASURES]
    + [("map", "euclidean"), ("map", "cosine"), ("map", "function")]
    + [("clusters", "euclidean"), ("clusters", "cityblock"), ("clusters", "function")],
)
def test_all_indices_equal_those_of_streaming(kind: str, measure: str) -> None:
    problem = asked(kind, *data())
    own = MEASURES[measure]
    more: dict[str, Any] = {"distance": own.distance} | ({"p": own.p} if own.p else {})
    names = applicable(problem, walked_specs(), **FEW, **more)
    wrap = in_zarr((7, 32)) if measure == "cityblock" else ArraySource
    assert problem.samples is not None
    ranked = MEASURES["euclidean"] if measure == "sqeuclidean" else own
    stored = stored_of(problem.samples, own, ranked, wrap=wrap)
    expected = answer(problem, names, **{**FEW, **more})
    compare(answer(problem, names, stored, **{**FEW, **more}), expected)
    wanted = {f"distances/{own.distance}"}
    if kind != "clusters":
        wanted.add(f"ranks/{ranked.distance}")
    assert stored.used == wanted


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reading", READINGS)
def test_masks_weights_and_gaps(kind: str, reading: str) -> None:
    samples, embedding, clusters = data(120, 9)
    samples, options = READINGS[reading](samples)
    problem = asked(kind, samples, embedding, clusters, **options)
    names = applicable(problem, walked_specs(), **FEW)
    assert problem.samples is not None
    stored = stored_of(problem.samples, EUCLIDEAN, wrap=in_zarr((50, 33)))
    compare(answer(problem, names, stored, **FEW), answer(problem, names, **FEW))
    assert stored.used


@pytest.mark.parametrize("ties", ["index", "expected", "best", "worst", "weighted"])
@pytest.mark.parametrize("kind", ["map", "embedding"])
def test_all_ties(ties: str, kind: str) -> None:
    problem = asked(kind, *data(150, 4, whole=True))
    names = applicable(problem, [s for s in walked_specs() if is_of_ranks(s)], ties=ties, **FEW)
    assert len(names) >= (3 if ties == "weighted" else 15)
    assert problem.samples is not None
    stored = stored_of(problem.samples, EUCLIDEAN, kinds="ranks", wrap=in_zarr((40, 64)))
    found = answer(problem, names, stored, ties=ties, **FEW)
    compare(found, answer(problem, names, ties=ties, **FEW))
    assert stored.used == {"ranks/euclidean"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_types_of_samples(dtype: Any) -> None:
    samples, embedding, clusters = data(80, 12, whole=dtype is np.int16)
    problem = asked("embedding", samples.astype(dtype), embedding, clusters)
    assert problem.samples is not None
    for own in (EUCLIDEAN, MEASURES["cityblock"], MEASURES["minkowski"]):
        more: dict[str, Any] = {"distance": own.distance} | ({"p": own.p} if own.p else {})
        stored = stored_of(problem.samples, own)
        names = [*PAIRS, *RANKED]
        found = answer(problem, names, stored, **FEW, **more)
        compare(found, answer(problem, names, **FEW, **more))


@pytest.mark.parametrize("measure", ["cityblock", "chebyshev", "minkowski", "function"])
def test_distances_that_are_their_own_order_serve_ranks(measure: str) -> None:
    problem = asked("embedding", *data(300, 5, whole=True))
    own = MEASURES[measure]
    more: dict[str, Any] = {"distance": own.distance} | ({"p": own.p} if own.p else {})
    assert problem.samples is not None
    stored = stored_of(problem.samples, own, kinds="distances", wrap=in_zarr((64, 64)))
    found = answer(problem, RANKED, stored, **FEW, **more)
    compare(found, answer(problem, RANKED, **FEW, **more))
    assert stored.used == {f"distances/{own.distance}"}


@pytest.mark.parametrize("measure", ["euclidean", "sqeuclidean", "cosine", "correlation"])
def test_other_distances_do_not(measure: str) -> None:
    problem = asked("embedding", *data(100, 5))
    assert problem.samples is not None
    stored = stored_of(problem.samples, Measure(measure), kinds="distances")
    found = answer(problem, RANKED, stored, distance=measure, **FEW)
    compare(found, answer(problem, RANKED, distance=measure, **FEW))
    assert not stored.used


def test_several_distances_some_of_them_stored() -> None:
    problem = asked("embedding", *data(100, 6))
    metrics = {
        f"{name}_{distance}": (name, {"distance": distance})
        for name in [*PAIRS, "trustworthiness", "q_nx"]
        for distance in ("euclidean", "cityblock", "chebyshev", "cosine")
    }
    assert problem.samples is not None
    stored = stored_of(problem.samples, EUCLIDEAN, MEASURES["cityblock"])
    compare(answer(problem, metrics, stored), answer(problem, metrics))
    assert stored.used == {
        f"{kind}/{distance}"
        for kind in ("distances", "ranks")
        for distance in ("euclidean", "cityblock")
    }


def test_diagrams_of_several_distances_end_where_each_does() -> None:
    problem = asked("embedding", *data(100, 6))
    metrics = {f"of {d}": ("shepard_diagram", {"distance": d}) for d in MEASURES if d[0] in "ec"}
    assert problem.samples is not None
    stored = stored_of(problem.samples, EUCLIDEAN, MEASURES["cityblock"], kinds="distances")
    requests = select(metrics, problem)
    found = solve(replace(problem, stored=stored), requests)
    for candidate, answers in solve(problem, requests).items():
        for label, expected in answers.items():
            own = found[candidate][label]
            np.testing.assert_array_equal(own.value, expected.value)
            for name, (_, ends) in expected.coords.items():
                np.testing.assert_allclose(own.coords[name][1], ends, rtol=1e-12)
    assert stored.used == {"distances/euclidean", "distances/cityblock"}


def test_names_that_the_store_gives_are_told() -> None:
    problem = asked("embedding", *data(60, 3))
    assert problem.samples is not None
    stored = stored_of(problem.samples, EUCLIDEAN)
    stored.names = {("ranks", EUCLIDEAN): "ranks/mine"}
    answer(problem, ["c_measure", "q_nx"], stored)
    assert stored.used == {"distances/euclidean", "ranks/mine"}


@pytest.mark.parametrize("n", [2, 3, 4, 5, 256, 257])
@pytest.mark.parametrize("kind", ["map", "embedding"])
def test_all_sizes(n: int, kind: str) -> None:
    samples, embedding, clusters = data(n, 3)
    problem = asked(kind, samples, embedding, clusters)
    assert problem.samples is not None
    names = applicable(problem, walked_specs(), k=1, kappa_s=[1], kappa_t=[0], k_max=1)
    stored = stored_of(problem.samples, EUCLIDEAN, wrap=in_zarr((min(n, 100), min(n, 90))))
    few = {"k": [1], "kappa_s": [1], "kappa_t": [0], "k_max": 1}
    compare(answer(problem, names, stored, **few), answer(problem, names, **few))


@settings(max_examples=12, deadline=None)
@given(
    n=st.integers(4, 90),
    d=st.integers(1, 12),
    chunks=st.tuples(st.integers(1, 90), st.integers(1, 90)),
    whole=st.booleans(),
    kind=st.sampled_from(KINDS),
    left_out=st.integers(2, 9),
)
def test_shapes_and_chunks(
    n: int, d: int, chunks: tuple[int, int], whole: bool, kind: str, left_out: int
) -> None:
    mask = np.arange(n) % left_out != 0
    problem = asked(kind, *data(n, d, whole=whole), mask=mask)
    names = applicable(problem, walked_specs(), k=1, kappa_s=[1], kappa_t=[0], k_max=1)
    names = [n for n in names if n in {*PAIRS, *RANKED, "silhouette_score", "dunn_index"}]
    wrap = in_zarr((min(n, chunks[0]), min(n, chunks[1])))
    assert problem.samples is not None
    try:
        expected = answer(problem, names, k_max=1)
    except SomscaleError:
        return
    stored = stored_of(problem.samples, EUCLIDEAN, wrap=wrap)
    compare(answer(problem, names, stored, k_max=1), expected)


def test_many_clusters_are_walked_in_rows() -> None:
    samples, _, _ = data(400, 4)
    problem = problem_of(samples, {"many": np.arange(400) % 90})
    names = applicable(problem, walked_specs())
    assert problem.samples is not None
    stored = stored_of(problem.samples, EUCLIDEAN, kinds="distances", wrap=in_zarr((64, 128)))
    jobs = walk_jobs(replace(problem, stored=stored), wishes_of(problem, select(names, problem)))
    assert {job.side.value for job in jobs} == {"both", "rows"}
    assert all(job.matrix is stored.distances[EUCLIDEAN] for job in jobs)
    compare(answer(problem, names, stored), answer(problem, names))


def test_tiles_of_several_blocks_read_half_of_the_matrix() -> None:
    n = 2 * 2048 + 300
    samples, embedding, clusters = data(n, 3)
    matrix = cdist(samples, samples)
    source = CountingSource(matrix, (1024, 1024))
    stored = StoredMatrices({EUCLIDEAN: source})
    problem = asked("embedding", samples, embedding, clusters)
    with set_options(scheduler="serial"):
        found = answer(problem, ["c_measure", "metric_stress"], stored)
    compare(found, answer(problem, ["c_measure", "metric_stress"]))
    tiles = [2048, 2048, 300]
    once = sum(a * b for i, a in enumerate(tiles) for b in tiles[i:])
    assert sum(source.reads) == once


@pytest.mark.parametrize("scheduler", ["serial", "threads", "processes"])
def test_schedulers(scheduler: Any) -> None:
    samples, embedding, clusters = data(600, 3)
    problem = asked("embedding", samples, embedding, clusters)
    names = ["trustworthiness"] if scheduler == "processes" else ["c_measure", "trustworthiness"]
    expected = answer(problem, names)
    assert problem.samples is not None
    # what is in memory reaches other processes too
    wrap = ArraySource if scheduler == "processes" else in_zarr((100, 200))
    stored = stored_of(problem.samples, EUCLIDEAN, wrap=wrap)
    with set_options(scheduler=scheduler, workers=2):
        compare(answer(problem, names, stored), expected)


@pytest.mark.parametrize(
    ("reading", "names"),
    [
        ("plain", [*PAIRS, *RANKED, "shepard_diagram"]),
        ("gaps", [*PAIRS, *RANKED]),
        ("mask", PAIRS),
        ("gaps", RANKED),
    ],
)
def test_samples_are_not_read(reading: str, names: list[str]) -> None:
    samples, embedding, clusters = data(70, 9)
    options: dict[str, Any] = {}
    if reading != "plain":
        samples, options = READINGS[reading](samples)
    problem = asked("embedding", samples, embedding, clusters, **options)
    assert problem.samples is not None
    stored = stored_of(problem.samples, EUCLIDEAN)
    source = CountingSource(samples)
    counted = replace(problem, samples=replace(problem.samples, source=source))
    compare(answer(counted, names, stored), answer(problem, names))
    assert not source.reads
    answer(counted, names)
    assert source.reads


def test_samples_of_a_map_are_read_for_its_units_alone() -> None:
    samples, _, _ = data(70, 9)
    problem = problem_of(samples, {"som": some_map(samples)})
    assert problem.samples is not None
    stored, counts = stored_of(problem.samples, EUCLIDEAN), []
    for names in (["quantization_error"], ["quantization_error", "metric_stress", *RANKED]):
        source = CountingSource(samples)
        counted = replace(problem, samples=replace(problem.samples, source=source))
        answer(counted, names, stored)
        counts.append(sum(source.reads))
    assert counts[0] == counts[1]


def test_plan_sees_the_same_walks() -> None:
    problem = asked("embedding", *data(200, 6))
    assert problem.samples is not None
    stored = stored_of(problem.samples, EUCLIDEAN, wrap=in_zarr((50, 50)))
    own = replace(problem, stored=stored)
    requests = select(["c_measure", "trustworthiness"], own)
    plans, _ = plan_problem(own, requests)
    matrices = [plan.job.matrix for plan in plans if isinstance(plan.job, PairJob)]
    assert matrices == [stored.distances[EUCLIDEAN], stored.ranks[EUCLIDEAN][0]]
    assert [plan.reading for plan in plans] == ["read by panels"] * 2
    assert plans[0].bytes_read == 200**2 * 8
    job = walk_jobs(own, wishes_of(own, requests))[0]
    assert job.source is None
    assert pickle.loads(pickle.dumps(job.reductions[0])).stored.name == "distances/euclidean"


def test_samples_in_dask_arrays() -> None:
    samples, embedding, clusters = data(120, 6)

    def refuse(block: Array) -> Array:
        raise AssertionError("the samples are computed")

    for options in ({}, {"mask": np.arange(120) % 3 != 0}, {"missing": "drop"}):
        plain = asked("embedding", samples, embedding, clusters, **options)
        assert plain.samples is not None
        stored = stored_of(plain.samples, EUCLIDEAN, wrap=in_zarr((30, 50)))
        dask = da.from_array(samples, chunks=(31, 6)).map_blocks(refuse, dtype=float, meta=samples)
        problem = asked("embedding", dask, embedding, clusters, **options)
        names = [*PAIRS, *RANKED, "shepard_diagram"]
        lazy = answer(problem, names, stored, **FEW)
        assert lazy["q_nx"].chunks is not None
        streamed = asked("embedding", da.from_array(samples), embedding, clusters, **options)
        compare(lazy.compute(), answer(streamed, names, **FEW).compute())
        with pytest.raises(AssertionError, match="are computed"):
            answer(problem, "q_nx").compute()


def test_maps_of_samples_in_dask_arrays() -> None:
    samples, _, _ = data(120, 6)
    som, names = some_map(samples), ["shepard_correlation", "c_measure", *RANKED]
    plain = problem_of(samples, {"som": som})
    assert plain.samples is not None
    stored = stored_of(plain.samples, EUCLIDEAN)
    lazy = problem_of(da.from_array(samples, chunks=(31, 6)), {"som": som})
    compare(answer(lazy, names, stored).compute(), answer(lazy, names).compute())
    assert stored.used == {"distances/euclidean", "ranks/euclidean"}


def test_sampled_walks_go_on_reading_the_samples() -> None:
    problem = replace(asked("embedding", *data(90, 6)), sampling=(40, 0))
    names = ["c_measure", "trustworthiness"]
    assert problem.samples is not None
    stored = stored_of(problem.samples, EUCLIDEAN)
    compare(answer(problem, names, stored), answer(problem, names))
    assert not stored.used


def test_closed_forms_go_on_reading_the_samples() -> None:
    samples, _, clusters = data(90, 6)
    problem = asked("clusters", samples, samples[:, :2], clusters)
    names = ["dunn_index", "centroid_silhouette", "davies_bouldin_score"]
    assert problem.samples is not None
    stored = stored_of(problem.samples, EUCLIDEAN)
    compare(answer(problem, names, stored), answer(problem, names))
    assert not stored.used


def test_a_matrix_that_is_judged_is_read_itself() -> None:
    samples, embedding, _ = data(50, 4)
    matrix = cdist(samples, samples, "cityblock")
    problem = problem_of(matrix, {"one": embedding}, distance="precomputed")
    wrong = StoredMatrices({EUCLIDEAN: ArraySource(np.zeros((50, 50)))})
    names = ["c_measure", "trustworthiness"]
    found = answer(problem, names, wrong, distance="precomputed")
    compare(found, answer(problem, names, distance="precomputed"))
    assert not wrong.used


def _spoiled(values: Array, what: float) -> Array:
    values = values.copy()
    values[4, 7] = values[7, 4] = what
    return values


@pytest.mark.parametrize("what", [np.nan, -1.0, np.inf])
@pytest.mark.parametrize("metric", ["c_measure", "trustworthiness"])
def test_bad_distances_are_named(what: float, metric: str) -> None:
    samples, embedding, clusters = data(40, 3)
    problem = asked("embedding", samples, embedding, clusters)
    matrix = _spoiled(cdist(samples, samples, "cityblock"), what)
    stored = StoredMatrices({Measure("cityblock"): ArraySource(matrix)})
    where = r"distances/cityblock holds .* at \[4, 7\], which is no distance"
    with pytest.raises(InputError, match=where):
        answer(problem, metric, stored, distance="cityblock")


def test_bad_distances_of_rows_are_named() -> None:
    samples, _, _ = data(200, 3)
    problem = problem_of(samples, {"many": np.arange(200) % 90})
    stored = StoredMatrices({EUCLIDEAN: ArraySource(_spoiled(cdist(samples, samples), np.nan))})
    with pytest.raises(InputError, match="distances/euclidean holds nan at"):
        answer(problem, "silhouette_score", stored)


def test_a_rank_that_was_never_written_is_named() -> None:
    samples, embedding, clusters = data(40, 3)
    problem = asked("embedding", samples, embedding, clusters)
    assert problem.samples is not None
    matrix, taken = stored_of(problem.samples, EUCLIDEAN).ranks[EUCLIDEAN]
    values = matrix.read(slice(0, 40), slice(0, 40)).copy()
    values[5, 30:] = 255
    stored = StoredMatrices(ranks={EUCLIDEAN: (ArraySource(values), taken)})
    with pytest.raises(InputError, match=r"ranks/euclidean holds 255 at \[5, 30\].*no rank"):
        answer(problem, "trustworthiness", stored)


def test_ranks_are_those_of_a_plain_sort() -> None:
    samples, embedding, clusters = data(60, 4, whole=True)
    squares = square_distances(samples)
    np.fill_diagonal(squares, -1)
    least = np.array([rankdata(row, method="min") - 1 for row in squares]).astype(np.uint8)
    stored = StoredMatrices(ranks={EUCLIDEAN: (ArraySource(least), np.ones(60, bool))})
    problem = asked("embedding", samples, embedding, clusters)
    compare(answer(problem, RANKED, stored, **FEW), answer(problem, RANKED, **FEW))
    assert stored.used == {"ranks/euclidean"}


def test_what_cannot_serve_is_refused() -> None:
    with pytest.raises(InputError, match="float32; only float64 serves"):
        StoredMatrices({EUCLIDEAN: ArraySource(np.zeros((3, 3), np.float32))})
    with pytest.raises(InputError, match="int64; ranks are unsigned"):
        StoredMatrices(ranks={EUCLIDEAN: (ArraySource(np.zeros((3, 3), int)), np.ones(3, bool))})
    problem = asked("embedding", *data(40, 3))
    stored = StoredMatrices({EUCLIDEAN: ArraySource(np.zeros((39, 39)))})
    with pytest.raises(InputError, match=r"shape \(39, 39\), and there are 40 samples"):
        answer(problem, "c_measure", stored)


@given(
    n=st.integers(1, 70),
    chunks=st.tuples(st.integers(1, 70), st.integers(1, 70)),
    seed=st.integers(0, 9),
)
@settings(max_examples=30, deadline=None)
def test_gaps_are_what_the_diagonal_tells(n: int, chunks: tuple[int, int], seed: int) -> None:
    gaps = np.random.default_rng(seed).integers(0, 2, n).astype(bool)
    matrix = np.where(gaps[:, None] | gaps, np.nan, 1 - np.eye(n))
    column = MatrixGaps(ArraySource(matrix, chunks=chunks, resident=False))
    np.testing.assert_array_equal(column.known().values, gaps)
    np.testing.assert_array_equal(column.read(n // 3, n // 2), gaps[n // 3 : n // 2])
    assert column.identity() == column.known().identity()


def test_tables_say_which_indices_are_of_pairs() -> None:
    assert any(is_of_pairs(spec) for spec in walked_specs())
    assert sum(is_of_ranks(spec) for spec in walked_specs()) > 20


def test_a_job_keeps_its_matrix_where_blocks_are_left_behind() -> None:
    samples, embedding, clusters = data(30, 3)
    problem = asked("embedding", samples, embedding, clusters)
    assert problem.samples is not None
    own = replace(problem, stored=stored_of(problem.samples, EUCLIDEAN))
    requests = select(["trustworthiness"], own)
    (job,) = rank_walks(own, rank_wishes(own, requests)).jobs
    assert job.carried().stored is job.matrix
    assert job.carried().given
    assert not open_samples(samples).lazy
    assert run_pairs(job.carried())[0]["n_samples"] == 30
