"""What was judged, and what its numbers say in plain sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from somscale.reporting.blocks import Facts, Section, Text, number
from somscale.reporting.indices import DIRECTIONS, PLACES, best_of, nearest
from somscale.reporting.result import Result

__all__ = ["summary"]

_KINDS: Final = {
    "map": ("map", "maps"),
    "embedding": ("embedding", "embeddings"),
    "clusters": ("clustering", "clusterings"),
}
_HEADLINES: Final = (
    *("quantization_error", "explained_variance", "topographic_error"),
    *("trustworthiness", "continuity", "q_nx", "r_nx", "silhouette_score"),
    *("adjusted_rand_score", "adjusted_mutual_info_score", "neighborhood_hit", "purity"),
    *("calinski_harabasz_score", "davies_bouldin_score"),
)
_MOST: Final = 6
_SAME: Final = 0.005
"""Trustworthiness and continuity that are nearer to each other are not told apart."""


@dataclass(frozen=True)
class _Found:
    """A headline index: values by candidate, and where along K it is."""

    label: str
    words: str
    direction: str
    values: np.ndarray[Any, Any]
    k: int = 0


def summary(result: Result) -> Section:
    """What was judged, and the sentences."""
    found = {name: one for name in _HEADLINES for one in _headline(result, name)}
    lines = list(
        _comparison(result, found) if len(result.candidates) > 1 else _single(result, found)
    )
    blocks: list[Any] = [Facts(list(_facts(result)))]
    if lines:
        blocks.insert(0, Text(lines, listed=True))
    return Section("summary", "Summary", blocks)


def _facts(result: Result) -> Iterator[tuple[str, str]]:
    one, several = _KINDS[result.kind]
    names = result.candidates
    judged = f"{len(names)} {several if len(names) > 1 else one}: {', '.join(names)}"
    yield "Judged", judged if names else f"one {one}"
    if result.n_samples is not None:
        yield "Samples", f"{result.n_samples:,}"
    for name, words in _DROPPED.items():
        count = _count(result, name)
        if count:
            yield words, f"{count:,}"
    excluded = int(result.q.attrs.get("labels_excluded", 0))
    if excluded:
        yield "Samples without a label", f"{excluded:,}"
    ignored = {n: int(c) for n, c in result.attribute("clusters_excluded").items() if c}
    if ignored:
        told = (f"{count:,}" + (f" by {n}" if names else "") for n, count in ignored.items())
        yield "Samples of no cluster", ", ".join(told)
    anchors = result.q.attrs.get("sample_anchors")
    if anchors is not None:
        yield "Estimated from", f"{int(anchors):,} drawn samples, each compared with all others"
    if "n_units" in result.q:
        yield "Units", ", ".join(f"{int(n):,}" for n in result.q["n_units"].values)
    elif "unit" in result.q.dims:
        yield "Units", f"{result.q.sizes['unit']:,}"
    for dim, words in (("cluster", "Clusters"), ("class", "Classes")):
        if dim in result.q.dims:
            yield words, f"{result.q.sizes[dim]:,}"
    yield "Indices", f"{len(result.metrics) + len(_different(result)):,}"


def _different(result: Result) -> set[str]:
    """Indices that are arrays, each once, however often it was asked for."""
    specs = {name: result.spec_of(name) for name in result.arrays}
    return {name if spec is None else spec.name for name, spec in specs.items()}


_DROPPED: Final = {
    "samples_dropped": "Samples left out",
    "features_dropped": "Features left out",
}


def _count(result: Result, name: str) -> int:
    if name not in result.metrics:
        return 0
    values = result.q["value"].isel(metric=result.metrics.index(name)).values
    return int(np.nanmax(np.nan_to_num(values)))


def _headline(result: Result, name: str) -> Iterator[_Found]:
    """The values of an index, if the result has it under its own name."""
    if name in result.metrics:
        one = result.q["value"].isel(metric=result.metrics.index(name)).compute()
        words, direction = (str(one[n].item()) for n in ("long_name", "direction"))
        yield _Found(name, words, direction, np.atleast_1d(one.values.astype(float)))
    elif name in result.arrays and set(result.own_dims(name)) <= {"k"}:
        array = result.q[name]
        if "k" in array.dims:
            array = array.isel(k=nearest(array["k"].values, PLACES["k"]))
        k = int(array["k"]) if "k" in array.coords else int(array.attrs.get("k", 0))
        words, direction = (str(array.attrs.get(n, "")) for n in ("long_name", "direction"))
        yield _Found(name, words, direction, np.atleast_1d(array.values.astype(float)), k)


def _single(result: Result, found: dict[str, _Found]) -> Iterator[str]:
    """Sentences on one candidate: what its numbers mean, without a verdict."""
    for name, say in _SAYINGS.items():
        if name in found and np.isfinite(found[name].values[0]):
            yield say(float(found[name].values[0]), found[name].k, result)
    yield from _moved(found)


def _moved(found: dict[str, _Found]) -> Iterator[str]:
    """Whether false neighbours come from further away than true ones go: both are as many."""
    trust, continuity = found.get("trustworthiness"), found.get("continuity")
    if trust is None or continuity is None or trust.k != continuity.k:
        return
    came, went = float(trust.values[0]), float(continuity.values[0])
    if not abs(came - went) >= _SAME:  # nan is no difference
        return
    words = (
        "False neighbours come from further away than true ones are moved"
        if came < went
        else "True neighbours are moved further away than false ones come from"
    )
    yield (
        f"{words}: trustworthiness {number(came)} {'<' if came < went else '>'} continuity "
        f"{number(went)} at K = {trust.k}."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g}\xa0%"


def _kept(value: float, k: int, result: Result) -> str:
    chance = ""
    if result.n_samples is not None and result.n_samples > 1:
        chance = f"; a random projection keeps {_percent(min(1.0, k / (result.n_samples - 1)))}"
    return (
        f"Of each sample's {k} nearest neighbours {_percent(value)} are still among its {k} "
        f"nearest in the projection{chance}."
    )


def _silhouette(value: float, k: int, result: Result) -> str:
    way = "nearer to its own cluster than" if value > 0 else "no nearer to its own cluster than"
    return f"A sample is on average {way} to the nearest other one (silhouette {number(value)})."


_SAYINGS: Final[dict[str, Callable[[float, int, Result], str]]] = {
    "explained_variance": lambda value, k, result: (
        f"The code vectors keep {_percent(value)} of the samples' variance."
    ),
    "topographic_error": lambda value, k, result: (
        f"The two code vectors nearest to a sample lie apart on the map for {_percent(value)} of "
        "the samples."
    ),
    "q_nx": _kept,
    "silhouette_score": _silhouette,
    "adjusted_rand_score": lambda value, k, result: (
        f"Agreement with the labels, corrected for chance, is {number(value)} (adjusted Rand; 1 is "
        "the same partition, 0 what chance gives)."
    ),
    "neighborhood_hit": lambda value, k, result: (
        f"Of a sample's {k} nearest neighbours in the projection {_percent(value)} bear its label."
    ),
    "purity": lambda value, k, result: (
        f"{_percent(value)} of the samples are of the most frequent class of their "
        f"{'unit' if result.kind == 'map' else 'cluster'}."
    ),
}


def _comparison(result: Result, found: dict[str, _Found]) -> Iterator[str]:
    """Sentences on several candidates: who is the best by which index, and how surely."""
    names = result.candidates
    wins = np.zeros(len(names), int)
    judged = 0
    for values, direction in _directed(result):
        best = best_of(values, direction)
        judged += bool(best.any())
        wins += best
    if judged:
        order = np.argsort(-wins, kind="stable")
        told = [f"{names[c]} by {wins[c]}" for c in order[:3] if wins[c]]
        yield (
            f"Of {judged} single-number indices with a direction, best (ties count for each): "
            f"{', '.join(told)}."
        )
    for one in list(found.values())[:_MOST]:
        best = best_of(one.values, one.direction)
        if best.any():
            yield _best_line(result, one, best)


def _directed(result: Result) -> Iterator[tuple[np.ndarray[Any, Any], str]]:
    if not result.metrics:
        return
    values = result.q["value"].transpose("metric", "candidate").values.astype(float)
    for own, direction in zip(values, result.q["direction"].values.tolist(), strict=True):
        yield own, str(direction)


def _best_line(result: Result, one: _Found, best: np.ndarray[Any, Any]) -> str:
    names = np.array(result.candidates, dtype=object)
    at = f" at K = {one.k}" if one.k else ""
    first = " and ".join(f"{n}" for n in names[best])
    value = number(float(one.values[best][0]))
    words = f"{one.words[:1].upper()}{one.words[1:]}{at}"
    line = f"{words} ({DIRECTIONS[one.direction]}): {first}, {value}"
    if one.label in result.metrics and "indistinguishable" in result.q:
        place = result.metrics.index(one.label)
        same = result.q["indistinguishable"].isel(metric=place).values
        # of candidates that are all best there is none to tell them from
        if not np.isnan(same).all() and not best.all():
            others = [str(n) for n in names[(same == 1) & ~best]]
            told = "told apart from the rest"
            if others:
                told = f"not told apart from {', '.join(others)}"
            return f"{line}; {told} by resamples (95 % intervals of differences)."
        return f"{line}."
    rest = np.flatnonzero(~best & np.isfinite(one.values))
    if rest.size:
        key = {"higher": -one.values, "lower": one.values}.get(one.direction, np.abs(one.values))
        second = rest[key[rest].argmin()]
        line += f"; then {names[second]}, {number(float(one.values[second]))}"
    return f"{line}."
