"""Spaces: distances between blocks, against scipy and the definitions in higher precision."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, euclidean, pdist, squareform

from somscale.errors import InputError
from somscale.spaces import (
    DISTANCES,
    AngleSpace,
    BadPair,
    BadRow,
    CodeSpace,
    EuclideanSpace,
    FunctionSpace,
    MapSpace,
    MinkowskiSpace,
    Space,
    check_matrix,
    check_matrix_tile,
    make_space,
)
from somscale.spaces.euclidean import DIRECT_FEATURES
from somscale.topology import Grid

Array = NDArray[Any]
Floats = NDArray[np.float64]


def all_distances(space: Space, x: Array, y: Array) -> Floats:
    out = np.full((len(x), len(y)), np.nan)
    space.distances(space.prepare(x), space.prepare(y), out)
    return out


def _normal(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.standard_normal((n, d))


def _constant_features(rng: np.random.Generator, n: int, d: int) -> Array:
    values = rng.standard_normal((n, d))
    values[:, : d // 2] = 0.1
    return values


def _tight(rng: np.random.Generator, n: int, d: int) -> Array:
    """Clusters 1e9 apart whose inner distances are about 1."""
    places = np.random.default_rng(0).integers(-3, 4, (4, d)) * 1e9
    return places[rng.integers(0, 4, n)] + rng.standard_normal((n, d))


KINDS: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "normal": _normal,
    "ties": lambda rng, n, d: rng.integers(0, 3, (n, d)).astype(float),
    "integers": lambda rng, n, d: rng.integers(-5, 6, (n, d)),
    "bytes": lambda rng, n, d: rng.integers(0, 255, (n, d)).astype(np.uint8),
    "float32": lambda rng, n, d: rng.standard_normal((n, d)).astype(np.float32),
    "duplicates": lambda rng, n, d: np.random.default_rng(0).random((3, d))[rng.integers(0, 3, n)],
    "constant": _constant_features,
    "offset": lambda rng, n, d: rng.standard_normal((n, d)) + 1e8,
    "small": lambda rng, n, d: rng.standard_normal((n, d)) * 1e-9,
    "large": lambda rng, n, d: rng.standard_normal((n, d)) * 1e120,
    "tight": _tight,
    "transposed": lambda rng, n, d: rng.standard_normal((d, n)).T,
}


@st.composite
def blocks(draw: st.DrawFn, least_features: int = 1) -> tuple[Array, Array]:
    """Two blocks of samples of one kind."""
    make = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    features = draw(st.integers(least_features, 40))
    left, right = (make(rng, draw(st.integers(1, 40)), features) for _ in range(2))
    return left, right


def long_squares(x: Array, y: Array, weights: Array | None = None) -> NDArray[np.longdouble]:
    difference = x.astype(np.longdouble)[:, None, :] - y.astype(np.longdouble)[None, :, :]
    total: NDArray[np.longdouble] = (
        difference**2 * (1 if weights is None else weights.astype(np.longdouble))
    ).sum(axis=-1)
    return total


@given(blocks(), st.sampled_from(["none", "mean", "elsewhere"]), st.booleans())
def test_euclidean_keeps_twelve_digits(
    two: tuple[Array, Array], where: str, weighted: bool
) -> None:
    x, y = two
    features = x.shape[1]
    center = {"none": None, "mean": x.mean(axis=0), "elsewhere": np.full(features, 0.3)}[where]
    weights = np.linspace(0.5, 2, features) if weighted else None
    expected = long_squares(x, y, weights)
    for name in ("sqeuclidean", "euclidean"):
        space = make_space(name, n_features=features, feature_weights=weights, center=center)
        exact = expected if name == "sqeuclidean" else np.sqrt(expected)
        found = all_distances(space, x, y)
        rtol = 2e-12 if name == "sqeuclidean" else 1e-12
        np.testing.assert_allclose(found, exact.astype(float), rtol=rtol, atol=0)
        assert (found[expected == 0] == 0).all()


@pytest.mark.parametrize("offset", [3.0, 30.0, 300.0, 1e4, 1e6])
def test_no_offset_costs_digits(offset: float) -> None:
    x, y = np.random.default_rng(0).standard_normal((2, 60, 20)) + offset
    found = all_distances(make_space("sqeuclidean"), x, y)
    np.testing.assert_allclose(found, long_squares(x, y).astype(float), rtol=1.5e-12)


@given(blocks())
def test_few_features_equal_scipy_bit_for_bit(two: tuple[Array, Array]) -> None:
    x, y = (block[:, :DIRECT_FEATURES] for block in two)
    found = all_distances(make_space("sqeuclidean"), x, y)
    np.testing.assert_array_equal(found, cdist(x, y, "sqeuclidean"))
    np.testing.assert_array_equal(all_distances(make_space("l2"), x, y), np.sqrt(found))


@given(blocks())
def test_cityblock_and_chebyshev_equal_scipy_bit_for_bit(two: tuple[Array, Array]) -> None:
    x, y = two
    for name in ("cityblock", "chebyshev"):
        np.testing.assert_array_equal(all_distances(make_space(name), x, y), cdist(x, y, name))


@given(blocks(), st.sampled_from([1.0, 1.5, 2.0, 2.5, 3, 7, np.inf]))
def test_minkowski_equals_scipy(two: tuple[Array, Array], p: float) -> None:
    x, y = two
    if max(np.abs(x).max(), np.abs(y).max()) > 1e30:
        x, y = x * 1e-120, y * 1e-120  # where scipy overflows
    expected = cdist(x, y, "minkowski", p=p)
    rtol = 1e-12 if p == 2 else 1e-14
    np.testing.assert_allclose(
        all_distances(make_space("minkowski", p=p), x, y), expected, rtol=rtol, atol=0
    )


@pytest.mark.parametrize("p", [3, 40, 40.5, 1e5])
@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e9, 1e300])
def test_minkowski_powers_neither_overflow_nor_vanish(p: float, scale: float) -> None:
    x, y = np.random.default_rng(0).standard_normal((2, 6, 5))
    largest = cdist(x, y, "chebyshev")
    shares = np.abs(x[:, None] - y[None]) / largest[..., None]
    expected = largest * (shares**p).sum(axis=-1) ** (1 / p) * scale
    found = all_distances(make_space("minkowski", p=p), x * scale, y * scale)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)


def long_angles(x: Array, y: Array, centred: bool) -> Floats:
    sides = []
    for values in (x, y):
        side = values.astype(np.longdouble)
        if centred:
            side -= side.mean(axis=1, keepdims=True)
        sides.append(side / np.sqrt((side**2).sum(axis=1, keepdims=True)))
    distances: Floats = ((sides[0][:, None] - sides[1][None]) ** 2).sum(axis=-1).astype(float) / 2
    return distances


@given(blocks(least_features=2), st.booleans())
def test_angles_follow_their_definition(two: tuple[Array, Array], centred: bool) -> None:
    x, y = (block[[len(set(row)) > 1 for row in block.tolist()]] for block in two)
    found = all_distances(AngleSpace(centred), x, y)
    np.testing.assert_allclose(found, long_angles(x, y, centred), rtol=1e-13, atol=3e-15)
    assert (found >= 0).all()
    assert (found <= 2).all()
    same = all_distances(AngleSpace(centred), x, x)
    assert (np.diag(same) == 0).all()


@pytest.mark.parametrize("name", ["cosine", "correlation"])
def test_angles_equal_scipy_on_plain_data(name: str) -> None:
    x, y = np.random.default_rng(0).standard_normal((2, 30, 7))
    found = all_distances(make_space(name), x, y)
    np.testing.assert_allclose(found, cdist(x, y, name), rtol=0, atol=1e-14)


@pytest.mark.parametrize("scale", [5e-324 * 2**20, 1e-200, 1e200, 1e308])
@pytest.mark.parametrize("centred", [False, True])
def test_angles_do_not_depend_on_size(scale: float, centred: bool) -> None:
    x = np.array([[1.0, -1.0, 0.5], [0.25, 1.0, 1.0], [-1.0, 1.0, -0.5]])
    expected = all_distances(AngleSpace(centred), x, x)
    found = all_distances(AngleSpace(centred), x * scale, x)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-30)
    assert found[0, 2] == 2


def test_opposite_vectors_are_no_further_than_two() -> None:
    x = np.random.default_rng(0).standard_normal((300, 7))
    found = np.diag(all_distances(make_space("cosine"), x, -x))
    assert found.max() == 2
    assert found.min() > 2 - 1e-14


def test_small_angles_keep_their_digits() -> None:
    turn = 1e-6
    x, y = np.array([[1.0, 0.0]]), np.array([[np.cos(turn), np.sin(turn)]])
    found = all_distances(make_space("cosine"), x, y)
    np.testing.assert_allclose(found, [[2 * np.sin(turn / 2) ** 2]], rtol=1e-9)


def test_correlation_far_from_zero_is_that_of_the_deviations() -> None:
    deviations = np.random.default_rng(0).integers(-9, 10, (8, 6)).astype(float)
    expected = all_distances(make_space("correlation"), deviations, deviations)
    found = all_distances(make_space("correlation"), deviations + 1e12, deviations)
    np.testing.assert_allclose(found, expected, atol=1e-15)


@pytest.mark.parametrize("name", DISTANCES)
def test_symmetric_with_zero_diagonal(name: str) -> None:
    x = np.random.default_rng(0).standard_normal((25, 12)) + 3
    p = 3 if name == "minkowski" else None
    space = make_space(name, p=p)
    found = all_distances(space, x, x)
    assert (np.diag(found) == 0).all()
    reference = squareform(pdist(x, name, **({} if p is None else {"p": p})))
    np.testing.assert_allclose(found, reference, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("name", ["sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine"])
def test_no_distance_depends_on_the_cut(name: str) -> None:
    """The products of cosine apart, whose last bits are the BLAS's own."""
    x, y = np.random.default_rng(1).standard_normal((2, 37, DIRECT_FEATURES))
    space = make_space(name, p=2.5 if name == "minkowski" else None)
    left, right = space.prepare(x), space.prepare(y)
    whole = np.empty((37, 37))
    space.distances(left, right, whole)
    for rows in (slice(0, 5), slice(5, 6), slice(6, 37)):
        for columns in (slice(0, 16), slice(16, 37)):
            corner = np.full((40, 40), -1.0)
            view = corner[: rows.stop - rows.start, : columns.stop - columns.start]
            space.distances(left.part(rows), right.part(columns), view)
            if name == "cosine":
                np.testing.assert_allclose(view, whole[rows, columns], rtol=1e-14, atol=1e-15)
            else:
                np.testing.assert_array_equal(view, whole[rows, columns])
            assert corner.sum() == pytest.approx(view.sum() - (1600 - view.size))


