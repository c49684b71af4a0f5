"""Matrices of distances and ranks, filled block by block: the same bits however it is done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
import zarr
from distributed import Client, LocalCluster
from filling_cases import (
    EUCLIDEAN,
    Array,
    Box,
    Cut,
    FolderTarget,
    Kind,
    MemoryTarget,
    assert_blocks,
    blocks_of,
    dtype_of,
    filled,
    job_of,
    nothing_of,
    on_all,
    rank_table,
    table_of,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference_ranks import spans, square_distances
from strategies import KINDS as SAMPLE_KINDS
from zarr.storage import MemoryStore

from somscale.engine.pairs.filling import Filling, fill_matrix, plan_filling
from somscale.engine.pairs.job import PairJob
from somscale.engine.readers.samples import Samples, open_samples
from somscale.errors import InputError, MemoryBudgetError, SampleValueError
from somscale.metrics.asking.pair_wishes import Measure
from somscale.options import set_options
from somscale.reductions.base import Side
from somscale.spaces import DISTANCES

MUCH = 1e9
"""Operations a pair, so many that no scheduler leaves the work to a plain loop."""
MATRICES: list[Kind] = ["distances", "ranks"]
both_kinds = pytest.mark.parametrize("kind", MATRICES)


def gaussian(n: int = 70, d: int = 5, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal((n, d))


def in_zarr(values: Array, chunks: tuple[int, int]) -> zarr.Array[Any]:
    return zarr.create_array(MemoryStore(), data=values, chunks=chunks)


def in_file(values: Array, folder: Path) -> Array:
    path = folder / "samples.npy"
    np.save(path, values)
    mapped: Array = np.load(path, mmap_mode="r")
    return mapped


def seconds_apart(x: Array, y: Array) -> Array:
    """A distance of the user's: the largest difference, halved."""
    return np.abs(x[:, None, :].astype(float) - y[None]).max(axis=2) / 2


def assert_distances(found: Array, expected: Array, rtol: float = 1e-12) -> None:
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=0)
    assert found.tobytes() == np.ascontiguousarray(found.T).tobytes()
    assert not np.diagonal(found).any()


# --- what is written

SIZES = st.one_of(st.integers(1, 5), st.integers(6, 70), st.sampled_from([127, 128, 129, 255, 300]))
TILES = st.sampled_from([64, 1, 2, 3, 7, 8, 16, 33, 512])
AWKWARD = ["gaussian", "integers", "duplicates", "constant", "float32", "int16", "midpoints"]


@given(
    kind=st.sampled_from([*AWKWARD, "offset", "scale 1e-9", "scale 1e150", "scale 1e-150"]),
    n=SIZES,
    d=st.integers(1, 20),
    tile_rows=TILES,
    power=st.integers(0, 3),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=70)
def test_distances_are_those_of_scipy(
    kind: str, n: int, d: int, tile_rows: int, power: int, seed: int
) -> None:
    assume(n <= 12 * tile_rows)
    values, _ = SAMPLE_KINDS[kind](np.random.default_rng(seed), n, d, 3)
    found = filled(open_samples(values), cut=Cut(tile_rows, power))
    assert_distances(found, table_of(values))
    if kind != "scale 1e150":
        single = filled(open_samples(values), cut=Cut(tile_rows, power), dtype=np.float32)
        np.testing.assert_array_equal(single, found.astype(np.float32), strict=True)


def test_a_distance_that_float32_does_not_hold_is_named() -> None:
    values = gaussian(40, 2)
    values[33] = 3e38
    there = np.arange(40) != 3
    for samples in (open_samples(values), open_samples(values, mask=there)):
        assert np.nanmax(filled(samples)) == np.hypot(3e38, 3e38)
        with pytest.raises(
            SampleValueError, match=r"sample 0 and sample 33 is 4\.2.*e\+38.*float64"
        ):
            filled(samples, dtype=np.float32)


@given(
    kind=st.sampled_from([*AWKWARD, "offset", "scale 1e-165", "far", "spread"]),
    n=SIZES,
    d=st.integers(1, 20),
    tile_rows=TILES,
    power=st.integers(0, 3),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=70)
