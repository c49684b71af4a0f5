"""The stochastic algorithm: one sample after the other pulls at its unit's neighbourhood."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from somscale._types import Float, Int
from somscale.engine.progress import progress_bar
from somscale.engine.readers.columns import RowValues
from somscale.engine.readers.peek import read_ranges
from somscale.topology import Grid
from somscale.training.history import History
from somscale.training.order import pools
from somscale.training.passes import Material
from somscale.training.settings import Settings

__all__ = ["train_stochastic"]


def train_stochastic(
    material: Material, codes: Float, settings: Settings, history: History
) -> Float:
    """Train codes, a step a sample; the samples are checked in one read beforehand."""
    from somscale.kernels import stochastic_loops

    # any one unit will do for the checks; nan are those of a map that leaves features out
    stats = material.read_units(codes[:1])
    history.missing, history.n_samples = stats.missing_features, stats.n_samples
    task = _Task.of(material, settings, stats.n_samples, stats.weight_sum)
    levels, places = _levels(settings.grid)
    columns = np.ascontiguousarray(np.nan_to_num(codes).T)
    step = 0
    for epoch in range(settings.epochs):
        before = columns.copy()
        sums, temperature = np.zeros(3), settings.temperature[0]
        label = history.label(settings.epochs)
        with progress_bar(stats.n_samples, label, unit="sample") as bar:
            for values, weights in task.read(epoch):
                shares = np.arange(step + 1, step + len(values) + 1) / task.n_steps
                step += len(values)
                temperatures = settings.fall(settings.temperature, shares)
                stochastic_loops.learn(
                    values,
                    columns,
                    levels,
                    places,
                    stochastic_loops.KERNEL_NUMBERS[settings.kernel],
                    temperatures,
                    settings.fall(settings.learning_rate, shares),
                    task.feature_weights,
                    weights,
                    task.whole,
                    sums,
                )
                temperature = float(temperatures[-1])
                bar.update(len(values))
        whole, distances, distortion = sums.tolist()
        history.add(before.T, columns.T, distances / whole, distortion / whole, temperature)
        if history.settled(settings.tolerance):
            break
    return np.ascontiguousarray(columns.T)


def _levels(grid: Grid) -> tuple[Float, Int]:
    """The distances on the map that occur, and which of them each pair of units has."""
    levels, places = np.unique(grid.distances(), return_inverse=True)
    return levels, places.reshape(grid.size, grid.size).astype(np.int32)


@dataclass(frozen=True)
class _Task:
    """Samples in the order of an epoch, with what a step needs beside them.

    Attributes
    ----------
    feature_weights : (D,) float64
        Weights of squared differences.
    weights : RowValues or None
        Weights of the samples.
    mean_weight : float
        Their mean over the samples that a mask lets take part.
    whole : float or None
        Σ of the feature weights where distances are partial.
    n_steps : int
        Steps of all epochs.
    """

    material: Material
    seed: int
    feature_weights: Float
    weights: RowValues | None
    mean_weight: float
    whole: float | None
    n_steps: int

    @classmethod
    def of(cls, material: Material, settings: Settings, n_samples: int, weight_sum: float) -> _Task:
        """The task of a training."""
        samples = material.samples
        n_rows, n_features = samples.shape
        feature_weights = np.ones(n_features)
        if samples.feature_weights is not None:
            feature_weights = np.ascontiguousarray(samples.feature_weights, np.float64)
        mean_weight = 1.0
        if samples.sample_weights is not None:
            weights = np.asarray(samples.sample_weights.read(0, n_rows), np.float64)
            if samples.excluded is not None:
                weights = weights[~np.asarray(samples.excluded.read(0, n_rows), bool)]
            mean_weight = float(weights.mean())
        return cls(
            material,
            settings.seed,
            feature_weights,
            samples.sample_weights,
            mean_weight,
            weight_sum if material.partial else None,
            settings.epochs * n_samples,
        )

    def read(self, epoch: int) -> Iterator[tuple[Float, Float | None]]:
        """The samples of an epoch that take part, pool by pool, and their weights over the mean."""
        samples = self.material.samples
        for starts, stops, order in pools(*samples.shape, self.seed, epoch):
            values = read_ranges(samples, starts, stops)
            weights = None
            if self.weights is not None:
                weights = _of_ranges(self.weights, starts, stops) / self.mean_weight
            taken = self._taken(values, starts, stops)
            order = order[taken[order]]
            if len(order):
                yield values[order], None if weights is None else weights[order]

    def _taken(self, values: Float, starts: Int, stops: Int) -> Float:
        samples = self.material.samples
        missing = np.isnan(values)
        taken = ~missing.any(axis=1)
        if samples.missing != "drop_any_sample":
            # of no weight, or of none at all, a sample has no distance
            has_some = ~missing & (self.feature_weights > 0 if self.material.partial else True)
            taken = has_some.any(axis=1)
        if samples.excluded is not None:
            taken &= _of_ranges(samples.excluded, starts, stops) == 0
        return np.asarray(taken)


def _of_ranges(column: RowValues, starts: Int, stops: Int) -> Float:
    ends = zip(starts.tolist(), stops.tolist(), strict=True)
    return np.concatenate([np.asarray(column.read(*both), np.float64) for both in ends])
