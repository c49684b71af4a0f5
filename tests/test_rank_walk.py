"""The walk that ranks, both ways, against ranks by their definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from somscale.errors import InputError
from somscale.reductions.base import Block, Way
from somscale.reductions.merge import merge_partials
from somscale.reductions.pair_rows import PlacedSpace, RowChoice
from somscale.reductions.rank_sheet import RankWant
from somscale.reductions.rank_stats import RankStats
from somscale.reductions.rank_walk import RankWalk
from somscale.spaces import MapSpace, make_space
from somscale.topology import Grid
from tests.reference_ranks import ranks, square_distances, stats_of

Array = np.ndarray[Any, Any]
WAYS = [None, Way(256, 1, 0, 0), Way(32, 1, 0, 0), Way(256, 2, 0, 0), Way(8, 2, 0, 0)]


def walk_of(
    samples: Array,
    projected: Array,
    want: RankWant,
    *,
    distance: Any = "euclidean",
    p: float | None = None,
    center: Array | None = None,
    output: Any = None,
    choice: RowChoice | None = None,
    matrix: str | None = None,
) -> RankWalk:
    own = {} if matrix else {"samples": PlacedSpace(make_space(distance, p=p, center=center))}
    return RankWalk(
        "ranks",
        {**own, "out": PlacedSpace(output or make_space("euclidean"), "places", "embedding")},
        "samples",
        {"one": ("out", want)},
        choice or RowChoice(),
        n_samples=len(samples),
        n_features=samples.shape[1],
        matrix=matrix,
    )


def run(
    walk: RankWalk,
    samples: Array,
    columns: dict[str, Array],
    *,
    way: Way | None = None,
    panel: int | None = None,
    given: Array | None = None,
) -> RankStats:
    """Walk as the engine does, with panels of any size."""
    n = len(samples)
    if way is None or walk.sorted:
        way = walk.ways(n)[0]
    values = np.empty((n, 0)) if given is not None else samples

    def block(low: int, high: int) -> Block:
        own = {name: column[low:high] for name, column in columns.items()}
        return Block(low, high, values[low:high], own)

    size = panel or n
    total = None
    for top in range(0, n, walk.tile_rows):
        bottom = min(top + walk.tile_rows, n)
        groups = []
        for low in range(top, bottom, way.group_rows):
            high = min(low + way.group_rows, bottom)
            group = walk.start(block(low, high), way, low)
            for sweep in range(way.sweeps):
                for first in range(0, n, size):
                    last = min(first + size, n)
                    box = None if given is None else given[low:high, first:last]
                    walk.meet(group, block(first, last), sweep, box)
                walk.turn(group, sweep)
            groups.append(group)
        partial = walk.finish(groups)
        total = partial if total is None else merge_partials(walk.fields, total, partial)
    assert total is not None
    found = walk.finalize(total)
    stats: RankStats = found["one"]
    assert found["n_samples"] == stats.n_samples
    return stats


def plain(x_table: Array, y_table: Array, k: int) -> Array:
    """The corner of the co-ranking matrix."""
    rho, r = ranks(x_table), ranks(y_table)
    corner = np.zeros((k, k), np.int64)
    inside = (rho > 0) & (rho <= k) & (r > 0) & (r <= k)
    np.add.at(corner, (rho[inside] - 1, r[inside] - 1), 1)
    return corner


def excess(x_table: Array, y_table: Array, k: int) -> list[int]:
    rho, r = ranks(x_table), ranks(y_table)
    return [int(((rho - c) * ((r > 0) & (r <= c) & (rho > c))).sum()) for c in range(1, k + 1)]


def assert_plain(stats: RankStats, x_table: Array, y_table: Array, k: int) -> None:
    assert stats.curves is not None
    assert stats.matrix is not None
    np.testing.assert_array_equal(stats.matrix, plain(x_table, y_table, k))
    np.testing.assert_array_equal(stats.curves.excess_in, excess(x_table, y_table, k))
    np.testing.assert_array_equal(stats.curves.excess_out, excess(y_table, x_table, k))


def _gauss(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.standard_normal((n, d))


KINDS: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "normal": _gauss,
    "offset": lambda rng, n, d: _gauss(rng, n, d) + 1e8,
    "tiny": lambda rng, n, d: 1e-9 * _gauss(rng, n, d) + 0.3,
    "whole": lambda rng, n, d: rng.integers(0, 3, (n, d)).astype(np.float64),
    "decimal": lambda rng, n, d: np.round(_gauss(rng, n, d), 1),
    "duplicates": lambda rng, n, d: np.repeat(_gauss(rng, n, d), 4, axis=0)[:n],
    "twins": lambda rng, n, d: (
        np.repeat(_gauss(rng, n, d), 2, axis=0)[:n] + 1e-7 * rng.integers(0, 2, (n, d))
    ),
    "outlier": lambda rng, n, d: np.where(np.arange(n)[:, None] == 3, 1e9, _gauss(rng, n, d)),
    "huge": lambda rng, n, d: np.where(np.arange(n)[:, None] == 3, 1e30, _gauss(rng, n, d)),
    "equal": lambda rng, n, d: np.ones((n, d)),
    "single": lambda rng, n, d: (_gauss(rng, n, d) + 1000).astype(np.float32),
    "bytes": lambda rng, n, d: rng.integers(0, 5, (n, d)).astype(np.uint8),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [3, 12])
def test_near_ranks_are_those_of_direct_sums(kind: str, d: int) -> None:
    rng = np.random.default_rng(len(kind) + d)
    n, k = 331, 17
    samples = KINDS[kind](rng, n, d)
    places = np.round(samples[:, :2].astype(np.float64) + 0.3 * _gauss(rng, n, 2), 1)
    tables = square_distances(samples.astype(np.float64)), square_distances(places)
    want = RankWant(k_max=k, matrix=k)
    for number, way in enumerate(WAYS):
        center = None if number % 2 else samples.astype(np.float64).mean(axis=0)
        walk = walk_of(samples, places, want, center=center)
        assert not walk.sorted
        panel = None if way is None or way.sweeps == 1 else (100, 2048)[number % 2]
        stats = run(walk, samples, {"places": places}, way=way, panel=panel)
        assert_plain(stats, *tables, k)


@pytest.mark.parametrize("kind", KINDS)
def test_sorted_ranks_are_those_of_direct_sums(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    n = 90
    samples = KINDS[kind](rng, n, 12)
    places = np.round(samples[:, :2].astype(np.float64) + 0.3 * _gauss(rng, n, 2), 1)
    walk = walk_of(samples, places, RankWant(k_max=n - 1, matrix=n - 1))
    assert walk.sorted
    stats = run(walk, samples, {"places": places}, panel=None if kind == "equal" else 40)
    assert_plain(stats, square_distances(samples.astype(np.float64)), square_distances(places), 89)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(17, 90),
    d=st.sampled_from([1, 2, 9, 11]),
    k=st.integers(1, 4),
    levels=st.sampled_from([1, 2, 5, 50]),
    seed=st.integers(0, 2**32 - 1),
    way=st.sampled_from(WAYS[1:]),
    panel=st.integers(1, 90),
)
def test_near_and_sorted_agree(
    n: int, d: int, k: int, levels: int, seed: int, way: Way, panel: int
) -> None:
    rng = np.random.default_rng(seed)
    k = max(1, min(k, n // 8))
    samples = rng.integers(0, levels, (n, d)) * 0.1
    places = rng.integers(0, levels, (n, 2)) * 0.1
    want = RankWant(k_max=k, kappa_s=k, kappa_t=k, matrix=k, sample_pairs=((k, 1), (1, 0)))
    near = walk_of(samples, places, want)
    assert not near.sorted
    whole = walk_of(samples, places, want)
    whole.sorted, whole.tile_rows = True, 32
    own = run(near, samples, {"places": places}, way=way, panel=panel if way.sweeps == 2 else None)
    other = run(whole, samples, {"places": places}, panel=panel)
    for one, two in zip(_arrays(own), _arrays(other), strict=True):
        np.testing.assert_array_equal(one, two)


def _arrays(stats: RankStats) -> list[Array]:
    assert stats.curves
    assert stats.surface
    assert stats.samples
    assert stats.matrix is not None
    curves = [stats.curves.overlap, stats.curves.excess_in, stats.curves.moved_in]
    more = [stats.curves.intrusions, stats.curves.excess_out, stats.curves.moved_out]
    surface = [stats.surface.inside, stats.surface.region]
    samples = [stats.samples.inside, stats.samples.inside_back]
    return [*curves, *more, *surface, *samples, stats.matrix]


@pytest.mark.parametrize(
    ("distance", "name"),
    [
        ("cityblock", "cityblock"),
        ("chebyshev", "chebyshev"),
        ("sqeuclidean", "sqeuclidean"),
        (lambda x, y: cdist(x, y, "canberra"), "canberra"),
    ],
)
def test_other_distances_order_as_they_are(distance: Any, name: str) -> None:
    rng = np.random.default_rng(5)
    samples, places = rng.integers(1, 6, (150, 12)) / 8, rng.integers(0, 9, (150, 2))
    tables = cdist(samples, samples, name), square_distances(places.astype(float))
    for way in (Way(32, 1, 0, 0), Way(64, 2, 0, 0)):
        walk = walk_of(samples, places, RankWant(k_max=9, matrix=9), distance=distance)
        stats = run(walk, samples, {"places": places}, way=way, panel=150 if way.sweeps < 2 else 64)
        assert_plain(stats, *tables, 9)


@pytest.mark.parametrize("distance", ["cosine", "correlation"])
@pytest.mark.parametrize("d", [4, 30])
def test_angles_order_as_distances_at_length_one(distance: str, d: int) -> None:
    rng = np.random.default_rng(d)
    samples = np.repeat(_gauss(rng, 75, d), 2, axis=0)  # twins are nearest
    centred = samples - samples.mean(axis=1, keepdims=True) * (distance == "correlation")
    units = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    places = _gauss(rng, 150, 2)
    walk = walk_of(samples, places, RankWant(k_max=12, matrix=12), distance=distance)
    stats = run(walk, samples, {"places": places})
    assert stats.matrix is not None
    difference = stats.matrix - plain(square_distances(units), square_distances(places), 12)
    # lengths of samples are rounded in one way or another
    assert np.abs(difference).sum() <= 8


def test_maps_and_matrices() -> None:
    rng = np.random.default_rng(3)
    grid = Grid(4, 3)
    units, samples = rng.integers(0, 12, 120), _gauss(rng, 120, 9)
    delta = grid.distances()[units][:, units]
    table = rng.integers(0, 40, (120, 120)).astype(np.float64)  # no symmetric one
    walk = walk_of(samples, units, RankWant(k_max=10, matrix=10), output=MapSpace(grid))
    assert_plain(run(walk, samples, {"places": units}), square_distances(samples), delta, 10)
    for ties in ("index", "best", "worst"):
        for k in (10, 119):
            want = RankWant(k_max=k, matrix=k, ties=ties)
            walk = walk_of(samples, units, want, output=MapSpace(grid), matrix="samples")
            stats = run(walk, samples, {"places": units}, given=table)
            expected = stats_of(table, delta, ties=ties)
            assert stats.curves is not None
            assert expected.curves is not None
            assert stats.matrix is not None
            assert expected.matrix is not None
            np.testing.assert_array_equal(stats.matrix, expected.matrix[:k, :k])
            np.testing.assert_array_equal(stats.curves.excess_in, expected.curves.excess_in[:k])


def test_bad_entries_of_a_matrix_are_named() -> None:
    table = np.ones((60, 60))
    np.fill_diagonal(table, np.nan)  # what a sample has from itself does not matter
    places = np.arange(60.0)[:, None]
    walk = walk_of(places, places, RankWant(k_max=3), matrix="samples")
    run(walk, places, {"places": places}, given=table)
    table[7, 9] = np.nan
    with pytest.raises(InputError, match=r"nan at \[7, 9\]"):
        run(walk, places, {"places": places}, given=table)
    table[7, 9] = -1.0
    with pytest.raises(InputError, match=r"-1.0 at \[7, 9\].*negative"):
        run(walk, places, {"places": places}, given=table)


@pytest.mark.parametrize("k", [4, 40])
def test_samples_that_take_no_part_have_no_rank(k: int) -> None:
    rng = np.random.default_rng(1)
    samples, places = _gauss(rng, 100, 10), _gauss(rng, 100, 2)
    out = np.zeros(100, bool)
    out[[0, 3, 4, 5, 40, 99]] = True
    samples[out] = np.nan
    labels = rng.integers(0, 3, 100)
    choice = RowChoice(excluded="out")
    want = RankWant(k_max=k, matrix=k, labels="labels", sample_ks=(k,), sample_pairs=((2, 2),))
    kept = np.flatnonzero(~out)
    tables = square_distances(samples[kept]), square_distances(places[kept])
    expected = stats_of(*tables, labels=labels[kept], sample_ks=[k], sample_pairs=[(2, 2)])
    columns = {"places": places, "out": out, "labels": labels}
    for way, panel in ((None, None), (Way(16, 2, 0, 0), 30)):
        walk = walk_of(samples, places, want, choice=choice)
        stats = run(walk, samples, columns, way=way, panel=None if walk.sorted else panel)
        assert stats.n_samples == 94
        assert stats.samples is not None
        assert expected.samples is not None
        assert_plain(stats, *tables, k)
        assert stats.curves is not None
        assert expected.curves is not None
        assert expected.curves.agreement is not None
        np.testing.assert_array_equal(stats.curves.agreement, expected.curves.agreement[:k])
        for name in ("overlap", "excess_in", "inside", "inside_back"):
            own = getattr(stats.samples, name)
            assert np.isnan(own[out]).all()
            np.testing.assert_array_equal(own[kept], getattr(expected.samples, name))


@pytest.mark.parametrize("d", [3, 12])
def test_a_row_that_no_panel_but_its_own_tells_to_be_huge(d: int) -> None:
    rng = np.random.default_rng(d)
    samples = KINDS["huge"](rng, 120, d)
    places = _gauss(rng, 120, 2)
    tables = square_distances(samples), square_distances(places)
    walk = walk_of(samples, places, RankWant(k_max=9, matrix=9))
    stats = run(walk, samples, {"places": places}, way=Way(8, 2, 0, 0), panel=30)
    assert_plain(stats, *tables, 9)


def test_a_panel_of_which_nothing_takes_part() -> None:
    rng = np.random.default_rng(4)
    samples, places = _gauss(rng, 120, 10), _gauss(rng, 120, 2)
    out = np.arange(120) // 30 == 1
    samples[out] = np.nan
    tables = square_distances(samples[~out]), square_distances(places[~out])
    choice = RowChoice(excluded="out")
    for way in (Way(16, 1, 0, 0), Way(16, 2, 0, 0)):
        walk = walk_of(samples, places, RankWant(k_max=6, matrix=6), choice=choice)
        stats = run(walk, samples, {"places": places, "out": out}, way=way, panel=30)
        assert_plain(stats, *tables, 6)


@pytest.mark.parametrize("ties", ["expected", "weighted"])
def test_floats_do_not_depend_on_panels(ties: Any) -> None:
    rng = np.random.default_rng(2)
    samples, places = rng.integers(0, 4, (150, 9)) / 8, rng.integers(0, 4, (150, 2)) * 1.0
    want = RankWant(k_max=30, ties=ties)
    first, *others = (
        run(walk_of(samples, places, want), samples, {"places": places}, panel=panel)
        for panel in (None, 1, 47)
    )
    expected = stats_of(square_distances(samples), square_distances(places), ties=ties)
    assert first.curves is not None
    assert expected.curves is not None
    for name in ("excess_in", "excess_out"):
        own = getattr(first.curves, name)
        np.testing.assert_allclose(own, getattr(expected.curves, name)[:30], rtol=1e-12)
        for other in others:
            assert getattr(other.curves, name).tobytes() == own.tobytes()


def test_several_projections_share_the_input() -> None:
    rng = np.random.default_rng(8)
    samples = _gauss(rng, 300, 10)
    columns = {f"places {e}": samples[:, e : e + 2] + 0.1 * _gauss(rng, 300, 2) for e in range(5)}
    spaces = {name: PlacedSpace(make_space("euclidean"), name, "embedding") for name in columns}
    wants = {f"e{e}": (f"places {e}", RankWant(k_max=5 + e, matrix=5 + e)) for e in range(5)}
    own = {"samples": PlacedSpace(make_space("euclidean"))}
    for way in (Way(64, 1, 0, 0), Way(256, 2, 0, 0)):
        walk = RankWalk(
            "ranks", {**own, **spaces}, "samples", wants, RowChoice(), n_samples=300, n_features=10
        )
        total = None
        for top in range(0, 300, 256):
            groups = []
            for low in range(top, min(top + 256, 300), way.group_rows):
                high = min(low + way.group_rows, top + 256, 300)
                part = {name: column[low:high] for name, column in columns.items()}
                groups.append(walk.start(Block(low, high, samples[low:high], part), way, low))
                for sweep in range(way.sweeps):
                    walk.meet(groups[-1], Block(0, 300, samples, columns), sweep, None)
                    walk.turn(groups[-1], sweep)
            partial = walk.finish(groups)
            total = partial if total is None else merge_partials(walk.fields, total, partial)
        assert total is not None
        found = walk.finalize(total)
        for e in range(5):
            stats = found[f"e{e}"]
            tables = square_distances(samples), square_distances(columns[f"places {e}"])
            assert_plain(stats, *tables, 5 + e)


@pytest.mark.parametrize("n", [255, 256, 257, 1023, 1024, 1025, 2049])
def test_a_random_projection_keeps_nothing_at_any_size(n: int) -> None:
    rng = np.random.default_rng(n)
    samples, places = _gauss(rng, n, 9), _gauss(rng, n, 2)
    stats = run(walk_of(samples, places, RankWant(k_max=20)), samples, {"places": places})
    assert stats.curves is not None
    k = np.arange(1, 21)
    q = stats.curves.overlap / (k * n)
    r = ((n - 1) * q - k) / (n - 1 - k)
    trust = 1 - 2 * stats.curves.excess_in / (n * k * (2 * n - 3 * k - 1))
    assert abs(r[-1]) < 5 / np.sqrt(20 * n)
    assert abs(trust[-1] - 0.5) < 5 / np.sqrt(20 * n)
