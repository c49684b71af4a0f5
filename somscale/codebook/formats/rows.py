"""Code vectors as they come from a text file, one a line, counted against its header."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from somscale.codebook.formats.table import CodeTable, Layout
from somscale.codebook.formats.text import MISSING, TextFile
from somscale.errors import InputError

__all__ = ["CodeRows"]


class CodeRows:
    """The code vectors of a file so far.

    Parameters
    ----------
    file : TextFile
        Where they come from.
    layout : Layout
        The arrangement that the header promises.
    size : int
        The number of values of each that it promises.
    """

    def __init__(self, file: TextFile, layout: Layout, size: int) -> None:
        self.layout = layout
        self.size = size
        self._file = file
        self._codes: list[list[float]] = []
        self._labels: list[str] = []
        self._lines: list[int] = []

    def place(self, line: int) -> tuple[int, int]:
        """Row and column of the next unit.

        Raises
        ------
        InputError
            There is none.
        """
        found = len(self._codes)
        if found == self.layout.rows * self.layout.cols:
            raise self._file.error(
                line, f"is one more code vector than the {found} that the header promises"
            )
        return divmod(found, self.layout.cols)

    def add(
        self, line: int, entries: Sequence[str], label: str = "", missing: Collection[str] = MISSING
    ) -> None:
        """Take the values of the next unit from a line.

        Raises
        ------
        InputError
            They are not as many as promised, or no finite numbers; or the map is full.
        """
        self.place(line)
        if len(entries) != self.size:
            raise self._file.error(
                line, f"has {len(entries)} values and the header promises {self.size}"
            )
        self._codes.append(self._file.numbers(line, entries, missing))
        self._labels.append(label)
        self._lines.append(line)

    def table(self, source: str, orientation: str, names: Sequence[str] = ()) -> CodeTable:
        """The whole.

        Raises
        ------
        InputError
            Fewer have come than promised.
        """
        rows, cols = self.layout.rows, self.layout.cols
        if len(self._codes) < rows * cols:
            raise InputError(
                f"{self._file.name} ends after {len(self._codes)} of the {rows * cols} code "
                f"vectors ({rows} rows, {cols} columns) that its header promises; it is cut short"
            )
        return CodeTable(
            self._file.path,
            np.array(self._codes),
            source,
            orientation,
            self.layout,
            names,
            self._labels,
            self._lines,
        )
