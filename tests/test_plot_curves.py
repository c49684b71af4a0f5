"""Curves: what is drawn is what the result holds, and its words are whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from pictures import printed, wrong_words

import somscale as ss
from somscale import plot
from somscale.errors import InputError

RANKS = ("q_nx", "r_nx", "lcmc", "b_nx", "trustworthiness", "continuity")


@pytest.fixture(scope="module")
def data() -> tuple[Any, dict[str, Any]]:
    samples = np.random.default_rng(0).random((150, 4))
    return samples, {"first two": samples[:, :2], "a third": samples[:, [2]]}


@pytest.fixture(scope="module")
def q(data: tuple[Any, dict[str, Any]]) -> xr.Dataset:
    return ss.evaluate(*data, metrics=list(RANKS), k=range(1, 60))


@pytest.fixture(scope="module")
def sampled(data: tuple[Any, dict[str, Any]]) -> xr.Dataset:
    return ss.evaluate(*data, metrics=["q_nx"], k=range(1, 30), sample_anchors=40)


@pytest.fixture(scope="module")
def of_maps(data: tuple[Any, dict[str, Any]]) -> xr.Dataset:
    maps = {f"{n} x 4": ss.train(data[0], ss.Grid(n, 4), epochs=2) for n in (3, 5)}
    asked = ["distortion", "distortion_parts", "topographic_function", "villmann_function"]
    return ss.evaluate(data[0], maps, metrics=asked, temperature=[0.5, 1, 2])


@pytest.mark.parametrize("name", RANKS)
def test_lines_are_the_values(q: xr.Dataset, name: str) -> None:
    with printed() as ax:
        lines = plot.rank_curves(q, name, ax=ax)
    for line, candidate in zip(lines, q["candidate"].values, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), q["k"])
        np.testing.assert_array_equal(line.get_ydata(), q[name].sel(candidate=candidate))
        assert line.get_label() == candidate
    label = " ".join(ax.get_ylabel().split())
    assert str(q[name].attrs["long_name"]) in label
    assert ("0 is best" if name == "b_nx" else "higher is better") in label
    assert "neighbours K" in ax.get_xlabel()


def test_a_variable_is_drawn_as_its_result(q: xr.Dataset) -> None:
    with printed() as ax:
        (line,) = plot.rank_curves(q["r_nx"].sel(candidate="a third"), ax=ax, color="#123456")
    np.testing.assert_array_equal(line.get_ydata(), q["r_nx"].sel(candidate="a third"))
    assert to_hex(line.get_color()) == "#123456"
    assert ax.get_title() == "a third"
    assert ax.get_legend() is None


@pytest.mark.parametrize("single", [False, True])
def test_intervals_are_bands(sampled: xr.Dataset, data: Any, single: bool) -> None:
    found: Any = sampled
    if single:
        embedding = data[1]["first two"]
        found = ss.metrics.q_nx(data[0], embedding, k=range(1, 30), sample_anchors=40)
    with printed() as ax:
        plot.rank_curves(found, ax=ax)
    low = sampled["q_nx_interval_low"].isel(candidate=0).values
    high = sampled["q_nx_interval_high"].isel(candidate=0).values
    assert len(ax.collections) == (1 if single else 2)
    corners = ax.collections[0].get_paths()[0].vertices
    for k in (1, 10, 29):
        heights = corners[corners[:, 0] == k, 1]
        assert heights.min() == pytest.approx(low[k - 1])
        assert heights.max() == pytest.approx(high[k - 1])
    assert "95 % interval" in [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize(
    ("k", "drawn"), [(5, [1, 2, 3, 4, 5]), (slice(3, 6), [3, 4, 5, 6]), ([2, 9], [2, 9])]
)
def test_some_ranks_alone(q: xr.Dataset, k: Any, drawn: list[int]) -> None:
    with printed() as ax:
        line = plot.rank_curves(q, ax=ax, k=k)[0]
    assert line.get_xdata().tolist() == drawn


def test_log_axis_is_labelled_by_plain_numbers(q: xr.Dataset) -> None:
    with printed() as ax:
        plot.rank_curves(q, "r_nx", ax=ax, log=True)
        assert ax.get_xscale() == "log"
        ax.figure.canvas.draw()
        shown = [tick.get_text() for tick in ax.get_xticklabels() if tick.get_text()]
        assert {"1", "10"} <= set(shown)


def test_a_lone_point_is_seen_and_nan_is_a_gap(q: xr.Dataset) -> None:
    values = q["q_nx"].isel(candidate=0).where(~q["k"].isin([5, 7]))
    with printed() as ax:
        (line,) = plot.rank_curves(values, ax=ax)
    assert np.isnan(line.get_ydata()).sum() == 2
    assert line.get_marker() == "o"


def test_24_candidates_are_told_apart(q: xr.Dataset) -> None:
    names = [f"map number {number}" for number in range(24)]
    one = q["q_nx"].isel(candidate=0, drop=True)
    many = xr.concat([one / (1 + n / 9) for n in range(24)], dim="candidate")
    many = many.assign_coords(candidate=names).assign_attrs(one.attrs)
    with printed() as ax:
        lines = plot.rank_curves(many, ax=ax)
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 24
    assert [text.get_text() for text in ax.get_legend().get_texts()] == names


def test_a_figure_without_layout_gives_room_to_the_legend(q: xr.Dataset) -> None:
    figure = Figure(figsize=(6.4, 4.8))
    one = q["q_nx"].isel(candidate=0, drop=True)
    many = xr.concat([one / (1 + n / 9) for n in range(10)], dim="candidate")
    many = many.assign_coords(candidate=[f"map number {n}" for n in range(10)])
    plot.rank_curves(many.assign_attrs(one.attrs), ax=figure.subplots())
    assert wrong_words(figure) == []


def test_distortion_over_temperature(of_maps: xr.Dataset) -> None:
    with printed() as ax:
        lines = plot.distortion(of_maps, ax=ax, log=True)
    np.testing.assert_array_equal(lines[1].get_ydata(), of_maps["distortion"].isel(candidate=1))
    assert lines[1].get_xdata().tolist() == [0.5, 1, 2]
    assert ax.get_yscale() == "log"
    assert "(data units)^2" in ax.get_ylabel().replace("\xa0", " ")


def test_parts_of_distortion(of_maps: xr.Dataset) -> None:
    with printed() as ax:
        lines = plot.distortion(of_maps["distortion_parts"].isel(candidate=0), ax=ax)
    assert [line.get_label() for line in lines] == ["within", "bias", "neighborhood"]


def test_topographic_functions(of_maps: xr.Dataset) -> None:
    with printed() as ax:
        lines = plot.topographic_function(of_maps, ax=ax)
    np.testing.assert_array_equal(
        lines[0].get_ydata(), of_maps["topographic_function"].isel(candidate=0)
    )
    with printed() as ax:  # what there is of them
        lines = plot.topographic_function(of_maps[["villmann_function"]], ax=ax)
    assert "Villmann" in ax.get_ylabel()
    assert min(lines[0].get_xdata()) < 0


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda q: plot.rank_curves(q, "u_n"), "no u_n .* metrics="),
        (lambda q: plot.rank_curves(q["q_nx"].sel(k=3)), "no dim 'k', for there is one k"),
        (lambda q: plot.rank_curves(q, k=[99]), "leaves nothing to draw.* from 1 to 59"),
        (lambda q: plot.rank_curves(q["q_nx"].values), "not ndarray"),
        (lambda q: plot.rank_curves(q["q_nx"].expand_dims(run=2)), "too many dims"),
        (lambda q: plot.distortion(q), "no distortion"),
    ],
)
def test_refusals_say_what_to_do(q: xr.Dataset, draw: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        draw(q)
    assert "\n" not in str(caught.value)
