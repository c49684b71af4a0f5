"""CoRanking: the input prepared once, and the same numbers as every index by itself."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from scipy.stats import rankdata
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import somscale as ss
from somscale.engine.pairs import run as pair_run
from somscale.metrics.passes import rank_passes
from somscale.metrics.passes.rank_prepared import LISTED
from tests.reference_ranks import ranks, square_distances

Array = np.ndarray[Any, Any]
KEEPS = [None, "lists", "ranks"]
GIVEN: dict[str, dict[str, Any]] = {
    "plain": {},
    "weights": {"feature_weights": np.linspace(0.1, 2, 12)},
    "mask": {"mask": np.arange(900) % 7 != 0},
    "cityblock": {"distance": "cityblock"},
    "cosine": {"distance": "cosine"},
    "squared": {"distance": "sqeuclidean"},
}


@pytest.fixture(scope="module")
def digits() -> tuple[Array, Array]:
    samples = load_digits().data
    return samples, PCA(n_components=2, svd_solver="full").fit_transform(samples)


def _pair(n: int = 900, d: int = 12, *, whole: bool = False) -> tuple[Array, Array]:
    rng = np.random.default_rng(n + d)
    samples = rng.standard_normal((n, d))
    if whole:
        samples = rng.integers(0, 3, (n, d)).astype(np.float64)
    return samples, samples[:, :2] + 0.3 * rng.standard_normal((n, 2))


def _walked(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The spaces of every walk that is run from here on."""
    seen: list[set[str]] = []
    run = pair_run.run_pairs

    def counted(job: Any, **options: Any) -> Any:
        seen.append(set(job.reductions[0].names))
        return run(job, **options)

    monkeypatch.setattr(rank_passes, "run_pairs", counted)
    return seen


@pytest.mark.parametrize("keep", KEEPS)
def test_golden_values(digits: tuple[Array, Array], keep: Any) -> None:
    samples, embedding = digits
    cr = ss.CoRanking(samples, keep=keep)
    assert cr.evaluate(embedding, 10, 5).item() == 0.11613800779076239
    assert cr.evaluate(embedding, 50, 20).item() == 0.22980523094045632
    assert cr.evaluate(embedding, 100, 1796).item() == 1.600962715637173
    assert cr.evaluate(embedding, 10, 5, norm="region").item() == 0.06170539885281769
    curves = cr.curves(embedding, ["q_nx", "continuity"], k=[5, 10])
    np.testing.assert_allclose(curves["q_nx"], [0.07824151363383416, 0.11786310517529215])
    np.testing.assert_allclose(curves["continuity"], [0.9569479347760832, 0.9505175542047736])


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("given", GIVEN)
def test_equals_evaluate_bit_for_bit(keep: Any, given: str) -> None:
    samples, embedding = _pair(whole=given == "plain")
    reading = GIVEN[given]
    cr = ss.CoRanking(samples, keep=keep, k_max=40, **reading)
    for names, k in ((sorted(LISTED), 40), (sorted(LISTED), 140), (["trustworthiness"], 7)):
        found = cr.curves(embedding, names, k=list(range(1, k)))
        expected = ss.evaluate(samples, embedding, metrics=names, k=list(range(1, k)), **reading)
        xr.testing.assert_identical(found, expected)
    xr.testing.assert_identical(
        cr.evaluate(embedding, 20, 5),
        ss.metrics.rank_quality(samples, embedding, kappa_s=20, kappa_t=5, **reading),
    )
    xr.testing.assert_identical(
        cr.evaluate(embedding, norm="region"),
        ss.metrics.rank_quality(samples, embedding, norm="region", **reading),
    )
    pairs = {"kappa_s": [5, 20], "kappa_t": 3}
    xr.testing.assert_identical(
        cr.pointwise(embedding, **pairs, side="row"),
        ss.metrics.pointwise_rank_quality(samples, embedding, **pairs, side="row", **reading),
    )
    norm: Any = {**pairs, "norm": "region"}
    xr.testing.assert_identical(
        cr.pointwise(embedding, **norm),
        ss.metrics.pointwise_rank_quality(samples, embedding, **norm, **reading),
    )
    xr.testing.assert_identical(
        cr.matrix(embedding, 15).compute(),
        ss.metrics.coranking_matrix(samples, embedding, k_max=15, **reading).compute(),
    )


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("ties", ["index", "expected", "best", "worst", "weighted"])
def test_all_ties(keep: Any, ties: str) -> None:
    samples, embedding = _pair(150, 4, whole=True)
    embedding = np.round(embedding)
    cr = ss.CoRanking(samples, keep=keep)
    found = cr.curves(embedding, ties=ties, k=[1, 5, 60])
    expected = ss.evaluate(
        samples, embedding, metrics=list(found.data_vars), ties=ties, k=[1, 5, 60]
    )
    xr.testing.assert_identical(found, expected)


