"""A workspace whose run is stopped anywhere goes on, and ends with the same bytes."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
from pathlib import Path

import pytest
from faults import (
    READS,
    WRITES,
    Fault,
    FaultyStore,
    Kind,
    differences,
    keys_of,
    run_forked,
    temporary_files,
)
from workspace_work import STAGES, counted_work, small_work
from zarr.abc.buffer import Buffer
from zarr.storage import MemoryStore

from somscale.errors import SomscaleError
from somscale.store.points import POINTS

# what Zarr had begun beside a call that failed is dropped unawaited
pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")

LONG = bool(os.environ.get("SOMSCALE_LONG_TESTS"))
Snapshot = dict[str, Buffer]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """A workspace that nothing happened to, and how often its run came by each point."""
    place = tmp_path_factory.mktemp("whole") / "work.zarr"
    counts = place.with_suffix(".txt")
    assert run_forked(counted_work, place, counts, abort_at="run:cleaned:1000") == 0
    lines = (line.split() for line in counts.read_text("utf-8").splitlines())
    return place, {name: int(count) for name, count in lines}


def test_a_run_comes_by_every_point(undisturbed: tuple[Path, dict[str, int]]) -> None:
    assert set(undisturbed[1]) == POINTS
    assert min(undisturbed[1].values()) > 0


@pytest.mark.parametrize("point", sorted(POINTS))
def test_dying_at_a_point_loses_nothing(
    point: str, undisturbed: tuple[Path, dict[str, int]], tmp_path: Path
) -> None:
    whole, counts = undisturbed
    for count in sorted({1, counts[point]}):
        place = tmp_path / f"{count}.zarr"
        assert run_forked(small_work, place, abort_at=f"{point}:{count}") == -9
        small_work(place)
        assert differences(place, whole) == []
        assert keys_of(place, ["partials"]) == {}
        assert temporary_files(place) == []


def test_dying_again_and_again_still_comes_to_the_end(
    undisturbed: tuple[Path, dict[str, int]], tmp_path: Path
) -> None:
    place = tmp_path / "work.zarr"
    codes: list[int] = []
    while 0 not in codes and len(codes) < 20:
        # every life writes a few chunks, and dies
        codes.append(run_forked(small_work, place, abort_at=f"chunk:after:{4 + len(codes) % 2}"))
    assert codes[-1] == 0
    assert len(codes) > 3
    assert differences(place, undisturbed[0]) == []
    assert keys_of(place, ["partials"]) == {}


@pytest.fixture(scope="module")
def steps() -> dict[str, tuple[Snapshot, Snapshot]]:
    """What is stored before and after each stage."""
    found, before = {}, Snapshot()
    for stage, stages in {"root": [], **{name: [name] for name in STAGES}}.items():
        after = before.copy()
        small_work(MemoryStore(after), stages)
        found[stage] = before, after
        before = after
    return found


# Kind of failure, the calls that fail, whether it stays, and every how many-th call is tried:
# all of them where SOMSCALE_LONG_TESTS is set.
FAULTS: list[tuple[Kind, frozenset[str], bool, int]] = [
    ("torn", WRITES, False, 1),
    ("ENOSPC", WRITES, True, 4),
    ("EIO", WRITES, False, 6),
    ("EIO", READS, False, 8),
]


@pytest.mark.parametrize(
    ("kind", "methods", "lasting", "step"), FAULTS, ids=["torn", "full", "failing", "unreadable"]
)
@pytest.mark.parametrize("stage", ["root", *STAGES])
def test_whichever_call_of_the_store_fails_the_run_goes_on(
    stage: str,
    kind: Kind,
    methods: frozenset[str],
    lasting: bool,
    step: int,
    steps: dict[str, tuple[Snapshot, Snapshot]],
) -> None:
    before, after = steps[stage]
    stages = [] if stage == "root" else [stage]
    failures = 0
    for call in itertools.count(1, 1 if LONG else step):
        inner = MemoryStore(before.copy())
        fault = Fault(call, kind, methods, lasting=lasting)
        store = FaultyStore(inner, fault)
        with contextlib.suppress(SomscaleError):
            small_work(store, stages)
        if not fault.reached:
            break
        failures += 1
        store.fault = None
        small_work(store, stages)
        assert differences(inner, MemoryStore(after)) == [], fault.hit
        assert keys_of(inner, ["partials"]) == {}, fault.hit
    gc.collect()
    assert failures
