"""What the tests of rank indices compare with: each definition as it is printed, N² and slow.

Nothing but the classes of finished statistics is taken from somscale.  ρ is the rank of
sample j around sample i among the samples, r that in the projection: both (N, N), from 1 up,
0 on the diagonal.  Q is the co-ranking matrix, (N − 1, N − 1), entry [k − 1, l − 1] counting
ρ = k and r = l, of `rows` rows i (N unless said otherwise).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from somscale.reductions.rank_stats import RankCurves, RankSamples, RankStats, RankSurface

Array = NDArray[Any]
Ties = Literal["index", "expected", "weighted", "best", "worst"]


# --- ranks


def square_distances(samples: Any) -> Array:
    """Sums of squared differences in the order of the features, (N, N)."""
    x = np.asarray(samples, np.float64)
    table: Array = cdist(x, x, "sqeuclidean")
    return table


def ranks(table: Any) -> Array:
    """Ranks row by row; ties by index, self 0 by index."""
    return output_ranks(table, np.zeros(np.shape(table)), "index")


def output_ranks(table: Any, rho: Array, ties: Ties = "index") -> Array:
    """Ranks in the projection; "best", "worst": ties by ρ, rising and falling."""
    sign = {"index": 0, "best": 1, "worst": -1}[ties]
    n = len(rho)
    found = np.zeros((n, n), np.int64)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        order = np.lexsort((others, sign * rho[i, others], np.asarray(table)[i, others]))
        found[i, others[order]] = np.arange(1, n)
    return found


def spans(table: Any) -> tuple[Array, Array]:
    """First and last rank that the distance of every pair may have, (N, N) each."""
    table = np.asarray(table)
    n = len(table)
    first, last = np.zeros((n, n), np.int64), np.zeros((n, n), np.int64)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        values = np.sort(table[i, others])
        first[i, others] = np.searchsorted(values, table[i, others], "left") + 1
        last[i, others] = np.searchsorted(values, table[i, others], "right")
    return first, last


def all_orders(distances: Any) -> Iterator[list[int]]:
    """Every order of places that agrees with the distances: the places, nearest first."""
    by_distance: dict[float, list[int]] = {}
    for place, distance in enumerate(distances):
        by_distance.setdefault(float(distance), []).append(place)
    groups = [itertools.permutations(by_distance[key]) for key in sorted(by_distance)]
    for chosen in itertools.product(*groups):
        yield [place for group in chosen for place in group]


def corank(rho: Array, r: Array) -> Array:
    """The co-ranking matrix of ranks."""
    size = max(rho.shape[-1] - 1, 0)
    counts = np.zeros((size, size), np.int64)
    away = rho > 0
    np.add.at(counts, (rho[away] - 1, r[away] - 1), 1)
    return counts


def enumerated_row(input_row: Any, output_row: Any, i: int) -> Array:
    """Row i's mean co-ranking matrix over all orders of its ties in both spaces."""
    inputs, outputs = np.delete(input_row, i), np.delete(output_row, i)
    size = len(inputs)
    total, orders = np.zeros((size, size)), 0
    for one, two in itertools.product(all_orders(inputs), all_orders(outputs)):
        orders += 1
        for k, place in enumerate(one):
            total[k, two.index(place)] += 1
    return total / orders


def pair_spans(x_table: Any, y_table: Any, ties: Ties) -> tuple[Array, Array, Array, Array]:
    """First and last ρ, first and last r of every pair under a tie policy."""
    if ties == "expected":
        return (*spans(x_table), *spans(y_table))
    rho = ranks(x_table)
    r = output_ranks(y_table, rho, ties)
    return rho, rho, r, r


def row_matrix(pair: tuple[Array, Array, Array, Array], i: int) -> Array:
    """Row i's co-ranking matrix: a pair weighs the same on all ranks that it may have."""
    size = len(pair[0]) - 1
    matrix = np.zeros((size, size))
    for j in range(size + 1):
        if j != i:
            a, b, c, d = (int(part[i, j]) for part in pair)
            matrix[a - 1 : b, c - 1 : d] += 1 / ((b - a + 1) * (d - c + 1))
    return matrix


