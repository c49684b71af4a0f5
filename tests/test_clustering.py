"""Clusters of a map's units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import somscale as ss
from somscale import metrics
from somscale.errors import InputError
from somscale.topology import group_units

METHODS: list[Any] = ["ward", "average", "complete", "single", "kmeans"]
LINKAGES = METHODS[:-1]


def blobs(grid: ss.Grid, seed: int = 0) -> Any:
    """Codes in three well separated groups, in an order that the grid knows nothing of."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(grid.size) % 3)
    codes = rng.normal(0, 0.1, (grid.size, 2)) + np.array([[0, 0], [9, 0], [0, 9]])[group]
    return ss.codebook(codes, grid), group


@pytest.mark.parametrize("method", METHODS)
def test_groups_of_codes_are_found(method: Any) -> None:
    som, group = blobs(ss.Grid(4, 5))
    found = ss.cluster_units(som, 3, method=method)
    assert metrics.rand_score(group, found.values).item() == 1
    assert (found.dims, found.name, found.dtype) == (("unit",), "cluster", np.dtype("int32"))
    xr.testing.assert_equal(found["row"], som["row"])
    xr.testing.assert_equal(found["col"], som["col"])
    assert found.attrs["method"] == method
    first = [int(np.flatnonzero(found.values == cluster)[0]) for cluster in range(3)]
    assert first == sorted(first)
    assert first[0] == 0
    xr.testing.assert_identical(found, ss.cluster_units(som, 3, method=method))


@pytest.mark.parametrize("method", LINKAGES)
@pytest.mark.parametrize(
    "grid",
    [
        ss.Grid(5, 5),
        ss.Grid(4, 6, topology="hexagonal", periodic=True),
        ss.Grid.chain(20),
        ss.Grid.from_edges(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 3)]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("n_clusters", [1, 2, 4])
def test_connected_clusters_lie_in_one_piece(method: Any, grid: ss.Grid, n_clusters: int) -> None:
    som, _ = blobs(grid)
    found = ss.cluster_units(som, n_clusters, method=method, connected=True).values
    assert len(np.unique(found)) == n_clusters
    edges = grid.edges()
    inside = edges[found[edges[:, 0]] == found[edges[:, 1]]]
    assert len(np.unique(group_units(grid.size, inside))) == n_clusters


def test_the_grid_keeps_apart_what_the_codes_do_not() -> None:
    som = ss.codebook([[0.0], [0.1], [9], [9.1], [0.05]], ss.Grid.chain(5))
    assert ss.cluster_units(som, 2).values.tolist() == [0, 0, 1, 1, 0]
    assert ss.cluster_units(som, 3, connected=True).values.tolist() == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [1, 2, 7])
def test_one_cluster_and_one_for_each_unit(method: Any, size: int) -> None:
    som = ss.codebook(np.zeros((size, 2)), ss.Grid.chain(size))
    assert ss.cluster_units(som, 1, method=method).values.tolist() == [0] * size
    assert ss.cluster_units(som, size, method=method).values.tolist() == list(range(size))


def test_clusters_of_units_are_clusters_of_samples() -> None:
    som, group = blobs(ss.Grid(4, 5))
    rng = np.random.default_rng(1)
    units = rng.integers(0, 20, 300)
    samples = xr.DataArray(
        som["codes"].values[units] + rng.normal(0, 0.01, (300, 2)),
        dims=("time", "feature"),
        coords={"time": np.arange(300) * 7},
    )
    labels = group[units]
    clusters = ss.cluster_units(som, 3)
    of_samples = clusters[ss.project(samples, som)["bmu"]]
    assert of_samples.dims == ("time",)
    np.testing.assert_array_equal(of_samples["time"], samples["time"])
    assert metrics.adjusted_rand_score(labels, of_samples).item() == 1
    of_result = clusters[ss.evaluate(samples, som, metrics="bmu")["bmu"]]
    xr.testing.assert_equal(of_result, of_samples)
    result = ss.evaluate(None, {"three": of_samples}, labels=labels)
    assert result["value"].sel(metric="purity", candidate="three").item() == 1


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"n_clusters": 0}, "4 units make 1 to 4 clusters, not 0"),
        ({"n_clusters": 5}, "4 units make 1 to 4 clusters, not 5"),
        ({"n_clusters": 2.5}, "n_clusters is an integer, not 2.5"),
        ({"method": "spectral"}, "method is one of .*not 'spectral'"),
        ({"method": "kmeans", "connected": True}, "k-means merges no clusters"),
    ],
)
def test_bad_arguments_are_refused(given: dict[str, Any], complaint: str) -> None:
    som = ss.codebook(np.arange(4.0)[:, None], ss.Grid.chain(4))
    with pytest.raises(InputError, match=complaint):
        ss.cluster_units(som, **{"n_clusters": 2, **given})


def test_a_grid_in_pieces_makes_no_connected_clusters() -> None:
    apart = np.array([[0.0, 1, 9], [1, 0, 9], [9, 9, 0]])
    som = ss.codebook([[0.0], [1], [2]], ss.Grid.from_distances(apart))
    assert ss.cluster_units(som, 2).values.tolist() in ([0, 0, 1], [0, 1, 1])
    with pytest.raises(InputError, match="no path over the grid joins units 0 and 2"):
        ss.cluster_units(som, 2, connected=True)
