"""What the tests compare with: every quantity of a map, straight from its definition.

Nothing here is quick, blocked or clever, and nothing is taken from somscale: all
distances at once, by direct differences, and sums that are rounded once
(`math.fsum`).  Samples are (N, D), codes (K, D); δ and adjacency are (K, K) tables.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Samples = NDArray[Any]


def squared_distances(samples: Samples, codes: Samples) -> Floats:
    """‖x_i − m_k‖², (N, K): differences in float64, squares added in feature order."""
    x, m = np.asarray(samples, np.float64), np.asarray(codes, np.float64)
    total = np.zeros((len(x), len(m)))
    for feature in range(x.shape[1]):
        difference = x[:, None, feature] - m[None, :, feature]
        total += difference * difference
    return total


def best_two(samples: Samples, codes: Samples) -> tuple[Ints, Ints]:
    """Best and second-best unit of every sample, ties to the lowest; second −1 where K = 1."""
    order: Ints = np.argsort(squared_distances(samples, codes), axis=1, kind="stable")
    if len(codes) == 1:
        return order[:, 0], np.full(len(samples), -1)
    return order[:, 0], order[:, 1]


def smallest_squares(samples: Samples, codes: Samples) -> Floats:
    """‖x_i − m_b1‖², (N,)."""
    smallest: Floats = squared_distances(samples, codes).min(axis=1)
    return smallest


# --- how well the codes stand for the samples


def quantization_error(
    samples: Samples, codes: Samples, form: Literal["mean", "squared", "rms"] = "mean"
) -> float:
    """Mean distance to the best unit, mean squared distance, or the root of that."""
    squares = smallest_squares(samples, codes)
    if form == "mean":
        return math.fsum(np.sqrt(squares)) / len(squares)
    mean_square = math.fsum(squares) / len(squares)
    return math.sqrt(mean_square) if form == "rms" else mean_square


def explained_variance(samples: Samples, codes: Samples) -> float:
    """1 − Σ‖x − m_b1‖² / Σ‖x − x̄‖²; nan where the samples are all equal."""
    x = np.asarray(samples, np.float64)
    centre = np.array([math.fsum(column) / len(x) for column in x.T])
    whole = math.fsum(np.ravel((x - centre) ** 2))
    return 1 - math.fsum(smallest_squares(x, codes)) / whole if whole else math.nan


# --- how well the map keeps the order


def topographic_error(
    samples: Samples, codes: Samples, adjacent: Bools | Callable[[int, int], bool]
) -> float:
    """Share of samples whose best and second-best unit do not adjoin; nan where K = 1."""
    if len(codes) == 1:
        return math.nan
    adjoin = adjacent if callable(adjacent) else lambda i, j: bool(adjacent[i, j])
    apart = [not adjoin(int(i), int(j)) for i, j in zip(*best_two(samples, codes), strict=True)]
    return sum(apart) / len(apart)


KERNELS: dict[str, Callable[[float, float], float]] = {
    "gaussian": lambda delta, t: math.exp(-(delta**2) / t**2),
    "gaussian_half": lambda delta, t: math.exp(-(delta**2) / (2 * t**2)),
    "window": lambda delta, t: 1.0 if delta <= t else 0.0,
    "triangular": lambda delta, t: max(0.0, 1 - delta / t),
    "mexican_hat": lambda delta, t: (1 - delta**2 / t**2) * math.exp(-(delta**2) / (2 * t**2)),
}


def neighborhood(delta: Floats, kernel: str, temperature: float) -> Floats:
    """h(δ) at one temperature, (K, K)."""
    h = KERNELS[kernel]
    return np.array([[h(float(entry), temperature) for entry in row] for row in delta])


def distortion(
    samples: Samples, codes: Samples, delta: Floats, kernel: str, temperature: float
) -> float:
    """(1/N) Σ_i Σ_k h(δ(b1, k)) ‖x_i − m_k‖²."""
    best, _ = best_two(samples, codes)
    h = neighborhood(delta, kernel, temperature)
    squares = squared_distances(samples, codes)
    return math.fsum(np.ravel(h[best] * squares)) / len(samples)


def distortion_parts(
    samples: Samples, codes: Samples, delta: Floats, kernel: str, temperature: float
) -> tuple[float, float, float]:
    """Vesanto's (2003) three parts of the distortion: they add up to it.

    With H_k = Σ_l h_kl, m̄_k = Σ_l h_kl m_l / H_k and c_k the centroid of the n_k samples
    of unit k: (1/N) Σ_k H_k Σ‖x − c_k‖², (1/N) Σ_k n_k H_k ‖c_k − m̄_k‖² and
    (1/N) Σ_k n_k Σ_l h_kl ‖m_l − m̄_k‖².  H_k must not be zero.
    """
    x, m = np.asarray(samples, np.float64), np.asarray(codes, np.float64)
    best, _ = best_two(x, m)
    h = neighborhood(delta, kernel, temperature)
    variance, bias, spread = [], [], []
    for k in np.unique(best):
        members = x[best == k]
        weight = math.fsum(h[k])
        centroid, local = members.mean(axis=0), h[k] @ m / weight
        variance.append(weight * math.fsum(np.ravel((members - centroid) ** 2)))
        bias.append(len(members) * weight * math.fsum((centroid - local) ** 2))
        spread.append(len(members) * math.fsum(np.ravel(h[k][:, None] * (m - local) ** 2)))
    first, second, third = (math.fsum(part) / len(x) for part in (variance, bias, spread))
    return first, second, third


# --- what every unit holds


def hits(samples: Samples, codes: Samples) -> Ints:
    """n_u, samples whose best unit is u, (K,)."""
    best, _ = best_two(samples, codes)
    return np.array([np.count_nonzero(best == u) for u in range(len(codes))])


def pair_counts(samples: Samples, codes: Samples) -> Counter[tuple[int, int]]:
    """How often each pair (best, second-best unit) occurs; empty where K = 1."""
    pairs = zip(*best_two(samples, codes), strict=True)
    return Counter((int(i), int(j)) for i, j in pairs if j >= 0)


def unit_residuals(samples: Samples, codes: Samples) -> Floats:
    """R_u = Σ (x − m_u) over the samples of unit u, (K, D)."""
    return _unit_sums(samples, codes, lambda members, code: members - code)


def unit_squares(samples: Samples, codes: Samples) -> Floats:
    """E_u = Σ ‖x − m_u‖² over the samples of unit u, (K,)."""
    return _unit_sums(samples, codes, lambda x, code: squared_distances(x, code[None]))[:, 0]


def unit_distances(samples: Samples, codes: Samples) -> Floats:
    """Σ ‖x − m_u‖ over the samples of unit u, (K,)."""
    return _unit_sums(samples, codes, lambda x, code: np.sqrt(squared_distances(x, code[None])))[
        :, 0
    ]


def _unit_sums(
    samples: Samples, codes: Samples, value: Callable[[Floats, Floats], Floats]
) -> Floats:
    x, m = np.asarray(samples, np.float64), np.asarray(codes, np.float64)
    best, _ = best_two(x, m)
    return np.array(
        [[math.fsum(column) for column in value(x[best == u], m[u]).T] for u in range(len(m))]
    )


def tiled_unit_sums(samples: Samples, codes: Samples, tile_rows: int) -> dict[str, Any]:
    """R_u, E_u and Σ‖x − m_u‖, rounded as documented: bit for bit what somscale must find.

    Within a tile of rows each unit adds its samples one after the other; tiles are added
    along the binary tree over their numbers.
    """
    x, m = np.asarray(samples, np.float64), np.asarray(codes, np.float64)
    best, _ = best_two(x, m)
    squares = smallest_squares(x, m)
    tiles = []
    for top in range(0, len(x), tile_rows):
        sums = (np.zeros(m.shape), np.zeros(len(m)), np.zeros(len(m)))
        for i in range(top, min(top + tile_rows, len(x))):
            for total, term in zip(
                sums, (x[i] - m[best[i]], squares[i], np.sqrt(squares[i])), strict=True
            ):
                total[best[i]] += term
        tiles.append(sums)
    whole = [_tree_sum([tile[part] for tile in tiles]) for part in range(3)]
    return dict(zip(("residuals", "squares", "distances"), whole, strict=True))


def _tree_sum(tiles: list[Floats]) -> Floats:
    """Σ along the binary tree: the left child holds the largest power of two that is smaller."""
    if len(tiles) == 1:
        return tiles[0]
    left = 1 << (len(tiles) - 1).bit_length() - 1
    return _tree_sum(tiles[:left]) + _tree_sum(tiles[left:])


# --- training


def batch_update(
    samples: Samples, codes: Samples, delta: Floats, kernel: str, temperature: float
) -> Floats:
    """Codes after one batch epoch: m_k = Σ_i h(δ(b1, k)) x_i / Σ_i h(δ(b1, k)).

    A unit that no sample reaches keeps its code.
    """
    x, updated = np.asarray(samples, np.float64), np.array(codes, np.float64)
    best, _ = best_two(x, updated)
    h = neighborhood(delta, kernel, temperature)
    for k in range(len(updated)):
        weights = h[best, k]
        if (whole := math.fsum(weights)) > 0:
            updated[k] = [math.fsum(weights * column) / whole for column in x.T]
    return updated


# --- small maps


def grid_positions(
    rows: int, cols: int, topology: str = "rectangular", offset: str = "odd"
) -> Floats:
    """x, y of every unit, (K, 2), row by row; hexagonal rows √3/2 apart, shifted by half."""
    hexagonal = topology == "hexagonal"
    shifted = 1 if offset == "odd" else 0
    return np.array(
        [
            (col + (0.5 if hexagonal and row % 2 == shifted else 0.0), row * _height(topology))
            for row in range(rows)
            for col in range(cols)
        ]
    )


def image_distances(
    rows: int,
    cols: int,
    *,
    topology: str = "rectangular",
    offset: str = "odd",
    wrap: tuple[bool, bool] = (False, False),
    norm: Literal["euclidean", "max"] = "euclidean",
) -> Floats:
    """Distance of positions, (K, K), the smallest over all images where rows or columns wrap."""
    places = grid_positions(rows, cols, topology, offset)
    turns = [(-1, 0, 1) if wrapped else (0,) for wrapped in wrap]
    apart = [
        np.abs(places[:, None] - places + (right * cols, down * rows * _height(topology)))
        for down in turns[0]
        for right in turns[1]
    ]
    lengths = [np.hypot(a[..., 0], a[..., 1]) if norm == "euclidean" else a.max(-1) for a in apart]
    nearest: Floats = np.min(lengths, axis=0)
    return nearest


def _height(topology: str) -> float:
    return math.sqrt(3) / 2 if topology == "hexagonal" else 1.0


def grid_adjacency(
    rows: int,
    cols: int,
    *,
    topology: str = "rectangular",
    offset: str = "odd",
    wrap: tuple[bool, bool] = (False, False),
    neighbors: int = 4,
) -> Bools:
    """Which units adjoin, (K, K): 4 or 8 neighbours on a rectangle, 6 on hexagons."""
    table = np.zeros((rows * cols, rows * cols), bool)
    for row in range(rows):
        for col in range(cols):
            for down, right in _steps(row, topology, offset, neighbors):
                to_row = (row + down) % rows if wrap[0] else row + down
                to_col = (col + right) % cols if wrap[1] else col + right
                if 0 <= to_row < rows and 0 <= to_col < cols:
                    table[row * cols + col, to_row * cols + to_col] = True
    np.fill_diagonal(table, False)
    return table


def _steps(row: int, topology: str, offset: str, neighbors: int) -> Iterable[tuple[int, int]]:
    if topology == "hexagonal":
        shifted = row % 2 == (1 if offset == "odd" else 0)
        aside = (0, 1) if shifted else (-1, 0)
        return [(0, -1), (0, 1), *((down, right) for down in (-1, 1) for right in aside)]
    straight = [(0, -1), (0, 1), (-1, 0), (1, 0)]
    return straight + ([(-1, -1), (-1, 1), (1, -1), (1, 1)] if neighbors == 8 else [])


def hops(adjacent: Bools) -> Floats:
    """Steps between units, (K, K), by a breadth-first search from each; inf where none leads."""
    steps = np.full(adjacent.shape, np.inf)
    for source in range(len(adjacent)):
        steps[source, source] = 0
        queue = deque([source])
        while queue:
            unit = queue.popleft()
            for other in np.flatnonzero(adjacent[unit]):
                if np.isinf(steps[source, other]):
                    steps[source, other] = steps[source, unit] + 1
                    queue.append(int(other))
    return steps
