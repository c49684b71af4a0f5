"""Distances of samples to the centroids of a clustering, in one linear read.

From them come the sums Σ_{x in k} d(x, μ_l) of every two clusters, and silhouettes of two
kinds that look at no pair of samples: with centroids in the place of clusters, and of
squared distances, for which Σ_{j in l} ‖x − x_j‖² = n_l ‖x − μ_l‖² + E_l with the scatter
E_l of a cluster about its centroid.

Samples and centroids are told from the origin of the moments.  The centroid of equal samples
is these to the last digit (the second pass of the moments adds what is left, exactly), so
that clusters that are one and the same point are known as such.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from somscale._types import AnyArray, Bool, Float, Int
from somscale.errors import InputError
from somscale.kernels.scratch import Scratch
from somscale.reductions.base import TILE_ROWS, Block, Field, Partial, Rows, Workspace
from somscale.reductions.census import Missing
from somscale.reductions.moment_stats import MomentStats
from somscale.reductions.names import EntryNames
from somscale.reductions.pair_rows import PlacedSpace, RowChoice
from somscale.reductions.pair_stats import Silhouettes
from somscale.reductions.unit_inputs import checked_weights
from somscale.reductions.whole_rows import BLOCK_ROWS, PlacedRows, WholeRows
from somscale.spaces.base import Prepared, Space
from somscale.spaces.euclidean import EuclideanSpace

__all__ = ["CentroidDistances", "CentroidDistancesReduction", "Want"]

Want = Literal["to_centroids", "centroid", "squared"]

_EXCLUDED = "in no cluster"
_THREADS = 8
"""Threads of a process that have a block of rows at hand, for the plan."""


@dataclass(frozen=True)
class CentroidDistances:
    """What a pass of the reduction found; None is what was not asked for.

    Attributes
    ----------
    hits : (K,) int64
        Samples of every cluster.
    to_centroids : (K, K) float64 or None
        Σ d(x, μ_l) over the samples x of cluster k, at [k, l].
    centroid : Silhouettes or None
        Of distances to centroids.
    squared : Silhouettes or None
        Of mean squared distances to the samples of clusters.
    """

    hits: Int
    to_centroids: Float | None = None
    centroid: Silhouettes | None = None
    squared: Silhouettes | None = None


@dataclass(frozen=True)
class _Centroids:
    """Centroids as the spaces want them, and what else is known of the clusters."""

    prepared: Mapping[str, Prepared]
    hits: Float
    scatter: Float


class CentroidDistancesReduction:
    """Compare every sample with the centroids of all clusters.

    Parameters
    ----------
    column : str
        Name of the column of clusters, 0 to K − 1; a sample of a negative one takes no
        part, whatever it holds.
    n_clusters, n_features : int
        Clusters K and features D.
    wants : set of {"to_centroids", "centroid", "squared"}
        Sums to all centroids, (K, K), and either kind of silhouettes.
    name : str
        Key of the reduction within its pass.
    samplewise : bool
        Keep the silhouettes of every sample.
    space : Space, optional
        Distance of "to_centroids", one that no translation changes; it has one feature for
        each that the moments keep.  Euclidean by default.
    names, feature_weights, missing
        As for :class:`somscale.reductions.moments.MomentsReduction`, whose centroids they are.

    Notes
    -----
    :meth:`about` gives the centroids; before, the reduction is good for planning alone.
    Silhouettes are of Euclidean distances.  All distances of 128 samples are at hand at a
    time: 1 KiB a cluster and thread.
    """

    tile_rows: int | None = TILE_ROWS
    sweeps = 1

    def __init__(
        self,
        column: str,
        n_clusters: int,
        n_features: int,
        wants: frozenset[Want],
        *,
        name: str = "centroid distances",
        samplewise: bool = False,
        space: Space | None = None,
        names: EntryNames | None = None,
        feature_weights: ArrayLike | None = None,
        missing: Missing = "raise",
    ) -> None:
        self.name = name
        self.column = column
        self.n_clusters = n_clusters
        self.n_features = n_features
        self.asked = wants
        self.samplewise = samplewise
        self.space = space
        self.names = names or EntryNames()
        self.feature_weights = checked_weights(feature_weights, n_features)
        self.missing: Missing = missing
        self.stats: MomentStats | None = None
        self._scratch = Scratch()
        self.operations = n_clusters * (2.0 * n_features + 8.0 * len(wants))
        if space is not None:
            self.operations += n_clusters * space.operations(n_features)
        row = 40 * n_features + 64
        blocks = BLOCK_ROWS * (row + 8 * n_clusters * (1 + (space is not None)))
        self.workspace = Workspace(
            row_bytes=16 * n_features + 64, process_bytes=n_clusters * row + _THREADS * blocks
        )
        self.fields = self._fields()

    def about(self, stats: MomentStats) -> CentroidDistancesReduction:
        """The same reduction about the centroids that an earlier pass has found.

        Raises
        ------
        InputError
            The samples of that pass had weights.
        """
        if not np.array_equal(stats.mass, stats.hits):
            raise InputError(
                "silhouettes and sums of distances to centroids count every sample alike; "
                "leave sample_weights out"
            )
        again = copy.copy(self)
        again.stats = stats
        return again

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made of the centroids."""
        return {name: value for name, value in vars(self).items() if name != "_centroids"}

    @property
    def codes(self) -> Float | None:
        """What the result depends on, for keys of passes."""
        return None if self.stats is None else self.stats.raw_offsets

    def begin(self, rows: Rows, partial: Partial) -> WholeRows:
        """Start some rows of a tile."""
        return WholeRows(rows, partial, self.n_features)

    def wants(self, sweep: int, state: WholeRows) -> bool:
        """Whether any of these rows takes part."""
        return bool((state.rows.column(self.column) >= 0).any())

    def sweep(self, sweep: int, state: WholeRows, first_feature: int, values: AnyArray) -> None:
        """Keep the rows' next features."""
        state.keep(first_feature, values)

    def end(self, state: WholeRows) -> None:
        """Compare the rows, which are whole now, with all centroids."""
        partial, within = state.partial, state.rows.within
        if self.samplewise:
            for kind in self._kinds:
                partial[f"{kind}_values"][within] = np.nan
        if state.values is None:
            return
        for block in state.blocks():
            rows = PlacedRows.of(self._moved(block), self._spaces, self._choice)
            if rows is not None:
                self._add(rows, partial, within.start - state.rows.start)

    def finalize(self, total: Partial) -> CentroidDistances:
        """Finished statistics."""
        found = {
            kind: Silhouettes(total["hits"], total[f"{kind}_sums"], total.get(f"{kind}_values"))
            for kind in self._kinds
        }
        return CentroidDistances(total["hits"], total.get("to_centroids"), **found)

    @property
    def _kinds(self) -> list[str]:
        return [kind for kind in ("centroid", "squared") if kind in self.asked]

    def _fields(self) -> dict[str, Field]:
        each = (self.n_clusters,)
        fields = {"hits": Field("sum", "int64", each)}
        if "to_centroids" in self.asked:
            fields["to_centroids"] = Field("sum", shape=(self.n_clusters, self.n_clusters))
        for kind in self._kinds:
            fields[f"{kind}_sums"] = Field("sum", shape=each)
            if self.samplewise:
                fields[f"{kind}_values"] = Field("concat")
        return fields

    @property
    def _known(self) -> MomentStats:
        if self.stats is None:
            raise ValueError("this pass was planned without its centroids")
        return self.stats

    @property
    def _left(self) -> Bool | slice:
        """Features that are not missing from every sample."""
        missing = self._known.missing_features
        return slice(None) if missing is None else ~missing

    @property
    def _weights(self) -> Float | None:
        return None if self.feature_weights is None else self.feature_weights[self._left]

    @property
    def _spaces(self) -> dict[str, PlacedSpace]:
        euclidean = EuclideanSpace(squared=True, feature_weights=self._weights)
        spaces = {"squares": PlacedSpace(euclidean)}
        if self.space is not None:
            spaces["distances"] = PlacedSpace(self.space)
        return spaces

    @property
    def _choice(self) -> RowChoice:
        features = self._known.missing_features
        return RowChoice(_EXCLUDED, self.missing, features, names=self.names)

    @cached_property
    def _centroids(self) -> _Centroids:
        stats = self._known
        offsets = np.ascontiguousarray(stats.raw_offsets[:, self._left])
        return _Centroids(
            {name: placed.space.prepare(offsets) for name, placed in self._spaces.items()},
            stats.hits.astype(np.float64),
            stats.squares.astype(np.float64),
        )

    def _moved(self, block: Block) -> Block:
        """The same rows told from the origin, and which of them are in no cluster."""
        codes = block.columns[self.column]
        values = np.subtract(block.values, self._known.origin, dtype=np.float64)
        return replace(block, values=values, columns={self.column: codes, _EXCLUDED: codes < 0})

    def _add(self, rows: PlacedRows, partial: Partial, shift: int) -> None:
        """Add some rows; the place of a sample in its tile is its number plus `shift`."""
        from somscale.kernels import anchor_loops

        centroids, numbers = self._centroids, rows.rows.numbers
        codes = np.ascontiguousarray(rows.rows.columns[self.column], dtype=np.int64)
        partial["hits"] += np.bincount(codes, minlength=self.n_clusters)
        found = {kind: np.empty(len(codes)) for kind in self._kinds}
        plain = self.space is None
        if found or plain:
            anchor_loops.add_centroid_rows(
                self._distances("squares", rows),
                numbers - rows.first,
                codes,
                centroids.hits,
                centroids.scatter,
                partial.get("to_centroids") if plain else None,
                found.get("centroid"),
                found.get("squared"),
            )
        if not plain and "to_centroids" in partial:
            distances = self._distances("distances", rows)[rows.places]
            anchor_loops.add_group_rows(distances, codes, 0, partial["to_centroids"])
        for kind, values in found.items():
            # one after the other, in the order of the samples
            np.add.at(partial[f"{kind}_sums"], codes, values)
            if self.samplewise:
                partial[f"{kind}_values"][numbers + shift] = values

    def _distances(self, name: str, rows: PlacedRows) -> Float:
        """Distances of a block of full size to all centroids, (128, K)."""
        table: Float = self._scratch.take(name, (BLOCK_ROWS, self.n_clusters), np.float64)
        space = self._spaces[name].space
        space.distances(rows.prepared[name], self._centroids.prepared[name], table)
        return table
