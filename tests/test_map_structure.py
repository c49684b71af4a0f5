"""U-matrix, hit entropy and the spacing of code vectors; and all sums under sample weights."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
import reference
import reference_map
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import spearmanr
from strategies import Case
from test_map_metrics import Arrangement, chain, gaussian_map, judged, maps, symmetries

import somscale as ss
from somscale import metrics
from somscale.errors import InputError
from somscale.metrics import code_distances
from somscale.metrics.maps import spacing
from somscale.metrics.spec import all_specs
from somscale.reductions.units import UnitStats

ROUNDING = 1e-12
TINY = 1e-157


# --- by hand


def test_heights_between_neighbours() -> None:
    found = metrics.u_matrix([[0.0]], chain(0.0, 1.0, 4.0, 4.0))
    assert found.values.tolist() == [1, 2, 1.5, 0]
    assert found["col"].values.tolist() == [0, 1, 2, 3]
    apart = ss.Grid.from_distances([[0, 1, 5], [1, 0, 5], [5, 5, 0]])
    alone = metrics.u_matrix([[0.0]], ss.codebook([[0.0], [3], [9]], apart))
    np.testing.assert_array_equal(alone, [3, 3, np.nan])
    assert "units without neighbours" in alone.attrs["undefined"]
    assert np.isnan(metrics.u_matrix([[0.0]], chain(1.0)).values).all()


def test_entropy_of_hits() -> None:
    even = chain(0.0, 1.0, 2.0, 3.0)
    everywhere = np.array([[0.0], [1], [2], [3]])
    assert metrics.hit_entropy(everywhere, even).item() == pytest.approx(math.log(4), rel=1e-15)
    assert metrics.hit_entropy(everywhere, even, normalize=True).item() == 1
    assert metrics.hit_entropy([[0.0], [0.1]], even).item() == 0
    assert metrics.hit_entropy([[0.0]], even, normalize=True).attrs["units"] == "1"
    assert metrics.hit_entropy([[0.0]], chain(0.0)).item() == 0
    lonely = metrics.hit_entropy([[0.0]], chain(0.0), normalize=True)
    assert math.isnan(lonely.item())
    assert "one unit" in lonely.attrs["note"]
    with pytest.raises(InputError, match="normalize is True or False, not 'max'"):
        metrics.hit_entropy([[0.0]], even, normalize="max")


def test_code_vectors_as_centres_of_clusters() -> None:
    # spreads 0.5, 1 and, without samples, none
    som = chain(0.0, 4.0, 100.0)
    found = metrics.codebook_davies_bouldin([[0.5], [-0.5], [5.0]], som)
    assert found.item() == 1.5 / 4
    one = metrics.codebook_davies_bouldin([[0.5]], som)
    assert math.isnan(one.item())
    assert one.attrs["note"] == "fewer than two units have samples"
    # ties go to the lowest unit, so that a twin has samples only by its weight in a table
    twins = UnitStats(
        codes=np.array([[0.0], [1], [0]]),
        n_samples=3,
        hits=np.array([1, 1, 1]),
        residuals=np.zeros((3, 1)),
        squares=np.zeros(3),
        distances=np.zeros(3),
        first=np.zeros(0, int),
        second=np.zeros(0, int),
        counts=np.zeros(0, int),
    )
    note = formula("codebook_davies_bouldin")(twins).note
    assert note == "the code vectors of units 0 and 2 coincide"


def test_rank_correlation_of_distances() -> None:
    assert metrics.map_distance_correlation([[0.0]], chain(0.0, 1.0, 2.0, 3.0)).item() == 1
    # distances 1, 2, 1 on the map and 3, 1, 2 of the codes
    assert metrics.map_distance_correlation([[0.0]], chain(0.0, 3.0, 1.0)).item() < 0
    for som, reason in (
        (chain(0.0, 1.0), "fewer than three units"),
        (chain(1.0, 1.0, 1.0), "all distances of the code vectors are equal"),
        (
            ss.codebook([[0.0], [1], [3]], ss.Grid.from_edges(3, [(0, 1), (1, 2), (0, 2)])),
            "all distances on the map are equal",
        ),
    ):
        found = metrics.map_distance_correlation([[0.0]], som)
        assert math.isnan(found.item())
        assert reason in found.attrs["note"]


def test_pairs_of_too_many_units_are_not_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spacing, "RANKED_UNITS", 3)
    found = metrics.map_distance_correlation([[0.0]], chain(0.0, 1.0, 2.0, 3.0))
    assert math.isnan(found.item())
    assert found.attrs["note"] == "the map has 4 units; pairs of at most 3 are ranked"


# --- any samples, any map


@given(both=maps(), neighborhood=st.sampled_from([None, "edge", "vertex"]))
def test_heights_are_those_of_the_definition(
    both: tuple[Case, Arrangement], neighborhood: Any
) -> None:
    found = judged(both, it=("u_matrix", {"neighborhood": neighborhood}))["it"]
    expected = reference_map.u_matrix(both[0].codes, both[1].adjacent[neighborhood])
    np.testing.assert_allclose(found, expected, rtol=ROUNDING, atol=TINY)


@given(both=maps())
def test_entropy_is_that_of_the_definition(both: tuple[Case, Arrangement]) -> None:
    found = judged(both, h="hit_entropy", share=("hit_entropy", {"normalize": True}))
    hits = reference.hits(both[0].samples, both[0].codes).tolist()
    expected = reference_map.entropy(hits)
    assert found["h"] == pytest.approx(expected, rel=ROUNDING, abs=1e-15)
    assert 0 <= found["h"] <= math.log(len(hits))
    if len(hits) > 1:
        assert found["share"] == pytest.approx(expected / math.log(len(hits)), abs=1e-14)


@given(both=maps(), block=st.sampled_from([1, 40, 1 << 20]))
def test_spacings_are_those_of_the_definition(both: tuple[Case, Arrangement], block: int) -> None:
    (samples, codes), delta = (both[0].samples, both[0].codes), both[1].delta
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code_distances, "_BLOCK_VALUES", block)
        found = judged(both, db="codebook_davies_bouldin", rho="map_distance_correlation")
    if not both[0].kind.startswith("scale 1e-1"):  # squares underflow, and with them digits
        expected = reference_map.davies_bouldin(samples, codes)
        assert found["db"] == pytest.approx(expected, rel=ROUNDING, nan_ok=True)
    above = np.triu_indices(len(codes), 1)
    distances = np.sqrt(reference.squared_distances(codes, codes))[above]
    if len(codes) < 3 or np.ptp(distances) == 0 or np.ptp(delta[above]) == 0:
        assert math.isnan(found["rho"])
    elif len(np.unique(np.round(distances / distances.max(), 12))) == len(np.unique(distances)):
        # (where none but equal distances are as good as equal)
        rho = spearmanr(delta[above], distances).statistic
        assert found["rho"] == pytest.approx(rho, abs=1e-12)


@pytest.mark.parametrize(
    "grid", [ss.Grid(4, 6), ss.Grid(4, 3, periodic=True), ss.Grid(4, 5, topology="hexagonal")]
)
def test_a_symmetry_of_the_grid_changes_nothing(grid: ss.Grid) -> None:
    samples, som = gaussian_map(grid)
    for order in symmetries(grid):
        turned = ss.codebook(som["codes"].values[order], grid)
        for name in ("hit_entropy", "codebook_davies_bouldin", "map_distance_correlation"):
            index = getattr(metrics, name)
            np.testing.assert_allclose(index(samples, turned), index(samples, som), rtol=ROUNDING)
        heights = metrics.u_matrix(samples, som).values[order]
        np.testing.assert_allclose(metrics.u_matrix(samples, turned), heights, rtol=ROUNDING)


# --- sample weights: every sum over samples is weighted


def formula(name: str) -> Any:
    """The pure formula of an index."""
    return getattr(metrics, name).formula


def statistics(samples: Any, codes: Any, weights: NDArray[np.float64] | None = None) -> UnitStats:
    """The finished statistics of a map, by definition; weighted where there are weights."""
    best, second = reference.best_two(samples, codes)
    residuals, squares, distances = np.zeros_like(codes), *np.zeros((2, len(codes)))
    mass, hits = np.zeros(len(codes)), np.zeros(len(codes), int)
    pairs: dict[tuple[int, int], list[float]] = {}
    every = np.ones(len(samples)) if weights is None else weights
    for x, u, v, w in zip(samples, best, second, every, strict=True):
        square = float(((x - codes[u]) ** 2).sum())
        residuals[u] += w * (x - codes[u])
        squares[u] += w * square
        distances[u] += w * math.sqrt(square)
        mass[u] += w
        hits[u] += 1
        count, whole = pairs.get((int(u), int(v)), (0, 0.0))
        pairs[int(u), int(v)] = [count + 1, whole + w]
    keys = sorted(pairs)
    return UnitStats(
        codes=codes,
        n_samples=len(samples),
        hits=hits,
        residuals=residuals,
        squares=squares,
        distances=distances,
        first=np.array([u for u, _ in keys]),
        second=np.array([v for _, v in keys]),
        counts=np.array([int(pairs[key][0]) for key in keys]),
        weights=None if weights is None else mass,
        pair_weights=None if weights is None else np.array([pairs[key][1] for key in keys]),
    )


WEIGHTED = [
    spec.name
    for spec in all_specs()
    if spec.subject == "map"
    and set(spec.needs) <= {"units", "grid"}
    and spec.sample_field is None
    and spec.name not in ("hits", "dead_units")  # which count samples
]
GIVEN: dict[str, Any] = {
    "temperature": np.array([0.6, 1.7]),
    "delta": np.array([0.0, 1, 2, 3, 4, 5]),
    "unit_clusters": np.arange(12) // 5,
}
FINISHED = {
    name: inspect.signature(formula(name))
    for name in WEIGHTED
    if next(iter(inspect.signature(formula(name)).parameters)) == "units"
}


@pytest.mark.parametrize("name", FINISHED)
@pytest.mark.parametrize("dead", [False, True])
def test_a_whole_weight_is_that_many_samples(name: str, dead: bool) -> None:
    rng = np.random.default_rng(0)
    grid = ss.Grid(3, 4)
    samples, codes = rng.standard_normal((40, 2)), rng.standard_normal((12, 2))
    weights = rng.integers(0, 4, 40)
    if dead:  # a unit whose samples have no weight, as if it had none
        best, _ = reference.best_two(samples, codes)
        weights[best == best[0]] = 0
    weighted = statistics(samples, codes, weights.astype(float))
    repeated = statistics(np.repeat(samples, weights, axis=0), codes)
    names = FINISHED[name].parameters
    own = {key: value for key, value in GIVEN.items() if key in names}
    data = [grid] if "grid" in names else []
    found, expected = (formula(name)(units, *data, **own) for units in (weighted, repeated))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
