"""What there is to say of a workspace: as attributes, as text, as tables and as JSON."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from somscale.engine.linear.cutting import format_bytes

__all__ = ["DatasetInfo", "MatrixInfo", "RunInfo", "SamplesInfo", "Work", "WorkspaceInfo"]

_NAMES = 6
"""Names of indices that are shown."""


@dataclass(frozen=True)
class SamplesInfo:
    """The samples of a workspace.

    Attributes
    ----------
    dims : mapping of str to int
        Their dims and those of their features, with sizes.
    sample_dims : tuple of str
        Which of them are the samples'.
    dtype : str
        Type of the values.
    copied : bool
        Whether the values are in the workspace, and not only their fingerprint.
    complete : bool
        Whether everything was written.
    stored, raw : int
        Bytes in the store, and of the values; `raw` is 0 where these are not copied.
    fingerprint : str
        Of the samples.
    """

    dims: Mapping[str, int]
    sample_dims: tuple[str, ...]
    dtype: str
    copied: bool
    complete: bool
    stored: int
    raw: int
    fingerprint: str


@dataclass(frozen=True)
class DatasetInfo:
    """A map or a result.

    Attributes
    ----------
    path : str
        Of its group.
    complete : bool
        Whether everything was written.
    stored : int
        Bytes in the store.
    variables : tuple of str
        Names of its arrays.
    metrics : tuple of str
        Indices of a result.
    candidates : tuple of str
        What a result judges.
    """

    path: str
    complete: bool
    stored: int
    variables: tuple[str, ...]
    metrics: tuple[str, ...]
    candidates: tuple[str, ...]


@dataclass(frozen=True)
class Work:
    """What it would take to finish a matrix.

    Attributes
    ----------
    tasks, of : int
        Tasks that are still to do, and all of them.
    operations : float
        Operations of those that are to do.
    peak_memory : int
        Projected peak of one worker process in bytes.
    """

    tasks: int
    of: int
    operations: float
    peak_memory: int


@dataclass(frozen=True)
class MatrixInfo:
    """Distances or ranks.

    Attributes
    ----------
    path : str
        Of the group.
    shape : tuple of int
        (N, N); empty where the array was not made yet.
    dtype : str
        Type of the entries.
    distance : str
        Of the samples.
    present, chunks : int
        Chunks that are there, and all of them.
    complete : bool
        Whether everything was written.
    stored, raw : int
        Bytes in the store, and of all entries.
    of_these_samples : bool
        Whether it is of the samples that the workspace has.
    work : Work or None
        What it would take to finish it; None where it is complete, or this cannot be told.
    why_unknown : str
        Why it cannot be told.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    distance: str
    present: int
    chunks: int
    complete: bool
    stored: int
    raw: int
    of_these_samples: bool
    work: Work | None
    why_unknown: str

    @property
    def ratio(self) -> float:
        """Bytes in the store to those of the entries that are there; nan where none is."""
        there = self.raw * self.present / self.chunks if self.chunks else 0
        return self.stored / there if there else float("nan")


@dataclass(frozen=True)
class RunInfo:
    """A run that is not complete.

    Attributes
    ----------
    run : str
        What it is known by.
    tasks : int
        Finished tasks that are kept.
    stored : int
        Their bytes in the store.
    """

    run: str
    tasks: int
    stored: int


