"""The progress bar: one look for every scheduler, on a terminal and in a notebook only."""

from __future__ import annotations

import io
import re
import sys
import types
from collections.abc import Iterator

import numpy as np
import pytest
from distributed import Client, LocalCluster
from tqdm import tqdm

import somscale as ss
from somscale.engine import where
from somscale.engine.linear import cutting

SAMPLES = np.random.default_rng(0).normal(size=(9_000, 3))
SOM = ss.codebook(SAMPLES[:4], ss.Grid(2, 2))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def many_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small data as several tasks, on a scheduler."""
    monkeypatch.setattr(cutting, "LEAST_OPERATIONS", 1.0)
    monkeypatch.setattr(where, "_SERIAL_OPERATIONS", 0.0)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, **options: object) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with ss.set_options(**options):
        ss.metrics.quantization_error(SAMPLES, SOM)
    return stream.getvalue()


def look(text: str) -> list[str]:
    """What a bar shows, without the times."""
    return sorted(set(re.findall(r"(\w+): .*?\| \d+/(\d+) \[", text)))


@pytest.mark.parametrize("scheduler", ["serial", "threads", "distributed"])
def test_one_look_on_every_scheduler(
    monkeypatch: pytest.MonkeyPatch, client: Client, scheduler: str
) -> None:
    closed: list[tuple[int, int]] = []
    close = tqdm.close

    def watched_close(bar: tqdm) -> None:
        closed.append((bar.n, bar.total))
        close(bar)

    monkeypatch.setattr(tqdm, "close", watched_close)
    text = shown(monkeypatch, Terminal(), scheduler=scheduler, progress=True)
    ((label, tasks),) = look(text)
    assert label == "reading"
    assert int(tasks) > 1
    assert closed[0] == (int(tasks), int(tasks))


def test_the_library_shows_none_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, Terminal(), scheduler="threads") == ""


def test_none_off_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO(), scheduler="threads", progress=True) == ""


def test_a_notebook_shows_the_plain_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    text = shown(monkeypatch, io.StringIO(), scheduler="threads", progress=True)
    assert [label for label, _ in look(text)] == ["reading"]
