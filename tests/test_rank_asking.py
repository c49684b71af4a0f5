"""Indices of ranks through the public functions: what is asked for, walked, and given back."""

from __future__ import annotations

import json
from typing import Any

import dask.array as da
import numpy as np
import pytest
import reference_ranks as reference
import xarray as xr

import somscale as ss
from somscale import metrics
from somscale.errors import InputError
from somscale.metrics.asking.problem import READING, pose
from somscale.metrics.asking.rank_values import RankScope
from somscale.metrics.asking.rank_wishes import rank_wishes
from somscale.metrics.asking.requests import make_request
from somscale.metrics.passes.rank_walks import rank_walks
from somscale.metrics.spec import all_specs

N = 90
RNG = np.random.default_rng(5)
SAMPLES = RNG.standard_normal((N, 5))
PLACES = SAMPLES[:, :2] + 0.3 * RNG.standard_normal((N, 2))
LABELS = RNG.integers(0, 3, N)
SOM = ss.codebook(SAMPLES[:6], ss.Grid(2, 3))
RANKED = {spec.name: spec for spec in all_specs() if spec.cost == "ranks"}
PLACED = {name for name, spec in RANKED.items() if spec.subject == "projection"}
FULL = [n for n, s in RANKED.items() if "full" in s.tables]
ALL_RANKS: dict[str, Any] = {
    "metrics": "ranks",
    "labels": LABELS,
    "k": "all",
    "kappa_s": [1, 4],
    "kappa_t": [0, 3],
}
MATRIX = reference.corank(
    reference.ranks(reference.square_distances(SAMPLES)),
    reference.ranks(reference.square_distances(PLACES)),
)


def wants(names: Any, projection: Any = PLACES, **given: Any) -> list[Any]:
    """What is tallied for some indices."""
    problem = pose(SAMPLES, {"a": projection}, LABELS, {}, READING)
    scope = RankScope.of(problem)
    requests = [
        make_request(name, RANKED[name], given.get(name, {}), scope=scope) for name in names
    ]
    return list(rank_wishes(problem, requests).items())


# --- which ranks


def test_by_default_the_first_hundred() -> None:
    found = ss.evaluate(SAMPLES, PLACES, labels=LABELS, metrics="ranks")
    assert found["k"].values.tolist() == list(range(1, N - 1))
    assert found["kappa_s"].values.tolist() == list(range(1, N - 1))
    assert found["kappa_t"].values.tolist() == list(range(N - 1))
    assert {found[name].dtype for name in ("k", "kappa_s", "kappa_t")} == {np.dtype(np.int64)}
    for name in ("k", "kappa_s", "kappa_t", "region"):
        assert set(found[name].attrs) == {"long_name", "units"}
    # values of samples are given at one rank each, which is no dim
    assert found["sample_q_nx"].dims == ("sample",)
    assert found["sample_q_nx"].attrs["k"] == 10
    point = found["pointwise_rank_quality"]
    assert (point.dims, point.attrs["kappa_s"], point.attrs["kappa_t"]) == (("sample",), 20, 10)


def test_all_ranks() -> None:
    found = metrics.q_nx(SAMPLES, PLACES, k="all")
    assert found["k"].values.tolist() == list(range(1, N))
    np.testing.assert_allclose(found, [reference.q_nx(MATRIX, k) for k in range(1, N)])
    assert metrics.r_nx(SAMPLES, PLACES, k="all").sizes["k"] == N - 2
    both = ss.evaluate(SAMPLES, PLACES, metrics=["q_nx", "r_nx"], k="all")
    assert np.isnan(both["r_nx"].sel(k=N - 1))
    assert not np.isnan(both["r_nx"].sel(k=N - 2))


