"""Workspaces as the command line names them: opened, filled, checked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from somscale.cli.wording import in_options
from somscale.codebook import read_codebook
from somscale.engine.readers.paths import expand
from somscale.engine.readers.samples import Samples, open_samples
from somscale.engine.readers.urls import Url
from somscale.errors import InputError, SomscaleError
from somscale.workspace import Workspace
from somscale.workspace.findings import Verification
from somscale.workspace.places import is_workspace
from somscale.workspace.recorded import recorded
from somscale.workspace.results import names, read_map

__all__ = ["fill", "in_words", "kept_text", "refuse_result", "verified", "workspace_for"]


def workspace_for(data: Sequence[Path], options: Mapping[str, Any]) -> Workspace:
    """The workspace that is filled: DATA itself, or the one at ``--output``."""
    if options["dtype"] and not options["distances"]:
        raise InputError("--dtype is the type of --distances; add it, or leave --dtype out")
    for name in ("distance", "p", "name"):
        if options[name] is not None and not (options["distances"] or options["ranks"]):
            flag = "-p" if name == "p" else f"--{name}"
            raise InputError(f"{flag} is of a matrix; add --distances or --ranks")
    output = options["output"]
    files = expand([str(path) for path in data])
    own = files[0] if len(files) == 1 and is_workspace(files[0]) else None
    if own is None and output is None:
        raise InputError("name the workspace with --output")
    if own is not None and output is not None and _resolved(output) != own.resolve():
        raise InputError(f"{str(own)!r} is a workspace itself, and is filled; leave --output out")
    if own is None:
        target = _resolved(output)
        for source in (path.resolve() for path in files):
            if target == source or target in source.parents or source in target.parents:
                raise InputError(f"{output!r} is read by this command; name another --output")
    return Workspace(str(own) if own is not None else output)


def _resolved(place: str) -> Path | Url:
    return (Url.of(place) or Path(place)).resolve()


def fill(workspace: Workspace, data: Sequence[Path], options: Mapping[str, Any]) -> None:
    """Write samples, maps and matrices into a workspace."""
    from somscale.cli.inputs import reading_of

    files = expand([str(path) for path in data])
    reading = reading_of(files, options)
    dims: dict[str, Any] = {
        name: reading.pop(name) for name in ("sample_dims", "variable") if name in reading
    }
    samples = files[0] if len(files) == 1 else files
    with workspace.writing():
        given: dict[str, Any] = {}
        if not (len(files) == 1 and is_workspace(files[0])):
            workspace.write_samples(samples, copy=not options["no_copy"], **dims)
            known = recorded(workspace.location)
            if known is None or not known.copied:
                given = {"samples": samples, **dims}
        for path in options["maps"]:
            _keep_map(workspace, path, overwrite=options["overwrite"])
        settings: dict[str, Any] = {
            name: options[name] for name in ("p", "name") if options[name] is not None
        }
        settings.update(reading, **given, overwrite=options["overwrite"])
        distance = options["distance"] or "euclidean"
        if options["distances"]:
            dtype = options["dtype"] or "float64"
            workspace.write_distances(distance, dtype=dtype, **settings)
        if options["ranks"]:
            workspace.write_ranks(distance, **settings)


def _keep_map(workspace: Workspace, path: Path, *, overwrite: bool) -> None:
    som = read_codebook(path)
    name = path.stem
    known = (
        read_map(workspace.location, name) if name in names(workspace.location, "maps") else None
    )
    if known is not None and known.equals(som):
        return
    if known is not None and not overwrite:
        raise InputError(
            f"there is another map {name!r} in {workspace.name}; add --overwrite, or rename this"
        )
    workspace.write_map(name, som)


def verified(work: str, options: Mapping[str, Any], *, repair: bool) -> Verification:
    """A workspace, checked and perhaps mended."""
    if options["samples"] and not repair:
        raise InputError("--samples is for a repair; add --repair, or leave it out")
    workspace = Workspace(work, mode="r")
    if repair:
        workspace = Workspace(work)
    return workspace.verify(repair=repair, samples=_samples(workspace, options))


def refuse_result(place: str) -> None:
    """Refuse a kept result where a workspace is asked for, and say what shows it."""
    path = Path(place)
    if not (path / "zarr.json").is_file() or is_workspace(path):
        return
    import zarr

    try:
        kind = zarr.open_group(path, mode="r").attrs.get("somscale_kind")
    except (OSError, ValueError, TypeError):
        return
    if kind == "result":
        raise InputError(
            f"{place!r} is a result and no workspace; `somscale report {place}` makes a page of it"
        )


def _samples(workspace: Workspace, options: Mapping[str, Any]) -> Samples | None:
    """The samples that are given, on the dims that the workspace has them on."""
    if not options["samples"]:
        return None
    files = expand([str(path) for path in options["samples"]])
    known = recorded(workspace.location)
    bare = files[0].suffix == ".npy" or known is None
    return open_samples(
        files[0] if len(files) == 1 else files,
        sample_dims=None if bare or known is None else list(known.sample_dims),
        variable=list(options["variable"]) or None,
    )


def in_words(found: Verification) -> str:
    """What a check found, in the words of the command's options."""
    return "\n".join(in_options(line) for line in str(found).splitlines())


def kept_text(place: Workspace | str | os.PathLike[str]) -> str:
    """What a command that was stopped has left in a workspace."""
    workspace = place if isinstance(place, Workspace) else None
    name = str(place) if workspace is None else workspace.name
    try:
        workspace = Workspace(place, mode="r") if workspace is None else workspace
        found = workspace.info()
    except (SomscaleError, OSError):
        return f"what was finished is kept in {name}"
    parts = [
        f"{matrix.present:,} of {matrix.chunks:,} chunks of {matrix.path}"
        for matrix in found.matrices
        if not matrix.complete
    ]
    tasks = sum(run.tasks for run in found.unfinished)
    if tasks:
        parts.append(f"{tasks:,} finished task{'s' if tasks != 1 else ''}")
    if not parts:
        return f"what was finished is kept in {name}"
    return f"{' and '.join(parts)} are kept in {name}"
