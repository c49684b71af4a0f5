"""What the user should know of a map, in words."""

from __future__ import annotations

import numpy as np

from somscale._types import Float
from somscale.topology import Grid
from somscale.training.history import History

__all__ = ["note_on"]


def note_on(grid: Grid, codes: Float, history: History) -> str:
    """Sentences on a training that ran, but whose map says little; empty where there are none."""
    sentences = []
    if grid.size > history.n_samples:
        sentences.append(
            f"the grid has more units ({grid.size}) than there are samples ({history.n_samples}): "
            "some units stand for no sample"
        )
    least = 8 * np.finfo(np.float64).eps * np.abs(codes).max()
    if np.ptp(codes, axis=0).max() <= least and history.rows["quantization_error"][-1] <= least:
        sentences.append("all samples that take part are equal: every unit stands for the same")
    return "; ".join(sentences)
