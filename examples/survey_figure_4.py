"""Figure 4 of the survey: the topographic function of a chain of units laid into a square."""

from __future__ import annotations

import matplotlib
import numpy as np

import somscale as ss

matplotlib.use("Agg")
import matplotlib.pyplot as plt

rng = np.random.default_rng(0)
square = rng.random((5_000, 2))
grids = {"chain of 100 units": ss.Grid.chain(100), "grid of 10 × 10": ss.Grid(10, 10)}
maps = {name: ss.train(square, grid, seed=0, epochs=40) for name, grid in grids.items()}

# TF(k): pairs of units that share samples though they are more than k apart on the map.  Divided
# by the longest distance, and by the number of pairs that there may be, maps of any size compare.
tf = {
    name: ss.metrics.topographic_function(square, som, normalize=True) for name, som in maps.items()
}
reach = {name: float(values["delta"].where(values > 0).max()) for name, values in tf.items()}
for name, grid in grids.items():
    print(f"{name}: TF(1) = {tf[name].values[1]:.4f},", end=" ")
    longest = grid.max_distance
    print(f"nil from k = {reach[name] * longest + 1:.0f} on, of {longest:.0f}")

# The chain must fold to fill the square, and its folds lie side by side: it has too few
# dimensions.  Of the opposite, a grid on samples that lie along a line, the survey's function
# tells less than Villmann's, which has a second side for it, k < 0: units that adjoin on the map
# and are more than |k| steps apart among the units that share samples.
line = np.linspace(0, 1, 5_000)[:, None] * [1.0, 0.5] + 0.002 * rng.standard_normal((5_000, 2))
flat = ss.train(line, ss.Grid(10, 10), seed=0, epochs=40)
villmann = ss.metrics.villmann_function
sides = {
    "chain in the square": villmann(square, maps["chain of 100 units"], delta=[-2, 2]),
    "grid in the square": villmann(square, maps["grid of 10 × 10"], delta=[-2, 2]),
    "grid on a line": villmann(line, flat, delta=[-2, 2]),
}
print("\npairs of units by Villmann's function:")
for name, (grid_broken, data_broken) in sides.items():
    print(f"{name}: {data_broken:.0f} at k = 2, {grid_broken:.0f} at k = -2")

figure, (left, right) = plt.subplots(1, 2, figsize=(3.9, 2.1), layout="constrained")
ss.plot.map_in_data(square, maps["chain of 100 units"], ax=left)
left.set(aspect="equal", xticks=[], yticks=[], xlabel="", ylabel="")
left.set_title("the chain in the square", fontsize=8)
for name, values in tf.items():
    right.plot(values["delta"], values, ".-", markersize=3, linewidth=0.9, label=name)
right.set_xlabel("k / longest distance", fontsize=8)
right.set_title("topographic function", fontsize=8)
right.tick_params(labelsize=8)
right.legend(fontsize=7)
figure.savefig("survey_figure_4.png", dpi=200)

chain, fitting = (values.values for values in tf.values())
# as the survey has it: of the chain it falls with k, and vanishes before k is the chain's length
assert (np.diff(chain) <= 0).all()
assert chain[1] > chain[50] > 0
assert 0.5 < reach["chain of 100 units"] < 1
assert chain[-1] == 0
# the grid fits: cells that touch at a corner are two steps apart, and no others share samples
assert (fitting[2:] == 0).all()
assert chain[2] > 0.01
# each mismatch has its side
assert sides["chain in the square"][1] > 100 > sides["chain in the square"][0]
assert (sides["grid in the square"] == 0).all()
assert sides["grid on a line"][0] > 2 * sides["grid on a line"][1]
