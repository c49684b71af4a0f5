"""What a space is: distances between two blocks of samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from somscale._types import AnyArray, Float

__all__ = ["BadPair", "BadRow", "Prepared", "Space"]


class BadRow(Exception):
    """A sample from which no distance can be taken.

    Attributes
    ----------
    row : int
        Position in the block.
    feature : int or None
        Position in the sample, where one value is to blame.
    problem, remedy : str
        What is wrong, as in "is nan", and what to do.
    """

    def __init__(self, row: int, feature: int | None, problem: str, remedy: str) -> None:
        super().__init__(row, feature, problem, remedy)  # all of them, so that it pickles
        self.row = row
        self.feature = feature
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        where = "" if self.feature is None else f", feature {self.feature}"
        return f"row {self.row}{where} {self.problem}; {self.remedy}"


class BadPair(Exception):
    """A distance that is none, between two samples.

    Attributes
    ----------
    left, right : int
        Positions in the two blocks.
    problem, remedy : str
        What is wrong, as in "is nan", and what to do.
    """

    def __init__(self, left: int, right: int, problem: str, remedy: str) -> None:
        super().__init__(left, right, problem, remedy)
        self.left = left
        self.right = right
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"rows {self.left} and {self.right}: {self.problem}; {self.remedy}"


@dataclass(frozen=True)
class Prepared:
    """A block of samples, made ready for distances.

    Attributes
    ----------
    arrays : tuple of arrays (n, ...)
        What the space keeps of each sample; row i belongs to sample i.
    """

    arrays: tuple[AnyArray, ...]

    def __len__(self) -> int:
        return len(self.arrays[0])

    def part(self, rows: slice) -> Prepared:
        """Some consecutive samples, as views."""
        return Prepared(tuple(array[rows] for array in self.arrays))


class Space(Protocol):
    """Distances between samples; holds nothing but its parameters, and pickles."""

    @property
    def name(self) -> str:
        """The distance, as scipy calls it where scipy has it."""

    @property
    def is_metric(self) -> bool:
        """Whether the triangle inequality is known to hold."""

    def operations(self, n_features: int) -> float:
        """Floating-point operations a pair, about."""

    def prepare(self, values: AnyArray) -> Prepared:
        """Make a block of samples, (n, D) or (n,), ready for distances.

        Raises
        ------
        BadRow
            From a sample of the block no distance can be taken.
        """

    def distances(self, left: Prepared, right: Prepared, out: Float, *, same: bool = False) -> None:
        """Write the distances between two blocks.

        Parameters
        ----------
        left, right : Prepared
            n and m samples, or parts of such blocks.
        out : (n, m) float64
            Overwritten.  Quickest if C-contiguous: a reshaped part of a flat buffer is, a corner
            of a larger table costs a copy.
        same : bool
            Whether both are the same samples; lets a user's function be checked.

        Raises
        ------
        BadPair
            A user's function gives what is no distance.
        """
