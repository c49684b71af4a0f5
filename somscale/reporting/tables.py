"""Tables of clusters, and of compared candidates."""

from __future__ import annotations

from typing import Final

import numpy as np

from somscale.reporting.blocks import Block, Cell, Table, Text
from somscale.reporting.result import Result

__all__ = ["cluster_table", "comparison_table"]

MOST_CLUSTERS: Final = 200


def cluster_table(result: Result) -> list[Block]:
    """A row for each cluster: all indices of clusters that there are."""
    names = list(result.along("cluster"))
    if not names or result.candidates:
        return []
    loaded = result.q[names].compute()
    clusters = loaded["cluster"].values if "cluster" in loaded.coords else None
    count = loaded.sizes["cluster"]
    sizes = next(iter(result.named("cluster_sizes")), None)
    order = np.arange(count)
    words: list[Block] = []
    if count > MOST_CLUSTERS:
        if sizes is not None:
            order = np.sort(np.argsort(-loaded[sizes].values, kind="stable")[:MOST_CLUSTERS])
        order = order[:MOST_CLUSTERS]
        which = "largest" if sizes is not None else "first"
        words.append(Text([f"The {MOST_CLUSTERS} {which} of {count:,} clusters are listed."]))
    heads = ["Cluster", *(_head(result, name) for name in names)]
    rows = []
    for place in order:
        name = str(clusters[place]) if clusters is not None else str(place)
        numeric = clusters is None or clusters.dtype.kind in "iuf"
        own = float(clusters[place]) if numeric and clusters is not None else None
        head = Cell(name, own if own is not None else name)
        rows.append([head, *(Cell.of(float(loaded[n].values[place])) for n in names)])
    return [*words, Table("Clusters", heads, rows, wide=True)]


def _head(result: Result, name: str) -> str:
    attributes = result.q[name].attrs
    words = str(attributes.get("long_name", name))
    for end in (" of each cluster", " within each cluster"):
        words = words.removesuffix(end)
    units = str(attributes.get("units", "1"))
    head = f"{words[:1].upper()}{words[1:]}"
    return head if units in ("", "1") else f"{head} [{units}]"


def comparison_table(result: Result) -> Table | None:
    """Candidates with mean rank, how often they are best, and whether on the front."""
    if not result.compared:
        return None
    table = result.q.drop_vars(set(map(str, result.q.data_vars)) - {*_COMPARED}).compute()
    heads = ["Candidate", "Mean rank", "Best by", "Not told apart from the best by"]
    front = "on_front" in table
    names = result.candidates
    best = table["best"].values.astype(str) if "best" in table else np.array([], dtype=str)
    rows = []
    for place, name in enumerate(names):
        own = table.isel(candidate=place)
        wins = int((best == name).sum())
        told = own[_TOLD].values == 1 if _TOLD in own else np.zeros(len(best), bool)
        same = int((told & (best != name)).sum())
        row = [Cell(name), Cell.of(float(own["mean_rank"])), Cell.of(wins)]
        row += [Cell.of(same)] if _TOLD in own else []
        row += [Cell("yes" if bool(own["on_front"]) else "no")] if front else []
        rows.append(row)
    heads = heads if _TOLD in table else heads[:-1]
    return Table("Candidates", [*heads, *(["On the front"] if front else [])], rows)


_TOLD: Final = "indistinguishable"
_COMPARED: Final = ("mean_rank", "best", "on_front", _TOLD)
