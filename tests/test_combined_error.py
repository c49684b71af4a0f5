"""Combined error: paths over the map from the best to the second-best unit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import reference
import reference_map
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import Case
from test_map_metrics import Arrangement, chain, gaussian_map, judged, maps, symmetries

import somscale as ss
from somscale import metrics
from somscale.errors import InputError
from somscale.topology import group_units, path_lengths, paths

ROUNDING = 1e-12
TINY = 1e-157
"""Where squares are subnormal, their roots have few digits."""


# --- golden values and pitfalls


@pytest.mark.parametrize(
    ("squared", "expected", "within"),
    [(False, 14.18020973636341, 1e-14), (True, 39.040549, 2e-8)],
)
def test_golden_values(digits_map: Any, squared: bool, expected: float, within: float) -> None:
    samples, codes = digits_map
    som = ss.codebook(codes, ss.Grid(8, 8))
    found = metrics.combined_error(samples, som, squared=squared)
    assert found.item() == pytest.approx(expected, rel=within)
    assert found.attrs["units"] == ("(data units)^2" if squared else "data units")
    convention = ss.evaluate(samples, som, metrics="combined_error", convention="somperf")
    assert convention["value"].item() == metrics.combined_error(samples, som).item()


def test_a_path_leads_through_equal_neighbouring_codes() -> None:
    som = chain(0.0, 1.0, 1.0, 0.1)
    assert metrics.combined_error([[0.0]], som).item() == pytest.approx(1.9, rel=1e-15)
    assert metrics.combined_error([[0.0]], som, squared=True).item() == pytest.approx(1.81)
    assert metrics.combined_error([[0.5]], chain(0.0, 0.0, 0.0)).item() == 0.5


def test_a_squared_path_may_be_shorter_round_a_corner() -> None:
    triangle = ss.Grid.from_edges(3, [(0, 1), (1, 2), (0, 2)])
    # best 0, second 1: the edge squared is 16, and by way of 2 it is 4.01 + 4.01
    som = ss.codebook([[0.0, 0], [4, 0], [2, 0.1]], triangle)
    samples = [[1.0, -99]]
    assert metrics.bmu(samples, som).item() == 0
    assert metrics.second_bmu(samples, som).item() == 1
    found = metrics.combined_error(samples, som, squared=True).item()
    assert found == pytest.approx(1 + 99**2 + 2 * 4.01, rel=1e-14)
    plain = metrics.combined_error(samples, som).item()
    assert plain == pytest.approx(math.hypot(1, 99) + 4, rel=1e-14)


def test_where_it_is_undefined() -> None:
    lonely = metrics.combined_error([[1.0]], chain(0.0))
    assert math.isnan(lonely.item())
    assert lonely.attrs["note"] == "a map of one unit has no second-best unit"
    assert np.isnan(metrics.unit_combined_error([[1.0]], chain(0.0)).values).all()
    apart = np.array([[0.0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]])
    grid = ss.Grid.from_distances(apart)
    som = ss.codebook([[0.0], [2], [1], [9]], grid)
    found = metrics.combined_error([[0.0], [9]], som)
    assert math.isnan(found.item())
    assert found.attrs["note"] == "no path over the map joins units 0 and 2"
    som = ss.codebook([[0.0], [1], [20], [9]], grid)
    units = metrics.unit_combined_error([[1.1], [15.0]], som)
    np.testing.assert_allclose(units, [np.nan, 0.1 + 1, 5 + 11, np.nan], rtol=1e-14)
    units = metrics.unit_combined_error([[1.1], [5.5]], som)
    assert np.isnan(units[3])
    assert "no path leads" in units.attrs["undefined"]


def test_numbers_that_overflow_are_said_to() -> None:
    found = metrics.combined_error([[0.0]], chain(0.0, 1.3e154, -1.3e154, 1.0))
    assert math.isnan(found.item())
    assert "overflows" in found.attrs["note"]


@pytest.mark.parametrize("index", [metrics.combined_error, metrics.unit_combined_error])
def test_bad_parameters_are_refused(index: Any) -> None:
    with pytest.raises(InputError, match="squared is True or False, not 'yes'"):
        index([[0.0]], chain(0.0, 1.0), squared="yes")
    with pytest.raises(InputError, match="neighborhood is one of"):
        index([[0.0]], chain(0.0, 1.0), neighborhood="corner")


# --- any samples, any map


@given(both=maps(), squared=st.booleans(), neighborhood=st.sampled_from([None, "edge", "vertex"]))
def test_it_is_that_of_the_definition(
    both: tuple[Case, Arrangement], squared: bool, neighborhood: Any
) -> None:
    own = {"squared": squared, "neighborhood": neighborhood}
    found = judged(both, whole=("combined_error", own), units=("unit_combined_error", own))
    case, arrangement = both
    if len(case.codes) == 1:
        assert math.isnan(found["whole"])
        return
    adjacent = arrangement.adjacent[neighborhood]
    with np.errstate(over="ignore"):
        errors = reference_map.combined_errors(case.samples, case.codes, adjacent, squared=squared)
    expected = errors.mean() if np.isfinite(errors).all() else np.nan
    within: Any = {"rel": ROUNDING, "abs": TINY, "nan_ok": True}
    assert found["whole"] == pytest.approx(expected, **within)
    best, _ = reference.best_two(case.samples, case.codes)
    for unit, value in enumerate(found["units"]):
        own_errors = errors[best == unit]
        fine = len(own_errors) > 0 and np.isfinite(own_errors).all()
        assert value == pytest.approx(own_errors.mean() if fine else np.nan, **within)


@given(both=maps())
def test_it_is_at_least_the_quantization_error(both: tuple[Case, Arrangement]) -> None:
    found = judged(both, ce="combined_error", qe="quantization_error")
    assume(not math.isnan(found["ce"]))
    assert found["ce"] >= found["qe"] * (1 - 1e-15)


@given(both=maps(), power=st.sampled_from([-40, 5, 60]))
def test_scaling_by_a_power_of_two_is_exact(both: tuple[Case, Arrangement], power: int) -> None:
    case, arrangement = both
    assume(not case.kind.startswith("scale") and case.kind != "spread")
    asked: Any = {"plain": "combined_error", "squared": ("combined_error", {"squared": True})}
    factor = 2.0**power
    larger = Case(case.kind, np.asarray(case.samples, np.float64) * factor, case.codes * factor)
    before, after = judged(both, **asked), judged((larger, arrangement), **asked)
    np.testing.assert_equal(after["plain"], before["plain"] * factor)
    np.testing.assert_equal(after["squared"], before["squared"] * factor**2)


@pytest.mark.parametrize(
    "grid",
    [
        ss.Grid(4, 6),
        ss.Grid(4, 5, topology="hexagonal"),
        ss.Grid(4, 3, periodic=True),
        ss.Grid.chain(9),
    ],
    ids=repr,
)
def test_a_symmetry_of_the_grid_changes_nothing(grid: ss.Grid) -> None:
    samples, som = gaussian_map(grid)
    for order in symmetries(grid):
        turned = ss.codebook(som["codes"].values[order], grid)
        for squared in (False, True):
            found = metrics.combined_error(samples, turned, squared=squared)
            expected = metrics.combined_error(samples, som, squared=squared)
            np.testing.assert_allclose(found, expected, rtol=ROUNDING)
        units = metrics.unit_combined_error(samples, turned).values
        expected_units = metrics.unit_combined_error(samples, som).values[order]
        np.testing.assert_allclose(units, expected_units, rtol=ROUNDING)


# --- paths


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(2, 40),
    zeros=st.sampled_from([0.0, 0.3, 1.0]),
    radius=st.sampled_from([1, 10**6]),
)
def test_paths_are_the_shortest_however_they_are_searched(
    seed: int, size: int, zeros: float, radius: int
) -> None:
    rng = np.random.default_rng(seed)
    pairs = np.argwhere(np.triu(rng.random((size, size)) < 2 / size, 1))
    lengths = rng.integers(0, 50, len(pairs)) * (rng.random(len(pairs)) >= zeros) / 1.0
    i, j = rng.integers(0, size, (2, 60))
    adjacent, table = np.zeros((size, size), bool), np.zeros((size, size))
    for (one, other), length in zip(pairs, lengths, strict=True):
        adjacent[one, other] = adjacent[other, one] = True
        table[one, other] = table[other, one] = length
    expected = reference_map.shortest_paths(adjacent, table)[i, j]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "WHOLE_SIZE", radius)
        patch.setattr(paths, "SEARCH_BLOCK", size * 3)
        found = path_lengths(size, pairs, lengths, i, j)
    np.testing.assert_array_equal(found, np.where(np.isinf(expected), np.nan, expected))
    part = group_units(size, pairs)
    np.testing.assert_array_equal(part[i] == part[j], np.isfinite(expected))


def test_a_large_map_has_no_table_of_all_paths() -> None:
    # 90,000 units: a table of their paths would hold 65 GB
    grid = ss.Grid(300, 300)
    edges = grid.edges()
    i, j = np.array([0, 0, 45_150, 89_999]), np.array([301, 1, 45_450, 89_699])
    found = path_lengths(grid.size, edges, np.ones(len(edges)), i, j)
    np.testing.assert_array_equal(found, grid.distance(i, j))
