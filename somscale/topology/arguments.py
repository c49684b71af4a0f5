"""The arguments of `Grid` and `Grid.chain`, checked and turned into a `Lattice`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from somscale.errors import InputError
from somscale.topology.checks import as_count, listed, one_of
from somscale.topology.lattice import NEIGHBORS, PERIODIC_NAMES, Lattice

__all__ = ["chain_lattice", "grid_lattice", "lattice_from_spec"]

DELTAS: Final = ("hops", "euclidean", "max")


def grid_lattice(
    rows: object,
    cols: object,
    *,
    topology: object,
    offset: object,
    periodic: object,
    neighbors: object,
    delta: object,
) -> Lattice:
    """Return the lattice that the arguments of `Grid` ask for."""
    n_rows, n_cols = as_count(rows, "rows"), as_count(cols, "cols")
    kind = one_of(topology, "topology", ("rectangular", "hexagonal"))
    shift = one_of(offset, "offset", ("odd", "even"))
    wrap_rows, wrap_cols = _wraps(periodic)
    if kind == "hexagonal" and wrap_rows and n_rows % 2:
        raise InputError(
            f"A hexagonal grid of {n_rows} rows and {n_cols} columns whose rows wrap is not a "
            f"lattice, because its first and last row are shifted alike: use an even number "
            f"of rows, such as {n_rows + 1}, or wrap the columns only (periodic='cols')."
        )
    return Lattice(
        topology=kind,
        rows=n_rows,
        cols=n_cols,
        offset=shift if kind == "hexagonal" else None,
        wrap_rows=wrap_rows,
        wrap_cols=wrap_cols,
        neighbors=_neighbors(neighbors, kind),
        delta=one_of(delta, "delta", DELTAS),
    )


def chain_lattice(n: object, *, periodic: object, delta: object) -> Lattice:
    """Return the lattice that the arguments of `Grid.chain` ask for."""
    if not isinstance(periodic, bool | np.bool_):
        raise InputError(f"periodic of a chain must be True or False, not {periodic!r}.")
    return Lattice(
        topology="chain",
        rows=1,
        cols=as_count(n, "n"),
        offset=None,
        wrap_rows=bool(periodic),
        wrap_cols=bool(periodic),
        neighbors=NEIGHBORS["chain"]["edge"],
        delta=one_of(delta, "delta", DELTAS),
    )


def lattice_from_spec(spec: Mapping[str, Any]) -> Lattice:
    """Return the lattice whose `Lattice.spec` is `spec`; a key that it lacks is a KeyError."""
    topology = one_of(
        spec["topology"], "topology", ("rectangular", "hexagonal", "chain", "graph", "table")
    )
    named = {name: periodic for periodic, name in PERIODIC_NAMES.items()}
    periodic = named[one_of(spec["periodic"], "periodic", tuple(named))]
    if topology == "chain":
        return chain_lattice(spec["cols"], periodic=periodic, delta=spec["delta"])
    return grid_lattice(
        spec["rows"],
        spec["cols"],
        topology=topology,
        offset=spec["offset"] if topology == "hexagonal" else "odd",
        periodic=periodic,
        neighbors=spec["neighbors"],
        delta=spec["delta"],
    )


def _neighbors(neighbors: object, topology: str) -> int:
    """Return the number of neighbours, by default those that share an edge."""
    if neighbors is None:
        return NEIGHBORS[topology]["edge"]
    for allowed in NEIGHBORS[topology].values():
        if isinstance(neighbors, int | np.integer) and neighbors == allowed:
            return allowed
    allowed_counts = listed(sorted(set(NEIGHBORS[topology].values())))
    raise InputError(f"neighbors of a {topology} grid must be {allowed_counts}, not {neighbors!r}.")


def _wraps(periodic: object) -> tuple[bool, bool]:
    """Return whether the rows and whether the columns wrap."""
    if isinstance(periodic, bool | np.bool_):
        return bool(periodic), bool(periodic)
    if isinstance(periodic, str) and periodic in ("rows", "cols"):
        return periodic == "rows", periodic == "cols"
    raise InputError(f"periodic must be {listed((False, True, 'rows', 'cols'))}, not {periodic!r}.")