@pytest.mark.parametrize("components", [1, 3, 12])
@pytest.mark.parametrize("n", [9, 255, 256, 257, 1100])
def test_lists_of_all_sizes(n: int, components: int) -> None:
    samples, _ = _pair(n, 12, whole=n == 257)
    embedding = np.random.default_rng(n).standard_normal((n, components))
    embedding[: n // 3] = embedding[n // 3 : n // 3 + n // 3]
    names = sorted(LISTED)
    found = ss.CoRanking(samples, k_max=30).curves(embedding, names, k=slice(1, 31))
    xr.testing.assert_identical(
        found, ss.evaluate(samples, embedding, metrics=names, k=slice(1, 31))
    )


def test_lists_and_ranks_are_what_they_say() -> None:
    samples, embedding = _pair(300, 5, whole=True)
    rho = ranks(square_distances(samples))
    lists, table = (ss.CoRanking(samples, keep=keep, k_max=17) for keep in ("lists", "ranks"))
    lists.curves(embedding, "q_nx", k=3)
    table.curves(embedding, "q_nx", k=3)
    nearest = lists._ranks.held.values
    assert nearest.dtype == np.int32
    assert nearest.shape == (300, 17)
    np.testing.assert_array_equal(nearest, np.argsort(rho, axis=1)[:, 1:18])
    held = table._ranks.held.values
    assert held.dtype == np.uint16
    squares = square_distances(samples)
    np.fill_diagonal(squares, -1)
    least = np.array([rankdata(row, method="min") - 1 for row in squares])
    np.testing.assert_array_equal(held, least)


def test_lists_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    samples, embedding = _pair()
    seen = _walked(monkeypatch)
    cr = ss.CoRanking(samples, k_max=30)
    assert not seen
    cr.curves(embedding, "q_nx", k=20)
    assert seen == [{"samples euclidean None"}, {"projection projection"}]
    cr.curves(embedding[:, ::-1], ["continuity", "b_nx"], k=[30])
    cr.curves({"a": embedding, "b": -embedding}, ["lcmc", "rank_regions"], k=5)
    assert seen[2:] == [{"projection projection"}, {"projection a", "projection b"}]


@pytest.mark.parametrize(
    "ask",
    [
        lambda cr, y: cr.curves(y, "trustworthiness", k=20),
        lambda cr, y: cr.curves(y, "mrre_intrusion", k=20),
        lambda cr, y: cr.curves(y, "q_nx", k=31),
        lambda cr, y: cr.curves(y, "q_nx", k=20, ties="expected"),
        lambda cr, y: cr.curves(y, "k_max"),
        lambda cr, y: cr.evaluate(y, 5, 5),
        lambda cr, y: cr.pointwise(y, 5, 5),
    ],
)
def test_what_lists_do_not_tell_is_walked(
    monkeypatch: pytest.MonkeyPatch, ask: Callable[..., Any]
) -> None:
    samples, embedding = _pair()
    cr = ss.CoRanking(samples, k_max=30)
    seen = _walked(monkeypatch)
    ask(cr, {"a": embedding, "b": embedding[::-1]})
    both = {"samples euclidean None", "projection a", "projection b"}
    assert seen == [both]


def test_ranks_serve_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    samples, embedding = _pair(200, 5)
    cr = ss.CoRanking(samples, keep="ranks")
    seen = _walked(monkeypatch)
    cr.evaluate(embedding, 5, 5)
    cr.curves(embedding, ["auc_r_nx", "trustworthiness"])
    cr.pointwise(embedding, 5, 5)
    assert seen[0] == {"samples euclidean None"}
    assert seen[1:] == [{"samples", "projection projection"}] * 3


@pytest.mark.parametrize("keep", KEEPS)
def test_candidates_stand_side_by_side(keep: Any) -> None:
    samples, embedding = _pair(300, 5)
    both = {"good": embedding, "bad": embedding[::-1].copy()}
    cr = ss.CoRanking(samples, keep=keep)
    found = cr.evaluate(both, 20, 5)
    assert found.dims == ("candidate",)
    for name, own in both.items():
        assert found.sel(candidate=name).item() == cr.evaluate(own, 20, 5).item()
    surface = ss.evaluate(samples, both, metrics="rank_quality")["rank_quality"]
    xr.testing.assert_identical(cr.evaluate(both), surface)
    xr.testing.assert_identical(
        cr.curves(both, ["q_nx", "u_n"]), ss.evaluate(samples, both, metrics=["q_nx", "u_n"])
    )


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("ties", [None, "index"])
def test_maps(keep: Any, ties: str | None) -> None:
    samples, _ = _pair(400, 5)
    som = ss.train(samples, ss.Grid(4, 4), epochs=2, seed=0)
    cr = ss.CoRanking(samples, keep=keep)
    names = ["q_nx", "neighborhood_preservation"]
    found = cr.curves(som, names, k=[1, 5, 40], ties=ties)
    xr.testing.assert_identical(
        found, ss.evaluate(samples, som, metrics=names, k=[1, 5, 40], ties=ties)
    )
    assert found["q_nx"].attrs["ties"] == ties or "expected"
    on_codes = {"codes": ("q_nx", {"space": "codebook"})}
    xr.testing.assert_identical(
        cr.curves(som, on_codes, k=[3], ties=ties),
        ss.evaluate(samples, som, metrics=on_codes, k=[3], ties=ties),
    )


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("missing", ["drop", "drop_any_sample", "drop_any_feature"])
def test_gaps(keep: Any, missing: str) -> None:
    samples, embedding = _pair(400, 6)
    if missing == "drop":
        samples[[3, 50, 399]] = np.nan
        samples[:, 2] = np.nan
    else:
        samples[[3, 50, 399], 1] = np.nan
    cr = ss.CoRanking(samples, keep=keep, missing=missing, k_max=20)
    names = ["q_nx", "continuity", "rank_regions"]
    for asked in (names, [*names, "trustworthiness"]):
        xr.testing.assert_identical(
            cr.curves(embedding, asked, k=[1, 20]),
            ss.evaluate(samples, embedding, metrics=asked, k=[1, 20], missing=missing),
        )


@pytest.mark.parametrize("keep", KEEPS)
def test_a_matrix_that_is_not_symmetric(keep: Any) -> None:
    rng = np.random.default_rng(5)
    table, embedding = rng.random((300, 300)), rng.standard_normal((300, 2))
    cr = ss.CoRanking(table, keep=keep, distance="precomputed", k_max=30)
    for asked in (["q_nx", "continuity"], ["q_nx", "trustworthiness"]):
        xr.testing.assert_identical(
            cr.curves(embedding, asked, k=[1, 30]),
            ss.evaluate(table, embedding, metrics=asked, k=[1, 30], distance="precomputed"),
        )


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("missing", ["raise", "drop_any_sample"])
def test_dask_samples_give_lazy_results(keep: Any, missing: str) -> None:
    samples, embedding = _pair(500, 12)
    if missing != "raise":
        samples[7, 3] = np.nan
    lazy = da.from_array(samples, chunks=(120, 5))
    cr = ss.CoRanking(lazy, keep=keep, missing=missing, k_max=20)
    plain = ss.CoRanking(samples, keep=keep, missing=missing, k_max=20)
    found = cr.evaluate(embedding, 20, 5)
    assert found.chunks is not None
    assert found.compute().item() == plain.evaluate(embedding, 20, 5).item()
    names = ["q_nx", "continuity"]
    curves = cr.curves({"a": embedding, "b": -embedding}, names, k=[1, 20])
    assert curves["q_nx"].chunks is not None
    expected = ss.evaluate(
        samples, {"a": embedding, "b": -embedding}, metrics=names, k=[1, 20], missing=missing
    )
    for name in names:
        np.testing.assert_array_equal(curves[name].compute(), expected[name])


def test_lazy_results_of_lists_and_of_walks_do_not_mix() -> None:
    samples, embedding = _pair(500, 5)
    lazy = da.from_array(samples, chunks=(250, 5))
    listed = ss.CoRanking(lazy, k_max=20).curves(embedding, "q_nx", k=[20])["q_nx"]
    walked = ss.evaluate(lazy, embedding, metrics=["trustworthiness"], k=[20])["trustworthiness"]
    alone = ss.evaluate(samples, embedding, metrics=["q_nx", "trustworthiness"], k=[20])
    one, other = da.compute(listed.data, walked.data)
    assert one == alone["q_nx"]
    assert other == alone["trustworthiness"]


def test_the_users_own_dims() -> None:
    samples, embedding = _pair(300, 4)
    cube = xr.DataArray(
        samples.reshape(15, 20, 4), dims=("y", "x", "band"), coords={"x": np.arange(20) * 0.5}
    )
    cr = ss.CoRanking(cube, keep="ranks", sample_dims=("y", "x"))
    found = cr.pointwise(embedding, 5, 2)
    assert found.dims == ("y", "x")
    np.testing.assert_array_equal(found["x"], cube["x"])
    flat = ss.metrics.pointwise_rank_quality(samples, embedding, kappa_s=5, kappa_t=2)
    np.testing.assert_array_equal(found.values.ravel(), flat)


@pytest.mark.parametrize("keep", KEEPS)
def test_samples_in_a_store(keep: Any, tmp_path: Path) -> None:
    samples, embedding = _pair(300, 4)
    np.save(tmp_path / "samples.npy", samples)
    cr = ss.CoRanking(tmp_path / "samples.npy", keep=keep, k_max=10)
    plain = ss.CoRanking(samples, keep=keep, k_max=10)
    xr.testing.assert_identical(cr.evaluate(embedding, 5, 2), plain.evaluate(embedding, 5, 2))
    found = cr.curves(embedding, "q_nx", k=10)
    xr.testing.assert_identical(found, plain.curves(embedding, "q_nx", k=10))
    matrix = cr.matrix(embedding, 5)
    assert matrix.chunks is not None
    np.testing.assert_array_equal(matrix, plain.matrix(embedding, 5))


def _articles_value(samples: Array, embedding: Array, s: int, t: int, *, printed: bool) -> float:
    """The article's class, loop by loop: ordinal ranks from 1, with the sample itself."""
    rho = np.array([rankdata(row, method="ordinal") for row in square_distances(samples)])
    r = np.array([rankdata(row, method="ordinal") for row in square_distances(embedding)])
    n, total = len(rho), 0
    for i in range(n):
        for j in range(n):
            other = rho if printed else r
            significant = rho[i, j] < s or other[i, j] < s
            tolerated = abs(int(rho[i, j]) - int(r[i, j])) < t
            total += significant and tolerated
    return total / (s * n)


@pytest.mark.parametrize(("s", "t"), [(3, 1), (12, 4), (30, 10)])
def test_coming_from_the_articles_class(s: int, t: int) -> None:
    samples, embedding = _pair(60, 4)
    kappa_s, kappa_t = s - 2, t - 1
    quality = ss.CoRanking(samples).evaluate(embedding, kappa_s, kappa_t).item()
    meant = _articles_value(samples, embedding, s, t, printed=False)
    assert meant == pytest.approx((1 + kappa_s * quality) / s, abs=1e-14)
    rho, r = ranks(square_distances(samples)), ranks(square_distances(embedding))
    near = (rho > 0) & (rho <= kappa_s) & (np.abs(rho - r) <= kappa_t)
    printed = _articles_value(samples, embedding, s, t, printed=True)
    assert printed == pytest.approx((1 + near.sum() / 60) / s, abs=1e-14)
    assert ss.CoRanking(samples).evaluate(samples, kappa_s, kappa_t).item() == 1
    own = _articles_value(samples, samples, s, t, printed=True)
    assert own == pytest.approx((s - 1) / s, abs=1e-14)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x, y: ss.CoRanking(x, keep="all"), "keep is one of"),
        (lambda x, y: ss.CoRanking(x, k_max=0), "k_max is a whole number"),
        (lambda x, y: ss.CoRanking(x, k_max=True), "k_max is a whole number"),
        (lambda x, y: ss.CoRanking(None), "give them first"),
        (lambda x, y: ss.CoRanking(x, distance="far"), "far"),
        (lambda x, y: ss.CoRanking(x).evaluate(y[:-1], 5, 5), "there are 50 samples"),
        (lambda x, y: ss.CoRanking(x).evaluate(y, 50, 5), "kappa_s is from 1 to N - 1 = 49"),
        (lambda x, y: ss.CoRanking(x).evaluate(y, 5, 60), "kappa_t is from 0 to N"),
        (lambda x, y: ss.CoRanking(x).evaluate(y, 5, -1), "kappa_t is from 0"),
        (lambda x, y: ss.CoRanking(x).evaluate(y, 5, 5, norm="l2"), "norm"),
        (lambda x, y: ss.CoRanking(x).evaluate(y, 5, 5, ties="first"), "ties"),
        (lambda x, y: ss.CoRanking(x).evaluate(y[:, 0], 5, 5), r"has shape \(N, 1\)"),
        (lambda x, y: ss.CoRanking(x).evaluate({}, 5, 5), "candidates is empty"),
        (lambda x, y: ss.CoRanking(x).curves(y, "q_nx", k=50), "k is from 1 to N - 1 = 49"),
        (lambda x, y: ss.CoRanking(x).curves(y, "sammon_stress"), "no index of ranks"),
        (lambda x, y: ss.CoRanking(x).curves(y, "neighborhood_hit"), "needs labels"),
        (lambda x, y: ss.CoRanking(x).matrix({"a": y}), "one projection"),
        (lambda x, y: ss.CoRanking(x).matrix(y, 0), "k_max is from 1 to"),
    ],
)
def test_refusals(call: Callable[[Array, Array], Any], words: str) -> None:
    samples, embedding = _pair(50, 4)
    with pytest.raises(ss.InputError, match=words):
        call(samples, embedding)


