"""Presets of parameters under which other programs' users get their numbers back.

"somperf" is the package SOMperf of Forest et al. (2020, arXiv:2011.05847).  Its map
distance is a function that its user chooses: δ and the neighbours of a map's own grid
stand for it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from somscale.errors import InputError

__all__ = ["CONVENTIONS", "convention_parameters"]

_ON_CODES: Final = {"space": "codebook", "ties": "weighted"}

CONVENTIONS: Final[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
    "somperf": {
        "quantization_error": {"kind": "mean"},
        "unit_quantization_error": {"kind": "mean"},
        "topographic_error": {"neighborhood": None},
        "unit_topographic_error": {"neighborhood": None},
        "combined_error": {"squared": False, "neighborhood": None},
        "unit_combined_error": {"squared": False, "neighborhood": None},
        "distortion": {"kernel": "gaussian"},
        "topographic_function": {"normalize": True},
        "c_measure": {"normalize": False, "power": 1},
        "kruskal_shepard_error": {"form": "somperf"},
        "neighborhood_preservation": _ON_CODES,
        "trustworthiness": _ON_CODES,
        "continuity": _ON_CODES,
    },
}
"""Convention to index to parameters; indices that are not named have one form only."""


def convention_parameters(
    convention: str | None, kind: str = "map"
) -> Mapping[str, Mapping[str, Any]]:
    """Parameters of each index under a convention; none where there is no convention.

    Ranks of code vectors are for candidates that are maps.

    Raises
    ------
    InputError
        An unknown convention.
    """
    if convention is None:
        return {}
    if convention not in tuple(CONVENTIONS):
        raise InputError(f"convention is one of {tuple(CONVENTIONS)}, not {convention!r}")
    chosen = CONVENTIONS[convention]
    if kind == "map":
        return chosen
    return {name: own for name, own in chosen.items() if own is not _ON_CODES}