def test_one_rank_drops_its_dim() -> None:
    one = metrics.trustworthiness(SAMPLES, PLACES, k=7)
    assert (one.dims, one["k"].item()) == ((), 7)
    assert one.item() == pytest.approx(reference.trustworthiness(MATRIX, 7), rel=1e-14)
    assert metrics.trustworthiness(SAMPLES, PLACES, k=[7]).dims == ("k",)
    assert metrics.rank_quality(SAMPLES, PLACES, kappa_s=3).dims == ("kappa_t",)
    own = metrics.sample_q_nx(SAMPLES, PLACES, k=7)
    assert (own.dims, own["k"].item()) == (("sample",), 7)
    assert float(own.mean()) == pytest.approx(reference.q_nx(MATRIX, 7), rel=1e-13)
    assert metrics.sample_q_nx(SAMPLES, PLACES, k=[7, 3]).dims == ("sample", "k")
    assert ss.evaluate(SAMPLES, PLACES, metrics="q_nx", k=7)["q_nx"].dims == ("k",)


@pytest.mark.parametrize("k", [range(80, 200, 4), slice(80, 200, 4)])
def test_ranges_are_cut_with_a_note(k: Any) -> None:
    found = metrics.q_nx(SAMPLES, PLACES, k=k)
    assert found["k"].values.tolist() == [80, 84, 88]
    assert found.attrs["note"] == "k ends at N - 1 = 89"
    assert "note" not in metrics.q_nx(SAMPLES, PLACES, k=slice(80, None)).attrs
    assert "note" not in metrics.q_nx(SAMPLES, PLACES, k=range(80, 90)).attrs


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("q_nx", {"k": 90}, "q_nx: k is from 1 to N - 1 = 89 here, not 90"),
    ("q_nx", {"k": [1, 120]}, "k is from 1 to N - 1 = 89 here, not 120"),
    ("r_nx", {"k": 89}, "r_nx: k is from 1 to N - 2 = 88 here, not 89"),
    ("q_nx", {"k": 0}, "k is from 1 to N - 1 = 89 here, not 0"),
    ("q_nx", {"k": range(100, 120)}, "k is from 1 to N - 1 = 89 here, not 100"),
    ("q_nx", {"k": range(-3, 5)}, "k is from 1 to N - 1 = 89 here, not -3"),
    ("q_nx", {"k": [3, 3]}, r"k of q_nx holds a value twice: \[3, 3\]"),
    ("q_nx", {"k": 2.5}, "k of q_nx counts ranks, in whole numbers, not 2.5"),
    ("q_nx", {"k": True}, "in whole numbers, not True"),
    ("q_nx", {"k": "most"}, "k is a number, a list, or 'all', not 'most'"),
    ("q_nx", {"k": []}, r"k of q_nx is a number or a list, not \[\]"),
    ("q_nx", {"k": range(5, 5)}, r"k of q_nx is empty: range\(5, 5\)"),
    ("q_nx", {"k": slice(1, 9, 0)}, "is cut in whole numbers"),
    ("rank_quality", {"kappa_s": 90}, "kappa_s is from 1 to N - 1 = 89 here, not 90"),
    ("rank_quality", {"kappa_t": 90}, "kappa_t is from 0 to N - 1 = 89 here, not 90"),
    ("coranking_matrix", {"k_max": 0}, "k_max is from 1 to N - 1 = 89 here, not 0"),
    ("q_nx", {"ties": "random"}, "ties is one of"),
    ("q_nx", {"ties": "weighted"}, "ties='weighted' is for continuity"),
    ("q_nx", {"space": "codebook"}, "space='codebook' is for maps"),
    ("q_nx", {"space": "units"}, "space is one of"),
    ("neighborhood_hit", {"k": 3}, "give labels="),
]


