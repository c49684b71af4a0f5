"""Heat maps: rank quality, co-ranking matrix, Shepard diagram."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot
from pictures import printed, wrong_words

import somscale as ss
from somscale import plot
from somscale.errors import InputError


@pytest.fixture(scope="module")
def q() -> xr.Dataset:
    samples = np.random.default_rng(0).random((150, 4))
    embeddings = {"first two": samples[:, :2], "a third": samples[:, [2]]}
    asked = ["rank_quality", "coranking_matrix", "shepard_diagram"]
    both = {"kappa_s": range(1, 31), "kappa_t": range(0, 21)}
    return ss.evaluate(samples, embeddings, metrics=asked, **both).compute()


def words(label: str) -> str:
    return " ".join(label.split())


def test_rank_quality_with_its_cursor(q: xr.Dataset) -> None:
    values = q["rank_quality"].sel(candidate="a third")
    with printed() as ax:
        mesh = plot.rank_quality(q, candidate="a third", at=(20, 5), ax=ax)
    np.testing.assert_array_equal(mesh.get_array(), values.transpose("kappa_t", "kappa_s"))
    assert mesh.get_coordinates()[0, 0].tolist() == [0.5, -0.5]
    value = float(values.sel(kappa_s=20, kappa_t=5))
    assert ax.get_title() == f"a third\nQ′(20, 5) = {value:.3g}"
    assert (ax.get_xlabel()[:2], ax.get_ylabel()[:2]) == ("κs", "κt")
    assert {"κt > κs", "κt < κs"} <= {text.get_text() for text in ax.texts}
    assert words(ax.figure.axes[1].get_ylabel()) == "quality of ranks Q'"


def test_candidates_have_panels_on_one_scale(q: xr.Dataset) -> None:
    for draw in (plot.rank_quality, plot.coranking_matrix, plot.shepard_diagram):
        axes = draw(q)
        assert [ax.get_title() for ax in axes] == ["first two", "a third"]
        assert len({ax.collections[0].norm for ax in axes}) == 1
        assert wrong_words(axes[0].figure) == []
        pyplot.close(axes[0].figure)


def test_coranking_matrix_has_regions_and_grey_zeros(q: xr.Dataset) -> None:
    matrix = q["coranking_matrix"].sel(candidate="a third")
    for k in (5, 40, 145):
        with printed() as ax:
            mesh = plot.coranking_matrix(matrix, k=k, ax=ax)
        drawn = mesh.get_array()
        np.testing.assert_array_equal(drawn.mask, matrix == 0)
        np.testing.assert_array_equal(drawn.filled(0), matrix)
        assert {text.get_text().replace("\n", " ") for text in ax.texts} == {
            f"{how} {what}" for how in ("mild", "hard") for what in ("intrusions", "extrusions")
        }
    assert ax.yaxis_inverted()
    assert words(ax.figure.axes[1].get_ylabel()) == "pairs (grey: none)"


def test_names_of_regions_lie_in_them(q: xr.Dataset) -> None:
    with printed() as ax:
        plot.coranking_matrix(q["coranking_matrix"][0][:100, :100], k=60, ax=ax)
        ax.figure.draw_without_rendering()
        boxes = {text.get_text(): text.get_window_extent() for text in ax.texts}
        inverse = ax.transData.inverted()
        for name, box in boxes.items():
            rank_out, rank_in = inverse.transform(((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2))
            assert bool(max(rank_in, rank_out) > 60) is name.startswith("hard")
            assert bool(rank_in > rank_out) is name.endswith("intrusions")


def test_a_large_matrix_is_binned_to_means() -> None:
    matrix = np.random.default_rng(0).integers(0, 9, (801, 801))
    with printed() as ax:
        mesh = plot.coranking_matrix(matrix, ax=ax)
    drawn = mesh.get_array().filled(0)
    assert drawn.shape == (267, 267)
    assert drawn[3, 5] == pytest.approx(matrix[9:12, 15:18].mean())
    assert mesh.get_coordinates()[-1, -1].tolist() == [801.5, 801.5]
    assert "mean of 3 × 3 ranks" in words(ax.figure.axes[1].get_ylabel())


def test_shepard_diagram_has_its_bins(q: xr.Dataset) -> None:
    values = q["shepard_diagram"].sel(candidate="first two")
    with printed() as ax:
        mesh = plot.shepard_diagram(q, candidate="first two", ax=ax)
    np.testing.assert_array_equal(mesh.get_array().filled(0), values.T)
    corner = mesh.get_coordinates()[-1, -1]
    assert corner[0] == values["input_distance_high"][-1]
    assert corner[1] == values["output_distance_high"][-1]
    assert words(ax.get_xlabel()) == "distance of two samples [data units]"
    assert "embedding units" in words(ax.get_ylabel())


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda q: plot.rank_quality(q, at=(20, 99)), "kappa_t=99.* the nearest is 20"),
        (lambda q: plot.rank_quality(q, candidate="c"), "no candidate 'c', only first two"),
        (lambda q: plot.rank_quality(q, ax=pyplot.gca()), "2 candidates take a panel each"),
        (lambda q: plot.rank_quality(q["rank_quality"].sel(kappa_t=3)), "no dim 'kappa_t'"),
        (lambda q: plot.coranking_matrix(q, k=150), "k=150 is no rank .* last one is 149"),
        (lambda q: plot.coranking_matrix(np.ones(3)), "has two dims"),
        (lambda q: plot.shepard_diagram(q[["rank_quality"]]), "no shepard_diagram"),
    ],
)
def test_refusals(q: xr.Dataset, draw: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        draw(q)
    pyplot.close("all")
