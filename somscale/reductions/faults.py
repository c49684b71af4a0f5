"""Samples no index can be computed from: found inside the pass, counted, the first one named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from somscale._types import AnyArray, Bool
from somscale.errors import SampleValueError
from somscale.reductions.base import Field, Partial, Rows

__all__ = ["FAULT_FIELDS", "LARGEST_VALUE", "EntryNames", "Faults"]

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


@dataclass(frozen=True)
class EntryNames:
    """How to name an entry of the samples in the user's own words.

    Parameters
    ----------
    sample_dim, feature_dim : str
        Names of the dimensions.
    features : sequence, optional
        Labels of the features.
    """

    sample_dim: str = "sample"
    feature_dim: str = "feature"
    features: Sequence[Any] | None = None

    def describe(self, sample: int, feature: int) -> str:
        """Words for one entry."""
        label = "" if self.features is None else f" ({self.features[feature]!s})"
        return f"{self.sample_dim} {sample}, {self.feature_dim} {feature}{label}"


class Faults:
    """Collect the faulty samples among some rows.

    Parameters
    ----------
    rows : Rows
        The rows at hand.
    partial : Partial
        Where the fault fields are.
    n_features : int
        Features D.
    """

    def __init__(self, rows: Rows, partial: Partial, n_features: int) -> None:
        self._rows = rows
        self._partial = partial
        self._n_features = n_features
        self._faulty = np.zeros(0, np.intp)

    def mark(self, faulty: Bool) -> None:
        """Count the faulty rows; their entries are looked for as the features go by."""
        self._faulty = np.flatnonzero(faulty)
        self._partial["faulty_samples"] += len(self._faulty)

    def locate(self, first_feature: int, values: AnyArray) -> None:
        """Look for the first faulty entry of each kind among some features."""
        if not len(self._faulty):
            return
        block = values[self._faulty].astype(np.float64)
        kinds = {
            "faulty_nan": np.isnan(block),
            "faulty_infinite": np.isinf(block),
            "faulty_large": np.isfinite(block) & (np.abs(block) > LARGEST_VALUE),
        }
        for name, where in kinds.items():
            row, feature = np.nonzero(where)
            if len(row):
                sample = self._rows.start + self._faulty[row]
                entries = sample * self._n_features + first_feature + feature
                np.minimum(self._partial[name], entries.min(), out=self._partial[name])

    @staticmethod
    def check(total: Partial, n_features: int, names: EntryNames) -> None:
        """Raise SampleValueError for the first faulty entry of the whole pass."""
        count = int(total["faulty_samples"])
        if not count:
            return
        kind = min(_KINDS, key=lambda name: int(total[name]))
        entry = int(total[kind])
        whole = "1 sample is" if count == 1 else f"{count} samples are"
        if entry == _NONE:
            raise SampleValueError(
                f"{whole} so far from the map that the squared distance overflows; "
                "rescale the samples and the map"
            )
        sample, feature = divmod(entry, n_features)
        raise SampleValueError(
            f"the samples hold {_KINDS[kind]} at {names.describe(sample, feature)} "
            f"({whole} affected); drop or fill such samples first"
        )
