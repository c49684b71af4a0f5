"""The checkpoints of runs that are not complete."""

from __future__ import annotations

from collections import defaultdict

from somscale.engine.progress import progress_bar
from somscale.store.checkpoints import PARTIALS, WorkspaceSink
from somscale.store.keys import Stamp, list_keys
from somscale.store.location import Location
from somscale.workspace.checking import Inspection

__all__ = ["check_runs"]


def check_runs(found: Inspection, location: Location) -> None:
    """Read every checkpoint, and note which do not hold what was written."""
    passes: defaultdict[str, dict[str, Stamp]] = defaultdict(dict)
    for key, stamp in list_keys(location, PARTIALS).items():
        name, *rest = key.split("/")
        if len(rest) == 3 and rest[1:] == ["c", "0"] and rest[0].isdecimal():
            passes[name][rest[0]] = stamp
    for name, tasks in sorted(passes.items()):
        path = f"{PARTIALS}/{name}"
        sink = WorkspaceSink(location, path, True, quickest=0, share=1)
        bad = 0
        with progress_bar(len(tasks), f"checking {path}") as bar:
            for number in sorted(tasks, key=int):
                if sink.get(int(number)) is None:
                    found.bad(f"{path}/{number}", "is no checkpoint that was written whole")
                    bad += 1
                bar.update()
        found.chunks += len(tasks)
        found.bytes += sum(stamp.size for stamp in tasks.values())
        kept = len(tasks) - bad
        found.open(
            path,
            f"{kept:,} finished task{'s' if kept != 1 else ''} of a run that is not complete "
            f"{'are' if kept != 1 else 'is'} kept; the same call goes on from there",
        )
