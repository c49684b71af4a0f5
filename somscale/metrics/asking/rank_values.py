"""Parameters of indices of ranks: K, κs and κt by the number of samples, ties, and spaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from somscale._types import Int
from somscale.errors import InputError
from somscale.metrics.asking.limits import MAX_CELLS
from somscale.metrics.asking.question import Problem
from somscale.metrics.checks import check_choice
from somscale.metrics.spec import MetricSpec

__all__ = ["RankScope", "ends_of", "rank_parameters", "ties_obstacle", "whole_numbers"]

_TIES: Final = ("index", "expected", "weighted", "best", "worst")
_SPACES: Final = ("map", "codebook")
_WEIGHTED: Final = frozenset(
    {"trustworthiness", "continuity", "neighborhood_preservation"}
    | {"sample_trustworthiness", "sample_continuity"}
    | {"unit_trustworthiness", "unit_continuity"}
)
_SPARED: Final = {"r_nx": 2}
"""Indices whose K ends at so many below N; all others end at N − 1."""

_MOST_SHOWN: Final = 100
"""K, κs and κt of which values are given where none are asked for."""

_OF_SAMPLES: Final = {"k": 10, "kappa_s": 20, "kappa_t": 10}
"""The one that values of samples and units are given at."""

_REVERSED: Final = (
    "from kappa_t = N - 2 = {} on Q' is 2 - Q_NX, and worse projections score higher; "
    "norm='region' stays in [0, 1]"
)


@dataclass(frozen=True)
class RankScope:
    """What parameters of ranks depend on.

    Attributes
    ----------
    n_samples : int
        Samples N that take part, as far as is known before they are read.
    is_map : bool
        Whether the candidates are maps.
    """

    n_samples: int
    is_map: bool

    @classmethod
    def of(cls, problem: Problem) -> RankScope:
        """That of a problem; samples that a mask leaves out take no part."""
        n_samples, samples = problem.n_samples, problem.samples
        if samples is not None and samples.excluded is not None:
            n_samples -= int(np.count_nonzero(samples.excluded.values))
        return cls(n_samples, problem.kind == "map")


def ends_of(spec: MetricSpec, name: str) -> tuple[int, int]:
    """The least value of a parameter, and how far below N the largest is."""
    if name == "kappa_t":
        return 0, 1
    return 1, _SPARED.get(spec.name, 1) if name == "k" else 1


def rank_parameters(
    spec: MetricSpec, parameters: Mapping[str, Any], scope: RankScope
) -> tuple[MetricSpec, dict[str, Any], list[str]]:
    """Complete and check the parameters of an index of ranks.

    Values of samples and units at one K (or κs and κt) have no dim of it.

    Parameters
    ----------
    spec : MetricSpec
        The index.
    parameters : mapping
        Its parameters and their defaults.
    scope : RankScope
        What they depend on.

    Returns
    -------
    spec : MetricSpec
        The index with the dims of its value.
    parameters : dict
        K, κs and κt as arrays of int64, ties and space by name.
    notes : list of str
        What was cut.

    Raises
    ------
    InputError
        A value that is no whole number, twice there, or out of its range for N.
    """
    found = dict(parameters)
    notes: list[str] = []
    dims = spec.dims
    for name in spec.parameters_as_dims:
        value = found[name]
        if value is None and "samples" in spec.tables:
            least, below = ends_of(spec, name)
            value = max(least, min(_OF_SAMPLES[name], scope.n_samples - below))
            found[name], cut = np.array([value]), None
        else:
            found[name], cut = whole_numbers(spec, name, value, scope.n_samples)
        notes += [cut] if cut else []
        if "samples" in spec.tables and np.ndim(value) == 0 and not isinstance(value, str | slice):
            dims = tuple(dim for dim in dims if dim != name)
    if "matrix" in spec.tables:
        found["k_max"], cut = _corner(spec, found.get("k_max"), scope.n_samples)
        notes += [cut] if cut else []
    _check_size(spec, found, scope.n_samples)
    if "ties" in found:
        found["ties"] = _ties(spec, found["ties"], scope)
    if "space" in found:
        found["space"] = _space(found["space"], scope)
    last = scope.n_samples - 2
    surface = "surface" in spec.tables and found.get("norm") == "lueks"
    if surface and 0 < last <= int(np.max(found["kappa_t"])):
        notes.append(_REVERSED.format(last))
    return replace(spec, dims=dims), found, notes


def whole_numbers(
    spec: MetricSpec, name: str, value: Any, n_samples: int
) -> tuple[Int, str | None]:
    """The values of a parameter, and a note where a range went beyond its end.

    None stands for the first hundred, "all" for all there are.
    """
    least, below = ends_of(spec, name)
    most = n_samples - below
    if isinstance(value, str):
        if value != "all":
            raise InputError(f"{spec.name}: {name} is a number, a list, or 'all', not {value!r}")
        return np.arange(least, max(least, most) + 1), None
    if value is None:
        return np.arange(least, max(least, min(_MOST_SHOWN, n_samples - 2, most)) + 1), None
    cut = None
    if isinstance(value, range | slice):
        asked = _asked(spec, name, value, least, most)
        if not asked:
            raise InputError(f"{name} of {spec.name} is empty: {value!r}")
        values = np.array([v for v in asked if v <= most], np.int64)
        if len(values) < len(asked):
            cut = f"{name} ends at N - {below} = {most}"
        value = values if len(values) else np.array(asked)
    given = np.asarray(value)
    if given.ndim > 1 or not given.size:
        raise InputError(f"{name} of {spec.name} is a number or a list, not {value!r}")
    if given.dtype.kind not in "iu":
        raise InputError(f"{name} of {spec.name} counts ranks, in whole numbers, not {value!r}")
    values = np.atleast_1d(given).astype(np.int64)
    if len(np.unique(values)) < len(values):
        raise InputError(f"{name} of {spec.name} holds a value twice: {value!r}")
    wrong = values[(values < least) | (values > most)]
    if len(wrong):
        raise InputError(
            f"{spec.name}: {name} is from {least} to N - {below} = {most} here, not {wrong[0]}"
        )
    return values, cut


def _asked(spec: MetricSpec, name: str, value: range | slice, least: int, most: int) -> range:
    if isinstance(value, range):
        return value
    ends = (
        least if value.start is None else value.start,
        most + 1 if value.stop is None else value.stop,
        1 if value.step is None else value.step,
    )
    try:
        return range(*ends)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} of {spec.name} is cut in whole numbers, not by {value!r}"
        ) from None


def _corner(spec: MetricSpec, k_max: Any, n_samples: int) -> tuple[int, str | None]:
    """Ranks of the co-ranking matrix, and a note where there are fewer than were asked for."""
    most = n_samples - 1
    if most < 1:
        raise InputError(f"{spec.name}: one sample has no neighbours to be ranked")
    if k_max is None:
        if most**2 > MAX_CELLS:
            raise InputError(
                f"{spec.name}: its matrix of {most} by {most} ranks would hold "
                f"{most**2 * 8 / 2**30:.1f} GiB (limit: 0.5); ask for its corner with k_max="
            )
        return most, None
    whole = isinstance(k_max, int | np.integer) and not isinstance(k_max, bool)
    if not whole or k_max < 1:
        raise InputError(f"{spec.name}: k_max is from 1 to N - 1 = {most} here, not {k_max!r}")
    side = min(int(k_max), most)
    if side**2 > MAX_CELLS:
        raise InputError(
            f"{spec.name}: a corner of {side} by {side} ranks would hold "
            f"{side**2 * 8 / 2**30:.1f} GiB (limit: 0.5); make k_max smaller"
        )
    return side, f"k_max ends at N - 1 = {most}" if k_max > most else None


def _check_size(spec: MetricSpec, parameters: Mapping[str, Any], n_samples: int) -> None:
    """Refuse values at too many κs and κt, and of too many samples."""
    names = spec.parameters_as_dims
    if "surface" in spec.tables:
        # counts are kept up to the largest ones
        sides = [int(parameters[name].max(initial=0)) + 1 for name in names]
    elif "samples" in spec.tables:
        sides = [n_samples, *(len(parameters[name]) for name in names)]
    else:
        return
    cells = int(np.prod([float(side) for side in sides]))
    if cells > MAX_CELLS:
        raise InputError(
            f"{spec.name}: values at {' and '.join(names)} up to so many would hold "
            f"{cells * 8 / 2**30:.1f} GiB (limit: 0.5); give fewer"
        )


def _ties(spec: MetricSpec, ties: Any, scope: RankScope) -> str:
    if ties is None:
        return "expected" if scope.is_map else "index"
    check_choice({"ties": ties}, "ties", _TIES)
    obstacle = ties_obstacle(spec, ties)
    if obstacle is not None:
        raise InputError(f"{spec.name}: {obstacle}")
    return str(ties)


def ties_obstacle(spec: MetricSpec, ties: Any) -> str | None:
    """Why an index has no value for a rule of ties; None where it has one."""
    if spec.cost != "ranks" or not isinstance(ties, str) or ties != "weighted":
        return None
    if spec.name in _WEIGHTED:
        return None
    return (
        f"ties='weighted' is for {', '.join(sorted(_WEIGHTED))}; ties='expected' is the mean over "
        "all orders of what ties"
    )


def _space(space: Any, scope: RankScope) -> str | None:
    """The space of a map's units; an embedding has one of its own."""
    if space is None or scope.is_map:
        check_choice({"space": space or "map"}, "space", _SPACES)
        return (space or "map") if scope.is_map else None
    check_choice({"space": space}, "space", _SPACES)
    if space == "codebook":
        raise InputError("space='codebook' is for maps; an embedding has no code vectors")
    return None
