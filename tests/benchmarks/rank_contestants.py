"""Who is timed by ranks.py: somscale and others that rank samples; one run in a process.

Each is a function of the data that returns how to name what it found: T(k), C(k), Q(k), K_max
and the area under R_NX.  Peers that keep a co-ranking matrix are timed for the matrix alone.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from isolated import serve

import somscale as ss
from somscale._types import AnyArray, Float, Int

Values = dict[str, float]
Found = Callable[[], Values]

D = 50
CURVES = (
    "q_nx",
    "r_nx",
    "b_nx",
    "lcmc",
    "u_n",
    "u_x",
    "trustworthiness",
    "continuity",
    "mrre_intrusion",
    "mrre_extrusion",
    "neighborhood_jaccard",
)
FULL = ("q_nx", "r_nx", "trustworthiness", "continuity", "k_max", "q_local", "q_global", "auc_r_nx")


@dataclass(frozen=True)
class Contest:
    """What is ranked, and for which K; with 0 threads on a cluster; the buffer of the product."""

    samples: Any
    embeddings: tuple[Any, ...]
    labels: Int | None
    k: int
    threads: int
    budget: str | None
    buffer: Float | None = None


def mixture(n: int, labels: bool = False) -> tuple[Float, Int]:
    """Twenty Gaussians in 50 dimensions, and which each sample is of."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((20, D)) * 3
    classes = rng.integers(0, 20, n)
    return centers[classes] + rng.standard_normal((n, D)), classes


def embed(samples: Float, count: int = 1, alike: bool = False) -> tuple[Float, ...]:
    """The first two principal components; then further ones, or the first two and noise."""
    from sklearn.decomposition import PCA

    found = PCA(2 if alike else 2 * count, random_state=0).fit_transform(samples)
    if not alike:
        return tuple(np.ascontiguousarray(found[:, 2 * c : 2 * c + 2]) for c in range(count))
    noise = np.random.default_rng(1).standard_normal((count, *found.shape))
    return tuple(found + 0.05 * c * noise[c] for c in range(count))


@contextmanager
def _settings(contest: Contest) -> Iterator[None]:
    scheduler = {0: "distributed", 1: "serial"}.get(contest.threads, "threads")
    workers = contest.threads or None
    with ss.set_options(scheduler=scheduler, workers=workers, memory_budget=contest.budget):
        yield


def somscale(contest: Contest) -> Found:
    """All curves for K up to k, and Q′ for κs and κt up to k; the hit where there are labels."""
    k = contest.k
    labelled = contest.labels is not None
    embeddings: Any = contest.embeddings[0]
    if len(contest.embeddings) > 1:
        embeddings = {str(number): one for number, one in enumerate(contest.embeddings)}
    with _settings(contest):
        result = ss.evaluate(
            contest.samples,
            embeddings,
            labels=contest.labels,
            metrics=[*CURVES, "rank_quality", *["neighborhood_hit"] * labelled],
            k=range(1, k + 1),
            kappa_s=range(1, k + 1),
            kappa_t=range(k + 1),
        )
    first = result.isel(candidate=0) if "candidate" in result.dims else result
    return lambda: _named(first)


def somscale_full(contest: Contest) -> Found:
    """Curves for all K, K_max, local and global quality and the area under R_NX."""
    with _settings(contest):
        result = ss.evaluate(contest.samples, contest.embeddings[0], metrics=FULL, k="all")
    return lambda: (
        _named(result)
        | {name: float(result["value"].sel(metric=name)) for name in ("k_max", "auc_r_nx")}
    )


def _named(result: Any) -> Values:
    short = {"trustworthiness": "T", "continuity": "C", "q_nx": "Q"}
    return {
        f"{letter}({k})": float(value)
        for name, letter in short.items()
        for k, value in zip(result["k"].values, result[name].values, strict=True)
    }


def bare_gemm(contest: Contest) -> Found:
    """The products of all pairs of samples, 2048 rows at a time, into one buffer."""
    samples, out = contest.samples, contest.buffer
    assert out is not None
    for start in range(0, len(samples), 2048):
        part = samples[start : start + 2048]
        np.matmul(part, samples.T, out=out[: len(part)])
    return dict


def scikit_learn(contest: Contest) -> Found:
    """Trustworthiness there and back, at one k."""
    from sklearn.manifold import trustworthiness

    samples, embedding, k = contest.samples, contest.embeddings[0], contest.k
    there = trustworthiness(samples, embedding, n_neighbors=k)
    back = trustworthiness(embedding, samples, n_neighbors=k)
    return lambda: {f"T({k})": float(there), f"C({k})": float(back)}


