"""The page in a real browser: no errors, no network, and figures that answer."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import report_pages as cases
from hostile_pages import pages
from report_pages import EVIL

import somscale as ss

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")

ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
PATIENCE = 60_000  # ms, of a machine that is busy
VALUES = "[...Bokeh.documents.at(-1).get_model_by_name('points').data.value]"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    ss.report(
        cases.of_embeddings(),
        folder / "embedding.html",
        projection=cases.embeddings(),
        labels=cases.classes(),
        pointwise=cases.pointwise(),
        title=f"$$x$$ {EVIL}",
    )
    ss.report(cases.of_map(), folder / "map.html", projection=cases.som())
    for name, made in pages().items():
        (folder / f"hostile-{name}.html").write_text(made, "utf-8")
    return folder


@pytest.fixture
def open_page(browser: Any, folder: Path) -> Iterator[Any]:
    """Open a page, and hold what it complained of and asked for."""
    faults: list[str] = []
    context = browser.new_context(offline=True)
    context.set_default_timeout(PATIENCE)

    def opened(name: str, width: int = 1100) -> Any:
        shown = context.new_page()
        shown.set_viewport_size({"width": width, "height": 900})
        shown.on("console", partial(_note_message, faults))
        shown.on("pageerror", lambda error: faults.append(f"error: {error}"))
        shown.on("request", partial(_note_request, faults))
        shown.goto((folder / name).as_uri())
        shown.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        return shown

    yield opened
    context.close()
    assert faults == []


def _note_message(faults: list[str], message: Any) -> None:
    if message.type in ("error", "warning"):
        faults.append(f"{message.type}: {message.text}")


def _note_request(faults: list[str], request: Any) -> None:
    if not request.url.startswith(("file:", "data:", "blob:")):
        faults.append(f"asks for {request.url}")


def _click(shown: Any, figure: str, across: float, down: float) -> None:
    """Point at a share of a figure's canvas."""
    place = shown.locator(f"#{figure} canvas").first
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    shown.mouse.click(box["x"] + across * box["width"], box["y"] + down * box["height"])


def test_a_click_on_the_heat_map_recolours_the_points(open_page: Any) -> None:
    shown = open_page("embedding.html")
    before = shown.evaluate(VALUES)
    caption = shown.inner_text("#heat-caption")
    _click(shown, "heat-figure", 0.75, 0.2)
    shown.wait_for_function(
        "text => document.getElementById('heat-caption').textContent !== text", arg=caption
    )
    after = shown.evaluate(VALUES)
    assert after != before
    s, t = (int(shown.inner_text(f"#ranks-{k}-value")) for k in "st")
    quality = cases.of_embeddings()["rank_quality"].isel(candidate=0)
    value = float(quality.sel(kappa_s=s, kappa_t=t))
    told = shown.inner_text("#heat-caption")
    assert told.startswith(f"Q′(κs = {s}, κt = {t}) = ")
    assert float(told.rsplit("= ", 1)[1]) == pytest.approx(value, rel=1e-3)
    assert "κs = 40, κt = 30" in shown.inner_text("#points-caption"), "the nearest pair there is"
    wanted = cases.pointwise().isel(candidate=0).sel(kappa_s=40, kappa_t=30).values
    assert max(abs(a - b) for a, b in zip(after, wanted, strict=True)) < 0.01


def test_sliders_do_the_same_by_key(open_page: Any) -> None:
    shown = open_page("embedding.html")
    before = shown.evaluate(VALUES)
    shown.focus("#ranks-t")
    shown.keyboard.press("Home")
    assert shown.inner_text("#ranks-t-value") == "0"
    assert shown.evaluate(VALUES) != before
    assert "κt = 0" in shown.inner_text("#points-caption")


def test_candidates_and_colours_can_be_chosen(open_page: Any) -> None:
    shown = open_page("embedding.html")
    first = shown.evaluate(VALUES)
    shown.select_option("#ranks-candidate", label=EVIL)
    assert shown.evaluate(VALUES) != first
    shown.select_option("#ranks-colour", label="Labels")
    assert shown.locator("#points-legend li").all_inner_texts() == sorted({"a", EVIL, "c"})
    assert set(shown.evaluate(VALUES)) == {0, 1, 2}


def test_text_stays_text(open_page: Any) -> None:
    shown = open_page("embedding.html")
    assert shown.inner_text("h1") == f"$$x$$ {EVIL}"
    assert shown.title() == f"$$x$$ {EVIL}"
    assert shown.evaluate("typeof window.evil") == "undefined"
    assert shown.locator("#ranks-candidate option").nth(1).inner_text() == EVIL


@pytest.mark.parametrize("name", ["embedding", "map"])
def test_hostile_texts_run_nothing(open_page: Any, name: str) -> None:
    shown = open_page(f"hostile-{name}.html", 390)
    for field in shown.locator("select").all():
        for place in range(field.locator("option").count()):
            field.select_option(index=place)
    shown.wait_for_timeout(100)
    assert shown.evaluate("typeof window.evil") == "undefined"
    assert shown.locator("img:not([src^='data:image/png']), main svg").count() == 0
    assert shown.evaluate("document.documentElement.scrollWidth") <= 390


def test_hovering_a_unit_shows_its_values(open_page: Any) -> None:
    shown = open_page("map.html")
    place = shown.locator("#map-figure-0 canvas").first
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    shown.mouse.move(box["x"] + box["width"] * 0.45, box["y"] + box["height"] * 0.3)
    shown.wait_for_function("!document.getElementById('map-place').textContent.includes('Unit 0 ')")
    unit = int(shown.inner_text("#map-place").split()[1])
    texts = dict(text.split("\t") for text in shown.inner_text("#map-values").strip().splitlines())
    assert int(texts["samples of each unit [samples]"]) == int(cases.of_map()["hits"][unit])
    shown.fill("#map-unit", "7")
    assert shown.inner_text("#map-place").startswith("Unit 7 ")


def test_the_table_sorts_by_value_by_mouse_and_by_key(open_page: Any) -> None:
    shown = open_page("map.html")
    table = shown.locator("#indices table")
    head = table.locator("th").nth(1)
    keys = "rows => rows.map(row => Number(row.cells[1].dataset.order))"
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    rising = table.locator("tbody tr").evaluate_all(keys)
    assert rising == sorted(rising)
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert table.locator("tbody tr").evaluate_all(keys) == rising[::-1]


def test_a_phone_needs_no_sideways_scrolling(open_page: Any) -> None:
    for name in ("map.html", "embedding.html"):
        shown = open_page(name, 390)
        assert shown.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_notebook_shows_it_in_a_frame_of_its_own(browser: Any, folder: Path) -> None:
    made = ss.Report((folder / "map.html").read_text("utf-8"), "A map")
    faults: list[str] = []
    shown = browser.new_page()
    shown.on("pageerror", lambda error: faults.append(str(error)))
    shown.set_content(f"<!DOCTYPE html><title>n</title>{made._repr_html_()}")
    frame = shown.frame_locator("iframe")
    frame.locator("html[data-ready=yes]").wait_for(timeout=PATIENCE)
    assert frame.locator("#map-place").inner_text().startswith("Unit 0 ")
    shown.close()
    assert faults == []
