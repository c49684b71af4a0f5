"""Codebooks: a trained map as a Dataset, made, checked, read from other tools, projected onto."""

from __future__ import annotations

from somscale.codebook.dataset import CODEBOOK_NAMES, TrainedMap, codebook
from somscale.codebook.formats import from_somoclu, read_codebook
from somscale.codebook.matching import matched
from somscale.codebook.minisom import from_minisom
from somscale.codebook.opening import as_map, is_map
from somscale.codebook.project import project
from somscale.codebook.writing import write_codebook

__all__ = [
    "CODEBOOK_NAMES",
    "TrainedMap",
    "as_map",
    "codebook",
    "from_minisom",
    "from_somoclu",
    "is_map",
    "matched",
    "project",
    "read_codebook",
    "write_codebook",
]
