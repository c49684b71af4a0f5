"""Results whose pages are tested, and a reader of pages."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import xarray as xr

import somscale as ss

EVIL = "</script><script>window.evil=1</script><!--"
"""A name that would leave a script, or open a comment, if it were not escaped."""

_VOID = {"meta", "link", "img", "input", "br", "hr"}


@dataclass
class Page(HTMLParser):
    """The elements of a page, its sections' texts, and the JSON in it."""

    text: str
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    open: list[tuple[str, str]] = field(default_factory=list)
    sections: dict[str, str] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    unclosed: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs)
        self.tags.append((tag, own))
        if tag not in _VOID:
            self.open.append((tag, own.get("id") or ""))

    def handle_endtag(self, tag: str) -> None:
        last, _ = self.open.pop()
        if last != tag:
            self.unclosed.append(f"{last} is closed by {tag}")

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1][0] == "script":
            name = self.open[-1][1]
            self.data[name] = self.data.get(name, "") + data
            return
        for tag, name in self.open:
            if tag == "section":
                self.sections[name] = self.sections.get(name, "") + data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]

    def json(self, name: str) -> Any:
        return json.loads(self.data[name])


@cache
def samples() -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).normal(size=(90, 4)) + np.repeat([0, 3, 6], 30)[:, None]


def classes() -> np.ndarray[Any, Any]:
    return np.repeat(["a", EVIL, "c"], 30)


def embeddings() -> dict[str, Any]:
    return {"plane": samples()[:, :2], EVIL: samples()[:, 2:]}


METRICS = ["trustworthiness", "q_nx", "rank_quality", "kruskal_shepard_error", "sample_q_nx"]


@cache
def of_embeddings() -> xr.Dataset:
    return ss.evaluate(samples(), embeddings(), metrics=METRICS)


@cache
def pointwise() -> xr.DataArray:
    kappas: dict[str, Any] = {"kappa_s": [2, 10, 40], "kappa_t": [0, 5, 30]}
    name = "pointwise_rank_quality"
    return ss.evaluate(samples(), embeddings(), metrics=name, **kappas)[name]


@cache
def som() -> xr.Dataset:
    return ss.train(samples(), ss.Grid(3, 4, topology="hexagonal"), epochs=3, seed=0)


@cache
def of_map() -> xr.Dataset:
    metrics = ["quantization_error", "topographic_error", "explained_variance", "hits"]
    metrics += ["unit_quantization_error", "u_matrix", "label_distribution", "purity"]
    return ss.evaluate(samples(), som(), labels=classes(), metrics=metrics)
