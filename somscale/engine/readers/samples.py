"""The door for samples: whatever the user holds becomes something a pass can read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias, TypeGuard, cast, get_args

import numpy as np
import xarray as xr

from somscale._types import AnyArray, Float, Int
from somscale.engine.readers import conditions
from somscale.engine.readers.axes import Axes
from somscale.engine.readers.blocked import Blocks
from somscale.engine.readers.columns import RowValues, SampleValues
from somscale.engine.readers.frames import frame_array, is_frame
from somscale.engine.readers.opening import Opened, SampleDims, open_bare, open_labelled
from somscale.engine.readers.paths import is_path, open_paths
from somscale.engine.readers.sources import Source
from somscale.engine.readers.variables import Variables, open_variables
from somscale.engine.readers.views import SelectedFeatures
from somscale.errors import InputError
from somscale.reductions.names import EntryNames

__all__ = ["MissingValues", "Samples", "open_samples", "refuse_partial", "with_conditions"]

MissingValues: TypeAlias = Literal[
    "raise", "drop", "drop_any_sample", "drop_any_feature", "partial"
]
_EXPVER = (
    "; the dim 'expver' holds variants of the same data: make one of them first, for example "
    "x.isel(expver=0).combine_first(x.isel(expver=1))"
)


@dataclass(frozen=True)
class Samples:
    """Samples as the engine sees them, with the user's own names for the results.

    Attributes
    ----------
    rows, features : Axes
        The user's own dims.
    source, blocks : Source or Blocks
        Where the values are; one of the two.
    units : str or None
        Units of the values.
    left_out : tuple of str
        Variables beside them that are no features.
    kept : (D',) integer or None
        Features that take part, where a mask leaves some out.
    missing : str
        What nan means.
    feature_weights : (D',) float64 or None
        Weights of squared differences.
    sample_weights : RowValues or None
        Weights of the samples.
    excluded : RowValues or None
        True where a mask leaves a sample out.
    long_name : str or None
        What the values are.
    scalars : mapping of str to Variable
        Coordinates without a dim.
    """

    rows: Axes
    features: Axes
    source: Source | None = None
    blocks: Blocks | None = None
    units: str | None = None
    left_out: tuple[str, ...] = ()
    kept: Int | None = None
    missing: MissingValues = "raise"
    feature_weights: Float | None = None
    sample_weights: RowValues | None = None
    excluded: RowValues | None = None
    long_name: str | None = None
    scalars: Mapping[str, xr.Variable] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Samples N and the features that take part."""
        return self.rows.size, self.features.size if self.kept is None else len(self.kept)

    @property
    def lazy(self) -> bool:
        """Whether the samples are a Dask collection, so that results are too."""
        return self.blocks is not None

    @property
    def masked(self) -> bool:
        """Whether a mask leaves samples or features out."""
        return self.kept is not None or self.excluded is not None

    @property
    def entry_names(self) -> EntryNames:
        """How errors name an entry."""
        features = replace(self.features.names(), positions=self.kept)
        hint = _EXPVER if "expver" in self.features.dims else ""
        return EntryNames(self.rows.names(), features, hint)

    def whole(self, values: AnyArray) -> AnyArray:
        """Values of the features that take part, on the last axis, as those of all: nan else."""
        if self.kept is None:
            return values
        whole = np.full((*values.shape[:-1], self.features.size), np.nan)
        whole[..., self.kept] = values
        return whole

    def select(self, chosen: Int) -> Samples:
        """The same samples with some alone of the features that take part."""
        source = None if self.source is None else SelectedFeatures(self.source, chosen)
        kept = chosen if self.kept is None else self.kept[chosen]
        blocks = None if self.blocks is None else self.blocks.select(kept)
        weights = None if self.feature_weights is None else self.feature_weights[chosen]
        return replace(self, source=source, blocks=blocks, kept=kept, feature_weights=weights)


class HasSamples(Protocol):
    """What keeps samples and opens them itself, as a workspace does."""

    def samples(self, **reading: Any) -> Samples:
        """The samples; `reading` is `missing`, `mask` and weights, as in `open_samples`."""


def open_samples(
    samples: Any,
    *,
    sample_dims: SampleDims = None,
    variable: Variables = None,
    missing: str = "raise",
    mask: Any = None,
    feature_weights: Any = None,
    sample_weights: Any = None,
) -> Samples:
    """Open samples for reading.

    Parameters
    ----------
    samples : array, DataArray, Dataset, Dask array, zarr.Array, CSR matrix, path(s) or HasSamples
        (sample, feature), or anything with named dims.  A path leads to a Zarr store, a
        NetCDF or a ``.npy`` file; several paths or a pattern to files that continue each
        other along the first sample dim.
    sample_dims : str or sequence of str, optional
        Dims of the samples; all others are features, in the order of the input.
        Without it there are two dims, and the samples' come first.
    variable : str or sequence of str, optional
        Variables of a Dataset that are features.
    missing : {"raise", "drop", "drop_any_sample", "drop_any_feature", "partial"}
        What nan means; "partial" is for maps alone, and their callers refuse it elsewhere.
    mask : boolean array or DataArray, or a pair of them
        True where samples, or features, take part.
    feature_weights, sample_weights : array, DataArray or "coslat", optional
        Weights of squared differences, and of samples.

    Raises
    ------
    InputError
        Empty, not of real numbers, of unknown length or with unclear dims.
    """
    if _has_samples(samples):
        if sample_dims is not None or variable is not None:
            raise InputError(
                f"the samples of a {type(samples).__name__} are on dims of their own; leave "
                "sample_dims= and variable= out"
            )
        return samples.samples(
            missing=missing,
            mask=mask,
            feature_weights=feature_weights,
            sample_weights=sample_weights,
        )
    opened = _open(samples, sample_dims, variable, missing)
    return with_conditions(opened, missing, mask, feature_weights, sample_weights)


def with_conditions(
    opened: Opened,
    missing: str = "raise",
    mask: Any = None,
    feature_weights: Any = None,
    sample_weights: Any = None,
) -> Samples:
    """An opened array as samples, with what a pass is told of them besides their values.

    Parameters and errors are those of :func:`open_samples`.
    """
    if missing not in get_args(MissingValues):
        raise InputError(f"missing is one of {get_args(MissingValues)}, not {missing!r}")
    rows, features = opened.rows, opened.features
    if rows.size == 0 or features.size == 0:
        raise InputError(
            f"the samples have shape {(rows.size, features.size)}: at least one {rows.text} and "
            f"one {features.text} are needed"
        )
    taken, chosen = conditions.masks(mask, rows, features)
    result = Samples(
        rows,
        features,
        opened.source,
        opened.blocks,
        opened.units,
        opened.left_out,
        missing=cast(MissingValues, missing),
        feature_weights=conditions.feature_weights(feature_weights, features),
        sample_weights=conditions.sample_weights(sample_weights, rows),
        excluded=None if taken is None else SampleValues(~taken),
        long_name=opened.long_name,
        scalars=opened.scalars,
    )
    return result if chosen is None or chosen.all() else result.select(np.flatnonzero(chosen))


def _has_samples(samples: Any) -> TypeGuard[HasSamples]:
    # a variable or column of that name is no method
    return callable(getattr(samples, "samples", None))


def refuse_partial(samples: Samples, what: str) -> None:
    """Refuse samples with gaps for what is no comparison of samples with the codes of a map."""
    if samples.missing == "partial":
        raise InputError(
            "missing='partial' is for maps, whose codes are compared with each sample by the "
            f"features that it has, and not for {what}; give 'drop_any_sample' or "
            "'drop_any_feature'"
        )


def _open(samples: Any, sample_dims: SampleDims, variable: Variables, missing: str) -> Opened:
    if is_path(samples):
        return open_paths(samples, sample_dims, variable)
    if isinstance(samples, xr.Dataset):
        return open_variables(samples, sample_dims, variable)
    if isinstance(samples, xr.DataTree):
        raise InputError(
            "the samples are a DataTree; choose a group, samples['group'].to_dataset()"
        )
    if variable is not None:
        raise InputError("variable= names variables of a Dataset, and the samples are one array")
    if isinstance(samples, xr.DataArray):
        return open_labelled(samples, sample_dims)
    if sample_dims is not None:
        raise InputError(
            f"sample_dims={sample_dims!r} names dims, and a {type(samples).__name__} has no names; "
            "put it into an xarray DataArray"
        )
    if is_frame(samples):
        frame = frame_array(samples)
        return open_labelled(frame, str(frame.dims[0]))
    return open_bare(samples, missing)