def test_parts_are_views() -> None:
    x = np.random.default_rng(0).standard_normal((10, 20))
    prepared = make_space("euclidean").prepare(x)
    part = prepared.part(slice(3, 7))
    assert len(prepared) == 10
    assert len(part) == 4
    for mine, whole in zip(part.arrays, prepared.arrays, strict=True):
        assert np.shares_memory(mine, whole)


def test_input_is_left_as_it_is() -> None:
    x = np.random.default_rng(0).standard_normal((10, 20)) + 5
    x.flags.writeable = False
    for name in DISTANCES:
        all_distances(make_space(name), x, x)  # would raise


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("features", [3, 12])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "inf")])
def test_row_and_feature_that_are_not_finite_are_named(
    name: str, features: int, value: float, word: str
) -> None:
    x = np.random.default_rng(0).standard_normal((6, features)).astype(np.float32)
    x[4, 2] = value
    with pytest.raises(BadRow, match=rf"row 4, feature 2 is {word}; clean .* missing=") as caught:
        make_space(name, p=3 if name == "minkowski" else None).prepare(x)
    assert (caught.value.row, caught.value.feature) == (4, 2)


def test_a_weight_of_zero_hides_no_nan() -> None:
    space = make_space("euclidean", feature_weights=[0.0, 1.0])
    with pytest.raises(BadRow, match="is nan"):
        space.prepare(np.array([[np.nan, 1.0]]))