def zadu_measure(contest: Contest) -> Found:
    """Trustworthiness and continuity by the function."""
    from zadu.measures import trustworthiness_continuity

    embedding, k = contest.embeddings[0], contest.k
    found = trustworthiness_continuity.measure(contest.samples, embedding, k=k)
    return lambda: {f"T({k})": found["trustworthiness"], f"C({k})": found["continuity"]}


def zadu_scheduled(contest: Contest) -> Found:
    """Trustworthiness and continuity by the class, which plans blocks."""
    from zadu import ZADU

    k = contest.k
    (found,) = ZADU([{"id": "tnc", "params": {"k": k}}], contest.samples).measure(
        contest.embeddings[0]
    )
    return lambda: {f"T({k})": found["trustworthiness"], f"C({k})": found["continuity"]}


def pycoranking(contest: Contest) -> Found:
    """The co-ranking matrix; its own trustworthiness and continuity at k."""
    from coranking import coranking_matrix, metrics

    matrix = coranking_matrix(contest.samples, contest.embeddings[0])
    k = contest.k
    return lambda: (
        _of_matrix(matrix)
        | {
            f"T({k})": float(metrics.trustworthiness(matrix, k, k + 1)[0]),
            f"C({k})": float(metrics.continuity(matrix, k, k + 1)[0]),
        }
    )


def pydrmetrics(contest: Contest) -> Found:
    """The co-ranking matrix by the functions its class calls."""
    from pyDRMetrics.coranking_matrix import coranking_matrix, ranking_matrix
    from sklearn.metrics import pairwise_distances

    spaces = contest.samples, contest.embeddings[0]
    ranks = [ranking_matrix(pairwise_distances(space)) for space in spaces]
    matrix = coranking_matrix(*ranks)
    return lambda: _of_matrix(matrix[1:, 1:])


def _of_matrix(matrix: AnyArray) -> Values:
    """Q_NX at every K, K_max and the area under R_NX; rows: ranks among the samples."""
    n = len(matrix) + 1
    k = np.arange(1, n)
    added = [matrix[j, : j + 1].sum() + matrix[:j, j].sum() for j in range(n - 1)]
    q_nx = np.cumsum(np.asarray(added, np.int64)) / (k * n)
    r_nx = ((n - 1) * q_nx - k)[:-1] / (n - 1 - k)[:-1]
    return {f"Q({key})": float(value) for key, value in zip(k, q_nx, strict=True)} | {
        "k_max": float(k[np.argmax(q_nx - k / (n - 1))]),
        "auc_r_nx": float(np.sum(r_nx / k[:-1]) / np.sum(1 / k[:-1])),
    }


CONTESTANTS: dict[str, Callable[[Contest], Found]] = {
    "somscale": somscale,
    "somscale-full": somscale_full,
    "gemm": bare_gemm,
    "scikit-learn": scikit_learn,
    "zadu": zadu_measure,
    "zadu-scheduled": zadu_scheduled,
    "pycoranking": pycoranking,
    "pydrmetrics": pydrmetrics,
}


@contextmanager
def _cluster() -> Iterator[None]:
    """Two workers with one thread each."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1"
        ) as cluster,
        Client(cluster),
    ):
        yield


def _contest(asked: argparse.Namespace, n: int) -> Contest:
    if asked.store:
        import zarr

        spaces = (zarr.open_array(f"{asked.store}/{n}-{s}.zarr", mode="r") for s in "xy")
        return Contest(next(spaces), tuple(spaces), None, asked.k, 0, asked.budget)
    samples, classes = mixture(n)
    embeddings = embed(samples, asked.embeddings, asked.alike)
    return Contest(
        samples,
        embeddings,
        classes if asked.labels else None,
        asked.k,
        int(os.environ["OMP_NUM_THREADS"]),
        asked.budget,
        np.full((2048, n), 0.0) if asked.contestant == "gemm" else None,
    )


def main() -> None:
    """Prepare, run a small case to warm up, and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("contestant", choices=CONTESTANTS)
    parser.add_argument("n", type=int)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--labels", action="store_true")
    parser.add_argument("--embeddings", type=int, default=1)
    parser.add_argument("--alike", action="store_true")
    parser.add_argument("--budget")
    parser.add_argument("--store", help="folder of N-x.zarr and N-y.zarr")
    asked = parser.parse_args()
    run = CONTESTANTS[asked.contestant]
    with _cluster() if asked.store else nullcontext():
        run(_contest(asked, 2_000))()
        contest = _contest(asked, asked.n)
        serve(lambda: run(contest))


if __name__ == "__main__":
    main()
