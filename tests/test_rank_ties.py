"""Ties in the projection: what the policies give on digits, and when the note is there."""

from __future__ import annotations

from functools import cache
from typing import Any

import dask.array as da
import numpy as np
import pytest
import reference_ranks as reference
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import somscale as ss
from somscale import metrics

POLICIES = ("worst", "index", "expected", "best")
NOTE = "ties='expected' is the mean over all orders"
N = 400
SAMPLES = np.random.default_rng(0).standard_normal((N, 5))


def whole_numbers(side: int) -> Any:
    return np.random.default_rng(side).integers(0, side, (N, 2)).astype(float)


@cache
def trained() -> Any:
    return ss.train(load_digits().data, ss.Grid(10, 10), seed=0)


def trust_on(projection: Any, samples: Any, index: Any = metrics.trustworthiness) -> list[float]:
    return [float(index(samples, projection, k=10, ties=ties)) for ties in POLICIES]


def test_digits_on_a_grid_of_ten_by_ten() -> None:
    samples = load_digits().data
    places = PCA(2, svd_solver="full").fit_transform(samples)
    ends = places.min(axis=0), places.max(axis=0)
    cells = np.minimum(np.floor((places - ends[0]) / (ends[1] - ends[0]) * 10), 9)
    worst, index, expected, best = trust_on(cells, samples)
    assert worst == pytest.approx(0.619, abs=5e-4)
    assert index == pytest.approx(0.815, abs=1e-3)
    assert expected == pytest.approx(0.819, abs=5e-4)
    assert best == pytest.approx(0.968, abs=5e-4)


@pytest.mark.parametrize("name", ["trustworthiness", "neighborhood_preservation", "q_nx"])
def test_a_trained_map_lies_between_its_worst_and_its_best(name: str) -> None:
    judged = trained(), load_digits().data, getattr(metrics, name)
    worst, index, expected, best = trust_on(*judged)
    room = best - worst
    assert room > 0.01
    assert worst + 0.1 * room < expected < best - 0.1 * room
    assert abs(index - expected) < 0.1 * room


def share_of_ties(places: Any) -> float:
    first, last = reference.spans(reference.square_distances(places))
    return float((first < last).sum() / (N * (N - 1)))


def note_at(places: Any, **given: Any) -> str:
    return str(metrics.q_nx(SAMPLES, places, **given).attrs.get("note", ""))


def told_at(places: Any, k: int) -> float:
    """The share that the note tells, from the nearest of each row or from all."""
    return float(note_at(places, k=k).split(" %")[0]) / 100


@pytest.mark.parametrize("side", [20, 60, 200])
def test_whole_numbers_tie_and_the_note_says_so(side: int) -> None:
    places = whole_numbers(side)
    share = share_of_ties(places)
    # of a few ranks the nearest are found, of more than N / 8 every row is sorted
    for k in (1, 2, 10, 40, 60, N - 1):
        assert NOTE in note_at(places, k=k), k
        assert note_at(places, k=k, ties="expected") == ""
    assert told_at(places, 60) == told_at(places, N - 1) == pytest.approx(share, abs=6e-4)
    assert share / 1.6 < told_at(places, 40) < 1.6 * share
    assert "of the distances in the projection tie" in note_at(places, k=60)


def test_constant_places_tie_in_full() -> None:
    assert told_at(np.zeros((N, 2)), 10) == told_at(np.zeros((N, 2)), 60) == 1


@pytest.mark.parametrize("k", [1, 10, 60])
def test_few_ties_are_not_told(k: int) -> None:
    places = SAMPLES[:, :2].copy()
    assert note_at(places, k=k) == ""
    places[0] = places[1]  # as far as each other from every sample: 2 of 399
    assert share_of_ties(places) < 0.01
    assert note_at(places, k=k) == ""


def test_the_note_comes_with_lazy_and_sampled_values_too() -> None:
    places = whole_numbers(20)
    lazy = metrics.auc_r_nx(da.from_array(SAMPLES, chunks=(150, 5)), places)
    assert "note" not in lazy.attrs  # which is not known yet
    found = ss.evaluate(SAMPLES, places, metrics=["auc_r_nx"], sample_anchors=30)
    assert NOTE in found["note"].sel(metric="auc_r_nx").item()
    assert (
        NOTE
        in ss.evaluate(da.from_array(SAMPLES, chunks=(150, 5)), places, metrics=["auc_r_nx"])[
            "note"
        ]
        .sel(metric="auc_r_nx")
        .compute()
        .item()
    )
