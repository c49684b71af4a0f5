"""Ranks of neighbours on the command line: options, tables of curves and surfaces, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import somscale as ss
from somscale.cli import main
from somscale.cli.wording import in_options
from somscale.store import open_dataset


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def printed(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """150 samples and two embeddings, in files of the working directory."""
    monkeypatch.chdir(tmp_path)
    samples = np.random.default_rng(0).normal(size=(150, 5))
    np.save("X.npy", samples)
    np.save("first.npy", samples[:, :2])
    np.save("last.npy", samples[:, 3:])
    np.save("labels.npy", np.arange(150) % 3)
    return samples


ONE = ("evaluate", "X.npy", "--embedding", "first.npy")


def test_a_curve_is_shown_at_a_few_k(data: np.ndarray) -> None:
    text = printed(*ONE, "-m", "trustworthiness", "-m", "b_nx")
    lines = text.splitlines()
    assert lines[0].split() == ["index", "k=1", "k=5", "k=10", "k=50", "k=100", "best"]
    trust = ss.metrics.trustworthiness(data, data[:, :2], k=[1, 5, 10, 50, 100])
    rows = {line.split()[0]: line.split()[1:] for line in lines[1:3]}
    assert rows["trustworthiness"] == [*(f"{v:.4g}" for v in trust.values), "high"]
    assert rows["b_nx"][-1] == "0"
    assert "5 of 100 k are shown" in text
    assert "--json" in text


def test_values_that_are_asked_for_are_all_shown(data: np.ndarray) -> None:
    text = printed(*ONE, "-m", "q_nx", "-k", "3,7", "-k", "20:40:10")
    assert text.split()[:7] == ["index", "k=3", "k=7", "k=20", "k=30", "k=40", "best"]
    assert "are shown" not in text
    one = printed(*ONE, "-m", "q_nx", "--neighbors", 10)
    assert one.splitlines()[1].startswith("q_nx[k=10]")
    assert f"{ss.metrics.q_nx(data, data[:, :2], k=10).item():.6g}" in one


def test_a_surface_is_shown_in_a_few_cells(data: np.ndarray) -> None:
    text = printed(*ONE, "-m", "rank_quality", "--kappa-s", "1:60", "--kappa-t", "0:40")
    heads, *rows = text.splitlines()
    assert heads.split()[1:-1] == [f"kappa_t={t}" for t in (0, 1, 5, 10, 40)]
    names = [row.split("  ")[0] for row in rows[:5]]
    assert names == [f"rank_quality[kappa_s={s}]" for s in (1, 5, 10, 50, 60)]
    q = ss.metrics.rank_quality(data, data[:, :2], kappa_s=10, kappa_t=[0, 1, 5, 10, 40])
    assert rows[2].split()[1:-1] == [f"{v:.4g}" for v in q.values.ravel()]
    assert "5 of 41 kappa_t, 5 of 60 kappa_s are shown" in text


def test_regions_have_a_row_each_and_candidates_too(data: np.ndarray) -> None:
    text = printed(*ONE, "--embedding", "last.npy", "-m", "rank_regions", "-k", "5,9")
    rows = [line.split() for line in text.splitlines()]
    assert rows[0] == ["index", "candidate", "k=5", "k=9", "best"]
    assert [row[1] for row in rows[1:]] == ["first", "last"] * 4
    regions = ss.metrics.rank_regions(data, data[:, 3:], k=[5, 9]).sel(region="hard_intrusion")
    assert ["rank_regions[hard_intrusion]", "last", *map(str, regions.values)] in rows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1:4", [1, 2, 3, 4]),
        (":3", [1, 2, 3]),
        ("146:", [146, 147, 148, 149]),
        ("2:9:3", [2, 5, 8]),
        ("9,2,2:4", [2, 3, 4, 9]),
        ("all", list(range(1, 150))),
    ],
)
def test_ranges_hold_both_ends(data: np.ndarray, text: str, expected: list[int]) -> None:
    facts = json.loads(printed(*ONE, "-m", "q_nx", "-k", text, "--json"))
    assert facts["coordinates"]["k"] == expected
    assert facts["variables"]["q_nx"]["dims"] == ["k"]


def test_a_range_beyond_the_end_is_cut_with_a_note(data: np.ndarray) -> None:
    text = printed(*ONE, "-m", "q_nx", "-m", "lcmc", "-k", "1:400")
    assert "q_nx and 1 more: k ends at N - 1 = 149" in text


@pytest.mark.parametrize("name", ["out.zarr", "out.nc"])
def test_results_keep_curves_and_surfaces(data: np.ndarray, name: str) -> None:
    wanted = ["trustworthiness", "rank_quality", "rank_regions", "sample_q_nx"]
    options = [part for index in wanted for part in ("-m", index)]
    printed(*ONE, *options, "--kappa-s", "1:20", "--kappa-t", 3, "-o", name)
    with open_dataset(name) as opened:
        q = opened.load()
    again = ss.evaluate(
        "X.npy", np.load("first.npy"), metrics=wanted, kappa_s=range(1, 21), kappa_t=3
    )
    for index in wanted:
        np.testing.assert_array_equal(q[index], again[index])
        assert q[index].dims == again[index].dims
    assert q["region"].values.tolist() == again["region"].values.tolist()


def test_json_leaves_out_values_of_samples_alone(data: np.ndarray) -> None:
    facts = json.loads(printed(*ONE, "-m", "ranks", "-k", 10, "--json"))
    assert {"q_nx", "rank_quality", "rank_regions"} <= set(facts["variables"])
    assert not [name for name in facts["variables"] if name.startswith(("sample_", "pointwise"))]


def test_estimates_show_their_errors(data: np.ndarray) -> None:
    drawn = ("--sample-anchors", 40, "--seed", 3)
    one = printed(*ONE, "-m", "q_nx", "-k", 10, *drawn)
    found = ss.metrics.q_nx(data, data[:, :2], k=10, sample_anchors=40, seed=3)
    assert f"{found.item():.6g} ± {found.standard_error.item():.2g}" in one
    curve = printed(*ONE, "-m", "q_nx", "-k", "5,10", *drawn)
    assert f"{found.item():.4g} ± {found.standard_error.item():.2g}" in curve
    assert "interval" not in curve


def test_ties_norms_and_labels_are_passed_on(data: np.ndarray) -> None:
    grid = np.floor(data[:, :2])
    np.save("grid.npy", grid)
    how = ("evaluate", "X.npy", "--embedding", "grid.npy", "-k", 4)
    expected = ss.metrics.continuity(data, grid, k=4, ties="expected").item()
    assert f"{expected:.6g}" in printed(*how, "-m", "continuity", "--ties", "expected")
    by_index = printed(*how, "-m", "continuity")
    assert "--ties expected is the mean over all orders" in by_index
    hit = ss.metrics.neighborhood_hit(data, grid, k=4, labels=np.arange(150) % 3).item()
    assert f"{hit:.6g}" in printed(*how, "-m", "neighborhood_hit", "--labels", "labels.npy")
    region = ss.metrics.rank_quality(data, data[:, :2], kappa_s=6, kappa_t=2, norm="region")
    cell = ("--kappa-s", 6, "--kappa-t", 2, "--norm", "region")
    assert f"{region.item():.6g}" in printed(*ONE, "-m", "rank_quality", *cell)
    corner = printed(*ONE, "-m", "coranking_matrix", "--k-max", 3, "--json")
    assert np.shape(json.loads(corner)["variables"]["coranking_matrix"]["values"]) == (3, 3)


def test_the_plan_shows_the_walk_and_what_is_left_out_is_said(data: np.ndarray) -> None:
    planned = printed("plan", "X.npy", "--embedding", "first.npy", "-m", "ranks")
    assert "ranks" in planned
    assert "pairs" in planned
    assert "Left out" in printed(*ONE)
    assert "auc_r_nx" not in printed(*ONE, "-k", "all").rpartition("Left out")[2]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["-k", "0"], "k is from 1 to N - 1 = 149 here, not 0"),
        (["-k", "150"], "k is from 1 to N - 1 = 149 here, not 150"),
        (["-k", "ten"], "-k takes numbers and ranges"),
        (["-k", "-3"], "-k takes numbers and ranges"),
        (["-k", "9:3"], "-k 9:3 is empty"),
        (["-k", "1:9:0"], "-k 1:9:0 is empty"),
        (["-k", "3,5:"], "-k 5: is open at an end"),
        (["-k", "all,5"], "-k all stands alone"),
        (["-k", ","], "-k takes numbers and ranges"),
        (["--kappa-t", "-1", "-m", "rank_quality"], "--kappa-t takes numbers and ranges"),
        (["--space", "codebook"], "--space codebook is for maps"),
        (["-m", "q_nx", "--ties", "weighted"], "--ties weighted is for"),
        (["-m", "neighborhood_hit"], "it needs --labels"),
        (["-m", "metric_stress", "-k", "3"], "no index asked for has a parameter 'k'"),
    ],
)
def test_what_cannot_be_is_refused_in_the_words_of_the_command(
    data: np.ndarray, options: list[str], complaint: str
) -> None:
    result = run(*ONE, *options)
    assert result.exit_code == 1
    assert complaint in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("say ties='index', or k='all'", "say --ties index, or -k all"),
        ("with sample_dims=['time', 'lat']", "with --sample-dims time,lat"),
        ("ask for it with k_max=", "ask for it with --k-max"),
        ("mask= and weights of_k=3", "mask= and weights of_k=3"),
        ("cluster[kappa_s=3]", "cluster[kappa_s=3]"),
    ],
)
def test_arguments_are_options(sentence: str, expected: str) -> None:
    assert in_options(sentence) == expected