def test_ranks_are_those_of_a_plain_sort(
    kind: str, n: int, d: int, tile_rows: int, power: int, seed: int
) -> None:
    assume(n <= 12 * tile_rows)
    values, _ = SAMPLE_KINDS[kind](np.random.default_rng(seed), n, d, 3)
    found = filled(open_samples(values), "ranks", cut=Cut(tile_rows, power))
    squares = square_distances(values)
    first, _ = spans(squares)
    np.testing.assert_array_equal(found, first)
    np.testing.assert_array_equal(rank_table(squares), first)  # two definitions, one result
    assert found.dtype == np.min_scalar_type(n)


@pytest.mark.parametrize("p", [1, 1.5, 3, np.inf])
def test_exponents(p: float) -> None:
    values = gaussian(41, 4)
    found = filled(open_samples(values), measure=Measure("minkowski", p))
    assert_distances(found, table_of(values, Measure("minkowski", p)))


@both_kinds
@pytest.mark.parametrize("distance", [*DISTANCES, seconds_apart])
def test_every_distance(kind: Kind, distance: Any) -> None:
    measure = Measure(distance, 3 if distance == "minkowski" else None)
    for values in (gaussian(67, 6), gaussian(67, 6).astype(np.float32)):
        found = filled(open_samples(values), kind, measure, Cut(8, 1))
        if kind == "ranks":
            np.testing.assert_array_equal(found, rank_table(table_of(values, measure)))
        else:
            table = table_of(values, measure)
            np.fill_diagonal(table, 0)  # where scipy rounds 1 − cos
            assert_distances(found, table, 1e-12)


@both_kinds
@pytest.mark.parametrize("distance", ["cityblock", "chebyshev", "sqeuclidean", seconds_apart])
def test_ties_of_other_distances(kind: Kind, distance: Any) -> None:
    values = np.random.default_rng(1).integers(0, 4, (59, 3))
    table = table_of(values, Measure(distance))
    found = filled(open_samples(values), kind, Measure(distance))
    np.testing.assert_array_equal(found, rank_table(table) if kind == "ranks" else table)


@both_kinds
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_samples(kind: Kind, n: int) -> None:
    values = np.arange(n)[:, None] ** 2.0
    expected = {
        "distances": [[0, 1, 4], [1, 0, 3], [4, 3, 0]],
        "ranks": [[0, 1, 2], [1, 0, 2], [2, 1, 0]],
    }
    found = filled(open_samples(values), kind, cut=Cut(2, 0))
    np.testing.assert_array_equal(found, np.array(expected[kind])[:n, :n])


@pytest.mark.parametrize("weights", [np.array([0.0, 2.5, 1.0, 0.5]), np.full(4, 9.0)])
def test_feature_weights(weights: Array) -> None:
    values = gaussian(50, 4)
    samples = open_samples(values, feature_weights=weights)
    weighted = table_of(values * np.sqrt(weights))
    assert_distances(filled(samples), weighted)
    ranks = filled(samples, "ranks")
    np.testing.assert_array_equal(ranks, rank_table(table_of(values * np.sqrt(weights))))


# --- samples that take no part


def reading_of(form: str, values: Array) -> tuple[Samples, Array, Array] | None:
    """Samples, which of them take part, and their values; None where none would."""
    rng, n = np.random.default_rng(len(values)), len(values)
    values = values.copy()
    there = rng.random(n) > 0.4
    gone = rng.random(n) < 0.3
    if not (there & ~gone).any():
        return None
    if form == "mask":
        return open_samples(values, mask=there), there, values[there]
    if form == "drop":
        values[gone], values[:, 1] = np.nan, np.nan
        kept = np.delete(values, 1, axis=1)[~gone]
        return open_samples(values, missing="drop"), ~gone, kept
    values[gone, rng.integers(0, values.shape[1], gone.sum())] = np.nan
    if form == "both":
        samples = open_samples(values, missing="drop_any_sample", mask=there)
        return samples, there & ~gone, values[there & ~gone]
    return open_samples(values, missing="drop_any_sample"), ~gone, values[~gone]


