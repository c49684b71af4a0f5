"""The door for samples: the same answer whatever holds them, each chunk read once; refusals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr
from numpy.typing import NDArray
from zarr.storage import MemoryStore, WrapperStore

import somscale as ss
from somscale.engine.readers.peek import read_some_rows
from somscale.engine.readers.samples import open_samples
from somscale.engine.readers.sources import MemmapSource, XarraySource, ZarrSource
from somscale.errors import InputError, SampleValueError

N, D = 5000, 6
VALUES = np.random.default_rng(0).standard_normal((N, D)).astype(np.float32)
SOM = ss.codebook(VALUES[:12].astype(np.float64), ss.Grid(3, 4))


# --- one answer from every container


def in_memory_map(folder: Path) -> np.memmap[Any, Any]:
    mapped = np.memmap(folder / "x.bin", np.float32, "w+", shape=(N + 2, D))
    mapped[2:] = VALUES
    mapped.flush()
    return np.memmap(folder / "x.bin", np.float32, "r", shape=(N + 2, D))[2:]


def npy(folder: Path) -> str:
    np.save(folder / "x.npy", VALUES)
    return str(folder / "x.npy")


def npy_by_columns(folder: Path) -> Path:
    np.save(folder / "x.npy", np.asfortranarray(VALUES))
    return folder / "x.npy"


def zarr_array(folder: Path) -> Any:
    return zarr.create_array(folder / "x.zarr", data=VALUES, chunks=(700, 4))


def zarr_array_path(folder: Path) -> Path:
    zarr_array(folder)
    return folder / "x.zarr"


def labelled(**coords: Any) -> xr.DataArray:
    return xr.DataArray(VALUES, dims=("sample", "feature"), coords=coords, name="x")


def archive(folder: Path, array: xr.DataArray | None = None, **encoding: Any) -> Path:
    array = labelled() if array is None else array
    label = xr.DataArray(np.arange(N), dims="sample")
    dataset = xr.Dataset({"x": array, "label": label})
    encoding = {"chunks": (700, 4) if array.dims[0] == "sample" else (4, 700), **encoding}
    dataset.to_zarr(folder / "archive.zarr", encoding={"x": encoding}, consolidated=False)
    return folder / "archive.zarr"


def netcdf(folder: Path) -> xr.DataArray:
    labelled().to_netcdf(folder / "x.nc")
    return xr.open_dataset(folder / "x.nc")["x"]


def dask_zarr(folder: Path) -> xr.DataArray:
    return xr.open_zarr(archive(folder), consolidated=False)["x"]


CONTAINERS: dict[str, Callable[[Path], Any]] = {
    "list": lambda _: VALUES.tolist(),
    "float64": lambda _: VALUES.astype(np.float64),
    "Fortran": lambda _: np.asfortranarray(VALUES),
    "big-endian": lambda _: VALUES.astype(">f4"),
    "unmasked": lambda _: np.ma.asarray(VALUES),
    "DataFrame": lambda _: pd.DataFrame(VALUES),
    "memmap": in_memory_map,
    "memmap, every other row": lambda folder: np.repeat(in_memory_map(folder), 2, axis=0)[::2],
    "npy": npy,
    "npy by columns": npy_by_columns,
    "zarr.Array": zarr_array,
    "Zarr array path": zarr_array_path,
    "archive": archive,
    "archive transposed": lambda folder: archive(folder, labelled().transpose()),
    "DataArray": lambda _: labelled(),
    "DataArray transposed": lambda _: labelled().transpose(),
    "Dataset": lambda _: xr.Dataset({"x": labelled(), "other": ("sample", np.zeros(N))}),
    "NetCDF": netcdf,
    "Dask": lambda _: da.from_array(VALUES, chunks=(700, 4)),
    "Dask in DataArray": lambda _: labelled().chunk(sample=999),
    "Dask over Zarr": dask_zarr,
    "Dask transposed": lambda _: labelled().chunk(sample=999, feature=2).transpose(),
}


@pytest.fixture(scope="module")
def expected() -> xr.Dataset:
    return ss.evaluate(VALUES, SOM)


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_gives_the_same_bits(
    container: str, expected: xr.Dataset, tmp_path: Path
) -> None:
    found = ss.evaluate(CONTAINERS[container](tmp_path), SOM).compute()
    found.attrs.pop("variables_left_out", None)
    # a DataFrame brings the names of its columns
    xr.testing.assert_identical(found.drop_vars("feature", errors="ignore"), expected)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.uint64, np.float16])
def test_every_type_of_real_numbers_is_taken(dtype: Any) -> None:
    values = np.random.default_rng(0).integers(0, 2, (60, 4)).astype(dtype)
    som = ss.codebook([[0.25, 0, 0, 1], [0, 1, 1, 0.5]], ss.Grid.chain(2))
    expected = ss.evaluate(values.astype(np.float64), som)
    xr.testing.assert_identical(ss.evaluate(values, som), expected)


def test_packed_archives_are_decoded(tmp_path: Path) -> None:
    packing = {"dtype": "int16", "scale_factor": 0.001, "add_offset": 1.0, "_FillValue": -(2**15)}
    path = archive(tmp_path, **packing)
    decoded = xr.open_zarr(path, consolidated=False, chunks=None)["x"]
    assert not np.array_equal(decoded, VALUES)
    as_path, as_array = (ss.evaluate(x, SOM) for x in (path, decoded))
    assert as_path.attrs.pop("variables_left_out") == '["label"]'
    xr.testing.assert_identical(as_path, as_array)
    xr.testing.assert_identical(as_path, ss.evaluate(decoded.values, SOM))
    raw = xr.open_zarr(path, consolidated=False, chunks=None, mask_and_scale=False)["x"]
    with pytest.raises(InputError, match=r"not decoded .scale_factor=.*mask_and_scale=True"):
        ss.evaluate(raw, SOM)


def test_a_gap_in_a_packed_archive_is_found(tmp_path: Path) -> None:
    values = labelled().copy()
    values[4321, 5] = np.nan
    path = archive(tmp_path, values, dtype="int16", scale_factor=0.001, _FillValue=-(2**15))
    with pytest.raises(SampleValueError, match=r"nan at sample 4321, feature 5 \(1 sample is"):
        ss.evaluate(path, SOM)


def test_names_and_units_are_the_users() -> None:
    array = labelled().rename(sample="time", feature="station").assign_attrs(units="m s-1")
    opened = open_samples(array)
    assert (opened.rows.dims, opened.features.dims) == (("time",), ("station",))
    assert opened.units == "m s-1"
    assert ss.metrics.bmu(array, SOM).dims == ("time",)
    assert ss.metrics.quantization_error(array, SOM).attrs["units"] == "m s-1"
    assert ss.metrics.distortion(array, SOM).attrs["units"] == "(m s-1)^2"


# --- how they are read


def test_samples_in_files_are_not_loaded(tmp_path: Path) -> None:
    assert isinstance(open_samples(in_memory_map(tmp_path)).source, MemmapSource)
    assert isinstance(open_samples(npy(tmp_path)).source, MemmapSource)
    assert isinstance(open_samples(zarr_array_path(tmp_path)).source, ZarrSource)
    assert isinstance(open_samples(archive(tmp_path)).source, ZarrSource)
    lazy = open_samples(netcdf(tmp_path)).source
    assert isinstance(lazy, XarraySource)
    assert not lazy.resident


def test_chunks_are_those_of_the_store_in_the_order_of_the_samples(tmp_path: Path) -> None:
    for name, array in {"rows": labelled(), "columns": labelled().transpose()}.items():
        path = archive(tmp_path / name, array)
        stored = xr.open_zarr(path, consolidated=False, chunks=None)["x"]
        for samples in (path, stored, stored.transpose("sample", "feature")):
            source = open_samples(samples).source
            assert source is not None
            assert (source.shape, source.chunks) == ((N, D), (700, 4))


class CountingStore(WrapperStore[MemoryStore]):
    """Counts how often each chunk is fetched."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())
        self.fetched: Counter[str] = Counter()

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        if not key.endswith("zarr.json"):
            self.fetched[key] += 1
        return await super().get(key, prototype, byte_range)


