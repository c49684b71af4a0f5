"""Embeddings: points, and cells beyond the limit, against sums by plain numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colors import to_hex
from pictures import printed, wrong_words

from somscale import plot
from somscale.errors import InputError

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(400, 2))
ABOUT = {"long_name": "quality of ranks Q' of a sample", "units": "1", "direction": "higher"}
QUALITY = xr.DataArray(RNG.random(400), dims="sample", attrs=ABOUT)


def cells(mesh: QuadMesh, points: Any) -> tuple[Any, Any]:
    """Which cell of the mesh each point is in, by its corners."""
    corners = mesh.get_coordinates()
    across, up = corners[0, :, 0], corners[:, 0, 1]
    column = np.clip(np.searchsorted(across, points[:, 0], side="right") - 1, 0, len(across) - 2)
    row = np.clip(np.searchsorted(up, points[:, 1], side="right") - 1, 0, len(up) - 2)
    return row, column


def test_points_have_their_values() -> None:
    with printed() as ax:
        artist = plot.embedding(POINTS, QUALITY, ax=ax)
    assert isinstance(artist, PathCollection)
    np.testing.assert_array_equal(artist.get_offsets(), POINTS)
    np.testing.assert_array_equal(artist.get_array(), QUALITY)
    label = ax.figure.axes[1].get_ylabel().replace("\n", " ").replace("\xa0", " ")
    assert label == f"{ABOUT['long_name']} (higher is better)"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("component 1", "component 2")


def test_points_without_value_lie_beneath_and_without_place_are_left_out() -> None:
    values, points = QUALITY.copy(), POINTS.copy()
    values[:3], points[5, 0] = np.nan, np.nan
    with printed() as ax:
        artist = plot.embedding(points, values, ax=ax)
    assert len(artist.get_offsets()) == 399
    assert np.isnan(artist.get_array()[:3].filled(np.nan)).all()


def test_cells_are_the_means_of_their_points() -> None:
    values = QUALITY.copy()
    values[:50] = np.nan
    with printed() as ax:
        mesh = plot.embedding(POINTS, values, ax=ax, limit=399)
    row, column = cells(mesh, POINTS)
    drawn = mesh.get_array().filled(np.nan)
    for place in {*zip(row.tolist(), column.tolist(), strict=True)}:
        own = QUALITY.values[50:][((row == place[0]) & (column == place[1]))[50:]]
        expected = own.mean() if own.size else np.nan
        assert drawn[place] == pytest.approx(expected, nan_ok=True)
    assert np.isfinite(drawn).sum() == len(
        {*zip(row[50:].tolist(), column[50:].tolist(), strict=True)}
    )
    label = ax.figure.axes[1].get_ylabel().replace("\n", " ").replace("\xa0", " ")
    assert "mean of each cell (400 points)" in label


def test_cells_without_values_count_their_points() -> None:
    with printed() as ax:
        mesh = plot.embedding(POINTS, ax=ax, limit=10)
    row, column = cells(mesh, POINTS)
    counts = np.zeros(mesh.get_array().shape)
    np.add.at(counts, (row, column), 1)
    np.testing.assert_array_equal(mesh.get_array().filled(0), counts)
    assert "400 points" in ax.figure.axes[1].get_ylabel().replace("\xa0", " ")


def test_classes_have_colours_and_a_legend() -> None:
    labels = np.array(["b", "a", None, "c"] * 100, dtype=object)
    with printed() as ax:
        artist = plot.embedding(POINTS, labels, ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    colors = [to_hex(color) for color in artist.to_rgba(np.array([0.0, 1.0, 2.0]))]
    assert len(set(colors)) == 3
    assert np.isnan(artist.get_array().filled(np.nan)).sum() == 100


def test_legends_keep_off_other_panels() -> None:
    labels = np.array(["setosa", "versicolor"] * 200)
    square = np.random.default_rng(3).uniform(-1, 1, (400, 2))
    ring = np.where(np.abs(square).sum(axis=1, keepdims=True) > 0.5, 0.0, square)
    figure, axes = pyplot.subplots(1, 3, figsize=(11, 4))
    for ax, points in zip(axes, (square, ring, ring), strict=True):
        plot.embedding(points, labels, ax=ax)
    figure.draw_without_rendering()
    assert wrong_words(figure) == []
    boxes = [ax.get_legend().get_window_extent() for ax in axes]
    cell = axes[0].get_subplotspec().get_position(figure)
    assert axes[0].bbox.x1 < boxes[0].x0 + 1
    assert boxes[0].x1 <= cell.x1 * figure.bbox.width + 1
    assert axes[1].bbox.containsx(boxes[1].x0)
    assert axes[1].bbox.containsx(boxes[1].x1)
    pyplot.close(figure)


def test_cells_show_the_class_of_most_points() -> None:
    points = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    with printed() as ax:
        mesh = plot.embedding(points, [0, 0, 1, 1, 1, 2, 2, 0, 0, 0], ax=ax, limit=9)
    drawn = mesh.get_array().filled(np.nan)
    assert (drawn[0, 0], drawn[-1, -1]) == (1, 0)
    assert np.isfinite(drawn).sum() == 2


def test_many_classes_share_a_colour_but_not_their_majority() -> None:
    # In the only cell 5 points of class 0 and 3 of each of 11 others: the others are no class.
    labels = [0] * 5 + [other for other in range(1, 12) for _ in range(3)]
    points = np.zeros((len(labels), 2))
    points[0, 0] = 1e-12
    with printed() as ax:
        mesh = plot.embedding(points * 0, labels, ax=ax, limit=1)
    assert set(mesh.get_array().compressed()) == {0}
    assert ax.get_legend().get_texts()[-1].get_text() == "2 others"


def test_several_embeddings_share_a_scale() -> None:
    several = {"one": POINTS, "two": POINTS[:, ::-1], "three": POINTS**2}
    values = xr.concat([QUALITY, QUALITY * 2, QUALITY * 3], dim="candidate")
    values = values.assign_coords(candidate=list(several)).assign_attrs(ABOUT)
    axes = plot.embedding(several, values)
    figure = axes[0].figure
    assert [ax.get_title() for ax in axes] == list(several)
    assert {ax.collections[0].get_clim() for ax in axes} == {
        (float(values.min()), float(values.max()))
    }
    assert wrong_words(figure) == []
    pyplot.close(figure)


def test_signed_values_diverge_about_zero() -> None:
    with printed() as ax:
        artist = plot.embedding(POINTS, QUALITY - 0.2, ax=ax)
    low, high = artist.get_clim()
    assert low == -high


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((POINTS[:, :1],), r"shape \(400, 1\)"),
        ((POINTS, QUALITY[:7]), "7 values for 400 points"),
        ((POINTS, xr.Dataset({"q_nx": QUALITY})), "no pointwise_rank_quality"),
        (({"a": POINTS}, {"b": QUALITY}), "no values of 'a', only of b"),
    ],
)
def test_refusals(arguments: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        plot.embedding(*arguments)
