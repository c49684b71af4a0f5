"""Codes of labels that are no compact integers: hashed, with sorted or given categories."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from somscale._types import AnyArray, Int
from somscale.engine.readers.columns import Column, code_dtype
from somscale.errors import InputError

__all__ = ["code_by_hash", "code_categorical"]

_KINDS: dict[str, tuple[type, ...]] = {
    "texts": (str,),
    "bytes": (bytes,),
    "booleans": (bool, np.bool_),
    "numbers": (numbers.Real, np.bool_),
}


def code_categorical(values: Any, name: str) -> Column:
    """Codes of a pandas Categorical: its own, with its categories in their order."""
    labels = values.categories.to_numpy()
    if labels.dtype.kind not in "biufmM":
        # numbers, texts and dates can be coordinates of a file; anything else goes by its text
        labels = np.array([str(label) for label in labels], dtype=str)
    n_missing = int(np.count_nonzero(values.codes < 0))
    return Column(values.codes, 0, labels, name, n_missing)


def code_by_hash(values: Any, name: str) -> Column:
    """Codes of a NumPy or pandas array, -1 where it is missing; categories are sorted."""
    import pandas as pd

    if isinstance(values, np.ndarray) and values.dtype.kind not in "biumMUSOT":
        raise InputError(
            f"{name}: values of type {values.dtype} cannot be labels; use integers, strings, "
            "booleans or pandas categories"
        )
    if isinstance(values, np.ndarray) and values.dtype.kind == "T":
        values = values.astype(object)
    try:
        found, uniques = pd.factorize(values)
    except TypeError as error:
        raise InputError(f"{name}: these cannot be labels ({error})") from error
    codes = np.asarray(found)
    labels = _labels(np.asarray(uniques), codes, name)
    # one entry more, so that -1 stays -1
    ranks = np.full(len(labels) + 1, -1, code_dtype(len(labels)))
    order = np.argsort(labels, kind="stable")
    ranks[order] = np.arange(len(labels))
    n_missing = int(np.count_nonzero(codes < 0))
    return Column(ranks[codes], 0, labels[order], name, n_missing)


def _labels(uniques: AnyArray, codes: Int, name: str) -> AnyArray:
    """The distinct labels as an array of one type; refused where they have none in common."""
    if uniques.dtype.kind in "biumMUS":
        return uniques
    labels = uniques.tolist()
    kind = next((kind for kind, types in _KINDS.items() if _all_of(labels, types)), None)
    if kind is None:
        raise InputError(f"{name}: {_mixture(labels, codes)}; make them integers or strings")
    if kind != "numbers":
        types = {"texts": str, "bytes": bytes, "booleans": bool}
        return np.array(labels, dtype=types[kind])
    for code, label in enumerate(labels):
        if not isinstance(label, numbers.Integral) and not float(label).is_integer():
            first = int(np.argmax(codes == code))
            raise InputError(
                f"{name}: {label} at position {first} is not an integer; "
                "numbers that are labels are integers (are these measurements?)"
            )
    return np.array([int(label) for label in labels])


def _all_of(labels: list[Any], types: tuple[type, ...]) -> bool:
    return all(isinstance(label, types) for label in labels)


def _mixture(labels: list[Any], codes: Int) -> str:
    """Words for the first label that does not go with the first one."""
    own = next((types for types in _KINDS.values() if isinstance(labels[0], types)), None)
    odd = next(
        (n for n, label in enumerate(labels) if own is None or not isinstance(label, own)), 0
    )
    first = int(np.argmax(codes == odd))
    kind = type(labels[odd]).__name__
    if own is None:
        return f"{labels[odd]!r} at position {first} is of type {kind}, which cannot be a label"
    return f"{labels[odd]!r} at position {first} is of type {kind}, unlike the first label"
