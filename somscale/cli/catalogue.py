"""The table of all indices, made from what each index says of itself."""

from __future__ import annotations

import json

import click

from somscale import metrics
from somscale.cli.tables import table_text
from somscale.metrics.spec import MetricSpec, all_specs

__all__ = ["show"]

_ARGUMENTS = {
    "map": "samples, som",
    "projection": "samples, som | embedding",
    "clusters": "samples, clusters",
    "partition": "labels, clusters",
    "units": "labels, units, grid",
}


def show(*, as_json: bool) -> None:
    """Print every index with definition, range, direction, cost and source."""
    specs = all_specs()
    if as_json:
        click.echo(json.dumps([_facts(spec) for spec in specs], indent=2))
        return
    heads = ["index", "family", "range", "direction", "cost", "definition", "source"]
    names = ["name", *heads[1:]]
    rows = [[str(facts[name]) for name in names] for facts in map(_facts, specs)]
    click.echo(table_text(heads, rows))
    click.echo(f"\n{len(specs)} indices; each is a function somscale.metrics.NAME.")


def _facts(spec: MetricSpec) -> dict[str, object]:
    function = getattr(metrics, spec.name)
    return {
        "name": spec.name,
        "family": spec.family,
        "long_name": spec.long_name,
        "definition": spec.definition,
        "range": spec.range,
        "direction": spec.direction,
        "units": spec.units,
        "dims": list(spec.dims),
        "parameters": {name: str(value) for name, value in spec.defaults.items()},
        "cost": spec.cost,
        "source": spec.source,
        "arguments": _ARGUMENTS[spec.subject],
        "summary": (function.__doc__ or "").split("\n", 1)[0],
    }
