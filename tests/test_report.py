"""The page on a result: its sections, that data stay text, its size, that it loads nothing."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import report_pages as cases
import xarray as xr
from report_pages import EVIL, Page

import somscale as ss
from somscale.errors import InputError
from somscale.reporting import check_libraries, page, spread
from somscale.reporting.blocks import number
from somscale.reporting.drawn import draw
from somscale.store import open_dataset, write_dataset

ROOT = Path(__file__).parents[1]


@cache
def embedded() -> str:
    return ss.report(
        cases.of_embeddings(),
        projection=cases.embeddings(),
        labels=cases.classes(),
        plan=ss.plan(cases.samples(), cases.embeddings(), metrics=cases.METRICS),
        pointwise=cases.pointwise(),
        title=f"$$x$$ {EVIL}",
    ).html


@cache
def mapped() -> str:
    return ss.report(cases.of_map(), projection=cases.som()).html


@pytest.mark.parametrize("made", [embedded, mapped])
def test_the_page_is_well_formed_and_loads_nothing(made: Any) -> None:
    found = Page(made())
    assert found.unclosed == []
    assert found.open == []
    assert found.all("html") == [{"lang": "en"}]
    outside = [
        (tag, name, value)
        for tag, attrs in found.tags
        for name, value in attrs.items()
        if name in ("src", "href", "srcset", "data", "action", "poster")
        and not (value or "").startswith(("data:", "#"))
    ]
    assert outside == []
    style = re.search(r"<style>(.*?)</style>", made(), re.DOTALL)
    assert style is not None
    assert not re.search(r"url\(|@import|@font-face", style.group(1))
    ids = [attrs["id"] for _, attrs in found.tags if attrs.get("id")]
    assert len(ids) == len(set(ids))
    assert all(attrs.get("alt") for attrs in found.all("img"))
    assert found.all("img")


def test_sections_are_those_of_what_was_evaluated() -> None:
    of_embeddings, of_map = Page(embedded()), Page(mapped())
    assert list(of_embeddings.sections) == [
        *("summary", "ranks", "curves", "indices", "plan", "provenance")
    ]
    assert list(of_map.sections) == ["summary", "maps", "indices", "provenance"]
    links = [a["href"] for a in of_map.all("a") if a.get("class") != "skip"]
    assert links == ["#summary", "#maps", "#indices", "#provenance"]


def test_text_of_the_data_stays_text() -> None:
    found = Page(embedded())
    scripts = found.all("script")
    assert len(scripts) == 4, "two of data, the library's and the page's own"
    assert found.comments == []
    assert f"$$x$$ {EVIL}" in "".join(found.text.split("<h1>")[1].split("</h1>")[0]).replace(
        "&lt;", "<"
    ).replace("&gt;", ">")
    data = found.json("data-ranks")
    assert data["names"] == ["plane", EVIL]
    assert EVIL in data["points"]["classes"]["names"]
    assert "window.evil" not in found.data["figures-ranks"], "no text of the data reaches Bokeh"


def test_sentences_say_what_numbers_say() -> None:
    found = Page(mapped())
    q = cases.of_map()
    error = q["value"].sel(metric="topographic_error").item()
    assert f"for {100 * error:.3g}\xa0% of the samples" in found.sections["summary"]
    assert "How far a sample is, on average, from the code vector" in found.sections["indices"]
    assert "mean over samples of the distance" in found.sections["indices"]
    several = Page(embedded()).sections["summary"]
    trust = cases.of_embeddings()["trustworthiness"].sel(k=10)
    best = str(trust["candidate"].values[int(trust.values.argmax())])
    line = f"Trustworthiness at K = 10 (higher is better): {best}, {number(float(trust.max()))}"
    assert line in several


def test_each_value_stands_in_the_table() -> None:
    found = Page(mapped())
    q = cases.of_map()
    for metric in q["metric"].values:
        assert number(float(q["value"].sel(metric=metric))) in found.sections["indices"]


def test_points_and_shades_are_those_of_the_data() -> None:
    data = Page(embedded()).json("data-ranks")
    points = data["points"]
    x = np.frombuffer(base64.b64decode(points["x"][1]), "<f4")
    np.testing.assert_array_equal(x, cases.samples()[:, 2].astype("<f4"))
    assert points["pairs"] == [[s, t] for s in (2, 10, 40) for t in (0, 5, 30)]
    own = points["shades"][points["pairs"].index([10, 5])]
    steps = np.frombuffer(base64.b64decode(own["values"][0]), "u1")
    wanted = cases.pointwise().isel(candidate=0).sel(kappa_s=10, kappa_t=5).values
    shown = own["low"] + steps / 254 * (own["high"] - own["low"])
    assert np.abs(shown - wanted).max() <= (own["high"] - own["low"]) / 508 + 1e-12
    heat = data["heat"]
    values = np.frombuffer(base64.b64decode(heat["values"][0]), "<f4")
    quality = cases.of_embeddings()["rank_quality"].isel(candidate=0)
    shape = len(heat["kappa_t"]), len(heat["kappa_s"])
    place = heat["kappa_t"].index(5), heat["kappa_s"].index(10)
    wanted_quality = float(quality.sel(kappa_s=10, kappa_t=5))
    assert values.reshape(shape)[place] == pytest.approx(wanted_quality, rel=1e-6)


def test_units_have_their_values_and_classes() -> None:
    data = Page(mapped()).json("data-map")
    names = [field["name"] for field in data["fields"]]
    hits = np.frombuffer(base64.b64decode(data["maps"][0]["fields"][names.index("hits")]), "<f4")
    np.testing.assert_array_equal(hits, cases.of_map()["hits"].values)
    shares = cases.of_map()["label_distribution"].values
    known = np.isfinite(shares).any(axis=1)
    majority = np.nan_to_num(shares).argmax(axis=1)
    assert np.array_equal(np.array(data["maps"][0]["classes"])[known], majority[known])
    assert EVIL in data["classes"]


def test_a_stored_result_makes_the_same_data(tmp_path: Path) -> None:
    write_dataset(cases.of_map(), tmp_path / "q.zarr")
    with open_dataset(tmp_path / "q.zarr") as stored:
        found = Page(ss.report(stored, projection=cases.som()).html)
    assert found.json("data-map") == Page(mapped()).json("data-map")
    assert found.sections["indices"] == Page(mapped()).sections["indices"]


def test_clusterings_have_a_table_and_silhouettes() -> None:
    clusters = np.repeat([0, 1, 2], 30)
    metrics = ["silhouette_score", "cluster_sizes", "cluster_silhouette", "sample_silhouette"]
    q = ss.evaluate(cases.samples(), clusters, metrics=metrics)
    found = Page(ss.report(q, projection=clusters).html)
    assert "Silhouettes" in found.sections["clusters"]
    assert number(float(q["cluster_silhouette"][1])) in found.sections["clusters"]
    assert "bokeh" not in "".join(found.data), "a page without explorers needs no library"
    assert len(found.text) < 500_000
    without = Page(ss.report(q).html)
    assert "sorted within" not in without.sections["clusters"]


def test_compared_maps_have_a_front_and_told_differences() -> None:
    maps = {f"{n} x {n}": ss.train(cases.samples(), ss.Grid(n, n), epochs=2) for n in (2, 4)}
    metrics = ["quantization_error", "topographic_error"]
    q = ss.compare(cases.samples(), maps, metrics, n_boot=40)
    found = Page(ss.report(q, projection=maps).html)
    assert list(found.sections) == ["summary", "comparison", "indices", "provenance"]
    assert "Quality of 2 self-organizing maps" in found.text
    assert "by resamples (95 % intervals of differences)" in found.sections["summary"]
    assert "On the front" in found.sections["comparison"]
    low = number(float(q["interval_low"].sel(metric="quantization_error")[0]))
    assert f"[{low}, " in found.sections["indices"]


def test_candidates_that_are_all_best_are_told_apart_from_none() -> None:
    som = ss.train(cases.samples(), ss.Grid(2, 2), epochs=2)
    q = ss.compare(cases.samples(), {"one": som, "two": som}, ["quantization_error"], n_boot=40)
    summary = Page(ss.report(q).html).sections["summary"]
    assert "one and two" in summary
    assert "told apart" not in summary


def test_a_million_samples_stay_below_ten_megabytes(tmp_path: Path) -> None:
    count, rng = 1_000_000, np.random.default_rng(0)
    q = cases.of_embeddings().isel(candidate=0, drop=True).drop_vars("sample_q_nx")
    q.attrs["n_samples"] = count
    near, change = [1, 2, 5, 10, 20, 40, 70, 88], [0, 1, 2, 5, 10, 20, 50, 88]
    facts = {"long_name": "quality of ranks Q' of a sample", "units": "1"}
    base = rng.random(count, dtype=np.float32)
    for s in near:
        for t in change:
            own = facts | {"kappa_s": str(s), "kappa_t": str(t)}
            q[f"shade {s} {t}"] = ("sample", base, own)
    plane = rng.normal(size=(count, 2))
    labels = rng.integers(0, 30, count)
    made = ss.report(q, tmp_path / "page.html", projection=plane, labels=labels)
    assert (tmp_path / "page.html").stat().st_size < 10e6
    data = Page(made.html).json("data-ranks")["points"]
    assert len(data["pairs"]) == 64
    places = draw(count).places
    assert len(places) == 5_000
    x = np.frombuffer(base64.b64decode(data["x"][0]), "<f4")
    np.testing.assert_array_equal(x, plane[places, 0].astype("<f4"))
    assert "Of 1,000,000 samples 5,000 are drawn" in made.html
    assert len(data["classes"]["names"]) == 10
    assert data["classes"]["others"] == ["all others"]


def test_samples_on_several_dims_are_drawn_in_their_order() -> None:
    dims = ("time", "place")
    values = cases.samples().reshape(10, 9, 4)
    archive = xr.DataArray(values, dims=(*dims, "feature"), coords={"time": np.arange(10) * 2})
    plane = archive.isel(feature=slice(2)).rename(feature="component")
    q = ss.evaluate(archive, plane, metrics=["sample_q_nx"], sample_dims=dims)
    turned = plane.isel(time=slice(None, None, -1))
    data = Page(ss.report(q, projection=turned).html).json("data-ranks")
    x = np.frombuffer(base64.b64decode(data["points"]["x"][0]), "<f4")
    np.testing.assert_array_equal(x, values.reshape(-1, 4)[:, 0].astype("<f4"))


def test_the_object_shows_saves_and_names_itself(tmp_path: Path) -> None:
    made = page.Report("<p>&lt;b&gt;</p>", 'a "title" <b>')
    made.save(tmp_path / "x.html")
    assert (tmp_path / "x.html").read_text("utf-8") == "<p>&lt;b&gt;</p>"
    assert [p.name for p in tmp_path.iterdir()] == ["x.html"]
    shown = Page(made._repr_html_()).all("iframe")[0]
    assert shown["srcdoc"] == made.html
    assert shown["sandbox"] == "allow-scripts"
    assert shown["title"] == 'a "title" <b>'
    assert repr(made) == "<somscale.Report 'a \"title\" <b>': 0.0 MiB>"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"q": 3}, "not of a int"),
        ({"q": xr.Dataset()}, "is no result"),
        ({"plan": "x"}, "plan is what ss.plan returns"),
        ({"path": "page.txt"}, "written as .html, not 'page.txt'"),
        ({"projection": np.zeros((7, 2))}, "7 rows, and the result is of 90 samples"),
    ],
)
def test_what_is_no_report_is_refused(arguments: dict[str, Any], words: str) -> None:
    q = cases.of_embeddings().isel(candidate=0, drop=True)[["value", "sample_q_nx"]]
    with pytest.raises(InputError, match=re.escape(words)):
        ss.report(**{"q": q, **arguments})


def test_another_map_is_refused() -> None:
    other = ss.train(cases.samples(), ss.Grid(2, 2), epochs=1)
    with pytest.raises(InputError, match="the map has 4 units, and the result is of one with 12"):
        ss.report(cases.of_map(), projection=other)


def test_a_missing_library_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    found = page.find_spec
    monkeypatch.setattr(page, "find_spec", lambda n: None if n == "bokeh" else found(n))
    with pytest.raises(ImportError, match=r"^a report needs bokeh, which is not installed: pip "):
        check_libraries()
    monkeypatch.setattr(page, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="jinja2 and bokeh and matplotlib, which are not"):
        ss.report(cases.of_map())


def test_importing_somscale_loads_none_of_the_libraries() -> None:
    code = "import sys, somscale; print(*{'bokeh', 'jinja2', 'matplotlib'} & set(sys.modules))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
    assert callable(ss.report)
    assert ss.Report is page.Report
    assert "report" in dir(ss)
    assert not hasattr(ss, "no_such_name")


def test_kappas_are_spread() -> None:
    assert spread([5, 1, 3]) == [1, 3, 5]
    chosen = spread(range(1, 101))
    assert (chosen[0], chosen[-1], len(set(chosen))) == (1, 100, 8)
    assert chosen == sorted(chosen)
    assert spread(range(9))[-1] == 8


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.123456, "0.1235"),
        (1234567.0, "1,234,567"),
        (-0.5, "−0.5"),
        (float("nan"), "–"),
        (float("-inf"), "−∞"),
        (1e-7, "1e-07"),
    ],
)
def test_numbers_are_for_people(value: float, text: str) -> None:
    assert number(value) == text


def test_a_workspace_shows_itself_as_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = ss.Workspace(tmp_path / "a <b>.zarr")
    assert "a &lt;b&gt;.zarr" in workspace._repr_html_()
    assert "<table>" in workspace._repr_html_()

    def fail() -> None:
        raise ss.WorkspaceError("torn <i>")

    monkeypatch.setattr(workspace, "info", fail)
    assert "a &lt;b&gt;.zarr" in workspace._repr_html_()
    assert "torn &lt;i&gt;" in workspace._repr_html_()
