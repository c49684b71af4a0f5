"""A comparison for the terminal: candidates by their mean rank, and who cannot be told apart."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from somscale.cli.inputs import Question
from somscale.cli.tables import table_text
from somscale.cli.wording import in_options
from somscale.comparing import compare
from somscale.errors import InputError

__all__ = ["as_text", "result_of"]

_MOST_COLUMNS: Final = 6
_ARROWS: Final = {"higher": "high", "lower": "low", "zero": "0", "none": ""}


def result_of(question: Question, intervals: Any, draws: int) -> xr.Dataset:
    """Compare the candidates of a question.

    Raises
    ------
    InputError
        There is one candidate alone.
    """
    if not isinstance(question.projection, dict):
        raise InputError(
            "a comparison needs at least two candidates; repeat --map, --clusters or --embedding, "
            "or judge one with somscale evaluate"
        )
    return compare(
        question.samples,
        question.projection,
        intervals=intervals,
        n_boot=draws,
        **question.settings,
    )


def as_text(result: xr.Dataset) -> str:
    """A table, and in words the front, the best, and what is as good."""
    order = np.argsort(result["mean_rank"].values, kind="stable")  # nan comes last
    ordered = result.isel(candidate=order)
    few = ordered.sizes["metric"] <= _MOST_COLUMNS
    lines = [_by_candidate(ordered) if few else _by_metric(ordered)]
    if "standard_error" in ordered:
        lines.append("\nvalue ± standard error; * not to be told from the best")
    lines += _front(ordered)
    lines += [text for name in ordered["metric"].values for text in _best(ordered.sel(metric=name))]
    lines += _notes(ordered, "note", "Note")
    lines += _notes(ordered, "interval_note", "Interval")
    return "\n".join(lines)


def _by_candidate(result: xr.Dataset) -> str:
    metrics = result["metric"].values.tolist()
    fronted = "on_front" in result
    heads = ["candidate", "mean rank", *(["front"] if fronted else [])]
    best = [_ARROWS.get(str(way), "") for way in result["direction"].values]
    heads += [f"{name} ({way})" if way else name for name, way in zip(metrics, best, strict=True)]
    rows = []
    for name in result["candidate"].values.tolist():
        own = result.sel(candidate=name)
        row = [str(name), _short(own["mean_rank"].item())]
        row += ["yes" if own["on_front"].item() else ""] if fronted else []
        rows.append([*row, *(_cell(own.sel(metric=metric)) for metric in metrics)])
    return table_text(heads, rows)


def _by_metric(result: xr.Dataset) -> str:
    names = result["candidate"].values.tolist()
    rows = [["mean rank", *map(_short, result["mean_rank"].values.tolist()), ""]]
    for metric in result["metric"].values.tolist():
        own = result.sel(metric=metric)
        cells = [_cell(own.sel(candidate=name)) for name in names]
        rows.append([metric, *cells, _ARROWS.get(str(own["direction"].item()), "")])
    return table_text(["index", *map(str, names), "best"], rows)


def _cell(one: xr.Dataset) -> str:
    text = f"{one['value'].item():.6g}"
    error = one["standard_error"].item() if "standard_error" in one else np.nan
    text = text if np.isnan(error) else f"{text} ± {error:.2g}"
    same = "indistinguishable" in one and one["indistinguishable"].item() == 1
    return f"{text} *" if same else text


def _short(number: float) -> str:
    return "nan" if np.isnan(number) else f"{number:.3g}"


def _front(result: xr.Dataset) -> list[str]:
    if "on_front" not in result:
        return []
    names = result["candidate"].values[result["on_front"].values]
    text = ", ".join(map(str, names)) or "none"
    return [f"\nOn the front of quantization and topographic error: {text}"]


def _best(own: xr.Dataset) -> list[str]:
    """Who is best by an index, and who is not to be told from it."""
    best, name = str(own["best"].item()), str(own["metric"].item())
    if not best:
        return []
    if "indistinguishable" not in own or np.isnan(own["indistinguishable"].values).all():
        return [f"{name}: {best} is best"]
    same = own["candidate"].values[own["indistinguishable"].values == 1]
    names = [str(known) for known in same]
    others = [other for other in names if other != best]
    if not others:
        return [f"{name}: {best} is best"]
    return [f"{name}: {best} is best, and not to be told from {', '.join(others)}"]


def _notes(result: xr.Dataset, name: str, head: str) -> list[str]:
    """Every remark once, with the indices that it is made of."""
    if name not in result:
        return []
    found: dict[str, list[str]] = {}
    for metric in result["metric"].values.tolist():
        for note in dict.fromkeys(result[name].sel(metric=metric).values.astype(str).tolist()):
            if note:
                found.setdefault(in_options(note), []).append(metric)
    return [f"{head}: {note} ({', '.join(metrics)})" for note, metrics in found.items()]