def summed(pair: tuple[Array, Array, Array, Array], rows: Sequence[int]) -> Array:
    """The co-ranking matrix of several rows; integers where no rank is shared."""
    total = np.zeros((len(pair[0]) - 1,) * 2)
    for i in rows:
        total += row_matrix(pair, i)
    whole = np.array_equal(pair[0], pair[1]) and np.array_equal(pair[2], pair[3])
    return np.rint(total).astype(np.int64) if whole else total


def expected_corank(x_table: Any, y_table: Any) -> Array:
    """The mean co-ranking matrix over all tie orders, in closed form."""
    pair = pair_spans(x_table, y_table, "expected")
    return summed(pair, range(len(pair[0])))


# --- indices of the co-ranking matrix


def _places(matrix: Array) -> tuple[Array, Array, int]:
    """ρ and r of every entry, and N."""
    places: Array = np.indices(matrix.shape) + 1
    return places[0], places[1], len(matrix) + 1


def overlap(matrix: Array, k: int) -> Any:
    """Pairs with ρ ≤ K and r ≤ K."""
    return matrix[:k, :k].sum()


def q_nx(matrix: Array, k: int, rows: int | None = None) -> float:
    """Quality of the K-ary neighbourhoods."""
    return float(overlap(matrix, k) / (k * (rows or len(matrix) + 1)))


def lcmc(matrix: Array, k: int, rows: int | None = None) -> float:
    """Local continuity meta-criterion."""
    return q_nx(matrix, k, rows) - k / len(matrix)


def r_nx(matrix: Array, k: int, rows: int | None = None) -> float:
    """Q_NX rescaled: 0 for random neighbours, 1 for the same."""
    others = len(matrix)
    return (others * q_nx(matrix, k, rows) - k) / (others - k)


def u_p(matrix: Array, k: int) -> float:
    """Share of pairs that keep their rank."""
    rho, r, n = _places(matrix)
    return float(matrix[(rho == r) & (rho <= k)].sum() / (k * n))


def u_n(matrix: Array, k: int, rows: int | None = None) -> float:
    """Share of mild intrusions."""
    rho, r, n = _places(matrix)
    return float(matrix[(r < rho) & (rho <= k)].sum() / (k * (rows or n)))


def u_x(matrix: Array, k: int, rows: int | None = None) -> float:
    """Share of mild extrusions."""
    rho, r, n = _places(matrix)
    return float(matrix[(rho < r) & (r <= k)].sum() / (k * (rows or n)))


def b_nx(matrix: Array, k: int, rows: int | None = None) -> float:
    """Intrusions less extrusions."""
    return u_n(matrix, k, rows) - u_x(matrix, k, rows)


def worst_excess(n: int, k: int) -> float:
    """The largest Σ (ρ − k) over one row's intruders: G_k / 2N."""
    if k < n / 2:
        return k * (2 * n - 3 * k - 1) / 2
    return (n - k) * (n - k - 1) / 2


def trustworthiness(matrix: Array, k: int, rows: int | None = None) -> float:
    """Penalty of the intruders by their ρ."""
    rho, r, n = _places(matrix)
    if k == n - 1:
        return 1.0
    intruders = (r <= k) & (rho > k)
    return float(1 - ((rho - k) * matrix)[intruders].sum() / worst_excess(n, k) / (rows or n))


def continuity(matrix: Array, k: int, rows: int | None = None) -> float:
    """The same with both spaces swapped."""
    return trustworthiness(matrix.T, k, rows)


def mrre_intrusion(matrix: Array, k: int, rows: int | None = None, *, lee: bool = False) -> float:
    """Mean relative rank error of the projection's neighbours."""
    rho, r, n = _places(matrix)
    moved = (abs(rho - r) / r * matrix)[r <= k].sum()
    return float(moved / (rows or n) / sum(abs(n - 2 * j + lee) / j for j in range(1, k + 1)))


def mrre_extrusion(matrix: Array, k: int, rows: int | None = None, *, lee: bool = False) -> float:
    """Mean relative rank error of the samples' neighbours."""
    return mrre_intrusion(matrix.T, k, rows, lee=lee)


def regions(matrix: Array, k: int) -> dict[str, Any]:
    """Pairs of the four regions."""
    rho, r, _ = _places(matrix)
    return {
        "mild_intrusion": matrix[(r < rho) & (rho <= k)].sum(),
        "hard_intrusion": matrix[(r <= k) & (k < rho)].sum(),
        "mild_extrusion": matrix[(rho < r) & (r <= k)].sum(),
        "hard_extrusion": matrix[(rho <= k) & (k < r)].sum(),
    }


