"""Plans: what an evaluation would read and hold, said without reading a sample."""

from __future__ import annotations

import re
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import xarray as xr
import zarr
from zarr.storage import MemoryStore, WrapperStore

import somscale as ss
from somscale.engine import where as where_module
from somscale.engine.planview import Plan
from somscale.errors import MemoryBudgetError

MEBIBYTE = 1 << 20
N, D = 40_000, 30
VALUES = np.random.default_rng(0).standard_normal((N, D)).astype(np.float32)
SOM = ss.codebook(VALUES[:12], ss.Grid(3, 4))
CANDIDATES = {name: SOM for name in "abc"}


class Unreadable(WrapperStore[MemoryStore]):
    """A store of which only the metadata may be read."""

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        if not key.endswith("zarr.json"):
            raise AssertionError(f"{key} was read")
        return await super().get(key, prototype, byte_range)


def unreadable_zarr(shape: tuple[int, int] = (N, D), chunks: tuple[int, int] = (1000, D)) -> Any:
    store = Unreadable(MemoryStore())
    return zarr.create_array(store, shape=shape, chunks=chunks, dtype="float32")


def unreadable_dask() -> da.Array:
    def fail(block: Any) -> Any:
        raise AssertionError("a block was computed")

    return da.zeros((N, D), chunks=(1000, D), dtype=np.float32).map_blocks(fail, dtype=np.float32)


def refuse_to_compute(*_: Any, **__: Any) -> Any:
    raise AssertionError("something was computed")


@pytest.mark.parametrize("make", [unreadable_zarr, unreadable_dask])
@pytest.mark.parametrize("projection", [SOM, CANDIDATES, {"only": SOM}])
def test_a_plan_reads_nothing(make: Any, projection: Any) -> None:
    with dask.config.set(scheduler=refuse_to_compute):
        plan = ss.plan(make(), projection, labels=np.arange(N) % 7, temperature=[1, 2])
        assert "<somscale.Plan" in repr(plan)
        linear = ss.plan(make(), projection, labels=np.arange(N) % 7, cost="linear")
    assert linear.bytes_read == N * D * 4 < plan.bytes_read
    assert plan.tasks >= 1


def test_a_plan_of_a_hundred_million_samples() -> None:
    plan = ss.plan(
        unreadable_zarr((10**8, 3), (1 << 20, 3)), ss.codebook(np.eye(3), ss.Grid.chain(3))
    )
    assert plan.bytes_read == 12 * 10**8
    assert plan.tasks > 10
    assert "100,000,000 × 3 features" in repr(plan)


def test_the_numbers_agree() -> None:
    array = unreadable_zarr()
    with ss.set_options(memory_budget="4GiB", scheduler="threads", workers=2):
        one, three = (ss.plan(array, maps, cost="linear") for maps in (SOM, CANDIDATES))
        hits = ss.plan(array, SOM, metrics="hits")
    assert one.bytes_read == three.bytes_read == hits.bytes_read == N * D * 4
    assert one.peak_memory < three.peak_memory < 4 << 30
    # a map that keeps values of all samples holds them to the end
    assert one.peak_memory - hits.peak_memory >= N * 16
    for plan in (one, three, hits):
        (walk,) = plan.passes
        memory = walk.memory
        kept = memory.partials + memory.results + memory.samples
        assert plan.peak_memory == memory.baseline + memory.threads * memory.task + kept
        rows = walk.cut.run_tiles * walk.job.tile_rows
        assert plan.tasks == walk.tasks == -(-N // rows)
        assert walk.job.operations == 2 * N * D * 12 * len(plan.candidates)
    assert list(three.candidates) == ["a", "b", "c"]
    assert list(hits.indices) == ["hits"]


def test_a_plan_of_labels_alone_reads_the_labels() -> None:
    labels = np.arange(N, dtype=np.int32) % 7
    plan = ss.plan(None, labels % 3, labels=labels)
    assert plan.bytes_read == 2 * N * 4
    assert list(plan.candidates) == ["projection"]
    alone = ss.plan(VALUES, labels % 3, labels=labels, noise="ignore", metrics="partition")
    assert alone.bytes_read == 2 * N * 4
    names = ["purity", "r_squared", "centroids"]
    with_samples = ss.plan(VALUES, labels % 3, labels=labels, metrics=names)
    assert with_samples.bytes_read == 2 * N * 4 + 2 * VALUES.nbytes
    assert len(with_samples.passes) == 3


def test_a_plan_as_text() -> None:
    with ss.set_options(memory_budget="4GiB", scheduler="threads", workers=2):
        plan = ss.plan(unreadable_zarr(), CANDIDATES, metrics=["hits", "distortion"])
    lines = repr(plan).splitlines()
    assert lines[0] == "<somscale.Plan: 2 indices, 3 candidates, 1 pass>"
    assert lines[1] == "pass 1: units:a, units:b, units:c"
    text = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines[2:]}
    assert text["samples"] == "40,000 × 30 features"
    assert text["order"] == "rows"
    assert text["reads"] == "5 MiB (each chunk once)"
    assert text["tasks"].startswith(f"{plan.tasks} of up to ")
    assert text["work"] == "8.64e+07 operations"
    assert "budget 4096 MiB" in text["memory"]
    one = repr(ss.plan(unreadable_zarr(), SOM, metrics="hits"))
    assert one.startswith("<somscale.Plan: 1 index, 1 candidate, 1 pass>")


