"""The documentation: nothing is forgotten, what it shows runs, and it builds without a warning."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
from filelock import FileLock

import somscale as ss
import somscale.plot
import somscale.testing
from somscale.cli import main
from somscale.metrics.spec import all_specs

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TAGS = re.compile(r"<[^>]+>")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the finished pages, built once for all workers, outside the checkout."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    target = place / "built"
    with FileLock(place / "docs.lock"):
        if not target.exists():
            build(place / "checkout", target)
    return target


def build(checkout: Path, target: Path) -> None:
    written = shutil.ignore_patterns("_build", "api", "__pycache__")
    shutil.copytree(DOCS, checkout / "docs", ignore=written)
    for name in ("CHANGELOG.md", "examples/coming_from.md"):
        (checkout / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, checkout / name)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*command, str(checkout / "docs"), str(target)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def inventory(folder: Path) -> dict[str, str]:
    """Where each name of the reference is described, from what Sphinx writes for other manuals."""
    lines = (folder / "objects.inv").read_bytes().split(b"\n", 4)[4]
    found = {}
    for line in zlib.decompress(lines).decode("utf-8").splitlines():
        name, kind, _, place, _ = line.split(" ", 4)
        if kind.startswith("py:"):
            found[name] = place.replace("$", name)
    return found


def expected_names() -> set[str]:
    modules = {"metrics", "plot"}
    own = {f"somscale.{name}" for name in ss.__all__ if name not in {*modules, "__version__"}}
    own |= {f"somscale.metrics.{name}" for name in ss.metrics.__all__}
    own |= {f"somscale.testing.{name}" for name in somscale.testing.__all__}
    return own | {f"somscale.plot.{name}" for name in somscale.plot.__all__}


def rows(page: str, kind: str) -> list[list[str]]:
    """Cells of all tables of a kind, as text."""
    tables = re.findall(rf'<table class="[^"]*\b{kind}\b[^"]*">(.*?)</table>', page, re.S)
    return [
        [TAGS.sub("", cell).strip() for cell in re.findall(r"<td>(.*?)</td>", row, re.S)]
        for table in tables
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.S)
        if "<td>" in row
    ]


def test_every_public_name_has_a_page(built: Path) -> None:
    found = inventory(built)
    assert expected_names() <= set(found)
    for name in expected_names():
        page, _, anchor = found[name].partition("#")
        assert f'id="{anchor}"' in (built / page).read_text("utf-8")


def test_every_public_name_is_on_an_overview(built: Path) -> None:
    pages = [(built / f"{name}.html").read_text("utf-8") for name in ("reference", "indices")]
    linked = set(re.findall(r'href="api/[^"#]*#([\w.]+)"', "".join(pages)))
    assert linked >= expected_names()


def test_the_table_has_a_row_for_every_index(built: Path) -> None:
    page = (built / "indices.html").read_text("utf-8")
    found = {row[0].split("\n")[0]: row[1:] for row in rows(page, "indices")}
    specs = {spec.name: spec for spec in all_specs()}
    assert set(found) == set(specs)
    assert len(rows(page, "indices")) == len(specs)
    for name, spec in specs.items():
        text, bounds, _, units, cost = found[name]
        assert (bounds, units, cost) == (spec.range, spec.units, spec.cost)
        assert re.search(r"\d{4}", text)  # of the source
    assert found["q_nx"][2] == "high"
    assert found["topographic_error"][2] == "low"


def test_every_command_and_option_is_told(built: Path) -> None:
    page = TAGS.sub("", (built / "commands.html").read_text("utf-8"))
    for name, command in main.commands.items():
        assert f"$ somscale {name}" in page
        for option in command.params:
            for written in option.opts if option.param_type_name == "option" else ():
                assert written in page, (name, written)


def test_pages_need_no_network(built: Path) -> None:
    for path in built.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|img|link)[^>]+(?:src|href)="(https?:[^"]+)"', path.read_text()
        )
        assert loaded == [], path.name


@pytest.mark.parametrize("name", ["index", "getting_started", "how_to", "exactness"])
def test_what_a_page_shows_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    page = (DOCS / f"{name}.md").read_text("utf-8")
    names: dict[str, Any] = {}
    shown = re.findall(r"```(python|pycon)\n(.*?)```", page, re.DOTALL)
    assert shown
    for kind, block in shown:
        if kind == "python":
            exec(compile(block, name, "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, name, name, 0)
        results = doctest.DocTestRunner(verbose=False).run(test, clear_globs=False)
        assert results.attempted > 0
        assert results.failed == 0
        names = test.globs
    plt.close("all")


def test_a_forgotten_family_and_a_dead_link_are_found(built: Path) -> None:
    page = (built / "indices.html").read_text("utf-8")
    for family in {spec.family for spec in all_specs()}:
        assert f'id="family-{family}"' in page
    for path in built.glob("*.html"):
        for target in re.findall(r'href="([^":#?]+\.html)', path.read_text("utf-8")):
            assert (path.parent / target).is_file(), (path.name, target)