def inside(matrix: Array, kappa_s: int, kappa_t: int) -> Any:
    """Pairs near in one space that are moved by few ranks."""
    rho, r, _ = _places(matrix)
    return matrix[(np.minimum(rho, r) <= kappa_s) & (abs(rho - r) <= kappa_t)].sum()


def rank_quality(matrix: Array, kappa_s: int, kappa_t: int, norm: str = "lueks") -> float:
    """Q′(κs, κt), over κs N or over the pairs of the region."""
    n = len(matrix) + 1
    region = kappa_s * n if norm == "lueks" else inside(matrix, kappa_s, n)
    return float(inside(matrix, kappa_s, kappa_t) / region)


def k_max(matrix: Array) -> int:
    """The first K with the largest LCMC."""
    values = [lcmc(matrix, k) for k in range(1, len(matrix) + 1)]
    return 1 + next(place for place, value in enumerate(values) if value >= max(values) - 1e-13)


def q_local(matrix: Array) -> float:
    """Mean Q_NX up to K_max."""
    return float(np.mean([q_nx(matrix, k) for k in range(1, k_max(matrix) + 1)]))


def q_global(matrix: Array) -> float:
    """Mean Q_NX from K_max on."""
    return float(np.mean([q_nx(matrix, k) for k in range(k_max(matrix), len(matrix) + 1)]))


def auc_r_nx(matrix: Array) -> float:
    """Mean R_NX over ln K."""
    ks = range(1, len(matrix))
    return sum(r_nx(matrix, k) / k for k in ks) / sum(1 / k for k in ks)


def mean_r_nx(matrix: Array) -> float:
    """Mean R_NX over K."""
    return float(np.mean([r_nx(matrix, k) for k in range(1, len(matrix))]))


# --- indices of neighbour sets


def jaccard(rho: Array, r: Array, k: int) -> float:
    """Mean Jaccard index of the K nearest in both spaces."""
    shares = []
    for i in range(len(rho)):
        near = [set(np.flatnonzero((row[i] > 0) & (row[i] <= k))) for row in (rho, r)]
        shares.append(len(near[0] & near[1]) / len(near[0] | near[1]))
    return float(np.mean(shares))


def neighborhood_hit(r: Array, labels: Any, k: int) -> float:
    """Mean share of the K nearest in the projection that have the sample's label."""
    shares = []
    for i, row in enumerate(r):
        near = np.flatnonzero((row > 0) & (row <= k))
        shares.append(np.mean([labels[j] == labels[i] for j in near]))
    return float(np.mean(shares))


# --- the survey's weights of ties


def weighted_excess(x_table: Any, y_table: Any, k: int) -> tuple[Array, Array]:
    """Σ_j (ρ − k) and Σ_j (r − k) of every row, with ties in the sets, weighted.

    Ranks are the least of a tie.  All ties belong to the nearest, and terms are weighted by
    the ratio of the sizes of the sets: the samples' over the projection's for intruders, and
    the other way round (Forest et al. 2020; SOMperf 0.2b0).
    """
    rho, r = spans(x_table)[0], spans(y_table)[0]
    into, out = np.zeros(len(rho)), np.zeros(len(rho))
    for i in range(len(rho)):
        near_in, near_out = (rho[i] > 0) & (rho[i] <= k), (r[i] > 0) & (r[i] <= k)
        ratio = near_in.sum() / near_out.sum()
        into[i] = (rho[i] - k)[near_out & (rho[i] > k)].sum() * ratio
        out[i] = (r[i] - k)[near_in & (r[i] > k)].sum() / ratio
    return into, out


def weighted_trustworthiness(x_table: Any, y_table: Any, k: int) -> float:
    """Trustworthiness with the survey's weights."""
    n = len(x_table)
    if k == n - 1:
        return 1.0
    into, _ = weighted_excess(x_table, y_table, k)
    return float(1 - into.sum() / n / worst_excess(n, k))


def weighted_preservation(x_table: Any, y_table: Any, k: int) -> float:
    """Neighborhood preservation with the survey's weights."""
    n = len(x_table)
    if k == n - 1:
        return 1.0
    _, out = weighted_excess(x_table, y_table, k)
    return float(1 - out.sum() / n / worst_excess(n, k))


