"""What a workspace costs: matrices written, read and used, and runs that keep checkpoints.

write        float32 distances of N = 40,000 samples in 50 dimensions within 1.5 times what
             computing them takes, and writing the same bytes with bare zarr; files and bytes
codecs       stored bytes and seconds of a block under the codecs that were thought of
read         chunks that a panel of rows and a square block touch
checkpoints  a walk over all pairs that keeps its finished tasks within 1.03 times one that does not
use          ranks of ten embeddings from stored ranks, against computing them

Every run is in a process of its own.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from isolated import alternate, serve
from zarr.codecs import BloscCodec, Crc32cCodec, ZstdCodec

import somscale as ss
from somscale.engine.pairs.filling import Filling, fill_matrix
from somscale.store.layouts import codecs as layout_codecs
from somscale.store.layouts import distance_layout

SCRIPT = Path(__file__)
SIZE = 1024


def samples_of(n: int) -> Any:
    return np.random.default_rng(0).normal(size=(n, 50))


class Nothing:
    """A target that drops what it is given."""

    dtype = np.dtype(np.float32)

    def fresh(self, shape: tuple[int, int]) -> Any:
        return np.empty(shape, self.dtype)

    def write(self, row: int, column: int, values: Any) -> None:
        pass


def bare(n: int, where: Path) -> None:
    """The same bytes, chunk by chunk, with zarr alone."""
    layout = distance_layout(n, "float32", sharded=False)
    array = zarr.create_array(
        where / "bare.zarr",
        shape=(n, n),
        chunks=layout.chunk,
        dtype="float32",
        compressors=layout_codecs("distance", layout.dtype),
        fill_value=np.nan,
        config={"write_empty_chunks": True},
    )
    rng, size = np.random.default_rng(1), layout.chunk[0]
    # distances of normal samples look like this to a compressor
    block = np.sqrt(rng.chisquare(50, (size, size))).astype(np.float32) * np.float32(1.41421356)
    for top in range(0, n, size):
        for left in range(0, n, size):
            part = block[: min(size, n - top), : min(size, n - left)]
            array[top : top + size, left : left + size] = part


def contestant(name: str, n: int, where: Path) -> None:
    """One run, told from outside when to begin."""
    workspace = ss.Workspace(where / "work.zarr")
    workspace.write_samples(samples_of(n))
    small = ss.Workspace(where / "small.zarr")
    small.write_samples(samples_of(2500))
    small.write_distances(dtype="float32")

    def run() -> Callable[[], dict[str, float]]:
        if name == "write":
            workspace.write_distances(dtype="float32")
        elif name == "compute":
            writer = workspace.matrix_writer("distances", dtype="float32")
            job = writer.told_job()
            fill_matrix(Filling(job, Nothing(), writer.unit_rows(job), lambda row, column: True))
        else:
            bare(n, where)
        return dict

    serve(run)


def write(n: int, repeats: int, threads: int) -> None:
    """Writing distances against computing and writing."""
    print(f"write, N = {n}, float32, {threads} threads")
    with tempfile.TemporaryDirectory() as folder:
        places = {name: Path(folder) / name for name in ("write", "compute", "bare")}
        runs: dict[str, list[float]] = {name: [] for name in places}
        for _ in range(repeats):
            for name, place in places.items():
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir()
                asked = {name: ["--contestant", name, str(n), str(place)]}
                found = alternate(SCRIPT, asked, threads=threads, repeats=1)
                runs[name].append(found[name].seconds)
        store = places["write"] / "work.zarr" / "distances"
        files = [path for path in store.rglob("*") if path.is_file()]
        stored = sum(path.stat().st_size for path in files)
        print(f"{len(files)} files, {n * n * 4 / stored:.3f} raw bytes a stored byte")
    medians = {name: float(np.median(times)) for name, times in runs.items()}
    ratio = medians["write"] / (medians["compute"] + medians["bare"])
    print(", ".join(f"{name} {seconds:.2f} s" for name, seconds in medians.items()))
    print(f"somscale / (computing + bare zarr): {ratio:.2f}")


def codecs(n: int) -> None:
    """Bytes and seconds of a matrix under some codecs."""
    from scipy.spatial.distance import cdist

    values = samples_of(n)
    distances = cdist(values, values)
    ranks = distances.argsort(axis=1).argsort(axis=1)
    tables = {
        "distances float32": distances.astype(np.float32),
        "distances float64": distances,
        "ranks uint16": ranks.astype(np.uint16),
        "ranks uint32": ranks.astype(np.uint32),
    }
    for title, table in tables.items():
        size = table.itemsize
        kinds: dict[str, Any] = {
            "lz4 shuffle": BloscCodec(cname="lz4", shuffle="shuffle", typesize=size),
            "lz4 bitshuffle": BloscCodec(cname="lz4", shuffle="bitshuffle", typesize=size),
            "blosc zstd": BloscCodec(cname="zstd", shuffle="shuffle", typesize=size),
            "zstd (zarr's own)": ZstdCodec(level=0),
        }
        for name, codec in kinds.items():
            store = zarr.storage.MemoryStore()
            array = zarr.create_array(
                store,
                shape=table.shape,
                chunks=(SIZE, SIZE),
                dtype=table.dtype,
                compressors=(codec, Crc32cCodec()),
            )
            start = time.perf_counter()
            array[:] = table
            written = time.perf_counter() - start
            start = time.perf_counter()
            array[:]
            read = time.perf_counter() - start
            stored = array.nbytes_stored()
            speed = table.nbytes / 1e9
            print(
                f"{title:18} {name:18} {table.nbytes / stored:5.2f} raw/stored, "
                f"{speed / written:5.2f} GB/s written, {speed / read:5.2f} read"
            )


def read(n: int) -> None:
    """Chunks that reading touches."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = ss.Workspace(Path(folder) / "work.zarr")
        workspace.write_samples(samples_of(n))
        workspace.write_distances(dtype="float32")
        workspace.write_ranks()
        for path in ("distances/euclidean", "ranks/euclidean"):
            data = workspace.open(path).data
            rows, square = data[:256], data[:SIZE, :SIZE]
            print(
                f"{path}: of {data.npartitions} chunks 256 rows touch {_touched(rows)}, "
                f"a square of {SIZE} touches {_touched(square)}"
            )


