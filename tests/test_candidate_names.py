"""Candidates named by integers: as those named by texts, but for the coordinate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

import somscale as ss
from somscale.cli import main
from somscale.errors import InputError
from somscale.store import open_dataset, write_dataset

VALUES = np.random.default_rng(0).random((120, 3))
SIDES = (3, 0, -2)
MAPS = {n: ss.train(VALUES, ss.Grid(1 + abs(n), 2), epochs=1) for n in SIDES}
POINTS = {2: VALUES[:, :2], 1: VALUES[:, 1:]}
CLUSTERS = {4: np.arange(120) % 4, 7: np.arange(120) % 7}
FEW = ["quantization_error", "topographic_error", "hits"]


def as_texts(candidates: dict[int, Any]) -> dict[str, Any]:
    return {str(name): own for name, own in candidates.items()}


@pytest.mark.parametrize("candidates", [MAPS, POINTS, CLUSTERS], ids=["maps", "points", "clusters"])
def test_only_the_coordinate_differs(candidates: dict[int, Any]) -> None:
    found = ss.evaluate(VALUES, candidates, cost="linear" if candidates is MAPS else None)
    texts = ss.evaluate(VALUES, as_texts(candidates), cost="linear" if candidates is MAPS else None)
    assert found["candidate"].dtype == np.int64
    assert found["candidate"].values.tolist() == list(candidates)
    xr.testing.assert_identical(found.assign_coords(candidate=texts["candidate"]), texts)
    for name in candidates:
        one = found.sel(candidate=name)
        expected = texts.sel(candidate=str(name))
        xr.testing.assert_identical(one.drop_vars("candidate"), expected.drop_vars("candidate"))


def test_integers_of_numpy_lazy_samples_and_one_alone() -> None:
    lazy = ss.evaluate(
        da.from_array(VALUES, chunks=(50, 3)), {np.int32(3): MAPS[3]}, metrics="hits"
    )
    assert lazy["candidate"].dtype == np.int64
    assert lazy["hits"].sel(candidate=3).sum().compute() == 120
    assert list(ss.plan(VALUES, MAPS).candidates) == ["3", "0", "-2"]
    curves = ss.CoRanking(VALUES).curves(POINTS, k=[5])
    assert curves["candidate"].values.tolist() == [2, 1]


@pytest.mark.parametrize("end", ["zarr", "nc"])
def test_a_comparison_is_kept_as_it_is(tmp_path: Path, end: str) -> None:
    found = ss.compare(VALUES, MAPS, FEW[:2], n_boot=40)
    texts = ss.compare(VALUES, as_texts(MAPS), FEW[:2], n_boot=40)
    xr.testing.assert_identical(found.assign_coords(candidate=texts["candidate"]), texts)
    best = found["best"].sel(metric="quantization_error").item()
    values = found["value"].sel(metric="quantization_error")
    assert best == str(found["candidate"].values[np.argmin(values.values)])
    write_dataset(found, tmp_path / f"found.{end}")
    with open_dataset(tmp_path / f"found.{end}") as read:
        assert read["candidate"].dtype == np.int64
        assert np.array_equal(read["rank"].sel(candidate=-2), found["rank"].sel(candidate=-2))


def test_a_workspace_tells_integers_from_texts(tmp_path: Path) -> None:
    work = ss.Workspace(tmp_path / "work.zarr")
    work.write_samples(VALUES)
    first = ss.evaluate(work, MAPS, metrics=FEW)
    texts = ss.evaluate(work, as_texts(MAPS), metrics=FEW)
    again = ss.evaluate(work, MAPS, metrics=FEW)
    assert first["candidate"].dtype == again["candidate"].dtype == np.int64
    assert texts["candidate"].values.tolist() == ["3", "0", "-2"]
    for name in (0, 3):
        hits = first["hits"].sel(candidate=name)
        assert np.array_equal(again["hits"].sel(candidate=name), hits, equal_nan=True)
        assert np.array_equal(texts["hits"].sel(candidate=str(name)), hits, equal_nan=True)
    assert len(work.info().results) == 2
    assert work.verify().ok


def test_pages_and_tables_name_them(tmp_path: Path) -> None:
    found = ss.compare(VALUES, MAPS, FEW[:2], n_boot=40)
    write_dataset(found, tmp_path / "found.zarr")
    named = []
    for name, som in MAPS.items():
        write_dataset(som, tmp_path / f"{name}.zarr")
        named += ["--map", str(tmp_path / f"{name}.zarr")]
    page = tmp_path / "page.html"
    told = CliRunner().invoke(
        main, ["report", str(tmp_path / "found.zarr"), *named, "-o", str(page)]
    )
    assert told.exit_code == 0, told.output
    assert page.read_text("utf-8").count("-2") > 1
    with pytest.raises(InputError, match="names '8', and the result's candidates are 3, 0, -2"):
        ss.report(found, projection={8: MAPS[3]})

    from somscale.cli.compared import as_text
    from somscale.cli.results import as_text as table_of

    assert "\n-2 " in as_text(found)
    many = [*FEW[:2], "combined_error", "dead_units", "explained_variance", "hit_entropy"]
    by_metric = ss.compare(VALUES, MAPS, [*many, "distortion"], intervals=None, temperature=1)
    heads = as_text(by_metric).splitlines()[0].split()
    assert [heads[0], *sorted(heads[1:-1], key=int)] == ["index", "-2", "0", "3"]
    assert table_of(ss.evaluate(VALUES, MAPS, metrics=FEW)).split()[1:4] == ["3", "0", "-2"]


def test_pictures_choose_them() -> None:
    from matplotlib import pyplot

    q = ss.evaluate(VALUES, MAPS, metrics=FEW)
    with pytest.raises(InputError, match=r"\(3, 0, -2\); choose one, as q\.sel\(candidate=3\)"):
        ss.plot.hits(q)
    ss.plot.hits(q.sel(candidate=3))
    ranked = ss.evaluate(VALUES, POINTS, metrics="rank_quality", kappa_s=5, kappa_t=5)
    ss.plot.rank_quality(ranked, candidate=2)
    with pytest.raises(InputError, match="no candidate 3, only 2, 1"):
        ss.plot.rank_quality(ranked, candidate=3)
    panels = ss.plot.embedding(POINTS, {2: VALUES[:, 0], 1: VALUES[:, 1]})
    assert [axes.get_title() for axes in np.ravel(panels)] == ["2", "1"]
    with pytest.raises(InputError, match="no values of 2, only of 5"):
        ss.plot.embedding(POINTS, {5: VALUES[:, 0]})
    pyplot.close("all")


def test_maps_of_other_weights_are_named() -> None:
    weighted = ss.train(VALUES, ss.Grid(2, 2), epochs=1, feature_weights=[1.0, 2.0, 3.0])
    with pytest.warns(UserWarning, match="the map 8 was trained"):
        ss.evaluate(VALUES, {3: MAPS[3], 8: weighted}, metrics="hits")
