"""The public names, in the groups in which the documentation shows them."""

from __future__ import annotations

from types import ModuleType
from typing import Any, ClassVar

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import somscale
import somscale.plot
import somscale.testing
from somscale.metrics.spec import all_specs
from somscale_docs.building import paragraph, reference, table

__all__ = ["NameTable", "grouped", "public_names", "summary"]

_SHOWN = {
    "judging": ["evaluate", "plan", "compare", "CoRanking", "report", "neighborhood_stability"],
    "maps": [
        *["Grid", "train", "codebook", "read_codebook", "write_codebook"],
        *["from_minisom", "from_somoclu", "project", "cluster_units"],
        *["match_units", "match_clusters"],
    ],
    "running": ["set_options", "Workspace", "show_versions"],
}


def public_names() -> dict[str, Any]:
    """Every public object by its full name: of the package, its indices, pictures and checks."""
    found = {}
    for name in somscale.__all__:
        value = getattr(somscale, name)
        if not isinstance(value, ModuleType) and not name.startswith("__"):
            found[f"somscale.{name}"] = value
    for module in (somscale.metrics, somscale.plot, somscale.testing):
        found |= {f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__}
    return found


def grouped() -> dict[str, list[str]]:
    """Full names by group; what is in no group of ours is among the others."""
    names = public_names()
    groups = {
        group: [full for name in own if (full := f"somscale.{name}") in names]
        for group, own in _SHOWN.items()
    }
    groups["errors"] = [name for name, value in names.items() if is_error(value)]
    specs = {f"somscale.metrics.{spec.name}" for spec in all_specs()}
    groups["metrics"] = [name for name in names if name in specs]
    groups["more metrics"] = [
        name for name in names if name.startswith("somscale.metrics.") and name not in specs
    ]
    for group in ("plot", "testing"):
        groups[group] = [name for name in names if name.startswith(f"somscale.{group}.")]
    known = {name for own in groups.values() for name in own}
    groups["others"] = [name for name in names if name not in known]
    return groups


def is_error(value: Any) -> bool:
    """Whether an object is a class of errors."""
    return isinstance(value, type) and issubclass(value, Exception)


def summary(value: Any) -> str:
    """The first sentence of a docstring."""
    paragraph = (value.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(paragraph.split())


class NameTable(SphinxDirective):
    """A table of the public names of a group, each with what it does, linked to its page."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Build the table."""
        self.env.note_reread()  # a new name is no change of the page
        names = public_names()
        rows = []
        for full in grouped()[self.arguments[0]]:
            role = "exc" if is_error(names[full]) else "obj"
            rows.append([reference(full, role), paragraph(self, summary(names[full]))])
        return [table(["", ""], rows, widths=[30, 70], classes=["names"])] if rows else []
