"""Figure 5 of the survey: three chains in a stripe, and only the combined error prefers one."""

from __future__ import annotations

import matplotlib
import numpy as np

import somscale as ss

matplotlib.use("Agg")
import matplotlib.pyplot as plt

LENGTH, WIDTH = 1.5, 0.29
samples = np.random.default_rng(0).uniform(-0.5, 0.5, (4_000, 2)) * [LENGTH, WIDTH]

# The example of Kaski & Lagus: 25 units one after the other along the stripe.  The sine is close to
# the samples, but winds; the straight one in the middle is what one would draw; the shifted one is
# as simple, but off the middle.
x = np.linspace(-LENGTH / 2, LENGTH / 2, 25)
heights = {
    "sine": 0.109 * np.sin(2 * np.pi * 3 * x / LENGTH),
    "straight": np.zeros(25),
    "shifted": np.full(25, 0.098),
}
chain = ss.Grid.chain(25)
maps = {name: ss.codebook(np.column_stack([x, y]), chain) for name, y in heights.items()}

indices = ["quantization_error", "topographic_error", "combined_error"]
q = ss.evaluate(samples, maps, metrics=indices)
value = q["value"]
print(value.to_pandas().T.round(4).to_string(), "\n")

least = {index: value.sel(metric=index).min().item() for index in indices}
for index in indices:
    best = value["candidate"].values[value.sel(metric=index) == least[index]]
    print(f"{index} prefers: {', '.join(best)}")
print("The first is blind to windings, and the second to an offset.  The combined error, the way")
print("from a sample to its best unit and on over the map to its second-best, sees both.")

figure, panels = plt.subplots(3, 1, figsize=(3.9, 3.05), layout="constrained")
for panel, (name, som) in zip(panels, maps.items(), strict=True):
    ss.plot.map_in_data(samples, som, ax=panel)
    numbers = zip(["QE", "TE", "CE"], value.sel(candidate=name).values, strict=True)
    words = ",  ".join(f"{index} {number:.3f}" for index, number in numbers)
    panel.set_title(f"{name}:  {words}", fontsize=8)
    panel.set(aspect="equal", xticks=[], yticks=[], xlabel="", ylabel="")
figure.savefig("survey_figure_5.png", dpi=200)

# the survey's numbers
combined = value.sel(metric="combined_error")
np.testing.assert_allclose(combined, [0.173, 0.138, 0.171], atol=0.002)
assert combined.idxmin("candidate") == "straight"
# the quantization error prefers the sine, and the topographic error cannot tell the others apart
assert value.sel(metric="quantization_error").idxmin("candidate") == "sine"
topographic = value.sel(metric="topographic_error")
assert (topographic.sel(candidate=["straight", "shifted"]) == 0).all()
assert topographic.sel(candidate="sine") > 0.05
