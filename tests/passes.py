"""Jobs of many small tiles on samples in any form, and what a pass over them must find."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import zarr
from numpy.typing import NDArray
from strategies import Case
from zarr.storage import MemoryStore

from somscale.engine.linear.job import Cut, LinearJob
from somscale.engine.linear.walk import walk_run
from somscale.engine.readers.blocked import Blocks
from somscale.engine.readers.sources import ArraySource, Source, ZarrSource
from somscale.reductions.merge import Fold
from somscale.reductions.units import UnitsReduction, UnitStats

TILE = 8
FORMS = ("numpy", "zarr", "dask")


def units(codes: NDArray[np.float64], name: str = "units") -> UnitsReduction:
    """A reduction whose tiles are small, and so dear that every tile may be a task."""
    reduction = UnitsReduction(codes, samplewise=True, name=name)
    reduction.tile_rows, reduction.operations = TILE, 2e10
    return reduction


def job_of(case: Case, source: Source | None = None, blocks: Blocks | None = None) -> LinearJob:
    """A pass for one map, on the case's samples in memory unless they come from elsewhere."""
    if source is None and blocks is None:
        source = ArraySource(case.samples)
    n, d = case.samples.shape
    return LinearJob([units(case.codes)], n, d, source=source, blocks=blocks)


def in_form(
    form: str, case: Case, rows: Sequence[int], columns: Sequence[int], store: Any = None
) -> LinearJob:
    """A job on the samples as an array in memory, in Zarr, or in a Dask array, so chunked."""
    if form == "numpy":
        return job_of(case)
    if form == "dask":
        return job_of(
            case,
            blocks=Blocks.of(da.from_array(case.samples, chunks=(tuple(rows), tuple(columns)))),
        )
    chunks = (max(rows), max(columns))
    array = zarr.create_array(store or MemoryStore(), data=case.samples, chunks=chunks)
    return job_of(case, ZarrSource(array))


def gaussian(n: int = 60, d: int = 5, k: int = 7, seed: int = 0) -> Case:
    """Samples and codes without ties."""
    rng = np.random.default_rng(seed)
    return Case("gaussian", rng.standard_normal((n, d)), rng.standard_normal((k, d)))


def cut_by_hand(job: LinearJob, cut: Cut) -> list[Any]:
    """Walk every run of a cut here and fold the runs."""
    folds = [Fold(r.fields) for r in job.reductions]
    for run in range(cut.runs(job)):
        for fold, partial in zip(folds, walk_run(job, cut, run), strict=True):
            fold.add(cut.run_tiles.bit_length() - 1, run, partial)
    totals = [fold.result() for fold in folds]
    return [r.finalize(t) for r, t in zip(job.reductions, totals, strict=True) if t is not None]


def whole(case: Case) -> UnitStats:
    """What one run over all tiles finds."""
    job = job_of(case)
    stats: UnitStats = cut_by_hand(job, Cut("rows", 64, case.samples.shape[1], TILE))[0]
    return stats


def assert_same_bits(found: UnitStats, expected: UnitStats) -> None:
    """Every field has the same type and the same bytes."""
    for item in fields(UnitStats):
        if not item.compare:
            continue  # what formulas derived from the rest
        left, right = getattr(found, item.name), getattr(expected, item.name)
        assert np.asarray(left).dtype == np.asarray(right).dtype, item.name
        assert np.asarray(left).tobytes() == np.asarray(right).tobytes(), item.name


@dataclass(frozen=True)
class LoggedSource(ArraySource):
    """Notes the first row of every read, and fails to read a given row."""

    log: Path = Path()
    broken: int = -1

    def read(self, rows: slice, features: slice) -> Any:
        (self.log / uuid.uuid4().hex).write_text(str(rows.start))
        if rows.start <= self.broken < rows.stop:
            raise OSError("this row cannot be read")
        return super().read(rows, features)

    def reads(self) -> list[int]:
        """The first rows read since last asked."""
        starts = []
        for path in self.log.iterdir():
            starts.append(int(path.read_text()))
            path.unlink()
        return sorted(starts)