@dataclass(frozen=True)
class WorkspaceInfo:
    """What a workspace holds.

    Attributes
    ----------
    workspace : str
        Its path or URL.
    samples : SamplesInfo or None
        None where it has none yet.
    maps : tuple of DatasetInfo
        Maps.
    matrices : tuple of MatrixInfo
        Distances and ranks.
    results : tuple of DatasetInfo
        Results.
    unfinished : tuple of RunInfo
        Runs that are not complete.
    """

    workspace: str
    samples: SamplesInfo | None
    maps: tuple[DatasetInfo, ...]
    matrices: tuple[MatrixInfo, ...]
    results: tuple[DatasetInfo, ...]
    unfinished: tuple[RunInfo, ...]

    @property
    def stored(self) -> int:
        """Bytes of all of it in the store."""
        groups = [group.stored for group in self._groups()]
        runs = [run.stored for run in self.unfinished]
        return sum([*groups, *runs, self.samples.stored if self.samples else 0])

    @property
    def complete(self) -> bool:
        """Whether nothing is left to finish."""
        whole = all(group.complete for group in self._groups()) and not self.unfinished
        return whole and (self.samples is None or self.samples.complete)

    def _groups(self) -> list[DatasetInfo | MatrixInfo]:
        return [*self.maps, *self.matrices, *self.results]

    def __str__(self) -> str:
        lines = [f"{self.workspace} ({format_bytes(self.stored)})"]
        rows = list(self._rows())
        width = max((len(name) for name, _ in rows), default=0)
        return "\n".join([*lines, *(f"  {name:<{width}}  {text}" for name, text in rows)])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self._rows()
        )
        head = html.escape(f"{self.workspace} ({format_bytes(self.stored)})")
        return f"<div><strong>{head}</strong><table>{rows}</table></div>"

    def as_dict(self) -> dict[str, Any]:
        """As JSON says it."""
        facts = asdict(self)
        for own, matrix in zip(facts["matrices"], self.matrices, strict=True):
            own["ratio"] = matrix.ratio if matrix.ratio == matrix.ratio else None
        return {**facts, "stored": self.stored, "complete": self.complete}

    def _rows(self) -> Iterator[tuple[str, str]]:
        yield "samples", "none yet" if self.samples is None else _samples_text(self.samples)
        for som in self.maps:
            yield som.path, f"{format_bytes(som.stored)}{_unless(som.complete)}"
        for matrix in self.matrices:
            yield matrix.path, _matrix_text(matrix)
        for result in self.results:
            yield result.path, _result_text(result)
        for run in self.unfinished:
            kept = f"{run.tasks:,} finished task{'s' if run.tasks != 1 else ''} kept"
            yield f"run {run.run}", f"not complete; {kept}, {format_bytes(run.stored)}"


def _unless(complete: bool) -> str:
    return "" if complete else "; not complete"


def _samples_text(samples: SamplesInfo) -> str:
    dims = [f"{name}: {size:,}" for name, size in samples.dims.items()]
    count = len(samples.sample_dims)
    shape = f"({', '.join(dims[:count])}) × ({', '.join(dims[count:])}) {samples.dtype}"
    where = "only their fingerprint is kept"
    if samples.copied:
        where = f"{format_bytes(samples.stored)} of {format_bytes(samples.raw)}"
    return f"{shape}; {where}{_unless(samples.complete)}"


def _matrix_text(matrix: MatrixInfo) -> str:
    if not matrix.shape:
        return f"{matrix.distance}; not complete, only begun"
    shape = " × ".join(f"{size:,}" for size in matrix.shape)
    parts = [f"{matrix.distance}", f"{shape} {matrix.dtype}"]
    if matrix.present:
        sizes = f"{format_bytes(matrix.stored)} of {format_bytes(matrix.raw)}"
        parts.append(f"{sizes} ({matrix.ratio:.0%} of what is there)")
    if not matrix.of_these_samples:
        parts.append("of other samples")
    if matrix.complete and matrix.present < matrix.chunks:
        lost = matrix.chunks - matrix.present
        parts.append(f"damaged: {lost:,} of {matrix.chunks:,} chunks are missing")
    if not matrix.complete:
        parts.append(f"not complete: {matrix.present:,} of {matrix.chunks:,} chunks")
        parts.append(_work_text(matrix))
    return "; ".join(parts)


def _work_text(matrix: MatrixInfo) -> str:
    work = matrix.work
    if work is None:
        return f"what is left cannot be told ({matrix.why_unknown})"
    return (
        f"to finish: {work.tasks:,} of {work.of:,} tasks, {work.operations:.3g} operations, "
        f"{format_bytes(work.peak_memory, up=True)} a process"
    )


def _result_text(result: DatasetInfo) -> str:
    names = [*result.metrics[:_NAMES]]
    if len(result.metrics) > _NAMES:
        names.append(f"and {len(result.metrics) - _NAMES} more")
    of = f" of {', '.join(result.candidates)}" if len(result.candidates) > 1 else ""
    listed = f"; {', '.join(names)}{of}" if names else ""
    return f"{format_bytes(result.stored)}{listed}{_unless(result.complete)}"
