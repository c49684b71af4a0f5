"""A disk that is full: a named error, and the run goes on once there is room."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from faults import differences, environment, keys_of, run_forked, temporary_files
from workspace_work import small_work

from somscale.errors import WorkspaceError


def with_small_files(place: Path) -> None:
    """The run in a process that may write no file larger than a small chunk."""
    limit = 3000
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        small_work(place)
    except WorkspaceError as error:
        print(error, file=sys.stderr)
        raise SystemExit(3) from None


def test_files_that_may_not_grow_stop_a_run_that_goes_on_later(tmp_path: Path) -> None:
    whole, place = tmp_path / "whole.zarr", tmp_path / "work.zarr"
    small_work(whole)
    assert run_forked(with_small_files, place) == 3
    assert temporary_files(place) == []
    assert keys_of(place)
    small_work(place)
    assert differences(place, whole) == []
    assert keys_of(place, ["partials"]) == {}


PROGRAM = """
import sys
from somscale.errors import WorkspaceError
from workspace_work import small_work
try:
    small_work(sys.argv[1])
except WorkspaceError as error:
    sys.exit(3 if "No space left" in str(error) else 4)
"""
ON_A_SMALL_DISK = """
set -u
mount -t tmpfs -o size=$SIZE full "$DISK" || exit 77
"$PYTHON" -c "$PROGRAM" "$DISK/work.zarr"
[ $? = 3 ] || exit 1
find "$DISK" -name "*.partial" | grep . && exit 2
mount -o remount,size=4m full "$DISK" || exit 77
"$PYTHON" -c "$PROGRAM" "$DISK/work.zarr" || exit 3
cp -r "$DISK/work.zarr" "$OUT"
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare(1)")
@pytest.mark.parametrize("kib", [60, 280])
def test_a_full_disk_stops_a_run_that_goes_on_with_more_room(kib: int, tmp_path: Path) -> None:
    """On a tmpfs of so many KiB, in a mount namespace of its own."""
    whole, disk, out = tmp_path / "whole.zarr", tmp_path / "disk", tmp_path / "out.zarr"
    small_work(whole)
    disk.mkdir()
    settings = {
        "SIZE": f"{kib}k",
        "DISK": str(disk),
        "OUT": str(out),
        "PYTHON": sys.executable,
        "PROGRAM": PROGRAM,
    }
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", ON_A_SMALL_DISK]
    done = subprocess.run(
        command, env=environment(settings), capture_output=True, text=True, check=False
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("no tmpfs can be mounted here")
    assert done.returncode == 0, done.stderr
    assert differences(out, whole) == []
    assert keys_of(out, ["partials"]) == {}
