"""How errors name an entry of the samples: in the user's own dims and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from somscale._types import AnyArray, Int

__all__ = ["AxisNames", "EntryNames"]


@dataclass(frozen=True)
class AxisNames:
    """Dims that are flattened together.

    Parameters
    ----------
    dims : tuple of str
        Their names.
    shape : tuple of int, optional
        Their sizes; not needed for one dim.
    labels : mapping of str to array
        Labels along dims that have any.
    positions : (n,) integer, optional
        Places of the entries that are counted, where others are left out.
    """

    dims: tuple[str, ...]
    shape: tuple[int, ...] = ()
    labels: Mapping[str, AnyArray] = field(default_factory=dict)
    positions: Int | None = None

    def describe(self, entry: int) -> str:
        """Words for one entry of the flat axis."""
        if self.positions is not None:
            entry = int(self.positions[entry])
        several = len(self.dims) > 1
        places = np.stack(np.unravel_index(entry, self.shape)).tolist() if several else [entry]
        return ", ".join(
            f"{dim} {place}{self._label(dim, place)}"
            for dim, place in zip(self.dims, places, strict=True)
        )

    def _label(self, dim: str, place: int) -> str:
        if dim not in self.labels:
            return ""
        label = self.labels[dim][place]
        if isinstance(label, np.datetime64):
            return f" ({np.datetime_as_string(label, unit='auto')})"
        return f" ({label!s})"


@dataclass(frozen=True)
class EntryNames:
    """How to name an entry of the samples in the user's own words.

    Parameters
    ----------
    samples, features : AxisNames
        The dims of either side.
    hint : str
        What else to say of gaps in such samples.
    """

    samples: AxisNames = field(default_factory=lambda: AxisNames(("sample",)))
    features: AxisNames = field(default_factory=lambda: AxisNames(("feature",)))
    hint: str = ""

    def describe(self, sample: int, feature: int) -> str:
        """Words for one entry."""
        of_feature = self.describe_feature(feature)
        return ", ".join(filter(None, [self.samples.describe(sample), of_feature]))

    def describe_feature(self, feature: int) -> str:
        """Words for one feature."""
        return self.features.describe(feature) if self.features.dims else ""
