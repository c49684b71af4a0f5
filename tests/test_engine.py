"""Passes: the same bits from any input, cut and scheduler; sources, faults and restarts."""

from __future__ import annotations

import itertools
import multiprocessing
import pickle
import uuid
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
import xarray as xr
import zarr
from distributed import Client, LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st
from keeping import keeping
from passes import (
    FORMS,
    TILE,
    LoggedSource,
    assert_same_bits,
    cut_by_hand,
    gaussian,
    in_form,
    job_of,
    units,
    whole,
)
from reference import tiled_unit_sums
from scipy.sparse import csr_array
from strategies import KINDS, Case, cases, cuts
from zarr.storage import LocalStore, MemoryStore

from somscale.engine import where as where_module
from somscale.engine.linear.job import Cut
from somscale.engine.linear.run import lazy_pass, plan_job, run_job
from somscale.engine.readers.sources import (
    ArraySource,
    BlocksSource,
    MemmapSource,
    Source,
    SparseSource,
    XarraySource,
    ZarrSource,
)
from somscale.errors import InputError, SampleValueError
from somscale.options import set_options

SCHEDULERS = ("serial", "threads", "processes", "distributed")
each_form = pytest.mark.parametrize("form", FORMS)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Client]:
    """A cluster of two processes on this machine."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # the default port may be taken
            host="127.0.0.1",
        ) as local,
        Client(local) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Two processes, kept because starting them takes seconds."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
        yield executor


@pytest.fixture
def on(request: pytest.FixtureRequest) -> Iterator[str]:
    """The scheduler that a test asks for, in force."""
    scheduler: str = request.param
    if scheduler == "distributed":
        request.getfixturevalue("cluster")
    kept = request.getfixturevalue("pool") if scheduler == "processes" else None
    with dask.config.set(pool=kept), set_options(scheduler=scheduler, workers=2):
        yield scheduler


on_each_scheduler = pytest.mark.parametrize("on", SCHEDULERS, indirect=True)


# --- the same bits


@given(case=cases())
def test_sums_are_rounded_as_documented(case: Case) -> None:
    stats, expected = whole(case), tiled_unit_sums(case.samples, case.codes, TILE)
    for name, sums in expected.items():
        np.testing.assert_array_equal(getattr(stats, name), sums)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8)
@given(data=st.data())
def test_any_cut_gives_the_same_bits(kind: str, data: st.DataObject) -> None:
    case = data.draw(cases([kind]))
    cut = Cut(
        data.draw(st.sampled_from(["rows", "features"])),
        data.draw(st.sampled_from([1, 2, 4, 8])),
        data.draw(st.integers(1, case.samples.shape[1] + 1)),
        data.draw(st.integers(1, TILE)),
    )
    assert_same_bits(cut_by_hand(job_of(case), cut)[0], whole(case))


@each_form
@pytest.mark.parametrize("scheduler", ["serial", "threads"])
@settings(max_examples=20)
@given(data=st.data())
def test_any_chunks_give_the_same_bits(form: str, scheduler: str, data: st.DataObject) -> None:
    case = data.draw(cases())
    n, d = case.samples.shape
    job = in_form(form, case, data.draw(cuts(n)), data.draw(cuts(d, 3)))
    with set_options(scheduler=scheduler, workers=2):
        assert_same_bits(run_job(job)[0], whole(case))


@on_each_scheduler
@each_form
def test_any_scheduler_gives_the_same_bits(form: str, on: str, tmp_path: Path) -> None:
    case = gaussian()
    job = in_form(form, case, (8, 16, 3, 16, 16, 1), (2, 3), LocalStore(tmp_path / "x.zarr"))
    assert plan_job(job).tasks > 1
    assert_same_bits(run_job(job)[0], whole(case))


def test_processes_of_our_own_give_the_same_bits() -> None:
    case = gaussian()
    with set_options(scheduler="processes", workers=2):
        assert_same_bits(run_job(job_of(case))[0], whole(case))


@on_each_scheduler
def test_two_maps_in_one_pass_are_as_each_alone(on: str) -> None:
    case, other = gaussian(), gaussian(k=3, seed=1)
    job = job_of(case)
    both = replace(job, reductions=[*job.reductions, units(other.codes, "other")])
    first, second = run_job(both)
    assert_same_bits(first, whole(case))
    assert_same_bits(second, whole(replace(other, samples=case.samples)))


@pytest.mark.parametrize("on", ["threads", "distributed"], indirect=True)
@each_form
def test_a_lazy_pass_gives_the_same_bits_later(form: str, on: str, tmp_path: Path) -> None:
    case = gaussian()
    job = in_form(form, case, (20, 40), (2, 3), LocalStore(tmp_path / "x.zarr"))
    lazy = lazy_pass(job, uuid.uuid4().hex)
    names = [name for _, name in lazy.pieces]
    parts = [[node for node, _ in pieces] for pieces in lazy.pieces.values()]
    scheduler = {} if on == "distributed" else {"scheduler": on}
    (stats,), *arrays = dask.compute(lazy.stats, *parts, **scheduler)
    values = {name: np.concatenate(array) for name, array in zip(names, arrays, strict=True)}
    assert [sum(rows for _, rows in pieces) for pieces in lazy.pieces.values()] == [60] * 3
    assert_same_bits(replace(stats, **values), whole(case))


@settings(max_examples=20)
@given(case=cases(samples=(1, 3)), scheduler=st.sampled_from(["serial", "threads"]))
def test_fewer_samples_than_a_tile(case: Case, scheduler: str) -> None:
    with set_options(scheduler=scheduler):
        assert_same_bits(run_job(job_of(case))[0], whole(case))


def test_distributed_needs_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where_module, "_client", lambda: None)
    with (
        set_options(scheduler="distributed"),
        pytest.raises(InputError, match="needs a running cluster"),
    ):
        run_job(job_of(gaussian()))


# --- sources


@pytest.mark.parametrize("order", ["C", "F"])
def test_sources_read_what_slicing_gives(tmp_path: Path, order: Any) -> None:
    values = np.asarray(np.random.default_rng(1).standard_normal((30, 7)), order=order)
    mapped: Any = np.memmap(tmp_path / "x.bin", np.float64, "w+", shape=(30, 7), order=order)
    mapped[:] = values
    mapped.flush()
    part = MemmapSource.of(mapped[4:] if order == "C" else mapped[:, 2:])
    assert part is not None
    expected = values[4:] if order == "C" else values[:, 2:]
    np.testing.assert_array_equal(part.read(slice(1, 9), slice(2, 5)), expected[1:9, 2:5])
    edges = [(0, 11, 12, 30), (0, 2, 7)]
    blocks = {
        (i, j): values[slice(*rows), slice(*columns)]
        for i, rows in enumerate(itertools.pairwise(edges[0]))
        for j, columns in enumerate(itertools.pairwise(edges[1]))
    }
    whole_map = MemmapSource.of(mapped)
    assert whole_map is not None
    sources: list[Source] = [
        ArraySource(values),
        whole_map,
        ZarrSource(zarr.create_array(MemoryStore(), data=values, chunks=(11, 2))),
        XarraySource(xr.DataArray(values, dims=("sample", "feature")), (1, 1)),
        SparseSource(csr_array(values)),
        BlocksSource(blocks, edges, (30, 7)),
    ]
    for source in (pickle.loads(pickle.dumps(s)) for s in sources):
        assert (source.shape, source.dtype) == ((30, 7), np.float64)
        for rows in [slice(0, 30), slice(10, 13), *map(slice, edges[0], edges[0][1:])]:
            for columns in [slice(0, 7), slice(1, 3), *map(slice, edges[1], edges[1][1:])]:
                np.testing.assert_array_equal(source.read(rows, columns), values[rows, columns])


def test_blocks_keep_their_global_row_numbers() -> None:
    blocks = {(0, 0): np.full((3, 2), 1.0), (1, 0): np.full((2, 2), 2.0)}
    source = BlocksSource(blocks, [[10, 13, 15], [0, 2]], (40, 2))
    assert source.read(slice(12, 14), slice(1, 2)).tolist() == [[1], [2]]


def test_a_view_that_a_file_cannot_tell_is_no_memmap_source(tmp_path: Path) -> None:
    mapped: Any = np.memmap(tmp_path / "x.bin", np.float64, "w+", shape=(6, 4))
    assert MemmapSource.of(mapped[::2]) is None
    assert MemmapSource.of(mapped[:, 1:]) is None


# --- faulty samples


@on_each_scheduler
@each_form
def test_the_first_faulty_entry_is_named_on_every_scheduler(
    form: str, on: str, tmp_path: Path
) -> None:
    case = gaussian()
    case.samples[[44, 43, 43, 51], [0, 4, 2, 1]] = [np.nan, 1e300, -np.inf, np.nan]
    job = in_form(form, case, (16, 44), (2, 3), LocalStore(tmp_path / "x.zarr"))
    with pytest.raises(SampleValueError) as caught:
        run_job(job)
    assert str(caught.value) == (
        "the samples hold infinity at sample 43, feature 2 (3 samples are affected); "
        "drop or fill such samples first"
    )


@given(
    entries=st.lists(
        st.tuples(
            st.integers(0, 59),
            st.integers(0, 4),
            st.sampled_from([np.nan, np.inf, -np.inf, 1e300, -1e300]),
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda entry: entry[:2],
    ),
    order=st.sampled_from(["rows", "features"]),
    slab=st.integers(1, 5),
    piece=st.integers(1, TILE),
)
def test_the_first_faulty_entry_is_named_in_any_cut(
    entries: list[tuple[int, int, float]], order: Any, slab: int, piece: int
) -> None:
    case = gaussian()
    for sample, feature, value in entries:
        case.samples[sample, feature] = value
    sample, feature, value = min(entries)
    kind = "nan" if np.isnan(value) else "infinity" if np.isinf(value) else "a value too large"
    with pytest.raises(SampleValueError, match=f"{kind}.* at sample {sample}, feature {feature} "):
        cut_by_hand(job_of(case), Cut(order, 2, slab, piece))


# --- what is kept of a pass that failed


@pytest.fixture
def kept(tmp_path: Path) -> tuple[Path, Path]:
    """A folder for checkpoints, and one for the log of reads."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "log").mkdir()
    return tmp_path / "runs", tmp_path / "log"


