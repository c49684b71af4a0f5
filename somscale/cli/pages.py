"""Pages on results: of a stored one, or along with an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import xarray as xr

from somscale.cli.inputs import Question, candidate_name
from somscale.cli.results import check_place
from somscale.codebook import read_codebook
from somscale.engine.readers.urls import Url
from somscale.errors import InputError
from somscale.evaluate import evaluate
from somscale.metrics.asking.problem import READING
from somscale.store import open_dataset
from somscale.workspace import Workspace

__all__ = ["check_page", "write_page", "write_report"]

_MOST_SAMPLES: Final = 20_000
"""Beyond that many samples the second walk over all pairs, for a page's colours, is left out."""

_MOST_NAMES: Final = 5

_SHARED: Final = {*READING, "distance", "p", "ties", "norm"} - {"sample_weights"}


def write_report(
    result: Path, output: Path, *, overwrite: bool, options: Mapping[str, Any]
) -> None:
    """Write the page on a stored result."""
    kinds = [name for name in _READERS if options[name]]
    if len(kinds) > 1:
        raise InputError("give one of --map, --embedding and --clusters: what was judged")
    files = [Path(candidate_name(str(path))[1]) for kind in kinds for path in options[kind]]
    others = [options["labels"]] if options["labels"] else []
    check_page(output, [result, *files, *others], overwrite=overwrite, option="--output")
    with open_dataset(result) as q:
        projection = _projection(kinds[0], options[kinds[0]], q) if kinds else None
        labels = None if options["labels"] is None else _column(options["labels"])
        told = _sources({"result_file": [result], "what_was_judged": files})
        q = q.assign_attrs({**told, **q.attrs})
        _write(q, output, projection=projection, labels=labels, title=options["title"])


def check_page(path: Path, inputs: Sequence[Path | Url], *, overwrite: bool, option: str) -> None:
    """Refuse a page that cannot be written, before anything is computed."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"a report is written as .html, not {path.name!r}")
    if path.is_symlink() or path.is_dir():
        kind = "link" if path.is_symlink() else "folder"
        raise InputError(f"{str(path)!r} is a {kind}; name another {option}")
    check_place(path, inputs, overwrite=overwrite, option=option)
    from somscale.reporting import check_libraries

    try:
        check_libraries()
    except ImportError as error:
        raise InputError(str(error)) from None


def write_page(path: Path, question: Question, result: xr.Dataset, *, planned: bool = True) -> None:
    """Write the page on an evaluation: with its plan, and the colours of an embedding's points."""
    told = _sources(
        {
            "data": _files(question.samples),
            **{name: question.settings.get(name, ()) for name in ("variable", "sample_dims")},
        }
    )
    _write(
        result.assign_attrs({**told, **result.attrs}),
        path,
        projection=question.projection,
        labels=question.settings.get("labels"),
        plan=question.plan() if planned else None,
        pointwise=_pointwise(question, result),
    )


def _files(samples: Any) -> Sequence[Any]:
    """Files or stores of the samples."""
    if isinstance(samples, Workspace):
        return [samples.name]
    return samples if isinstance(samples, list | tuple) else [samples]


def _sources(found: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Names of what a command line names, for the page's provenance; of paths the last part."""
    told = {}
    for what, several in found.items():
        names = [one.name if isinstance(one, Path | Url) else str(one) for one in several]
        more = [f"and {len(names) - _MOST_NAMES:,} more"] if len(names) > _MOST_NAMES else []
        if names:
            told[what] = ", ".join([*names[:_MOST_NAMES], *more])
    return told


def _write(result: xr.Dataset, path: Path, **what: Any) -> None:
    from somscale.reporting import report as make

    page = make(result, path, **what)
    click.echo(f"Wrote {path} ({len(page.html.encode()) / 2**20:.1f} MiB)", err=True)


def _pointwise(question: Question, result: xr.Dataset) -> xr.DataArray | None:
    """Quality of the ranks of each sample at 8 × 8 of the κ that the result has.

    This takes a walk over all pairs of its own, for in one result κs and κt have but one
    meaning; so it is asked for only where ranks were, and of not too many samples.
    """
    from somscale.reporting import spread

    surface = result.get("rank_quality")
    if surface is None or not {"kappa_s", "kappa_t"} <= set(surface.dims) or "unit" in result.dims:
        return None
    if "n_units" in result or result.attrs["n_samples"] > _MOST_SAMPLES:
        return None
    if "sample_anchors" in result.attrs:
        return None
    given: dict[str, Any] = {n: v for n, v in question.settings.items() if n in _SHARED}
    given |= {n: spread(surface[n].values.tolist()) for n in ("kappa_s", "kappa_t")}
    samples, kept = _reading_only(question)
    name = "pointwise_rank_quality"
    found = evaluate(samples, question.projection, metrics=name, **given, **kept)
    return found[name].compute()


def _reading_only(question: Question) -> tuple[Any, dict[str, Any]]:
    """The samples, and the workspace that serves its ranks, in which colours are not kept."""
    place = question.workspace
    if place is None:
        return question.samples, {}
    workspace = Workspace(place.name if isinstance(place, Workspace) else place, mode="r")
    if isinstance(question.samples, Workspace):
        return workspace, {}
    return question.samples, {"store": workspace}


def _projection(kind: str, paths: Sequence[Path], q: xr.Dataset) -> Any:
    """What was judged, by name where the result has names."""
    pairs = [candidate_name(str(path)) for path in paths]
    found = {name: _READERS[kind](Path(place)) for name, place in pairs}
    if "candidate" not in q.dims:
        if len(found) > 1:
            raise InputError("the result is of one candidate; name the one that was judged")
        return next(iter(found.values()))
    known = [str(name) for name in q["candidate"].values.tolist()]
    strangers = [name for name in found if name not in known]
    if strangers:
        raise InputError(
            f"the result has no candidate {strangers[0]!r}, only {', '.join(known)}; name a file "
            "after its candidate, or write NAME=FILE"
        )
    return found


def _column(path: Path) -> Any:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, EOFError, ValueError):
        raise InputError(f"{str(path)!r} is no .npy file of values of the samples") from None


_READERS: Final[Mapping[str, Callable[[Path], Any]]] = {
    "maps": read_codebook,
    "embeddings": _column,
    "clusters": _column,
}
