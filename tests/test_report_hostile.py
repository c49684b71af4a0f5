"""What a page does with texts that would leave their place, and with arguments that do not fit."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import report_pages as cases
import xarray as xr
from hostile_pages import pages
from report_pages import Page

import somscale as ss
from somscale.errors import InputError
from somscale.metrics.spec import all_specs
from somscale.reporting.sentences import SENTENCES
from somscale.reporting.wording import cleaned, distinct, shortened


@pytest.mark.parametrize("name", ["embedding", "map"])
def test_no_text_becomes_an_element_or_a_handler(name: str) -> None:
    found = Page(pages()[name])
    assert found.unclosed == []
    assert found.comments == []
    tags = {tag for tag, _ in found.tags}
    assert not tags & {"svg", "iframe", "object", "embed", "base", "form"}
    handlers = [(t, n) for t, attrs in found.tags for n in attrs if n.startswith("on")]
    assert handlers == []
    assert all(str(a["src"]).startswith("data:image/png;base64,") for a in found.all("img"))
    texts = "".join(found.data[n] for n in found.data if n.startswith(("data-", "figures-")))
    assert not re.search("[<>&\u2028\u2029]", texts)
    made = pages()[name]
    assert not re.search("[\x00\x07\ud800-\udfff\u202a-\u202e\u2066-\u2069]", made)
    assert "\\ud800" not in texts
    assert "w" * 1_000 not in made, "a name is shortened"


def test_names_stay_different_when_they_are_shortened() -> None:
    long = ["w" * 200, "w" * 201, "short", "short\x00", "short\x01"]
    assert len(set(distinct(long))) == 5
    assert len(shortened("w" * 200)) == 60
    assert cleaned({"a\u202e": ["\x00", 1]}) == {"a\ufffd": ["\ufffd", 1]}
    assert cleaned("שלום ελ 日本 e\u0301\n") == "שלום ελ 日本 e\u0301\n"


def test_each_index_has_a_sentence() -> None:
    own = [s.name for s in all_specs() if s.formula.__module__.startswith("somscale.")]
    assert [name for name in own if name not in SENTENCES] == []
    for sentence in SENTENCES.values():
        assert sentence.endswith(".")
        assert sentence[0].isupper()
        assert len(sentence) <= 200


@cache
def _single() -> xr.Dataset:
    return cases.of_embeddings().isel(candidate=0, drop=True)


PLANE = cases.samples()[:, :2]
SHADES = cases.pointwise()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"q": xr.Dataset()}, "no result of ss.evaluate or ss.compare"),
        ({"q": xr.Dataset(attrs={"somscale_kind": 5})}, "no result of ss.evaluate"),
        ({"pointwise": PLANE}, "pointwise is pointwise_rank_quality as ss.evaluate gives it"),
        ({"pointwise": xr.DataArray(PLANE)}, "this one has the dims dim_0, dim_1"),
        ({"pointwise": {"plane": PLANE}}, "this is a ndarray"),
        ({"pointwise": {"stranger": SHADES}}, "pointwise names 'stranger', and the result's"),
        ({"pointwise": SHADES.isel(candidate=[0])}, "pointwise is of the candidates plane, and"),
        ({"pointwise": SHADES.isel(candidate=0)}, "the result is of 2 candidates, and pointwise"),
        ({"pointwise": SHADES.isel(sample=slice(7))}, "pointwise has 7 rows, and the result is"),
        ({"projection": PLANE}, "the result is of 2 candidates, and projection is of one"),
        ({"projection": {"stranger": PLANE}}, "projection names 'stranger', and the result's"),
        ({"projection": {"plane": PLANE[:7]}}, "projection of plane has 7 rows"),
        ({"projection": {"plane": cases.som()}}, "is a map, and the result is of embedding"),
        ({"projection": {"plane": "som.zarr"}}, "is a path, and the result is of embedding"),
        ({"projection": {"plane": np.array(["a"] * 90)}}, "give an embedding, (sample, component)"),
        ({"projection": {"plane": [[1, 2], [3]]}}, "give an embedding, (sample, component)"),
        ({"projection": {"plane": 5}}, "give an embedding, (sample, component)"),
        ({"labels": [1, 2, 3]}, "labels has 3 rows"),
        ({"labels": "abc"}, "labels are the class of each sample, (sample,), not a str"),
        ({"labels": PLANE}, "labels are the class of each sample, (sample,), not (90, 2)"),
        ({"path": "no/such/folder/page.html"}, "there is no folder 'no/such/folder'; make it"),
        ({"path": 5}, "path is the name of a .html file, not a int"),
        ({"title": 5}, "title is a text, not a int"),
    ],
)
def test_an_argument_that_does_not_fit_is_one_sentence(
    arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=re.escape(words)) as told:
        ss.report(**{"q": cases.of_embeddings(), **arguments})
    assert "\n" not in str(told.value)


def test_arguments_of_maps_and_clusters_are_checked_too() -> None:
    with pytest.raises(InputError, match="is a ndarray, and the result is of a map: give a map"):
        ss.report(cases.of_map(), projection=PLANE)
    with pytest.raises(InputError, match="projection has 2 names, and the result is of one"):
        ss.report(cases.of_map(), projection={"a": cases.som(), "b": cases.som()})
    with pytest.raises(InputError, match="labels has 3 rows"):
        ss.report(cases.of_map(), projection=cases.som(), labels=[1, 2, 3])


def test_qualities_may_come_one_by_one() -> None:
    names = list(cases.embeddings())
    given = {name: SHADES.sel(candidate=name, drop=True) for name in names}
    q, planes = cases.of_embeddings(), cases.embeddings()
    together = Page(ss.report(q, projection=planes, pointwise=SHADES).html).json("data-ranks")
    by_name = Page(ss.report(q, projection=planes, pointwise=given).html).json("data-ranks")
    assert by_name["points"]["shades"] == together["points"]["shades"]
    one = {names[0]: given[names[0]]}
    alone = Page(ss.report(q, projection=planes, pointwise=one).html).json("data-ranks")
    assert alone["points"]["pairs"] == together["points"]["pairs"]


def test_the_first_two_of_many_components_are_told() -> None:
    made = ss.report(_single(), projection=cases.samples()).html
    assert "The first two of the embedding&#39;s 4 components are shown." in made
    assert "components are shown" not in ss.report(_single(), projection=PLANE).html


def test_values_along_a_parameter_share_a_row(tmp_path: Path) -> None:
    metrics = ["distortion", "distortion_parts", "quantization_error"]
    q = ss.evaluate(cases.samples(), cases.som(), metrics=metrics, temperature=[1.0, 2.0])
    found = Page(ss.report(q).html)
    table = found.sections["indices"]
    assert table.count("distortion_parts") == 1
    value = q["distortion"].sel(temperature=2.0).item()
    assert f"T = 2: {ss.reporting.blocks.number(value)}" in table
    part = q["distortion_parts"].isel(temperature=0).sel(part="bias").item()
    assert f"bias: {ss.reporting.blocks.number(part)}" in table
    assert "distortion_parts(T = 1)" in table


def test_no_direction_is_told_of_rank_quality() -> None:
    found = Page(ss.report(_single()).html).sections["indices"]
    row = found.split("rank_quality(")[1].split("trustworthiness(")[0]
    assert "higher" not in row.split("]")[0]
