"""Checks of parameters that several indices have, made before anything is read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from somscale.errors import InputError

__all__ = ["check_choice", "check_flag", "check_neighborhood"]

_NEIGHBORHOODS = ("edge", "vertex")


def check_neighborhood(parameters: Mapping[str, Any]) -> None:
    """Refuse neighbours of an unknown kind."""
    chosen = parameters["neighborhood"]
    if chosen is not None and chosen not in _NEIGHBORHOODS:
        raise InputError(f"neighborhood is one of {_NEIGHBORHOODS}, not {chosen!r}")


def check_flag(parameters: Mapping[str, Any], name: str) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(parameters[name], bool | np.bool_):
        raise InputError(f"{name} is True or False, not {parameters[name]!r}")


def check_choice(parameters: Mapping[str, Any], name: str, choices: Collection[str]) -> None:
    """Refuse what is none of some names."""
    chosen = parameters[name]
    if not isinstance(chosen, str) or chosen not in choices:
        raise InputError(f"{name} is one of {tuple(choices)}, not {chosen!r}")