# --- ties in closed form, pair by pair


def chance(first: Array, last: Array, k: int) -> Array:
    """How likely a rank is at most K; 0 on the diagonal."""
    chances: Array = np.clip((k - first + 1) / (last - first + 1), 0, 1) * (first > 0)
    return chances


def mean_excess(first: Array, last: Array, k: int) -> Array:
    """Mean of how far a rank is beyond K."""
    start = np.maximum(first, k + 1)
    beyond = (last - start + 1) * ((start + last) / 2 - k) / (last - first + 1)
    return np.where(start <= last, beyond, 0.0) * (first > 0)


def overlaps(pair: tuple[Array, Array, Array, Array], k: int) -> Array:
    """Every row's expected number of common neighbours."""
    total: Array = (chance(*pair[:2], k) * chance(*pair[2:], k)).sum(axis=1)
    return total


def excesses(pair: tuple[Array, Array, Array, Array], k: int) -> tuple[Array, Array]:
    """Every row's expected Σ (ρ − k) of intruders and Σ (r − k) of extruders."""
    into = mean_excess(*pair[:2], k) * chance(*pair[2:], k)
    out = mean_excess(*pair[2:], k) * chance(*pair[:2], k)
    return into.sum(axis=1), out.sum(axis=1)


# --- statistics for formulas


def stats_of(
    x_table: Any,
    y_table: Any,
    *,
    ties: Ties = "index",
    labels: Any = None,
    rows: Sequence[int] | None = None,
    sample_ks: Sequence[int] | None = None,
    sample_pairs: Sequence[tuple[int, int]] = (),
    kappas: tuple[int, int] | None = None,
) -> RankStats:
    """All that a walk tells, from tables of distances, for every K.

    Of all rows, or of the drawn ones, each then a group of its own.  `kappas` are the largest
    κs and κt, which cost N² each; all if None.
    """
    n = len(x_table)
    pair = pair_spans(x_table, y_table, "expected" if ties == "weighted" else ties)
    drawn = list(range(n) if rows is None else rows)
    matrix = summed(pair, drawn)
    own = np.array([overlaps(pair, k) for k in range(1, n)]).reshape(-1, n).T
    weighted = ties == "weighted"
    both = np.array(
        [
            weighted_excess(x_table, y_table, k) if weighted else excesses(pair, k)
            for k in range(1, n)
        ]
    ).reshape(-1, 2, n)
    into, out = both[:, 0].T, both[:, 1].T
    k = np.arange(1, n)
    extra = {"jaccard": own / (2 * k - own)}
    if labels is not None:
        extra["agreement"] = _agreement(pair[2], pair[3], labels)
    weights = {"excess_in": into, "excess_out": out} if weighted else {}

    def curves(part: Array, places: list[int], count: Any) -> dict[str, Any]:
        more = {name: f[places].sum(axis=0) for name, f in {**extra, **weights}.items()}
        return {"n_samples": n, "n_rows": count, **_curves(part), **more}

    groups = None
    if rows is not None:
        each = [curves(summed(pair, [i]), [i], 1) for i in drawn]
        arrays: dict[str, Any] = {name: np.array([row[name] for row in each]) for name in each[0]}
        arrays |= {"n_samples": n, "n_rows": np.ones((len(drawn), 1), np.int64)}
        groups = RankCurves(**arrays)
    ks = np.array(k if sample_ks is None else sample_ks, np.int64)
    samples = None
    if rows is None:
        shares = [pairs_inside(pair, *near) for near in sample_pairs]
        samples = RankSamples(
            ks,
            own[:, ks - 1],
            into[:, ks - 1],
            out[:, ks - 1],
            np.array(sample_pairs, np.int64).reshape(-1, 2),
            np.array([table.sum(axis=1) for table in shares]).reshape(-1, n).T,
            np.array([table.sum(axis=0) for table in shares]).reshape(-1, n).T,
        )
    return RankStats(
        n,
        RankCurves(**curves(matrix, drawn, len(drawn))),
        groups,
        _surface(pair, drawn, kappas or (n - 1, n - 2), moments=rows is not None),
        samples,
        matrix,
        _tied(y_table, drawn),
    )


