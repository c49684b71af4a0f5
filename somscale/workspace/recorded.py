"""What a workspace knows of its samples: names, sizes and fingerprint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from somscale.engine.readers.samples import Samples
from somscale.errors import InputError, WorkspaceError
from somscale.store.arrays import create_array, open_array
from somscale.store.digests import digest_of
from somscale.store.fingerprints import Fingerprint
from somscale.store.groups import group_attributes, put_dataset
from somscale.store.keys import list_keys, stamp_of
from somscale.store.location import Location
from somscale.store.provenance import versions

__all__ = ["ARRAY", "GROUP", "Recorded", "begin", "chunk_stamps", "complete", "recorded", "renew"]

GROUP, ARRAY, DIGESTS = "samples", "samples/samples", "samples/digests"
_TAKEN = ("samples", "digests", "digest_block", "byte")
_DIGESTS_IN_CHUNK = 1 << 16


@dataclass(frozen=True)
class Recorded:
    """The attributes of the group of the samples.

    Attributes
    ----------
    shape : (int, int)
        Samples N and features D.
    dtype : str
        Type of the values.
    dims : mapping of str to int
        The samples' dims, then the features', with their sizes.
    n_sample_dims : int
        How many of them are the samples'.
    left_out : tuple of str
        Variables beside them that are no features.
    copied : bool
        Whether the values are here.
    source : str
        Stamps of the path that they were read from; "" where they came from no path.
    text : str
        Fingerprint; "" where it is not known yet.
    stamps : str
        Of the chunks in the workspace, when the last was written or found right.
    complete : bool
        Whether everything is there.
    attributes : mapping
        All attributes.
    """

    shape: tuple[int, int]
    dtype: str
    dims: Mapping[str, int]
    n_sample_dims: int
    left_out: tuple[str, ...]
    copied: bool
    source: str
    text: str
    stamps: str
    complete: bool
    attributes: Mapping[str, Any]

    @property
    def sample_dims(self) -> tuple[str, ...]:
        """The samples' dims."""
        return tuple(self.dims)[: self.n_sample_dims]

    def difference(self, samples: Samples) -> str | None:
        """How other samples differ in shape, dims, type or labels, as a part of a sentence."""
        source = samples.source if samples.blocks is None else samples.blocks
        assert source is not None
        shape = samples.rows.size, samples.features.size
        if shape != self.shape:
            return f"shape {shape}, not {self.shape}"
        known = _words(self.dims, self.n_sample_dims)
        own = _words(_dims(samples), len(samples.rows.dims))
        if own != known:
            return f"dims {own}, not {known}"
        if source.dtype.name != self.dtype:
            return f"type {source.dtype.name}, not {self.dtype}"
        return None

    def fingerprint(self, location: Location) -> Fingerprint:
        """The whole fingerprint.

        Raises
        ------
        WorkspaceError
            Its digests are not those that were written.
        """
        digests = open_array(location, DIGESTS).read()
        found = Fingerprint(self.shape, self.dtype, int(self.attributes["digest_rows"]), digests)
        if found.text() != self.text:
            raise WorkspaceError(
                f"{DIGESTS} in {location.name} does not belong to the samples there; make the "
                "workspace anew"
            )
        return found


def _words(dims: Mapping[str, int], n_sample_dims: int) -> str:
    parts = [f"{name}: {size}" for name, size in dims.items()]
    return f"({', '.join(parts[:n_sample_dims])}) × ({', '.join(parts[n_sample_dims:])})"


def _dims(samples: Samples) -> dict[str, int]:
    rows, features = samples.rows, samples.features
    return dict(zip((*rows.dims, *features.dims), (*rows.shape, *features.shape), strict=True))


def recorded(location: Location) -> Recorded | None:
    """What is known of the samples of a workspace, or None where there are none."""
    known = group_attributes(location, GROUP)
    if known is None or "digest_rows" not in known:
        return None
    n_samples, n_features = known["shape"]
    names = [*known["sample_dims"], *known["feature_dims"]]
    return Recorded(
        (n_samples, n_features),
        known["dtype"],
        dict(zip(names, known["sizes"], strict=True)),
        len(known["sample_dims"]),
        tuple(known["left_out"]),
        known["copied"],
        known["source_stamps"],
        known["fingerprint"],
        known["chunk_stamps"],
        known["complete"] is True,
        known,
    )


def begin(
    location: Location, samples: Samples, *, source: str, rows: int, copied: bool, text: str
) -> None:
    """Write the coordinates and what is known from the first.

    Parameters
    ----------
    location : Location
        Workspace.
    samples : Samples
        What will be written.
    source : str
        Stamps of the path that they are read from.
    rows : int
        Samples of a block of the fingerprint.
    copied : bool
        Whether the values will be written.
    text : str
        The fingerprint that they have to have; "" where any will do.
    """
    own = samples.rows, samples.features
    coords = {**samples.scalars, **own[1].coords, **own[0].coords}
    for axes in own:
        axes.refuse_names(_TAKEN, "samples")
    dims = _dims(samples)
    if len(dims) < sum(len(axes.dims) for axes in own):
        raise InputError("a dim of the samples has the name of another; rename one")
    whole = samples.source if samples.blocks is None else samples.blocks
    assert whole is not None
    facts = {
        "title": "samples",
        "shape": [own[0].size, own[1].size],
        "dtype": whole.dtype.name,
        "sample_dims": list(own[0].dims),
        "feature_dims": list(own[1].dims),
        "sizes": list(dims.values()),
        "left_out": list(samples.left_out),
        "copied": copied,
        "source_stamps": source,
        "digest_rows": rows,
        "fingerprint": text,
        "chunk_stamps": "",
    }
    plain = {name: coord for name, coord in coords.items() if name not in _TAKEN}
    put_dataset(location, GROUP, xr.Dataset(coords=plain, attrs=facts), {"versions": versions()})


def complete(location: Location, found: Fingerprint) -> None:
    """Write the digests, and last of all that everything is there."""
    n_blocks = len(found.digests)
    digests = create_array(
        location,
        DIGESTS,
        shape=found.digests.shape,
        dtype=np.uint8,
        chunk=(min(n_blocks, _DIGESTS_IN_CHUNK), found.digests.shape[1]),
        shard=None,
        fill=0,
        dims=("digest_block", "byte"),
        attributes={"long_name": "BLAKE2b digest of a block of samples"},
    )
    for index in digests.missing():
        digests.write(index, found.digests[digests.box(index)])
    facts = {"fingerprint": found.text(), "chunk_stamps": chunk_stamps(location), "complete": True}
    renew(location, facts)


def chunk_stamps(location: Location) -> str:
    """Digest of size and time of every chunk of the samples in the workspace."""
    if stamp_of(location, f"{ARRAY}/zarr.json") is None:
        return ""
    found = list_keys(location, f"{ARRAY}/c")
    return digest_of({key: (stamp.size, stamp.time) for key, stamp in found.items()})


def renew(location: Location, facts: Mapping[str, Any]) -> None:
    """Set some attributes of the group, all at once.

    Raises
    ------
    WorkspaceError
        The store is read-only, full or failing.
    """
    try:
        location.group(GROUP, mode="a").update_attributes(dict(facts))
    except WorkspaceError:
        raise
    except OSError as error:
        raise WorkspaceError(
            f"{GROUP} in {location.name} cannot be written: {error}; mend that, and the same "
            "command goes on from here"
        ) from error
