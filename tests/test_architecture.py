"""Which room of the package may import which, and what a bare ``import somscale`` may do."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "somscale"

# Room (a module or a subpackage of somscale) -> the rooms that it may import, itself aside.
FLOOR = {"_types", "_version", "errors", "options"}  # open to every room
PASSES = {"topology", "spaces", "reductions", "engine"}
RESULTS = {"codebook", "store", "training", "clustering", "metrics"}
BELOW_EVALUATE = {"kernels", "workspace"} | PASSES | RESULTS
ALLOWED = {
    "_types": set(),
    "_version": set(),
    "errors": set(),
    "options": {"errors"},
    "kernels": FLOOR,
    "topology": FLOOR,
    "spaces": FLOOR | {"kernels", "topology"},
    "reductions": FLOOR | {"kernels", "topology", "spaces"},
    "engine": FLOOR | {"reductions"},
    "codebook": FLOOR | {"topology", "reductions", "engine", "store"},
    "store": FLOOR | PASSES,
    "training": FLOOR | {"kernels", "topology", "reductions", "engine", "codebook"},
    "clustering": FLOOR | {"topology", "codebook"},
    "metrics": FLOOR | {"kernels", "topology", "spaces", "reductions", "engine", "codebook"},
    "workspace": FLOOR | {"kernels"} | PASSES | RESULTS,
    "evaluate": FLOOR | BELOW_EVALUATE,
    "extending": FLOOR | {"topology", "reductions", "metrics"},
    "comparing": FLOOR | BELOW_EVALUATE | {"evaluate"},
    "coranking": FLOOR | BELOW_EVALUATE | {"evaluate"},
    "plot": FLOOR | BELOW_EVALUATE | {"evaluate"},
    "datasets": FLOOR | BELOW_EVALUATE | {"evaluate"},
    "reporting": FLOOR | BELOW_EVALUATE | {"evaluate", "plot"},
    "versions": {"_version"},
    "__init__": FLOOR
    | BELOW_EVALUATE
    | {"comparing", "coranking", "evaluate", "plot", "datasets", "reporting", "versions"},
    "cli": FLOOR
    | BELOW_EVALUATE
    | {"evaluate", "comparing", "plot", "datasets", "reporting", "versions", "__init__"},
}
ALLOWED["testing"] = set(ALLOWED)

NO_DASK_NO_XARRAY = {"kernels", "topology", "spaces", "reductions"}
DASK_IN = {"engine", "cli", "datasets", "testing"}
MAX_LINES = 400

# Import names whose distribution is called otherwise, or comes with a declared one.
DISTRIBUTIONS = {
    "distributed": "dask",
    "markupsafe": "jinja2",
    "pandas": "xarray",
    "sklearn": "scikit-learn",
}
EXTRAS_FOR_DEVELOPERS = {"docs", "test", "dev"}


def modules(package: Path) -> Iterator[tuple[str, str, Path]]:
    """Yield the room, the place for a message, and the path of each module."""
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        yield place.parts[0].removesuffix(".py"), place.as_posix(), path


def imported(path: Path, package: Path) -> Iterator[tuple[int, str]]:
    """Yield line and absolute dotted name of every import, at any depth of the code."""
    # The package that a relative import counts from, for modules and for __init__ alike.
    parents = [package.name, *path.relative_to(package).parent.parts]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = parents[: len(parents) - level + 1] if level else []
                stem = ".".join([*base, *filter(None, [module])])
                yield from ((node.lineno, f"{stem}.{alias.name}") for alias in names)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__")
                | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def room_of(name: str, package: Path) -> str:
    """Return the room that an imported ``somscale...`` name belongs to."""
    part = name.split(".")[1] if "." in name else "__init__"
    if part in ALLOWED or (package / part).is_dir() or (package / f"{part}.py").is_file():
        return part
    return "__init__"


def unknown_rooms(package: Path) -> list[str]:
    return [
        f"{place} is in no known room" for room, place, _ in modules(package) if room not in ALLOWED
    ]


def broken_arrows(package: Path) -> list[str]:
    return [
        f"{place}:{line} imports {target}"
        for room, place, path in modules(package)
        for line, name in imported(path, package)
        if name.split(".")[0] == package.name
        and (target := room_of(name, package)) not in ALLOWED.get(room, set()) | {room}
    ]


def misplaced_libraries(package: Path) -> list[str]:
    """Return the imports of Dask and xarray in rooms that must not know them."""
    found = []
    for room, place, path in modules(package):
        banned = set() if room in DASK_IN else {"dask", "distributed"}
        if room in NO_DASK_NO_XARRAY:
            banned |= {"xarray"}
        for line, name in imported(path, package):
            if name.split(".")[0] in banned:
                found.append(f"{place}:{line} imports {name.split('.')[0]}")
    return found


def undeclared_libraries(package: Path, project: dict[str, Any]) -> list[str]:
    """Return the imports of what neither Python nor a user's installation brings."""
    declared = {canonicalize_name(Requirement(line).name) for line in requirements(project)}
    known = {*sys.stdlib_module_names, package.name}
    return [
        f"{place}:{line} imports {top}"
        for _, place, path in modules(package)
        for line, name in imported(path, package)
        if (top := name.split(".")[0]) not in known
        and canonicalize_name(DISTRIBUTIONS.get(top, top)) not in declared
    ]


def requirements(project: dict[str, Any]) -> Iterator[str]:
    yield from project["dependencies"]
    for extra, lines in project["optional-dependencies"].items():
        if extra not in EXTRAS_FOR_DEVELOPERS:
            yield from lines


