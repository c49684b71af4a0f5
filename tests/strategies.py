"""Samples and maps of every awkward kind, and ways to cut them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Generator = np.random.Generator
Maker = Callable[[Generator, int, int, int], tuple[NDArray[Any], NDArray[np.float64]]]


@dataclass(frozen=True)
class Case:
    """Samples (N, D) and codes (K, D) of a kind."""

    kind: str
    samples: NDArray[Any]
    codes: NDArray[np.float64]


def _gaussian(rng: Generator, n: int, d: int, k: int) -> Any:
    return rng.standard_normal((n, d)), rng.standard_normal((k, d))


def _integers(rng: Generator, n: int, d: int, k: int) -> Any:
    return rng.integers(0, 3, (n, d)), rng.integers(0, 3, (k, d)).astype(np.float64)


def _duplicates(rng: Generator, n: int, d: int, k: int) -> Any:
    pool = rng.standard_normal((3, d))
    return pool[rng.integers(0, 3, n)], pool[rng.integers(0, 3, k)] + rng.integers(0, 2, (k, 1))


def _constant(rng: Generator, n: int, d: int, k: int) -> Any:
    samples, codes = _gaussian(rng, n, d, k)
    same = rng.integers(0, 2, d).astype(bool)
    samples[:, same] = codes[:, same] = 0.1
    return samples, codes


def _offset(rng: Generator, n: int, d: int, k: int) -> Any:
    samples, codes = _gaussian(rng, n, d, k)
    return samples + 1e8, codes + 1e8


def _scaled(scale: float) -> Maker:
    def make(rng: Generator, n: int, d: int, k: int) -> Any:
        samples, codes = _gaussian(rng, n, d, k)
        return samples * scale, codes * scale

    return make


def _single(rng: Generator, n: int, d: int, k: int) -> Any:
    samples, codes = _gaussian(rng, n, d, k)
    return (samples + 100).astype(np.float32), codes + 100


def _short_integers(rng: Generator, n: int, d: int, k: int) -> Any:
    samples = rng.integers(-32768, 32768, (n, d)).astype(np.int16)
    return samples, rng.integers(-32768, 32768, (k, d)) / 4


def _fitted(rng: Generator, n: int, d: int, k: int) -> Any:
    codes = 10 * rng.standard_normal((k, d))
    return codes[rng.integers(0, k, n)] + 1e-6 * rng.standard_normal((n, d)), codes


def _twin_codes(rng: Generator, n: int, d: int, k: int) -> Any:
    samples, codes = _gaussian(rng, n, d, k)
    return samples, codes[rng.integers(0, (k + 1) // 2, k)]


def _own_codes(rng: Generator, n: int, d: int, _: int) -> Any:
    samples = rng.standard_normal((n, d))
    return samples, samples.copy()


def _midpoints(rng: Generator, n: int, d: int, k: int) -> Any:
    """Samples halfway between two codes, some of them off by one unit in the last place."""
    codes = rng.integers(-4, 5, (k, d)) * rng.choice([1.0, 0.1])
    pairs = rng.integers(0, k, (n, 2))
    samples = (codes[pairs[:, 0]] + codes[pairs[:, 1]]) / 2
    moved = rng.choice([-np.inf, 0.0, np.inf], n)
    rows, features = np.flatnonzero(moved), rng.integers(0, d, n)[moved != 0]
    samples[rows, features] = np.nextafter(samples[rows, features], moved[rows])
    return samples, codes


def _far(rng: Generator, n: int, d: int, k: int) -> Any:
    """Some samples so far away that single precision overflows, or sees no difference."""
    samples, codes = _gaussian(rng, n, d, k)
    return samples * rng.choice([1.0, 1e6, 1e25, 1e38, 1e60], (n, 1)), codes


def _spread(rng: Generator, n: int, d: int, k: int) -> Any:
    """Samples far beyond a minute map, whose squares alone stay in range."""
    samples, codes = _gaussian(rng, n, d, k)
    return samples * 1e145, codes * 1e-20


KINDS: dict[str, Maker] = {
    "gaussian": _gaussian,
    "integers": _integers,
    "duplicates": _duplicates,
    "constant": _constant,
    "offset": _offset,
    "scale 1e-9": _scaled(1e-9),
    "scale 1e150": _scaled(1e150),
    "scale 1e-150": _scaled(1e-150),
    "scale 1e-165": _scaled(1e-165),  # squares underflow, so that distances of 0 are many
    "float32": _single,
    "int16": _short_integers,
    "fitted": _fitted,
    "twin codes": _twin_codes,
    "own codes": _own_codes,
    "midpoints": _midpoints,
    "far": _far,
    "spread": _spread,
}


def cases(
    kinds: Sequence[str] = tuple(KINDS),
    *,
    samples: tuple[int, int] = (1, 60),
    features: tuple[int, int] = (1, 6),
    units: tuple[int, int] = (1, 9),
) -> st.SearchStrategy[Case]:
    """Samples and codes of one of the kinds, of sizes within bounds."""
    sizes = [st.integers(*bounds) for bounds in (samples, features, units)]
    return st.builds(_case, st.sampled_from(kinds), *sizes, st.integers(0, 2**32 - 1))


def _case(kind: str, n: int, d: int, k: int, seed: int) -> Case:
    samples, codes = KINDS[kind](np.random.default_rng(seed), n, d, k)
    return Case(kind, samples, codes)


def cuts(length: int, most: int = 8) -> st.SearchStrategy[tuple[int, ...]]:
    """Sizes of consecutive parts that add up to `length`."""
    inner = st.sets(st.integers(1, length - 1), max_size=most) if length > 1 else st.just(set())
    return inner.map(lambda at: tuple(b - a for a, b in pairwise([0, *sorted(at), length])))


def parts(sizes: Sequence[int]) -> list[slice]:
    """The slices of consecutive parts."""
    return [slice(start, stop) for start, stop in pairwise(accumulate(sizes, initial=0))]
