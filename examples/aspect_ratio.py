"""How long should a map be: the topographic product over the aspect ratio of grid and samples."""

from __future__ import annotations

import matplotlib
import numpy as np
import pandas as pd

import somscale as ss

matplotlib.use("Agg")
import matplotlib.pyplot as plt

# After Bauer & Pawelzik (1992): 256 units, from a chain to a square, and distances on the grid as
# they are in the plane.  The samples fill rectangles of the same proportions: the square has two
# dimensions, and 256:1 is nearly a line.
shapes = [(256, 1), (128, 2), (64, 4), (32, 8), (16, 16)]
unit_square = np.random.default_rng(0).random((4_000, 2))

products = {}
for length, width in shapes:
    samples = unit_square * [length / width, 1.0]
    for rows, cols in shapes:
        grid = ss.Grid(rows, cols, delta="euclidean")
        som = ss.train(samples, grid, seed=0, epochs=20)
        # it is of the map alone: the samples are not asked for
        product = ss.metrics.topographic_product(som).item()
        products[f"{length // width}:1", f"{rows}×{cols}"] = product
table = pd.Series(products).unstack(sort=False)
print("topographic product, samples of these sides (rows) on these grids (columns)")
print(table.round(4).to_string(), "\n")

nearest = table.abs().idxmin(axis="columns")
for sides, row in table.iterrows():
    print(f"samples {sides} are fitted by", end=" ")
    print(" or ".join(row.index[row.abs() < 0.002]), f"(nearest to 0: {nearest[sides]})")
print("Below 0 the map has too few dimensions, above 0 too many; the longer the rectangle, the")
print("flatter the zero, and the less it parts a grid from the next longer one.")

figure, panel = plt.subplots(figsize=(3.9, 3.2), layout="constrained")
image = panel.imshow(table, cmap="RdBu_r", vmin=-0.1, vmax=0.1)
for (row, col), product in np.ndenumerate(table):
    shade = "white" if abs(product) > 0.06 else "black"
    # what rounds to nothing has no sign
    text = f"{round(product, 3) + 0.0:.3f}"
    panel.text(col, row, text, ha="center", va="center", fontsize=8, color=shade)
panel.set_xticks(range(5), table.columns, fontsize=8)
panel.set_yticks(range(5), table.index, fontsize=8)
panel.set_xlabel("grid of units", fontsize=8)
panel.set_ylabel("sides of the samples' rectangle", fontsize=8)
bar = figure.colorbar(image, shrink=0.85, ticks=[-0.1, -0.05, 0, 0.05, 0.1])
bar.set_label("topographic product", fontsize=8)
bar.ax.tick_params(labelsize=8)
figure.savefig("aspect_ratio.png", dpi=200)

product = table.to_numpy()
steps = np.subtract.outer(np.arange(5), np.arange(5))  # how much longer the grid is
# about zero on the grid of the samples' own proportions
assert (abs(product[steps == 0]) < 0.002).all()
# a squarer grid has always the larger product
assert (np.diff(product, axis=1) > 0).all()
# too many dimensions are always told, and too few where the grid is 16 times too long or more
assert (product[steps == -1] > 0.002).all()
assert (product[steps < -1] > 0.004).all()
assert (product[steps > 1] < -0.002).all()
