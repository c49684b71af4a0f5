"""The docstring of a public index function, made from its formula's and its facts."""

from __future__ import annotations

import inspect
import re

from somscale.metrics.spec import MetricSpec

__all__ = ["public_docstring"]

_SAMPLES = """samples : array, DataArray, Dataset, Dask array, zarr.Array or path(s)
    The samples x_i, (sample, feature), or on any dims with `sample_dims`."""

_MAP = f"""{_SAMPLES}
som : Dataset or MiniSom
    The map, made by :func:`somscale.codebook` or trained."""

_PROJECTION = f"""{_SAMPLES}
projection : Dataset, MiniSom or array_like, (sample, component)
    A map, whose distances e are those of the samples' best-matching units on the grid,
    or an embedding of the samples, whose distances e are Euclidean."""

_DISTANCE = """distance : str or callable
    Distance d of the samples, by scipy's and scikit-learn's name.
p : float
    The power of ``distance="minkowski"``."""

_CLASSES = """labels : array_like, (sample,)
    Classes of the samples; integers, strings, booleans or categories.
missing_labels : {"error", "drop"}
    What to do with missing labels (nan, None, masked)."""

_RANK_VALUES = {
    "k": """k : int, sequence of int, range, slice or "all", optional
    Neighbours K; the first hundred if None (10 for values of samples and units).""",
    "kappa_s": """kappa_s : int, sequence of int, range, slice or "all", optional
    Largest rank that counts as near; as for K if None (20 for values of samples and units).""",
    "kappa_t": """kappa_t : int, sequence of int, range, slice or "all", optional
    Largest difference of ranks that is tolerated; from 0 on, as for K if None (10 for values
    of samples and units).""",
}

_TIES = """ties : {"index", "expected", "weighted", "best", "worst"}, optional
    Ranks of equal distances: by sample index; the mean over all orders; the survey's weights
    (trustworthiness, continuity); in the projection by the samples' ranks, rising or falling.
    "expected" for maps and "index" for embeddings if None.
space : {"map", "codebook"}, optional
    Where a map's units lie: on the grid, as if None, or where their code vectors are."""

_READING = """sample_dims, variable, missing, mask, feature_weights, sample_weights : optional
    How the samples are read, as in :func:`somscale.evaluate`."""

_SAMPLING = """sample_anchors : int, optional
    Estimate it: so many samples are drawn and compared with all others.  The value then has
    the coordinates ``standard_error``, ``interval_low`` and ``interval_high`` (95 %).
seed : int
    Which samples are drawn."""

_CLUSTERS = f"""{_SAMPLES}
clusters : array_like, (sample,)
    Cluster of every sample; integers, strings, booleans or categories."""

_PARTITION = """labels : array_like, (sample,)
    Classes; integers, strings, booleans or categories.
clusters : array_like, (sample,)
    Clusters, or the best-matching units of a map."""

_UNITS = """labels : array_like, (sample,)
    Classes; integers, strings, booleans or categories.
units : array_like, (sample,)
    Best-matching unit of every sample, 0 to K − 1, as :func:`somscale.project` finds it.
grid : Grid or Dataset
    The arrangement of the units, or the map that has it."""

_POLICIES = """noise : {"cluster", "ignore", "singletons"}
    What `noise_label` means in `clusters`: a cluster like others, samples that take
    no part, or a cluster each.
noise_label : optional
    The label of noise."""

_MISSING = """missing : {"error", "drop"}
    What to do with missing labels (nan, None, masked)."""

_DIRECTIONS = {
    "higher": "higher is better",
    "lower": "lower is better",
    "zero": "zero is best",
    "none": "neither high nor low is better",
}


def public_docstring(text: str, spec: MetricSpec) -> str:
    """Add the data, the value and the source to a formula's numpydoc docstring."""
    sections = _sections(inspect.cleandoc(text))
    summary = sections.pop("")
    data = {
        "map": _MAP,
        "projection": _PROJECTION,
        "clusters": _CLUSTERS,
        "partition": _PARTITION,
        "units": _UNITS,
    }
    own = sections.pop("Parameters", "")
    policies = {
        "map": f"{_DISTANCE}\n{_READING}" if "distance" in spec.defaults else _READING,
        "projection": f"{_DISTANCE}\n{_CLASSES}\n{_READING}"
        if "agreement" in spec.tables
        else f"{_DISTANCE}\n{_READING}",
        "clusters": f"{_POLICIES}\n{_MISSING.replace('missing :', 'missing_labels :')}\n{_READING}",
        "partition": f"{_POLICIES}\n{_MISSING}",
        "units": _MISSING,
    }
    sampling = _SAMPLING if spec.estimable else ""
    values = [text for name, text in _RANK_VALUES.items() if name in spec.dims]
    ties = _TIES if "ranks" in spec.needs else ""
    found = (data[spec.subject], *values, own, ties, policies[spec.subject], sampling)
    parameters = "\n".join(part for part in found if part)
    parts = [summary, _section("Parameters", parameters), _section("Returns", _returns(spec))]
    parts.append(_section("Raises", _RAISES))
    parts += [_section(name, body) for name, body in sections.items()]
    parts.append(_section("References", spec.source))
    return "\n\n".join(parts) + "\n"


_ON_SAMPLES = ("map", "projection", "clusters")

_RAISES = """InputError
    An argument has the wrong shape, type or value; samples must be finite.
MemoryBudgetError
    The pass does not fit the memory budget."""


def _returns(spec: MetricSpec) -> str:
    dims = f", ({', '.join(spec.dims)})" if spec.dims else ""
    units = {"data": "the samples' units", "data^2": "the samples' units squared"}
    unit = units.get(spec.units, "no units" if spec.units == "1" else spec.units)
    remarks = ["A scalar parameter drops its dim."] if spec.parameters_as_dims else []
    remarks += ["Lazy for Dask samples."] if spec.subject in _ON_SAMPLES else []
    told = [f"In {spec.range}, {unit}; {_DIRECTIONS[spec.direction]}.", *remarks]
    return f"DataArray{dims}\n    {'  '.join(told)}"


def _section(title: str, body: str) -> str:
    return f"{title}\n{'-' * len(title)}\n{body}"


def _sections(text: str) -> dict[str, str]:
    """Summary (under "") and sections of a numpydoc docstring."""
    pieces = re.split(r"\n\n(\w[\w ]*)\n-{3,}\n", "\n\n" + text)
    found = {"": pieces[0].strip()}
    for title, body in zip(pieces[1::2], pieces[2::2], strict=True):
        found[title] = body.rstrip()
    return found
