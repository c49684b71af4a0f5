"""Maps in the files and objects of other tools: read as these tools mean them, or refused.

In ``data/codebooks`` the ``kohonen_…`` tables were written by R's kohonen 3.0.11, which also gave
its distances between units and its mapping of samples; ``somoclu_objects.npz`` has codebooks,
U-matrices and best units of somoclu 1.7.6.  The others keep to their formats to the byte.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from minisom import MiniSom
from numpy.typing import NDArray

import somscale as ss
from somscale.cli import main
from somscale.codebook import as_map
from somscale.errors import InputError
from somscale.store import write_dataset

DATA = Path(__file__).parent / "data" / "codebooks"
RECTANGLE = ss.Grid(2, 3)
KINDS = [(g, m) for g in ("rectangular", "hexagonal") for m in ("planar", "toroid")]


def grid_of(som: xr.Dataset) -> ss.Grid:
    return as_map(som).grid


def placed(tmp_path: Path, name: str, text: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def table(name: str) -> NDArray[np.float64]:
    return np.loadtxt(DATA / name, delimiter=",", skiprows=1)


# --- SOM_PAK


def test_som_pak_files_are_read_row_by_row() -> None:
    som = ss.read_codebook(DATA / "som_pak_hexa.cod")
    assert grid_of(som) == ss.Grid(2, 3, topology="hexagonal", offset="odd")
    assert som["codes"].values[:, 0].tolist() == [0.125, 1.125, 2.125, 0.25, 1.25, 2.25]
    assert som["codes"].values[:, 2].tolist() == [3e-05, 2.25, 12.5, -7, 1e6, 0.1]
    assert som["feature"].values.tolist() == ["temperature", "salinity", "oxygen"]
    assert som["label"].values.tolist() == ["", "spring", "spring fall", "", "7", ""]
    assert som.attrs["source_format"] == "SOM_PAK .cod"
    assert "odd rows" in som.attrs["orientation"]


@pytest.mark.parametrize("rows", [2, 3, 4, 5])
def test_som_pak_shifts_odd_rows(tmp_path: Path, rows: int) -> None:
    cols = 3
    text = f"1 hexa {cols} {rows} gaussian\n" + "0 \n" * (rows * cols)
    grid = grid_of(ss.read_codebook(placed(tmp_path, "map.cod", text)))
    y, x = np.divmod(np.arange(rows * cols), cols)
    # the distance of SOM_PAK: half a cell less from an even row to an odd one
    apart = (x[:, None] - x).astype(float)
    odd_rows_apart = (y[:, None] - y) % 2 == 1
    apart[odd_rows_apart] += np.where(y % 2 == 0, -0.5, 0.5)[:, None].repeat(len(y), 1)[
        odd_rows_apart
    ]
    distance = np.sqrt(apart**2 + 0.75 * (y[:, None] - y) ** 2)
    units = np.arange(rows * cols)
    np.testing.assert_array_equal(grid.adjacent(units[:, None], units), np.isclose(distance, 1))


def test_som_pak_components_may_be_missing_everywhere() -> None:
    som = ss.read_codebook(DATA / "som_pak_rect.cod")
    assert grid_of(som) == ss.Grid(3, 2)
    assert np.isnan(som["codes"].values[:, 2]).all()
    assert som["codes"].values[:, [0, 1, 3]].tolist() == [
        *([0, 0.5, 1], [0, 1.5, 1], [1, 0.5, 2], [1, 1.5, 2], [2, 0.5, 3], [2, 1.5, 3])
    ]
    assert "feature" not in som.coords
    assert "label" not in som.coords


# --- somoclu


def stand_in(kind: tuple[Any, Any], **changed: Any) -> Any:
    """An object with what a trained Somoclu has."""
    with np.load(DATA / "somoclu_objects.npz") as held:
        facts = {
            "codebook": held[f"{kind[0]}_{kind[1]}_codebook"],
            "_grid_type": kind[0],
            "_map_type": kind[1],
            "_n_rows": 4,
            "_n_columns": 3,
        }
    made = type("Somoclu", (SimpleNamespace,), {"__module__": "somoclu.train"})
    return made(**(facts | changed))


@pytest.mark.parametrize("kind", KINDS)
def test_somoclu_objects_keep_rows_columns_and_wrapping(kind: tuple[Any, Any]) -> None:
    trained = stand_in(kind)
    som = ss.from_somoclu(trained)
    expected = ss.Grid(4, 3, topology=kind[0], offset="even", periodic=kind[1] == "toroid")
    assert grid_of(som) == expected
    np.testing.assert_array_equal(som["codes"], trained.codebook.reshape(12, 3))


@pytest.mark.parametrize("kind", KINDS)
def test_best_units_are_somoclus(kind: tuple[Any, Any]) -> None:
    with np.load(DATA / "somoclu_objects.npz") as held:
        samples, bmus = held["samples"], held[f"{kind[0]}_{kind[1]}_bmus"]
    found = ss.project(samples, stand_in(kind))["bmu"].values
    assert found.tolist() == [int(row * 3 + col) for col, row in bmus]


@pytest.mark.parametrize("wrapping", ["planar", "toroid"])
def test_neighbours_of_a_rectangle_are_somoclus(wrapping: str) -> None:
    som = ss.from_somoclu(stand_in(("rectangular", wrapping)))
    grid, codes = grid_of(som), som["codes"].values
    with np.load(DATA / "somoclu_objects.npz") as held:
        heights = held[f"rectangular_{wrapping}_umatrix"].ravel()
    units = np.arange(12)
    adjoin = grid.adjacent(units[:, None], units, "vertex")
    apart = np.linalg.norm(codes[:, None] - codes, axis=2)
    found = (apart * adjoin).sum(1) / adjoin.sum(1)
    np.testing.assert_allclose(found, heights, rtol=1e-6)


def test_a_somoclu_needs_no_conversion() -> None:
    trained = stand_in(("hexagonal", "toroid"))
    samples = np.load(DATA / "somoclu_objects.npz")["samples"].astype(float)
    assert ss.evaluate(samples, trained).identical(ss.evaluate(samples, ss.from_somoclu(trained)))


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"codebook": None}, "no codebook yet"),
        ({"codebook": np.zeros((4, 4, 3))[:, :3][:3, :2]}, r"shape \(3, 2, 3\), and its map 4"),
        ({"_grid_type": "triangular"}, "'triangular' is neither"),
        ({"_map_type": "sphere"}, "'sphere' is neither"),
        ({"_n_rows": 3, "_grid_type": "hexagonal", "_map_type": "toroid"}, "toroid of 3 rows"),
    ],
)
def test_somoclus_that_are_no_maps_are_refused(changed: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        ss.from_somoclu(stand_in(("rectangular", "planar"), **changed))


def test_what_is_no_somoclu_is_refused() -> None:
    with pytest.raises(InputError, match=r"this object is no Somoclu: .*codebook"):
        ss.from_somoclu(object())


def test_wts_need_a_grid_or_say_what_they_are_taken_for() -> None:
    path = DATA / "somoclu.wts"
    with pytest.warns(UserWarning, match=r"planar rectangle of 4 rows and 3 .*grid=ss\.Grid\(4, 3"):
        som = ss.read_codebook(path)
    assert grid_of(som) == ss.Grid(4, 3)
    grid = ss.Grid(4, 3, topology="hexagonal", offset="even", periodic=True)
    som = ss.read_codebook(path, grid=grid)
    assert grid_of(som) == grid
    trained = stand_in(("hexagonal", "planar"))
    np.testing.assert_allclose(som["codes"], trained.codebook.reshape(12, 3), atol=6e-11)


def test_wts_of_dataio_say_that_they_wrap(tmp_path: Path) -> None:
    som = ss.read_codebook(DATA / "dataio_toroid.wts")
    assert grid_of(som) == ss.Grid(2, 3, periodic=True)
    assert som["codes"].values.tolist() == [[n + 0.5, n + 1] for n in range(6)]
    assert "feature" not in som.coords
    text = "# two columns\n% 1\t2 0\n%\t2\n%\tx y\n1 2\n3 4\n"
    som = ss.read_codebook(placed(tmp_path, "named.wts", text))
    assert grid_of(som) == ss.Grid(1, 2)
    assert som["feature"].values.tolist() == ["x", "y"]


# --- SOMToolbox


def test_wgt_files_are_read_with_their_lattice(tmp_path: Path) -> None:
    path = DATA / "somtoolbox_hexagonal.wgt"
    som = ss.read_codebook(path)
    assert grid_of(som) == ss.Grid(2, 3, topology="hexagonal", offset="odd")
    assert som["codes"].values[:, 0].tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert som["codes"].values[:, 1].tolist() == [1e-4, 0.25, -1.5, 2, 123456.789, 12345678]
    assert "label" not in som.coords
    zipped = placed(tmp_path, "map.wgt.gz", gzip.compress(path.read_bytes()))
    assert ss.read_codebook(zipped).identical(som)
    unnamed = placed(tmp_path, "map.wgt", gzip.compress(path.read_bytes()))
    assert ss.read_codebook(unnamed).identical(som)


@pytest.mark.parametrize(
    ("header", "grid"),
    [
        ("$TYPE som\n", ss.Grid(2, 1)),
        ("$TYPE hex # older\n", ss.Grid(2, 1, topology="hexagonal")),
        ("$GRID_TOPOLOGY toroid\n", ss.Grid(2, 1, periodic=True)),
        (
            "$GRID_LAYOUT hexagonal\n$GRID_TOPOLOGY toroid\n",
            ss.Grid(2, 1, topology="hexagonal", periodic=True),
        ),
    ],
)
def test_wgt_headers_of_old_and_new(tmp_path: Path, header: str, grid: ss.Grid) -> None:
    text = f"# by hand\n{header}$XDIM 1\n$YDIM 2\n$VECDIM 1\n\n0.5 a_(0/0)\n1.5 first one\n"
    som = ss.read_codebook(placed(tmp_path, "map.wgt", text))
    assert grid_of(som) == grid
    assert som["label"].values.tolist() == ["", "first one"]


# --- R


@pytest.mark.parametrize("topology", ["rectangular", "hexagonal"])
@pytest.mark.parametrize("wrapping", ["", "_toroidal"])
def test_units_lie_where_kohonen_puts_them(topology: str, wrapping: str) -> None:
    name = f"kohonen_{topology}{wrapping}"
    som = ss.read_codebook(DATA / f"{name}.csv")
    grid = grid_of(som)
    assert (grid.shape, grid.topology, grid.periodic) == ((4, 3), topology, bool(wrapping))
    assert grid.offset == ("even" if topology == "hexagonal" else None)
    units = np.arange(12)
    # kohonen takes the larger of both differences on a rectangle
    adjoin = grid.adjacent(units[:, None], units, "vertex")
    np.testing.assert_array_equal(adjoin, np.isclose(table(f"{name}_distances.csv"), 1))
    assert som["feature"].values.tolist() == ["alcohol", "malic acid", "ash"]


def test_bare_tables_of_kohonen_need_a_grid() -> None:
    grid = ss.Grid(4, 3, topology="hexagonal", offset="even")
    bare = ss.read_codebook(DATA / "kohonen_codes.csv", grid=grid)
    assert bare.identical(ss.read_codebook(DATA / "kohonen_hexagonal.csv"))
    assert ss.read_codebook(DATA / "kohonen_codes2.csv", grid=grid).identical(bare)
    with pytest.raises(InputError, match=r"'kohonen_codes\.csv' does not say how its units lie"):
        ss.read_codebook(DATA / "kohonen_codes.csv")


def test_best_units_are_kohonens() -> None:
    samples = xr.DataArray(
        table("kohonen_samples.csv"),
        dims=("sample", "feature"),
        coords={"feature": ["alcohol", "malic acid", "ash"]},
    )
    found = ss.project(samples, DATA / "kohonen_hexagonal.csv")
    unit, distance = table("kohonen_mapping.csv").T
    assert (found["bmu"].values + 1).tolist() == unit.tolist()
    np.testing.assert_allclose(found["distance"].values ** 2, distance, rtol=1e-12)


def test_rows_sorted_as_text_are_put_in_order(tmp_path: Path) -> None:
    lines = (DATA / "kohonen_codes.csv").read_text().splitlines()
    text = "\n".join([lines[0], *sorted(lines[1:])])
    assert text.splitlines()[2].startswith('"V10"')
    grid = ss.Grid(4, 3, topology="hexagonal", offset="even")
    found = ss.read_codebook(placed(tmp_path, "sorted.csv", text), grid=grid)
    assert found.identical(ss.read_codebook(DATA / "kohonen_codes.csv", grid=grid))


@pytest.mark.parametrize("name", ["kohonen_rectangular.csv", "kohonen_hexagonal_toroidal.csv"])
def test_places_are_read_in_any_order(tmp_path: Path, name: str) -> None:
    lines = (DATA / name).read_text().splitlines()
    shuffled = np.random.default_rng(0).permutation(lines[1:]).tolist()
    found = ss.read_codebook(placed(tmp_path, name, "\n".join([lines[0], *shuffled])))
    assert found.identical(ss.read_codebook(DATA / name))


@pytest.mark.parametrize(
    ("places", "grid"),
    [
        ("0,0 1,0 2,0", ss.Grid(1, 3)),
        ("0,0 0,1 0,2", ss.Grid(3, 1)),
        ("0,0 .5,.87 0,1.73", ss.Grid(3, 1, topology="hexagonal", offset="odd")),
        ("5,5", ss.Grid(1, 1)),
        ("0,0 20,0 10,17.3 30,17.3", ss.Grid(2, 2, topology="hexagonal", offset="odd")),
    ],
)
def test_a_grid_is_recognised_by_its_places(tmp_path: Path, places: str, grid: ss.Grid) -> None:
    text = "x,y,f\n" + "\n".join(f"{place},1" for place in places.split())
    assert grid_of(ss.read_codebook(placed(tmp_path, "map.csv", text))) == grid


def test_x_and_y_are_features_of_a_given_grid(tmp_path: Path) -> None:
    path = placed(tmp_path, "map.csv", "x,y\n1,2\n3,5\n")
    som = ss.read_codebook(path, grid=ss.Grid(1, 2))
    assert som["feature"].values.tolist() == ["x", "y"]
    assert som["codes"].values.tolist() == [[1, 2], [3, 5]]


def test_tables_without_a_header_or_a_name_for_row_names(tmp_path: Path) -> None:
    bare = ss.read_codebook(placed(tmp_path, "a.csv", "\n1,2\n3,4\n"), grid=ss.Grid(1, 2))
    assert "feature" not in bare.coords
    assert bare["codes"].values.tolist() == [[1, 2], [3, 4]]
    named = ss.read_codebook(
        placed(tmp_path, "b.csv", 'f,"g"\nV2,1,2\nV1,3,4\n'), grid=ss.Grid(1, 2)
    )
    assert named["codes"].values.tolist() == [[3, 4], [1, 2]]
    assert named["feature"].values.tolist() == ["f", "g"]
    german = ss.read_codebook(
        placed(tmp_path, "c.csv", '"a,b";c\n-1,5;2e3\n,5;1,5e-3\n'), grid=ss.Grid(1, 2)
    )
    assert german["codes"].values.tolist() == [[-1.5, 2000], [0.5, 0.0015]]
    assert german["feature"].values.tolist() == ["a,b", "c"]


# --- arrays and Datasets


def test_arrays_are_read_by_their_shape(tmp_path: Path) -> None:
    weights = np.arange(24.0).reshape(2, 3, 4)
    np.save(tmp_path / "map.npy", weights)
    np.savez(tmp_path / "map.npz", weights=weights, other=np.zeros(3))
    np.save(tmp_path / "flat.npy", weights.reshape(6, 4))
    for name in ("map.npy", "map.npz"):
        with pytest.warns(UserWarning, match="planar rectangle of 2 rows and 3 columns"):
            som = ss.read_codebook(tmp_path / name)
        assert grid_of(som) == RECTANGLE
    for name in ("map.npy", "map.npz", "flat.npy"):
        again = ss.read_codebook(tmp_path / name, grid=RECTANGLE)
        np.testing.assert_array_equal(again["codes"], weights.reshape(6, 4))
    with pytest.raises(InputError, match=r"'flat\.npy' does not say how its units lie"):
        ss.read_codebook(tmp_path / "flat.npy")


@pytest.mark.parametrize("name", ["map.zarr", "map.nc"])
def test_datasets_are_read_as_they_are_or_on_a_grid(tmp_path: Path, name: str) -> None:
    som = ss.codebook(np.arange(12.0).reshape(6, 2), ss.Grid(2, 3, periodic="cols"))
    ss.write_codebook(som, tmp_path / name)
    assert ss.read_codebook(tmp_path / name).identical(som)
    bare = xr.Dataset({"weights": (("feature", "row", "col"), np.arange(12.0).reshape(2, 2, 3))})
    other = tmp_path / f"other_{name}"
    write_dataset(bare, other)
    read = ss.read_codebook(other, grid=RECTANGLE)
    np.testing.assert_array_equal(read["codes"], bare["weights"].values.reshape(2, 6).T)
    with pytest.raises(InputError, match="not a codebook"):
        ss.read_codebook(other)


# --- round trips


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(values=st.lists(FLOATS, min_size=6, max_size=6), name=st.sampled_from(["m.cod", "m.npz"]))
def test_any_float_survives_a_round_trip(tmp_path: Path, values: list[float], name: str) -> None:
    som = ss.codebook(np.reshape(values, (3, 2)), ss.Grid(1, 3, topology="hexagonal"))
    ss.write_codebook(som, tmp_path / name)
    back = ss.read_codebook(tmp_path / name)
    assert back["codes"].values.tobytes() == som["codes"].values.tobytes()
    assert grid_of(back) == grid_of(som)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    values=st.lists(
        st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=2, max_size=2
    ),
    form=st.sampled_from(["%0.10f", "%g", "%.17g", "%e"]),
    how=st.sampled_from(["wts", "cod", "wgt", "csv"]),
)
def test_text_is_read_to_the_digits_it_has(
    tmp_path: Path, values: list[float], form: str, how: str
) -> None:
    written = [form % value for value in values]
    text = {
        "wts": "%1 1 0\n%2\n{} {} \n",
        "cod": "2 rect 1 1 bubble\n{} {} \n",
        "wgt": "$TYPE som\n$XDIM 1\n$YDIM 1\n$VEC_DIM 2\n{} {} SOM_MAP_m_(0/0/0)\n",
        "csv": '"","a","b"\n"V1",{},{}\n',
    }[how].format(*written)
    path = placed(tmp_path, f"map.{how}", text)
    found = ss.read_codebook(path, grid=ss.Grid(1, 1))["codes"].values[0].tolist()
    assert found == [float(entry) for entry in written]


def test_names_labels_gaps_and_graphs_are_kept(tmp_path: Path) -> None:
    som = ss.read_codebook(DATA / "som_pak_hexa.cod")
    codes = som["codes"].where(som["feature"] != "salinity")
    gapped = ss.codebook(codes, grid_of(som)).assign_coords(label=som["label"])
    for name in ("map.cod", "map.npz"):
        ss.write_codebook(gapped, tmp_path / name)
        back = ss.read_codebook(tmp_path / name)
        xr.testing.assert_identical(back["codes"].drop_attrs(), gapped["codes"].drop_attrs())
    field = xr.DataArray(
        np.arange(12.0).reshape(3, 2, 2), dims=("unit", "lat", "lon"), coords={"lat": [10.0, 20]}
    )
    star = ss.codebook(field, ss.Grid.from_edges(3, [(0, 1), (0, 2)]))
    ss.write_codebook(star, tmp_path / "star.npz")
    back = ss.read_codebook(tmp_path / "star.npz")
    assert as_map(back).fingerprint == as_map(star).fingerprint
    assert back["codes"].dims == ("unit", "lat", "lon")
    assert back["lat"].values.tolist() == [10, 20]


def test_minisoms_are_written_too(tmp_path: Path) -> None:
    trained = MiniSom(3, 2, 2, topology="hexagonal", random_seed=0)
    ss.write_codebook(trained, tmp_path / "map.npz")
    back = ss.read_codebook(tmp_path / "map.npz")
    assert as_map(back).fingerprint == as_map(trained).fingerprint


@pytest.mark.parametrize(
    ("grid", "name", "complaint"),
    [
        (ss.Grid(2, 3, topology="hexagonal", offset="even"), "m.cod", "offset='even'"),
        (ss.Grid(2, 3, periodic=True), "m.cod", "periodic=True"),
        (ss.Grid(2, 3, neighbors=8), "m.cod", "neighbors=8"),
        (ss.Grid.chain(6), "m.cod", r"Grid\.chain"),
        (RECTANGLE, "m.txt", r"\.cod, \.npz, \.zarr or \.nc"),
    ],
)
def test_maps_that_a_format_cannot_hold_are_not_written(
    tmp_path: Path, grid: ss.Grid, name: str, complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        ss.write_codebook(ss.codebook(np.zeros((6, 1)), grid), tmp_path / name)
    assert not (tmp_path / name).exists()


def test_a_cod_has_one_dim_of_features_with_names_of_their_own(tmp_path: Path) -> None:
    field = ss.codebook(xr.DataArray(np.zeros((6, 2, 2)), dims=("unit", "y", "z")), RECTANGLE)
    with pytest.raises(InputError, match="features on one dim"):
        ss.write_codebook(field, tmp_path / "m.cod")
    names = xr.DataArray(np.zeros((6, 2)), dims=("unit", "f"), coords={"f": ["a b", "a_b"]})
    with pytest.raises(InputError, match="two features 'a_b'"):
        ss.write_codebook(ss.codebook(names, RECTANGLE), tmp_path / "m.cod")


# --- where maps are wanted


@pytest.mark.parametrize(
    "name", ["kohonen_hexagonal.csv", "somtoolbox_hexagonal.wgt", "som_pak_hexa.cod"]
)
def test_paths_are_maps_everywhere(tmp_path: Path, name: str) -> None:
    path = DATA / name
    som = ss.read_codebook(path)
    samples = np.random.default_rng(0).normal(size=(30, som.sizes["feature"]))
    expected = ss.evaluate(samples, som)
    assert ss.evaluate(samples, path).identical(expected)
    assert ss.evaluate(samples, str(path)).identical(expected)
    assert ss.project(samples, path).identical(ss.project(samples, som))
    np.save(tmp_path / "samples.npy", samples)
    command = [str(tmp_path / "samples.npy"), "--map", str(path), "--metrics"]
    done = CliRunner().invoke(main, ["evaluate", *command, "quantization_error", "--json"])
    assert done.exit_code == 0, done.output
    (value,) = json.loads(done.output)["variables"]["value"]["values"]
    assert value == pytest.approx(expected["value"].sel(metric="quantization_error").item())