def test_a_small_weight_hides_no_overflow() -> None:
    space = make_space("euclidean", feature_weights=[1e-20, 1.0])
    with pytest.raises(BadRow, match="feature 0 is 1e\\+160, whose square overflows"):
        space.prepare(np.array([[1e160, 1.0]]))


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("euclidean", -1e155, "whose square overflows"),
        ("sqeuclidean", 1e200, "whose square overflows"),
        ("cityblock", 1e308, "so large that distances overflow"),
        ("chebyshev", -1e308, "so large that distances overflow"),
        ("minkowski", 1e308, "so large that distances overflow"),
    ],
)
def test_overflow_is_refused(name: str, value: float, reason: str) -> None:
    x = np.ones((3, 12))
    x[1, 7] = value
    with pytest.raises(BadRow, match=rf"row 1, feature 7 is .*{reason}; divide"):
        make_space(name, p=3 if name == "minkowski" else None).prepare(x)


@pytest.mark.parametrize("name", ["sqeuclidean", "cityblock", "chebyshev"])
@pytest.mark.parametrize("features", [4, 12])
def test_what_is_not_refused_does_not_overflow(name: str, features: int) -> None:
    space, refused = make_space(name), []
    first = 504 if name == "sqeuclidean" else 1014
    for power in np.arange(first, first + 10, 0.25):
        x = np.full((1, features), 2.0 ** np.longdouble(power)).astype(float)
        try:
            assert np.isfinite(all_distances(space, x, -x)).all()
        except BadRow:
            refused.append(power)
    assert 8 < len(refused) < 32  # of 40: no more than a few powers of two too early


