"""What is tallied of the ranks of one projection, and the arrays that this takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from somscale.errors import InputError
from somscale.reductions.base import Field
from somscale.reductions.rank_stats import Tally

__all__ = ["JACCARD_K_MAX", "RankWant", "Ties"]

Ties = Literal["index", "expected", "weighted", "best", "worst"]

JACCARD_K_MAX = 2048
"""Largest K of the Jaccard overlap, of which rows are counted for each K and overlap."""


@dataclass(frozen=True)
class RankWant:
    """What is tallied of one projection.

    Parameters
    ----------
    k_max : int
        Curves for K = 1..k_max; 0: none.
    kappa_s, kappa_t : int
        Surface for κs = 1..kappa_s and κt = 0..kappa_t; kappa_s 0: none.
    ties : {"index", "expected", "weighted", "best", "worst"}
        Ranks of equal output distances: by sample index; the mean over all orders, of
        equal input distances too; the survey's weights; by input rank, ascending or
        descending.
    jaccard : bool
        Whether neighbourhoods are also compared by their Jaccard overlap.
    labels : str or None
        Column of label codes, of which agreement is counted; negative codes are no label.
    sample_ks : tuple of int
        K whose sums are kept of every sample.
    sample_pairs : tuple of (int, int)
        (κs, κt) that are kept of every sample.
    matrix : int
        Corner of the co-ranking matrix up to this rank; 0: none.
    drawn : int
        How many rows were drawn; 0: all rows are ranked.
    groups : tuple of int or None
        Group of each drawn row, from 0; None: each is kept by itself.

    Raises
    ------
    InputError
        A number is out of its range, or the ties leave undefined what is asked for.
    """

    k_max: int
    kappa_s: int = 0
    kappa_t: int = 0
    ties: Ties = "index"
    jaccard: bool = False
    labels: str | None = None
    sample_ks: tuple[int, ...] = ()
    sample_pairs: tuple[tuple[int, int], ...] = ()
    matrix: int = 0
    drawn: int = 0
    groups: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.ties not in get_args(Ties):
            raise InputError(f"ties={self.ties!r} is not known; use one of {get_args(Ties)}")
        for name in ("k_max", "kappa_s", "kappa_t", "matrix", "drawn"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} is {getattr(self, name)}; give 0 or more")
        if any(k < 1 for k in self.sample_ks):
            raise InputError(f"sample_ks {self.sample_ks} has a K below 1; give 1 or more")
        if any(s < 1 or t < 0 for s, t in self.sample_pairs):
            raise InputError(
                f"sample_pairs {self.sample_pairs} has κs below 1 or κt below 0; raise them"
            )
        if self.jaccard and self.k_max > JACCARD_K_MAX:
            raise InputError(
                f"the Jaccard overlap is counted up to k = {JACCARD_K_MAX}, k_max is "
                f"{self.k_max}; lower k"
            )
        if self.groups is not None and len(self.groups) != self.drawn:
            raise InputError(
                f"{self.drawn} drawn rows have {len(self.groups)} groups; give one each"
            )
        if self.ties == "weighted" and self._beyond_weights():
            raise InputError(
                "ties='weighted' defines trustworthiness and continuity alone; "
                "use ties='expected' for the rest"
            )

    def _beyond_weights(self) -> bool:
        counted = self.kappa_s or self.matrix or self.sample_pairs
        return bool(counted or self.jaccard or self.labels is not None)

    @property
    def reach(self) -> int:
        """Pairs with min(ρ, r) up to this rank matter, with both their ranks."""
        wide = (s for s, _ in self.sample_pairs)
        return max(self.tall, self.kappa_s, self.matrix, *wide)

    @property
    def tall(self) -> int:
        """Largest K of which sums are made, of all rows or of each."""
        return max(self.k_max, *self.sample_ks, 0)

    @property
    def dtype(self) -> str:
        """Type of the tallies: whole numbers, unless ties are spread."""
        return "float64" if self.ties in ("expected", "weighted") else "int64"

    @property
    def row_by_row(self) -> bool:
        """Whether each row's own sums are needed."""
        return bool(self.jaccard or self.sample_ks or self.drawn or self.ties == "weighted")

    @property
    def n_groups(self) -> int:
        """Groups of drawn rows; 0 where there are none."""
        return 0 if self.groups is None else max(self.groups, default=-1) + 1

    def fields(self, n_samples: int) -> dict[str, Field]:
        """The arrays of a tile's partial, and how they merge.

        Parameters
        ----------
        n_samples : int
            Samples N that have numbers.
        """
        found = {"tied": Field("sum", "int64", (2,))}
        if self.k_max:
            found |= self._curve_fields()
        if self.kappa_s:
            found |= self._surface_fields()
        if self.sample_ks or self.sample_pairs:
            found |= {
                "numbers": Field("concat", "int64"),
                "sample_sums": Field("concat", "float64", (3, len(self.sample_ks))),
                "inside": Field("concat", self.dtype, (len(self.sample_pairs),)),
                "inside_back": Field("sum", self.dtype, (n_samples, len(self.sample_pairs))),
            }
        if self.matrix:
            found["matrix"] = Field("sum", self.dtype, (self.matrix, self.matrix))
        return found

    def _curve_fields(self) -> dict[str, Field]:
        length = self.k_max + 1
        sizes: dict[str, tuple[int, ...]] = {}
        sizes["tally"] = (2 if self.ties == "weighted" else len(Tally), length)
        if self.labels is not None:
            sizes["agreement"] = (length,)
        found = {name: Field("sum", self.dtype, shape) for name, shape in sizes.items()}
        if self.jaccard and self.dtype == "int64":
            found["jaccard"] = Field("sum", "int64", (self.k_max, length))
        elif self.jaccard:
            found["jaccard"] = Field("sum", "float64", (self.k_max,))
        if self.drawn and self.groups is None:
            rows = {f"row_{name}": shape for name, shape in sizes.items()}
            return found | {n: Field("concat", self.dtype, shape) for n, shape in rows.items()}
        if self.drawn:
            many = {f"group_{n}": (self.n_groups, *shape) for n, shape in sizes.items()}
            found |= {name: Field("sum", self.dtype, shape) for name, shape in many.items()}
            found["group_rows"] = Field("sum", "int64", (self.n_groups,))
            if self.jaccard:
                found["group_jaccard"] = Field("sum", "float64", (self.n_groups, self.k_max))
        return found

    def _surface_fields(self) -> dict[str, Field]:
        s, t = self.kappa_s, self.kappa_t
        found = {"cells": Field("sum", self.dtype, (s + 1, t + 2))}
        if self.drawn:
            for name in ("inside_squares", "products"):
                found[name] = Field("sum", "float64", (s, t + 1))
            found["region_squares"] = Field("sum", "float64", (s,))
        return found
