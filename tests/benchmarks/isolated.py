"""Contestants in processes of their own: seconds, and memory beyond what they start from.

A script that is timed calls `serve`: it prepares, says so, waits, runs, and names what it found
after the clock has stopped.  The parent starts it with `alternate` and watches its memory.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

__all__ = ["Medians", "Run", "alternate", "serve"]

MIB = 2**20
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_WAIT = 0.02


@dataclass(frozen=True)
class Run:
    """Seconds; bytes at the peak and beyond those before the run; values by name."""

    seconds: float
    peak: int
    extra: int
    values: dict[str, float]


@dataclass(frozen=True)
class Medians:
    """Medians of one contestant's runs."""

    seconds: float
    peak: float
    extra: float


def serve(run: Callable[[], Callable[[], dict[str, float]]]) -> None:
    """Run once when told to, and print seconds and values."""
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.perf_counter()
    values = run()
    seconds = time.perf_counter() - start
    print("done", flush=True)
    sys.stdin.readline()
    print(json.dumps([seconds, values()]), flush=True)


def alternate(
    script: Path,
    contestants: Mapping[str, Sequence[str]],
    *,
    threads: int,
    repeats: int,
    offspring: bool = False,
) -> dict[str, Medians]:
    """Run the contestants in turn, compare what they found in the first round, and say medians.

    Values of the same name must agree to 1e-12.
    """
    runs: dict[str, list[Run]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, arguments in contestants.items():
            runs[name].append(_run_alone([str(script), *arguments], threads, offspring))
        if len(next(iter(runs.values()))) == 1:
            _agree({name: first.values for name, (first,) in runs.items()})
    medians = {}
    for name, found in runs.items():
        seconds, peaks, extras = zip(*((r.seconds, r.peak, r.extra) for r in found), strict=True)
        medians[name] = Medians(*map(statistics.median, (seconds, peaks, extras)))
        print(
            f"{name:<44} {medians[name].seconds:8.3f} s  (from {min(seconds):.3f} to "
            f"{max(seconds):.3f}), extra {medians[name].extra / MIB:.0f} MiB"
        )
    return medians


def _agree(values: Mapping[str, Mapping[str, float]]) -> None:
    """Let what two contestants name alike be alike."""
    known: dict[str, tuple[str, float]] = {}
    shared = 0
    for name, found in values.items():
        for key, value in found.items():
            other, expected = known.setdefault(key, (name, value))
            if abs(value - expected) > 1e-12:
                raise SystemExit(f"{key}: {value!r} by {name}, {expected!r} by {other}")
            shared += other != name
    print(f"values compared: {shared}")


def _run_alone(command: Sequence[str], threads: int, offspring: bool) -> Run:
    """One run in a new process; with `offspring`, memory of all its children too."""
    environment = {**os.environ, **dict.fromkeys(_THREADS, str(threads))}
    with subprocess.Popen(
        [sys.executable, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        _expect("ready", child.stdout.readline())
        watch = _Watch(child.pid, offspring)
        child.stdin.write("go\n")
        child.stdin.flush()
        with watch:
            _expect("done", child.stdout.readline())
        child.stdin.write("go\n")
        child.stdin.flush()
        seconds, values = json.loads(child.stdout.readline())
    return Run(seconds, watch.peak, watch.peak - watch.start, values)


def _expect(word: str, line: str) -> None:
    if line.strip() != word:
        raise SystemExit(f"a contestant said {line!r} and not {word!r}; its error is above")


class _Watch:
    """The peak of a process's resident memory, looked at fifty times a second."""

    def __init__(self, pid: int, offspring: bool) -> None:
        self._root = psutil.Process(pid)
        self._offspring = offspring
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look_on)
        self.start = self.peak = self._resident()

    def _resident(self) -> int:
        total = 0
        children = self._root.children(recursive=True) if self._offspring else []
        for process in [self._root, *children]:
            try:
                total += process.memory_info().rss
            except psutil.NoSuchProcess:  # it ended since it was listed
                continue
        return int(total)

    def _look_on(self) -> None:
        # children are looked up among all processes, which is not done as often
        while not self._ended.wait(5 * _WAIT if self._offspring else _WAIT):
            self.peak = max(self.peak, self._resident())

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._ended.set()
        self._thread.join()
