"""Pictures of maps: where cells lie, what colours mean, what is written, and what is refused."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex, to_rgba
from matplotlib.text import Text
from pictures import wrong_words
from scipy.sparse import csr_array

import somscale as ss
import somscale.plot as pictures
from somscale.errors import InputError
from somscale.plot._figures import CATEGORIES, MISSING, OTHER, label_of
from somscale.plot.cells import cells_of

mpl.use("Agg")
from matplotlib import pyplot

ROOT = Path(__file__).parents[1]
INCHES = 3.9  # 100 mm
HEXAGONS = ss.Grid(5, 6, topology="hexagonal")
TORUS = ss.Grid(4, 6, topology="hexagonal", offset="even", periodic=True)
SQUARES = ss.Grid(4, 5)
STAR = ss.Grid.from_edges(
    4, [(0, 1), (0, 2), (0, 3)], positions=[(0, 0), (0, 2), (-2, -1), (2, -1)]
)


@pytest.fixture(autouse=True)
def _figures_closed() -> Iterator[None]:
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def samples() -> xr.DataArray:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(300, 3)) + rng.integers(0, 3, size=(300, 1)) * 4
    return xr.DataArray(
        values,
        dims=("sample", "feature"),
        coords={"feature": ["temperature", "pressure", "humidity"]},
        attrs={"units": "K"},
    )


@pytest.fixture(scope="module")
def som(samples: xr.DataArray) -> xr.Dataset:
    return ss.train(samples, HEXAGONS, epochs=5)


@pytest.fixture(scope="module")
def classes() -> np.ndarray:
    return np.array(["oak", "beech", "pine"])[np.random.default_rng(2).integers(0, 3, 300)]


@pytest.fixture(scope="module")
def q(samples: xr.DataArray, som: xr.Dataset, classes: np.ndarray) -> xr.Dataset:
    names = ["hits", "u_matrix", "unit_quantization_error", "bmu", "second_bmu"]
    return ss.evaluate(samples, som, labels=classes, metrics=[*names, "label_distribution"])


def corners(artist: Any) -> list[np.ndarray]:
    """Corners of each polygon, the closing one left out."""
    return [path.vertices[:-1] for path in artist.get_paths()]


def middles(artist: Any) -> np.ndarray:
    return np.array([own.mean(axis=0) for own in corners(artist)])


def area(polygon: np.ndarray) -> float:
    x, y = polygon.T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def bars(ax: Any) -> list[Any]:
    """Axes of the figure that are not the given ones."""
    return [other for other in ax.figure.axes if other is not ax]


# Cells


@given(
    rows=st.integers(1, 6),
    cols=st.integers(1, 6),
    offset=st.sampled_from(["odd", "even"]),
    topology=st.sampled_from(["hexagonal", "rectangular"]),
)
@settings(deadline=None, max_examples=30)
def test_cells_lie_at_their_units_and_share_their_sides_exactly(
    rows: int, cols: int, offset: Any, topology: Any
) -> None:
    grid = ss.Grid(rows, cols, topology=topology, offset=offset)
    polygons = cells_of(grid).polygons()
    assert polygons.shape == (grid.size, 6 if topology == "hexagonal" else 4, 2)
    np.testing.assert_allclose(polygons.mean(axis=1), grid.positions, atol=1e-12)
    np.testing.assert_allclose(np.ptp(polygons[:, :, 0], axis=1), 1)
    points = [{tuple(point) for point in polygon.tolist()} for polygon in polygons]
    for i, j in itertools.combinations(range(grid.size), 2):
        shared = len(points[i] & points[j])  # equal bit by bit
        assert (shared == 2) == bool(grid.adjacent(i, j, "edge"))


def test_hexagons_are_regular() -> None:
    polygon = cells_of(HEXAGONS).polygons()[7]
    sides = np.linalg.norm(polygon - np.roll(polygon, -1, axis=0), axis=1)
    np.testing.assert_allclose(sides, 1 / math.sqrt(3))


@pytest.mark.parametrize(
    ("periodic", "sides"), [(False, set()), ("cols", {"x"}), ("rows", {"y"}), (True, {"x", "y"})]
)
def test_borders_that_are_glued_are_found(periodic: Any, sides: set[str]) -> None:
    grid = ss.Grid(4, 5, periodic=periodic)
    lines = cells_of(grid).glued()
    found = set()
    for line in lines:
        if np.ptp(line[:, 0]) > 3:
            found.add("y")
        if np.ptp(line[:, 1]) > 3:
            found.add("x")
    assert found == sides
    length = sum(np.linalg.norm(np.diff(line, axis=0), axis=1).sum() for line in lines)
    assert length == pytest.approx({0: 0, 1: 8 if "x" in sides else 10, 2: 18}[len(sides)])


def test_glued_border_of_hexagons_and_of_a_ring() -> None:
    hexagons = sum(len(line) - 1 for line in cells_of(TORUS).glued())
    # 2 sides of each cell of the first and last row, and along the others 3 or 1 in turn
    by_hand = 2 * 2 * TORUS.cols + 2 * (2 * TORUS.rows - 1)
    assert hexagons == by_hand
    ring = cells_of(ss.Grid.chain(5, periodic=True)).glued()
    assert sorted(line[0][0] for line in ring) == [-0.5, 4.5]
    assert cells_of(ss.Grid.chain(5)).glued() == []


def test_dashes_mark_a_torus_and_no_plane() -> None:
    for grid, dashed in ((TORUS, 1), (HEXAGONS, 0)):
        _, ax = pyplot.subplots()
        pictures.units(np.arange(grid.size), grid, ax=ax)
        lines = [c for c in ax.collections if isinstance(c, LineCollection)]
        assert len(lines) == dashed
        assert all(line.get_linestyles()[0][1] is not None for line in lines)


# Any value of the units


def test_values_become_colours_and_labels_come_from_attributes(q: xr.Dataset) -> None:
    _, ax = pyplot.subplots()
    values = q["unit_quantization_error"]
    artist = pictures.units(values, ax=ax)
    assert isinstance(artist, PolyCollection)
    assert artist in ax.collections
    shown = artist.get_array()
    np.testing.assert_array_equal(np.ma.filled(shown, np.nan), values.values)
    np.testing.assert_allclose(middles(artist), HEXAGONS.positions, atol=1e-12)
    artist.update_scalarmappable()
    unit = int(np.nanargmax(values.values))
    assert to_hex(artist.get_facecolors()[unit]) == to_hex(mpl.colormaps["viridis"](1.0))
    (bar,) = bars(ax)
    assert " ".join(bar.get_ylabel().split()) == "quantization error of each unit [K]"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("column", "row")


def test_current_axes_are_the_default() -> None:
    _, (first, second) = pyplot.subplots(1, 2)
    pyplot.sca(first)
    assert pictures.units(np.arange(20), SQUARES, colorbar=False).axes is first
    assert not second.collections


def test_units_without_value_are_hatched(som: xr.Dataset) -> None:
    values = np.arange(30.0)
    values[[3, 8]] = np.nan
    _, ax = pyplot.subplots()
    artist = pictures.units(values, som, ax=ax)
    assert np.flatnonzero(np.ma.getmaskarray(artist.get_array())).tolist() == [3, 8]
    (missing,) = [c for c in ax.collections if c.get_hatch()]
    np.testing.assert_allclose(middles(missing), HEXAGONS.positions[[3, 8]], atol=1e-12)
    assert to_hex(missing.get_facecolor()[0]) == MISSING
    assert artist.get_clim() == (0.0, 29.0)


def test_nothing_but_gaps_needs_no_colour_bar() -> None:
    _, ax = pyplot.subplots()
    pictures.units(np.full(20, np.nan), SQUARES, ax=ax)
    ax.figure.canvas.draw()
    assert bars(ax) == []


def test_signed_values_have_zero_in_the_middle_of_two_colours() -> None:
    artist = pictures.units(np.linspace(-1, 5, 20), SQUARES)
    assert artist.cmap.name == "RdBu_r"
    assert artist.norm(0.0) == pytest.approx(0.5)
    assert pictures.units(np.linspace(1, 5, 20), SQUARES).cmap.name == "viridis"


def test_keywords_go_to_the_artist() -> None:
    artist = pictures.units(
        np.arange(20), SQUARES, vmin=-5, vmax=50, cmap="cividis", edgecolor="red", alpha=0.5
    )
    assert artist.get_clim() == (-5, 50)
    assert artist.cmap.name == "cividis"
    assert artist.get_alpha() == 0.5
    assert to_rgba("red")[:3] == tuple(artist.get_edgecolor()[0][:3])


def test_units_are_found_by_their_coordinate(q: xr.Dataset) -> None:
    part = q["hits"].isel(unit=[7, 2])
    shown = pictures.units(part).get_array()
    assert np.flatnonzero(~np.ma.getmaskarray(shown)).tolist() == [2, 7]
    assert shown[7] == q["hits"][7]
    backwards = pictures.units(q["hits"][::-1]).get_array()
    np.testing.assert_array_equal(backwards, q["hits"].values)


def test_arrays_of_rows_and_columns() -> None:
    table = np.arange(20.0).reshape(4, 5)
    array = xr.DataArray(table.T, dims=("col", "row"))
    for values in (table, table.reshape(-1), array):
        shown = pictures.units(values, SQUARES, colorbar=False).get_array()
        np.testing.assert_array_equal(shown, table.reshape(-1))


def test_values_are_written_into_cells() -> None:
    _, ax = pyplot.subplots()
    pictures.units([[1.0, np.nan], [0.12345, 30.0]], ss.Grid(2, 2), ax=ax, annotate=True)
    assert {t.get_text(): t.get_position() for t in ax.texts} == {
        "1": (0.0, 0.0),
        "0.123": (0.0, 1.0),
        "30": (1.0, 1.0),
    }


def test_irregular_maps_have_discs_and_lines() -> None:
    _, ax = pyplot.subplots()
    artist = pictures.units([1.0, 2, 3, 4], STAR, ax=ax, colorbar=False)
    np.testing.assert_allclose(middles(artist), STAR.positions, atol=1e-12)
    (lines,) = [c for c in ax.collections if isinstance(c, LineCollection)]
    np.testing.assert_allclose(lines.get_segments(), STAR.positions[STAR.edges()])
    discs = corners(artist)
    radius = np.linalg.norm(discs[0] - STAR.positions[0], axis=1).max()
    assert 2 * radius < 2  # the nearest two are 2 apart


# What a result knows of its maps


def test_results_carry_their_grids(samples: xr.DataArray, q: xr.Dataset, som: xr.Dataset) -> None:
    assert json.loads(q.attrs["grids"]) == {"projection": HEXAGONS.to_spec()}
    assert json.loads(q["hits"].attrs["grid"]) == HEXAGONS.to_spec()
    assert "grid" not in q["bmu"].attrs
    assert json.loads(ss.metrics.u_matrix(som).attrs["grid"]) == HEXAGONS.to_spec()
    small = ss.train(samples, SQUARES, epochs=2)
    both = ss.evaluate(samples, {"a": som, "b": small}, metrics=["u_matrix", "hits"])
    assert "grid" not in both["u_matrix"].attrs
    with pytest.raises(InputError, match=r"along candidate.*\.sel\(candidate='a'\)"):
        pictures.units(both["u_matrix"], HEXAGONS)
    with pytest.raises(InputError, match=r"different grids \('a', 'b'\)"):
        pictures.units(both["u_matrix"], both)
    for name, grid in (("a", HEXAGONS), ("b", SQUARES)):
        _, ax = pyplot.subplots()
        artist = pictures.units(both["u_matrix"].sel(candidate=name), both, ax=ax)
        np.testing.assert_allclose(middles(artist), grid.positions, atol=1e-12)
        assert ax.get_title() == name
        assert len(pictures.hits(both.sel(candidate=name)).get_paths()) == grid.size
    again = ss.evaluate(samples, {"a": som, "b": som}, metrics=["hits"])
    assert len(pictures.units(again["hits"].sel(candidate="b")).get_paths()) == 30


def test_irregular_grids_stay_out_of_attributes(samples: xr.DataArray) -> None:
    star = ss.codebook(samples.values[:4], STAR)
    found = ss.evaluate(samples.values, star, metrics=["hits"])
    assert json.loads(found.attrs["grids"]) == {"projection": {"topology": "graph", "size": 4}}
    with pytest.raises(InputError, match="irregular map"):
        pictures.hits(found)
    assert len(pictures.hits(found, star).get_paths()) == 4


@pytest.mark.parametrize(
    ("values", "grid", "complaint"),
    [
        (np.arange(19), SQUARES, r"shape \(19,\).*4 x 5 units"),
        (np.arange(20), None, "grid of ndarray is not known"),
        (xr.DataArray(np.arange(20), dims="unit", name="mine"), None, "mine does not say which"),
        (["a"] * 20, SQUARES, "label_map"),
        (xr.DataArray(np.zeros((20, 2)), dims=("unit", "class")), SQUARES, r"\.isel\(class=0\)"),
        (xr.DataArray(np.zeros(20), dims="sample"), SQUARES, "not one value a unit"),
        (
            xr.DataArray(np.zeros(2), dims="unit", coords={"unit": [3, 20]}),
            SQUARES,
            "a value of unit 20, but the grid has 20 units",
        ),
    ],
)
def test_what_is_no_value_a_unit_is_refused(values: Any, grid: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        pictures.units(values, grid)


def test_too_many_texts_and_shared_places_are_refused() -> None:
    with pytest.raises(InputError, match="1600 values in one picture"):
        pictures.units(np.zeros(1600), ss.Grid(40, 40), annotate=True)
    crowd = ss.Grid.from_edges(3, [(0, 1), (1, 2)], positions=[(0, 0), (0, 0), (1, 1)])
    with pytest.raises(InputError, match="unit 0 of the graph lies where another unit does"):
        pictures.units(np.arange(3), crowd)


# The U-matrix


def distance(som: xr.Dataset, i: int, j: int) -> float:
    return float(np.linalg.norm(som["codes"].values[i] - som["codes"].values[j]))


@pytest.mark.parametrize("grid", [HEXAGONS, SQUARES, TORUS, ss.Grid.chain(6, periodic=True)])
def test_u_matrix_has_units_and_what_lies_between(grid: ss.Grid) -> None:
    som = ss.codebook(np.random.default_rng(3).normal(size=(grid.size, 3)), grid)
    artist = pictures.u_matrix(som)
    values, places = np.asarray(artist.get_array()), middles(artist)
    np.testing.assert_allclose(values[: grid.size], ss.metrics.u_matrix(som).values)
    np.testing.assert_allclose(places[: grid.size], grid.positions, atol=1e-12)
    edges = grid.edges("edge")
    crossings = (grid.rows - 1) * (grid.cols - 1) if grid.topology == "rectangular" else 0
    assert len(values) == grid.size + len(edges) + crossings
    assert len(np.unique(np.round(places, 6), axis=0)) == len(places)
    by_place = {
        tuple(np.round(place, 6)): value for place, value in zip(places, values, strict=True)
    }
    for i, j in edges.tolist():
        if np.linalg.norm(grid.positions[i] - grid.positions[j]) < 1.1:  # not round the map
            at = tuple(np.round((grid.positions[i] + grid.positions[j]) / 2, 6))
            assert by_place[at] == pytest.approx(distance(som, i, j))
    found, every = np.sort(values[grid.size :]), [distance(som, i, j) for i, j in edges.tolist()]
    if not crossings:  # those round the map too
        np.testing.assert_allclose(found, np.sort(every))


def test_cells_amid_four_squares_have_both_diagonals() -> None:
    som = ss.codebook([[0.0], [1.0], [5.0], [9.0]], ss.Grid(2, 2))
    artist = pictures.u_matrix(som)
    at = {
        tuple(place): value
        for place, value in zip(middles(artist), artist.get_array(), strict=True)
    }
    assert at[0.5, 0.5] == pytest.approx((9 + 4) / 2 / math.sqrt(2))
    assert at[0.5, 0.0] == 1
    assert at[0.0, 0.5] == 5
    eight = ss.codebook([[0.0], [1.0], [5.0], [9.0]], ss.Grid(2, 2, neighbors=8))
    assert pictures.u_matrix(eight).get_array()[0] == pytest.approx((1 + 5 + 9) / 3)


def test_u_matrix_of_units_alone(q: xr.Dataset, som: xr.Dataset) -> None:
    for source in (q, q["u_matrix"]):
        artist = pictures.u_matrix(source)
        np.testing.assert_array_equal(artist.get_array(), q["u_matrix"].values)
    alone = pictures.u_matrix(som, between=False)
    np.testing.assert_allclose(alone.get_array(), q["u_matrix"].values)


def test_u_matrix_of_a_graph_colours_its_edges() -> None:
    som = ss.codebook([[0.0], [1.0], [5.0], [9.0]], STAR)
    _, ax = pyplot.subplots()
    artist = pictures.u_matrix(som, ax=ax)
    lines = next(
        c for c in ax.collections if isinstance(c, LineCollection) and c.get_array() is not None
    )
    np.testing.assert_array_equal(lines.get_array(), [1, 5, 9])
    assert lines.norm is artist.norm


def test_u_matrix_says_its_units_and_refuses_what_is_no_map(
    som: xr.Dataset, samples: xr.DataArray
) -> None:
    _, ax = pyplot.subplots()
    pictures.u_matrix(som, ax=ax)
    assert " ".join(bars(ax)[0].get_ylabel().split()) == "distance between code vectors [K]"
    with pytest.raises(InputError, match="not a codebook"):
        pictures.u_matrix(samples.values)
    with pytest.raises(InputError, match=r"no u_matrix.*metrics=\['u_matrix'\]"):
        pictures.u_matrix(ss.evaluate(samples, som, metrics=["hits"]))


def test_large_maps_are_few_artists() -> None:
    grid = ss.Grid(100, 100, topology="hexagonal", periodic=True)
    som = ss.codebook(np.random.default_rng(0).normal(size=(10_000, 2)), grid)
    _, ax = pyplot.subplots()
    artist = pictures.u_matrix(som, ax=ax)
    assert len(artist.get_paths()) == 40_000
    assert len(ax.collections) == 2


# Hits


def test_marks_grow_in_area_with_the_hits(q: xr.Dataset) -> None:
    _, ax = pyplot.subplots()
    artist = pictures.hits(q, ax=ax)
    counts = q["hits"].values
    areas = np.array([area(own) for own in corners(artist)])
    np.testing.assert_allclose(areas / areas.max(), counts / counts.max(), atol=1e-12)
    cell = area(cells_of(HEXAGONS).polygons()[0])
    assert 0.8 * cell < areas.max() < cell
    np.testing.assert_array_equal(artist.get_array(), counts)
    assert " ".join(bars(ax)[0].get_ylabel().split()) == label_of(q["hits"], width=1000).replace(
        "\N{NO-BREAK SPACE}", " "
    )


def test_hits_over_another_picture(q: xr.Dataset, som: xr.Dataset) -> None:
    _, ax = pyplot.subplots()
    below = pictures.u_matrix(som, ax=ax)
    label, count = ax.get_xlabel(), len(bars(ax))
    above = pictures.hits(q, ax=ax, color="white")
    assert above.get_array() is None
    assert above.get_zorder() > below.get_zorder()
    assert (ax.get_xlabel(), len(bars(ax))) == (label, count)


def test_hits_as_colours_and_of_no_sample(q: xr.Dataset) -> None:
    artist = pictures.hits(q["hits"].values, HEXAGONS, style="color")
    assert area(corners(artist)[0]) == pytest.approx(area(cells_of(HEXAGONS).polygons()[0]))
    np.testing.assert_array_equal(artist.get_array(), q["hits"].values)
    empty = pictures.hits(np.zeros(20), SQUARES)
    assert all(area(own) == 0 for own in corners(empty))
    empty.figure.canvas.draw()


def test_hits_that_are_none_are_refused(q: xr.Dataset) -> None:
    with pytest.raises(InputError, match="'size' or 'color', not 'area'"):
        pictures.hits(q, style="area")
    with pytest.raises(InputError, match="unit 3 has -1 hits"):
        pictures.hits(np.where(np.arange(20) == 3, -1, 0), SQUARES)
    with pytest.raises(InputError, match="no hits"):
        pictures.hits(q[["u_matrix"]])


# Component planes


def test_each_feature_has_a_plane(som: xr.Dataset) -> None:
    axes = pictures.component_planes(som)
    assert [ax.get_title() for ax in axes] == ["temperature", "pressure", "humidity"]
    for ax, plane in zip(axes, som["codes"].values.T, strict=True):
        np.testing.assert_array_equal(ax.collections[0].get_array(), plane)
        assert ax.collections[0].get_clim() == (plane.min(), plane.max())
    assert axes[0].figure.get_supxlabel() == "code vectors [K]"
    assert axes[0].figure.get_figwidth() == pytest.approx(INCHES)


def test_planes_are_chosen_and_share_a_scale(som: xr.Dataset) -> None:
    axes = pictures.component_planes(som, features=["humidity", 0], shared=True)
    codes = som["codes"].values[:, [2, 0]]
    for ax, plane in zip(axes, codes.T, strict=True):
        np.testing.assert_array_equal(ax.collections[0].get_array(), plane)
        assert ax.collections[0].get_clim() == (codes.min(), codes.max())
    assert len(axes[0].figure.axes) == 3


def test_planes_on_given_axes_and_of_two_dims() -> None:
    codes = xr.DataArray(
        np.arange(16.0).reshape(4, 2, 2), dims=("unit", "lat", "lon"), coords={"lat": [1.5, 2.5]}
    )
    _, own = pyplot.subplots(2, 2)
    axes = pictures.component_planes(ss.codebook(codes, ss.Grid(2, 2)), axes=own)
    assert list(axes) == list(own.flat)
    assert axes[3].get_title() == "lat 2.5, lon 1"
    np.testing.assert_array_equal(axes[3].collections[0].get_array(), [3, 7, 11, 15])


def test_planes_that_cannot_be_drawn_are_refused(som: xr.Dataset) -> None:
    wide = ss.codebook(np.zeros((20, 25)), SQUARES)
    with pytest.raises(InputError, match=r"25 features, more than the 24 planes.*col=.unit"):
        pictures.component_planes(wide)
    with pytest.raises(InputError, match="no feature 'wind'; it has temperature"):
        pictures.component_planes(som, features=["wind"])
    with pytest.raises(InputError, match="names no feature"):
        pictures.component_planes(som, features=[])
    with pytest.raises(InputError, match="1 axes for 3 features"):
        pictures.component_planes(som, axes=pyplot.gca())
    with pytest.raises(InputError, match="ncols is 0"):
        pictures.component_planes(som, ncols=0)


# Classes


def legend_of(ax: Any) -> dict[str, str]:
    legend = ax.get_legend()
    names = [text.get_text() for text in legend.get_texts()]
    shades = [to_hex(patch.get_facecolor()) for patch in legend.get_patches()]
    return dict(zip(names, shades, strict=True))


def test_majority_of_each_unit(q: xr.Dataset, classes: np.ndarray) -> None:
    _, ax = pyplot.subplots()
    artist = pictures.label_map(classes, q["bmu"], q, ax=ax)
    shades = legend_of(ax)
    assert list(shades) == ["beech", "oak", "pine"]
    assert set(shades.values()) == {color.lower() for color in CATEGORIES[:3]}
    for unit in range(30):
        held = classes[q["bmu"].values == unit]
        if len(held):
            names, counts = np.unique(held, return_counts=True)
            assert to_hex(artist.get_facecolor()[unit]) == shades[names[counts.argmax()]]
    shares = pictures.label_map(q["label_distribution"])
    np.testing.assert_array_equal(shares.get_facecolor(), artist.get_facecolor())


def test_pies_have_the_shares_of_classes() -> None:
    labels, units = np.array(list("aaabab")), np.array([0, 0, 0, 0, 3, 3])
    artist = pictures.label_map(labels, units, ss.Grid(2, 2), style="pie")
    slices = corners(artist)
    assert len(slices) == 4
    np.testing.assert_array_equal([own[0] for own in slices], [[0, 0], [0, 0], [1, 1], [1, 1]])
    round_ = math.pi * np.linalg.norm(slices[0][1] - slices[0][0]) ** 2
    np.testing.assert_allclose(
        [area(own) / round_ for own in slices], [0.75, 0.25, 0.5, 0.5], rtol=0.02
    )
    # from the top, clockwise
    assert slices[0][1] == pytest.approx([0, np.linalg.norm(slices[0][1])])
    assert slices[0][2][0] > 0
    assert np.linalg.norm(slices[0][1]) < 0.5


def test_missing_labels_noise_and_samples_without_unit() -> None:
    labels = np.array(["a", None, "noise", "a", "b"], dtype=object)
    units = np.array([0, 1, 2, -1, 3])
    _, ax = pyplot.subplots()
    artist = pictures.label_map(labels, units, ss.Grid(2, 2), ax=ax, noise_label="noise")
    shades = legend_of(ax)
    assert list(shades) == ["a", "b", "noise", "no label"]
    faces = [to_hex(color) for color in artist.get_facecolor()]
    assert faces == [shades["a"], shades["no label"], shades["noise"], shades["b"]]


def test_rare_classes_are_other() -> None:
    labels = np.repeat(np.arange(12), np.arange(20, 8, -1))
    _, ax = pyplot.subplots()
    artist = pictures.label_map(labels, labels, ss.Grid(3, 4), ax=ax)
    shades = legend_of(ax)
    assert list(shades) == [*map(str, range(10)), "other (2)"]
    assert len(set(shades.values())) == 11
    assert [to_hex(color) for color in artist.get_facecolor()[10:]] == [OTHER, OTHER]


def test_one_label_a_unit_and_own_colours(som: xr.Dataset) -> None:
    clusters = ss.cluster_units(som, 3)
    artist = pictures.label_map(clusters, grid=som, colors={1: "black"})
    faces = np.array([to_hex(color) for color in artist.get_facecolor()])
    assert set(faces[clusters.values == 1]) == {"#000000"}
    assert len(set(faces)) == 3
    short = pictures.label_map(clusters, som)
    assert len(short.get_paths()) == 30


@pytest.mark.parametrize(
    ("labels", "units", "complaint"),
    [
        (["a", "b"], [0, 1, 2], "2 labels for 3 samples"),
        (["a", "b"], [0, 20], "whole numbers from 0 to 19.*not 20"),
        (["a", "b"], [0.0, 1.0], "of type float64"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels: Any, units: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        pictures.label_map(labels, units, SQUARES)


def test_results_stand_for_their_labels(q: xr.Dataset, classes: np.ndarray) -> None:
    faces = pictures.label_map(q["label_distribution"]).get_facecolor()
    np.testing.assert_array_equal(pictures.label_map(q).get_facecolor(), faces)
    np.testing.assert_array_equal(pictures.label_map(classes, q).get_facecolor(), faces)
    with pytest.raises(InputError, match=r"no label_distribution \(it has hits\); ask .* labels="):
        pictures.label_map(q[["hits"]])
    with pytest.raises(InputError, match="not a Dataset; give them, or the result alone"):
        pictures.label_map(q, q["bmu"])
    with pytest.raises(InputError, match=r"not a Dataset; choose it, as q\['hits'\]"):
        pictures.units(q[["hits"]].assign_attrs(q.attrs))


def test_unknown_style_of_labels_is_refused() -> None:
    with pytest.raises(InputError, match="'majority' or 'pie', not 'bars'"):
        pictures.label_map(["a"] * 20, None, SQUARES, style="bars")


# Lines


def test_widths_are_the_samples_that_units_share(q: xr.Dataset) -> None:
    artist = pictures.connectivity(q)
    best, second = q["bmu"].values, q["second_bmu"].values
    conn = np.zeros((30, 30))
    np.add.at(conn, (best, second), 1)
    conn += conn.T
    pairs = np.argwhere(np.triu(conn))
    assert len(artist.get_segments()) == len(pairs)
    by_line = {
        tuple(np.round(line, 6).reshape(-1)): (width, to_hex(color))
        for line, width, color in zip(
            artist.get_segments(), artist.get_linewidths(), artist.get_colors(), strict=True
        )
    }
    widest = max(width for width, _ in by_line.values())
    for i, j in pairs.tolist():
        line = HEXAGONS.positions[[i, j]]
        width, color = by_line[tuple(np.round(line, 6).reshape(-1))]
        assert width == pytest.approx(max(widest * conn[i, j] / conn.max(), 0.4))
        expected = CATEGORIES[0] if HEXAGONS.adjacent(i, j) else CATEGORIES[5]
        assert color == expected.lower()
    for matrix in (conn, csr_array(conn)):
        other = pictures.connectivity(matrix, HEXAGONS)
        np.testing.assert_allclose(other.get_segments(), artist.get_segments())


def test_lines_round_a_torus_come_back_at_the_other_side() -> None:
    conn = np.zeros((24, 24))
    conn[0, 5] = conn[5, 0] = 3  # ends of the first row
    artist = pictures.connectivity(conn, TORUS)
    start, end = TORUS.positions[[0, 5]]
    np.testing.assert_allclose(
        artist.get_segments(),
        [[start, start - np.array([1, 0])], [end, end + np.array([1, 0])]],
        atol=1e-12,
    )
    assert artist.get_clip_box() is not None


def test_matrices_that_are_no_conn_are_refused(q: xr.Dataset) -> None:
    with pytest.raises(InputError, match=r"shape \(3, 3\); the grid has 20 units"):
        pictures.connectivity(np.zeros((3, 3)), SQUARES)
    with pytest.raises(InputError, match="not symmetric"):
        pictures.connectivity(np.triu(np.ones((20, 20))), SQUARES)
    with pytest.raises(InputError, match="no second_bmu"):
        pictures.connectivity(q[["bmu"]])
    assert len(pictures.connectivity(np.zeros((20, 20)), SQUARES).get_segments()) == 0


def test_the_net_lies_in_the_data(samples: xr.DataArray, som: xr.Dataset) -> None:
    _, ax = pyplot.subplots()
    net = pictures.map_in_data(samples, som, features=("pressure", "humidity"), ax=ax)
    codes = som["codes"].values[:, 1:]
    np.testing.assert_allclose(net.get_segments(), codes[HEXAGONS.edges()])
    points = [c for c in ax.collections if isinstance(c, PathCollection)]
    np.testing.assert_allclose(points[0].get_offsets(), samples.values[:, 1:])
    np.testing.assert_allclose(points[1].get_offsets(), codes)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("pressure [K]", "humidity [K]")


def test_many_samples_are_binned(samples: xr.DataArray, som: xr.Dataset) -> None:
    _, ax = pyplot.subplots()
    pictures.map_in_data(samples.values, som, ax=ax, limit=100)
    bins = next(c for c in ax.collections if isinstance(c, PolyCollection))
    assert bins.get_array().sum() == len(samples)
    assert bars(ax)[0].get_ylabel() == "samples"


def test_features_follow_their_labels_and_lines_round_the_map_are_dashed(
    samples: xr.DataArray,
) -> None:
    som = ss.train(samples, TORUS, epochs=1)
    _, ax = pyplot.subplots()
    net = pictures.map_in_data(samples[:, ::-1], som, ax=ax)
    np.testing.assert_allclose(ax.collections[0].get_offsets(), samples.values[:, :2])
    edges = TORUS.edges()
    far = np.linalg.norm(np.diff(TORUS.positions[edges], axis=1)[:, 0], axis=1) > 1.1
    assert [style[1] is not None for style in net.get_linestyles()] == far.tolist()


def test_planes_of_other_data_are_refused(samples: xr.DataArray, som: xr.Dataset) -> None:
    with pytest.raises(InputError, match="names 1 features; a plane has two"):
        pictures.map_in_data(samples, som, features=[0])
    with pytest.raises(InputError, match="do not have the map's 3 features"):
        pictures.map_in_data(np.zeros((5, 2)), som)
    with pytest.raises(InputError, match="no feature temperature"):
        pictures.map_in_data(samples[:, 1:], som)


def test_training_is_drawn_by_epoch(som: xr.Dataset) -> None:
    _, ax = pyplot.subplots()
    error, distortion = pictures.training(som, ax=ax)
    np.testing.assert_array_equal(error.get_ydata(), som["quantization_error"].values)
    np.testing.assert_array_equal(distortion.get_ydata(), som["distortion"].values)
    assert error.axes is ax
    assert distortion.axes is not ax
    assert ax.get_ylabel() == "quantization error [K]"
    assert "[(K)^2]" in distortion.axes.get_ylabel()
    with pytest.raises(InputError, match="no history"):
        pictures.training(ss.codebook(np.zeros((20, 2)), SQUARES))


# Manners, and what the eye sees

PICTURES: dict[str, Callable[..., Any]] = {
    "units": lambda x, som, q, c: pictures.units(q["unit_quantization_error"]),
    "annotated": lambda x, som, q, c: pictures.units(q["hits"], annotate=True),
    "wide": lambda x, som, q, c: pictures.units(np.arange(60) / 7, ss.Grid(4, 15, periodic=True)),
    "u_matrix": lambda x, som, q, c: pictures.u_matrix(som),
    "chain": lambda x, som, q, c: pictures.u_matrix(ss.codebook(x.values[:9], ss.Grid.chain(9))),
    "hits": lambda x, som, q, c: pictures.hits(q),
    "planes": lambda x, som, q, c: pictures.component_planes(som),
    "shared planes": lambda x, som, q, c: pictures.component_planes(som, shared=True),
    "majority": lambda x, som, q, c: pictures.label_map(c, q["bmu"], q),
    "pies": lambda x, som, q, c: pictures.label_map(np.arange(300) % 14, q["bmu"], q, style="pie"),
    "connectivity": lambda x, som, q, c: pictures.connectivity(q),
    "training": lambda x, som, q, c: pictures.training(som),
    "map in data": lambda x, som, q, c: pictures.map_in_data(x, som),
    "binned": lambda x, som, q, c: pictures.map_in_data(x, som, limit=10),
}


@pytest.mark.parametrize("name", PICTURES)
def test_texts_are_whole_and_apart_at_100_mm(
    name: str,
    samples: xr.DataArray,
    som: xr.Dataset,
    q: xr.Dataset,
    classes: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: dict[Text, None] = {}
    draw = Text.draw

    def remember(text: Text, renderer: Any) -> None:
        drawn[text] = None
        draw(text, renderer)

    monkeypatch.setattr(Text, "draw", remember)
    pyplot.figure(figsize=(INCHES, 3.1), layout="constrained")
    if "planes" in name:
        pyplot.close()
    PICTURES[name](samples, som, q, classes)
    figure = pyplot.gcf()
    figure.canvas.draw()
    texts = [text for text in drawn if text.get_visible() and text.get_text().strip()]
    boxes = {text: text.get_window_extent() for text in texts}
    assert len(boxes) > 3
    for text, box in boxes.items():
        inside = figure.bbox.padded(1)
        assert inside.contains(*box.min), text
        assert inside.contains(*box.max), text
        assert text.get_fontsize() >= 5, text
    for (one, first), (other, second) in itertools.combinations(boxes.items(), 2):
        assert not first.padded(-0.5).overlaps(second.padded(-0.5)), (one, other)


@pytest.mark.parametrize("name", PICTURES)
def test_no_setting_is_changed_and_nothing_is_shown(
    name: str,
    samples: xr.DataArray,
    som: xr.Dataset,
    q: xr.Dataset,
    classes: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("shown")

    monkeypatch.setattr(pyplot, "show", refuse)
    before = dict(mpl.rcParams)
    attributes = q.attrs.copy(), som.attrs.copy()
    PICTURES[name](samples, som, q, classes)
    assert dict(mpl.rcParams) == before
    assert (q.attrs, som.attrs) == attributes


def test_colour_bars_are_as_high_as_the_map() -> None:
    for layout in (None, "constrained", "tight"):
        _, ax = pyplot.subplots(figsize=(INCHES, 3.1), layout=layout)
        pictures.units(np.arange(48), ss.Grid(6, 8), ax=ax)
        ax.figure.canvas.draw()
        (bar,) = bars(ax)
        ours, theirs = ax.get_window_extent(), bar.get_window_extent()
        assert (ours.y0, ours.y1) == pytest.approx((theirs.y0, theirs.y1), abs=1)
        assert 0 < theirs.x0 - ours.x1 < 0.1 * ax.figure.dpi


@pytest.mark.parametrize(
    ("grid", "size"),
    [
        (ss.Grid(7, 7), (11, 3)),
        (ss.Grid(8, 5), (8, 3)),
        (ss.Grid(8, 5, topology="hexagonal"), (11, 4)),
    ],
)
def test_words_beside_other_panels_are_whole(grid: ss.Grid, size: tuple[float, float]) -> None:
    rng = np.random.default_rng(0)
    figure, axes = pyplot.subplots(1, 3, figsize=size, layout="constrained")
    pictures.u_matrix(ss.codebook(rng.random((grid.size, 4)), grid), ax=axes[0])
    axes[1].plot([0, 1])
    axes[1].set(xlabel="neighbours K, the largest\nrank that counts as near")
    axes[1].set(ylabel="rescaled quality\nof neighbourhoods\n(higher is better)")
    pictures.embedding(rng.random((50, 2)), rng.random(50), ax=axes[2])
    assert wrong_words(figure) == []


@pytest.mark.parametrize("draw", [pictures.units, pictures.hits])
def test_nothing_but_zeros_has_one_tick(draw: Any) -> None:
    _, ax = pyplot.subplots()
    artist = draw(np.zeros(20), SQUARES, ax=ax)
    assert artist.get_clim() == (0, 1)
    assert bars(ax)[0].get_yticks().tolist() == [0]
    pictures.component_planes(ss.codebook(np.full((20, 1), 3.0), SQUARES))
    assert pyplot.gcf().axes[1].get_yticks().tolist() == [3]


def test_public_names_are_those_that_exist() -> None:
    assert set(pictures.__all__) == set(pictures._NAMES)
    for name in pictures.__all__:
        assert callable(getattr(pictures, name)), name
        assert getattr(pictures, name).__doc__, name
        assert pictures._NAMES[name] not in pictures.__all__
    assert dir(pictures) == sorted(pictures.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = pictures.nothing


def test_matplotlib_is_loaded_late_and_its_lack_is_said() -> None:
    code = (
        "import sys, somscale.plot as p\n"
        "assert 'matplotlib' not in sys.modules\n"
        "sys.modules['matplotlib'] = None\n"
        "try:\n    p.units\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == (
        "ss.plot.units needs matplotlib, which is not installed: pip install 'somscale[plot]'"
    )