def _curves(matrix: Array) -> dict[str, Array]:
    """The sums of `RankCurves` of a matrix, for every K."""
    rho, r, n = _places(matrix)
    sums: dict[str, list[Any]] = {}
    for k in range(1, n):
        for name, value in {
            "overlap": overlap(matrix, k),
            "equal": matrix[(rho == r) & (rho <= k)].sum(),
            "intrusions": matrix[(r < rho) & (rho <= k)].sum(),
            "extrusions": matrix[(rho < r) & (r <= k)].sum(),
            "excess_in": ((rho - k) * matrix)[(r <= k) & (rho > k)].sum(),
            "excess_out": ((r - k) * matrix)[(rho <= k) & (r > k)].sum(),
            "moved_in": (abs(rho - r) / r * matrix)[r <= k].sum(),
            "moved_out": (abs(rho - r) / rho * matrix)[rho <= k].sum(),
        }.items():
            sums.setdefault(name, []).append(value)
    return {name: np.array(values) for name, values in sums.items()}


def _agreement(first: Array, last: Array, labels: Any) -> Array:
    """Pairs of one label with r ≤ K, row by row, (N, N − 1); negative labels are none."""
    n = len(first)
    found = np.zeros((n, n - 1))
    for i, j in itertools.permutations(range(n), 2):
        if labels[i] == labels[j] and labels[i] >= 0:
            for k in range(first[i, j], n):
                span = last[i, j] - first[i, j] + 1
                found[i, k - 1] += min(k - first[i, j] + 1, span) / span
    whole = np.array_equal(first, last)
    return np.rint(found).astype(np.int64) if whole else found


def _surface(
    pair: tuple[Array, Array, Array, Array],
    rows: list[int],
    kappas: tuple[int, int],
    *,
    moments: bool,
) -> RankSurface:
    """Sums for κs = 1..S and κt = 0..T, with the moments of the rows where they are drawn."""
    n = len(pair[0])
    near, moved = range(1, kappas[0] + 1), range(kappas[1] + 1)

    def sums(matrix: Array) -> tuple[Array, Array]:
        own = np.array([[inside(matrix, s, t) for t in moved] for s in near])
        return own, np.array([inside(matrix, s, n) for s in near])

    total, region = sums(summed(pair, rows))
    if not moments:
        return RankSurface(n, n, total, region)
    each = [sums(summed(pair, [i])) for i in rows]
    return RankSurface(
        n,
        len(rows),
        total,
        region,
        np.sum([own.astype(np.float64) ** 2 for own, _ in each], axis=0),
        np.sum([own * part[:, None].astype(np.float64) for own, part in each], axis=0),
        np.sum([part.astype(np.float64) ** 2 for _, part in each], axis=0),
    )


def pairs_inside(pair: tuple[Array, Array, Array, Array], kappa_s: int, kappa_t: int) -> Array:
    """How much of every pair is near in one space and moved by few ranks, (N, N)."""
    n = len(pair[0])
    found = np.zeros((n, n))
    for i, j in itertools.permutations(range(n), 2):
        a, b, c, d = (int(part[i, j]) for part in pair)
        places = list(itertools.product(range(a, b + 1), range(c, d + 1)))
        kept = [min(rho, r) <= kappa_s and abs(rho - r) <= kappa_t for rho, r in places]
        found[i, j] = sum(kept) / len(places)
    return found


def pointwise_rank_quality(
    pair: tuple[Array, Array, Array, Array],
    kappa_s: int,
    kappa_t: int,
    side: str = "both",
    norm: str = "lueks",
) -> Array:
    """Q′_i(κs, κt) of every sample, over κs or over the mean sample's pairs of the region."""
    n = len(pair[0])
    kept = pairs_inside(pair, kappa_s, kappa_t)
    row, column = kept.sum(axis=1), kept.sum(axis=0)
    size = kappa_s if norm == "lueks" else pairs_inside(pair, kappa_s, n).sum() / n
    own: Array = {"row": row, "column": column, "both": (row + column) / 2}[side]
    return own / size


def _tied(table: Any, rows: Sequence[int]) -> float:
    first, last = spans(table)
    n = len(first)
    return float(np.mean(((first < last)[list(rows)]).sum(axis=1) / (n - 1)))
