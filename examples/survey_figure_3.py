"""Figure 3 of the survey: the same square, mapped in order, with folds and without any order."""

from __future__ import annotations

import matplotlib
import numpy as np

import somscale as ss

matplotlib.use("Agg")
import matplotlib.pyplot as plt

rng = np.random.default_rng(0)
samples = rng.random((2_000, 2))
grid = ss.Grid(10, 10)

# The same first codes and the same number of epochs.  What differs is how far the neighbourhood
# reaches at first: over the whole map, over a corner of it, or not even to the next unit.
first = rng.choice(samples, grid.size, replace=False)
reach = {"ordered": (6.0, 1.0), "folded": (1.5, 0.7), "disordered": (0.1, 0.1)}
maps = {
    level: ss.train(samples, grid, init=first, epochs=30, temperature=temperature)
    for level, temperature in reach.items()
}

indices = [
    "quantization_error",
    "topographic_error",
    "combined_error",
    "kruskal_shepard_error",
    "c_measure",
]
# The C measure is a sum over pairs of samples; their mean is easier to read.
q = ss.evaluate(samples, maps, metrics=indices, normalize=True)
table = q["value"].to_pandas().T
table["better"] = q["direction"].to_series()
print(table.round(4).to_string(), "\n")

value = q["value"]
for index in indices[1:]:
    best = value.sel(metric=index) * (1 if q["direction"].sel(metric=index) == "higher" else -1)
    print(f"{index} prefers the {best.idxmax('candidate').item()} map")
best = value.sel(metric="quantization_error").idxmin("candidate")
print(f"the quantization error prefers the {best.item()} one: it knows nothing of the grid")

figure, panels = plt.subplots(1, 3, figsize=(3.9, 2.15), layout="constrained")
for panel, (level, som) in zip(panels, maps.items(), strict=True):
    ss.plot.map_in_data(samples, som, ax=panel, linewidths=0.6)
    numbers = zip(["QE", "TE", "CE", "KSE", "C"], value.sel(candidate=level).values, strict=True)
    panel.set_xlabel("\n".join(f"{index} {number:.3f}" for index, number in numbers), fontsize=8)
    panel.set_title(level, fontsize=8)
    panel.set(aspect="equal", xticks=[], yticks=[], ylabel="")
figure.savefig("survey_figure_3.png", dpi=200)

# As the survey has it: TE, CE and KSE rise with the disorder, and C falls.
for index in indices[1:4]:
    assert (np.diff(value.sel(metric=index)) > 0).all(), index
assert (np.diff(value.sel(metric="c_measure")) < 0).all()
# in order nearly every sample lies between units that adjoin; without order nearly none does
topographic = value.sel(metric="topographic_error")
assert topographic.sel(candidate="ordered") < 0.1
assert topographic.sel(candidate="disordered") > 0.9
assert best == "disordered"