@pytest.mark.parametrize("failing", [0, 3, 7])
def test_a_failed_pass_goes_on_where_it_stopped(kept: tuple[Path, Path], failing: int) -> None:
    runs, log = kept
    case = gaussian()
    source = LoggedSource(case.samples, log=log, broken=failing * TILE + 2)
    with set_options(scheduler="serial"):
        with pytest.raises(OSError, match="this row cannot be read"), keeping(runs):
            run_job(job_of(case, source))
        assert source.reads() == [run * TILE for run in range(failing + 1)]
        with keeping(runs):
            stats = run_job(job_of(case, replace(source, broken=-1)))[0]
    assert source.reads() == [run * TILE for run in range(failing, 8)]
    assert_same_bits(stats, whole(case))


@on_each_scheduler
def test_only_runs_that_are_not_kept_are_computed(kept: tuple[Path, Path], on: str) -> None:
    runs, log = kept
    case = gaussian()
    source = LoggedSource(case.samples, log=log)
    with keeping(runs):
        run_job(job_of(case, source))
    assert source.reads() == [run * TILE for run in range(8)]
    for run in (1, 4, 5):
        next(runs.glob(f"*-{run}")).unlink()
    with keeping(runs):
        stats = run_job(job_of(case, source))[0]
        # the next pass of the run, though it looks the same
        run_job(job_of(case, source))
    assert source.reads() == sorted([8, 32, 40] + [run * TILE for run in range(8)])
    assert_same_bits(stats, whole(case))


@pytest.mark.parametrize("on", ["threads", "distributed"], indirect=True)
def test_a_failed_pass_may_be_tried_again_at_once(on: str, tmp_path: Path) -> None:
    case = gaussian()
    broken = LoggedSource(case.samples, log=tmp_path, broken=30)
    with pytest.raises(OSError, match="this row cannot be read"):
        run_job(job_of(case, broken))
    assert_same_bits(run_job(job_of(case, replace(broken, broken=-1)))[0], whole(case))
