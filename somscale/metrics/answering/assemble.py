"""Put the answers for all candidates into one Dataset."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from somscale._version import __version__
from somscale.codebook import TrainedMap
from somscale.codebook.project import flag_attributes
from somscale.engine.arrays import array_of, stack_arrays
from somscale.engine.readers.columns import Column
from somscale.errors import InputError
from somscale.metrics.answering.estimates import ERRORS
from somscale.metrics.answering.labelled import errors_of_estimate, labelled, plain
from somscale.metrics.asking.candidate_names import name_coordinate
from somscale.metrics.asking.diagram_bins import DIAGRAM_ENDS
from somscale.metrics.asking.question import Answer, Problem, Request
from somscale.metrics.asking.reserved import RESERVED_NAMES
from somscale.metrics.asking.unit_columns import grid_of, grid_text

__all__ = ["assemble", "refuse_clashes"]

Answers = Mapping[str, Mapping[str, Answer]]


def assemble(
    problem: Problem, requests: Sequence[Request], answers: Answers, *, named: bool
) -> xr.Dataset:
    """One Dataset of all answers; `named` candidates stand along the dim ``candidate``."""
    scalars = [r for r in requests if r.spec.scalar]
    parts = []
    for candidate in problem.candidates:
        found = answers[candidate]
        part = xr.Dataset(
            {
                name: array
                for r in requests
                if not r.spec.scalar
                for name, array in _with_errors(problem, candidate, r, found[r.label])
            }
        )
        if scalars:
            part = part.merge(_scalar_table(problem, scalars, found), compat="no_conflicts")
        parts.append(part)
    result = _along_candidates(problem, parts) if named else parts[0]
    result.attrs = _attributes(problem, requests)
    return result


def _with_errors(
    problem: Problem, candidate: str, request: Request, answer: Answer
) -> Iterator[tuple[str, xr.DataArray]]:
    """An array and, where it is an estimate, what it comes with."""
    array = labelled(problem, candidate, request, answer)
    yield request.label, array
    for name, error in errors_of_estimate(array, answer).items():
        yield f"{request.label}_{name}", error


def refuse_clashes(problem: Problem, requests: Sequence[Request]) -> None:
    """Refuse samples whose dim or coordinates have names that the result needs itself.

    Diagrams of different bins are refused as well: they stand on the same dims.
    """
    diagrams = [r for r in requests if "shepard" in r.spec.needs]
    if len({repr(sorted(r.parameters.items())) for r in diagrams}) > 1:
        raise InputError(
            f"{' and '.join(r.label for r in diagrams)} have bins of their own on the same dims; "
            "ask for each in a call of its own"
        )
    if problem.samples is None:
        return
    used = {dim for request in requests for dim in request.spec.dims}
    taken = RESERVED_NAMES | (used - {"sample", "feature"}) | {r.label for r in requests}
    for dim, axes in (("sample", problem.samples.rows), ("feature", problem.samples.features)):
        if dim in used:
            axes.refuse_names(taken, "samples")


def _scalar_table(
    problem: Problem, requests: Sequence[Request], found: Mapping[str, Answer]
) -> xr.Dataset:
    """``value`` and ``note`` along the dim ``metric``."""
    specs = [r.spec for r in requests]
    data_units = None if problem.samples is None else problem.samples.units
    labels = np.array([r.label for r in requests], dtype=object)
    value = _stack([found[r.label].value for r in requests])
    note = _stack([found[r.label].note for r in requests])
    facts = {
        "direction": [s.direction for s in specs],
        "lower": [s.lower for s in specs],
        "upper": [s.upper for s in specs],
        "long_name": [s.long_name for s in specs],
        "metric_units": [s.units_of(data_units) for s in specs],
        "source": [s.source for s in specs],
    }
    texts = {
        "direction": "which values are better",
        "lower": "lower end of the range",
        "upper": "upper end of the range",
        "long_name": "name in words",
        "metric_units": "units of the value",
        "source": "where the index was published",
    }
    coords: dict[str, Any] = {
        "metric": ("metric", labels, {"long_name": "index", "units": "1"}),
    }
    for name, values in facts.items():
        kind = float if name in ("lower", "upper") else object
        coords[name] = (
            "metric",
            np.array(values, dtype=kind),
            {"long_name": texts[name], "units": "1"},
        )
    described = {"long_name": "value of each index", "units": "see metric_units"}
    remarks = {"long_name": "why a value is undefined, or doubtful", "units": "1"}
    columns: dict[str, Any] = {
        "value": ("metric", value, described),
        "note": ("metric", note, remarks),
    }
    if problem.sampling is not None:
        answers = [found[r.label] for r in requests]
        for name, text in ERRORS.items():
            facts = {
                "long_name": f"{text}; nan where the value is exact",
                "units": "see metric_units",
            }
            errors = [_error(answer, name) for answer in answers]
            columns[name] = ("metric", _stack(errors), facts)
    return xr.Dataset(columns, coords=coords)


def _error(answer: Answer, name: str) -> Any:
    """The error of an estimate, nan of what is exact, of the same kind as the value."""
    if name in answer.errors:
        return answer.errors[name]
    exact = np.array(np.nan)
    return exact if isinstance(answer.value, np.ndarray) else array_of(exact)


def _stack(values: Sequence[Any]) -> Any:
    if all(isinstance(v, np.ndarray | str) for v in values):
        kind = object if isinstance(values[0], str) else float
        return np.array([v.item() if isinstance(v, np.ndarray) else v for v in values], kind)
    return stack_arrays(values)


def _along_candidates(problem: Problem, parts: Sequence[xr.Dataset]) -> xr.Dataset:
    names = list(problem.candidates)
    index = name_coordinate(names, numbered=problem.numbered)
    # a map of fewer units than another is padded with nan; n_units says where it ends
    # bins of a diagram reach as far as the distances of each candidate
    own = [name for name in DIAGRAM_ENDS if name in parts[0].coords]
    joined = xr.concat(
        parts, dim=index, join="outer", data_vars="all", coords=own or "minimal",
        compat="override", combine_attrs="override",
    )  # fmt: skip
    for name in parts[0].data_vars:
        joined[name].attrs.update(_joined_note(names, [part[name].attrs for part in parts]))
    sizes = [len(c.codes) for c in problem.candidates.values() if isinstance(c, TrainedMap)]
    if sizes:
        facts = {"long_name": "units of the map", "units": "1"}
        joined["n_units"] = ("candidate", np.array(sizes), facts)
        for name in ("bmu", "second_bmu"):
            if name in joined:
                joined[name].attrs.update(flag_attributes(max(sizes)))
        if len({_shape(c) for c in problem.candidates.values()}) > 1:
            joined = joined.drop_vars(["row", "col"], errors="ignore")
        if len({grid_of(c) for c in problem.candidates.values()}) > 1:
            for array in joined.data_vars.values():
                array.attrs.pop("grid", None)  # which is that of the first map
    return joined


def _joined_note(names: Sequence[str], attributes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What is said of a variable: once if of all candidates, else each time with whose it is."""
    notes = [own.get("note", "") for own in attributes]
    if not any(notes):
        return {}
    if len(set(notes)) == 1:
        return {"note": notes[0]}
    whose: dict[str, list[str]] = {}
    for name, note in zip(names, notes, strict=True):
        whose.setdefault(note, []).append(name)
    said = [f"{', '.join(own)}: {note}" for note, own in whose.items() if note]
    return {"note": "; ".join(said)}


