"""Clusters of a map's units, which are clusters of its samples too."""

from __future__ import annotations

import operator
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
import xarray as xr

from somscale._types import Float, Int
from somscale.codebook import TrainedMap
from somscale.codebook.opening import as_map
from somscale.errors import InputError
from somscale.topology import Grid, group_units

__all__ = ["ClusterMethod", "cluster_units"]

Linkage: TypeAlias = Literal["ward", "average", "complete", "single"]
ClusterMethod: TypeAlias = Linkage | Literal["kmeans"]
_LINKAGES: Final = get_args(Linkage)
_METHODS: Final = (*_LINKAGES, "kmeans")


def cluster_units(
    som: Any,
    n_clusters: int,
    *,
    method: ClusterMethod = "ward",
    connected: bool = False,
    seed: int = 0,
) -> xr.DataArray:
    """Cluster the units of a map by their code vectors.

    A sample is of its best-matching unit's cluster: ``clusters[bmu]``, where ``bmu`` is
    that of :func:`somscale.project` or of a result, keeps the samples' dim and
    coordinates and is a clustering that every index of two partitions takes.

    Parameters
    ----------
    som : Dataset or MiniSom
        The map.
    n_clusters : int
        Number of clusters, from 1 to the number of units K.
    method : {"ward", "average", "complete", "single", "kmeans"}
        Agglomerative clustering with one of four linkages, or k-means (the best of ten
        starts), both scikit-learn's.
    connected : bool
        Merge only clusters that adjoin on the grid, so that each lies there in one
        piece; for the agglomerative methods.
    seed : int
        Of the starts of k-means.

    Returns
    -------
    DataArray, (unit,)
        ``cluster``: int32 from 0 to `n_clusters` − 1, numbered in the order of their
        first units, with coordinates ``row`` and ``col``.

    Raises
    ------
    InputError
        An unknown method, a number of clusters that K units cannot make, `connected`
        with k-means or on a grid that is not connected, or a map without codes.

    Notes
    -----
    All units take part, those without samples too.  Features without a code (nan) in
    any unit are left out.

    Examples
    --------
    >>> import numpy as np, somscale as ss
    >>> som = ss.codebook([[0.0], [0.1], [5.0], [5.1]], ss.Grid.chain(4))
    >>> clusters = ss.cluster_units(som, 2)
    >>> clusters.values.tolist()
    [0, 0, 1, 1]
    >>> p = ss.project([[0.2], [4.9], [5.3]], som)
    >>> clusters[p["bmu"]].values.tolist()
    [0, 1, 1]
    """
    trained = as_map(som)
    n_clusters = _check(trained, n_clusters, method, connected)
    codes = trained.codes[:, np.isfinite(trained.codes).all(axis=0)]
    if not codes.shape[1]:
        raise InputError("every feature of the map lacks a code in some unit: nothing to compare")
    grid = trained.grid
    found: Int
    if n_clusters == grid.size or n_clusters == 1:
        found = np.arange(grid.size) % n_clusters
    elif method == "kmeans":
        found = _kmeans(codes, n_clusters, seed)
    else:
        found = _agglomerate(codes, n_clusters, method, grid if connected else None)
    coords = {
        "unit": (np.arange(grid.size), "unit of the map"),
        "row": (grid.row, "row of the map"),
        "col": (grid.col, "column of the map"),
    }
    return xr.DataArray(
        _numbered(found),
        dims="unit",
        name="cluster",
        coords={
            name: ("unit", values, {"long_name": text, "units": "1"})
            for name, (values, text) in coords.items()
        },
        attrs={
            "long_name": "cluster of the unit",
            "units": "1",
            "method": method,
            "connected": int(connected),
            "map_fingerprint": trained.fingerprint,
        },
    )


def _check(trained: TrainedMap, n_clusters: Any, method: str, connected: bool) -> int:
    """The number of clusters, once all arguments are known to fit."""
    if method not in _METHODS:
        raise InputError(f"method is one of {_METHODS}, not {method!r}")
    size = trained.grid.size
    try:
        number = operator.index(n_clusters)
    except TypeError:
        raise InputError(f"n_clusters is an integer, not {n_clusters!r}") from None
    if not 1 <= number <= size:
        raise InputError(f"{size} units make 1 to {size} clusters, not {number}")
    if not connected:
        return number
    if method == "kmeans":
        raise InputError(f"k-means merges no clusters: connected=True needs one of {_LINKAGES}")
    part = group_units(size, trained.grid.edges())
    if part.any():
        other = int(np.argmax(part != part[0]))
        raise InputError(
            f"no path over the grid joins units 0 and {other}: connected=True needs a grid in "
            "one piece"
        )
    return number


def _agglomerate(codes: Float, n_clusters: int, linkage: str, grid: Grid | None) -> Int:
    from scipy.sparse import csr_array
    from sklearn.cluster import AgglomerativeClustering

    connectivity = None
    if grid is not None:
        i, j = grid.edges().T
        ends = np.concatenate([i, j]), np.concatenate([j, i])
        connectivity = csr_array((np.ones(len(ends[0])), ends), shape=(grid.size, grid.size))
    model = AgglomerativeClustering(n_clusters, linkage=linkage, connectivity=connectivity)
    return np.asarray(model.fit_predict(codes))


def _kmeans(codes: Float, n_clusters: int, seed: int) -> Int:
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    # several threads would add up the means in the order in which they finish
    with threadpool_limits(1):
        return np.asarray(KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(codes))


def _numbered(found: Int) -> Int:
    """Clusters numbered in the order of their first units."""
    _, first, labels = np.unique(found, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[labels].astype(np.int32)
