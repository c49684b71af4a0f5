"""The map of a self-organizing map: units on a grid, and neighbourhood kernels over it."""

from __future__ import annotations

from somscale.topology.grid import Grid
from somscale.topology.lattice import Delta, Neighborhood, Offset, Periodic, Topology
from somscale.topology.neighborhood import KERNELS, NeighborhoodKernel, neighborhood_kernel
from somscale.topology.paths import group_units, path_lengths
from somscale.topology.symmetries import symmetries

__all__ = [
    "KERNELS",
    "Delta",
    "Grid",
    "Neighborhood",
    "NeighborhoodKernel",
    "Offset",
    "Periodic",
    "Topology",
    "group_units",
    "neighborhood_kernel",
    "path_lengths",
    "symmetries",
]
