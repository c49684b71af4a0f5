"""The page on a lazy result: computed once; and what it says, begins with and draws of maps."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import report_pages as cases
import xarray as xr
from report_pages import Page

import somscale as ss


class Counting:
    """A scheduler that counts computations."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, graph: Any, keys: Any, **keywords: Any) -> Any:
        self.count += 1
        return dask.get(graph, keys, **keywords)


def reported(q: xr.Dataset, **what: Any) -> tuple[str, int]:
    counting = Counting()
    with dask.config.set(scheduler=counting):
        page = ss.report(q, **what).html
    return page, counting.count


METRICS = ["trustworthiness", "continuity", "q_nx", "rank_quality", "auc_r_nx", "sample_q_nx"]


@pytest.mark.parametrize(
    ("projection", "computed"), [(None, 1), (cases.samples()[:, :2], 1)], ids=["without", "with"]
)
def test_a_lazy_embedding_is_computed_once(projection: Any, computed: int) -> None:
    lazy = da.from_array(cases.samples(), chunks=(45, 4))
    metrics = [*METRICS, "coranking_matrix"]
    q = ss.evaluate(lazy, cases.samples()[:, :2], metrics=metrics)
    assert q["q_nx"].chunks is not None
    page, count = reported(q, projection=projection)
    assert count == computed
    in_memory = q.compute()
    assert Page(page).sections == Page(ss.report(in_memory, projection=projection).html).sections
    assert q["q_nx"].chunks is not None, "the result given stays as it was"


def test_colours_of_points_are_computed_once() -> None:
    lazy = da.from_array(cases.samples(), chunks=(45, 4))
    plane = cases.samples()[:, :2]
    kappas: dict[str, Any] = {"kappa_s": [2, 10, 40], "kappa_t": [0, 5, 30]}
    name = "pointwise_rank_quality"
    shades = ss.evaluate(lazy, plane, metrics=name, **kappas)[name]
    assert shades.chunks is not None
    q = ss.evaluate(cases.samples(), plane, metrics="q_nx")
    assert reported(q, projection=plane, pointwise=shades)[1] == 1


def climate() -> xr.DataArray:
    values = np.random.default_rng(1).normal(size=(60, 3, 5))
    coords = {"lat": [10.0, 0.0, -10.0], "lon": [0.0, 20.0, 40.0, 60.0, 80.0]}
    attrs = {"units": "K", "long_name": "temperature"}
    return xr.DataArray(values, dims=("time", "lat", "lon"), coords=coords, attrs=attrs)


def test_a_lazy_map_is_computed_once_and_its_composites_are_fields() -> None:
    som = ss.train(climate(), ss.Grid(4, 4), epochs=2, sample_dims="time", seed=0)
    metrics = ["hits", "composite", "quantization_error", "u_matrix"]
    q = ss.evaluate(climate().chunk(time=30), som, metrics=metrics, sample_dims="time")
    page, count = reported(q)
    assert count == 1
    (alt,) = [a["alt"] for a in Page(page).all("img") if "fields of" in str(a["alt"])]
    assert str(alt).startswith("Composite of each unit [K]: fields of 12 units over lon and lat")
    assert "the 12 of 16 units with the most samples" in page
    assert "not shown here" not in page


def test_code_vectors_of_a_turned_archive_are_fields_of_each_map() -> None:
    turned = climate().transpose("time", "lon", "lat")
    maps = {
        f"{n} rows": ss.train(turned, ss.Grid(n, 2), epochs=2, sample_dims="time", seed=0)
        for n in (2, 3)
    }
    q = ss.evaluate(turned, maps, metrics=["codes"], sample_dims="time")
    alts = [str(a["alt"]) for a in Page(ss.report(q, projection=maps).html).all("img")]
    assert [a.split(",")[0] for a in alts] == [
        "Code vectors [K]",
        "Code vectors [K]",
    ]
    assert "fields of 4 units over lon and lat" in alts[0]
    assert "fields of 6 units over lon and lat" in alts[1]


def test_code_vectors_of_the_given_map_stand_in_for_those_of_the_result() -> None:
    som = ss.train(climate(), ss.Grid(2, 2), epochs=2, sample_dims="time", seed=0)
    q = ss.evaluate(climate(), som, metrics=["quantization_error"], sample_dims="time")
    assert "fields of" not in ss.report(q).html
    page = ss.report(q, projection=som).html
    assert "Code vectors: fields of 4 units over lon and lat" in page


def of_ranks(trust: float, continuity: float) -> str:
    q = ss.evaluate(
        cases.samples(), cases.samples()[:, :2], metrics=["trustworthiness", "continuity"]
    )
    q["trustworthiness"][:], q["continuity"][:] = trust, continuity
    return ss.report(q).html


def test_false_and_true_neighbours_are_told_by_how_far_they_move() -> None:
    assert "False neighbours come from further away than true ones are moved" in of_ranks(0.7, 0.8)
    assert "True neighbours are moved further away than false ones come" in of_ranks(0.8, 0.7)
    for near in (0.7, 0.704, np.nan):
        assert "further away" not in of_ranks(0.7, near).split('id="indices"')[0]


def test_the_cursor_begins_where_points_have_their_colours() -> None:
    data = Page(
        ss.report(
            cases.of_embeddings(), projection=cases.embeddings(), pointwise=cases.pointwise()
        ).html
    ).json("data-ranks")
    heat = data["heat"]
    s, t = heat["at"]
    assert [heat["kappa_s"][s], heat["kappa_t"][t]] in data["points"]["pairs"]


def test_an_unknown_end_of_a_range_is_a_question_mark() -> None:
    q = ss.evaluate(cases.samples(), cases.samples()[:, :2], metrics="mrre_intrusion")
    table = Page(ss.report(q).html).sections["indices"]
    assert "[0, ?]" in table
    assert "unknown" not in table
