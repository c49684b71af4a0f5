"""The workspace: samples, maps, matrices and results in one Zarr group, kept between runs."""

from __future__ import annotations

import html
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import xarray as xr

from somscale.codebook.passes import without_gapped_features
from somscale.engine.readers.paths import is_path
from somscale.engine.readers.samples import Samples, open_samples
from somscale.errors import InputError, SomscaleError, WorkspaceError
from somscale.metrics.asking.problem import READING
from somscale.store.keys import (
    delete_prefix,
    is_torn,
    read_key,
    stamp_of,
    sweep_partial,
    sweep_torn,
)
from somscale.store.location import Location, locate
from somscale.store.locking import writing
from somscale.store.root import open_root
from somscale.workspace.matrices import Kind, MatrixWriter
from somscale.workspace.opening import open_path, open_tree
from somscale.workspace.reading import CONDITIONS
from somscale.workspace.results import write_map
from somscale.workspace.samples import (
    check_unchanged,
    compare,
    fingerprint_text,
    stored_samples,
    write_samples,
)
from somscale.workspace.wanted import check_reading, wanted_matrix

if TYPE_CHECKING:
    import os

    from somscale.engine.pairs.cutting import PairPlan
    from somscale.workspace.info import WorkspaceInfo
    from somscale.workspace.verify import Verification

__all__ = ["Workspace"]

Mode = Literal["a", "r"]


