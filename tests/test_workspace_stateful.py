"""A workspace that is written, killed, damaged, resumed and repaired, against a plain model."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from faults import Fault, FaultyStore, differences, keys_of
from hypothesis import Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from workspace_work import STAGES, samples, small, small_work
from zarr.abc.buffer import Buffer
from zarr.buffer.cpu import Buffer as CpuBuffer
from zarr.storage import MemoryStore

import somscale as ss
from somscale.errors import SomscaleError

PATHS = {
    "samples": "samples",
    "map": "maps/small",
    "streamed": "results/streamed",
    "distances": "distances/euclidean",
    "ranks": "ranks/euclidean",
    "stored": "results/stored",
}
WHOLE: dict[str, Buffer] = {}
VALUES: dict[str, Any] = {}


@pytest.fixture(scope="module", autouse=True)
def undisturbed() -> None:
    """What a workspace holds that nothing happens to: the model's values."""
    small_work(MemoryStore(WHOLE))
    workspace = ss.Workspace(MemoryStore(WHOLE), mode="r")
    VALUES.update({path: workspace.open(path).load() for path in PATHS.values()})


class WorkspaceMachine(RuleBasedStateMachine):
    """The model: which stages are complete, and which of their chunks were damaged."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: dict[str, Buffer] = {}
        self.store = FaultyStore(MemoryStore(self.keys))
        self.complete: set[str] = set()
        self.damaged: set[str] = set()

    def go(self, stage: str) -> None:
        small_work(self.store, [stage])
        self.complete.add(stage)

    def may(self, stage: str) -> bool:
        """Whether a stage finds what it finds in the model: results tell what they read."""
        if stage == "stored":
            return {"distances", "ranks"} <= self.complete
        matrices = [key for key in self.keys if key.startswith(("distances/", "ranks/"))]
        return stage != "streamed" or not matrices

    def is_damaged(self, stage: str) -> bool:
        return any(key.startswith(f"{PATHS[stage]}/") for key in self.damaged)

    @initialize()
    def begin(self) -> None:
        self.go("samples")

    @precondition(lambda self: not self.damaged)
    @rule(stage=st.sampled_from(list(STAGES)))
    def write(self, stage: str) -> None:
        if self.may(stage):
            self.go(stage)

    @precondition(lambda self: not self.damaged)
    @rule(stage=st.sampled_from(list(STAGES)), call=st.integers(1, 60))
    def die(self, stage: str, call: int) -> None:
        if not self.may(stage):
            return
        self.store.fault = fault = Fault(call, lasting=True)  # nothing is written any more
        try:
            small_work(self.store, [stage])
        except SomscaleError:
            assert fault.reached
        self.store.fault = None
        if not fault.reached:
            self.complete.add(stage)

    def whole_chunks(self) -> list[str]:
        # what can be mended: no maps, and no result that would be made from matrices now
        done = tuple(f"{PATHS[stage]}/" for stage in self.complete - {"map", "streamed"})
        chunks = [key for key in self.keys if key.startswith(done) and "/c/" in key]
        return sorted(key for key in chunks if key not in self.damaged)

    @precondition(lambda self: self.whole_chunks())
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.whole_chunks()))
        del self.keys[key]
        self.damaged.add(key)

    @precondition(lambda self: self.whole_chunks())
    @rule(data=st.data())
    def flip(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.whole_chunks()))
        values = bytearray(self.keys[key].to_bytes())
        place = data.draw(st.integers(0, len(values) - 1))
        values[place] ^= 1 << data.draw(st.integers(0, 7))
        self.keys[key] = CpuBuffer.from_bytes(bytes(values))
        self.damaged.add(key)

    @rule(stage=st.sampled_from(list(STAGES)))
    def read(self, stage: str) -> None:
        workspace = ss.Workspace(self.store, mode="r")
        try:
            found = workspace.open(PATHS[stage]).load()
        except SomscaleError:
            assert stage not in self.complete or self.is_damaged(stage)
            return
        expected = VALUES[PATHS[stage]]
        assert found.identical(expected) if stage != "ranks" else np.array_equal(found, expected)

    @rule()
    def repair(self) -> None:
        workspace = ss.Workspace(self.store)
        found = workspace.verify()
        named = {_chunk_key(finding) for finding in found.damaged}
        assert {key for key in self.damaged if not key.startswith("results/")} <= named
        with small():
            workspace.verify(repair=True, samples=samples())
        if self.is_damaged("stored"):
            self.complete.remove("stored")
        self.damaged.clear()
        assert not workspace.verify().damaged

    def teardown(self) -> None:
        if self.complete:
            self.repair()
            if self.may("streamed"):
                self.go("streamed")
            small_work(self.store)
            found = differences(MemoryStore(self.keys), MemoryStore(WHOLE))
            aside = () if "streamed" in self.complete else ("results/streamed/",)
            assert [key for key in found if not key.startswith(aside)] == []
            assert keys_of(MemoryStore(self.keys), ["partials"]) == {}
        super().teardown()


def _chunk_key(finding: Any) -> str:
    if finding.chunk is None:
        return str(finding.path)
    return "/".join([finding.path, "c", *map(str, finding.chunk)])


TestWorkspace = WorkspaceMachine.TestCase
TestWorkspace.settings = settings(
    settings.get_profile("deterministic"),
    max_examples=10,
    stateful_step_count=8,
    phases=[Phase.generate],  # an example takes too long to be shrunk
)
