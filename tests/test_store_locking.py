"""One writer at a time, whatever the place, and however the one before it ended."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from stores import KINDS, place

from somscale.errors import WorkspaceBusyError, WorkspaceError
from somscale.store import lease
from somscale.store.keys import list_keys, read_key, write_key
from somscale.store.location import Location, locate
from somscale.store.locking import writing

HOLD = """
import sys
from somscale.store.location import locate
from somscale.store.locking import writing
with writing(locate(sys.argv[1])):
    print("writing", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases that settle and are looked at quickly."""
    monkeypatch.setattr(lease, "SETTLING", 0.02)
    monkeypatch.setattr(lease, "_POLL", 0.02)


@pytest.fixture(params=KINDS)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    return locate(place(request.param, tmp_path))


@pytest.fixture(params=["local", "file URL"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    return locate(place(request.param, tmp_path))


@contextmanager
def another_process(location: Location) -> Iterator[subprocess.Popen[str]]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, location.name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "writing\n"
        yield holder
    finally:
        holder.kill()
        holder.communicate()


def test_a_second_writer_of_this_process_is_refused(location: Location) -> None:
    with writing(location):
        with pytest.raises(WorkspaceBusyError, match="is writing to"), writing(location):
            pass
        outcome: list[type[BaseException]] = []

        def other() -> None:
            try:
                with writing(location):
                    pass
            except WorkspaceBusyError as error:
                outcome.append(type(error))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert outcome == [WorkspaceBusyError]
    for _ in range(2):
        with writing(location):
            pass


def test_a_second_writer_waits_if_it_is_told_to(location: Location) -> None:
    order: list[str] = []
    held = threading.Event()

    def first() -> None:
        with writing(location):
            held.set()
            time.sleep(0.2)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    held.wait()
    with writing(location, wait=30):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]


def test_waiting_ends(location: Location) -> None:
    with (
        writing(location),
        pytest.raises(WorkspaceBusyError, match="is writing to"),
        writing(location, wait=0.1),
    ):
        pass


def test_the_lock_goes_when_the_block_fails(location: Location) -> None:
    with pytest.raises(KeyError), writing(location):
        raise KeyError
    with writing(location):
        pass
    assert list_keys(location, "") == {}


def test_a_second_process_is_refused_at_once_or_waits(shared: Location) -> None:
    with another_process(shared) as holder:
        with pytest.raises(WorkspaceBusyError, match=r"is writing to .*wörk"), writing(shared):
            pass
        assert holder.stdin is not None
        threading.Timer(0.2, lambda: (holder.stdin.write("\n"), holder.stdin.flush())).start()
        with writing(shared, wait=30):
            pass


def test_the_lock_goes_with_a_process_that_is_killed(shared: Location) -> None:
    with another_process(shared) as holder:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with writing(shared):
            pass


def test_nothing_is_written_where_only_reading_is_allowed(tmp_path: Path) -> None:
    location = locate(tmp_path / "x", read_only=True)
    with pytest.raises(WorkspaceError, match="reading only"), writing(location):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    location = locate(tmp_path / "file" / "work.zarr")
    with pytest.raises(WorkspaceError, match=r"the lock .* cannot be made"), writing(location):
        pass


def of_url(folder: Path) -> Location:
    return locate(f"file://{folder / 'work'}")


def leave(location: Location, **changes: object) -> None:
    """A lease as another left it."""
    now = time.time()
    known = {"token": "x", "host": "elsewhere", "process": 1, "begun": now, "renewed": now}
    group = {"zarr_format": 3, "node_type": "group", "attributes": {**known, **changes}}
    write_key(location, "lock/zarr.json", json.dumps(group).encode())


def test_a_lease_says_who_holds_it_and_is_a_group_of_zarr(tmp_path: Path) -> None:
    location = of_url(tmp_path)
    with writing(location):
        held = location.group("lock", mode="r").attrs
        assert held["host"] == socket.gethostname()
        assert held["process"] == os.getpid()
        with (
            pytest.raises(WorkspaceBusyError, match=f"process {os.getpid()} on"),
            writing(location),
        ):
            pass
    assert list_keys(location, "") == {}


def test_a_lease_of_another_machine_is_free_after_a_while(tmp_path: Path) -> None:
    location = of_url(tmp_path)
    leave(location, renewed=time.time() - lease.ABANDONED + 30)
    with pytest.raises(WorkspaceBusyError, match="process 1 on elsewhere"), writing(location):
        pass
    leave(location, renewed=time.time() - lease.ABANDONED - 1)
    with writing(location):
        pass


def test_a_lease_of_a_dead_process_of_this_machine_is_free(tmp_path: Path) -> None:
    location = of_url(tmp_path)
    here = {"host": socket.gethostname(), "process": os.getpid()}
    leave(location, **here)
    with pytest.raises(WorkspaceBusyError), writing(location):
        pass
    # another process has got the number since
    leave(location, **here, begun=1.0)
    with writing(location):
        pass


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"attributes": {"token": "x"}}'])
def test_a_torn_lease_is_free(tmp_path: Path, text: bytes) -> None:
    location = of_url(tmp_path)
    write_key(location, "lock/zarr.json", text)
    with writing(location):
        pass


def test_a_lease_is_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "RENEWED", 0.02)
    location = of_url(tmp_path)
    with writing(location):
        first = lease.read_lease(location)
        assert first is not None
        for _ in range(500):
            later = lease.read_lease(location)
            if later is not None and later.renewed > first.renewed:
                break
            time.sleep(0.01)
        assert later is not None
        assert later.renewed > first.renewed
        assert (later.token, later.begun) == (first.token, first.begun)
    assert read_key(location, "lock/zarr.json") is None


def test_a_writer_whose_lease_was_taken_is_told_and_leaves_the_other_alone(
    tmp_path: Path,
) -> None:
    location = of_url(tmp_path)
    with pytest.raises(WorkspaceBusyError, match="has taken over"), writing(location):
        leave(location, token="of another")
    assert read_key(location, "lock/zarr.json") is not None


def test_of_two_that_take_a_lease_at_once_one_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = of_url(tmp_path)
    sleep = time.sleep

    def overtaken(seconds: float) -> None:
        monkeypatch.setattr(time, "sleep", sleep)
        leave(location, token="of another")

    monkeypatch.setattr(time, "sleep", overtaken)
    with pytest.raises(WorkspaceBusyError, match="on elsewhere"), writing(location):
        pass
