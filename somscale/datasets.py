"""Small archives to try things on, made from data that come with scikit-learn."""

from __future__ import annotations

import os

import numpy as np
import xarray as xr

from somscale.store import write_dataset

__all__ = ["write_digits"]


def write_digits(path: str | os.PathLike[str], *, chunk_rows: int = 256) -> None:
    """Write scikit-learn's digits to a chunked Zarr store.

    Parameters
    ----------
    path : path
        Where to write; an existing store there is replaced.
    chunk_rows : int
        Samples a chunk.

    Notes
    -----
    The store holds ``samples(sample, feature)``, 1797 images of 8 × 8 pixels with
    values from 0 to 1, and ``label(sample)``, the digit each one shows.
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    pixels = [f"r{row}c{col}" for row in range(8) for col in range(8)]
    archive = xr.Dataset(
        {
            "samples": (
                ("sample", "feature"),
                digits.data / 16,
                {"long_name": "ink of a pixel", "units": "1"},
            ),
            "label": ("sample", digits.target, {"long_name": "digit shown", "units": "1"}),
        },
        coords={"feature": np.array(pixels, dtype=object)},
        attrs={"title": "Optical recognition of handwritten digits"},
    )
    encoding = {"samples": {"chunks": (chunk_rows, 64)}, "label": {"chunks": (chunk_rows,)}}
    write_dataset(archive, path, encoding=encoding)
