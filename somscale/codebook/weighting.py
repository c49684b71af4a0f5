"""How the features of a map's samples were weighted in training, and whether judging differs."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from somscale._types import Float

__all__ = ["told_of_weights", "trained_weights", "warn_of_other_weights"]

_RTOL = 1e-5  # weights of latitudes in float32 are the same as in float64


def told_of_weights(given: Any, weights: Float | None) -> dict[str, Any]:
    """What a map keeps of the feature weights that it was trained with.

    Parameters
    ----------
    given : optional
        The argument `feature_weights`.
    weights : (D,) float64 or None
        The weights themselves, of the features that take part.

    Returns
    -------
    dict
        ``feature_weights``: None, "coslat" or "given"; with weights also
        ``feature_weights_sums``, their number, sum and sum of squares.  These tell other
        weights, and are the same in any order of the features.
    """
    if _none(weights):
        return {"feature_weights": None}
    kind = given if isinstance(given, str) else "given"
    return {"feature_weights": kind, "feature_weights_sums": _sums(weights)}


def trained_weights(attributes: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a map's attributes say of weights; None where they say nothing."""
    try:
        told = json.loads(attributes.get("training", "null"))
    except (TypeError, ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) and "feature_weights" in told else None


def warn_of_other_weights(
    told: Mapping[str, Any] | None, weights: Float | None, *, name: str | int = ""
) -> None:
    """Warn where a map says it was trained with other feature weights than it is judged with.

    Parameters
    ----------
    told : mapping or None
        As :func:`trained_weights` gives it.
    weights : (D,) float64 or None
        What the map is judged with.
    name : str or int
        The map's, where there are several.
    """
    if told is None:
        return
    which = f"the map {name!r}" if name != "" else "the map"
    kind = told["feature_weights"]
    if kind is None:
        return  # to judge such a map by weights is a question of its own
    what = "feature_weights='coslat'" if kind == "coslat" else "feature_weights="
    if _none(weights):
        how = "without any"
    elif not _same(told.get("feature_weights_sums"), _sums(weights)):
        how = "with others"
    else:
        return
    again = f"give {what}" if kind == "coslat" else "give the same feature_weights="
    _warn(
        f"{which} was trained with {'' if kind == 'coslat' else 'given '}{what.rstrip('=')} and is "
        f"judged {how}: distances are others than in training; {again}"
    )


def _none(weights: Float | None) -> bool:
    """Whether there are no weights, or they do nothing."""
    return weights is None or bool((weights == 1).all())


def _sums(weights: Float | None) -> list[float]:
    values = np.asarray(weights, dtype=np.float64)
    return [len(values), float(values.sum()), float((values**2).sum())]


def _same(told: Any, own: list[float]) -> bool:
    """Whether sums are of the same weights, as far as one can tell: a mask leaves some out."""
    if not isinstance(told, list) or len(told) != len(own) or told[0] != own[0]:
        return True
    return all(math.isclose(a, b, rel_tol=_RTOL) for a, b in zip(told, own, strict=True))


def _warn(sentence: str) -> None:
    warnings.warn(sentence, UserWarning, stacklevel=5)
