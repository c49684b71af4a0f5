"""A workspace in an object store: S3 as a server on the loopback interface speaks it."""

from __future__ import annotations

import pickle
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from faults import STORED, environment, run_forked, timeless
from s3_server import BUCKET, S3Server, serving
from workspace_work import samples, small, som

import somscale as ss
from somscale.errors import InputError, WorkspaceBusyError, WorkspaceError
from somscale.store import lease
from somscale.store.keys import delete_key, list_keys, read_key, stamp_of, write_key
from somscale.store.layouts import MatrixLayout, distance_layout, rank_layout
from somscale.store.location import Location, locate
from somscale.store.locking import writing

POINTS = np.random.default_rng(4).normal(size=(30, 2))
# one request a read, and not two
SPARING = {"max_concurrency": 1}


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with serving() as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lease, "SETTLING", 0.02)
        patch.setattr(lease, "_POLL", 0.02)
        yield server


def url() -> str:
    """A place that was never used, with a blank and an umlaut."""
    return f"s3://{BUCKET}/größe und form {uuid4().hex}.zarr"


def opened(server: S3Server, place: str, **settings: Any) -> ss.Workspace:
    return ss.Workspace(place, storage_options={**server.options, **SPARING}, **settings)


def streamed(place: Any, options: dict[str, Any] | None = None, *, answered: bool = True) -> None:
    """Samples, and an answer that takes many tasks, whose partials are kept."""
    with small():
        ws = ss.Workspace(place, storage_options=options)
        ws.write_samples(samples())
        if answered:
            flat = samples().to_numpy()[:, :2]
            ss.evaluate(ws, flat, metrics="kruskal_shepard_error", run="streamed")


def matrices(place: Any, options: dict[str, Any] | None = None) -> None:
    with small():
        ws = ss.Workspace(place, storage_options=options)
        ws.write_distances()
        ws.write_ranks()


def answers(place: Any, options: dict[str, Any] | None = None) -> None:
    """A map, and what is asked of samples that are given, with the workspace as `store`."""
    with small():
        ws = ss.Workspace(place, storage_options=options)
        ws.write_map("small", som())
        asked = ["trustworthiness", "c_measure"]
        ss.evaluate(samples(), som(), metrics=asked, k=4, store=ws, run="stored")


def contents(location: Location) -> dict[str, bytes | None]:
    keys = [key for key in list_keys(location, "") if key.partition("/")[0] in STORED]
    found = {key: read_key(location, key) for key in keys}
    return {key: timeless(key, value) for key, value in found.items()}


@pytest.fixture(scope="module")
def undisturbed() -> ss.Workspace:
    """The same in memory, where chunks lie in shards as well."""
    place = f"memory://{uuid4().hex}/work.zarr"
    for part in (streamed, matrices, answers):
        part(place)
    return ss.Workspace(place)


@pytest.fixture(scope="module")
def killed(server: S3Server) -> dict[str, Any]:
    """A workspace whose run was killed twice, and what was written before and after."""
    place, options = url(), {**server.options, **SPARING}
    told: dict[str, Any] = {"place": place}
    lives = {"streamed": (streamed, "checkpoint:after:3"), "matrices": (matrices, "chunk:after:6")}
    for name, (part, point) in lives.items():
        with server.writes() as before:
            assert run_forked(part, place, options, abort_at=point) == -9
        with server.writes() as after:
            part(place, options)
        told[name] = before, after
    answers(place, options)
    return told


TASK = re.compile(r"/partials/.*/c/0$")


def of_chunks(paths: list[str]) -> list[str]:
    """The chunks of matrices among keys."""
    return [path for path in paths if re.search(r"/(distance|rank)/c/", path)]


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(
    server: S3Server, killed: dict[str, Any], undisturbed: ss.Workspace
) -> None:
    found = contents(opened(server, killed["place"]).location)
    assert found == contents(undisturbed.location)
    # 2 × 2 chunks of distances, 3 of ranks: what was finished is not written again
    before, after = map(of_chunks, killed["matrices"])
    assert len(before) == 5
    assert len(before + after) == len({*before, *after}) == 7
    # nor are the tasks done again that were kept
    first, second = ([path for path in paths if TASK.search(path)] for paths in killed["streamed"])
    assert len(first) == 3
    assert second
    assert not {*first} & {*second}
    assert list_keys(opened(server, killed["place"]).location, "partials") == {}


