"""What a training was told, checked before anything is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from somscale._types import Float
from somscale.errors import InputError
from somscale.topology import Grid, neighborhood_kernel

__all__ = ["ALGORITHMS", "SCHEDULES", "Algorithm", "Schedule", "Settings", "checked_settings"]

Algorithm: TypeAlias = Literal["batch", "stochastic"]
Schedule: TypeAlias = Literal["geometric", "linear"]
ALGORITHMS: Final = ("batch", "stochastic")
SCHEDULES: Final = ("geometric", "linear")
_RATES: Final = (0.5, 0.01)


@dataclass(frozen=True)
class Settings:
    """Checked settings.

    Attributes
    ----------
    grid : Grid
        Arrangement of the units.
    algorithm, schedule, kernel : str
        Names.
    epochs, seed : int
        Reads of the samples at most, and the seed of all that is drawn.
    temperature, learning_rate : (float, float)
        First and last.
    tolerance : float or None
        Change at which training stops.
    """

    grid: Grid
    algorithm: str
    epochs: int
    seed: int
    kernel: str
    schedule: str
    temperature: tuple[float, float]
    learning_rate: tuple[float, float]
    tolerance: float | None

    def fall(self, ends: tuple[float, float], share: Float) -> Float:
        """A value that falls from the first to the last of `ends`, at shares of the way."""
        first, last = ends
        if self.schedule == "linear":
            return np.asarray(first + (last - first) * share)
        return np.asarray(first * (last / first) ** share)

    def as_attributes(self) -> dict[str, Any]:
        """The settings as the map's attributes keep them."""
        told = {
            "algorithm": self.algorithm,
            "epochs": self.epochs,
            "seed": self.seed,
            "kernel": self.kernel,
            "schedule": self.schedule,
            "temperature": list(self.temperature),
            "tolerance": self.tolerance,
        }
        if self.algorithm == "stochastic":
            told["learning_rate"] = list(self.learning_rate)
        return told


def checked_settings(
    grid: Any,
    *,
    algorithm: Any,
    epochs: Any,
    seed: Any,
    kernel: Any,
    temperature: Any,
    schedule: Any,
    learning_rate: Any,
    tolerance: Any,
) -> Settings:
    """Check what was asked for.

    Raises
    ------
    InputError
        Something is of the wrong kind or out of range.
    """
    if not isinstance(grid, Grid):
        raise InputError(f"the grid is a {type(grid).__name__}, not a Grid; make one with ss.Grid")
    _check_name("algorithm", algorithm, ALGORITHMS)
    _check_name("schedule", schedule, SCHEDULES)
    _check_integer("epochs", epochs, 1)
    _check_integer("seed", seed, 0)
    if kernel == "mexican_hat":
        raise InputError(
            "kernel='mexican_hat' trains no map: its weights are negative beyond the temperature, "
            "so that those of a unit may add up to 0 or less; take 'gaussian'"
        )
    if temperature is None:
        temperature = (max(1.0, grid.max_distance / 2), 1.0)
    temperatures = _pair("temperature", temperature)
    neighborhood_kernel(kernel)(0.0, temperatures)
    if learning_rate is not None and algorithm == "batch":
        raise InputError("learning_rate= is of algorithm='stochastic'; the batch rule has none")
    rates = _pair("learning_rate", _RATES if learning_rate is None else learning_rate)
    if rates[0] > 1:
        raise InputError(f"learning_rate is at most 1, not {rates[0]:g}")
    if tolerance is not None and not _is_at_least_zero(tolerance):
        raise InputError(f"tolerance is a number of at least 0, or None, not {tolerance!r}")
    return Settings(
        grid=grid,
        algorithm=algorithm,
        epochs=int(epochs),
        seed=int(seed),
        kernel=kernel,
        schedule=schedule,
        temperature=temperatures,
        learning_rate=rates,
        tolerance=None if tolerance is None else float(tolerance),
    )


def _check_name(name: str, value: Any, known: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in known:
        raise InputError(f"{name} is {' or '.join(map(repr, known))}, not {value!r}")


def _check_integer(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} is an integer of at least {least}, not {value!r}")


def _pair(name: str, values: Any) -> tuple[float, float]:
    try:
        first, last = (float(value) for value in values)
    except (TypeError, ValueError):
        raise InputError(f"{name} is a pair (first, last), not {values!r}") from None
    if not 0 < last <= first < np.inf:
        raise InputError(
            f"{name} is positive and falls from its first value to its last, not {values}"
        )
    return first, last


def _is_at_least_zero(value: Any) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating)
    return number and not isinstance(value, bool) and 0 <= value < np.inf
