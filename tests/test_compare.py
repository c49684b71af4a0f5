"""Comparisons: ranks as scipy's, intervals as explicit resampling gives them, in any chunks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn import metrics as sk
from sklearn.cluster import KMeans

import somscale as ss
from somscale.codebook import as_map
from somscale.comparing.ranking import front_of, mean_ranks, ranks_of
from somscale.errors import InputError, MemoryBudgetError, UnknownMetricError
from somscale.kernels.resampling import BLOCK_ROWS, _counts_of_bits, resample_weights
from somscale.reductions.base import TILE_ROWS

N, D, N_BOOT, SEED = 5000, 3, 60, 7
RNG = np.random.default_rng(0)
SAMPLES = RNG.standard_normal((N, D))
SAMPLES[::50] = SAMPLES[1]  # ties and duplicates
MAPS = {
    "small": ss.codebook(SAMPLES[:6], ss.Grid(2, 3)),
    "hexagonal": ss.codebook(SAMPLES[6:18], ss.Grid(3, 4, topology="hexagonal")),
    "chain": ss.codebook(SAMPLES[18:25], ss.Grid.chain(7)),
    "same": ss.codebook(SAMPLES[:6], ss.Grid(2, 3)),
}
CLUSTERS = {f"k{k}": RNG.integers(0, k, 900) for k in (2, 3, 5)}
LABELS = (CLUSTERS["k3"] + (RNG.random(900) < 0.3)) % 3
RESAMPLED = [
    "quantization_error",
    "topographic_error",
    "combined_error",
    "rms_per_feature",
    "simplified_silhouette",
]


def weights(n: int, n_boot: int = N_BOOT, seed: int = SEED) -> NDArray[np.float64]:
    """Weights of all samples, (n_boot, n)."""
    blocks = [resample_weights(seed, b, n_boot)[1:] for b in range(-(-n // BLOCK_ROWS))]
    return np.concatenate(blocks, axis=1)[:, :n].astype(float)


def means(values: Any, w: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = (w * values).sum(axis=1) / w.sum(axis=1)
    return found


def per_sample(name: str, som: xr.Dataset, samples: Any = SAMPLES) -> NDArray[np.float64]:
    """What an index of a map is the mean of, straight from its definition."""
    codes, grid = som["codes"].values, as_map(som).grid
    d = np.sqrt(((samples[:, None] - codes) ** 2).sum(axis=2))
    first, second = np.argsort(d, axis=1, kind="stable")[:, :2].T
    near, far = np.take_along_axis(d, np.stack([first, second], axis=1), axis=1).T
    if name == "quantization_error":
        return near
    if name == "topographic_error":
        return (~grid.adjacent(first, second)).astype(float)
    if name == "simplified_silhouette":
        return np.asarray(1 - np.divide(near, far, out=np.ones_like(near), where=far > 0))
    if name == "rms_per_feature":
        return near**2 / samples.shape[1]
    ways = np.full((len(codes),) * 2, np.inf)
    np.fill_diagonal(ways, 0)
    for i, j in grid.edges():
        ways[i, j] = ways[j, i] = np.sqrt(((codes[i] - codes[j]) ** 2).sum())
    for k in range(len(codes)):
        ways = np.minimum(ways, ways[:, [k]] + ways[[k]])
    return np.asarray(near + ways[first, second])


@pytest.fixture(scope="module")
def compared() -> xr.Dataset:
    return ss.compare(SAMPLES, MAPS, cost="linear", n_boot=N_BOOT, seed=SEED)


# --- ranks


def test_values_are_those_of_evaluate(compared: xr.Dataset) -> None:
    q = ss.evaluate(SAMPLES, MAPS, cost="linear")
    # that of one temperature is a number too
    assert set(compared["metric"].values) == {*q["metric"].values, "distortion"}
    assert compared["value"].dims == ("metric", "candidate")
    np.testing.assert_array_equal(compared["value"].sel(metric="distortion"), q["distortion"][:, 0])
    own = compared.sel(metric=q["metric"])
    np.testing.assert_array_equal(own["value"].values, q["value"].values.T)
    np.testing.assert_array_equal(own["note"].values, q["note"].values.T)
    for name in ("direction", "lower", "upper", "metric_units", "long_name", "source"):
        assert own[name].values.tolist() == q[name].values.tolist()


def test_ranks_are_scipys(compared: xr.Dataset) -> None:
    seen = set()
    for name in compared["metric"].values:
        own = compared.sel(metric=name)
        values, direction = own["value"].values, own["direction"].item()
        seen.add(direction)
        if direction == "none":
            assert np.isnan(own["rank"]).all()
            assert own["best"].item() == ""
            continue
        losses = {"lower": values, "higher": -values, "zero": np.abs(values)}[direction]
        np.testing.assert_array_equal(own["rank"], rankdata(losses, nan_policy="omit"))
        if np.isnan(losses).all():
            assert own["best"].item() == ""
            continue
        assert own["best"].item() == list(MAPS)[int(np.nanargmin(losses))]
    assert seen == {"none", "lower", "higher", "zero"}
    whole = compared["rank"].values[~np.isnan(compared["rank"].values).any(axis=1)]
    np.testing.assert_allclose(compared["mean_rank"], whole.mean(axis=0))


@given(
    st.lists(
        st.lists(st.sampled_from([-2.0, -1.0, 0.0, 1.0, np.inf, np.nan]), min_size=4, max_size=4),
        min_size=1,
        max_size=4,
    ),
    st.data(),
)
def test_ranks_of_any_values(rows: list[list[float]], data: st.DataObject) -> None:
    directions = [data.draw(st.sampled_from(["lower", "higher", "zero", "none"])) for _ in rows]
    values = np.array(rows)
    found = ranks_of(values, directions)
    for own, ranks, direction in zip(values, found, directions, strict=True):
        if direction == "none":
            assert np.isnan(ranks).all()
            continue
        losses = {"lower": own, "higher": -own, "zero": np.abs(own)}[direction]
        np.testing.assert_array_equal(ranks, rankdata(losses, nan_policy="omit"))
    whole = [row for row in found if not np.isnan(row).any()]
    expected = np.mean(whole, axis=0) if whole else np.full(4, np.nan)
    np.testing.assert_allclose(mean_ranks(found), expected)


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, 2.0, np.nan])] * 2), min_size=1))
def test_front(points: list[tuple[float, float]]) -> None:
    def beats(a: tuple[float, float], b: tuple[float, float]) -> bool:
        return a[0] <= b[0] and a[1] <= b[1] and a != b

    expected = [
        not any(np.isnan(p)) and not any(beats(other, p) for other in points) for p in points
    ]
    assert front_of(np.array(points).T).tolist() == expected


def test_front_of_maps(compared: xr.Dataset) -> None:
    losses = compared["value"].sel(metric=["quantization_error", "topographic_error"])
    np.testing.assert_array_equal(compared["on_front"], front_of(losses.values))
    assert compared["on_front"].sel(candidate=["small", "same"]).values.tolist() in (
        [True, True],
        [False, False],
    )
    alone = ss.compare(SAMPLES, MAPS, "quantization_error", intervals=None)
    assert "on_front" not in alone
    labelled = {
        "a": ("quantization_error", {"kind": "rms"}),
        "b": ("topographic_error", {"neighborhood": "vertex"}),
    }
    found = ss.compare(SAMPLES, MAPS, labelled, intervals=None)
    np.testing.assert_array_equal(found["on_front"], front_of(found["value"].values))


# --- intervals


def test_weights_have_mean_and_variance_one() -> None:
    bits = np.bincount(weights(200_000, 100).astype(int).ravel())
    assert abs(bits @ np.arange(len(bits)) / bits.sum() - 1) < 2e-3
    w = weights(TILE_ROWS * 20, 50)
    assert abs(w.var() - 1) < 5e-3
    poisson = np.exp(-1) / np.array([1, 1, 2, 6, 24])
    np.testing.assert_allclose(bits[:5] / bits.sum(), poisson, atol=1e-3)
    # neither blocks nor resamples are alike
    few = w.reshape(50, 20, -1)
    assert abs(np.corrcoef(few[0, 0], few[0, 1])[0, 1]) < 0.1
    assert abs(np.corrcoef(few[0, 0], few[1, 0])[0, 1]) < 0.1
    assert (weights(100, seed=8) != weights(100)).any()


def test_the_table_of_weights_is_exact() -> None:
    table = _counts_of_bits().astype(int)
    assert len(table) == 1 << 16
    assert table.mean() == 1
    assert table.var() == 1


def test_first_resamples_do_not_depend_on_how_many_there_are() -> None:
    np.testing.assert_array_equal(resample_weights(3, 5, 40), resample_weights(3, 5, 90)[:41])


@pytest.mark.parametrize("name", RESAMPLED)
def test_intervals_are_those_of_explicit_resampling(compared: xr.Dataset, name: str) -> None:
    w = weights(N)
    own = compared.sel(metric=name)
    replicates = {}
    for candidate, som in MAPS.items():
        every = means(per_sample(name, som), w)
        replicates[candidate] = np.sqrt(every) if name == "rms_per_feature" else every
        one = own.sel(candidate=candidate)
        np.testing.assert_allclose(one["standard_error"], replicates[candidate].std(ddof=1))
        ends = np.quantile(replicates[candidate], [0.025, 0.975])
        np.testing.assert_allclose([one["interval_low"], one["interval_high"]], ends)
        assert one["interval_low"] < one["value"] < one["interval_high"]
        assert one["interval_note"].item() == ""
    sign = -1 if own["direction"].item() == "higher" else 1
    best = own["best"].item()
    for candidate, every in replicates.items():
        low, high = np.quantile(sign * (every - replicates[best]), [0.025, 0.975])
        same = bool(own["indistinguishable"].sel(candidate=candidate) == 1)
        assert same == (low <= 0 <= high or candidate in ("small", "same") == (best == "small"))


def test_the_best_and_its_twin_are_indistinguishable(compared: xr.Dataset) -> None:
    for name in RESAMPLED:
        own = compared["indistinguishable"].sel(metric=name)
        assert own.sel(candidate=compared["best"].sel(metric=name).item()) == 1
        assert own.sel(candidate="small") == own.sel(candidate="same")


def test_kinds_and_neighborhoods() -> None:
    variants: dict[str, Any] = {
        "squared": ("quantization_error", {"kind": "squared"}),
        "rms": ("quantization_error", {"kind": "rms"}),
        "vertex": ("topographic_error", {"neighborhood": "vertex"}),
        "eq6": ("combined_error", {"squared": True}),
    }
    found = ss.compare(SAMPLES, MAPS, variants, n_boot=N_BOOT, seed=SEED)
    assert (found["interval_note"] == "").all()
    w, d = weights(N), per_sample("quantization_error", MAPS["chain"])
    own = found.sel(candidate="chain")
    for label, every in (("squared", means(d**2, w)), ("rms", np.sqrt(means(d**2, w)))):
        ends = np.quantile(every, [0.025, 0.975])
        np.testing.assert_allclose(own["interval_low"].sel(metric=label), ends[0])
        np.testing.assert_allclose(own["interval_high"].sel(metric=label), ends[1])


@settings(max_examples=12)
@given(
    rows=st.lists(st.integers(1, 2500), min_size=1, max_size=6),
    columns=st.sampled_from([(3,), (1, 2), (1, 1, 1)]),
)
def test_any_chunking_gives_the_same_bits(rows: list[int], columns: tuple[int, ...]) -> None:
    cuts = np.unique(np.clip(np.cumsum(rows), 0, N - 1))
    sizes = tuple(int(s) for s in np.diff([0, *cuts, N]))
    chunked = da.from_array(SAMPLES, chunks=(sizes, columns))
    kinds = ["quantization_error", "combined_error", "simplified_silhouette"]
    expected = ss.compare(SAMPLES, MAPS, kinds, n_boot=40)
    xr.testing.assert_identical(ss.compare(chunked, MAPS, kinds, n_boot=40), expected)


def test_stores_and_small_pieces_give_the_same_bits(tmp_path: Path) -> None:
    wide = np.random.default_rng(1).standard_normal((4500, 700))
    maps = {
        "a": ss.codebook(wide[:9], ss.Grid(3, 3)),
        "b": ss.codebook(wide[9:21], ss.Grid(3, 4)),
    }
    path = tmp_path / "wide.zarr"
    array = zarr.create_array(path, shape=wide.shape, chunks=(333, 90), dtype=wide.dtype)
    array[:] = wide
    expected = ss.compare(wide, maps, RESAMPLED, n_boot=40)
    xr.testing.assert_identical(ss.compare(path, maps, RESAMPLED, n_boot=40), expected)
    with ss.set_options(memory_budget="1MB"), pytest.raises(MemoryBudgetError) as refusal:
        ss.compare(path, maps, RESAMPLED, n_boot=40)
    # the process grows from one moment to the next
    with ss.set_options(memory_budget=int(refusal.value.needed * 1.05)):
        small = ss.compare(path, maps, RESAMPLED, n_boot=40)
    xr.testing.assert_identical(small, expected)


def test_weighted_and_masked_samples() -> None:
    own = np.random.default_rng(3).random(N)
    out = np.random.default_rng(4).random(N) < 0.2
    found = ss.compare(
        SAMPLES, MAPS, RESAMPLED, n_boot=N_BOOT, seed=SEED, sample_weights=own, mask=(~out, None)
    )
    assert (found["interval_note"] == "").all()
    w = weights(N) * np.where(out, 0, own)
    for name in ("quantization_error", "topographic_error", "simplified_silhouette"):
        every = means(per_sample(name, MAPS["hexagonal"]), w)
        one = found.sel(metric=name, candidate="hexagonal")
        np.testing.assert_allclose(one["standard_error"], every.std(ddof=1))


def test_feature_weights_and_missing_values() -> None:
    gaps = SAMPLES.copy()
    gaps[::7] = np.nan
    given_weights = np.array([1.0, 0.5, 2.0])
    found = ss.compare(gaps, MAPS, RESAMPLED, missing="drop", feature_weights=given_weights)
    assert (found["interval_note"] == "").all()
    assert (found["interval_low"] < found["value"]).all()


def test_a_missing_feature_of_which_the_maps_know_nothing() -> None:
    gaps = SAMPLES.copy()
    gaps[:, 1] = np.nan
    maps = {name: MAPS[name] for name in ("small", "hexagonal")}
    found = ss.compare(gaps, maps, ["quantization_error", "combined_error"], missing="drop")
    assert (
        found["interval_note"].sel(metric="combined_error").values.tolist()
        == ["the value is not the mean that was resampled"] * 2
    )
    assert np.isnan(found["interval_low"].sel(metric="combined_error")).all()
    assert (found["interval_note"].sel(metric="quantization_error") == "").all()


def test_what_has_no_interval_says_why(compared: xr.Dataset) -> None:
    for name in set(compared["metric"].values) - {*RESAMPLED, "explained_variance"}:
        own = compared.sel(metric=name)
        for what in ("interval_low", "interval_high", "standard_error", "indistinguishable"):
            assert np.isnan(own[what]).all()
        assert (own["interval_note"] != "").all()


def test_a_map_of_one_unit() -> None:
    maps = {"one": ss.codebook(SAMPLES[:1], ss.Grid(1, 1)), "small": MAPS["small"]}
    found = ss.compare(SAMPLES, maps, RESAMPLED)
    own = found.sel(metric="topographic_error")
    assert own["rank"].values.tolist()[1] == 1
    assert np.isnan(own["rank"].values[0])
    assert own["interval_note"].values.tolist() == ["the value is undefined", ""]
    assert own["indistinguishable"].values.tolist()[1] == 1
    assert found["on_front"].values.tolist() == [False, True]
    assert found["mean_rank"].values.tolist() == [2, 1]


def test_few_samples() -> None:
    found = ss.compare(SAMPLES[:2], MAPS, RESAMPLED, n_boot=100)
    assert np.isfinite(found["standard_error"]).all()


def test_none_and_the_same_seed() -> None:
    plain = ss.compare(SAMPLES, MAPS, RESAMPLED, intervals=None)
    assert set(plain.data_vars) == {
        "value", "note", "n_units", "rank", "mean_rank", "best", "on_front"
    }  # fmt: skip
    one, two, three = (ss.compare(SAMPLES, MAPS, RESAMPLED, seed=s) for s in (1, 1, 2))
    xr.testing.assert_identical(one, two)
    assert (one["interval_low"] != three["interval_low"]).any()
    # who else is compared changes no interval
    few = ss.compare(SAMPLES, {n: MAPS[n] for n in ("chain", "same")}, RESAMPLED, seed=1)
    xr.testing.assert_equal(
        few["interval_high"], one["interval_high"].sel(candidate=["chain", "same"])
    )


def test_coverage() -> None:
    """Of 60 samples from one population about 57 intervals hold its mean."""
    codes = {"a": [[0.0], [5.0]], "b": [[1.0], [5.0]]}
    som = {name: ss.codebook(own, ss.Grid.chain(2)) for name, own in codes.items()}
    held = 0
    for seed in range(60):
        x = np.random.default_rng(seed).standard_normal((400, 1))
        found = ss.compare(x, som, "quantization_error", seed=seed)
        low, high = (found[f"interval_{end}"].values[0, 0] for end in ("low", "high"))
        held += bool(low < np.sqrt(2 / np.pi) < high)
    assert 52 <= held <= 60


# --- clusterings and embeddings


def test_indices_of_labels_are_computed_anew_for_every_resample() -> None:
    found = ss.compare(None, CLUSTERS, labels=LABELS, n_boot=N_BOOT, seed=SEED)
    w = weights(900).astype(int)
    functions = {
        "adjusted_rand_score": sk.adjusted_rand_score,
        "v_measure_score": sk.v_measure_score,
        "adjusted_mutual_info_score": sk.adjusted_mutual_info_score,
        "mutual_info_score": sk.mutual_info_score,
    }
    for name, function in functions.items():
        for candidate, clusters in CLUSTERS.items():
            every = [function(np.repeat(LABELS, own), np.repeat(clusters, own)) for own in w]
            one = found.sel(metric=name, candidate=candidate)
            if abs(np.mean(every) - one["value"]) > np.std(every) / 2 and "rand" not in name:
                assert "so few" in one["interval_note"].item()
                continue
            # about the value: a sample that is there twice agrees with itself
            ends = np.quantile(every, [0.025, 0.975]) + one["value"].item() - np.mean(every)
            np.testing.assert_allclose(
                [one["interval_low"], one["interval_high"]],
                np.clip(ends, one["lower"].item(), one["upper"].item()),
                rtol=1e-9,
                atol=1e-12,
            )
    own = found.sel(metric="adjusted_rand_score")["indistinguishable"]
    assert own.values.tolist() == [0, 1, 0]
    notes = found["interval_note"].sel(metric=["split_join_distance", "mirkin_metric"])
    assert all("not of one size" in note for note in notes.values.ravel())


def test_a_table_too_large_to_resample() -> None:
    labels = np.arange(700) // 2
    clusters = {"a": np.arange(700) // 3, "b": np.arange(700) % 2}
    found = ss.compare(None, clusters, "rand_score", labels=labels)
    assert "too large" in found["interval_note"].sel(candidate="a").item()
    assert found["interval_note"].sel(candidate="b").item() == ""


def test_missing_labels_take_no_part() -> None:
    labels = LABELS.astype(float)
    labels[::9] = np.nan
    found = ss.compare(
        None, CLUSTERS, "rand_score", labels=labels, missing_labels="drop", n_boot=N_BOOT, seed=SEED
    )
    known = ~np.isnan(labels)
    every = [
        sk.rand_score(np.repeat(labels[known], own), np.repeat(CLUSTERS["k5"][known], own))
        for own in weights(900).astype(int)[:, known]
    ]
    one = found.sel(candidate="k5", metric="rand_score")
    np.testing.assert_allclose(one["standard_error"], np.std(every, ddof=1))


def test_anchors() -> None:
    x = SAMPLES[:900]
    names = ["silhouette_score", "calinski_harabasz_score"]
    q = ss.evaluate(x, CLUSTERS, metrics=names, sample_anchors=200, seed=3)
    for intervals in ("anchors", "bootstrap"):
        found = ss.compare(x, CLUSTERS, names, sample_anchors=200, seed=3, intervals=intervals)
        for what in ("value", "standard_error", "interval_low", "interval_high"):
            np.testing.assert_array_equal(found[what].values, q[what].values.T)
        assert (found["interval_note"].values[0] == "").all()
        assert (found["interval_note"].values[1] != "").all()
        assert np.isnan(found["indistinguishable"]).all()


def test_embeddings_at_one_k() -> None:
    x = SAMPLES[:400]
    embeddings = {"first": x[:, :2], "last": x[:, 1:], "noise": RNG.standard_normal((400, 2))}
    names = ["trustworthiness", "metric_stress", "continuity"]
    found = ss.compare(x, embeddings, names, k=10)
    assert found["metric"].values.tolist() == names
    q = ss.evaluate(x, embeddings, metrics=names, k=10)
    trust, stress = q["trustworthiness"], q["value"].sel(metric="metric_stress")
    np.testing.assert_array_equal(found["value"].sel(metric="trustworthiness"), trust[:, 0])
    np.testing.assert_array_equal(found["value"].sel(metric="metric_stress"), stress)
    assert found["rank"].sel(candidate="noise").values.tolist() == [3, 3, 3]
    assert found["direction"].values.tolist() == ["higher", "lower", "higher"]
    sampled = ss.compare(x, embeddings, "trustworthiness", k=10, sample_anchors=100)
    assert (sampled["interval_low"] < sampled["interval_high"]).all()


def test_a_temperature_makes_distortion_a_number() -> None:
    found = ss.compare(SAMPLES, MAPS, ["distortion", "dead_units"], temperature=1.0)
    expected = ss.metrics.distortion(SAMPLES, MAPS["chain"], temperature=1.0)
    assert found["value"].sel(metric="distortion", candidate="chain") == expected
    assert found["metric_units"].sel(metric="distortion").item() == "(data units)^2"


# --- refusals


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"candidates": MAPS["small"]}, "give a dict like"),
        ({"candidates": {"one": MAPS["small"]}}, "at least two candidates"),
        (
            {"candidates": {"a": MAPS["small"], "b": SAMPLES[:, :2]}},
            "candidates must be of one kind",
        ),
        ({"metrics": "bmu"}, "no single number but lies on sample"),
        ({"metrics": ["trustworthiness"]}, "give one k"),
        ({"metrics": {"hits": "hits"}}, "use ss.evaluate"),
        ({"metrics": "adjusted_rand_score"}, "it needs labels="),
        ({"n_boot": 39}, "n_boot is a whole number from 40 on"),
        ({"n_boot": 50.0}, "n_boot is a whole number from 40 on"),
        ({"n_boot": True}, "n_boot is a whole number from 40 on"),
        ({"seed": -1}, "seed is a whole number from 0 on"),
        ({"intervals": "jackknife"}, "intervals is one of"),
        ({"intervals": ["bootstrap"]}, "intervals is one of"),
        ({"intervals": "anchors"}, "give sample_anchors= as well"),
        ({"temprature": 1}, "no index asked for has a parameter 'temprature'"),
        ({"samples": None}, "a map is judged on samples"),
    ],
)
def test_bad_arguments(change: dict[str, Any], text: str) -> None:
    given_arguments: dict[str, Any] = {"samples": SAMPLES, "candidates": MAPS, **change}
    with pytest.raises(InputError) as refusal:
        ss.compare(
            given_arguments.pop("samples"), given_arguments.pop("candidates"), **given_arguments
        )
    assert text in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_unknown_metrics_and_too_little_memory() -> None:
    with pytest.raises(UnknownMetricError, match="did you mean 'quantization_error'"):
        ss.compare(SAMPLES, MAPS, "quantisation_error")
    with ss.set_options(memory_budget="1GB"), pytest.raises(MemoryBudgetError):
        ss.compare(SAMPLES, MAPS, RESAMPLED, n_boot=1_000_000)


def test_many_clusterings_by_kmeans_against_themselves() -> None:
    x = SAMPLES[:900]
    found = {f"k{k}": KMeans(k, n_init=1, random_state=0).fit_predict(x) for k in (2, 3, 4)}
    own = ss.compare(None, found, "adjusted_rand_score", labels=found["k3"])
    assert own["best"].item() == "k3"
    assert own["indistinguishable"].values.tolist() == [[0, 1, 0]]
