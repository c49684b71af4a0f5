"""First steps: train a map on handwritten digits and ask whether to trust it."""

from __future__ import annotations

from sklearn.datasets import load_digits

import somscale as ss

digits = load_digits()
samples = digits.data / 16  # 1797 images of 8 × 8 pixels

grid = ss.Grid(10, 10, topology="hexagonal")
som = ss.train(samples, grid, epochs=15, seed=0)
q = ss.evaluate(samples, som, labels=digits.target, temperature=[1.0, 2.0])

print(q["value"].to_series().map("{:.5g}".format).to_string(), "\n")

# Every value says which way is better.
for name in ("quantization_error", "topographic_error", "purity"):
    index = q.sel(metric=name)
    print(f"{name}: {index['value'].item():.4f}, {index['direction'].item()} is better")

# The distortion at any temperature comes from the same read, and so do its parts.
print("\nshares of the distortion:")
print((q["distortion_parts"] / q["distortion"]).round(3).to_pandas().to_string())

# Values of units lie on the map: the units with the worst fit, and those nobody uses.
worst = q["unit_quantization_error"].fillna(0).argsort()[-3:].values
print("\nworst fitting units (row, col):", [(int(q.row[u]), int(q.col[u])) for u in worst])
print("units without samples:", int((q["hits"] == 0).sum()))
