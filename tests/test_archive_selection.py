"""Dims, gaps, masks and weights in any combination, against plain sums over what is left."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from archives import squared
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import somscale as ss

POLICIES = ("raise", "drop", "drop_any_sample", "drop_any_feature")
BACKENDS = ("array", "dask", "zarr", "netcdf", "dataset")


@dataclass
class Archive:
    """A random field, how it is read, and which of its samples and features are to take part."""

    seed: int
    missing: str
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        names = [str(name) for name in self.rng.permutation(["time", "lat", "lon"])]
        sizes = self.rng.integers(2, 8, 3).tolist()
        coords = {
            name: np.sort(self.rng.choice(60, size=size, replace=False)).astype(float)
            for name, size in zip(names, sizes, strict=True)
        }
        shape = xr.DataArray(np.zeros(sizes), dims=names, coords=coords, name="x")
        n_sample_dims = int(self.rng.integers(1, 3))
        self.sample_dims = [str(d) for d in self.rng.permutation(names)[:n_sample_dims]]
        self.feature_dims = [name for name in names if name not in self.sample_dims]
        self.template = shape.transpose(*self.sample_dims, *self.feature_dims)
        self.n = int(np.prod(self.template.shape[:n_sample_dims]))
        self.values = 280 + 10 * self.rng.standard_normal((self.n, shape.size // self.n))
        self.taken = self.rng.random(self.n) < self.rng.choice([0.8, 1.0])
        self.chosen = self.rng.random(self.values.shape[1]) < self.rng.choice([0.8, 1.0])
        self._make_gaps()
        self.array = self.template.copy(data=self.values.reshape(self.template.shape)).transpose(
            *names
        )

    def _make_gaps(self) -> None:
        if self.missing != "raise":
            self.values[self.rng.random(self.n) < 0.15] = np.nan
        if self.missing == "drop":
            self.values[:, self.rng.random(self.values.shape[1]) < 0.2] = np.nan
        if self.missing in ("drop_any_sample", "drop_any_feature"):
            self.values[self.rng.random(self.values.shape) < 0.03] = np.nan
        self.values[~self.taken] = np.inf

    def left(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Samples and features that take part, by the words of the policy."""
        samples, features = self.taken.copy(), self.chosen.copy()
        gaps = np.isnan(self.values)
        if self.missing == "drop_any_sample":
            return samples & ~gaps[:, features].any(axis=1), features
        if self.missing != "raise":
            samples &= ~gaps[:, features].all(axis=1)
            lacking = gaps[samples].all if self.missing == "drop" else gaps[samples].any
            features &= ~lacking(axis=0)
        return samples, features

    def labelled(self, flat: NDArray[Any], dims: list[str]) -> xr.DataArray:
        """Values on some dims, in another order of their labels."""
        shape = [self.template.sizes[dim] for dim in dims]
        array = xr.DataArray(
            flat.reshape(shape), dims=dims, coords={dim: self.template[dim] for dim in dims}
        )
        return array.isel({dims[0]: self.rng.permutation(shape[0])})

    def held_by(self, backend: str, folder: Path) -> Any:
        """The field in one of the forms that users hold."""
        chunks = {str(d): int(self.rng.integers(1, n + 1)) for d, n in self.array.sizes.items()}
        sizes = tuple(chunks[str(dim)] for dim in self.array.dims)
        path = folder / f"{self.seed}-{self.missing}.{backend}"
        if backend == "dask":
            return self.array.chunk(chunks)
        if backend == "dataset":
            return self.array.to_dataset()
        if backend == "netcdf":
            self.array.to_netcdf(path, encoding={"x": {"chunksizes": sizes}})
            return path
        if backend == "zarr":
            encoding = {"x": {"chunks": sizes}}
            self.array.to_dataset().to_zarr(path, mode="w", encoding=encoding, consolidated=False)
            return path
        return self.array


