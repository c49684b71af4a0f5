"""Spaces: distances between two blocks of samples, of one kind or another."""

from __future__ import annotations

from somscale.spaces.angles import AngleSpace
from somscale.spaces.base import BadPair, BadRow, Prepared, Space
from somscale.spaces.euclidean import EuclideanSpace
from somscale.spaces.function import FunctionSpace
from somscale.spaces.given import check_matrix, check_matrix_tile
from somscale.spaces.lookup import ALIASES, DISTANCES, make_space
from somscale.spaces.mapped import CodeSpace, MapSpace
from somscale.spaces.sums import ChebyshevSpace, CityblockSpace, MinkowskiSpace

__all__ = [
    "ALIASES",
    "DISTANCES",
    "AngleSpace",
    "BadPair",
    "BadRow",
    "ChebyshevSpace",
    "CityblockSpace",
    "CodeSpace",
    "EuclideanSpace",
    "FunctionSpace",
    "MapSpace",
    "MinkowskiSpace",
    "Prepared",
    "Space",
    "check_matrix",
    "check_matrix_tile",
    "make_space",
]
