"""Samples no index can be computed from: found inside the pass, counted, the first one named."""

from __future__ import annotations

import numpy as np

from somscale._types import AnyArray, Bool
from somscale.errors import SampleValueError
from somscale.reductions.base import Field, Partial, Rows
from somscale.reductions.names import EntryNames

__all__ = [
    "FAULT_FIELDS",
    "LARGEST_VALUE",
    "Faults",
    "fault_error",
    "first_fault",
]

_NONE = np.iinfo(np.int64).max
_KINDS = {
    "faulty_nan": "nan",
    "faulty_infinite": "infinity",
    "faulty_large": "a value too large to square",
}
LARGEST_VALUE = np.sqrt(np.finfo(np.float64).max) / 4
"""A value that is larger may overflow when a difference from it is squared."""

FAULT_FIELDS = {
    "faulty_samples": Field("sum", "int64"),
    # first faulty entry of each kind, as sample · n_features + feature
    **{name: Field("min", "int64") for name in _KINDS},
}


class Faults:
    """Collect the faulty samples among some rows.

    Parameters
    ----------
    rows : Rows
        The rows at hand.
    partial : Partial
        Where the fault fields and the counts of nan are.
    n_features : int
        Features D.
    nan : bool
        Whether nan is a fault; it is counted as it is looked for.

    Attributes
    ----------
    gaps : (n,) int64
        nan of every row that is faulty.
    """

    def __init__(self, rows: Rows, partial: Partial, n_features: int, *, nan: bool = True) -> None:
        self._rows = rows
        self._partial = partial
        self._n_features = n_features
        self._nan = nan
        self._faulty = np.zeros(0, np.intp)
        self.gaps = np.zeros(0, np.int64)

    def mark(self, faulty: Bool) -> None:
        """Count the faulty rows; their entries are looked for as the features go by."""
        self._faulty = np.flatnonzero(faulty)
        self.gaps = np.zeros(len(self._faulty), np.int64)
        self._partial["faulty_samples"] += len(self._faulty)

    def locate(self, first_feature: int, values: AnyArray) -> None:
        """Look for the first faulty entry of each kind among some features, and count the nan."""
        if not len(self._faulty):
            return
        block = values[self._faulty].astype(np.float64)
        kinds = {
            "faulty_infinite": np.isinf(block),
            "faulty_large": np.isfinite(block) & (np.abs(block) > LARGEST_VALUE),
        }
        if self._nan:
            kinds["faulty_nan"] = missing = np.isnan(block)
            self.gaps += missing.sum(axis=1)
            features = slice(first_feature, first_feature + block.shape[1])
            self._partial["gaps"][features] += missing.sum(axis=0)
        for name, where in kinds.items():
            row, feature = np.nonzero(where)
            if len(row):
                sample = self._rows.start + self._faulty[row]
                entries = sample * self._n_features + first_feature + feature
                np.minimum(self._partial[name], entries.min(), out=self._partial[name])


def first_fault(total: Partial) -> str | None:
    """Kind of the first faulty entry, a field's name; "far" where no entry alone is at fault."""
    if not int(total["faulty_samples"]):
        return None
    kind = min(_KINDS, key=lambda name: int(total[name]))
    return "far" if int(total[kind]) == _NONE else kind


def fault_error(
    total: Partial, kind: str, n_features: int, names: EntryNames, mending: str
) -> SampleValueError:
    """The refusal of samples with faulty entries, the first one named."""
    count = int(total["faulty_samples"])
    whole = "1 sample is" if count == 1 else f"{count} samples are"
    if kind == "far":
        return SampleValueError(
            f"{whole} so far from the map that the squared distance overflows; "
            "rescale the samples and the map"
        )
    sample, feature = divmod(int(total[kind]), n_features)
    return SampleValueError(
        f"the samples hold {_KINDS[kind]} at {names.describe(sample, feature)} "
        f"({whole} affected); {mending}"
    )