def expected(
    samples: NDArray[Any], codes: NDArray[Any], weights: NDArray[Any], scales: NDArray[Any]
) -> tuple[dict[str, float], NDArray[np.intp], NDArray[np.float64]]:
    """Indices of a chain of units, best units and composites, straight from their definitions."""
    squares = squared(samples, codes, scales)
    order = np.argsort(squares, axis=1, kind="stable")
    best, total = order[:, 0], weights.sum()
    apart = np.abs(best - order[:, 1]) != 1
    every = np.arange(len(codes))
    kernel = np.exp(-((every[:, None] - every) ** 2.0))
    values = {
        "quantization_error": (weights * np.sqrt(squares.min(axis=1))).sum() / total,
        "topographic_error": (weights * apart).sum() / total,
        "distortion": (weights[:, None] * kernel[best] * squares).sum() / total,
    }
    composites = np.full(codes.shape, np.nan)
    for unit in every:
        own = best == unit
        if weights[own].sum() > 0:
            composites[unit] = np.average(samples[own], axis=0, weights=weights[own])
    return values, best, composites


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("archives")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(seed=44, missing="drop_any_feature", backend="netcdf")
@given(
    seed=st.integers(0, 10_000),
    missing=st.sampled_from(POLICIES),
    backend=st.sampled_from(BACKENDS),
)
def test_any_combination_is_what_is_left_of_it(
    seed: int, missing: str, backend: str, folder: Path
) -> None:
    archive = Archive(seed, missing)
    samples, features = archive.left()
    assume(samples.any() and features.any() and archive.taken.any())
    assume(missing != "drop" or not np.isnan(archive.values[np.ix_(samples, features)]).any())
    rng, n_features = archive.rng, archive.values.shape[1]
    codes = 280 + 10 * rng.standard_normal((int(rng.integers(2, 5)), n_features))
    scales, weights = rng.random(n_features), rng.integers(0, 4, archive.n) + 0.5
    weights_given, scales_given = rng.random() < 0.5, rng.random() < 0.5
    reading: dict[str, Any] = {
        "sample_dims": archive.sample_dims,
        "missing": missing,
        "mask": (
            archive.labelled(archive.taken, archive.sample_dims),
            archive.labelled(archive.chosen, archive.feature_dims),
        ),
    }
    if scales_given:
        reading["feature_weights"] = archive.labelled(scales, archive.feature_dims)
    if weights_given:
        reading["sample_weights"] = archive.labelled(weights, archive.sample_dims)
    fields = np.stack(
        [
            archive.labelled(code, archive.feature_dims).sortby(archive.feature_dims)
            for code in codes
        ]
    )
    dims = ("unit", *archive.feature_dims)
    coords = {dim: archive.template[dim] for dim in archive.feature_dims}
    turned = xr.DataArray(fields, dims=dims, coords=coords).transpose(*rng.permutation(dims))
    som = ss.codebook(turned, ss.Grid.chain(len(codes)))
    q = ss.evaluate(archive.held_by(backend, folder), som, **reading).compute()

    values, best, composites = expected(
        archive.values[np.ix_(samples, features)],
        codes[:, features],
        weights[samples] if weights_given else np.ones(samples.sum()),
        scales[features] if scales_given else np.ones(features.sum()),
    )
    for name in ("quantization_error", "topographic_error"):
        assert q["value"].sel(metric=name).item() == pytest.approx(values[name], rel=1e-9)
    assert q["distortion"].item() == pytest.approx(values["distortion"], rel=1e-9)
    assert q["value"].sel(metric="samples_dropped") == np.count_nonzero(~samples)
    assert q["value"].sel(metric="features_dropped") == np.count_nonzero(~features)
    assert list(q["bmu"].dims) == archive.sample_dims
    found = q["bmu"].values.ravel()
    assert (found[~samples] == -1).all()
    np.testing.assert_array_equal(found[samples], best)
    ordered = q["composite"].transpose("unit", *archive.feature_dims).values
    np.testing.assert_allclose(ordered.reshape(len(codes), -1)[:, features], composites, rtol=1e-9)