def test_vectors_without_direction_are_refused() -> None:
    x = np.random.default_rng(0).standard_normal((4, 5))
    x[2] = 0
    with pytest.raises(BadRow, match=r"row 2 holds only zeros; cosine .* mask=") as caught:
        make_space("cosine").prepare(x)
    assert caught.value.feature is None
    for values in (7.0, 0.0, [0.3, 0.1 + 0.2, 0.3, 0.3, 0.3]):
        x[2] = values
        with pytest.raises(BadRow, match=r"row 2 has the same value .* correlation .* mask="):
            make_space("correlation").prepare(x)
    x[2] = [1e8, 1e8, 1e8, 1e8, 1e8 + 1e-6]
    make_space("correlation").prepare(x)


@pytest.mark.parametrize(
    ("name", "canonical"),
    [("manhattan", "cityblock"), ("l1", "cityblock"), ("l2", "euclidean"), ("cosine", "cosine")],
)
def test_names_and_aliases(name: str, canonical: str) -> None:
    assert make_space(name).name == canonical


def test_what_is_a_metric() -> None:
    metrics = {name for name in DISTANCES if make_space(name).is_metric}
    assert metrics == {"euclidean", "cityblock", "chebyshev", "minkowski"}
    assert not FunctionSpace(cdist).is_metric


@pytest.mark.parametrize(
    ("p", "name"),
    [(None, "euclidean"), (1, "cityblock"), (2.0, "euclidean"), (np.inf, "chebyshev")],
)
def test_minkowski_of_known_exponents(p: float | None, name: str) -> None:
    assert make_space("minkowski", p=p).name == name
    assert make_space("minkowski", p=3) == MinkowskiSpace(3.0)


