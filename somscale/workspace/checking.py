"""Read every chunk of a workspace, in little memory, and say what is wrong with each."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from somscale._types import AnyArray
from somscale.engine.memory import baseline_bytes, budget_bytes, worker_count
from somscale.engine.progress import progress_bar
from somscale.errors import ChunkError, WorkspaceError
from somscale.store.arrays import StoredArray, open_array
from somscale.workspace.findings import Checked, Finding
from somscale.workspace.listing import Listed
from somscale.workspace.matrices import KINDS
from somscale.workspace.matrix_values import DistanceValues, RankValues, ValueCheck

__all__ = ["Index", "Inspection", "expected_arrays", "is_matrix", "matrix_of"]

Index = tuple[int, ...]
_COPIES = 5
"""What checking a chunk holds, in its own size: as it is stored and decoded, and comparisons."""


@dataclass
class Inspection:
    """What has been found so far."""

    damaged: list[Finding] = field(default_factory=list)
    unfinished: list[Finding] = field(default_factory=list)
    chunks: int = 0
    bytes: int = 0

    @property
    def checked(self) -> Checked:
        """Chunks and bytes that were read."""
        return Checked(self.chunks, self.bytes)

    def bad(self, path: str, problem: str, chunk: Index | None = None) -> None:
        """Note damage."""
        self.damaged.append(Finding(path, chunk, problem))

    def open(self, path: str, problem: str) -> None:
        """Note what is not complete."""
        self.unfinished.append(Finding(path, None, problem))

    def group(self, group: Listed) -> None:
        """Check a map, a matrix or a result."""
        known = group.attributes()
        if known is None:
            if "zarr.json" in group.keys:
                self.bad(group.path, "its metadata cannot be read")
            else:
                self.open(group.path, "is what is left of something that was deleted")
            return
        if "complete" not in known:
            return  # nothing that somscale wrote
        complete, missing, total = known["complete"] is True, 0, 0
        arrays: dict[str, StoredArray] = {}
        for name in expected_arrays(group, known):
            array = self._opened(group, name, complete=complete)
            if array is not None:
                arrays[name] = array
        main = matrix_of(group.path) if is_matrix(group.path) else None
        checks = _value_checks(group, arrays)
        # the smaller ones first: a matrix is judged by which samples take part
        for name in sorted(arrays, key=lambda name: name == main):
            array = arrays[name]
            there, absent = _sorted_units(group, name, array)
            if complete:
                for index in absent:
                    self.bad(array.path, _absence(group, name, index), index)
            if main is None or name in (main, "taken"):
                missing += len(absent)
                total += len(there) + len(absent)
            check = checks if name == main else None
            self._read(group, name, array, there, check)
            if check is None and name == "taken":
                _take(checks, array, self)
        if not complete:
            self.open(group.path, _progress(missing, total, begun=main is None or main in arrays))

    def _opened(self, group: Listed, name: str, *, complete: bool) -> StoredArray | None:
        path = f"{group.path}/{name}"
        try:
            return open_array(group.location, path)
        except WorkspaceError as error:
            if f"{name}/zarr.json" in group.keys:
                self.bad(path, _of_array(error, path))
            elif complete:
                self.bad(path, "is missing")
            return None

    def array(self, group: Listed, name: str) -> None:
        """Check an array of which every chunk should be there."""
        array = self._opened(group, name, complete=True)
        if array is None:
            return
        there, absent = _sorted_units(group, name, array)
        for index in absent:
            self.bad(array.path, _absence(group, name, index), index)
        self._read(group, name, array, there, None)

    def _read(
        self,
        group: Listed,
        name: str,
        array: StoredArray,
        units: list[Index],
        check: ValueCheck | None,
    ) -> None:
        """Decode chunks, as many at a time as memory allows."""
        if not units:
            return

        def look(index: Index) -> Finding | None:
            return _look(array, index, check)

        threads = _threads(array, len(units))
        rounds = [units] if check is None else check.rounds(units)
        with (
            progress_bar(len(units), f"checking {array.path}") as bar,
            ThreadPoolExecutor(threads) as pool,
        ):
            for some in rounds:
                for found in _mapped(pool, look, some, threads):
                    bar.update()
                    if found is not None:
                        self.damaged.append(found)
        self.chunks += len(units)
        self.bytes += sum(group.size_of(name, index) for index in units)


def is_matrix(path: str) -> bool:
    """Whether a group is one of distances or ranks."""
    return path.partition("/")[0] in KINDS


def matrix_of(path: str) -> str:
    """Name of the matrix in a group of distances or ranks."""
    return "distance" if path.startswith("distances/") else "rank"


def expected_arrays(group: Listed, known: dict[str, Any]) -> list[str]:
    """Names of the arrays that a group should have, by its attributes."""
    try:
        names = [str(name) for name in json.loads(known.get("dtypes", "{}"))]
    except (ValueError, TypeError):
        names = group.arrays
    if is_matrix(group.path):
        names += [matrix_of(group.path), *(["taken"] if group.path.startswith("ranks/") else [])]
    return list(dict.fromkeys(names))


def _mapped(
    pool: ThreadPoolExecutor,
    function: Callable[[Index], Finding | None],
    items: Iterable[Index],
    threads: int,
) -> Iterator[Finding | None]:
    """Results in order, with few items under way, so that a stop takes effect soon."""
    rest = iter(items)
    under_way = [pool.submit(function, item) for item in itertools.islice(rest, 2 * threads)]
    while under_way:
        yield under_way.pop(0).result()
        under_way += [pool.submit(function, item) for item in itertools.islice(rest, 1)]


def _threads(array: StoredArray, units: int) -> int:
    size = _COPIES * math.prod(array.chunks) * max(array.dtype.itemsize, 1)
    fitting = (budget_bytes() - baseline_bytes()) // max(size, 1)
    return max(1, min(worker_count(), units, fitting))


def _sorted_units(group: Listed, name: str, array: StoredArray) -> tuple[list[Index], list[Index]]:
    """Units that are there, and those that are not."""
    there: list[Index] = []
    absent: list[Index] = []
    for index in itertools.product(*map(range, array.units())):
        (there if group.size_of(name, index) else absent).append(index)
    return there, absent


def _absence(group: Listed, name: str, index: Index) -> str:
    key = "/".join([name, "c", *map(str, index)])
    return "is empty" if key in group.keys else "is missing"


def _look(array: StoredArray, index: Index, check: ValueCheck | None) -> Finding | None:
    """Decode a unit, chunk by chunk where it is a shard."""
    boxes = list(_boxes(array, index))
    if check is not None:
        boxes.sort(key=lambda box: box[0] != box[1])  # the diagonal tells who takes part
    for box in boxes:
        try:
            values = array.read(*box)
        except ChunkError as error:
            return Finding(array.path, index, _of_chunk(error))
        problem = None if check is None else check.problem(values, *box)
        if problem is not None:
            return Finding(array.path, index, problem)
    return None


def _boxes(array: StoredArray, index: Index) -> Iterator[tuple[slice, ...]]:
    whole = array.box(index)
    starts = [
        range(part.start, part.stop, size) for part, size in zip(whole, array.chunks, strict=True)
    ]
    for corner in itertools.product(*starts):
        yield tuple(
            slice(start, min(start + size, part.stop))
            for start, size, part in zip(corner, array.chunks, whole, strict=True)
        )


def _value_checks(group: Listed, arrays: dict[str, StoredArray]) -> ValueCheck | None:
    if not is_matrix(group.path) or matrix_of(group.path) not in arrays:
        return None
    matrix = arrays[matrix_of(group.path)]
    if group.path.startswith("ranks/"):
        return RankValues(matrix.shape[0], np.iinfo(matrix.dtype).max)
    return DistanceValues(matrix.shape[0])


def _take(check: ValueCheck | None, array: StoredArray, found: Inspection) -> None:
    """Tell the check of ranks which samples take part, as far as that can be read."""
    if not isinstance(check, RankValues):
        return
    bad = {finding.chunk for finding in found.damaged if finding.path == array.path}
    for index in itertools.product(*map(range, array.units())):
        if index in bad:
            continue
        box = array.box(index)
        try:
            values: AnyArray = array.read(*box)
        except ChunkError:  # not there yet
            continue
        check.taken[box[0]] = values


def _progress(missing: int, total: int, *, begun: bool) -> str:
    if not begun:
        return "was only begun"
    if not missing:
        return "has all its chunks, and was stopped before it was said to be complete"
    return f"{missing:,} of {total:,} chunks are still to be written"


def _of_chunk(error: ChunkError) -> str:
    """What is wrong with a chunk, without its name and without advice."""
    text = str(error).partition("; write it anew")[0]
    if "checksum" in text:  # which Zarr tells with both numbers
        return "has other bytes than were written (its checksum does not match)"
    return text.partition(f"{error.array} ")[2] or text


def _of_array(error: WorkspaceError, path: str) -> str:
    text = str(error)
    return text[text.index("cannot be opened") :] if "cannot be opened" in text else text
