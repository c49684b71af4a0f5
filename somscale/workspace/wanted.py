"""From what a user says of a matrix to its writer."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from somscale.engine.readers.samples import Samples, refuse_partial
from somscale.errors import InputError
from somscale.metrics.asking.pair_wishes import measure_of
from somscale.metrics.asking.question import Problem
from somscale.store.location import Location
from somscale.store.root import check_name
from somscale.workspace.matrices import Kind, MatrixWriter
from somscale.workspace.stored import measure_facts, measure_name, reading_of

__all__ = ["check_reading", "wanted_matrix"]

_READING = ("missing", "mask", "feature_weights", "sample_dims", "variable")


def check_reading(reading: dict[str, Any]) -> None:
    """Refuse settings that say nothing about distances.

    Raises
    ------
    InputError
        There is such a setting.
    """
    for name in reading:
        if name not in _READING:
            raise InputError(
                f"{name!r} says nothing about distances; missing=, mask= and feature_weights= do"
            )


def wanted_matrix(
    location: Location,
    kind: Kind,
    samples: Samples,
    fingerprint: str,
    *,
    distance: Any,
    p: float,
    dtype: Any,
    name: str | None,
) -> MatrixWriter:
    """The writer of a matrix.

    Parameters
    ----------
    location : Location
        The workspace.
    kind : {"distances", "ranks"}
        What is written.
    samples : Samples
        Once features with gaps are left out.
    fingerprint : str
        Text of their fingerprint.
    distance, p, dtype, name
        As for :meth:`somscale.Workspace.write_distances`.

    Raises
    ------
    InputError
        An unknown distance or type, a name that cannot be stored, or partial distances.
    """
    refuse_partial(samples, "distances and ranks of samples")
    measure = measure_of(Problem({}, samples), {"distance": distance, "p": p})
    account = {
        "samples": fingerprint,
        "reading": reading_of(samples),
        "missing": samples.missing,
        **measure_facts(measure),
    }
    kept = None
    if kind == "distances":
        kept = _checked_dtype(dtype)
        account["dtype"] = str(kept)
    own = check_name(measure_name(measure) if name is None else name)
    return MatrixWriter(location, kind, own, samples, measure, account, kept)


def _checked_dtype(dtype: Any) -> np.dtype[Any]:
    known: np.dtype[Any] | None = None
    with suppress(TypeError):
        known = np.dtype(dtype)
    if known is None or known not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InputError(f"distances are stored as float32 or float64, not {dtype!r}")
    return known