def misshapen(package: Path) -> list[str]:
    """Return the modules that are too long or leave annotations to be evaluated."""
    found = []
    for _, place, path in modules(package):
        text = path.read_text("utf-8")
        if (lines := len(text.splitlines())) > MAX_LINES:
            found.append(f"{place} has {lines} lines")
        if not re.search(r"^from __future__ import annotations$", text, re.MULTILINE):
            found.append(f"{place} lacks 'from __future__ import annotations'")
    return found


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_table_has_no_cycle_and_no_strangers() -> None:
    TopologicalSorter(ALLOWED).prepare()  # raises CycleError
    assert set().union(*ALLOWED.values()) <= set(ALLOWED)


def test_every_module_is_in_a_known_room() -> None:
    assert unknown_rooms(PACKAGE) == []


def test_imports_follow_the_arrows() -> None:
    assert broken_arrows(PACKAGE) == []


def test_dask_and_xarray_stay_in_their_rooms() -> None:
    assert misplaced_libraries(PACKAGE) == []


def test_every_library_is_a_declared_dependency(project: dict[str, Any]) -> None:
    assert undeclared_libraries(PACKAGE, project) == []


def test_modules_are_short_and_postpone_annotations() -> None:
    assert misshapen(PACKAGE) == []


HEAD = "from __future__ import annotations\n"
FAULTS = [
    (
        "kernels/tile.py",
        "from somscale.engine.plan import Plan",
        "kernels/tile.py:2 imports engine",
    ),
    ("kernels/tile.py", "from ..engine import plan", "kernels/tile.py:2 imports engine"),
    ("kernels/tile.py", "from .. import engine", "kernels/tile.py:2 imports engine"),
    ("kernels/__init__.py", "from ..engine import x", "kernels/__init__.py:2 imports engine"),
    ("topology.py", "import somscale.engine.plan", "topology.py:2 imports engine"),
    ("topology.py", "from somscale import Grid", "topology.py:2 imports __init__"),
    ("plot.py", "def f():\n    from . import cli", "plot.py:3 imports cli"),
    (
        "metrics/som.py",
        "if TYPE_CHECKING:\n    from ..store import Sink",
        "metrics/som.py:3 imports store",
    ),
    ("store.py", "import_module('somscale.metrics.som')", "store.py:2 imports metrics"),
    ("metrics/som.py", "def f():\n    import dask.array as da", "metrics/som.py:3 imports dask"),
    ("store.py", "from distributed import Client", "store.py:2 imports distributed"),
    ("reductions/units.py", "import xarray as xr", "reductions/units.py:2 imports xarray"),
    ("engine/plan.py", "import torch", "engine/plan.py:2 imports torch"),
    ("engine/plan.py", "import pytest", "engine/plan.py:2 imports pytest"),
    ("helpers.py", "", "helpers.py is in no known room"),
    ("cli.py", "\n" * MAX_LINES, "cli.py has 401 lines"),
]


@pytest.mark.parametrize(("place", "code", "complaint"), FAULTS, ids=[fault[2] for fault in FAULTS])
def test_each_fault_is_found(
    tmp_path: Path, project: dict[str, Any], place: str, code: str, complaint: str
) -> None:
    package = tmp_path / "somscale"
    others = ["engine/plan.py", "metrics/som.py", "store.py", "cli.py"]
    for name, text in [*((other, HEAD) for other in others), (place, HEAD + code)]:
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text, "utf-8")
    found = [
        *unknown_rooms(package),
        *broken_arrows(package),
        *misplaced_libraries(package),
        *undeclared_libraries(package, project),
        *misshapen(package),
    ]
    assert found == [complaint]


def test_permitted_imports_and_missing_future_import(
    tmp_path: Path, project: dict[str, Any]
) -> None:
    package = tmp_path / "somscale"
    (package / "engine").mkdir(parents=True)
    (package / "errors.py").write_text("import math\n", "utf-8")
    code = "import dask.array, numpy, pandas\nfrom . import plan\nfrom ..errors import InputError\n"
    (package / "engine" / "plan.py").write_text(HEAD + code, "utf-8")
    assert broken_arrows(package) == misplaced_libraries(package) == []
    assert undeclared_libraries(package, project) == []
    assert misshapen(package) == ["errors.py lacks 'from __future__ import annotations'"]


def run_fresh(code: str) -> str:
    """Return what a new interpreter prints, started in the checkout."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_leaves_the_heavy_libraries_alone() -> None:
    heavy = ["dask.array", "distributed", "matplotlib", "numba", "sklearn"]
    code = f"""
import sys
from somscale import __version__
print(*sorted(set({heavy}) & set(sys.modules)))
"""
    assert run_fresh(code) == ""


def test_import_changes_no_state_of_the_process() -> None:
    # The libraries come first: the warning filters that they set are not somscale's doing.
    code = """
import os, pickle, random, warnings
import numpy, pandas, scipy.sparse, scipy.spatial, scipy.special, xarray, zarr

def state():
    return {
        "warnings": repr(warnings.filters),
        "errstate": repr(numpy.geterr()),
        "environment": dict(os.environ),
        "random": random.getstate(),
        "numpy.random": pickle.dumps(numpy.random.get_state()),
    }

before = state()
from somscale import __version__
after = state()
print(*[name for name in before if before[name] != after[name]])
"""
    assert run_fresh(code) == ""
