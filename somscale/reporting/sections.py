"""The sections of a page, by what was evaluated."""

from __future__ import annotations

from typing import Any

from somscale.engine.planview import Plan
from somscale.reporting.blocks import Block, Explorer, Section, Text
from somscale.reporting.cells import grids_of
from somscale.reporting.given import given_labels, given_projections, given_qualities
from somscale.reporting.indices import PLACES, in_table, index_table
from somscale.reporting.loading import load
from somscale.reporting.map_explorer import map_explorer, unit_fields
from somscale.reporting.pictures import Pictures
from somscale.reporting.provenance import plan_section, provenance
from somscale.reporting.rank_explorer import rank_explorer
from somscale.reporting.result import Result
from somscale.reporting.shades import Shades
from somscale.reporting.summary import summary
from somscale.reporting.tables import cluster_table, comparison_table

__all__ = ["sections"]


def sections(
    result: Result, projection: Any, labels: Any, plan: Plan | None, pointwise: Any
) -> list[Section]:
    """All sections that have something to show, in their order."""
    projection = given_projections(result, projection)
    labels = given_labels(result, labels)
    shades = load(result, given_qualities(result, pointwise), points=bool(projection))
    pictures = Pictures(result, projection)
    found = [
        summary(result),
        _maps(result, projection, pictures),
        _ranks(result, projection, labels, shades),
        Section("curves", "Curves", pictures.curves()),
        Section("distances", "Distances", pictures.distances()),
        Section("clusters", "Clusters", [*pictures.silhouettes(), *cluster_table(result)]),
        _comparison(result, pictures),
        Section("indices", "Indices", _indices(result)),
        *([plan_section(plan)] if plan is not None else []),
    ]
    found.append(provenance(result, _shown(result, found) | pictures.drawn))
    return [section for section in found if section.blocks]


def _shown(result: Result, found: list[Section]) -> set[str]:
    """Variables in the tables and the explorers."""
    explorers = {b.name: b for part in found for b in part.blocks if isinstance(b, Explorer)}
    shown = {name for name in result.arrays if in_table(result, name)}
    if "map" in explorers:
        shown |= {name for name, _ in unit_fields(result)} | set(result.along("unit", "class"))
    if "ranks" in explorers and explorers["ranks"].data["points"] is not None:
        shown |= {name for name in result.arrays if result.sample_dims(name)}
    return shown if result.candidates else shown | set(result.along("cluster"))


def _indices(result: Result) -> list[Block]:
    words = "Each index with its value, which direction is better, and what it says."
    if any(result.q.sizes.get(dim, 0) > 1 for dim in PLACES):
        words += " Indices along ranks stand here at one place; their curves are above."
    words += " Click on a heading to sort."
    table = index_table(result)
    if any(cell.detail for row in table.rows for cell in row[1:]):
        words += " Behind ± is the standard error, in brackets the 95 % interval."
    return [Text([words]), table]


def _comparison(result: Result, pictures: Pictures) -> Section:
    table = comparison_table(result)
    blocks: list[Block] = [*pictures.front(), *([table] if table is not None else [])]
    return Section("comparison", "Comparison", blocks)


def _maps(result: Result, projection: Any, pictures: Pictures) -> Section:
    section = Section("maps", "The map, unit by unit")
    if result.kind != "map":
        return section
    if len(result.candidates) > 1:
        section.title = "The maps, unit by unit"
    grids = grids_of(result, projection)
    features = pictures.features(grids)
    if not any(True for _ in unit_fields(result)):
        section.blocks += features
        return section
    if not any(grid is not None for grid in grids):
        section.blocks.append(
            Text(["Where the units lie is not known here: give the map as projection (--map)."])
        )
        section.blocks += features
        return section
    explorer = map_explorer(result, grids)
    section.blocks += [explorer] if explorer is not None else []
    section.blocks += [*pictures.maps(grids), *features]
    return section


def _ranks(result: Result, projection: Any, labels: Any, shades: list[Shades]) -> Section:
    section = Section("ranks", "Ranks: what is near stays near")
    explorer = rank_explorer(result, projection, labels, shades)
    if explorer is None:
        return section
    section.blocks.append(explorer)
    if result.kind == "embedding" and explorer.data["points"] is None:
        section.blocks.append(
            Text(["For the points, give the embedding as projection (--embedding)."])
        )
    return section
