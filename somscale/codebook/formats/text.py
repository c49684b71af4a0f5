"""Text files of codebooks, line by line, plain or gzipped, with errors that name the line."""

from __future__ import annotations

import codecs
import gzip
import math
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast

from somscale.errors import InputError

__all__ = ["MISSING", "TextFile", "shown"]

MISSING: Final = frozenset({"nan", "NaN", "NA", "NAN", "-nan"})
"""How C, Java, MATLAB and R write a value that is not there."""

_GZIP: Final = b"\x1f\x8b"
_LONGEST: Final = 40


@dataclass(frozen=True)
class TextFile:
    """A text file, gzipped or not.

    Attributes
    ----------
    path : Path
        Where it lies.
    encoding : str
        Of its text; one in which ASCII is ASCII.
    """

    path: Path
    encoding: str

    def lines(self) -> Iterator[tuple[int, str]]:
        """Number, from 1, and text of each line, without white space at its end.

        Raises
        ------
        InputError
            There is no such file, it is empty, no text in the encoding, or a gzip file that is
            damaged or none.
        """
        self._check_encoding()
        number = 0
        try:
            with self.path.open("rb") as raw:
                packed = self._is_gzip(raw.read(2))
                raw.seek(0)
                stream = cast("IO[bytes]", gzip.GzipFile(fileobj=raw) if packed else raw)
                for number, line in enumerate(stream, 1):
                    yield number, self._decoded(number, line)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise InputError(
                f"{self.name} is a damaged gzip file: it breaks off after line {number}; fetch it "
                "anew"
            ) from None
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {error.strerror or error}") from None
        if not number:
            raise InputError(f"{self.name} is empty")

    @property
    def name(self) -> str:
        """The file's name, for errors."""
        return repr(self.path.name)

    def error(self, line: int, what: str) -> InputError:
        """An error about a line; `what` goes on after "line 3 of 'map.cod'"."""
        return InputError(f"line {line} of {self.name} {what}")

    def numbers(
        self, line: int, entries: Sequence[str], missing: Collection[str] = MISSING
    ) -> list[float]:
        """The numbers that entries of a line write; nan for those that are missing.

        Raises
        ------
        InputError
            An entry is no number, or not finite.
        """
        try:
            values = [float(entry) for entry in entries]
            plain = all(map(math.isfinite, values)) and not any("_" in e for e in entries)
        except ValueError:
            plain = False
        return (
            values
            if plain
            else [self._number(line, n, e, missing) for n, e in enumerate(entries, 1)]
        )

    def counts(self, line: int, entries: Sequence[str], what: str) -> list[int]:
        """Positive integers of a header.

        Raises
        ------
        InputError
            An entry is none.
        """
        for entry in entries:
            digits = entry.lstrip("0")
            plain = entry.isascii() and entry.isdigit()
            # more than 16 digits are beyond 2**53, and thousands are more than int() takes
            if not (plain and 0 < len(digits) <= 16 and int(digits) < 2**53):
                raise self.error(
                    line, f"gives {what} as {shown(entry)}, which is no integer from 1 up"
                )
        return [int(entry.lstrip("0")) for entry in entries]

    def _number(self, line: int, nth: int, entry: str, missing: Collection[str]) -> float:
        if entry in missing:
            return math.nan
        try:
            value = float(entry)
        except ValueError:
            value = math.nan
        if "_" in entry or math.isnan(value):
            hint = ""
            if entry.count(",") == 1 and entry.replace(",", "").lstrip("+-").isdigit():
                hint = "; decimals are written with a point"
            raise self.error(line, f"has {shown(entry)} as value {nth}, which is no number{hint}")
        if math.isinf(value):
            raise self.error(line, f"has {shown(entry)} as value {nth}; every code must be finite")
        return value

    def _check_encoding(self) -> None:
        try:
            ascii_compatible = codecs.encode("\n$%#0", self.encoding) == b"\n$%#0"
        except (LookupError, UnicodeError, TypeError):
            ascii_compatible = False
        if not ascii_compatible:
            raise InputError(
                f"encoding={self.encoding!r} is none that extends ASCII; name one such as 'utf-8' "
                "or 'latin-1', and save text of others as UTF-8"
            )

    def _is_gzip(self, start: bytes) -> bool:
        if start and self.path.suffix.lower() == ".gz" and start != _GZIP:
            raise InputError(f"{self.name} is no gzip file; unpack it under a name without .gz")
        return start == _GZIP

    def _decoded(self, number: int, line: bytes) -> str:
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
            if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise InputError(f"{self.name} is UTF-16 text; save it as UTF-8")
        if b"\0" in line:
            raise self.error(number, "holds a zero byte: it is no text, or UTF-16 to be saved anew")
        try:
            return line.decode(self.encoding).rstrip()
        except UnicodeDecodeError as error:
            raise self.error(
                number,
                f"holds the byte 0x{line[error.start]:02x}, which is no {self.encoding} text; name "
                "the file's own with encoding=, such as 'latin-1'",
            ) from None


def shown(text: str) -> str:
    """Text of a file as an error shows it: in quotes, and not too long."""
    return repr(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
