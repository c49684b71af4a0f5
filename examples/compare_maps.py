"""Which of several maps to keep: all candidates judged in one read of the samples."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_swiss_roll

import somscale as ss

samples, _ = make_swiss_roll(6_000, random_state=0)

maps = {
    f"{rows}x{cols} {topology}": ss.train(
        samples, ss.Grid(rows, cols, topology=topology), epochs=12, seed=0
    )
    for rows, cols in [(5, 5), (8, 8), (16, 4)]
    for topology in ("rectangular", "hexagonal")
}
q = ss.evaluate(samples, maps, metrics=["quantization_error", "topographic_error", "dead_units"])
table = q["value"].to_pandas()
print(table.round(4).to_string(), "\n")

# A finer map quantizes better and tends to fold more: keep what nothing else beats on both.
error, folds = table["quantization_error"], table["topographic_error"]
kept = [name for name in table.index if not np.any((error < error[name]) & (folds <= folds[name]))]
print("not beaten on both:", ", ".join(kept))
