"""The notebooks of the examples: whole, without outputs, and with nothing of one machine."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="notebooks need nbformat")

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = (
    "archives_into_zarr",
    "clusterings",
    "comparing_24_maps",
    "first_steps",
    "judging_embeddings",
    "larger_than_memory",
    "own_index_and_distance",
    "weather_regimes",
)
# a home, the root of a drive, or a folder that machines name by themselves
LOCAL = re.compile(r"(?<![\w.])(/(home|Users|root|tmp|work|mnt|opt|var)/|[A-Z]:\\\\|~/)")


@pytest.fixture(params=NAMES)
def notebook(request: pytest.FixtureRequest) -> Any:
    return nbformat.read(EXAMPLES / f"{request.param}.ipynb", as_version=nbformat.NO_CONVERT)


def code_of(notebook: Any) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def prose_of(notebook: Any) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def test_these_are_all() -> None:
    assert {path.stem for path in EXAMPLES.glob("**/*.ipynb")} == set(NAMES)


def test_the_format_is_valid(notebook: Any) -> None:
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    nbformat.validate(notebook)  # with an id in every cell, no two alike
    assert set(notebook.metadata) == {"kernelspec"}
    assert notebook.metadata.kernelspec.name == "python3"


def test_outputs_are_stripped(notebook: Any) -> None:
    for cell in notebook.cells:
        assert not cell.metadata, cell.source
        if cell.cell_type == "code":
            assert cell.outputs == [], cell.source
            assert cell.execution_count is None, cell.source


def test_nothing_is_of_one_machine(notebook: Any) -> None:
    for cell in notebook.cells:
        assert LOCAL.search(cell.source) is None, cell.source


@pytest.mark.parametrize("text", ["/home/me/x", "open('/tmp/x')", r"C:\\data", "~/x"])
def test_local_paths_are_seen(text: str) -> None:
    assert LOCAL.search(text) is not None


def test_it_tells_a_story(notebook: Any) -> None:
    first, *_, last = notebook.cells
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")
    assert "?" in first.source, "no question is asked"
    assert re.search(r"^## .*conclu", prose_of(notebook), re.M | re.I) is not None
    assert last.source.strip(), "the last cell is empty"


def test_the_code_is_python_and_plots_by_the_package(notebook: Any) -> None:
    code = code_of(notebook)
    for cell in code:
        # magics, `!` and others that IPython alone knows are not Python
        ast.parse(cell)
    assert "import somscale as ss" in "\n".join(code)
    assert "ss.plot." in "\n".join(code)


def test_every_name_of_the_package_exists(notebook: Any) -> None:
    import somscale as ss
    import somscale.plot

    for cell in notebook.cells:
        for path in re.findall(r"\bss((?:\.[a-zA-Z_]\w*)+)", cell.source):
            found: Any = ss
            for name in path.split(".")[1:]:
                assert hasattr(found, name), f"ss{path}"
                found = getattr(found, name)
