"""The table of indices and the facts of each, from what an index says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from somscale.metrics.spec import MetricSpec, all_specs, find_spec
from somscale_docs.building import reference, table, words

__all__ = ["HEADS", "IndexFacts", "IndexTable", "families", "of_family"]

HEADS = ["Index", "Formula", "Range", "Best", "Units", "Cost"]
_BEST = {"higher": "high", "lower": "low", "zero": "0", "none": "–"}
_COSTS = {"linear": "linear", "pairs": "pairs", "ranks": "ranks"}
_SUBJECTS = {
    "map": "samples, map",
    "projection": "samples, map or embedding",
    "clusters": "samples, clusters",
    "partition": "labels, clusters",
    "units": "labels, units, grid",
}
_VARIED = ("definition", "range", "direction", "units")
_TOLD = {"definition": "formula", "direction": "best"}
_DOI = re.compile(r"\b(doi:(10\.\S+?)|arXiv:(\d{4}\.\d{4,5}))(?=[,;.]?(?:\s|$))")


def families() -> list[str]:
    """The families, in the order of the catalogue."""
    return list(dict.fromkeys(spec.family for spec in all_specs()))


def of_family(family: str) -> list[MetricSpec]:
    """The indices of a family, single numbers first, values of units and samples last."""
    own = [spec for spec in all_specs() if spec.family == family]
    return sorted(own, key=lambda spec: (bool({"unit", "sample"} & {*spec.dims}), len(spec.dims)))


class IndexTable(SphinxDirective):
    """All indices of a family."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Build the table."""
        self.env.note_reread()  # a change of an index is no change of the page
        rows = [list(_cells(spec)) for spec in of_family(self.arguments[0])]
        if not rows:
            raise self.error(f"no index is of the family {self.arguments[0]!r}")
        return [table(HEADS, rows, widths=[22, 42, 10, 8, 10, 8], classes=["indices"])]


class IndexFacts(SphinxDirective):
    """What is known of one index, as a small table of two columns."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Build the table."""
        spec = find_spec(self.arguments[0])
        rows = [[words(head), words(text)] for head, text in _facts(spec)]
        rows.append([words("Source"), _source(spec.source)])
        return [table(["", ""], rows, widths=[22, 78], classes=["facts"])]


def _cells(spec: MetricSpec) -> Iterator[nodes.Node | list[nodes.Node]]:
    name = reference(f"somscale.metrics.{spec.name}")
    yield [name, _small(f"({', '.join(spec.dims)})")] if spec.dims else name
    yield [nodes.paragraph("", spec.definition), _source(spec.source)]
    yield nodes.paragraph("", spec.range)
    yield nodes.paragraph("", _BEST[spec.direction])
    yield nodes.paragraph("", spec.units)
    yield nodes.paragraph("", _COSTS[spec.cost])


def _facts(spec: MetricSpec) -> Iterator[tuple[str, str]]:
    yield "Formula", spec.definition
    yield "Of", _SUBJECTS[spec.subject]
    yield "Range", spec.range
    yield "Best", {"none": "neither high nor low"}.get(spec.direction, _BEST[spec.direction])
    yield "Units", spec.units
    yield "Dims", ", ".join(spec.dims) or "none: one number"
    yield "Cost", spec.cost + (", or estimated by `sample_anchors=`" if spec.estimable else "")
    yield "Family", f"`{spec.family}`"
    if spec.undefined:
        yield "Undefined", spec.undefined
    for key, changed in spec.variants.items():
        pairs = (key,) if isinstance(key[0], str) else key
        head = ", ".join(f"`{name}={value!r}`" for name, value in pairs)
        other = spec.with_parameters({**spec.defaults, **dict(pairs)})
        told = [
            f"{_TOLD.get(fact, fact)}: {getattr(other, fact)}"
            for fact in _VARIED
            if _differs(spec, other, fact)
        ]
        if told and changed:
            yield head, "; ".join(told)


def _differs(spec: MetricSpec, other: MetricSpec, fact: str) -> bool:
    return bool(getattr(spec, fact) != getattr(other, fact))


def _small(text: str) -> nodes.paragraph:
    return nodes.paragraph("", text, classes=["small"])


def _source(text: str) -> nodes.paragraph:
    """A source whose DOIs and numbers of arXiv are links."""
    found = nodes.paragraph(classes=["small"])
    end = 0
    for match in _DOI.finditer(text):
        found += nodes.Text(text[end : match.start()])
        place = f"https://doi.org/{match[2]}" if match[2] else f"https://arxiv.org/abs/{match[3]}"
        found += nodes.reference("", match[1], refuri=place)
        end = match.end()
    found += nodes.Text(text[end:])
    return found
