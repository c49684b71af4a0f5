"""What a page is given besides the result, checked against it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from somscale.codebook import as_map, is_map
from somscale.engine.readers.paths import is_path
from somscale.errors import InputError
from somscale.reporting.result import Result

__all__ = ["given_labels", "given_projections", "given_qualities"]

_WANTED = {
    "map": "a map of somscale or the path of one",
    "embedding": "an embedding, (sample, component)",
    "clusters": "clusters, (sample,)",
}


def given_projections(result: Result, projection: Any) -> dict[str, Any]:
    """What was judged, by the names that the page shows.

    Raises
    ------
    InputError
        It is of another kind, of other candidates, or of another number of samples.
    """
    if projection is None:
        return {}
    found = _by_name(result, projection, "projection")
    return {head: _checked(result, head, own) for head, own in found.items()}


def _by_name(result: Result, given: Any, what: str) -> dict[str, Any]:
    """What is given, by the candidates' names."""
    names = result.names
    if not isinstance(given, Mapping) or is_map(given):
        if len(names) > 1:
            raise InputError(
                f"the result is of {len(names)} candidates, and {what} is of one: name it, "
                f"{what}={{{names[0][:40]!r}: …}}"
            )
        return {result.heads[0]: given}
    if not names:
        if len(given) != 1:
            raise InputError(
                f"{what} has {len(given)} names, and the result is of one candidate without a "
                "name; give the one that was judged"
            )
        return {result.heads[0]: next(iter(given.values()))}
    shown = dict(zip(names, result.heads, strict=True))
    strangers = [str(name) for name in given if str(name) not in shown]
    if strangers:
        raise InputError(
            f"{what} names {strangers[0][:80]!r}, and the result's candidates are "
            f"{', '.join(result.heads)}"
        )
    return {shown[str(name)]: own for name, own in given.items()}


def _checked(result: Result, head: str, own: Any) -> Any:
    whose = f" of {head}" if result.candidates else ""
    wrong = f"projection{whose} is {_told(own)}, and the result is of "
    wanted = _WANTED[result.kind]
    if result.kind == "map":
        if not (is_map(own) or is_path(own)):
            raise InputError(f"{wrong}a map: give {wanted}")
        return as_map(own)
    if is_map(own) or is_path(own) or isinstance(own, xr.Dataset | Mapping):
        raise InputError(f"{wrong}{result.kind}: give {wanted}")
    array = own if hasattr(own, "shape") and hasattr(own, "dtype") else _array(own, wrong, wanted)
    if array.ndim == 0 or (result.kind == "embedding" and array.dtype.kind not in "fiub"):
        raise InputError(f"{wrong}{result.kind}: give {wanted}")
    if result.n_samples is not None and not isinstance(array, xr.DataArray):
        _check_count(len(array), result.n_samples, f"projection{whose}")
    return array


def _array(values: Any, wrong: str, wanted: str) -> Any:
    try:
        return np.asarray(values)
    except (ValueError, TypeError):
        raise InputError(f"{wrong}something else: give {wanted}") from None


def _told(own: Any) -> str:
    if is_map(own):
        return "a map"
    return "a path" if is_path(own) else f"a {type(own).__name__}"


def _check_count(count: int, wanted: int, what: str) -> None:
    if count != wanted:
        raise InputError(
            f"{what} has {count:,} rows, and the result is of {wanted:,} samples; give what was "
            "judged"
        )


def given_labels(result: Result, labels: Any) -> Any:
    """Classes of the samples, as many as there are samples.

    Raises
    ------
    InputError
        There are more or fewer, or they are no list of them.
    """
    if labels is None or isinstance(labels, xr.DataArray):
        return labels
    if isinstance(labels, str | Mapping | xr.Dataset) or not hasattr(labels, "__len__"):
        raise InputError(
            f"labels are the class of each sample, (sample,), not a {type(labels).__name__}"
        )
    found = labels if hasattr(labels, "shape") else np.asarray(labels)
    if len(found.shape) != 1:
        raise InputError(f"labels are the class of each sample, (sample,), not {found.shape}")
    if result.n_samples is not None:
        _check_count(len(found), result.n_samples, "labels")
    return found


def given_qualities(result: Result, pointwise: Any) -> xr.DataArray | None:
    """Point-wise rank quality of all candidates, from one array or one for each.

    Raises
    ------
    InputError
        It is no such quality, or is of other candidates or samples.
    """
    if pointwise is None:
        return None
    if not isinstance(pointwise, Mapping) or isinstance(pointwise, xr.Dataset):
        array = _quality(result, pointwise)
        if "candidate" in array.dims:
            return _of_candidates(result, array)
    found = {head: _quality(result, own) for head, own in _by_name(result, pointwise, _P).items()}
    if not result.candidates:
        return found[result.heads[0]]
    rows = [own.expand_dims(candidate=[head]) for head, own in found.items()]
    joined = xr.concat([r.reset_coords(drop=True) for r in rows], "candidate", join="outer")
    return joined.reindex(candidate=result.candidates)


_P = "pointwise"


def _of_candidates(result: Result, array: xr.DataArray) -> xr.DataArray:
    held = [str(name) for name in np.atleast_1d(array["candidate"].values)]
    if sorted(held) != sorted(result.names):
        raise InputError(
            f"pointwise is of the candidates {', '.join(n[:60] for n in held)}, and the result is "
            f"of {', '.join(result.heads) if result.candidates else 'one without a name'}"
        )
    order = [held.index(name) for name in result.names]
    return array.isel(candidate=order).assign_coords(candidate=result.candidates)


def _quality(result: Result, array: Any) -> xr.DataArray:
    wanted = (
        "pointwise_rank_quality as ss.evaluate gives it, a DataArray with the samples' dims and "
        "kappa_s and kappa_t"
    )
    if not isinstance(array, xr.DataArray):
        raise InputError(f"pointwise is {wanted}; this is a {type(array).__name__}")
    rest = [d for d in array.dims if d not in ("candidate", "kappa_s", "kappa_t")]
    known = all(n in array.coords or n in array.attrs for n in ("kappa_s", "kappa_t"))
    count = int(np.prod([array.sizes[d] for d in rest])) if rest else 0
    if not known or not rest or array.dtype.kind != "f":
        raise InputError(
            f"pointwise is {wanted}; this one has the dims {', '.join(map(str, array.dims))}"
        )
    if result.n_samples is not None:
        _check_count(count, result.n_samples, "pointwise")
    return array