@both_kinds
@pytest.mark.parametrize("form", ["mask", "drop", "drop_any_sample", "both"])
@given(n=st.integers(1, 50), power=st.integers(0, 3), tile_rows=st.sampled_from([4, 8, 64]))
@settings(max_examples=12)
def test_samples_that_are_left_out(
    form: str, kind: Kind, n: int, power: int, tile_rows: int
) -> None:
    opened = reading_of(form, gaussian(n, 3 if n != 3 else 2, seed=n))
    assume(opened is not None)
    assert opened is not None
    samples, taken, kept = opened
    found = filled(samples, kind, cut=Cut(tile_rows, power))
    table = table_of(kept)
    part = rank_table(table).astype(found.dtype) if kind == "ranks" else table
    expected = on_all(part, taken, nothing_of(kind, n))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)


@both_kinds
def test_whole_blocks_that_are_left_out_are_written(kind: Kind) -> None:
    there = np.ones(64, bool)
    there[16:48] = False
    target_holds = filled(open_samples(gaussian(64), mask=there), kind, cut=Cut(8, 1))
    nothing = nothing_of(kind, 64)
    gone = target_holds[16:48]
    assert np.isnan(gone).all() if kind == "distances" else (gone == nothing).all()


@both_kinds
def test_a_bad_sample_is_named(kind: Kind) -> None:
    values = gaussian()
    values[43, 2] = np.nan
    with pytest.raises(SampleValueError, match=r"43"):
        filled(open_samples(values), kind)


# --- the same bits, however it is computed


def forms_of(values: Array, folder: Path) -> dict[str, Samples]:
    n, d = values.shape
    return {
        "numpy": open_samples(values),
        "fortran": open_samples(np.asfortranarray(values)),
        "memmap": open_samples(in_file(values, folder)),
        "zarr rows": open_samples(in_zarr(values, (11, d))),
        "zarr features": open_samples(in_zarr(values, (n, 2))),
        "zarr ones": open_samples(in_zarr(values, (3, 1))),
    }


@both_kinds
@pytest.mark.parametrize("distance", ["euclidean", "cosine", "cityblock"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_forms_and_chunks(kind: Kind, distance: str, dtype: Any, tmp_path: Path) -> None:
    values = gaussian(101, 5).astype(dtype)
    found = {
        name: filled(samples, kind, Measure(distance), Cut(8, 2)).tobytes()
        for name, samples in forms_of(values, tmp_path).items()
    }
    assert len(set(found.values())) == 1, found.keys()


@given(
    chunks=st.tuples(st.integers(1, 120), st.integers(1, 4)),
    n=st.integers(1, 120),
    kind=st.sampled_from(MATRICES),
    tile_rows=st.sampled_from([16, 32]),
    power=st.integers(0, 3),
)
@settings(max_examples=25)
def test_any_chunks(
    chunks: tuple[int, int], n: int, kind: Kind, tile_rows: int, power: int
) -> None:
    values = gaussian(n, 4, seed=n)
    chunks = min(chunks[0], n), chunks[1]
    stored = filled(open_samples(in_zarr(values, chunks)), kind, cut=Cut(tile_rows, power))
    assert (
        stored.tobytes() == filled(open_samples(values), kind, cut=Cut(tile_rows, power)).tobytes()
    )


@both_kinds
def test_blocks_of_any_size_have_the_same_bits(kind: Kind) -> None:
    values = gaussian(150, 3)
    found = {filled(open_samples(values), kind, cut=Cut(8, p)).tobytes() for p in range(6)}
    assert len(found) == 1


def smallest_budget(filling: Filling) -> int:
    """What the refusal names."""
    with set_options(memory_budget=1 << 20), pytest.raises(MemoryBudgetError) as refused:
        plan_filling(filling)
    return refused.value.needed


def stored_filling(kind: Kind) -> tuple[Filling, MemoryTarget]:
    """A walk over samples in Zarr that are so large that they are rather read by panels."""
    values = np.random.default_rng(0).standard_normal((320, 12_000)).astype(np.float32)
    samples = open_samples(in_zarr(values, (40, 12_000)))
    target = MemoryTarget(320, dtype_of(kind, 320), nothing_of(kind, 320))
    tile_rows = 16
    job = job_of(samples, kind, tile_rows=tile_rows)
    return Filling(job, target, 8 * tile_rows, lambda row, column: True), target


@both_kinds
def test_the_smallest_budget_that_is_named_works(kind: Kind) -> None:
    filling, target = stored_filling(kind)
    with set_options(scheduler="serial", memory_budget="8GiB"):
        assert plan_filling(filling).cut.reading == "loaded"
        fill_matrix(filling)
    whole, target.boxes = target.values.copy(), []
    target.values[...] = filling.target.fresh((320, 320))
    with set_options(scheduler="serial"):
        named = smallest_budget(filling)
        # what the process holds grows by a little between two looks at it
        with set_options(memory_budget=named + (4 << 20)):
            plan = plan_filling(filling)
            assert plan.cut.reading == "panels"
            fill_matrix(filling)
    assert_blocks(target.boxes, 320, filling.unit_rows, filling.job.side)
    assert target.values.tobytes() == whole.tobytes()


@both_kinds
def test_what_does_not_fit_is_refused_before_anything_is_written(kind: Kind) -> None:
    filling, target = stored_filling(kind)
    for scheduler in ("serial", "threads", "processes"):
        with (
            set_options(scheduler=scheduler, memory_budget=1 << 20),
            pytest.raises(MemoryBudgetError, match="budget") as refused,
        ):
            fill_matrix(filling)
        assert refused.value.needed > filling.task_bytes
    assert target.boxes == []


def test_blocks_count_in_the_projected_memory() -> None:
    small, large = (
        Filling(job_of(open_samples(gaussian(4096, 2)), tile_rows=64), _Planned(), rows, _always)
        for rows in (64, 4096)
    )
    more = plan_filling(large).memory.task - plan_filling(small).memory.task
    assert more >= 4 * 8 * (4096**2 - 64**2)


class _Planned(MemoryTarget):
    def __init__(self) -> None:
        super().__init__(1, np.float64, np.nan)


def _always(row: int, column: int) -> bool:
    return True


# --- schedulers


@pytest.fixture(scope="module")
def cluster_client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster, set_as_default=False) as found,
    ):
        yield found


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[Kind, bytes]:
    """Both matrices by a plain loop."""
    with set_options(scheduler="serial"):
        return {k: filled(open_samples(gaussian()), k, operations=MUCH).tobytes() for k in MATRICES}


