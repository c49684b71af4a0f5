"""Which size, topology and run: 24 maps trained, compared in one read, and one kept."""

from __future__ import annotations

import itertools

import numpy as np

import somscale as ss

# Noisy days around a curved sheet in ten dimensions: two numbers tell what the weather does.
rng = np.random.default_rng(0)
u, v = rng.random((2, 8_000))
sheet = np.column_stack([u, v, np.sin(3 * u), np.cos(3 * v), u * v])
samples = sheet @ rng.standard_normal((5, 10)) + 0.05 * rng.standard_normal((8_000, 10))

maps = {
    f"{rows}x{cols} {topology[:4]} {seed}": ss.train(
        samples, ss.Grid(rows, cols, topology=topology), epochs=8, seed=seed, init="samples"
    )
    for (rows, cols), topology, seed in itertools.product(
        [(4, 4), (6, 6), (8, 8), (16, 4)], ["rectangular", "hexagonal"], range(3)
    )
}
found = ss.compare(
    samples, maps, ["quantization_error", "topographic_error", "simplified_silhouette"]
)

table = found["value"].to_pandas().T
table["mean rank"] = found["mean_rank"].to_pandas()
table["on the front"] = found["on_front"].to_pandas()
print(table.sort_values("mean rank").round(4).to_string(), "\n")

# A finer map quantizes better and folds more: on the front no other map is better in both.
front = table.index[table["on the front"]]
print("on the front:", ", ".join(front))

# What the samples cannot tell apart: here the choice is free, and may go by something else.
for metric in found["metric"].values:
    own = found.sel(metric=metric)
    same = own["candidate"].values[own["indistinguishable"] == 1]
    low, high = (
        own[f"interval_{end}"].sel(candidate=own["best"].item()).item() for end in ("low", "high")
    )
    print(f"{metric}: best {own['best'].item()} [{low:.4f}, {high:.4f}],")
    print("   not to be told from it:", ", ".join(n for n in same if n != own["best"]) or "none")

# Two runs of one size find the same regimes, in other places of the map.
one, two = "4x4 rect 0", "4x4 rect 1"
matched = ss.match_units(samples, maps[one], maps[two])
print(f"\nunit 0 of {one!r} is unit {matched['partner'].values[0]} of {two!r};")
print(f"{matched.attrs['shared_samples'] / len(samples):.0%} of the samples agree")

assert found.sizes["candidate"] == 24
assert 1 < len(front) < 24
# the finest maps quantize best, and each size better than the next smaller one
error = found["value"].sel(metric="quantization_error").to_pandas()
means = error.groupby(error.index.str.split().str[0]).mean()
assert means["8x8"] < means["6x6"] < means["4x4"]
assert found["best"].sel(metric="quantization_error").item().startswith(("8x8", "16x4"))
# every candidate that another one beats in both is off the front
folds = found["value"].sel(metric="topographic_error").to_pandas()
for name in error.index.difference(front):
    assert ((error <= error[name]) & (folds <= folds[name])).sum() > 1
# intervals hold their values, and the small maps are not mistaken for the best
assert (found["interval_low"] <= found["value"]).all()
assert (found["value"] <= found["interval_high"]).all()
small = found["indistinguishable"].sel(metric="quantization_error", candidate=one)
assert small == 0
assert matched.attrs["shared_samples"] > 0.5 * len(samples)
