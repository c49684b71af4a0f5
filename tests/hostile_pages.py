"""Pages on results whose every text would leave its place."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import report_pages as cases
import xarray as xr
from report_pages import EVIL

import somscale as ss

TEXTS = [
    '"><img src=x onerror=window.evil=1>',
    "]]></script><svg onload=window.evil=1>",
    "'-window.evil=1-'{{ 7 * 7 }}${window.evil=1}",
    "$$\\frac{a}{$b$}$$ a_{",
    "line\u2028para\u2029<!--<script>",
    "half \ud800 \udfff, turned \u202egnp.exe\u2066, null \x00, bell \x07",
    "w" * 10_000,
    "",
]


def hostile(q: xr.Dataset, names: bool) -> xr.Dataset:
    """The result with texts wherever a file could have them."""
    q = q.copy(deep=True)
    for place, name in enumerate(q.data_vars):
        for attribute in ("long_name", "units", "note", "direction", "range", "source"):
            q[name].attrs[attribute] = TEXTS[place % len(TEXTS)]
    for place, name in enumerate(("long_name", "metric_units", "direction")):
        if name in q.coords:
            own = [TEXTS[(i + place) % len(TEXTS)] for i in range(q.sizes["metric"])]
            q = q.assign_coords({name: ("metric", np.array(own))})
    if "note" in q:
        q["note"] = xr.full_like(q["note"].astype(object), TEXTS[0])
    q.attrs |= {name: TEXTS[0] for name in ("somscale_version", "labels_from", EVIL)}
    q.attrs["title"] = q.attrs["anything"] = TEXTS[5]
    q.attrs["parameters"] = json.dumps({EVIL: {TEXTS[0]: TEXTS[1]}, "b": TEXTS[4]})
    q.attrs["indices_left_out"] = json.dumps({TEXTS[1]: [EVIL]})
    q.attrs["stored_matrices"] = json.dumps({"read": [EVIL], "passed_over": {EVIL: TEXTS[0]}})
    if names:
        q = q.assign_coords(candidate=np.array([TEXTS[0], TEXTS[6]]))
    return q


@cache
def pages() -> dict[str, str]:
    plane, other = cases.embeddings().values()
    labels = np.array((TEXTS * 12)[:90])
    shades = cases.pointwise().assign_coords(candidate=[TEXTS[0], TEXTS[6]])
    classes = np.array(TEXTS[3:6])
    of_map = hostile(cases.of_map(), names=False).assign_coords({"class": classes})
    return {
        "embedding": ss.report(
            hostile(cases.of_embeddings(), names=True),
            projection={TEXTS[0]: plane, TEXTS[6]: other},
            labels=labels,
            pointwise=shades,
            title=" ".join(TEXTS[:6]),
        ).html,
        "map": ss.report(of_map, projection=cases.som(), title=EVIL).html,
    }