def run_in_files(samples: Samples, kind: Kind, folder: Path) -> tuple[bytes, set[int]]:
    """Fill a matrix into files: its bytes, and the processes that wrote them."""
    folder.mkdir()
    n = samples.shape[0]
    target = FolderTarget(folder, dtype_of(kind, n), nothing_of(kind, n))
    job = job_of(samples, kind, operations=MUCH)
    fill_matrix(Filling(job, target, Cut().unit_rows, _always))
    whole, boxes, writers = target.read(n)
    assert_blocks(boxes, n, Cut().unit_rows, job.side)
    return whole.tobytes(), writers


@both_kinds
@pytest.mark.parametrize("scheduler", ["serial", "threads", "processes"])
def test_schedulers(kind: Kind, scheduler: str, alone: dict[Kind, bytes], tmp_path: Path) -> None:
    forms = forms_of(gaussian(), tmp_path)
    with set_options(scheduler=scheduler, workers=2):
        name = "numpy" if kind == "ranks" else "memmap"
        found, writers = run_in_files(forms[name], kind, tmp_path / name)
    assert found == alone[kind]
    assert (writers == {os.getpid()}) == (scheduler != "processes")


@both_kinds
def test_a_cluster(
    kind: Kind, cluster_client: Client, alone: dict[Kind, bytes], tmp_path: Path
) -> None:
    zarr.create_array(str(tmp_path / "x.zarr"), data=gaussian(), chunks=(13, 2))
    on_disk = open_samples(zarr.open_array(str(tmp_path / "x.zarr"), mode="r"))
    with cluster_client.as_current(), set_options(scheduler="distributed"):
        samples = on_disk if kind == "ranks" else open_samples(gaussian())
        found, writers = run_in_files(samples, kind, tmp_path / "blocks")
    assert found == alone[kind]
    assert writers
    assert os.getpid() not in writers