def _shape(candidate: Any) -> Any:
    return candidate.grid.shape if isinstance(candidate, TrainedMap) else None


def _attributes(problem: Problem, requests: Sequence[Request]) -> dict[str, Any]:
    """Provenance, as texts and numbers that every format can hold."""
    given = {r.label: {n: _plain(v) for n, v in r.parameters.items()} for r in requests}
    prints = {
        name: c.fingerprint for name, c in problem.candidates.items() if isinstance(c, TrainedMap)
    }
    attributes: dict[str, Any] = {
        "title": "quality indices",
        "somscale_kind": "result",
        "somscale_version": __version__,
        "n_samples": problem.n_samples,
        "parameters": json.dumps({name: p for name, p in given.items() if p}, sort_keys=True),
    }
    if prints:
        attributes["map_fingerprints"] = json.dumps(prints, sort_keys=True)
    grids = {name: grid_of(c) for name, c in problem.candidates.items()}
    texts = {name: json.loads(grid_text(grid)) for name, grid in grids.items() if grid is not None}
    if texts:
        attributes["grids"] = json.dumps(texts, sort_keys=True)
    attributes.update(_reading(problem))
    if problem.sampling is not None:
        attributes["sample_anchors"], attributes["seed"] = problem.sampling
    if problem.labels is not None:
        attributes["labels_excluded"] = problem.labels.n_excluded
    columns = {n: c.n_excluded for n, c in problem.candidates.items() if isinstance(c, Column)}
    if columns:
        attributes["clusters_excluded"] = json.dumps(columns, sort_keys=True)
    return attributes


def _reading(problem: Problem) -> dict[str, Any]:
    """How the samples were read, where it is not as a matter of course."""
    samples = problem.samples
    if samples is None:
        return {}
    facts: dict[str, Any] = {}
    if samples.missing != "raise":
        facts["missing"] = samples.missing
    if samples.left_out:
        facts["variables_left_out"] = json.dumps(samples.left_out)
    if samples.masked:
        facts["features_masked"] = samples.features.size - samples.shape[1]
        if samples.excluded is not None:
            facts["samples_masked"] = int(samples.excluded.values.sum())
    if samples.feature_weights is not None:
        facts["feature_weights_sum"] = float(samples.feature_weights.sum())
    if samples.sample_weights is not None:
        facts["sample_weights_sum"] = float(samples.sample_weights.values.sum())
    return facts


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple | xr.DataArray):
        value = np.asarray(value)
    if not isinstance(value, np.ndarray):
        return plain(value)
    if value.dtype.kind == "i" and len(value) > 2 and (np.diff(value) == 1).all():
        return f"{value[0]} to {value[-1]}"  # of every index of ranks
    return value.tolist()
