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
from somscale.plot.cells import cells_of
from somscale.reporting import drawn, loading
from somscale.reporting.cells import unit_cells


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


class Read:
    """Samples that count how often their chunks are read."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.shape, self.dtype, self.ndim = values.shape, values.dtype, values.ndim
        self.count = 0

    def __getitem__(self, place: Any) -> Any:
        self.count += 1
        return self.values[place]

    def lazy(self) -> da.Array:
        return da.from_array(self, chunks=(45, 4))


@pytest.mark.parametrize("most", [0, 2**28])
def test_a_result_of_any_size_is_one_pass(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MOST_BYTES", most)
    monkeypatch.setattr(drawn, "MOST_POINTS", 25)
    kappas: dict[str, Any] = {"kappa_s": list(range(1, 60)), "kappa_t": [*range(40), 70]}
    metrics = ["rank_quality", "pointwise_rank_quality", "sample_q_nx", "trustworthiness"]
    read = Read(cases.samples())
    plane = cases.samples()[:, :2]
    q = ss.evaluate(read.lazy(), {"a": plane, "b": plane[:, ::-1]}, metrics=metrics, **kappas)
    projection = {"a": plane, "b": plane[:, ::-1]}
    before = read.count
    in_memory = q.compute()
    once = read.count - before
    page, count = reported(q, projection=projection)
    assert (count, read.count - before) == (1, 2 * once)
    own, wanted = Page(page), Page(ss.report(in_memory, projection=projection).html)
    assert own.sections == wanted.sections
    assert own.json("data-ranks")["points"] == wanted.json("data-ranks")["points"]
    assert own.json("data-ranks") == wanted.json("data-ranks")


def test_large_colours_are_computed_along_with_the_result() -> None:
    read, plane = Read(cases.samples()), cases.samples()[:, :2]
    name = "pointwise_rank_quality"
    shades = ss.evaluate(read.lazy(), plane, metrics=name, kappa_s=[2, 9], kappa_t=[1, 4])[name]
    q = ss.evaluate(read.lazy(), plane, metrics=["q_nx", "sample_q_nx"])
    page, count = reported(q, projection=plane, pointwise=shades)
    assert count == 1
    wanted = Page(ss.report(q.compute(), projection=plane, pointwise=shades.compute()).html)
    assert Page(page).json("data-ranks") == wanted.json("data-ranks")


def test_silhouettes_of_a_lazy_clustering_are_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "MOST_POINTS", 25)
    clusters = np.repeat([0, 1, 2], 30)
    lazy = da.from_array(cases.samples(), chunks=(45, 4))
    q = ss.evaluate(lazy, clusters, metrics=["sample_silhouette", "silhouette_score"])
    page, count = reported(q, projection=clusters)
    assert count == 1
    pages = [Page(page), Page(ss.report(q.compute(), projection=clusters).html)]
    sources = [[a["src"] for a in own.all("img")] for own in pages]
    assert sources[0] == sources[1]
    assert sources[0]


def test_large_composites_are_thinned_before_they_are_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loading, "MOST_BYTES", 0)
    som = ss.train(climate(), ss.Grid(4, 4), epochs=2, sample_dims="time", seed=0)
    metrics = ["hits", "composite", "unit_label_entropy"]
    labels = np.arange(60) % 3
    asked: dict[str, Any] = {"labels": labels, "metrics": metrics, "sample_dims": "time"}
    q = ss.evaluate(climate().chunk(time=30), {"one": som, "other": som}, **asked)
    page, count = reported(q, projection={"one": som, "other": som})
    assert count == 1
    assert page.count("12 of 16 units, each with its row and column") == 2
    assert "not shown here" not in page


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


@pytest.mark.parametrize(
    ("grid", "lines"),
    [
        (ss.Grid(4, 3, topology="hexagonal", periodic=True), 1),
        (ss.Grid(4, 3, periodic="cols"), 2),
        (ss.Grid.chain(12, periodic=True), 2),
        (ss.Grid(4, 3), 0),
    ],
)
def test_the_map_shows_where_it_goes_on_as_the_picture_does(grid: ss.Grid, lines: int) -> None:
    cells = unit_cells(grid)
    assert len(cells.seams) == lines
    drawn_by_plot = cells_of(grid).glued()
    assert all(map(np.array_equal, cells.seams, drawn_by_plot))
    som = ss.train(cases.samples(), grid, epochs=1, seed=0)
    q = ss.evaluate(cases.samples(), som, metrics=["hits", "quantization_error"])
    page = Page(ss.report(q).html)
    words = "Where the map goes on at the other side, its border is dashed."
    assert (words in page.sections["maps"]) is (lines > 0)
    assert ('"name":"seams"' in page.data["figures-map"]) is (lines > 0)