def _touched(part: Any) -> int:
    return int(np.prod(part.numblocks))


def checkpoints(n: int, repeats: int, threads: int) -> None:
    """A walk with and without checkpoints."""
    print(f"checkpoints, N = {n}, {threads} threads")
    with tempfile.TemporaryDirectory() as folder:
        ratios, values = [], samples_of(n)
        labels = np.random.default_rng(2).integers(0, 50, n)
        asked = {"metrics": ["dunn_index", "davies_bouldin_index"], "distance": "cityblock"}
        with ss.set_options(workers=threads):
            ss.evaluate(values[:3000], labels[:3000], **asked)
            for number in range(repeats):
                start = time.perf_counter()
                ss.evaluate(values, labels, **asked)
                plain = time.perf_counter() - start
                workspace = ss.Workspace(Path(folder) / f"{number}.zarr")
                workspace.write_samples(values)
                start = time.perf_counter()
                ss.evaluate(values, labels, store=workspace, **asked)
                ratios.append((time.perf_counter() - start) / plain)
        print(f"with / without, of {plain:.1f} s: {np.median(ratios):.3f} {np.round(ratios, 3)}")


def use(n: int, threads: int) -> None:
    """Ten embeddings by stored ranks."""
    print(f"use, N = {n}, {threads} threads")
    values = samples_of(n)
    rng = np.random.default_rng(3)
    embeddings = {f"e{i}": values[:, :2] + 0.1 * i * rng.normal(size=(n, 2)) for i in range(10)}
    with tempfile.TemporaryDirectory() as folder, ss.set_options(workers=threads):
        workspace = ss.Workspace(Path(folder) / "work.zarr")
        workspace.write_samples(values)
        for ties in ("index", "expected"):
            for title, store in (("computed", None), ("stored", workspace)):
                if store is not None and ties == "index":
                    start = time.perf_counter()
                    workspace.write_ranks()
                    print(f"ranks written: {time.perf_counter() - start:.1f} s")
                start = time.perf_counter()
                asked = {"metrics": ["trustworthiness", "q_nx"], "k": range(1, 51), "ties": ties}
                ss.evaluate(values, embeddings, store=store, **asked)
                print(f"ties {ties}, {title}: {time.perf_counter() - start:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--contestant", nargs=3, metavar=("NAME", "N", "PLACE"))
    parser.add_argument("--only", choices=["write", "codecs", "read", "checkpoints", "use"])
    parser.add_argument("--samples", type=int, default=40_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if options.contestant:
        name, n, place = options.contestant
        contestant(name, int(n), Path(place))
        return
    parts: dict[str, Callable[[], None]] = {
        "write": lambda: write(options.samples, options.repeats, options.threads),
        "codecs": lambda: codecs(min(options.samples, 8_000)),
        "read": lambda: read(min(options.samples, 20_000)),
        "checkpoints": lambda: checkpoints(options.samples, options.repeats, options.threads),
        "use": lambda: use(min(options.samples, 20_000), options.threads),
    }
    for name, run in parts.items():
        if options.only in (None, name):
            run()


if __name__ == "__main__":
    main()