def test_a_plan_as_html_escapes_the_users_names() -> None:
    plan = ss.plan(unreadable_zarr(), {"<b>map": SOM}, metrics={"<i>&hits": "hits"})
    shown = plan._repr_html_()
    assert "<b>" not in shown
    assert "<i>" not in shown
    assert "units:&lt;b&gt;map" in shown
    assert "&lt;i&gt;&amp;hits" in shown
    assert shown.count("<tr>") == shown.count("</tr>") == 6
    assert shown.startswith("<div>")
    assert shown.endswith("</div>")


def test_a_plan_of_several_passes_adds_them_up() -> None:
    (walk,) = ss.plan(VALUES, SOM, cost="linear").passes
    plan = Plan([walk, walk], ["hits"], ["a"])
    assert (plan.tasks, plan.bytes_read) == (2 * walk.tasks, 2 * walk.bytes_read)
    assert plan.peak_memory == walk.memory.peak
    assert "1 candidate, 2 passes" in repr(plan)
    assert "pass 2: units:projection" in repr(plan)


# --- budgets


@pytest.fixture
def _steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that holds the same at every moment."""
    monkeypatch.setattr(where_module, "baseline_bytes", lambda: 50 * MEBIBYTE)


@pytest.mark.usefixtures("_steady")
@pytest.mark.parametrize("form", ["zarr", "dask", "numpy"])
def test_a_budget_too_small_is_refused_and_the_named_one_works(form: str) -> None:
    samples: Any = {
        "zarr": zarr.create_array(MemoryStore(), data=VALUES, chunks=(1000, D)),
        "dask": da.from_array(VALUES, chunks=(1000, D)),
        "numpy": VALUES,
    }[form]
    with ss.set_options(memory_budget="51MiB"):
        for ask in (ss.plan, ss.evaluate):
            with pytest.raises(MemoryBudgetError, match="and the budget is 51 MiB") as caught:
                ask(samples, CANDIDATES, cost="linear")
    named = re.search(r"set memory_budget='(\d+MiB)' or more", str(caught.value))
    assert named is not None
    with ss.set_options(memory_budget=named[1]):
        plan = ss.plan(samples, CANDIDATES, cost="linear")
        assert plan.peak_memory <= int(named[1].removesuffix("MiB")) * MEBIBYTE
        tight = ss.evaluate(samples, CANDIDATES, cost="linear").compute()
    xr.testing.assert_identical(tight, ss.evaluate(VALUES, CANDIDATES, cost="linear"))
    just_less = int(named[1].removesuffix("MiB")) * MEBIBYTE - MEBIBYTE
    with ss.set_options(memory_budget=just_less), pytest.raises(MemoryBudgetError):
        ss.plan(samples, CANDIDATES, cost="linear")


# --- ranks


def text_of(plan: Plan) -> dict[str, str]:
    """The last pass of a plan by the words its lines begin with."""
    last = repr(plan).splitlines()[-7:]
    return {line.split()[0]: line.split(maxsplit=1)[1] for line in last}


@pytest.mark.usefixtures("_steady")
def test_a_plan_says_how_rows_are_ranked() -> None:
    places = np.zeros((N, 2))
    with ss.set_options(memory_budget="4GiB", scheduler="threads", workers=2):
        near = ss.plan(unreadable_zarr(), {"a": places, "b": places}, metrics="q_nx", k=[3, 20])
        whole = ss.plan(unreadable_zarr(), places, metrics="auc_r_nx")
        on_map = ss.plan(unreadable_zarr(), SOM, metrics="q_nx", k=20)
        drawn = ss.plan(unreadable_zarr(), places, metrics="q_nx", k=20, sample_anchors=70)
    assert text_of(near)["for"] == "ranks in 2 projections, the nearest 20 of every row found"
    assert text_of(near)["pairs"].startswith("1.6e+09, rows meet all others once, ")
    assert text_of(whole)["for"] == "ranks in 1 projection, every row sorted"
    assert text_of(on_map)["for"] == "ranks in 1 projection, every row sorted"
    assert text_of(drawn)["pairs"].startswith("2.8e+06, 70 drawn rows meet all others once, ")
    with ss.set_options(memory_budget="200MiB", scheduler="threads", workers=2):
        tight = ss.plan(unreadable_zarr((10**6, D)), np.zeros((10**6, 2)), metrics="q_nx", k=20)
    assert re.search(r"rows meet panels of [\d,]+ others twice, ", text_of(tight)["pairs"])


# --- a cluster's memory


class Cluster:
    """As much of a Dask client as plans look at: two workers, one of them smaller."""

    def __init__(self, *, limit: int, memory: int, managed: int = 0) -> None:
        self.metrics = {"memory": memory, "managed_bytes": managed}
        self.limit = limit

    def scheduler_info(self, *, n_workers: int) -> dict[str, Any]:
        small = {"nthreads": 2, "memory_limit": self.limit, "metrics": self.metrics}
        return {"workers": {"small": small, "large": small | {"memory_limit": 8 * self.limit}}}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    found = Cluster(limit=1000 * MEBIBYTE, memory=220 * MEBIBYTE)
    monkeypatch.setattr(where_module, "_client", lambda: found)
    return found


def test_the_smallest_worker_sets_the_budget(cluster: Cluster) -> None:
    assert where_module.where_to_run().budget == 700 * MEBIBYTE
    with ss.set_options(memory_budget="2GiB"):
        assert where_module.where_to_run().budget == 2048 * MEBIBYTE
    cluster.limit = 0  # as Dask says that there is none
    assert where_module.where_to_run().limit is None
    cluster.limit = 300 * MEBIBYTE
    with pytest.raises(MemoryBudgetError, match=r"in a worker process .* the budget is 210 MiB"):
        ss.plan(VALUES, SOM)


def test_a_fresh_worker_will_load_libraries(cluster: Cluster) -> None:
    cluster.metrics["memory"] = 60 * MEBIBYTE
    assert 200 * MEBIBYTE < where_module.where_to_run().baseline <= 240 * MEBIBYTE


def test_freed_pages_do_not_count_but_kept_data_do(cluster: Cluster) -> None:
    before = where_module.where_to_run().baseline
    assert 220 * MEBIBYTE <= before <= 240 * MEBIBYTE
    cluster.metrics["memory"] = 500 * MEBIBYTE  # what a pass has left behind
    assert where_module.where_to_run().baseline == before
    cluster.metrics |= {"memory": 600 * MEBIBYTE, "managed_bytes": 100 * MEBIBYTE}
    assert where_module.where_to_run().baseline == before + 100 * MEBIBYTE
