"""Samples, and what is judged on them: small data of plain and of awkward kinds, from a seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import dask.array as da
import numpy as np

from somscale._types import AnyArray, Int
from somscale.codebook import codebook, project
from somscale.metrics.spec import Subject
from somscale.topology import Grid

__all__ = ["CHUNKINGS", "UNITS", "Case", "awkward_cases", "plain_cases"]

SAMPLES: Final = 40
FEATURES: Final = 3
SHAPE: Final = (3, 4)
UNITS: Final = 12
CHUNKINGS: Final = {
    "ragged": ((7, 1, 19, 13), (2, 1)),
    "of one row": (1, FEATURES),
}
"""Chunks of the samples in a Dask array."""

Generator: TypeAlias = np.random.Generator


@dataclass(frozen=True)
class Case:
    """Samples and a map, an embedding, a clustering or labels.

    Attributes
    ----------
    name : str
        What kind of data it is.
    seed : int
        What they are drawn from.
    subject : str
        What an index must be of, to be asked for here.
    samples : (N, D) array or None
        None where two partitions are compared.
    projection : Dataset or array
        The map, the embedding (N, 2) or the clusters (N,).
    labels : (N,) array
        Classes of the samples.
    where : str
        Where the samples are, in words.
    """

    name: str
    seed: int
    subject: Subject
    samples: Any
    projection: Any
    labels: AnyArray
    where: str = "an array in memory"

    def __str__(self) -> str:
        return f"case {self.name!r}, seed {self.seed}"

    @property
    def is_map(self) -> bool:
        """Whether a map is judged."""
        return hasattr(self.projection, "data_vars")

    @property
    def units(self) -> Int:
        """The samples' best-matching units on the map."""
        values: Int = project(np.asarray(self.samples), self.projection)["bmu"].values
        return values

    @property
    def data(self) -> tuple[Any, ...]:
        """What an index's own function takes."""
        if self.subject == "partition":
            return self.labels, self.projection
        if self.subject == "units":
            return self.labels, self.units, Grid(*SHAPE)
        return self.samples, self.projection

    def chunked(self, kind: str) -> Case:
        """The same with the samples in a Dask array."""
        chunks = CHUNKINGS[kind]
        array = da.from_array(self.samples, chunks=chunks)
        return replace(self, samples=array, where=f"a Dask array of chunks {kind} {chunks}")

    def turned(self, order: Int) -> Case:
        """The same samples in another order."""
        samples = None if self.samples is None else self.samples[order]
        projection = self.projection if self.is_map else self.projection[order]
        return replace(
            self,
            samples=samples,
            projection=projection,
            labels=self.labels[order],
            where="the same samples in another order",
        )

    def moved(self, factor: float, shift: AnyArray, where: str) -> Case:
        """The samples, and the code vectors of a map, times a factor and shifted."""
        projection = self.projection
        if self.is_map:
            projection = projection.assign(codes=projection["codes"] * factor + shift)
        return replace(
            self, samples=self.samples * factor + shift, projection=projection, where=where
        )


