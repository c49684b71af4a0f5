"""Passes of the units reduction with weights and gaps, in any cut, and what they must find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from passes import cut_by_hand

from somscale.engine.linear.job import Cut, LinearJob
from somscale.engine.readers.sources import ArraySource
from somscale.reductions.units import UnitsReduction, UnitStats

TILE = 8
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Values:
    """A column of a pass."""

    values: NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        return self.values[start:stop]


def pass_of(
    samples: ArrayLike,
    codes: ArrayLike,
    columns: Mapping[str, ArrayLike] | None = None,
    cut: Cut | None = None,
    tile_rows: int = TILE,
    **options: Any,
) -> UnitStats:
    """What a pass with some options finds; in one run over whole tiles unless it is cut."""
    values = np.asarray(samples)
    reduction = UnitsReduction(np.asarray(codes, np.float64), samplewise=True, **options)
    reduction.tile_rows = tile_rows
    named: Any = {name: Values(np.asarray(column)) for name, column in (columns or {}).items()}
    n, d = values.shape
    job = LinearJob([reduction], n, d, source=ArraySource(values), columns=named)
    stats: UnitStats = cut_by_hand(job, cut or Cut("rows", 1 << 20, d, tile_rows))[0]
    return stats


def any_cut(n_features: int) -> st.SearchStrategy[Cut]:
    """Ways to cut a pass whose tiles have `TILE` rows."""
    return st.builds(
        Cut,
        st.sampled_from(["rows", "features"]),
        st.sampled_from([1, 2, 8]),
        st.integers(1, n_features + 1),
        st.integers(1, TILE),
    )


def squares_by_weight(samples: ArrayLike, codes: ArrayLike, weights: Floats) -> Floats:
    """Σ_f v_f (x_f − m_f)², (N, K): ((x − m)²) v added in feature order."""
    x, m = np.asarray(samples, np.float64), np.asarray(codes, np.float64)
    total = np.zeros((len(x), len(m)))
    for feature, weight in enumerate(weights):
        difference = x[:, None, feature] - m[None, :, feature]
        total += (difference * difference) * weight
    return total


def expected_sums(
    samples: ArrayLike, codes: ArrayLike, v: Floats, w: Floats, taken: NDArray[np.bool_]
) -> dict[str, NDArray[Any]]:
    """Every field of a weighted pass, from its definition, by one addition after the other."""
    x, m = np.asarray(samples, np.float64), np.asarray(codes, np.float64)
    n_units = len(m)
    order = np.argsort(squares_by_weight(x, m, v), axis=1, kind="stable")
    squares = squares_by_weight(x, m, v)
    sums = {
        "hits": np.zeros(n_units, np.int64),
        "weights": np.zeros(n_units),
        "squares": np.zeros(n_units),
        "distances": np.zeros(n_units),
        "raw_residuals": np.zeros(m.shape),
        "pairs": np.zeros((n_units, n_units)),
        "pair_hits": np.zeros((n_units, n_units), np.int64),
        "bmu": np.full(len(x), -1),
        "second_bmu": np.full(len(x), -1),
        "distance": np.full(len(x), np.nan),
    }
    for i in np.flatnonzero(taken):
        best = order[i, 0]
        sums["hits"][best] += 1
        sums["weights"][best] += w[i]
        sums["squares"][best] += w[i] * squares[i, best]
        sums["distances"][best] += w[i] * np.sqrt(squares[i, best])
        sums["raw_residuals"][best] += w[i] * (x[i] - m[best])
        sums["bmu"][i], sums["distance"][i] = best, np.sqrt(squares[i, best])
        if n_units > 1:
            sums["second_bmu"][i] = order[i, 1]
            sums["pairs"][best, order[i, 1]] += w[i]
            sums["pair_hits"][best, order[i, 1]] += 1
    return sums


def assert_sums(stats: UnitStats, expected: Mapping[str, NDArray[Any]], rtol: float) -> None:
    """Whole numbers and choices are equal; sums are, within the rounding of few additions."""
    for name in ("hits", "bmu", "second_bmu", "distance"):
        np.testing.assert_array_equal(getattr(stats, name), expected[name], name)
    pairs = np.zeros_like(expected["pair_hits"])
    pairs[stats.first, stats.second] = stats.counts
    np.testing.assert_array_equal(pairs, expected["pair_hits"])
    weights = np.zeros_like(expected["pairs"])
    weights[stats.first, stats.second] = stats.pair_mass
    np.testing.assert_allclose(weights, expected["pairs"], rtol=rtol)
    for name in ("squares", "distances"):
        np.testing.assert_allclose(getattr(stats, name), expected[name], rtol=rtol, atol=1e-300)
    np.testing.assert_allclose(stats.mass, expected["weights"], rtol=rtol)


def assert_equal_statistics(found: UnitStats, expected: UnitStats, rtol: float = 0) -> None:
    """All sums over units are the same, to the bit unless a tolerance is given."""
    for name in ("hits", "first", "second", "counts"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    for name in ("squares", "distances", "mass", "pair_mass"):
        left, right = getattr(found, name), getattr(expected, name)
        if rtol:
            np.testing.assert_allclose(left, right, rtol=rtol, err_msg=name)
        else:
            np.testing.assert_array_equal(left, right, name)