@pytest.mark.parametrize(
    ("name", "given", "text"), REFUSED, ids=[f"{r[0]}-{r[1]}" for r in REFUSED]
)
def test_what_is_out_of_range_is_refused(name: str, given: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        getattr(metrics, name)(SAMPLES, PLACES, **given)


def test_masked_samples_do_not_count() -> None:
    mask = np.arange(N) >= 10
    with pytest.raises(InputError, match="N - 1 = 79 here, not 80"):
        metrics.q_nx(SAMPLES, PLACES, k=80, mask=(mask, None))
    found = metrics.auc_r_nx(SAMPLES, PLACES, mask=(mask, None))
    assert found.item() == metrics.auc_r_nx(SAMPLES[10:], PLACES[10:]).item()


def test_dropped_samples_leave_fewer_ranks() -> None:
    gaps = SAMPLES.copy()
    gaps[:10] = np.nan
    found = metrics.q_nx(gaps, PLACES, k=[5, 85], missing="drop")
    assert found[0] == metrics.q_nx(SAMPLES[10:], PLACES[10:], k=5)
    assert np.isnan(found[1])
    assert "N - 1 = 79" in found.attrs["note"]
    own = metrics.sample_q_nx(gaps, PLACES, missing="drop")
    assert np.isnan(own[:10]).all()
    assert not np.isnan(own[10:]).any()


# --- ties and spaces


def test_maps_spread_ties_and_embeddings_break_them() -> None:
    on_map, placed = (metrics.q_nx(SAMPLES, p, k=5) for p in (SOM, PLACES))
    assert (on_map.attrs["ties"], on_map.attrs["space"]) == ("expected", "map")
    assert placed.attrs["ties"] == "index"
    assert "space" not in placed.attrs
    units = metrics.bmu(SAMPLES, SOM).values
    matrix = reference.expected_corank(
        reference.square_distances(SAMPLES), SOM_DELTA[np.ix_(units, units)]
    )
    assert on_map.item() == pytest.approx(reference.q_nx(matrix, 5), rel=1e-12)
    codes = metrics.q_nx(SAMPLES, SOM, k=5, space="codebook")
    between = reference.square_distances(SAMPLES[:6])[np.ix_(units, units)]
    matrix = reference.expected_corank(reference.square_distances(SAMPLES), between)
    assert codes.item() == pytest.approx(reference.q_nx(matrix, 5), rel=1e-12)


SOM_DELTA = ss.Grid(2, 3).distances()


def test_ties_that_the_order_decides_are_told() -> None:
    few = np.round(PLACES)
    noted = metrics.q_nx(SAMPLES, few, k=5)
    assert "ties='expected' is the mean over all orders" in noted.attrs["note"]
    assert "note" not in metrics.q_nx(SAMPLES, few, k=5, ties="expected").attrs
    assert "note" not in metrics.q_nx(SAMPLES, PLACES, k=5).attrs
    found = ss.evaluate(SAMPLES, few, metrics=["auc_r_nx", "c_measure"])
    assert "ties='expected'" in found["note"].sel(metric="auc_r_nx").item()
    assert found["note"].sel(metric="c_measure").item() == ""


def test_somperf_ranks_code_vectors_with_weights() -> None:
    names = ["trustworthiness", "neighborhood_preservation", "q_nx"]
    found = ss.evaluate(SAMPLES, SOM, metrics=names, convention="somperf", k=5)
    for name in names[:2]:
        own = getattr(metrics, name)(SAMPLES, SOM, k=5, space="codebook", ties="weighted")
        assert found[name].item() == own.item()
    assert found["q_nx"].attrs["ties"] == "expected"
    placed = ss.evaluate(SAMPLES, PLACES, metrics=names, convention="somperf", k=5)
    assert placed["trustworthiness"].attrs["ties"] == "index"


def test_squares_and_matrices_have_the_same_ranks() -> None:
    expected = metrics.continuity(SAMPLES, PLACES, k=[3, 20])
    squared = metrics.continuity(SAMPLES, PLACES, k=[3, 20], distance="sqeuclidean")
    distances = np.sqrt(reference.square_distances(SAMPLES))
    given = metrics.continuity(distances, PLACES, k=[3, 20], distance="precomputed")
    assert expected.values.tolist() == squared.values.tolist() == given.values.tolist()


# --- what is walked


def test_indices_of_one_projection_share_a_tally() -> None:
    names = ["q_nx", "trustworthiness", "rank_quality", "sample_q_nx", "neighborhood_jaccard"]
    ((key, want),) = wants(
        [*names, "neighborhood_hit", "coranking_matrix"], coranking_matrix={"k_max": 7}
    )
    assert (key.candidate, key.ties, key.space) == ("a", "index", None)
    assert (want.k_max, want.kappa_s, want.kappa_t, want.matrix) == (N - 2, N - 2, N - 2, 7)
    assert (want.jaccard, want.labels, want.sample_ks) == (True, "labels", (10,))
    ((_, few),) = wants(["q_nx", "u_n"], q_nx={"k": [3, 9]}, u_n={"k": 4})
    assert (few.k_max, few.kappa_s, few.jaccard, few.sample_pairs) == (9, 0, False, ())
    ((_, full),) = wants(["auc_r_nx"])
    assert full.k_max == N - 1
    apart = wants(["q_nx", "u_n"], q_nx={"k": 3, "ties": "best"}, u_n={"k": 3})
    assert [key.ties for key, _ in apart] == ["best", "index"]


def test_the_jaccard_index_is_tallied_apart_from_longer_curves() -> None:
    many = np.arange(2_100.0)[:, None]
    problem = pose(many, {"a": many}, None, {}, READING)
    scope = RankScope.of(problem)
    requests = [
        make_request(name, RANKED[name], {}, scope=scope)
        for name in ("auc_r_nx", "neighborhood_jaccard")
    ]
    found = rank_wishes(problem, requests)
    assert {key.apart: want.k_max for key, want in found.items()} == {False: 2_099, True: 100}


def test_all_candidates_are_one_walk() -> None:
    candidates = {"a": PLACES, "b": PLACES[::-1].copy()}
    problem = pose(SAMPLES, candidates, None, {}, READING)
    request = make_request("q_nx", RANKED["q_nx"], {"k": 5}, scope=RankScope.of(problem))
    assert len(rank_walks(problem, rank_wishes(problem, [request])).jobs) == 1
    found = ss.evaluate(SAMPLES, candidates, metrics=["q_nx", "trustworthiness"], k=[5, 20])
    for name, places in candidates.items():
        for index in ("q_nx", "trustworthiness"):
            own = getattr(metrics, index)(SAMPLES, places, k=[5, 20])
            assert found[index].sel(candidate=name).values.tolist() == own.values.tolist()
    assert "rows meet all others" in repr(ss.plan(SAMPLES, candidates, metrics="q_nx"))


def test_all_leaves_out_what_takes_all_ranks() -> None:
    found = ss.evaluate(SAMPLES, PLACES, labels=LABELS)
    omitted = json.loads(found.attrs["indices_left_out"])
    assert {*FULL, "coranking_matrix"} == {name for names in omitted.values() for name in names}
    assert PLACED - {*FULL, "coranking_matrix"} <= set(found.data_vars)
    whole = ss.evaluate(SAMPLES, PLACES, k="all")
    assert set(FULL) <= set(whole["metric"].values)
    omitted = json.loads(whole.attrs["indices_left_out"])
    assert "sample_q_nx" in omitted[next(r for r in omitted if "every sample" in r)]
    pairs = ss.evaluate(SAMPLES, PLACES, cost="pairs")
    assert not set(RANKED) & {*pairs.data_vars, *pairs["metric"].values}
    assert "indices_left_out" not in pairs.attrs


def test_many_samples_are_ranked_only_for_indices_that_are_named() -> None:
    many = np.arange(20_001.0)[:, None]
    planned = ss.plan(many, many)
    assert not set(RANKED) & set(planned.indices)
    assert "trustworthiness" in ss.plan(many, many, metrics="trustworthiness").indices
    with pytest.raises(InputError, match="ask for its corner with k_max="):
        metrics.coranking_matrix(many, many)


def test_who_names_the_family_names_its_walk() -> None:
    many = np.arange(50_000.0)[:, None]
    planned = ss.plan(many, many, metrics="ranks")
    by_map = {n for n, s in RANKED.items() if s.subject == "map"}
    expected = set(RANKED) - by_map - {*FULL, "coranking_matrix", "neighborhood_hit"}
    assert set(planned.indices) == expected
    assert set(FULL) <= set(ss.plan(many, many, metrics="ranks", k="all").indices)
    som = ss.codebook(many[:6], ss.Grid(2, 3))
    assert by_map <= set(ss.plan(many, som, metrics="ranks").indices)
    walked = ss.plan(np.zeros((100_001, 2)), np.zeros((100_001, 2)), metrics="distances")
    assert {"c_measure", "shepard_diagram"} <= set(walked.indices)
    # of a family that has linear indices, these alone
    clusters = np.arange(100_001) % 3
    assert "silhouette_score" not in ss.plan(many[clusters], clusters, metrics="clusters").indices


def test_what_a_family_leaves_out_is_listed() -> None:
    found = ss.evaluate(SAMPLES, PLACES, metrics="ranks", k=5, kappa_s=5, kappa_t=5)
    omitted = json.loads(found.attrs["indices_left_out"])
    (why,) = omitted
    assert why.startswith("ranks beyond the first hundred are counted only for indices")
    assert set(omitted[why]) == {*FULL, "coranking_matrix"}
    # what is named beside it is there
    both = ss.evaluate(SAMPLES, PLACES, metrics=["ranks", *FULL, "coranking_matrix"])
    assert "indices_left_out" not in both.attrs
    assert "indices_left_out" not in ss.evaluate(SAMPLES, PLACES, metrics="q_nx").attrs


@pytest.mark.parametrize("names", ["all", "ranks"])
def test_indices_without_weights_for_ties_are_left_out(names: str) -> None:
    found = ss.evaluate(SAMPLES, SOM, metrics=names, k=5, ties="weighted")
    have = set(RANKED) & {*found.data_vars, *found.get("metric", xr.DataArray([])).values.tolist()}
    assert {"trustworthiness", "unit_continuity", "neighborhood_preservation"} <= have
    assert {found[name].attrs["ties"] for name in have} == {"weighted"}
    omitted = json.loads(found.attrs["indices_left_out"])
    (why,) = (why for why in omitted if why.startswith("ties='weighted' is for"))
    assert {"q_nx", "rank_quality", "auc_r_nx"} <= set(omitted[why])
    assert not have & set(omitted[why])
    with pytest.raises(InputError, match="q_nx: ties='weighted' is for"):
        ss.evaluate(SAMPLES, SOM, metrics=[names, "q_nx"], k=5, ties="weighted")


def test_a_family_that_does_not_apply_says_why() -> None:
    text = "'ranks' does not apply: it judges a map or an embedding, and the candidates are clust"
    with pytest.raises(InputError, match=text):
        ss.evaluate(SAMPLES, LABELS, metrics="ranks")
    with pytest.raises(InputError, match="'ranks' does not apply: sample_weights= has no meaning"):
        ss.evaluate(SAMPLES, PLACES, metrics="ranks", sample_weights=np.ones(N))


def test_published_quality_of_ranks_says_where_it_reverses() -> None:
    worse = PLACES[::-1].copy()
    ends = [N - 3, N - 2, N - 1]
    near, far = (
        metrics.rank_quality(SAMPLES, own, kappa_s=5, kappa_t=ends) for own in (PLACES, worse)
    )
    assert 1 < near[1] < far[1]
    expected = 2 - metrics.q_nx(SAMPLES, PLACES, k=5).item()
    np.testing.assert_allclose(near[1:], expected, rtol=1e-14)
    assert near.attrs["direction"] == "higher"
    assert f"from kappa_t = N - 2 = {N - 2} on Q' is 2 - Q_NX" in near.attrs["note"]
    assert "*worse* projections score higher" in " ".join(
        (metrics.rank_quality.__doc__ or "").split()
    )
    before = metrics.rank_quality(SAMPLES, PLACES, kappa_s=5, kappa_t=N - 3)
    share = metrics.rank_quality(SAMPLES, PLACES, kappa_s=5, kappa_t=N - 1, norm="region")
    assert "note" not in before.attrs
    assert "note" not in share.attrs
    assert share == 1


def test_weights_are_refused() -> None:
    with pytest.raises(InputError, match="sample_weights= has no meaning for ranks of samples"):
        metrics.q_nx(SAMPLES, PLACES, sample_weights=np.ones(N))


@pytest.mark.parametrize("projection", [PLACES, SOM], ids=["embedding", "map"])
def test_one_sample_has_no_neighbors(projection: Any) -> None:
    places = projection if projection is SOM else projection[:1]
    names = sorted((set(RANKED) if projection is SOM else PLACED) - {"coranking_matrix"})
    found = ss.evaluate(SAMPLES[:1], places, labels=[0], metrics=names)
    assert np.isnan(found["value"]).all()
    assert (found["note"] != "").all()
    for name in {*found.data_vars} - {"value", "note"}:
        assert np.isnan(found[name]).all()
        assert "N - 1 = 0" in found[name].attrs["note"] or name == "r_nx"
    with pytest.raises(InputError, match="one sample has no neighbours"):
        metrics.coranking_matrix(SAMPLES[:1], places)


def test_values_of_samples_at_other_ranks_are_refused_beside_curves() -> None:
    wish: dict[str, Any] = {"own": ("sample_q_nx", {"k": [3, 4]}), "all": "q_nx"}
    with pytest.raises(InputError, match="own is asked for at other k than"):
        ss.evaluate(SAMPLES, PLACES, metrics=wish)
    wish["own"] = ("sample_q_nx", {"k": 3})
    found = ss.evaluate(SAMPLES, PLACES, metrics=wish)
    assert (found["own"].dims, found["own"].attrs["k"]) == (("sample",), 3)


# --- later


def test_the_coranking_matrix_is_lazy() -> None:
    found = metrics.coranking_matrix(SAMPLES, PLACES)
    assert found.chunks is not None
    assert found.dims == ("rank_in", "rank_out")
    assert found["rank_in"].values.tolist() == list(range(1, N))
    np.testing.assert_array_equal(found, MATRIX)
    corner = metrics.coranking_matrix(SAMPLES, PLACES, k_max=4)
    np.testing.assert_array_equal(corner, MATRIX[:4, :4])


@pytest.mark.parametrize("projection", [PLACES, SOM], ids=["embedding", "map"])
@pytest.mark.parametrize("anchors", [None, 40])
def test_dask_samples_give_the_same_bits_later(projection: Any, anchors: int | None) -> None:
    asked = {**ALL_RANKS, "sample_anchors": anchors}
    expected = ss.evaluate(SAMPLES, projection, **asked)
    lazy = ss.evaluate(da.from_array(SAMPLES, chunks=(25, 3)), projection, **asked)
    assert lazy["q_nx"].chunks is not None
    xr.testing.assert_identical(lazy.load().drop_attrs(), expected.drop_attrs())
    own: dict[str, Any] = {"metrics": ["sample_q_nx", "pointwise_rank_quality"]}
    lazy = ss.evaluate(da.from_array(SAMPLES, chunks=(25, 3)), projection, **own)
    xr.testing.assert_identical(
        lazy.load().drop_attrs(), ss.evaluate(SAMPLES, projection, **own).drop_attrs()
    )


# --- from drawn rows


@pytest.mark.parametrize("projection", [PLACES, SOM], ids=["embedding", "map"])
def test_all_rows_drawn_are_exact(projection: Any) -> None:
    exact = ss.evaluate(SAMPLES, projection, **ALL_RANKS)
    found = ss.evaluate(SAMPLES, projection, sample_anchors=N, **ALL_RANKS)
    for name in {*exact.data_vars} - {"value", "note"}:
        np.testing.assert_allclose(found[name], exact[name], rtol=1e-11, atol=1e-11)
        assert np.nanmax(found[f"{name}_standard_error"]) == 0
    np.testing.assert_allclose(found["value"], exact["value"], rtol=1e-10)


def test_estimates_come_with_errors_and_values_of_samples_refuse() -> None:
    found = metrics.trustworthiness(SAMPLES, PLACES, k=[5, 20], sample_anchors=40, seed=1)
    assert found["standard_error"].dims == ("k",)
    assert (found["interval_low"] < found).all()
    rho, r = (reference.ranks(reference.square_distances(x)) for x in (SAMPLES, PLACES))
    drawn = np.sort(np.random.default_rng(1).choice(N, 40, replace=False, shuffle=False))
    rows = np.where((r > 0) & (r <= 5) & (rho > 5), rho - 5, 0).sum(axis=1)[drawn]
    values = 1 - rows / reference.worst_excess(N, 5)
    assert found[0] == pytest.approx(values.mean(), rel=1e-13)
    error = np.sqrt((1 - 40 / N) * values.var(ddof=1) / 40)
    assert found["standard_error"][0] == pytest.approx(error, rel=1e-12)
    for name in ("sample_q_nx", "pointwise_rank_quality"):
        with pytest.raises(InputError, match="value of every sample"):
            getattr(metrics, name)(SAMPLES, PLACES, sample_anchors=9)


@pytest.mark.parametrize("norm", ["lueks", "region"])
def test_errors_of_the_surface_are_those_of_its_rows(norm: str) -> None:
    given: dict[str, Any] = {"kappa_s": 6, "kappa_t": 3, "norm": norm}
    found = metrics.rank_quality(SAMPLES, PLACES, sample_anchors=40, **given)
    rho, r = (reference.ranks(reference.square_distances(x)) for x in (SAMPLES, PLACES))
    drawn = np.sort(np.random.default_rng(0).choice(N, 40, replace=False, shuffle=False))
    region = (np.minimum(rho, r) <= 6) & (rho > 0)
    inside = (region & (abs(rho - r) <= 3)).sum(axis=1)[drawn]
    near = region.sum(axis=1)[drawn] if norm == "region" else np.full(40, 6)
    ratio = inside.sum() / near.sum()
    error = np.sqrt((1 - 40 / N) * ((inside - ratio * near) ** 2).sum() / 39 / 40) / near.mean()
    assert found.item() == pytest.approx(ratio, rel=1e-14)
    assert found["standard_error"].item() == pytest.approx(error, rel=1e-10)


def test_groups_of_rows_tell_the_error_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = ss.evaluate(SAMPLES, PLACES, metrics=["q_nx", "auc_r_nx"], sample_anchors=80)
    monkeypatch.setattr("somscale.metrics.passes.rank_walks._GROUPED_BYTES", 0)
    grouped = ss.evaluate(SAMPLES, PLACES, metrics=["q_nx", "auc_r_nx"], sample_anchors=80)
    np.testing.assert_allclose(grouped["q_nx"], alone["q_nx"], rtol=1e-13)
    ratio = grouped["q_nx_standard_error"] / alone["q_nx_standard_error"]
    assert 0.8 < float(ratio.mean()) < 1.25
    assert not np.allclose(ratio, 1)


def test_intervals_cover() -> None:
    names = ["q_nx", "r_nx", "rank_quality", "auc_r_nx", "k_max"]
    asked: dict[str, Any] = {"metrics": names, "k": [5, 20], "kappa_s": 5, "kappa_t": 5}
    exact = ss.evaluate(SAMPLES, PLACES, **asked)
    covered: dict[str, list[bool]] = {name: [] for name in names}
    for seed in range(25):
        found = ss.evaluate(SAMPLES, PLACES, sample_anchors=30, seed=seed, **asked)
        for name in names:
            if name in found:
                low, high = (found[f"{name}_interval_{end}"] for end in ("low", "high"))
                inside = (low <= exact[name]) & (exact[name] <= high)
            else:
                one, known = found.sel(metric=name), exact["value"].sel(metric=name)
                inside = (one["interval_low"] <= known) & (known <= one["interval_high"])
            covered[name].append(bool(np.ravel(inside)[0]))
    for name, hits in covered.items():
        assert np.mean(hits) > 0.8, name
