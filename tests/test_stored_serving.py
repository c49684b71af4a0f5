"""Which matrices of a workspace serve some samples, and why others do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import somscale as ss
from somscale.codebook.passes import without_gapped_features
from somscale.engine.readers.samples import open_samples
from somscale.metrics.asking.pair_wishes import Measure
from somscale.metrics.asking.stored import StoredMatrices
from somscale.workspace.samples import fingerprint_text
from somscale.workspace.stored import measure_facts, measure_name, reading_of, stored_matrices
from tests.stored_cases import Array, answer, compare, problem_of

EUCLIDEAN, CITY = Measure("euclidean"), Measure("cityblock")


def halves(samples: Array, others: Array) -> Array:
    """A distance that is a function."""
    return np.asarray(cdist(samples, others, "cityblock") / 2)


def thirds(samples: Array, others: Array) -> Array:
    """Another one."""
    return np.asarray(cdist(samples, others, "cityblock") / 3)


@pytest.fixture
def samples() -> Array:
    return np.random.default_rng(5).standard_normal((60, 7))


@pytest.fixture
def workspace(tmp_path: Path, samples: Array) -> ss.Workspace:
    made = ss.Workspace(tmp_path / "work.zarr")
    made.write_samples(samples)
    return made


def serving(
    workspace: ss.Workspace, samples: Array, *measures: Measure, **reading: Any
) -> StoredMatrices | None:
    opened = without_gapped_features(open_samples(samples, **reading))
    known = fingerprint_text(workspace.location)
    return stored_matrices(workspace.location, opened, measures, fingerprint=known)


def test_nothing_is_stored(workspace: ss.Workspace, samples: Array) -> None:
    assert serving(workspace, samples, EUCLIDEAN) is None
    workspace.write_distances("cityblock")
    assert serving(workspace, samples, EUCLIDEAN) is None


@pytest.mark.parametrize("reading", [{}, {"mask": np.arange(60) % 4 > 0}, {"missing": "drop"}])
def test_what_is_written_serves(
    workspace: ss.Workspace, samples: Array, reading: dict[str, Any]
) -> None:
    if "missing" in reading:
        samples[3::9] = samples[:, 1] = np.nan
        workspace = ss.Workspace(f"{workspace.location.path}-gaps")
        workspace.write_samples(samples)
    for distance, more in (("euclidean", {}), ("minkowski", {"p": 3}), (halves, {})):
        workspace.write_distances(distance, **more, **reading)
        workspace.write_ranks(distance, **more, **reading)
    embedding = np.nan_to_num(samples[:, 2:4])
    problem = problem_of(samples, {"one": embedding}, **reading)
    names = ["c_measure", "shepard_correlation", "trustworthiness", "coranking_matrix"]
    for distance, p, name in (
        ("euclidean", None, "euclidean"),
        ("minkowski", 3.0, "minkowski_p3"),
        (halves, None, "function_halves"),
    ):
        stored = serving(workspace, samples, Measure(distance, p), **reading)
        assert stored is not None
        assert not stored.passed_over
        more = {"distance": distance, **({"p": p} if p else {})}
        found = answer(problem, names, stored, **more)
        compare(found, answer(problem, names, **more))
        assert stored.used == {f"distances/{name}", f"ranks/{name}"}


def test_squares_share_the_ranks_of_distances(workspace: ss.Workspace, samples: Array) -> None:
    workspace.write_ranks()
    stored = serving(workspace, samples, Measure("sqeuclidean"))
    assert stored is not None
    assert list(stored.ranks) == [EUCLIDEAN]
    answer(problem_of(samples, {"one": samples[:, :2]}), "q_nx", stored, distance="sqeuclidean")
    assert stored.used == {"ranks/euclidean"}


def test_a_name_of_the_user(workspace: ss.Workspace, samples: Array) -> None:
    workspace.write_distances("cityblock", name="mine")
    stored = serving(workspace, samples, CITY)
    assert stored is not None
    assert stored.names == {("distances", CITY): "distances/mine"}


def test_float32_is_passed_over(workspace: ss.Workspace, samples: Array) -> None:
    workspace.write_distances(dtype="float32", name="single")
    stored = serving(workspace, samples, EUCLIDEAN)
    assert stored is not None
    assert not stored.distances
    assert stored.passed_over == {
        "distances/single": "float32 distances would change the numbers; "
        "judge them with distance='precomputed'"
    }
    workspace.write_distances(name="later")
    again = serving(workspace, samples, EUCLIDEAN)
    assert again is not None
    assert again.names == {("distances", EUCLIDEAN): "distances/later"}


def test_what_is_not_complete_is_passed_over(workspace: ss.Workspace, samples: Array) -> None:
    workspace.write_ranks()
    workspace.location.group("ranks/euclidean", mode="a").attrs["complete"] = False
    stored = serving(workspace, samples, EUCLIDEAN)
    assert stored is not None
    assert not stored.ranks
    assert "not complete" in stored.passed_over["ranks/euclidean"]


def test_other_samples_and_readings_are_passed_over(
    workspace: ss.Workspace, samples: Array
) -> None:
    workspace.write_ranks()
    masked = serving(workspace, samples, EUCLIDEAN, mask=np.arange(60) > 3)
    assert masked is not None
    assert not masked.ranks
    assert "another mask" in masked.passed_over["ranks/euclidean"]
    opened = open_samples(samples)
    others = stored_matrices(workspace.location, opened, [EUCLIDEAN], fingerprint="0" * 32)
    assert others is not None
    assert others.passed_over == {"ranks/euclidean": "it is of other samples"}


def test_another_function_of_the_same_name_is_another(
    workspace: ss.Workspace, samples: Array
) -> None:
    workspace.write_distances(halves, name="mine")
    thirds.__name__, kept = "halves", thirds.__name__
    try:
        assert serving(workspace, samples, Measure(thirds)) is None
        assert serving(workspace, samples, Measure(halves)) is not None
    finally:
        thirds.__name__ = kept


def test_tokens_tell_what_serves(workspace: ss.Workspace, samples: Array) -> None:
    workspace.write_ranks()
    first = serving(workspace, samples, EUCLIDEAN)
    again = serving(workspace, samples, EUCLIDEAN)
    workspace.write_distances()
    both = serving(workspace, samples, EUCLIDEAN)
    assert first is not None
    assert again is not None
    assert both is not None
    assert first.token == again.token != both.token


@pytest.mark.parametrize(
    ("measure", "name"),
    [
        (EUCLIDEAN, "euclidean"),
        (Measure("minkowski", 3.0), "minkowski_p3"),
        (Measure("minkowski", 2.5), "minkowski_p2.5"),
        (Measure("minkowski", 1e20), "minkowski_p1e20"),
        (Measure(halves), "function_halves"),
        (Measure(lambda x, y: cdist(x, y)), "function_lambda"),
    ],
)
def test_names_of_measures(measure: Measure, name: str) -> None:
    assert measure_name(measure) == name


def test_facts_of_measures() -> None:
    assert measure_facts(Measure("minkowski", 3.0)) == {"distance": "minkowski", "p": 3.0}
    facts = measure_facts(Measure(halves))
    assert facts["distance"] == "function halves"
    assert facts["function"] != measure_facts(Measure(thirds))["function"]


def test_readings(samples: Array) -> None:
    samples[3] = samples[:, 2] = np.nan
    taken = np.arange(60) % 3 > 0
    readings = [
        {},
        {"missing": "drop"},
        {"missing": "drop_any_sample"},
        {"mask": taken},
        {"mask": ~taken},
        {"feature_weights": np.arange(7.0)},
        {"mask": (np.ones(60, bool), np.arange(7) != 2)},
    ]
    found = [reading_of(open_samples(samples, **reading)) for reading in readings]
    assert len(set(found)) == len(readings)
    assert reading_of(open_samples(samples, mask=np.ones(60, bool))) == found[0]
    assert reading_of(open_samples(samples.copy(), mask=taken.copy())) == found[3]
