"""What a report of a problem says of the versions and the machine."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement

import somscale as ss
from somscale import versions
from somscale.cli import main

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FOR_DEVELOPERS = {"docs", "test", "dev"}


def names(requirements: list[str]) -> set[str]:
    """Distributions, those of named extras too, without the package's own extras."""
    found = set()
    for requirement in map(Requirement, requirements):
        if requirement.name != PROJECT["name"]:
            found |= {requirement.name, *(requirement.extras - {"array"})}
    return found


def test_lists_what_pyproject_lists() -> None:
    assert set(versions.RUNTIME) == names(PROJECT["dependencies"])
    extras = PROJECT["optional-dependencies"]
    expected = {name: names(extras[name]) for name in extras if name not in FOR_DEVELOPERS}
    assert {name: set(own) for name, own in versions.EXTRAS.items()} == expected


def test_names_versions_and_machine() -> None:
    found = ss.show_versions(as_dict=True)
    assert found["somscale"] == ss.__version__
    assert found["packages"]["numpy"] == np.__version__
    assert list(found["packages"]) == list(versions.RUNTIME)
    assert found["cores"] >= 1
    assert 0 < found["memory_available"] <= found["memory"]
    assert all(one["threads"] >= 1 for one in found["blas"])
    assert json.loads(json.dumps(found)) == found


def test_says_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_there(name: str) -> str:
        raise versions.PackageNotFoundError(name)

    monkeypatch.setattr(versions, "version", none_there)
    found = ss.show_versions(as_dict=True)
    assert set(found["packages"].values()) == set(found["extras"].values()) == {"not installed"}


def test_shows_no_path(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def loaded() -> list[dict[str, Any]]:
        known = {"internal_api": "openblas", "user_api": "blas", "num_threads": 1}
        other = {"internal_api": "openmp", "user_api": "openmp", "num_threads": 2}
        return [{**known, "filepath": "/home/ada/libopenblas.so", "version": None}, other]

    monkeypatch.setattr("threadpoolctl.threadpool_info", loaded)
    assert ss.show_versions() is None
    text = capsys.readouterr().out
    assert "openblas of unknown version (unknown architecture), 1 thread\n" in text
    assert "ada" not in text
    assert sys.prefix not in text
    lines = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert lines["somscale"] == ss.__version__
    assert {*versions.RUNTIME, "bokeh"} <= set(lines)


def test_the_command_prints_the_same() -> None:
    shown = CliRunner().invoke(main, ["versions", "--json"])
    assert json.loads(shown.output)["packages"] == ss.show_versions(as_dict=True)["packages"]
    assert "\nxarray " in CliRunner().invoke(main, ["versions"]).output


def test_imports_little() -> None:
    code = """
import sys
from somscale.versions import show_versions
before = set(sys.modules)
show_versions(as_dict=True)
print(*sorted({"dask", "matplotlib", "numba", "sklearn", "bokeh"} & (set(sys.modules) - before)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