CANDIDATES = {
    "a": SOM,
    "b": ss.codebook(VALUES[20:25], ss.Grid.chain(5)),
    "c": ss.codebook(VALUES[30:34], ss.Grid(2, 2)),
}
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "one index": lambda samples: ss.metrics.quantization_error(samples, SOM),
    "all linear": lambda samples: ss.evaluate(samples, SOM, cost="linear"),
    "three maps": lambda samples: ss.evaluate(samples, CANDIDATES, cost="linear"),
    "labels too": lambda samples: ss.evaluate(samples, SOM, labels=np.arange(N) % 7, cost="linear"),
    "projection": lambda samples: ss.project(samples, SOM),
}
each_question = pytest.mark.parametrize("question", QUESTIONS)


@each_question
@pytest.mark.parametrize("scheduler", ["serial", "threads"])
@pytest.mark.parametrize("chunks", [(2048, D), (700, 4), (N, 1)])
def test_each_stored_chunk_is_read_once(
    question: str, scheduler: str, chunks: tuple[int, int]
) -> None:
    store = CountingStore()
    array = zarr.create_array(store, data=VALUES, chunks=chunks)
    store.fetched.clear()
    with ss.set_options(scheduler=scheduler, workers=2):
        QUESTIONS[question](array)
    n_chunks = -(-N // chunks[0]) * -(-D // chunks[1])
    assert len(store.fetched) == store.fetched.total() == n_chunks


@each_question
def test_each_block_is_computed_once(question: str) -> None:
    seen: Counter[Any] = Counter()

    def read(block: NDArray[Any], block_id: Any) -> NDArray[Any]:
        seen[block_id] += 1
        return block + 1

    blocks = da.from_array(VALUES - 1, chunks=(700, 4)).map_blocks(read, dtype=np.float32)
    seen.clear()
    lazy = QUESTIONS[question](blocks)
    assert not seen
    lazy.compute(scheduler="threads")
    assert len(seen) == seen.total() == 8 * 2


@pytest.mark.parametrize("at_least", [1, 300, N])
def test_a_peek_sees_the_same_rows_in_any_container(at_least: int, tmp_path: Path) -> None:
    seen = [
        read_some_rows(open_samples(samples), at_least, np.random.default_rng(3))
        for samples in (VALUES, zarr_array(tmp_path), labelled().chunk(sample=999, feature=2))
    ]
    assert at_least <= len(seen[0]) <= N
    assert seen[0].tobytes() == seen[1].tobytes() == seen[2].tobytes()
    assert np.isin(seen[0], VALUES).all()


def test_a_peek_passes_by_what_no_pass_would_take() -> None:
    values = VALUES[:300].astype(np.float64)
    values[[3, 50, 299], 1] = [np.nan, np.inf, 1e300]
    seen = read_some_rows(open_samples(values), 300, np.random.default_rng(0))
    np.testing.assert_array_equal(seen, np.delete(values, [3, 50, 299], axis=0))
    values[:] = np.nan
    assert read_some_rows(open_samples(values), 300, np.random.default_rng(0)).tolist() == [[0] * D]


# --- refusals


@pytest.mark.parametrize(
    ("samples", "complaint"),
    [
        (np.zeros(5), r"shape \(5,\), not \(sample, feature\); reshape one feature to \(N, 1\)"),
        (np.zeros((2, 3, 4)), r"shape \(2, 3, 4\).*reshape them to two dims"),
        (3.0, r"shape \(\)"),
        (np.zeros((0, 4)), "at least one sample and one feature"),
        (np.zeros((4, 0)), "at least one sample and one feature"),
        (np.array([["a", "b"]]), "not real numbers; convert them first"),
        (np.zeros((2, 2), complex), "complex128, not real numbers"),
        (np.array([["2001-01-01"]], "M8[D]"), "not real numbers"),
        (np.ma.masked_equal([[1.0, 2.0], [3.0, 4.0]], 3.0), r"masked, first at \(1, 0\)"),
        (
            xr.DataArray(np.zeros((2, 3, 4)), dims=("time", "y", "x")),
            r"\('time', 'y', 'x'\).*sample_dims='time'",
        ),
        (
            xr.Dataset({"a": (("s", "f"), np.zeros((2, 2)))}).assign(b=lambda d: d["a"]),
            "2 variables",
        ),
        (xr.Dataset({"a": ("s", np.zeros(2))}), "0 variables of numbers with two dims"),
        (da.zeros(5), r"shape \(5,\)"),
        (da.zeros((5, 4))[da.zeros(5) == 0], "unknown length; call compute_chunk_sizes"),
        ("nowhere.zarr", "no file or store at 'nowhere.zarr'"),
        (Path(__file__), "neither a Zarr store .a folder. nor a .npy or NetCDF file"),
    ],
)
def test_what_are_no_samples_is_refused(samples: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        open_samples(samples)


def test_folders_and_files_of_something_else_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no Zarr store"):
        open_samples(tmp_path)
    (tmp_path / "x.npy").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"is no \.npy file"):
        open_samples(tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", np.array([{}, None]), allow_pickle=True)
    with pytest.raises(InputError, match=r"is no \.npy file of numbers"):
        open_samples(tmp_path / "x.npy")
    with pytest.raises(InputError, match="no variable 'y', only"):
        open_samples(archive(tmp_path), variable="y")
    with pytest.raises(InputError, match=r"shape \(5000,\)|dims \('sample',\)"):
        open_samples(tmp_path / "archive.zarr", variable="label")


FAULTS = {
    "nan": (np.nan, "nan"),
    "infinity": (-np.inf, "infinity"),
    "overflow": (1e300, "a value too large to square"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    "ask",
    [
        lambda samples: ss.evaluate(samples, SOM),
        lambda samples: ss.project(samples, SOM),
        lambda samples: ss.train(samples, ss.Grid(2, 2), epochs=1),
    ],
    ids=["evaluate", "project", "train"],
)
def test_the_first_faulty_entry_is_named(fault: str, lazy: bool, ask: Any) -> None:
    value, words = FAULTS[fault]
    values = VALUES.astype(np.float64)
    values[4000, 1] = values[2500, 4] = values[2500, 5] = value
    samples: Any = xr.DataArray(values, dims=("day", "site"), coords={"site": list("uvwxyz")})
    if lazy:
        samples = samples.chunk(day=700, site=2)
    complaint = rf"{words} at day 2500, site 4 \(y\) \(2 samples are affected\); drop or fill"
    with pytest.raises(SampleValueError, match=complaint):
        ask(samples).compute()
