"""What the README says: its Python runs as printed, and its two commands are one line each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[1] / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## )", README.read_text("utf-8"), re.M | re.S)
    assert found is not None
    return found.group(1)


def test_the_python_runs_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # it writes a page
    monkeypatch.setenv("MPLBACKEND", "agg")
    names: dict[str, Any] = {}
    for block in blocks("python"):
        exec(compile(block, str(README), "exec"), names)
    names["plt"].close("all")
    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert [len(ax.lines) > 1 or len(ax.collections) > 0 for ax in names["axes"]] == [True] * 3
    assert names["judged"]["rank_quality"].dims == ("candidate", "kappa_s", "kappa_t")
    assert (names["judged"]["r_nx"].sel(k=10) > 0.01).all()
    assert names["surface"].sizes == {"kappa_s": 100, "kappa_t": 100}
    assert names["quality"].shape == (5_000,)
    assert names["q"]["composite"].dims == ("unit", "lat", "lon")
    assert names["q"]["value"].sel(metric="features_dropped") > 0
    assert names["table"].shape == (3, 2)
    assert list(names["table"].columns) == ["quantization_error", "topographic_error"]


@pytest.mark.parametrize(
    ("title", "end"), [("Run it", "somscale demo"), ("Test it", "python -m pytest -n 2")]
)
def test_set_up_is_one_command(title: str, end: str) -> None:
    (command,) = re.findall(r"```sh\n(.*?)\n```", section(title), re.DOTALL)
    assert "\n" not in command
    assert command.endswith(end)
    assert "-m venv" in command
