"""The chapter for those who come from another package: it runs, and the numbers are theirs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CHAPTER = Path(__file__).parents[1] / "examples" / "coming_from.md"
TEXT = CHAPTER.read_text(encoding="utf-8")
CODE = re.compile(r"`([^`]+)`")

# What the packages printed that are not installed with the tests: SOMperf 0.2b0 (on the digits),
# pycoranking 0.1.6, pyDRMetrics 0.0.8 and ZADU 0.5.4 (on default_rng(0)'s 120 × 5 normal numbers).
PRINTED: dict[str, Any] = {
    "quantization_error(weights, x)": 1.5708442996824232,
    "topographic_error(dist, weights, x)": 0.9193099610461881,
    "combined_error(dist, weights, x)": 14.18020973636341,
    "distortion(dist, gaussian, weights, x)": 16.138912579776203,
    "kruskal_shepard_error(dist, x, weights)": 0.11316030995446379,
    "c_measure(dist, x, weights)": 24731383.11903191,
    "trustworthiness(5, weights, x)": 0.9503044893596225,
    "neighborhood_preservation(5, weights, x)": 0.6773851678854147,
    "topographic_product(dist, weights)": -0.17696,
    "topographic_function([0, 1 / 14], dist, 14, weights, x)": [0.1625, 0.1511363636363636],
    "class_scatter_index(dist, labels, units)": 8.4,
    "clustering_accuracy(labels, units)": 0.29271007234279356,
    "entropy(labels, units)": 8.200856009021091,
    "normalized_minor_class_occurrence(labels, units)": 0.1213132999443517,
    "purity(labels, units)": 0.8786867000556483,
    "coranking_matrix(a, b)[:3, :3]": [[9, 9, 2], [5, 4, 7], [2, 5, 5]],
    "trustworthiness(q, min_k=10, max_k=11)": [0.72063796],
    "continuity(q, min_k=10, max_k=11)": [0.85321372],
    "LCMC(q, min_k=10, max_k=11)": 0.20432987,
    "d.QNN[9]": 0.28907563,
    "d.LCMC[9]": 0.20432987,
    "d.AUC": 0.6646431314787293,
    "d.kmax": 28,
    "d.Qlocal": 0.3300180334721023,
    "d.Qglobal": 0.7666681328741549,
    "d.T[10]": 0.75825482,
    "d.C[10]": 0.87585236,
    "d.Vr": 0.6653060291241565,
    "tnc: trustworthiness": 0.7206379585326953,
    "tnc: continuity": 0.853213716108453,
    "mrre: mrre_false": 0.7023557782258081,
    "mrre: mrre_missing": 0.8592378257531439,
    "lcmc: lcmc": 0.2026330532212885,
    "nh: neighborhood_hit": 0.21,
    "stress: stress": 0.5010121330101299,
    "pr: pearson_r": 0.5607008983789807,
    "srho: spearman_rho": 0.546816998223119,
}
RUNNING = ("theirs.", "manifold.", "metrics.")


def rows() -> list[tuple[str, str, str]]:
    """Their call, ours, and what is said of the difference, of every row of every table."""
    found = []
    for line in TEXT.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `"):
            assert len(cells) == 3, line
            found.append((CODE.findall(cells[0])[0], CODE.findall(cells[1])[0], cells[2]))
    return found


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(compile(block, str(CHAPTER), "exec"), found)
    return found


def test_every_row_is_compared() -> None:
    calls = [theirs for theirs, _, _ in rows()]
    printed = {call for call in calls if not call.startswith(RUNNING)}
    assert printed == set(PRINTED)
    assert len(calls) == len(set(calls)) == len(PRINTED) + 22


@pytest.mark.parametrize(("theirs", "ours", "remark"), rows(), ids=[row[0] for row in rows()])
def test_numbers_are_theirs(names: dict[str, Any], theirs: str, ours: str, remark: str) -> None:
    expected = eval(theirs, dict(names)) if theirs.startswith(RUNNING) else PRINTED[theirs]
    found = np.asarray(eval(ours, dict(names)))
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    # numpy prints arrays to 8 digits; others to all
    rtol = 1e-11 if theirs.startswith(RUNNING) or len(repr(expected.item(0))) > 12 else 3e-8
    same = np.allclose(found, expected, rtol=rtol, atol=1e-12)
    assert same != remark.startswith("differs:"), (found, expected)


def test_what_the_prose_names_exists(names: dict[str, Any]) -> None:
    prose = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
    metrics, package = names["m"], names["ss"]
    for name in re.findall(r"\bm\.(\w+)", prose):
        assert hasattr(metrics, name), name
    for name in re.findall(r"\bss\.(\w+)", prose):
        assert hasattr(package, name), name


def test_the_convention_gives_somperfs_numbers(names: dict[str, Any]) -> None:
    chosen = ["kruskal_shepard_error", "trustworthiness", "neighborhood_preservation"]
    q = names["ss"].evaluate(names["x"], names["som"], metrics=chosen, convention="somperf", k=5)
    error = q["value"].sel(metric="kruskal_shepard_error").item()
    assert error == pytest.approx(0.11316030995446379, rel=1e-12)
    assert q["trustworthiness"].item() == pytest.approx(0.9503044893596225, rel=1e-12)
    assert q["neighborhood_preservation"].item() == pytest.approx(0.6773851678854147, rel=1e-12)
