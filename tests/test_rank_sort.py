"""Rows of distances are sorted exactly, whatever their values are like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rank_tables import ranks_of

from somscale._types import AnyArray, Float, Int
from somscale.errors import SampleValueError
from somscale.reductions.rank_finish import finish_ranks
from somscale.reductions.rank_sheet import RankWant, Sheet


def sorted_matrix(a: Float, b: Float) -> tuple[AnyArray, AnyArray]:
    """The co-ranking matrix by the sheet, and by NumPy's stable sort."""
    n = a.shape[1]
    rows = np.arange(len(a))
    sheet = Sheet(RankWant(0, matrix=n - 1), n, len(a), 0)
    sheet.add_sorted(slice(0, len(a)), rows, a, b, n)
    expected = np.zeros((n - 1, n - 1), int)
    for i in rows:
        rho, r = (ranks_of(keys[i], i, np.arange(n)) for keys in (a, b))
        others = rows_but(n, i)
        np.add.at(expected, (rho[others] - 1, r[others] - 1), 1)
    return sheet.partial()["matrix"], expected


def rows_but(n: int, i: Any) -> Int:
    return np.delete(np.arange(n), i)


def hard_keys(kind: str, n: int, rng: np.random.Generator) -> Float:
    base = rng.random((3, n))
    match kind:
        case "near ties":
            return 1 + 1e-9 * base
        case "near ties and an outlier":
            base = 1 + 1e-13 * base
            base[:, n // 2] = 1e200
            base[:, n // 3] = 0.0
            return base
        case "duplicates":
            base[:, : n // 3] = base[:, n // 3 : 2 * (n // 3)]
            return base
        case "descending":
            return np.tile(1 + 1e-12 * np.arange(n, 0, -1.0), (3, 1))
        case "subnormal":
            return base * 1e-318
        case "negative zero":
            return np.where(base < 0.5, -0.0, np.where(base < 0.7, 0.0, base))
        case _:
            return np.full((3, n), 7.0)


KINDS = (
    "near ties",
    "near ties and an outlier",
    "duplicates",
    "descending",
    "subnormal",
    "negative zero",
    "all equal",
)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_sorted_by_exact_keys(kind: str) -> None:
    rng = np.random.default_rng(3)
    found, expected = sorted_matrix(hard_keys(kind, 700, rng), rng.random((3, 700)))
    np.testing.assert_array_equal(found, expected)


def test_long_rows_are_sorted_by_more_digits() -> None:
    rng = np.random.default_rng(4)
    n = 40_000
    a = np.concatenate([rng.random((1, n - 10)), 1e-12 * rng.random((1, 10))], axis=1)
    sheet = Sheet(RankWant(3, sample_ks=(n - 1,)), n, 1, 0)
    sheet.add_sorted(slice(0, 1), np.array([0]), a, a, n)
    stats = finish_ranks(sheet.want, sheet.partial(), n, 1)
    assert stats.samples is not None
    assert stats.samples.overlap[0, 0] == n - 1
    assert stats.samples.excess_in[0, 0] == 0
    sheet = Sheet(RankWant(n - 1), n, 1, 0)
    b = rng.random((1, n))
    sheet.add_sorted(slice(0, 1), np.array([0]), a, b, n)
    rho, r = (ranks_of(keys[0], 0, np.arange(n)) for keys in (a, b))
    moved = np.bincount(r[1:], weights=abs(rho - r)[1:])
    np.testing.assert_array_equal(sheet.partial()["tally"][7], moved)


def test_a_row_that_meets_too_few_is_named() -> None:
    a = np.ones((3, 3))
    b = np.array([[0, 1, 2], [1, 0, np.inf], [1, 2, 0]])
    sheet = Sheet(RankWant(2), 3, 3, 0)
    with pytest.raises(SampleValueError, match="sample 1 has finite distances to 1 samples"):
        sheet.add_sorted(slice(0, 3), np.arange(3), a, b, 3)
