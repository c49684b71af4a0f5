"""Checkpoints: the merged partials of finished tasks, kept until their run is complete.

A pass has a group ``partials/<run>-<token>``; each finished task is one array of bytes in it,
which holds a digest and an ``npz`` archive.  The array's chunk is written before its
metadata, each under its own key and whole, so that a task which is put twice at once, or
whose process dies in between, leaves nothing that could be taken for another.
"""

from __future__ import annotations

import io
import json
import re
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from somscale.errors import WorkspaceError
from somscale.reductions.base import Partial
from somscale.store.keys import delete_prefix, list_children, list_keys, read_key, write_key
from somscale.store.location import Location
from somscale.store.points import reach

if TYPE_CHECKING:
    import zarr
    from zarr.abc import buffer as abc

__all__ = ["Kept", "WorkspaceCheckpoints", "kept_runs"]

PARTIALS = "partials"
QUICKEST = 0.1
"""Seconds; a task that took less is sooner done again than looked for."""
SHARE = 0.02
"""Of the time that tasks take, what keeping them may."""
PUT_SECONDS = 0.008
PUT_BYTES_A_SECOND = 1.5e8
"""What a `put` is expected to take on a local disk: so many seconds, and more by its bytes."""
DIGEST_BYTES = 16


class Kept(NamedTuple):
    """What is kept of a run.

    Attributes
    ----------
    tasks : int
        Finished tasks, over all its passes.
    bytes : int
        Bytes they take in the store.
    """

    tasks: int = 0
    bytes: int = 0


class WorkspaceCheckpoints:
    """Keeps what the passes of one run have finished (a `Checkpoints` of the engine).

    Parameters
    ----------
    location : Location
        The workspace, whose root group exists.
    run : str
        Name of the run, as its result will have.

    Notes
    -----
    A task is kept where it took at least 0.1 s and where all that keeping has cost this
    process stays below 2 % of what its tasks took.
    """

    def __init__(self, location: Location, run: str) -> None:
        self._location = location
        self._run = run

    def run_tiles(self, token: str) -> int | None:
        """Tiles of a task, as the pass was cut before; None where it was not."""
        with _told(self._location, "read the checkpoints of a pass"):
            found = read_key(self._location, f"{self._group(token)}/zarr.json")
        try:
            tiles = json.loads(found or b"")["attributes"]["run_tiles"]
        except (ValueError, KeyError, TypeError):
            return None
        return tiles if type(tiles) is int and tiles > 0 else None

    def sink(self, token: str, run_tiles: int) -> WorkspaceSink:
        """Where a pass keeps its tasks; those of another cut are deleted."""
        group = self._group(token)
        resumed = self.run_tiles(token) == run_tiles
        if not resumed:
            with _told(self._location, "begin the checkpoints of a pass"):
                delete_prefix(self._location, group)
                about = {"run_tiles": run_tiles, "run": self._run, "pass": token}
                # as raw keys: Zarr would trip over a parent whose metadata were torn
                write_key(self._location, f"{PARTIALS}/zarr.json", _group_metadata({}))
                write_key(self._location, f"{group}/zarr.json", _group_metadata(about))
        # looking for what cannot be there costs a round trip where the store is far away
        looks = resumed or self._location.path is not None
        return WorkspaceSink(self._location, group, looks, quickest=QUICKEST, share=SHARE)

    def clear(self) -> None:
        """Delete what is kept of the run, after it is complete."""
        with _told(self._location, "delete the checkpoints of a run"):
            passes = set(list_children(self._location, PARTIALS)) - {"zarr.json"}
            done = {name for name in passes if name.rpartition("-")[0] == self._run}
            for name in sorted(done):
                delete_prefix(self._location, f"{PARTIALS}/{name}")
            if done == passes:
                delete_prefix(self._location, PARTIALS)

    def size(self) -> Kept:
        """How many tasks of the run are kept, and their bytes."""
        return kept_runs(self._location).get(self._run, Kept())

    def _group(self, token: str) -> str:
        return f"{PARTIALS}/{self._run}-{_safe(token)}"


def kept_runs(location: Location) -> dict[str, Kept]:
    """What is kept of every run that is not complete, by the run's name."""
    found: dict[str, Kept] = {}
    for key, stamp in list_keys(location, PARTIALS).items():
        name, *rest = key.split("/")
        if rest:
            kept = found.setdefault(name.rpartition("-")[0], Kept())
            is_task = rest[1:] == ["c", "0"]
            found[name.rpartition("-")[0]] = Kept(kept.tasks + is_task, kept.bytes + stamp.size)
    return found


@dataclass(frozen=True)
class WorkspaceSink:
    """Keeps the tasks of one pass (a `Sink` of the engine); it pickles.

    Parameters
    ----------
    location : Location
        The workspace.
    group : str
        Path of the pass.
    looks : bool
        Whether `get` looks into the store at all.
    quickest : float
        Seconds below which a task is not kept.
    share : float
        Of the time that the tasks of a process take, what keeping them may.
    """

    location: Location
    group: str
    looks: bool
    quickest: float
    share: float

    def get(self, number: int) -> list[Partial] | None:
        """The partials of a task; None where they are missing, torn or damaged."""
        packed = self._packed(f"{self.group}/{number}") if self.looks else None
        return None if packed is None else unpack(packed)

    def _packed(self, path: str) -> memoryview | None:
        try:
            chunk = read_key(self.location, f"{path}/c/0")
            about = read_key(self.location, f"{path}/zarr.json") if chunk else None
        except OSError:  # what cannot be read is done again
            return None
        return _decoded(about, chunk) if chunk and about else None

    def put(self, number: int, partials: list[Partial], seconds: float) -> None:
        """Keep the partials of a task that took so long, unless that would cost too much.

        Raises
        ------
        WorkspaceError
            The store takes no more.
        """
        size = sum(np.asarray(array).nbytes for partial in partials for array in partial.values())
        expected = PUT_SECONDS + size / PUT_BYTES_A_SECOND
        account = account_of(self.location)
        account.work(seconds)
        if seconds < self.quickest or not account.reserve(expected, self.share):
            return
        reach("checkpoint:before")
        begun = perf_counter()
        keys = _encoded(number, pack(partials))
        with _told(self.location, "keep a checkpoint"):
            for key in ("c/0", "zarr.json"):
                write_key(self.location, f"{self.group}/{number}/{key}", keys.pop(key))
        account.correct(perf_counter() - begun - expected)
        reach("checkpoint:after")