def test_what_is_opened_is_what_a_workspace_on_disk_has(
    server: S3Server, killed: dict[str, Any], tmp_path: Path
) -> None:
    place = tmp_path / "work.zarr"
    streamed(place, answered=False)
    matrices(place)
    answers(place)
    local, ws = ss.Workspace(place), opened(server, killed["place"], mode="r")
    for path in ("samples", "distances/euclidean", "ranks/euclidean", "maps/small"):
        assert ws.open(path).load().identical(local.open(path).load()), path
    one, other = (each.open("results/stored").load() for each in (ws, local))
    assert one.identical(other)
    assert '"read": ["distances/euclidean", "ranks/euclidean"]' in one.attrs["stored_matrices"]
    assert local.location.group("ranks/euclidean", mode="r")["rank"].shards is None
    assert ws.location.group("ranks/euclidean", mode="r")["rank"].shards == (16, 64)


def damage(location: Location, key: str, kind: str) -> None:
    data = read_key(location, key)
    assert data is not None
    match kind:
        case "missing":
            delete_key(location, key)
        case "torn":
            write_key(location, key, data[: len(data) // 2])
        case "flipped":
            write_key(location, key, data[:9] + bytes([data[9] ^ 1]) + data[10:])


LAST = "/ranks/euclidean/rank/c/1/0"


@pytest.fixture(scope="module")
def refused(server: S3Server) -> tuple[ss.Workspace, str, list[str]]:
    """Samples and ranks, whose last chunk was refused at first, and what was written then."""
    ws = opened(server, url())
    with small():
        ws.write_samples(POINTS.copy())
        with (
            server.refusing(lambda method, path: method == "PUT" and path.endswith(LAST)),
            pytest.raises(WorkspaceError) as told,
        ):
            ws.write_ranks()
        with server.writes() as written:
            ws.write_ranks()
    return ws, str(told.value), written


@pytest.fixture
def little(refused: tuple[ss.Workspace, str, list[str]]) -> ss.Workspace:
    return refused[0]


def test_a_refusal_half_way_is_told_and_the_same_call_goes_on(
    refused: tuple[ss.Workspace, str, list[str]],
) -> None:
    _, told, written = refused
    assert re.search(r"chunk \(1, 0\) of .*rank cannot be written: Access Denied", told)
    assert [path.partition(".zarr")[2] for path in of_chunks(written)] == [LAST]


def test_damage_is_named_and_repaired(little: ss.Workspace) -> None:
    whole = contents(little.location)
    kinds = {"0/0": "missing", "1/0": "flipped"}
    keys = {number: f"ranks/euclidean/rank/c/{number}" for number in kinds}
    for number, kind in kinds.items():
        damage(little.location, keys[number], kind)
    found = little.verify()
    assert [(each.path, each.chunk) for each in found.damaged] == [
        ("ranks/euclidean/rank", (0, 0)),
        ("ranks/euclidean/rank", (1, 0)),
    ]
    with pytest.raises(WorkspaceError, match=r"chunk \(0, 0\) of .*rank is missing"):
        little.open("ranks/euclidean")[0].load()
    with small():
        assert little.verify(repair=True).ok
    assert contents(little.location) == whole
    damage(little.location, keys["1/0"], "torn")
    with pytest.raises(WorkspaceError, match=r"chunk \(1, 0\) of .*rank"):
        little.open("ranks/euclidean")[20].load()
    write_key(little.location, keys["1/0"], whole[keys["1/0"]] or b"")


def test_samples_that_were_exchanged_are_told_by_their_tags(
    server: S3Server, little: ss.Workspace
) -> None:
    (key,) = (key for key in list_keys(little.location, "samples/samples/c"))
    key = f"samples/samples/c/{key}"
    kept, stamp = read_key(little.location, key), stamp_of(little.location, key)
    assert kept is not None
    assert stamp is not None
    assert re.fullmatch('"[0-9a-f]{32}"', stamp.time)
    write_key(little.location, key, kept)
    # the same bytes have the same tag, and are not read again
    begun = len(server.seen)
    little.samples()
    assert not any(path.endswith(key) for _, path in server.seen[begun:])
    other = ss.Workspace(f"memory://{uuid4().hex}/work.zarr")
    other.write_samples(POINTS[::-1].copy())
    foreign = read_key(other.location, key)
    assert foreign is not None
    write_key(little.location, key, foreign)
    with pytest.raises(WorkspaceError, match=r"was changed since .*: samples 0 to 29 differ"):
        little.samples()
    write_key(little.location, key, kept)
    little.samples()


def test_what_may_only_be_read_is_read(server: S3Server, little: ss.Workspace) -> None:
    with server.refusing(lambda method, path: method in ("PUT", "POST", "DELETE")):
        ws = opened(server, little.name, mode="r")
        assert ws.verify().ok
        with small():
            q = ss.evaluate(ws, POINTS[:, :1], metrics="trustworthiness", k=3)
        with pytest.raises(
            WorkspaceError, match=r"lock/zarr\.json cannot be written: Access Denied"
        ):
            opened(server, little.name).write_distances()
    with small():
        direct = ss.evaluate(POINTS, POINTS[:, :1], metrics="trustworthiness", k=3)
    assert q["trustworthiness"].equals(direct["trustworthiness"])


def test_a_matrix_costs_a_request_a_chunk_and_few_besides(server: S3Server) -> None:
    ws = opened(server, url())
    with small():
        ws.write_samples(np.random.default_rng(6).normal(size=(200, 2)))
        begun = len(server.seen)
        ws.write_distances()
        chunks = 7 * 7
        assert len(server.seen) - begun < chunks + 120
        begun = len(server.seen)
        ws.open("distances/euclidean")[5:9].load()
    read = {path for method, path in server.seen[begun:] if method == "GET" and "/c/" in path}
    panel = {path for path in read if "/distance/c/" in path}
    assert {path.partition("/c/")[2] for path in panel} == {f"0/{column}" for column in range(7)}


@pytest.mark.parametrize("make", [distance_layout, rank_layout])
def test_a_matrix_of_40_000_samples_takes_fewer_than_2_000_objects(make: Any) -> None:
    more = {"dtype": "float32"} if make is distance_layout else {}
    layout: MatrixLayout = make(40_000, **more, sharded=True)
    # beside the chunks: coordinates and metadata
    assert np.prod([-(-40_000 // unit) for unit in layout.unit]) < 1_990


HOLD = """
import sys
from somscale.store.location import locate
from somscale.store.locking import writing
with writing(locate(sys.argv[1], storage_options=eval(sys.argv[2]))):
    print("writing", flush=True)
    sys.stdin.readline()
"""


def test_a_second_process_is_refused_waits_and_follows_one_that_was_killed(
    server: S3Server, little: ss.Workspace
) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, little.name, repr(server.options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment({}),
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "writing\n"
        who = f"process {holder.pid} on .* is writing to {re.escape(little.name)}"
        with pytest.raises(WorkspaceBusyError, match=who):
            little.write_distances()
        # reading goes on meanwhile
        assert opened(server, little.name, mode="r").open("samples").shape == POINTS.shape
        threading.Timer(0.1, holder.send_signal, [signal.SIGKILL]).start()
        with writing(little.location, wait=30):
            assert holder.wait(timeout=10) == -signal.SIGKILL
    finally:
        holder.kill()
        holder.communicate()
    assert read_key(little.location, "lock/zarr.json") is None


def test_what_is_wrong_with_the_service_is_one_sentence(server: S3Server) -> None:
    options = server.options
    anonymous = {name: options[name] for name in ("endpoint_url", "config_kwargs")}
    with pytest.raises(WorkspaceError, match=r"zarr\.json cannot be read: Unable to locate cred"):
        ss.Workspace(url(), storage_options=anonymous)
    nobody = {**options, "endpoint_url": "http://127.0.0.1:9"}
    with pytest.raises(WorkspaceError, match="Could not connect to the endpoint"):
        ss.Workspace(url(), storage_options=nobody)
    with pytest.raises(WorkspaceError, match="specified bucket does not exist"):
        ss.Workspace("s3://none/work.zarr", storage_options=options)
    with pytest.raises(WorkspaceError, match="there is no workspace at s3://"):
        ss.Workspace(url(), storage_options=options, mode="r")


def test_a_url_that_leads_to_no_store_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong, why in {
        "s3://": r"'s3://' names nothing; .* s3://bucket/work\.zarr",
        "simplecache::s3://bucket/x": "is a chain of file systems",
        "nonsense://bucket/x": "Protocol not known: nonsense",
    }.items():
        with pytest.raises(InputError, match=why):
            ss.Workspace(wrong)
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(InputError, match=r"needs a package that is not installed: .*gcsfs"):
        ss.Workspace("gs://bucket/work.zarr")


def test_a_place_pickles_with_what_leads_to_it(server: S3Server, little: ss.Workspace) -> None:
    copy = pickle.loads(pickle.dumps(locate(little.name, storage_options=server.options)))
    assert stamp_of(copy, "zarr.json") == stamp_of(little.location, "zarr.json") is not None
