"""Codebooks in the files of other tools: one module a format, and the door to all of them."""

from __future__ import annotations

from somscale.codebook.formats.reading import read_codebook
from somscale.codebook.formats.somoclu import from_somoclu

__all__ = ["from_somoclu", "read_codebook"]
