"""Bootstrap sums of values of samples, accumulated for all resamples in one read.

A sample adds w_ri v_it to the sum of term t in resample r, where w_ri, how often it occurs
there, is drawn by the sample's number (:mod:`somscale.kernels.resampling`).  All terms of
all candidates share the draws, so that differences between candidates are paired; what is
held does not grow with the samples.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from somscale._types import AnyArray, Float
from somscale.kernels.resampling import BLOCK_ROWS, DRAW_BYTES, add_resampled, resample_weights
from somscale.reductions.base import TILE_ROWS, Field, Partial, Rows, Workspace

__all__ = ["ResampledSums", "Term"]

_State: TypeAlias = tuple[Rows, Partial]


@dataclass(frozen=True)
class Term:
    """What a sample adds to one sum.

    Parameters
    ----------
    column : str
        Published or read with the samples: its value; "" for 0.
    root : bool
        Take the root of it.
    units : str
        Published by a units reduction: who takes part (not −1); "" where all do whose value
        is not nan.
    table : (K, K) float64, optional
        Added to it by the two best units of a sample.
    count : bool
        Add 1 instead.
    """

    column: str = ""
    root: bool = False
    units: str = ""
    table: Float | None = None
    count: bool = False

    def of(self, rows: Rows) -> Float:
        """The value of every sample at hand, 0 where it takes no part, (n,)."""
        value = np.zeros(len(rows))
        if self.column:
            found = np.asarray(rows.column(self.column), np.float64)
            value = np.sqrt(found) if self.root else found
        if not self.units:
            taken = ~np.isnan(value)
        else:
            best = rows.column(self.units)
            taken = np.asarray(best >= 0)
            if self.table is not None:
                second = rows.column(f"{self.units}:second")
                value = value + self.table[best, second]
        return np.where(taken, 1.0 if self.count else value, 0.0)

    def digest(self) -> bytes:
        """Bytes that are equal only where the terms are."""
        table = b"" if self.table is None else self.table.tobytes()
        facts = repr((self.column, self.root, self.units, self.count)).encode()
        return hashlib.sha256(facts + table).digest()


class ResampledSums:
    """Sum values of samples over bootstrap resamples.

    Parameters
    ----------
    terms : sequence of Term
        What is summed, T.
    n_boot : int
        Resamples.
    seed : int
        Of the draws.
    sample_weights : str, optional
        Name of a column of weights, which multiply what a sample adds.

    Notes
    -----
    Finished it is (n_boot + 1, T) float64, in row 0 the sums over the samples themselves.
    """

    tile_rows: int | None = TILE_ROWS
    sweeps = 0

    def __init__(
        self,
        terms: Sequence[Term],
        *,
        n_boot: int,
        seed: int,
        sample_weights: str | None = None,
    ) -> None:
        if BLOCK_ROWS % TILE_ROWS:
            raise ValueError("weights are drawn for whole tiles")
        self.terms = tuple(terms)
        self.n_boot = n_boot
        self.seed = seed
        self.sample_weights = sample_weights
        facts = repr((n_boot, seed)).encode() + b"".join(t.digest() for t in terms)
        # what a pass is known by
        self.name = f"resampled:{hashlib.sha256(facts).hexdigest()[:16]}"
        n_terms = len(self.terms)
        self.fields = {"sums": Field("sum", "float64", (n_boot + 1, n_terms))}
        # most of the weights are not 0; a draw takes as long as some additions
        self.operations = 2.0 * n_boot * (n_terms + 4)
        tables = sum(t.table.nbytes for t in self.terms if t.table is not None)
        self.workspace = Workspace(
            row_bytes=8 * (n_terms + 4),
            process_bytes=DRAW_BYTES * BLOCK_ROWS * (n_boot + 1) + tables,
        )

    def begin(self, rows: Rows, partial: Partial) -> _State:
        """Keep the rows: what is summed is published only later in the pass."""
        return rows, partial

    def wants(self, sweep: int, state: _State) -> bool:
        """No features are read."""
        return False

    def sweep(self, sweep: int, state: _State, first_feature: int, values: AnyArray) -> None:
        """Take no features."""

    def end(self, state: _State) -> None:
        """Add the rows."""
        rows, partial = state
        values = np.empty((len(rows), len(self.terms)))
        for place, term in enumerate(self.terms):
            values[:, place] = term.of(rows)
        if self.sample_weights is not None:
            values *= np.asarray(rows.column(self.sample_weights), np.float64)[:, None]
        block, first = divmod(rows.start, BLOCK_ROWS)
        weights = resample_weights(self.seed, block, self.n_boot)
        add_resampled(weights[:, first : first + len(rows)], values, partial["sums"])

    def finalize(self, total: Partial) -> Float:
        """The sums of every resample."""
        return np.asarray(total["sums"], np.float64)
