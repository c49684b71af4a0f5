"""Kill runs of a workspace at random until they are complete, and compare what they leave.

``python tests/workspace_kills.py --kills 20 --victim process`` (or ``worker``, of a local
cluster, or ``scheduler``) kills that often, resumes each time with the same command, and fails
where any byte of the final results differs from those of an undisturbed run.
"""

from __future__ import annotations

import argparse
import math
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from faults import Victim, differences, keys_of, run_and_kill, temporary_files


def commands(place: Path) -> list[list[str]]:
    """What is run, as on the command line."""
    folder, work = place.parent, str(place)
    samples, embedding = str(folder / "samples.npy"), str(folder / "embedding.npy")
    asked = ["--embedding", embedding, "-k", "1:20"]
    first = [part for name in ("trustworthiness", "kruskal_shepard_error") for part in ("-m", name)]
    return [
        # walks in tasks, whose partials are kept
        ["evaluate", samples, *asked, *first, "--store", work, "--run", "streamed"],
        ["store", samples, "-o", work, "--distances", "--ranks"],
        ["evaluate", work, *asked, "-m", "q_nx", "--store", work, "--run", "stored"],
    ]


def run(place: Path, victim: Victim) -> None:
    """The run itself, in the process that is killed or whose workers are."""
    from somscale.cli import main
    from somscale.engine.linear import cutting as linear_cutting
    from somscale.engine.pairs import cutting as pair_cutting
    from somscale.store import checkpoints

    # tasks are small here, and each is to be kept
    checkpoints.QUICKEST, checkpoints.SHARE = 0.0, math.inf
    for module in (linear_cutting, pair_cutting):
        vars(module)["LEAST_OPERATIONS"] = 1e6
    started = place.with_suffix(".started")
    scheduler = ["--scheduler", "threads", "--workers", "2"]
    if victim == "process":
        started.touch()
        for command in commands(place):
            main([*command, *scheduler], standalone_mode=False)
        return
    from distributed import Client, LocalCluster

    if victim == "scheduler":
        with apart(place.with_suffix(".json")) as file, Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(2, timeout=60)
            started.touch()
            for command in commands(place):
                main(command, standalone_mode=False)
        return
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        started.touch()
        for command in commands(place):
            main(command, standalone_mode=False)


@contextmanager
def apart(file: Path) -> Iterator[Path]:
    """A scheduler and two workers, each a process of its own."""
    file.unlink(missing_ok=True)
    shared = ["--scheduler-file", str(file)]
    scheduler = ["--port", "0", "--host", "127.0.0.1", "--no-dashboard", *shared]
    worker = ["--nthreads", "1", "--no-nanny", "--no-dashboard", *shared]
    names = {"dask_scheduler": [scheduler], "dask_worker": [worker, worker]}
    started = [
        subprocess.Popen([sys.executable, "-m", f"distributed.cli.{name}", *arguments])
        for name, several in names.items()
        for arguments in several
    ]
    try:
        while not file.exists():
            time.sleep(0.05)
        yield file
    finally:
        for process in started:
            process.kill()


def prepare(folder: Path, n_samples: int, seed: int) -> Path:
    """Samples and an embedding in a new folder; the place of its workspace."""
    folder.mkdir(parents=True)
    samples = np.random.default_rng(seed).normal(size=(n_samples, 10))
    np.save(folder / "samples.npy", samples)
    np.save(folder / "embedding.npy", np.ascontiguousarray(samples[:, :2]))
    return folder / "work.zarr"


def undisturbed(folder: Path, n_samples: int, seed: int, victim: Victim) -> tuple[Path, float]:
    """A workspace that nothing happened to, and the seconds it took after all was imported."""
    place = prepare(folder, n_samples, seed)
    _, code, said = attempt(place, victim, after=600.0)
    assert code == 0, said
    return place, time.time() - place.with_suffix(".started").stat().st_mtime


def attempt(place: Path, victim: Victim, *, after: float, seed: int = 0) -> tuple[bool, int, str]:
    """Start or resume the run, and kill so long after it has begun."""
    started = place.with_suffix(".started")
    started.unlink(missing_ok=True)
    arguments = (__file__, "run", str(place), "--victim", victim)
    return run_and_kill(*arguments, after=after, once=started, victim=victim, seed=seed)


def kill(
    folder: Path,
    whole: Path,
    *,
    kills: int,
    seconds: float,
    n_samples: int,
    seed: int,
    victim: Victim,
) -> int:
    """Kill so often, over as many runs as that takes; how many of them came to their end.

    Parameters
    ----------
    folder : Path
        For the workspaces.
    whole : Path
        What they are compared with.
    seconds : float
        What a run takes, about: kills come within it.
    """
    rng = random.Random(seed)
    struck, runs = 0, 0
    while struck < kills:
        place = prepare(folder / str(runs), n_samples, seed=0)
        complete = False
        while not complete:
            after = rng.uniform(0, seconds) if struck < kills else 600.0
            was_struck, code, said = attempt(
                place, victim, after=after, seed=rng.randrange(1 << 30)
            )
            struck += was_struck
            complete = code == 0
            if not complete and not (was_struck and victim == "process"):
                # a cluster may give a task up whose workers died; anything else is a fault
                assert "goes on from there" in said, said
        runs += 1
        assert (found := differences(place, whole)) == [], found
        assert keys_of(place, ["partials"]) == {}
        assert temporary_files(place) == []
    return runs


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["run", "kill"], default="kill")
    parser.add_argument("place", nargs="?", type=Path)
    parser.add_argument("--victim", choices=["process", "worker", "scheduler"], default="process")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--samples", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def kill_as_asked(asked: argparse.Namespace) -> None:
    """Kill runs in a folder that is gone afterwards, and say what came of them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole, seconds = undisturbed(folder / "whole", asked.samples, 0, asked.victim)
        runs = kill(
            folder,
            whole,
            kills=asked.kills,
            seconds=seconds,
            n_samples=asked.samples,
            seed=asked.seed,
            victim=asked.victim,
        )
    print(f"{asked.kills} kills of a {asked.victim}, {runs} runs complete, all results equal")


if __name__ == "__main__":
    given = arguments()
    if given.what == "run":
        run(given.place, given.victim)
        sys.exit(0)
    kill_as_asked(given)
