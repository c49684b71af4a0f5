"""Where a result comes from: parameters, versions, fingerprints, and what was left out."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from somscale._version import __version__
from somscale.engine.linear.cutting import format_bytes
from somscale.engine.planview import Plan
from somscale.reporting.blocks import Block, Cell, Facts, Markup, Section, Table, Text
from somscale.reporting.result import Result

__all__ = ["plan_section", "provenance"]

_PARTS: Final = ("parameters", "indices_left_out", "stored_matrices", "map_fingerprints")
_QUIET: Final = {
    *_PARTS,
    *("title", "somscale_kind", "somscale_version", "n_samples", "grids"),
    *("labels_excluded", "clusters_excluded"),
}
_WORDS: Final = {"n_boot": "resamples of the bootstrap", "sample_dims": "dimensions of the samples"}
_LIBRARIES: Final = ("numpy", "xarray", "bokeh", "matplotlib")


def provenance(result: Result, shown: set[str]) -> Section:
    """Attributes of the result, in tables, and which variables are not `shown` on the page."""
    blocks: list[Block] = [Facts(list(_facts(result)))]
    parameters = result.attribute("parameters")
    if parameters:
        rows = [[Cell(str(label)), Cell(_settings(own))] for label, own in parameters.items()]
        blocks.append(
            Table("Parameters of the indices", ["Index", "Parameters"], rows, folded=True)
        )
    left_out = result.attribute("indices_left_out")
    if left_out:
        rows = [
            [Cell(", ".join(map(str, names))), Cell(str(why))] for why, names in left_out.items()
        ]
        blocks.append(Table("Indices that were left out", ["Indices", "Why"], rows, folded=True))
    matrices = result.attribute("stored_matrices")
    told = [f"Read from the workspace: {name}." for name in matrices.get("read", [])]
    told += [f"Not read: {n} ({why})." for n, why in matrices.get("passed_over", {}).items()]
    if told:
        blocks.append(Text(told, listed=True))
    hidden = [name for name in result.arrays if name not in shown]
    if hidden:
        blocks.append(Text([f"In the result, and not shown here: {', '.join(hidden)}."]))
    return Section("provenance", "Provenance", blocks)


def _facts(result: Result) -> Iterator[tuple[str, str]]:
    yield "Computed by", f"somscale {result.q.attrs.get('somscale_version', 'of unknown version')}"
    libraries = ", ".join(f"{name} {_version(name)}" for name in _LIBRARIES)
    yield "Reported by", f"somscale {__version__}, Python {platform.python_version()}, {libraries}"
    if result.n_samples is not None:
        yield "Samples", f"{result.n_samples:,}"
    sizes = ", ".join(f"{dim} {size:,}" for dim, size in result.q.sizes.items())
    if sizes:
        yield "Dimensions of the result", sizes
    prints = result.attribute("map_fingerprints")
    if prints:
        only = list(prints) == ["projection"]
        told = (str(p) if only else f"{name}: {p}" for name, p in prints.items())
        yield "Fingerprints of maps", ", ".join(told)
    for name, value in result.q.attrs.items():
        if name not in _QUIET and str(value) != "0":
            words = _WORDS.get(str(name), str(name).replace("_", " "))
            yield f"{words[:1].upper()}{words[1:]}", str(value)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _settings(own: Any) -> str:
    if not isinstance(own, Mapping):
        return str(own)
    told = {name: value for name, value in own.items() if value is not None}
    return ", ".join(f"{name} = {_short(value)}" for name, value in told.items())


def _short(value: Any) -> str:
    if isinstance(value, list) and len(value) == 1:
        return str(value[0])
    return str(value)


def plan_section(plan: Plan) -> Section:
    """What the run took, as it was planned."""
    passes = f"{len(plan.passes)} pass{'es' if len(plan.passes) != 1 else ''}"
    facts = [
        ("Passes over the samples or their pairs", f"{len(plan.passes):,}"),
        ("Tasks", f"{plan.tasks:,}"),
        ("Read", format_bytes(plan.bytes_read)),
    ]
    if plan.passes:
        facts.append(("Projected peak of a process", format_bytes(plan.peak_memory, up=True)))
    blocks: list[Block] = [
        Facts(facts),
        Markup(f"What was planned, in {passes}", plan._repr_html_()),
    ]
    return Section("plan", "Plan and cost", blocks)
