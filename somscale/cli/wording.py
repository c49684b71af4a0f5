"""Sentences of the library in the words of its command."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["in_options"]

_OPTIONS: Final = {
    "k": "-k",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            *("kappa_s", "kappa_t", "k_max", "ties", "space", "norm"),
            *("sample_dims", "variable", "missing", "labels", "metrics", "cost", "convention"),
            *("unit_clusters", "distance", "p", "sample_anchors", "seed", "memory_budget"),
            *("intervals", "sample_weights", "learning_rate", "algorithm", "kernel", "periodic"),
            *("store", "run", "samples", "overwrite", "dtype", "scheduler"),
        )
    },
}
_GIVEN: Final = re.compile(
    rf"(?<![\w.-])({'|'.join(sorted(_OPTIONS, key=len, reverse=True))})="
    r"(?:'([^']*)'|[\[(]([^\])]*)[\])]|True)?(?!\w)"
)


def in_options(sentence: str) -> str:
    """Arguments that a sentence speaks of, as options: ``ties='index'`` is ``--ties index``."""
    return _GIVEN.sub(_option, sentence)


def _option(found: re.Match[str]) -> str:
    name, word, listed = found.groups()
    if listed is not None:
        word = ",".join(item.strip(" '\"") for item in listed.split(",") if item.strip())
    return f"{_OPTIONS[name]} {word}" if word else _OPTIONS[name]