@both_kinds
def test_a_scheduler_that_the_user_set_in_dask(
    kind: Kind, alone: dict[Kind, bytes], tmp_path: Path
) -> None:
    with dask.config.set(scheduler="threads", num_workers=2):
        found, _ = run_in_files(open_samples(gaussian()), kind, tmp_path / "x")
    assert found == alone[kind]


# --- only what is pending


def only(kind: Kind, tasks: set[tuple[int, int]], scheduler: str) -> tuple[MemoryTarget, PairJob]:
    values = gaussian()
    target = MemoryTarget(70, dtype_of(kind, 70), nothing_of(kind, 70))
    job = job_of(open_samples(values), kind, operations=MUCH)
    filling = Filling(job, target, 16, lambda row, column: (row, column) in tasks)
    with set_options(scheduler=scheduler, workers=2):
        fill_matrix(filling)
    return target, job


@pytest.mark.parametrize("scheduler", ["serial", "threads"])
@given(pending=st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8))
@settings(max_examples=10)
def test_only_pending_squares_are_walked(
    scheduler: str, pending: set[tuple[int, int]], alone: dict[Kind, bytes]
) -> None:
    pending = {(min(pair), max(pair)) for pair in pending}
    target, _ = only("distances", pending, scheduler)
    both = pending | {(column, row) for row, column in pending}
    places: dict[tuple[int, int], Box] = {
        (box[0] // 16, box[1] // 16): box for box in blocks_of(70, 16, Side.BOTH)
    }
    assert sorted(target.boxes) == sorted(places[place] for place in both)
    whole = np.frombuffer(alone["distances"]).reshape(70, 70)
    for top, left, height, width in target.boxes:
        box = slice(top, top + height), slice(left, left + width)
        np.testing.assert_array_equal(target.values[box], whole[box])


@pytest.mark.parametrize("scheduler", ["serial", "threads"])
@given(pending=st.sets(st.integers(0, 4), max_size=5))
@settings(max_examples=10)
def test_only_pending_rows_are_walked(
    scheduler: str, pending: set[int], alone: dict[Kind, bytes]
) -> None:
    target, _ = only(
        "ranks", {(row, row) for row in pending} | {(r, 0) for r in pending}, scheduler
    )
    assert sorted(box[0] // 16 for box in target.boxes) == sorted(pending)
    whole = np.frombuffer(alone["ranks"], np.uint8).reshape(70, 70)
    for top, _, height, _ in target.boxes:
        np.testing.assert_array_equal(target.values[top : top + height], whole[top : top + height])


@both_kinds
def test_where_nothing_is_pending_nothing_is_read(kind: Kind) -> None:
    def fails(x: Array, y: Array) -> Array:
        raise AssertionError("nothing is to be computed")

    samples = open_samples(gaussian())
    target = MemoryTarget(70, dtype_of(kind, 70), nothing_of(kind, 70))
    job = job_of(samples, kind, Measure(fails))
    fill_matrix(Filling(job, target, 16, lambda row, column: False))
    assert target.boxes == []
    with pytest.raises((AssertionError, InputError), match="nothing is to be computed"):
        fill_matrix(Filling(job, target, 16, _always))


@both_kinds
def test_a_target_that_fails_ends_the_walk_and_leaves_whole_blocks(kind: Kind) -> None:
    class Failing(MemoryTarget):
        def write(self, row: int, column: int, values: Array) -> None:
            if len(self.boxes) == 2:
                raise OSError("the disk is full")
            super().write(row, column, values)

    for scheduler in ("serial", "threads"):
        target = Failing(70, dtype_of(kind, 70), nothing_of(kind, 70))
        job = job_of(open_samples(gaussian()), kind, operations=MUCH)
        with (
            set_options(scheduler=scheduler, workers=2),
            pytest.raises(OSError, match="the disk is full"),
        ):
            fill_matrix(Filling(job, target, 16, _always))
        assert set(target.boxes) < set(blocks_of(70, 16, job.side))
        assert len(target.boxes) == 2


def test_the_measure_of_the_reference_is_the_one_asked_for() -> None:
    values = gaussian(20, 3)
    np.testing.assert_array_equal(table_of(values), table_of(values, EUCLIDEAN))
    assert not np.array_equal(table_of(values), table_of(values, Measure("cityblock")))
