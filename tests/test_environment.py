"""The conda environment asks for what the package and its test extra ask for."""

from __future__ import annotations

import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
# pip's dask[array,distributed] is two packages on conda-forge; both carry its bound.
CONDA_NAMES = {"dask": {"dask-core", "distributed"}}


def wanted(requirements: list[str]) -> dict[str, SpecifierSet]:
    bounds: dict[str, SpecifierSet] = {}
    for requirement in map(Requirement, requirements):
        name = canonicalize_name(requirement.name)
        if name == PROJECT["name"]:  # an extra that includes another
            for extra in requirement.extras:
                bounds |= wanted(PROJECT["optional-dependencies"][extra])
        else:
            bounds |= dict.fromkeys(CONDA_NAMES.get(name, {name}), requirement.specifier)
    return bounds


def test_environment_repeats_pyproject() -> None:
    listed = [Requirement(line) for line in ENVIRONMENT["dependencies"]]
    found = {canonicalize_name(item.name): item.specifier for item in listed}
    assert len(found) == len(listed), "a package is listed twice"
    assert found.pop("python") == SpecifierSet(PROJECT["requires-python"])
    assert found.pop("pip") == SpecifierSet()  # conda's Python may come without its installer
    assert found == wanted([*PROJECT["dependencies"], "somscale[test]"])


def test_environment_is_conda_forge_alone() -> None:
    assert ENVIRONMENT["name"] == PROJECT["name"]
    assert ENVIRONMENT["channels"] == ["conda-forge", "nodefaults"]