def test_k_max_beyond_all_neighbours() -> None:
    samples, embedding = _pair(40, 4)
    cr = ss.CoRanking(samples, k_max=1000)
    found = cr.curves(embedding, ["q_nx", "u_x"], k="all")
    xr.testing.assert_identical(
        found, ss.evaluate(samples, embedding, metrics=["q_nx", "u_x"], k="all")
    )
    assert found["q_nx"][-1] == 1


@pytest.mark.parametrize("keep", ["lists", "ranks"])
def test_bad_samples_are_named_when_they_are_walked(keep: Any) -> None:
    samples, embedding = _pair(50, 4)
    samples[17, 2] = np.nan
    cr = ss.CoRanking(samples, keep=keep)
    with pytest.raises(ss.SampleValueError, match="sample 17"):
        cr.curves(embedding, "q_nx", k=5)


def test_ranks_that_do_not_fit_are_refused_at_once() -> None:
    samples = np.broadcast_to(np.float32(0), (2_000_000, 2))
    with pytest.raises(ss.MemoryBudgetError, match=r"16_000_000_000_000 bytes.*keep='lists'"):
        ss.CoRanking(samples, keep="ranks")


def test_pickle_keeps_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    samples, embedding = _pair(300, 4)
    cr = ss.CoRanking(samples, k_max=10)
    before = cr.curves(embedding, "q_nx", k=10)
    again = pickle.loads(pickle.dumps(cr))
    seen = _walked(monkeypatch)
    xr.testing.assert_identical(again.curves(embedding, "q_nx", k=10), before)
    assert seen == [{"projection projection"}]


def test_imports_stay_light() -> None:
    code = (
        "import sys, somscale; somscale.CoRanking\n"
        "heavy = {'dask.array', 'numba', 'sklearn', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