class Workspace:
    """A place on disk for samples, and for what is found about them.

    Parameters
    ----------
    place : path, URL or Zarr store
        A local folder; a URL that fsspec knows, where chunks are put together to shards; or
        a store object of zarr.
    mode : {"a", "r"}
        "a" opens it for writing and makes it where there is none; "r" only reads.
    wait : float
        Seconds to wait for another process that writes to it; by default it is refused.
    storage_options : mapping, optional
        What fsspec wants to know to reach a URL.

    Raises
    ------
    WorkspaceError
        What is there is no workspace, or of another format; or there is none to read.

    Notes
    -----
    One Zarr group of format 3, which plain xarray opens as a DataTree: ``samples``,
    ``maps/<name>``, ``distances/<space>``, ``ranks/<space>``, ``results/<run>``, and
    ``partials/<pass>`` of runs that are not finished.  Everything carries what it was made
    from; samples that changed are refused.  A run that is stopped in whatever way goes on
    from what is whole when the same call is made again, and ends with the same bytes.

    Examples
    --------
    >>> import numpy as np, somscale as ss, tempfile
    >>> samples = np.random.default_rng(0).normal(size=(200, 3))
    >>> ws = ss.Workspace(tempfile.mkdtemp() + "/work.zarr")
    >>> ws.write_samples(samples)
    >>> ws.write_ranks()
    >>> ws.open("ranks/euclidean").dtype
    dtype('uint8')
    >>> q = ss.evaluate(ws, samples[:, :2], metrics="trustworthiness", k=5)
    """

    def __init__(
        self,
        place: str | os.PathLike[str] | Any,
        *,
        mode: Mode = "a",
        wait: float = 0.0,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        if mode not in ("a", "r"):
            raise InputError(f"mode is 'a' or 'r', not {mode!r}")
        self.location: Location = locate(
            place, read_only=mode == "r", storage_options=storage_options
        )
        self._wait = wait
        self._holder: int | None = None
        root = read_key(self.location, "zarr.json")
        if mode == "r" or not (root is None or is_torn(root)):
            open_root(self.location, create=False)
        else:
            with self.writing():
                pass

    @property
    def name(self) -> str:
        """Its path or URL."""
        return self.location.name

    @property
    def read_only(self) -> bool:
        """Whether it was opened, or can only be opened, for reading."""
        return self.location.read_only

    def __repr__(self) -> str:
        return f"<Workspace {self.name!r}>"

    def _repr_html_(self) -> str:
        try:
            return self.info()._repr_html_()
        except (SomscaleError, OSError) as error:
            # a notebook shall say what is wrong, and not how it was found out
            return f"<p>{html.escape(f'{self!r}: {error}')}</p>"

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the workspace for writing; inside, other processes and threads are refused.

        Raises
        ------
        WorkspaceBusyError
            Another one is writing.
        """
        if self._holder == threading.get_ident():
            yield
            return
        with writing(self.location, wait=self._wait):
            self._holder = threading.get_ident()
            try:
                open_root(self.location, create=True)
                sweep_partial(self.location)
                sweep_torn(self.location)
                yield
            finally:
                self._holder = None

    def write_samples(
        self, samples: Any, *, sample_dims: Any = None, variable: Any = None, copy: bool = True
    ) -> None:
        """Take samples in, on the user's own dims.

        Parameters
        ----------
        samples, sample_dims, variable
            As for :func:`somscale.evaluate`; without masks, weights or gaps left out: these
            belong to what is made of the samples.
        copy : bool
            Whether their values are copied.  If not, only a fingerprint of them is kept, and
            they have to be given wherever they are read.

        Raises
        ------
        WorkspaceError
            There are other samples in it; what differs is told.
        """
        with self.writing():
            write_samples(
                self.location, samples, sample_dims=sample_dims, variable=variable, copy=copy
            )

    def write_map(self, name: str, som: xr.Dataset) -> None:
        """Keep a map under a name.

        Parameters
        ----------
        name : str
            Letters, digits and ``_-.``
        som : Dataset
            As :func:`somscale.codebook` or :func:`somscale.train` gives it.
        """
        with self.writing():
            write_map(self.location, name, som)

    def write_distances(
        self,
        distance: Any = "euclidean",
        *,
        p: float = 2,
        dtype: Any = "float64",
        name: str | None = None,
        samples: Any = None,
        overwrite: bool = False,
        **reading: Any,
    ) -> None:
        """Write the distances of all pairs of samples, (N, N), in blocks.

        Parameters
        ----------
        distance : str or callable
            Distance of the samples.
        p : float
            Exponent of "minkowski".
        dtype : {"float64", "float32"}
            float32 takes half the room, and then no index reads them in place of computing
            them anew: its digits would change.
        name : str, optional
            Name of the group; by default that of the distance.
        samples : optional
            The samples, where the workspace has only their fingerprint.
        overwrite : bool
            Replace a matrix of this name that was made from something else.
        **reading
            `missing`, `mask` and `feature_weights` as for :func:`somscale.evaluate`.

        Raises
        ------
        WorkspaceError
            A matrix of this name was made from something else, or the place takes no more.
        MemoryBudgetError
            Not even one block fits the memory budget.
        """
        with self.writing():
            writer = self.matrix_writer(
                "distances", distance, p=p, dtype=dtype, name=name, samples=samples, **reading
            )
            writer.write(overwrite=overwrite)

    def write_ranks(
        self,
        distance: Any = "euclidean",
        *,
        p: float = 2,
        name: str | None = None,
        samples: Any = None,
        overwrite: bool = False,
        **reading: Any,
    ) -> None:
        """Write all ranks among the samples, (N, N), in the narrowest unsigned integers.

        Row i has the ranks around sample i: 0 for itself; equal distances share the least of
        their ranks.  They serve any number of projections of the same samples.

        Parameters
        ----------
        distance, p, name, samples, overwrite, **reading
            As for :meth:`write_distances`.

        Raises
        ------
        WorkspaceError, MemoryBudgetError
            As for :meth:`write_distances`.
        """
        with self.writing():
            writer = self.matrix_writer(
                "ranks", distance, p=p, name=name, samples=samples, **reading
            )
            writer.write(overwrite=overwrite)

    def plan_matrix(self, kind: Kind, distance: Any = "euclidean", **settings: Any) -> PairPlan:
        """What writing a matrix would take; nothing is read but the samples' first look."""
        return self.matrix_writer(kind, distance, **settings).plan()

    def matrix_writer(
        self,
        kind: Kind,
        distance: Any = "euclidean",
        *,
        p: float = 2,
        dtype: Any = "float64",
        name: str | None = None,
        samples: Any = None,
        **reading: Any,
    ) -> MatrixWriter:
        """The matrix of a distance, to be written or planned."""
        check_reading(reading)
        return wanted_matrix(
            self.location,
            kind,
            without_gapped_features(self.samples(samples, **reading)),
            self.fingerprint,
            distance=distance,
            p=p,
            dtype=dtype,
            name=name,
        )

    def samples(
        self,
        given: Any = None,
        *,
        sample_dims: Any = None,
        variable: Any = None,
        take: bool = False,
        **reading: Any,
    ) -> Samples:
        """The samples, opened for passes; those that are given are compared with those it has.

        Where it has none yet and `take` is set, it takes those: copied, but for an archive
        that a path leads to, of which it keeps the fingerprint.

        Raises
        ------
        WorkspaceError
            They are not the same; or they are neither given nor in the workspace.
        """
        reading = {name: reading.get(name, READING[name]) for name in CONDITIONS}
        if given is not None and take and not self.fingerprint:
            copy = not is_path(given)
            self.write_samples(given, sample_dims=sample_dims, variable=variable, copy=copy)
        check_unchanged(self.location)
        if given is None:
            return stored_samples(self.location, **reading)
        raw = open_samples(given, sample_dims=sample_dims, variable=variable)
        compare(self.location, raw, given)
        if raw.lazy:
            # blocks of a Dask array come only with their tasks, and a matrix reads at will
            return stored_samples(self.location, **reading)
        return open_samples(given, sample_dims=sample_dims, variable=variable, **reading)

    @property
    def fingerprint(self) -> str:
        """Fingerprint of its samples; empty where it has none yet."""
        return fingerprint_text(self.location)

    def open(self, path: str) -> xr.DataArray | xr.Dataset:
        """Open something of the workspace.

        Parameters
        ----------
        path : str
            "samples", "distances/<space>", "ranks/<space>" (lazy DataArrays, whose missing or
            damaged chunks are errors that name them), "maps/<name>" or "results/<run>"
            (Datasets).

        Raises
        ------
        WorkspaceError
            There is nothing of this name, or it is not complete; how to go on is told.
        """
        return open_path(self.location, path)

    def tree(self) -> xr.DataTree:
        """All of it as plain xarray reads it, lazily."""
        return open_tree(self.location)

    def delete(self, path: str) -> None:
        """Delete a map, a matrix, a result, or the checkpoints of unfinished runs ("partials").

        Raises
        ------
        WorkspaceError
            There is nothing of this name, or it is the samples.
        """
        kind, _, name = path.partition("/")
        deletable = kind in ("maps", "distances", "ranks", "results") and name
        if not deletable and path != "partials":
            raise WorkspaceError(
                f"{path!r} is not deleted: name a map, a matrix, a result or 'partials', as in "
                "'results/map-1a2b3c4d'"
            )
        if stamp_of(self.location, f"{path}/zarr.json") is None:
            raise WorkspaceError(f"there is no {path!r} in {self.name}")
        with self.writing():
            delete_prefix(self.location, path)

    def info(self) -> WorkspaceInfo:
        """Sizes, what is complete, and what it would take to finish the rest."""
        from somscale.workspace.info import describe

        return describe(self)

    def verify(self, *, repair: bool = False, samples: Any = None) -> Verification:
        """Read everything and check it; with `repair` compute again what fails, and only that.

        Parameters
        ----------
        repair : bool
            Whether to mend.
        samples : optional
            The samples, where the workspace has only their fingerprint.
        """
        from somscale.workspace.verify import verify

        return verify(self, repair=repair, samples=samples)
