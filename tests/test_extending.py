"""Indices that a user declares: each kind, in a process of its own, for every reader alike."""

from __future__ import annotations

import doctest
import subprocess
import sys

import numpy as np
import pytest

import somscale as ss
from somscale import extending
from somscale.errors import InputError

OWN = '''
from __future__ import annotations
import dask.array as da
import numpy as np
import somscale as ss
from scipy.spatial.distance import pdist
from somscale import extending as own

facts = dict(direction="lower", source="nobody 2000, an example")

@own.map_index(needs=("units",), long_name="a", definition="a", **facts)
def mean_square(units: own.UnitStats, *, root: bool = False) -> float:
    """Mean squared distance to the best-matching unit."""
    found = units.squares.sum() / units.n_samples
    return float(np.sqrt(found)) if root else float(found)

@own.projection_index(totals=("d", "e"), long_name="b", definition="b", **facts)
def shrinkage(totals: own.PairTotals) -> float:
    """Mean distance in the projection over that of the samples."""
    return totals["e"] / totals["d"]

@own.rank_index(tables=("curves",), long_name="c", definition="c", dims=("k",), **facts)
def lost(stats: own.RankStats, *, k=None, ties=None, space=None, distance="euclidean", p=2):
    """Neighbours that are lost."""
    return 1 - ss.metrics.q_nx.spec.formula(stats, k=k)

@own.clusters_index(long_name="d", definition="d", **facts)
def largest(moments: own.MomentStats) -> float:
    """Size of the largest cluster."""
    return float(moments.hits.max())

@own.partition_index(long_name="e", definition="e", **facts)
def cells(table: own.Contingency) -> float:
    """Share of the cells of the table that are not empty."""
    return len(table.counts) / np.prod(table.shape)

for again in range(2):  # as a cell of a notebook that is run again

    @own.units_index(long_name="f", definition="f", **facts)
    def far(table: own.Contingency, grid: own.Grid) -> float:
        """The grid's diameter, once or twice."""
        return float(grid.distances().max()) * (1 + again)

rng = np.random.default_rng(0)
x = rng.standard_normal((300, 4))
som = ss.train(x, ss.Grid(3, 4), epochs=3, seed=0)
labels = rng.integers(0, 3, 300)
names = ["mean_square", "shrinkage", "lost", "far"]
q = ss.evaluate(x, som, metrics=names, labels=labels, k=[1, 5])
lazy = ss.evaluate(da.from_array(x, chunks=(70, 3)), som, metrics=names, labels=labels, k=[1, 5])
assert q.identical(lazy.compute()), "chunks change it"
value = q["value"].to_pandas()
assert np.isclose(value["mean_square"], (ss.project(x, som)["distance"] ** 2).mean().item())
assert mean_square(x, som, root=True) == np.sqrt(value["mean_square"])
assert value["far"] == 2 * 5
assert (q["lost"] == 1 - ss.metrics.q_nx(x, som, k=[1, 5])).all()
points = x[:, :2]
assert np.isclose(shrinkage(x, points), pdist(points).sum() / pdist(x).sum())
found = ss.evaluate(x, labels, metrics=["largest"])["value"].item()
assert found == np.bincount(labels).max()
assert cells(labels, labels) == 1 / 3
'''


def test_every_kind_of_index() -> None:
    done = subprocess.run([sys.executable, "-c", OWN], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_example_is_true() -> None:
    example = doctest.DocTestFinder().find(extending)[0]
    lines = "".join(e.source for e in example.examples)
    script = f"{lines}\nassert hit_inequality([[0.1], [0.2], [1.1], [2.9]], som) == 0.375"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert example.examples[-1].want == "0.375\n"


def test_names_are_taken_once() -> None:
    with pytest.raises(InputError, match="an index 'purity' exists already"):

        @extending.partition_index(
            long_name="p", definition="p", direction="lower", source="nobody 2000"
        )
        def purity(table: extending.Contingency) -> float:
            return 0.0

    assert ss.metrics.purity([0, 1], [0, 1]) == 1


def test_own_distance() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((50, 3))

    def canberra(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        sums = abs(left[:, None]) + abs(right[None])
        return (abs(left[:, None] - right[None]) / sums).sum(-1)

    own = ss.metrics.trustworthiness(x, x[:, :2], k=5, distance=canberra)
    table = np.nan_to_num(canberra(x, x))
    given = ss.metrics.trustworthiness(table, x[:, :2], k=5, distance="precomputed")
    assert own == given
