"""What something in a workspace was made from, and where two such accounts differ."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from somscale._version import __version__

__all__ = ["differences", "kept_account", "versions"]

_WORDS = {
    "samples": "other samples",
    "reading": "another mask, weights or handling of missing values",
    "function": "another function of the same name",
    "weights": "other weights of samples",
    "labels_of_samples": "other labels or units of the samples",
}
_LIBRARIES = ("numpy", "scipy")
"""Those whose arithmetic shows in the last digits of a result."""


def versions() -> dict[str, str]:
    """Versions of what computes."""
    return {"somscale": __version__, **{name: version(name) for name in _LIBRARIES}}


def kept_account(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """What something was made from, out of the attributes of its group."""
    known = attributes.get("provenance")
    try:
        account = json.loads(known) if isinstance(known, str) else known
    except ValueError:
        return {}
    return dict(account) if isinstance(account, Mapping) else {}


def differences(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Where two accounts differ, in words; empty where they are equal."""
    found = []
    for name in dict.fromkeys([*known, *wanted]):
        old, new = known.get(name), wanted.get(name)
        if old == new:
            continue
        if name in _WORDS:
            found.append(_WORDS[name])
        else:
            found.append(f"{name} {_short(old)}, not {_short(new)}")
    return "; ".join(found)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
