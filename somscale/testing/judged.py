"""Indices of one subject, and their values on cases: alone, and together in ``evaluate``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import xarray as xr

from somscale.errors import InputError
from somscale.evaluate import evaluate
from somscale.metrics.answering.single import (
    compute_clusters_index,
    compute_map_index,
    compute_partition_index,
    compute_projection_index,
    compute_units_index,
)
from somscale.metrics.spec import MetricSpec, Subject, find_spec
from somscale.testing.cases import Case, awkward_cases, plain_cases
from somscale.testing.comparing import Found, broken

__all__ = ["Index", "Judged", "plain_index", "value_in"]

_COMPUTE: Final[dict[Subject, Callable[..., xr.DataArray]]] = {
    "map": compute_map_index,
    "projection": compute_projection_index,
    "clusters": compute_clusters_index,
    "partition": compute_partition_index,
    "units": compute_units_index,
}


@dataclass(frozen=True)
class Index:
    """An index as it is asked for.

    Attributes
    ----------
    function : callable
        Its public function.
    given : mapping
        Parameters that are not left at their defaults.
    """

    declared: MetricSpec
    function: Callable[..., xr.DataArray]
    given: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its name."""
        return self.declared.name

    @property
    def spec(self) -> MetricSpec:
        """What is said of it with these parameters."""
        return self.declared.with_parameters(self.declared.parameters(self.given))

    def spec_of(self, value: xr.DataArray) -> MetricSpec:
        """What is said of a value, which tells those parameters that were chosen for its data."""
        parameters = self.declared.parameters(self.given)
        told = {
            name: value.attrs[name]
            for name, own in parameters.items()
            if own is None and name in value.attrs
        }
        return self.declared.with_parameters({**parameters, **told})

    @property
    def takes_labels(self) -> bool:
        """Whether its function takes labels by name."""
        return "agreement" in self.declared.tables

    def __call__(self, case: Case, **more: Any) -> xr.DataArray:
        """Its value on a case by its own function, not computed where the samples are lazy."""
        labels = {"labels": case.labels} if self.takes_labels else {}
        with _Saying(f"{self.name} fails on {case}"):
            return self.function(*case.data, **{**self.given, **labels, **more})


def plain_index(index: Any, parameters: Mapping[str, Any]) -> Index:
    """An index from its name or public function.

    Raises
    ------
    InputError
        It is neither, or has no such parameter.
    UnknownMetricError
        No index has the name.
    """
    if isinstance(index, str):
        spec = find_spec(index)
        found = Index(spec, _function_of(spec), dict(parameters))
    elif callable(index) and isinstance(getattr(index, "spec", None), MetricSpec):
        found = Index(index.spec, index, dict(parameters))
    else:
        raise InputError(
            f"{index!r} is no index; give its name, or what a decorator of somscale.extending "
            "made of a formula"
        )
    found.declared.parameters(parameters)  # refuses what it does not have
    return found


def _function_of(spec: MetricSpec) -> Callable[..., xr.DataArray]:
    def public(*data: Any, **given: Any) -> xr.DataArray:
        return _COMPUTE[spec.subject](spec, *data, given)

    return public


class Judged:
    """Indices of one subject, and the cases on which they must keep their laws."""

    def __init__(self, indices: Sequence[Index], seed: int) -> None:
        self.indices = list(indices)
        self.subject: Subject = indices[0].declared.subject
        self.seed = seed

    @property
    def name(self) -> str:
        """What is judged, in words."""
        first = self.indices[0].name
        return first if len(self.indices) == 1 else f"{len(self.indices)} of {self.subject}"

    @cached_property
    def awkward(self) -> list[Case]:
        """Cases on which an index may be undefined, or refuse to answer."""
        return awkward_cases(self.subject, self.seed)

    @cached_property
    def plain(self) -> list[tuple[Case, list[Index], dict[str, xr.DataArray]]]:
        """Ordinary cases, the indices that answer there, and what each answers alone."""
        found, refusals = [], dict.fromkeys((index.name for index in self.indices), "")
        for case in plain_cases(self.subject, self.seed):
            values: dict[str, xr.DataArray] = {}
            for index in self.indices:
                try:
                    values[index.name] = index(case)
                except InputError as refusal:
                    refusals[index.name] = str(refusal)
            own = [index for index in self.indices if index.name in values]
            found.append((case, own, values))
        for index in self.indices:
            if all(index not in own for _, own, _ in found):
                broken(index.name, "facts", f"it refuses: {refusals[index.name]}", found[0][0])
        return [entry for entry in found if entry[1]]

    def each(self) -> Iterator[tuple[Case, list[Index], dict[str, Found]]]:
        """Ordinary cases, with what the indices answer together."""
        for number, (case, own, _) in enumerate(self.plain):
            yield case, own, self._together[number]

    @cached_property
    def _together(self) -> list[dict[str, Found]]:
        return [self.together(case, own) for case, own, _ in self.plain]

    def together(self, case: Case, indices: Sequence[Index], origin: str = "") -> dict[str, Found]:
        """Values on a case of all indices at once, computed."""
        metrics = {index.name: (index.name, dict(index.given)) for index in indices}
        asked = self.asked(case, metrics).compute()
        return {
            index.name: Found(value_in(asked, index.name), origin or case.where)
            for index in indices
        }

    def asked(self, case: Case, metrics: Mapping[str, Any], projection: Any = None) -> xr.Dataset:
        """The Dataset of indices on a case, or on other candidates there."""
        labelled = self.subject in ("partition", "units")
        labelled |= any(index.takes_labels for index in self.indices)
        labels = case.labels if labelled else None
        judged = case.projection if projection is None else projection
        with _Saying(f"{', '.join(metrics)} fails on {case}"):
            return evaluate(case.samples, judged, labels=labels, metrics=dict(metrics))


def value_in(answer: xr.Dataset, label: str) -> xr.DataArray:
    """The value of one index in a Dataset of many, with its note if there is one."""
    if label in answer.data_vars:
        return answer[label]
    place = [str(name) for name in answer["metric"].values].index(label)
    notes = answer["note"].isel(metric=place)
    note = "; ".join(text for text in map(str, np.ravel(notes.values)) if text)
    return answer["value"].isel(metric=place).assign_attrs(note=note)


class _Saying:
    """Adds to any error that leaves it what was being done."""

    def __init__(self, note: str) -> None:
        self.note = note

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            error.add_note(self.note)