class Account:
    """What the tasks of this process took, and what keeping them did."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worked = 0.0
        self.spent = 0.0

    def work(self, seconds: float) -> None:
        """Book a task."""
        with self._lock:
            self._worked += seconds

    def reserve(self, seconds: float, share: float) -> bool:
        """Book what keeping a task is expected to take, unless the share is used up."""
        with self._lock:
            affordable = self.spent + seconds <= share * self._worked
            self.spent += seconds * affordable
            return affordable

    def correct(self, seconds: float) -> None:
        """Book what it took beyond what was expected."""
        with self._lock:
            self.spent += seconds


_ACCOUNTS: defaultdict[str, Account] = defaultdict(Account)


def account_of(location: Location) -> Account:
    """What this process has spent on keeping tasks in a workspace."""
    return _ACCOUNTS[location.name]


def pack(partials: list[Partial]) -> memoryview:
    """Bytes of partials: a digest, then an ``npz`` archive of an index and every field.

    The index is JSON, the names of every partial's fields in order: as names within an
    archive not every text would serve.
    """
    fields = [np.asarray(array) for partial in partials for array in partial.values()]
    index = json.dumps([list(partial) for partial in partials]).encode()
    file = io.BytesIO(bytes(DIGEST_BYTES))
    file.seek(DIGEST_BYTES)
    np.savez(file, np.frombuffer(index, np.uint8), *fields, allow_pickle=False)
    packed = file.getbuffer()
    packed[:DIGEST_BYTES] = _digest(packed[DIGEST_BYTES:])
    return packed


def unpack(packed: memoryview) -> list[Partial] | None:
    """Partials of `pack`; None where these are not the bytes that it gave."""
    if packed[:DIGEST_BYTES] != _digest(packed[DIGEST_BYTES:]):
        return None
    with np.load(io.BytesIO(packed[DIGEST_BYTES:]), allow_pickle=False) as archive:
        fields = (archive[name] for name in archive.files)
        index = json.loads(next(fields).tobytes())
        return [{name: next(fields) for name in names} for names in index]


def _digest(data: memoryview) -> bytes:
    return blake2b(data, digest_size=DIGEST_BYTES, person=b"partials 1").digest()


def _group_metadata(attributes: dict[str, Any]) -> bytes:
    """Metadata of a Zarr group."""
    import zarr
    from zarr.storage import MemoryStore

    keys: dict[str, abc.Buffer] = {}
    zarr.create_group(MemoryStore(keys), attributes=attributes, zarr_format=3)
    return keys["zarr.json"].to_bytes()


def _byte_array(number: int, length: int, keys: dict[str, abc.Buffer]) -> zarr.Array[Any]:
    """A Zarr array of one chunk whose store is the mapping."""
    import zarr
    from zarr.codecs import BloscCodec, Crc32cCodec
    from zarr.storage import MemoryStore

    return zarr.create_array(
        MemoryStore(keys),
        shape=(length,),
        chunks=(length,),
        dtype="uint8",
        # most bytes belong to numbers of eight
        compressors=[BloscCodec(typesize=8, cname="lz4", shuffle="shuffle"), Crc32cCodec()],
        fill_value=0,
        dimension_names=[f"byte_{number}"],
        config={"write_empty_chunks": True},
        zarr_format=3,
    )


def _encoded(number: int, packed: memoryview) -> dict[str, bytes]:
    """The keys of a task's array, and their bytes."""
    keys: dict[str, abc.Buffer] = {}
    _byte_array(number, len(packed), keys)[:] = np.frombuffer(packed, np.uint8)
    return {key: keys.pop(key).to_bytes() for key in list(keys)}


def _decoded(about: bytes, chunk: bytes) -> memoryview | None:
    """What a task's array holds, from its metadata and chunk; None where it has no such bytes."""
    from zarr.buffer.cpu import Buffer

    keys: dict[str, abc.Buffer] = {}
    try:
        (length,) = json.loads(about)["shape"]
        array = _byte_array(0, length, keys)
        keys["c/0"] = Buffer.from_bytes(chunk)
        return np.asarray(array[:]).data
    # the checksum of the chunk is the first thing that is looked at, the rest is the length
    except (ValueError, KeyError, TypeError):
        return None


def _safe(token: str) -> str:
    """The token as the end of a group's name: without the "-" that comes before it."""
    if re.fullmatch(r"[A-Za-z0-9_.]{1,80}", token):
        return token
    digest = blake2b(token.encode(), digest_size=8).hexdigest()
    return re.sub(r"[^A-Za-z0-9_.]", "_", token)[:40] + "_" + digest


@contextmanager
def _told(location: Location, what: str) -> Iterator[None]:
    """Say of an error of the store where it was, and that nothing is lost."""
    try:
        yield
    except WorkspaceError:
        raise
    except OSError as error:
        raise WorkspaceError(
            f"cannot {what} in {location.name!r}: {error.strerror or error}; once this is mended "
            "the same command goes on from here"
        ) from error
