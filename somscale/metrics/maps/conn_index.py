"""The CONN index of clusters of units: from samples between the units of one and of two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from somscale._types import Float, Int
from somscale.errors import InputError
from somscale.metrics.maps.quantization import per_hit
from somscale.metrics.public import map_index
from somscale.metrics.values import Value, undefined
from somscale.reductions.units import UnitStats

__all__ = ["conn_index", "unit_intra_connectivity"]

_TASDEMIR = (
    "Taşdemir & Merényi 2011, A validity index for prototype-based clustering of data sets "
    "with complex cluster structures, doi:10.1109/TSMCB.2010.2104319"
)
_NO_CLUSTERS = "no clusters of the units are given: unit_clusters="


def _check(parameters: Mapping[str, Any]) -> None:
    if parameters["unit_clusters"] is not None:
        _as_codes(parameters["unit_clusters"])


def _as_codes(unit_clusters: Any) -> Int:
    """Clusters of the units as 0 to c − 1, (K,)."""
    if isinstance(unit_clusters, xr.DataArray) and "unit" in unit_clusters.indexes:
        # of unit 0 first, whatever was sorted since
        unit_clusters = unit_clusters.sortby("unit")
    values = np.asarray(unit_clusters)
    if values.ndim != 1 or values.dtype.kind not in "biuUST" or not len(values):
        raise InputError(
            "unit_clusters holds the cluster of each unit of the map, integers or texts along "
            f"one dimension, not an array of {values.dtype} with shape {values.shape}"
        )
    return np.unique(values, return_inverse=True)[1]


def _clusters(units: UnitStats, unit_clusters: Any) -> Int:
    codes = _as_codes(unit_clusters)
    if len(codes) != units.n_units:
        raise InputError(
            f"unit_clusters has {len(codes)} entries; the map has {units.n_units} units"
        )
    return codes


@map_index(
    needs=("units",),
    with_gaps=True,
    long_name="CONN index of clusters of units",
    definition="mean intra-cluster connectivity times (1 - mean largest inter-cluster "
    "connectivity)",
    direction="higher",
    upper=1,
    source=_TASDEMIR,
    check=_check,
    undefined="without clusters of the units, a map of one unit, and clusters none of whose "
    "units have samples",
)
def conn_index(units: UnitStats, *, unit_clusters: Any = None) -> Value:
    """How well clusters of a map's units keep samples and their two best units together.

    With CADJ(u, v) the samples whose best unit is u and whose second-best is v, and
    CONN = CADJ + CADJᵀ, the index is Intra · (1 − Inter).  Intra is the mean over clusters
    of the share of a cluster's CADJ that stays in the cluster.  Inter is the mean over
    clusters k of the largest, over other clusters l, of Σ CONN(u, v) from k to l over
    Σ CONN(u, ·) of the units u of k that have a sample whose second-best unit is in l.

    Parameters
    ----------
    unit_clusters : array_like, (unit,), optional
        Cluster of each unit, as :func:`somscale.cluster_units` finds it; the index is nan
        without it.

    Notes
    -----
    1 where no sample lies between two clusters.  Clusters whose units have no samples
    have no connectivity and are left out of both means; with one cluster Inter is 0.  The
    ratio of two clusters, which exceeds 1 where samples lie between them on one side
    only, counts as 1 at most.
    """
    if unit_clusters is None:
        return undefined(_NO_CLUSTERS)
    codes = _clusters(units, unit_clusters)
    if units.n_units < 2:
        return undefined("a map of one unit has no second-best unit")
    n_clusters = int(codes.max()) + 1
    own, mass = codes[units.first], units.pair_mass
    held = np.bincount(own, mass, n_clusters)
    alive = held > 0
    if not alive.any():
        return undefined("no cluster has samples")
    kept = np.bincount(own, np.where(own == codes[units.second], mass, 0), n_clusters)
    intra, inter = kept[alive] / held[alive], _inter(units, codes, n_clusters)[alive]
    return float(np.clip(intra.mean() * (1 - inter.mean()), 0, 1))


@map_index(
    needs=("units",),
    with_gaps=True,
    long_name="intra-cluster connectivity of each unit",
    definition="share of a unit's samples whose second-best unit is of the same cluster",
    direction="higher",
    upper=1,
    dims=("unit",),
    source=_TASDEMIR,
    check=_check,
    undefined="units without samples, a map of one unit, and without clusters of the units",
)
def unit_intra_connectivity(units: UnitStats, *, unit_clusters: Any = None) -> Value:
    """Share of each unit's samples whose second-best unit is of the same cluster.

    Parameters
    ----------
    unit_clusters : array_like, (unit,), optional
        As in :func:`conn_index`, which has the same share of each cluster's samples.

    Notes
    -----
    Low at the borders of clusters that are not apart in the data.
    """
    if unit_clusters is None:
        return np.full(units.n_units, np.nan)
    codes = _clusters(units, unit_clusters)
    if units.n_units < 2:
        return np.full(units.n_units, np.nan)
    same = codes[units.first] == codes[units.second]
    kept = np.zeros(units.n_units)
    np.add.at(kept, units.first[same], units.pair_mass[same])
    return per_hit(kept, units)


def _inter(units: UnitStats, codes: Int, n_clusters: int) -> Float:
    """Largest connectivity of each cluster with another, (c,)."""
    shared = units.pair_mass > 0
    first, second, mass = units.first[shared], units.second[shared], units.pair_mass[shared]
    size = len(codes)
    # of those clusters that share samples alone: a table of all may be as large as K by K
    near, far = codes[first], codes[second]
    keys = np.concatenate([near * n_clusters + far, far * n_clusters + near])
    pairs, place = np.unique(keys, return_inverse=True)
    conn = np.bincount(place, np.concatenate([mass, mass]), len(pairs))
    whole = np.bincount(first, mass, size) + np.bincount(second, mass, size)
    # units of which a sample has its second-best unit in the other cluster
    border, reached = np.divmod(np.unique(first * n_clusters + far), n_clusters)
    held = np.zeros(len(pairs))
    np.add.at(held, np.searchsorted(pairs, codes[border] * n_clusters + reached), whole[border])
    ratio = np.divide(conn, held, out=np.zeros(len(pairs)), where=held > 0)
    cluster, other = np.divmod(pairs, n_clusters)
    found = np.zeros(n_clusters)
    np.maximum.at(found, cluster[cluster != other], ratio[cluster != other])
    return np.minimum(found, 1)
