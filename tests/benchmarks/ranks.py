"""Ranks against scikit-learn, ZADU, pycoranking, pyDRMetrics and the bare product; out of core.

The bars, for a mixture of Gaussians in 50 dimensions and its first two principal components:

family   the whole family for all k ≤ 100 and Q′ for κs, κt ≤ 100 at least 12 times as fast as
         scikit-learn's trustworthiness there and back at one k, for all k ≤ 20 18 times; under a
         tenth of its memory; 15 times as fast as ZADU (N = 10,000, two threads)
gemm     within 5 times the bare float64 product of N×N×D for k ≤ 30, 7 for k ≤ 100 (one thread)
full     all k, K_max and area 8 times as fast as pycoranking (N = 5,000) and 12 times as
         pyDRMetrics (N = 10,000), with less than 100 MiB
zarr     N = 100,000, k ≤ 50 on two workers, within 1.5 GiB for client and workers
batch    ten embeddings in less than 5 times the time of one

Every run is in a process of its own, after a small one to warm up.  What two of them name alike
must agree to 1e-12.  Peers that are not installed are left out; pycoranking builds only with
numpy and Cython at hand (pip install --no-build-isolation).
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
from collections.abc import Sequence
from pathlib import Path

from isolated import MIB, alternate
from rank_contestants import embed, mixture

SCRIPT = Path(__file__).with_name("rank_contestants.py")
MODULES = {
    "scikit-learn": "sklearn",
    "zadu": "zadu",
    "zadu-scheduled": "zadu",
    "pycoranking": "coranking",
    "pydrmetrics": "pyDRMetrics",
}
FULL_SIZES = {"pycoranking": 5_000, "pydrmetrics": 10_000}


def family(n: int, repeats: int, threads: int) -> None:
    """The whole family for many k against two indices at one k."""
    for k in (100, 20):
        print(f"family, N = {n}, k = 1..{k}, κs, κt ≤ {k}, {threads} threads; peers at k = 10")
        peers = ("scikit-learn", "zadu", "zadu-scheduled") if k == 100 else ("scikit-learn",)
        ours = ["somscale", str(n), f"--k={k}", "--labels"]
        _against(ours, {peer: [peer, str(n), "--k=10"] for peer in peers}, repeats, threads)


def gemm(n: int, repeats: int, threads: int) -> None:
    """All curves and the surface against the bare product."""
    for k in (30, 100):
        print(f"gemm, N = {n}, k = 1..{k}, κs, κt ≤ {k}, {threads} thread(s)")
        found = alternate(
            SCRIPT,
            {"bare GEMM": ["gemm", str(n)], "somscale": ["somscale", str(n), f"--k={k}"]},
            threads=threads,
            repeats=repeats,
        )
        print(f"somscale / bare GEMM: {found['somscale'].seconds / found['bare GEMM'].seconds:.2f}")


def full(n: int, repeats: int, threads: int, peer: str) -> None:
    """All k, K_max and the area under R_NX against co-ranking matrices alone."""
    print(f"full, N = {n}, {threads} threads; of {peer} the co-ranking matrix alone")
    _against(["somscale-full", str(n)], {peer: [peer, str(n), "--k=10"]}, repeats, threads)


def batch(n: int, repeats: int, threads: int) -> None:
    """Ten embeddings against one."""
    for alike in (False, True):
        kind = "the first two components with noise" if alike else "ten pairs of components"
        print(f"batch, N = {n}, k = 1..100, {threads} threads, {kind}")
        ask = ["somscale", str(n), "--k=100", *["--alike"] * alike]
        found = alternate(
            SCRIPT,
            {"one embedding": ask, "ten embeddings": [*ask, "--embeddings=10"]},
            threads=threads,
            repeats=repeats,
        )
        ratio = found["ten embeddings"].seconds / found["one embedding"].seconds
        print(f"ten embeddings / one: {ratio:.2f}")


def zarr(n: int, repeats: int, budget: str) -> None:
    """Curves from Zarr on two workers with one thread each."""
    import zarr as store

    print(f"zarr, N = {n}, k = 1..50, κs, κt ≤ 50, two workers, {budget} each")
    with tempfile.TemporaryDirectory() as folder:
        for size in (2_000, n):  # the small one to warm up
            samples, _ = mixture(size)
            for name, values in (("x", samples), ("y", embed(samples)[0])):
                chunks = (min(8_192, size), values.shape[1])
                store.create_array(f"{folder}/{size}-{name}.zarr", data=values, chunks=chunks)
        ask = ["somscale", str(n), "--k=50", f"--budget={budget}", f"--store={folder}"]
        found = alternate(SCRIPT, {"somscale": ask}, threads=1, repeats=repeats, offspring=True)
    ours = found["somscale"]
    hours = ours.seconds * (1e6 / n) ** 2 / 3600
    print(f"client and workers together: {ours.peak / MIB:.0f} MiB (bar: 1536)")
    print(f"{ours.seconds:.1f} s; N = 10⁶ projected: {hours:.1f} h")


def _against(ours: Sequence[str], peers: dict[str, list[str]], repeats: int, threads: int) -> None:
    """Ours and the peers that are installed, in turn, and their ratios."""
    here = {}
    for name, arguments in peers.items():
        if importlib.util.find_spec(MODULES[name]) is None:
            print(f"{name} is not installed")
        else:
            here[name] = arguments
    found = alternate(SCRIPT, {"somscale": ours, **here}, threads=threads, repeats=repeats)
    for name in here:
        times = found[name].seconds / found["somscale"].seconds
        memory = found["somscale"].extra / max(found[name].extra, 1)
        print(f"{name} / somscale: {times:.1f}; extra memory, somscale / {name}: {memory:.3f}")


def main() -> None:
    """Run the cases that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cases = parser.add_subparsers(dest="case", required=True)
    sizes = {"family": 10_000, "gemm": 20_000, "full": 0, "zarr": 100_000, "batch": 10_000}
    for name, n in sizes.items():
        case = cases.add_parser(name)
        case.add_argument("--n", type=int, default=n)
        case.add_argument("--repeats", type=int, default=3 if name in ("full", "zarr") else 5)
        case.add_argument("--threads", type=int, default=1 if name == "gemm" else 2)
        if name == "zarr":
            case.add_argument("--budget", default="400MiB")
        if name == "full":
            case.add_argument("--peers", nargs="+", choices=FULL_SIZES, default=[*FULL_SIZES])
    asked = parser.parse_args()
    if asked.case == "full":
        for peer in asked.peers:
            full(asked.n or FULL_SIZES[peer], asked.repeats, asked.threads, peer)
    elif asked.case == "zarr":
        zarr(asked.n, asked.repeats, asked.budget)
    else:
        runs = {"family": family, "gemm": gemm, "batch": batch}
        runs[asked.case](asked.n, asked.repeats, asked.threads)


if __name__ == "__main__":
    main()
