"""Laws on how an index is computed: nothing of it may show in a bit of the value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import dask
import numpy as np

from somscale.options import set_options
from somscale.testing.cases import CHUNKINGS, Case
from somscale.testing.comparing import Found, broken, require_close, require_same
from somscale.testing.judged import Index, Judged, value_in

__all__ = [
    "check_alone",
    "check_candidates",
    "check_chunks",
    "check_laziness",
    "check_repeat",
    "check_schedulers",
]

_WALKED: Final = 1e-12
"""Share by which sums over pairs may differ where several candidates share their walk."""


def check_repeat(judged: Judged) -> None:
    """Asked for twice at once the value is the same: no formula changes a statistic."""
    for case, own, values in judged.each():
        metrics = {
            f"{index.name} {time}": (index.name, dict(index.given))
            for time in ("first", "second")
            for index in own
        }
        answer = judged.asked(case, metrics).compute()
        for index in own:
            once = replace(values[index.name], origin="asking once")
            for time in ("first", "second"):
                again = value_in(answer, f"{index.name} {time}")
                origin = f"asking twice at once, the {time} time"
                require_same(index.name, "repeat", case, once, Found(again, origin))


def check_chunks(judged: Judged) -> None:
    """Samples in memory and in any chunks of a Dask array give the same bits."""
    for case, own, values in judged.each():
        for kind in CHUNKINGS:
            found = judged.together(case.chunked(kind), own)
            _require_all("chunks", case, own, values, found)


def check_schedulers(judged: Judged) -> None:
    """A plain loop, two threads and Dask's own scheduler give the same bits."""
    for case, own, values in judged.each():
        for scheduler, workers in (("serial", 1), ("threads", 2)):
            with set_options(scheduler=scheduler, workers=workers):
                origin = f"the scheduler {scheduler!r} with workers={workers}"
                found = judged.together(case, own, origin)
            _require_all("schedulers", case, own, values, found)
        if case.samples is None:
            continue
        with dask.config.set(scheduler="synchronous"):
            origin = "Dask's scheduler 'synchronous'"
            found = judged.together(case.chunked("ragged"), own, origin)
        _require_all("schedulers", case, own, values, found)


def check_alone(judged: Judged) -> None:
    """The index's own function gives what ``evaluate`` gives beside other indices."""
    for number, (case, own, together) in enumerate(judged.each()):
        alone = judged.plain[number][2]
        for index in own:
            dims = alone[index.name].dims
            beside = together[index.name].value
            beside = beside.squeeze([dim for dim in beside.dims if dim not in dims])
            # in evaluate all indices share the values of a parameter that none was given for
            shared = [dim for dim in dims if dim in index.spec.parameters_as_dims]
            beside = beside.sel({dim: alone[index.name][dim].values for dim in shared})
            first = Found(alone[index.name], "its own function")
            require_same(index.name, "alone", case, first, Found(beside, "evaluate"))


def check_laziness(judged: Judged) -> None:
    """Of a Dask array the value is one as well, and nothing is computed before it is asked for."""
    for case, own, values in judged.plain:
        chunked = case.chunked("ragged")
        lazy = [_asked_lazily(index, chunked) for index in own]
        for index, value in zip(own, lazy, strict=True):
            if value.chunks is None:
                what = "of samples in a Dask array it is computed at once, not when it is asked for"
                broken(index.name, "laziness", what, case)
        for index, value in zip(own, dask.compute(*lazy), strict=True):
            first = Found(values[index.name], "samples in memory")
            second = Found(value, "compute() of what it gives for a Dask array")
            require_same(index.name, "laziness", case, first, second)


def _asked_lazily(index: Index, case: Case) -> Any:
    def refuse(*_: Any, **__: Any) -> None:
        what = "it computes a Dask array of samples before its value is asked for"
        broken(index.name, "laziness", what, case)

    scheduler: Callable[..., None] = refuse
    with dask.config.set(scheduler=scheduler):
        return index(case)


def check_candidates(judged: Judged) -> None:
    """Each of several candidates has the value that it has alone.

    Pairs of samples are added up in one walk for all, in an order that suits the first.
    """
    for case, own, values in judged.each():
        order = np.random.default_rng(judged.seed).permutation(len(case.labels))
        other = _other_candidate(case, order)
        apart = judged.together(other, own, "the second candidate alone")
        metrics = {index.name: (index.name, dict(index.given)) for index in own}
        both = judged.asked(case, metrics, {"a": case.projection, "b": other.projection}).compute()
        for index in own:
            stacked = value_in(both, index.name)
            for name, known in (("a", values[index.name]), ("b", apart[index.name])):
                first = replace(known, origin="the candidate alone")
                found = stacked.sel(candidate=name) if "candidate" in stacked.dims else stacked
                second = Found(found, f"candidate {name!r} of two")
                if index.spec.cost == "pairs":
                    require_close(index.name, "candidates", case, first, second, _WALKED)
                else:
                    require_same(index.name, "candidates", case, first, second)


def _other_candidate(case: Case, order: Any) -> Case:
    """Another candidate on the same samples."""
    if case.is_map:
        codes = case.projection["codes"]
        other = case.projection.assign(codes=codes.copy(data=codes.values[::-1].copy()))
        return replace(case, projection=other)
    return replace(case, projection=case.projection[order])


def _require_all(
    law: str, case: Case, own: list[Index], first: dict[str, Found], second: dict[str, Found]
) -> None:
    for index in own:
        require_same(index.name, law, case, first[index.name], second[index.name])