@pytest.mark.parametrize(
    ("distance", "keywords", "reason"),
    [
        ("euclidian", {}, "unknown distance 'euclidian'; did you mean 'euclidean'"),
        ("City-block", {}, "did you mean 'cityblock'"),
        ("zzz", {}, "it is one of 'euclidean', 'sqeuclidean', 'cityblock'.*'l2'"),
        (3, {}, "unknown distance 3"),
        ("minkowski", {"p": 0.5}, "p must be a number of at least 1, not 0.5"),
        ("minkowski", {"p": float("nan")}, "at least 1"),
        ("minkowski", {"p": "3"}, "at least 1"),
        ("euclidean", {"p": 2}, "p is the exponent of distance='minkowski'"),
        (cdist, {"p": 2}, "a function takes none"),
        ("cosine", {"feature_weights": [1, 2]}, "feature_weights go with distance='euclidean'"),
        (cdist, {"feature_weights": [1, 2]}, "feature_weights go with"),
        ("euclidean", {"feature_weights": [1, -2]}, r"feature_weights\[1\] is -2"),
        ("euclidean", {"feature_weights": [1, np.nan]}, r"feature_weights\[1\] is nan"),
        ("euclidean", {"feature_weights": [1, 2], "n_features": 3}, r"must have shape \(3,\)"),
        ("euclidean", {"center": [[1, 2]]}, r"center must have shape \(D,\)"),
    ],
)
def test_bad_distances_are_refused(distance: Any, keywords: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        make_space(distance, **keywords)


GRIDS = [
    Grid(3, 4),
    Grid(4, 5, topology="hexagonal", periodic=True),
    Grid(3, 4, delta="euclidean"),
    Grid.from_edges(4, [(0, 1), (0, 2), (0, 3)]),
    Grid.from_distances([[0, 2, 7], [2, 0, 1], [7, 1, 0]]),
]


@pytest.mark.parametrize("grid", GRIDS, ids=repr)
@pytest.mark.parametrize("kept", [True, False])
def test_map_distances_are_those_of_the_table(
    grid: Grid, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kept:
        monkeypatch.setattr("somscale.spaces.mapped.LARGEST_TABLE", 0)
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, grid.size, 30).astype(np.int32), rng.integers(0, grid.size, 9)
    table = grid.distances()
    np.testing.assert_array_equal(all_distances(MapSpace(grid), x, y), table[x[:, None], y])
    np.testing.assert_array_equal(
        all_distances(MapSpace.from_table(table), x, y), table[x[:, None], y]
    )


def test_large_maps_need_no_table() -> None:
    space = MapSpace(Grid(256, 256))
    x, y = np.array([0, 65_535, 256, 0]), np.array([65_535, 1])
    expected = [[510, 1], [0, 509], [509, 2], [510, 1]]
    np.testing.assert_array_equal(all_distances(space, x, y), expected)
    assert space.is_metric
    assert not MapSpace.from_table([[0, 1], [1, 0]]).is_metric


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("weights", [None, np.array([1.0, 0.0, 2.0])])
def test_code_distances_are_those_of_the_vectors(
    kept: bool, weights: Floats | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kept:
        monkeypatch.setattr("somscale.spaces.mapped.LARGEST_TABLE", 0)
    rng = np.random.default_rng(0)
    codes = rng.standard_normal((7, 3)) + 1e8
    x, y = rng.integers(0, 7, 20), rng.integers(0, 7, 5)
    found = all_distances(CodeSpace(codes, weights), x, y)
    expected = np.sqrt(long_squares(codes[x], codes[y], weights)).astype(float)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_units_out_of_range_are_refused() -> None:
    space = MapSpace(Grid(2, 3))
    for unit in (-1, 6):
        with pytest.raises(BadRow, match=f"row 1 has unit {unit}, .* from 0 to 5"):
            space.prepare(np.array([0, unit, 2]))
    with pytest.raises(InputError, match="one integer a sample, not float64"):
        space.prepare(np.zeros(3))


def far(X: Array, Y: Array) -> Array:
    return cdist(X, Y, "canberra")


def cosine(X: Array, Y: Array) -> Array:
    """A user's function may bear a known name."""
    return far(X, Y)


def of_vectors(x: Array, y: Array) -> float:
    if x.ndim != 1:
        raise ValueError("no vector")
    return float(np.abs(x - y).sum())


def function_on(function: Any, n: int = 4, m: int = 4, *, same: bool = True) -> Floats:
    x = np.arange(3.0 * n).reshape(n, 3)
    y = x if same else np.arange(3.0 * m).reshape(m, 3) ** 2 + 1
    space, out = make_space(function), np.empty((n, m))
    space.distances(space.prepare(x), space.prepare(y), out, same=same)
    return out


def test_functions_of_two_blocks() -> None:
    for function in (far, cosine):
        space = make_space(function)
        assert space.name == function.__name__
        x, y = np.random.default_rng(0).standard_normal((2, 5, 3))
        np.testing.assert_array_equal(all_distances(space, x, y), cdist(x, y, "canberra"))
    function_on(far)


ASYMMETRIC = np.where(np.eye(4) > 0, 0.0, np.arange(1.0, 17).reshape(4, 4))


@pytest.mark.parametrize(
    ("function", "kind", "reason"),
    [
        (lambda X, Y: 1.0, InputError, "returns a single value; .* as lambda X, Y: scipy"),
        (euclidean, InputError, "distance function 'euclidean' must .* as lambda X, Y: scipy"),
        (of_vectors, InputError, r"'of_vectors' .*fails \(no vector\); .* as lambda X, Y: scipy"),
        (lambda X, Y: np.ones(4), InputError, r"returns an array of shape \(4,\)"),
        (lambda X, Y: cdist(X, Y).T[1:], InputError, r"return their distances \(4, 4\), but"),
        (lambda X, Y: cdist(X, Y) + 0j, InputError, "as real numbers, but it returns complex128"),
        (lambda X, Y: cdist(X, Y) * np.nan, BadPair, "rows 0 and 0: .* gives nan; .* at least 0"),
        (lambda X, Y: cdist(X, Y) - 20, BadPair, "gives -"),
        (lambda X, Y: 1 / (1 + cdist(X, Y)), BadPair, "gives 1.0 from a sample to itself"),
        (lambda X, Y: ASYMMETRIC, BadPair, "rows 0 and 1: .* gives 2.0, but 5.0 .* swapped"),
    ],
)
def test_functions_that_are_no_distance(function: Any, kind: type[Exception], reason: str) -> None:
    with pytest.raises(kind, match=reason):
        function_on(function)


def test_functions_are_compared_with_themselves_on_the_diagonal_only() -> None:
    np.testing.assert_array_equal(function_on(lambda X, Y: ASYMMETRIC, same=False), ASYMMETRIC)


def test_rounding_on_the_diagonal_of_a_function_passes() -> None:
    function_on(lambda X, Y: cdist(X, Y) + 1e-7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_matrices_pass(dtype: Any) -> None:
    matrix = np.random.default_rng(0).integers(1, 9, (7, 7))
    matrix = (matrix + matrix.T).astype(dtype)
    np.fill_diagonal(matrix, 0)
    if np.dtype(dtype).kind == "f":
        matrix[2, 5] *= 1 + 4 * np.finfo(dtype).eps
    check_matrix(matrix.shape, matrix.dtype, False)
    for row in (0, 4):
        for column in (0, 4):
            box, mirrored = matrix[row:, column:], matrix[column:, row:]
            check_matrix_tile(box, mirrored, row, column)


@pytest.mark.parametrize(
    ("row", "column", "value", "reason"),
    [
        (2, 5, -1.0, r"holds -1.0 at \[102, 55\]: no distance is negative"),
        (2, 5, np.nan, r"holds nan at \[102, 55\]: every distance must be finite"),
        (2, 5, np.inf, r"holds inf at \[102, 55\]: every distance must be finite"),
        (2, 5, 1.0001, r"1.0001 at \[102, 55\], 1.0 at \[55, 102\].*1e-08.*\(D \+ D.T\) / 2"),
        (2, 52, 1.0, r"holds 1.0 at \[102, 102\].*fill_diagonal"),
    ],
)
def test_matrices_that_are_refused(row: int, column: int, value: float, reason: str) -> None:
    box = np.ones((8, 60))  # rows from 100, columns from 50
    np.fill_diagonal(box[:, 50:], 0)
    mirrored = box.T.copy()
    check_matrix_tile(box, mirrored, 100, 50)
    box[row, column] = value
    with pytest.raises(InputError, match=reason):
        check_matrix_tile(box, mirrored, 100, 50)


def test_the_diagonal_is_found_on_either_side() -> None:
    matrix = np.ones((30, 30)) - np.eye(30)
    matrix[22, 22] = 3
    for row, column in ((20, 5), (5, 20), (20, 20)):
        box, mirrored = matrix[row:, column:], matrix[column:, row:]
        with pytest.raises(InputError, match=r"holds 3.0 at \[22, 22\]"):
            check_matrix_tile(box, mirrored, row, column)


def test_the_mirrored_side_is_checked_too() -> None:
    box = np.ones((3, 2))
    mirrored = np.ones((2, 3))
    mirrored[1, 2] = -1
    with pytest.raises(InputError, match=r"holds -1.0 at \[1, 12\]"):
        check_matrix_tile(box, mirrored, 10, 0)


@pytest.mark.parametrize(
    ("shape", "dtype", "is_sparse", "reason"),
    [
        ((4, 3), float, False, r"row and a column for each sample, not shape \(4, 3\)"),
        ((4,), float, False, "not shape"),
        ((4, 4), complex, False, "real numbers, not complex128"),
        ((4, 4), "U3", False, "real numbers"),
        ((4, 4), float, True, "k-nearest-neighbour graph, is not a distance matrix: what it does"),
    ],
)
def test_arrays_that_are_no_matrix(shape: Any, dtype: Any, is_sparse: bool, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        check_matrix(shape, dtype, is_sparse)


SPACES: list[tuple[Space, Array]] = [
    *((make_space(name), np.random.default_rng(0).random((4, 12))) for name in DISTANCES),
    (EuclideanSpace(False, np.ones(12), np.ones(12)), np.random.default_rng(0).random((4, 12))),
    (make_space("minkowski", p=3), np.random.default_rng(0).random((4, 12))),
    (make_space(far), np.random.default_rng(0).random((4, 12))),
    (MapSpace(Grid(3, 3)), np.arange(4)),
    (CodeSpace(np.random.default_rng(0).random((9, 2))), np.arange(4)),
]


@pytest.mark.parametrize(("space", "x"), SPACES, ids=[space.name for space, _ in SPACES])
def test_spaces_pickle_with_nothing_but_their_parameters(space: Space, x: Array) -> None:
    fresh = pickle.dumps(space)
    expected = all_distances(space, x, x)
    assert pickle.dumps(space) == fresh
    np.testing.assert_array_equal(all_distances(pickle.loads(fresh), x, x), expected)
    assert space.operations(12) > 0


def test_faults_pickle() -> None:
    row = pickle.loads(pickle.dumps(BadRow(3, 2, "is nan", "clean it")))
    assert (row.row, row.feature, row.problem, row.remedy) == (3, 2, "is nan", "clean it")
    pair = pickle.loads(pickle.dumps(BadPair(3, 2, "gives nan", "mend it")))
    assert str(pair) == "rows 3 and 2: gives nan; mend it"


def test_import_compiles_nothing() -> None:
    code = "import sys, somscale.spaces; print('numba' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"