def plain_cases(subject: Subject, seed: int) -> list[Case]:
    """Data without ties on which an index must have its ordinary value."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, SAMPLES)
    # in single precision, so that the same numbers can be had in both
    samples = rng.standard_normal((SAMPLES, FEATURES)).astype(np.float32).astype(np.float64)
    samples += labels[:, None]
    samples = samples.astype(np.float32).astype(np.float64)
    make: dict[Subject, list[tuple[str, Any]]] = {
        "map": [("gaussian", _codes(rng, samples))],
        "units": [("gaussian", _codes(rng, samples))],
        "projection": [
            ("embedding", samples[:, :2] + rng.standard_normal((SAMPLES, 2)) / 3),
            ("map", _codes(rng, samples)),
        ],
        "clusters": [("random clusters", rng.integers(0, 3, SAMPLES))],
        "partition": [("random labels", np.where(rng.random(SAMPLES) < 0.4, 0, labels))],
    }
    given = None if subject == "partition" else samples
    return [Case(name, seed, subject, given, own, labels) for name, own in make[subject]]


def _codes(rng: Generator, samples: AnyArray) -> Any:
    chosen = samples[rng.permutation(SAMPLES)[:UNITS]]
    return codebook(chosen + rng.standard_normal(chosen.shape) / 3, Grid(*SHAPE))


def awkward_cases(subject: Subject, seed: int) -> list[Case]:
    """Data with ties, without spread, far away, of one sample: an index may be undefined here.

    Maps have 12 units as everywhere else, for parameters that hold a value of each.
    """
    make = {
        "map": _awkward_maps,
        "units": _awkward_units,
        "projection": _awkward_projections,
        "clusters": _awkward_clusters,
        "partition": _awkward_partitions,
    }[subject]
    return make(np.random.default_rng(seed), seed)


def _awkward_maps(rng: Generator, seed: int, subject: Subject = "map") -> list[Case]:
    grid, plain = Grid(*SHAPE), rng.standard_normal((SAMPLES, FEATURES))
    ties = rng.integers(0, 3, (SAMPLES, FEATURES)).astype(np.float64)
    codes = rng.standard_normal((UNITS, FEATURES))
    labels = rng.integers(0, 4, SAMPLES)
    make = {
        "far from the map": (plain + 30, codes),
        "ties": (ties, ties[:UNITS]),
        "all code vectors equal": (plain, np.zeros((UNITS, FEATURES))),
        "all samples equal": (np.full((SAMPLES, FEATURES), 0.1), codes),
        "samples on code vectors": (plain[:UNITS], plain[:UNITS]),
        "one sample": (plain[:1], codes),
    }
    return [
        Case(name, seed, subject, samples, codebook(own, grid), labels[: len(samples)])
        for name, (samples, own) in make.items()
    ]


def _awkward_units(rng: Generator, seed: int) -> list[Case]:
    cases = _awkward_maps(rng, seed, "units")
    one_class = replace(cases[0], name="one class", labels=np.zeros(SAMPLES, np.int64))
    return [*cases, one_class]


def _awkward_projections(rng: Generator, seed: int) -> list[Case]:
    plain = rng.standard_normal((SAMPLES, FEATURES))
    ties = rng.integers(0, 3, (SAMPLES, 2)).astype(np.float64)
    labels = rng.integers(0, 4, SAMPLES)
    make = {
        "the samples themselves": (plain, plain),
        "ties in both": (ties, ties[:, ::-1].copy()),
        "all places equal": (plain, np.zeros((SAMPLES, 2))),
        "all samples equal": (np.full((SAMPLES, FEATURES), 0.1), plain),
        "two samples": (plain[:2], plain[:2, :2]),
        "one sample": (plain[:1], plain[:1, :2]),
    }
    return [
        Case(name, seed, "projection", samples, own, labels[: len(samples)])
        for name, (samples, own) in make.items()
    ]


def _awkward_clusters(rng: Generator, seed: int) -> list[Case]:
    plain, clusters = rng.standard_normal((SAMPLES, FEATURES)), rng.integers(0, 3, SAMPLES)
    ties = rng.integers(0, 3, (SAMPLES, 2)).astype(np.float64)
    everyone = np.arange(SAMPLES)
    make: dict[str, tuple[AnyArray, AnyArray]] = {
        "clusters apart": (plain + 9 * clusters[:, None], clusters),
        "ties": (ties, clusters),
        "one cluster": (plain, np.zeros(SAMPLES, np.int64)),
        "a cluster for each sample": (plain, everyone),
        "clusters of equal samples": (np.repeat(plain[:4], 10, axis=0), everyone // 10),
        "all samples equal": (np.full((SAMPLES, FEATURES), 0.1), clusters),
        "one sample": (plain[:1], np.zeros(1, np.int64)),
    }
    return [
        Case(name, seed, "clusters", samples, own, own) for name, (samples, own) in make.items()
    ]


def _awkward_partitions(rng: Generator, seed: int) -> list[Case]:
    labels, everyone = rng.integers(0, 4, SAMPLES), np.arange(SAMPLES)
    one = np.zeros(SAMPLES, np.int64)
    make: dict[str, tuple[AnyArray, AnyArray]] = {
        "equal partitions": (labels, labels + 5),
        "one cluster": (labels, one),
        "one class": (one, labels),
        "one class and one cluster": (one, one),
        "a cluster for each sample": (labels, everyone),
        "a class and a cluster for each sample": (everyone, everyone[::-1].copy()),
        "classes across clusters": (everyone // (SAMPLES // 2), everyone % 2),
        "one sample": (one[:1], labels[:1]),
    }
    return [
        Case(name, seed, "partition", None, clusters, classes)
        for name, (classes, clusters) in make.items()
    ]
