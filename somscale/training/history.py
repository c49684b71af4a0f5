"""What every epoch found, and when there is nothing left to learn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import xarray as xr

from somscale._types import Bool, Float

__all__ = ["HISTORY_NAMES", "History"]

_TEXTS: Final = {
    "quantization_error": "quantization error, of the codes before they were moved",
    "distortion": "distortion at the epoch's temperature, of the codes before they were moved",
    "temperature": "neighbourhood temperature",
    "code_change": "mean distance that codes moved in the epoch",
}
HISTORY_NAMES: Final = frozenset({"epoch", *_TEXTS})


@dataclass
class History:
    """Rows of the history, one an epoch.

    Attributes
    ----------
    feature_weights : (D,) float64 or None
        Weights of squared differences.
    missing : (D,) bool or None
        Features that every sample lacks.
    n_samples : int
        Samples that took part.
    rows : dict of str to list
        The values so far.
    """

    feature_weights: Float | None
    missing: Bool | None = None
    n_samples: int = 0
    rows: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in _TEXTS})

    def add(
        self, before: Float, after: Float, error: float, distortion: float, temperature: float
    ) -> None:
        """Add an epoch's row."""
        moves = np.nan_to_num(after - before)
        if self.feature_weights is not None:
            moves = moves * np.sqrt(self.feature_weights)
        change = float(np.linalg.norm(moves, axis=1).mean())
        values = (float(error), float(distortion), float(temperature), change)
        for name, value in zip(_TEXTS, values, strict=True):
            self.rows[name].append(value)

    def label(self, epochs: int) -> str:
        """What a progress bar says of the epoch that comes, and of the one before."""
        errors = self.rows["quantization_error"]
        told = f", quantization error {errors[-1]:.6g}" if errors else ""
        return f"epoch {len(errors) + 1} of {epochs}{told}"

    def settled(self, tolerance: float | None) -> bool:
        """Whether the last epoch moved the codes, or lowered the error, by too little to go on."""
        if tolerance is None:
            return False
        errors = self.rows["quantization_error"]
        least = tolerance * errors[-1]
        same = len(errors) > 1 and abs(errors[-1] - errors[-2]) <= least
        return same or self.rows["code_change"][-1] <= least

    def put_into(self, som: xr.Dataset, units: str) -> xr.Dataset:
        """The map with the history, along the dim ``epoch``."""
        numbers = np.arange(len(self.rows["temperature"]))
        facts = {"long_name": "epoch of training", "units": "1"}
        som = som.assign_coords(epoch=("epoch", numbers, facts))
        kinds = {"temperature": "1", "distortion": units if units == "1" else f"({units})^2"}
        for name, values in self.rows.items():
            facts = {"long_name": _TEXTS[name], "units": kinds.get(name, units)}
            som[name] = ("epoch", np.asarray(values), facts)
        return som
