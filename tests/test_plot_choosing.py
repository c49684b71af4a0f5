"""Silhouettes by cluster, and candidates by two indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from pictures import printed

import somscale as ss
from somscale import plot
from somscale.errors import InputError

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def compared() -> xr.Dataset:
    samples = np.random.default_rng(0).random((400, 3))
    maps = {
        f"{rows} x {cols}": ss.train(samples, ss.Grid(rows, cols), epochs=1, seed=0)
        for rows in (2, 3, 4, 5, 6, 7)
        for cols in (2, 3, 5, 8)
    }
    return ss.compare(samples, maps, ["quantization_error", "topographic_error"], n_boot=40)


def test_bars_are_the_sorted_values_of_each_cluster() -> None:
    samples = np.concatenate([RNG.normal(size=(40, 2)), RNG.normal(size=(25, 2)) + 3])
    labels = np.repeat(["left", "right"], [40, 25])
    q = ss.evaluate(samples, labels, metrics=["sample_silhouette"])
    with printed() as ax:
        profiles = plot.silhouettes(q, labels, ax=ax)
    values = q["sample_silhouette"].values
    for profile, name in zip(profiles, ("left", "right"), strict=True):
        drawn = profile.get_paths()[0].vertices[:, 0]
        np.testing.assert_array_equal(
            np.unique(drawn[drawn != 0]), np.unique(values[labels == name])
        )
    assert [text.get_text() for text in ax.get_yticklabels()] == ["left (40)", "right (25)"]
    assert f"mean {values.mean():.3g}" in ax.get_title()
    assert "higher is better" in ax.get_xlabel().replace("\xa0", " ")


def test_a_result_alone_lacks_clusters() -> None:
    q = xr.Dataset({"sample_silhouette": ("sample", [0.1, 0.5])})
    with pytest.raises(InputError, match="cluster by cluster: give labels="):
        plot.silhouettes(q)
    with pytest.raises(InputError, match=r"metrics=\['sample_silhouette'\]"):
        plot.silhouettes(xr.Dataset({"hits": ("unit", [1, 2])}))


def test_many_samples_are_drawn_by_quantiles() -> None:
    values, labels = RNG.uniform(-1, 1, 200_000), RNG.integers(0, 3, 200_000)
    values[:10] = np.nan
    with printed() as ax:
        profiles = plot.silhouettes(values, labels, ax=ax)
    for number, profile in enumerate(profiles):
        corners = profile.get_paths()[0].vertices[:, 0]
        bars = np.unique(corners[corners != 0])
        assert 100 < len(bars) < 400
        own = values[(labels == number) & np.isfinite(values)]
        assert np.median(bars) == pytest.approx(np.median(own), abs=0.02)
    assert "10 samples left out" in ax.get_ylabel()


def test_names_of_many_clusters_are_as_many_as_fit() -> None:
    with printed() as ax:
        profiles = plot.silhouettes(RNG.random(5000), RNG.integers(0, 60, 5000), ax=ax)
    assert len(profiles) == 60
    assert f"{len(ax.get_yticks())} of 60 named" in ax.get_ylabel()


def test_points_and_front_of_the_trade_off(compared: xr.Dataset) -> None:
    table = compared["value"].sel(metric=["quantization_error", "topographic_error"])
    with printed() as ax:
        points = plot.trade_off(compared, ax=ax)
    np.testing.assert_array_equal(points.get_offsets(), table.transpose("candidate", "metric"))
    front = compared["candidate"].values[compared["on_front"].values]
    written = {text.get_text() for text in ax.texts}
    assert written <= set(front)
    if "no room" in ax.get_title():
        assert f"no room for {len(front) - len(written)} of {len(front)} names" == ax.get_title()
    else:
        assert written == set(front)
        assert ax.get_title() == "24 candidates, named on the front"
    corners = {tuple(place) for place in ax.lines[-1].get_xydata().tolist()}
    on_front = table.sel(candidate=front).transpose("candidate", "metric").values
    crosses = ax.lines[:-1]
    assert len(crosses) == 2 * compared.sizes["candidate"]
    assert min(cross.get_zorder() for cross in crosses) > ax.lines[-1].get_zorder()
    assert {tuple(place) for place in on_front.tolist()} <= corners
    assert "[data units]" in ax.get_xlabel().replace("\xa0", " ")


def test_few_candidates_are_all_named(compared: xr.Dataset) -> None:
    few = compared.isel(candidate=slice(0, 24, 4))
    with printed() as ax:
        plot.trade_off(few, ax=ax)
    assert {text.get_text() for text in ax.texts} == set(few["candidate"].values)
    with printed() as ax:
        plot.trade_off(few, ax=ax, names=False, intervals=False)
    assert not ax.texts


def test_front_by_hand() -> None:
    about = {"direction": ["lower", "higher"], "long_name": ["a", "b"], "metric_units": ["1", "1"]}
    values = [[1.0, 2.0, 3.0, 3.0, np.nan], [0.1, 0.5, 0.4, 0.9, 1.0]]
    compared = xr.Dataset(
        {"value": (("metric", "candidate"), values)},
        {"metric": ["a", "b"], "candidate": list("vwxyz")}
        | {name: ("metric", held) for name, held in about.items()},
    )
    with printed() as ax:
        plot.trade_off(compared, "a", "b", ax=ax)
    border = ax.lines[-1].get_xydata()[1:-1].tolist()
    assert border == [[1, 0.1], [2, 0.1], [2, 0.5], [3, 0.5], [3, 0.9]]
    assert {text.get_text() for text in ax.texts} == set("vwxy")


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda c: plot.trade_off(c, "purity"), "no index 'purity'"),
        (lambda c: plot.trade_off(c.isel(candidate=0)), "several candidates"),
        (lambda c: plot.silhouettes([0.1, 0.2], [1]), "1 labels for 2 values"),
        (lambda c: plot.silhouettes([np.nan], [1]), "no sample has both"),
    ],
)
def test_refusals(compared: xr.Dataset, draw: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        draw(compared)
