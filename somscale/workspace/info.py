"""What a workspace holds, how large it is, and what it would take to finish the rest."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from somscale.errors import SomscaleError, WorkspaceError
from somscale.store.arrays import open_array
from somscale.store.checkpoints import kept_runs
from somscale.store.provenance import kept_account
from somscale.workspace.checking import is_matrix, matrix_of
from somscale.workspace.listing import Listed, list_workspace
from somscale.workspace.matrices import Kind
from somscale.workspace.overview import (
    DatasetInfo,
    MatrixInfo,
    RunInfo,
    SamplesInfo,
    Work,
    WorkspaceInfo,
)
from somscale.workspace.rebuilding import writer_of
from somscale.workspace.recorded import Recorded, recorded

if TYPE_CHECKING:
    from somscale.workspace.workspace import Workspace

__all__ = ["WorkspaceInfo", "describe"]


def describe(workspace: Workspace) -> WorkspaceInfo:
    """Describe a workspace by one listing of its keys; no chunk of a matrix is read.

    Parameters
    ----------
    workspace : Workspace
        What is described.

    Returns
    -------
    WorkspaceInfo
        Prints as text, shows as tables in a notebook.

    Raises
    ------
    WorkspaceError
        The store cannot be listed.
    """
    location = workspace.location
    listing = list_workspace(location)
    known = _recorded(workspace)
    samples = listing.groups.get("samples")
    return WorkspaceInfo(
        location.name,
        None if samples is None or known is None else _samples(samples, known),
        tuple(_dataset(group) for group in listing.of("maps")),
        tuple(
            _matrix(workspace, group, known)
            for room in ("distances", "ranks")
            for group in listing.of(room)
        ),
        tuple(_dataset(group) for group in listing.of("results")),
        tuple(
            RunInfo(name, kept.tasks, kept.bytes)
            for name, kept in sorted(kept_runs(location).items())
        ),
    )


def _recorded(workspace: Workspace) -> Recorded | None:
    try:
        return recorded(workspace.location)
    except (KeyError, TypeError, ValueError, WorkspaceError):
        return None


def _samples(group: Listed, known: Recorded) -> SamplesInfo:
    raw = math.prod(known.dims.values()) * _itemsize(known.dtype)
    return SamplesInfo(
        dict(known.dims),
        known.sample_dims,
        known.dtype,
        known.copied,
        known.complete,
        group.bytes,
        raw if known.copied else 0,
        known.text,
    )


def _itemsize(dtype: str) -> int:
    try:
        return np.dtype(dtype).itemsize
    except TypeError:
        return 0


def _dataset(group: Listed) -> DatasetInfo:
    known = group.attributes() or {}
    account = kept_account(known)
    try:
        variables = list(json.loads(known.get("dtypes", "{}")))
    except (TypeError, ValueError):
        variables = []
    metrics = account.get("metrics")
    return DatasetInfo(
        group.path,
        known.get("complete") is True,
        group.bytes,
        tuple(map(str, variables)),
        tuple(metrics) if isinstance(metrics, dict) else (),
        tuple(account.get("candidates") or ()),
    )


def _matrix(workspace: Workspace, group: Listed, samples: Recorded | None) -> MatrixInfo:
    known = group.attributes() or {}
    account = kept_account(known)
    name = matrix_of(group.path)
    complete = known.get("complete") is True
    shape: tuple[int, ...] = ()
    dtype, total, raw = "", 0, 0
    try:
        array = open_array(workspace.location, f"{group.path}/{name}")
    except WorkspaceError:
        pass
    else:
        shape, dtype, total = array.shape, str(array.dtype), math.prod(array.units())
        raw = math.prod(shape) * array.dtype.itemsize
    present = min(group.present(name), total)
    work, why = (None, "") if complete and present == total else _work(workspace, group)
    return MatrixInfo(
        group.path,
        shape,
        dtype,
        _distance(account),
        present,
        total,
        complete,
        group.bytes_of(name),
        raw,
        samples is not None and account.get("samples") == samples.text,
        work,
        why,
    )


def _distance(account: dict[str, Any]) -> str:
    name, p = str(account.get("distance", "unknown")), account.get("p")
    return name if p is None else f"{name}, p={p:g}"


def _work(workspace: Workspace, group: Listed) -> tuple[Work | None, str]:
    """What it would take to finish a matrix, or why that cannot be told."""
    kind, _, name = group.path.partition("/")
    if not is_matrix(group.path) or matrix_of(group.path) not in group.arrays:
        return None, "it was only begun"
    try:
        plan, tasks = writer_of(workspace.location, cast(Kind, kind), name).remaining()
    except SomscaleError as error:
        return None, str(error)
    operations = plan.job.operations * tasks / max(1, plan.tasks)
    return Work(tasks, plan.tasks, operations, plan.memory.peak), ""
