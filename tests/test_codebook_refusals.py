"""Files of other tools that are cut short, damaged, or of something else: refused in a sentence."""

from __future__ import annotations

import gzip
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import somscale as ss
from somscale.codebook import as_map
from somscale.errors import InputError

DATA = Path(__file__).parent / "data" / "codebooks"
RECTANGLE = ss.Grid(2, 3)


def grid_of(som: xr.Dataset) -> ss.Grid:
    return as_map(som).grid


def placed(tmp_path: Path, name: str, text: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


HEX = "2 hexa 2 2 bubble\n"
FOUR = "0 1\n1 1\n2 1\n3 1\n"
WGT = "$TYPE som\n$XDIM 2\n$YDIM 1\n$VEC_DIM 2\n"
BAD_TEXT = {
    "cod empty": ("m.cod", "", r"'m\.cod' is empty"),
    "cod only comments": ("m.cod", "# a\n#n b\n", "holds comments only"),
    "cod data": ("m.cod", "3\n1 2 3\n", r"line 1 of 'm\.cod' is '3', and a \.cod begins with"),
    "cod header words": ("m.cod", "2 hexa 2 two bubble\n", "line 1 .* as 'two', which is no int"),
    "cod header zero": ("m.cod", "2 hexa 0 2 bubble\n", "line 1 .* as '0', which is no integer"),
    "cod topology": ("m.cod", "2 octa 2 2 bubble\n", "line 1 .* topology 'octa', not hexa or"),
    "cod neighbourhood": ("m.cod", "2 rect 2 2 hat\n", "line 1 .* 'hat', not bubble or gauss"),
    "cod cut": ("m.cod", HEX + "0 1\n1 1\n2 1\n", "ends after 3 of the 4 .*cut short"),
    "cod cut line": ("m.cod", HEX + "0 1\n1 1\n2\n", "line 4 .* has 1 values .* promises 2"),
    "cod too many": ("m.cod", HEX + FOUR + "4 1\n", "line 6 .* one more code vector than the 4"),
    "cod too wide": ("m.cod", HEX + "0 1 0.5\n", "line 2 .* number 0.5 after the 2 values"),
    "cod word": ("m.cod", HEX + "0 one\n", "line 2 .* 'one' as value 2, which is no number$"),
    "cod comma": ("m.cod", HEX + "0 1,5\n", "line 2 .* '1,5' .*decimals are written with a point"),
    "cod underscore": ("m.cod", HEX + "0 1_5\n", "line 2 .* '1_5' as value 2, which is no number"),
    "cod inf": ("m.cod", HEX + "0 inf\n", "line 2 .* 'inf' as value 2; every code must be finite"),
    "cod huge": ("m.cod", HEX + "1e999 0\n", "line 2 .* '1e999' as value 1; every code must be"),
    "cod gap": ("m.cod", HEX + "0 1\n1 x\n2 1\n3 1\n", r"line 3 of 'm\.cod' has no value 2"),
    "cod names": ("m.cod", HEX + "#n a\n" + FOUR, "line 2 .* names 1 components .* promises 2"),
    "cod same names": ("m.cod", HEX + "#n a a\n" + FOUR, "line 2 .* names two features 'a'"),
    "cod latin-1": ("m.cod", HEX.encode() + b"0 1 \xe4\n", "line 2 .* 0xe4, which is no utf-8"),
    "cod utf-16": ("m.cod", (HEX + FOUR).encode("utf-16"), "is UTF-16 text; save it as UTF-8"),
    "cod zero byte": ("m.cod", HEX.encode() + b"0\0 1\n", "line 2 .* holds a zero byte"),
    "wts no header": ("m.wts", "0 1\n", r"has 0 lines with %, and a \.wts begins with '%rows"),
    "wts one header": ("m.wts", "%1 1\n0\n", "has 1 lines with %"),
    "wts lrn": ("m.wts", "% 2\n% 3\n0 1 2\n", "line 1 .* gives 1 numbers"),
    "wts size": ("m.wts", "%1 -2\n%1\n0\n", "line 1 .* as '-2', which is no integer"),
    "wts toroid": ("m.wts", "%1 2 sphere\n%1\n0\n1\n", "line 1 .* 'sphere' after rows and columns"),
    "wts dimension": ("m.wts", "%1 2\n%1 1\n0\n1\n", "line 2 .* gives 2 numbers"),
    "wts narrow": ("m.wts", "%1 2\n%2\n0 1\n1\n", "line 4 .* has 1 values .* promises 2"),
    "wts wide": ("m.wts", "%1 2\n%2\n0 1\n1 2 3\n", "line 4 .* has 3 values .* promises 2"),
    "wts amid": ("m.wts", "%1 2\n%1\n0\n%1\n1\n", "line 4 .* begins with % amid"),
    "wts keys": ("m.wts", "%1 2 0\n%1\n%a b\n0\n1\n", "line 3 .* names 2 features"),
    "wts four": ("m.wts", "%1 2 0\n%1\n%a\n%b\n0\n1\n", "line 4 .* is a fourth line with %"),
    "wts cut": ("m.wts", "%1 2 0\n%1\n0\n", "ends after 1 of the 2 code vectors"),
    "wts only header": ("m.wts", "%1 2 0\n%1\n", "ends after 0 of the 2 code vectors"),
    "wgt no size": ("m.wgt", "$TYPE som\n$XDIM 2\n1 2\n", r"has no line \$YDIM"),
    "wgt vectors": ("m.wgt", WGT.replace("som", "vec"), r"line 1 .* says \$TYPE vec: .*no map"),
    "wgt storeys": ("m.wgt", WGT + "$ZDIM 2\n", r"line 5 .* says \$ZDIM 2"),
    "wgt size": ("m.wgt", WGT.replace("$YDIM 1", "$YDIM -1"), r"line 3 .* \$YDIM as '-1'"),
    "wgt no value": ("m.wgt", WGT.replace("$YDIM 1", "$YDIM"), r"line 3 .* \$YDIM as ''"),
    "wgt layout": ("m.wgt", WGT + "$GRID_LAYOUT round\n", "line 5 .* layout 'round'"),
    "wgt topology": ("m.wgt", WGT + "$GRID_TOPOLOGY klein\n", "line 5 .* topology 'klein'"),
    "wgt sphere": ("m.wgt", WGT + "$GRID_TOPOLOGY spherical\n1 2\n3 4\n", "units as 'spherical'"),
    "wgt null": ("m.wgt", WGT + "null SOM_(0/0/0)\n", r"line 5 .* no unit at \(0/0\)"),
    "wgt moved": (
        "m.wgt",
        WGT + "1 2 a_(1/0/0)\n",
        r"line 5 .* unit \(1/0\), where \(0/0\) should",
    ),
    "wgt narrow": ("m.wgt", WGT + "1\n", r"line 5 .* has 1 values"),
    "wgt label": (
        "m.wgt",
        WGT + "1 a_(0/0/0)\n",
        r"line 5 .* 'a_\(0/0/0\)' as value 2, which is no",
    ),
    "wgt wide": ("m.wgt", WGT + "1 2 3 a_(0/0/0)\n", r"line 5 .* more than the 2 values"),
    "wgt amid": ("m.wgt", WGT + "1 2\n$XDIM 2\n", r"line 6 .* '\$XDIM' amid the code vectors"),
    "wgt cut": ("m.wgt", WGT + "1 2\n", "ends after 1 of the 2 code vectors"),
    "wgt nan": ("m.wgt", WGT + "1 NaN\n1 2\n", "line 5 .* has no value 2, which other units have"),
    "csv blank": ("m.csv", "\n\n", "holds no table"),
    "csv no rows": ("m.csv", "a,b\n", "has a header and no code vector"),
    "csv ragged": ("m.csv", "a,b\n1,2\n3\n", "line 3 .* has 1 entries and the header 2"),
    "csv word": ("m.csv", "a,b\n1,2\n3,four\n", "line 3 .* 'four' in 'b', which is no number"),
    "csv inf": ("m.csv", "a,b\n1,2\n3,Inf\n", "line 3 .* 'Inf' .*must be finite"),
    "csv NA": ("m.csv", "a,b\n1,2\n3,NA\n", r"line 3 .* has no value 2 \('b'\)"),
    "csv twice": ("m.csv", "a,a\n1,2\n3,4\n", "names two features 'a'"),
    "csv quote": ("m.csv", 'a,b\n1,"2"3\n', "line 2 .* is no CSV"),
    "csv same unit": ("m.csv", '"",a\nV1,1\nV1,2\n', "line 3 .* is another of unit V1"),
    "csv no unit": ("m.csv", '"",a\nV1,1\nV3,2\n', "lacks unit 2; a part of a map is no map"),
    "csv only names": ("m.csv", "unit\nV1\nV2\n", "no column of codes"),
}
BAD_PLACES = {
    "uneven": ("x,y,a\n0,0,1\n1,0,2\n3,0,3\n", "no rectangular or hexagonal grid"),
    "twice": ("x,y,a\n0,0,1\n0,0,2\n", "no rectangular or hexagonal grid"),
    "ragged": ("x,y,a\n0,0,1\n1,0,2\n0,1,3\n", "rows of 1 and of 2 units"),
    "nan": ("x,y,a\n0,0,1\nNA,0,2\n", "lacks places"),
    "topology": ("x,y,topology,a\n0,0,round,1\n", "topology 'round'"),
    "two topologies": ("x,y,topology,a\n0,0,hexa,1\n1,0,rect,1\n", "line 3 .* 'rect' .* 'hexa'"),
    "other": ("x,y,topology,a\n0,0,hexa,1\n0,1,hexa,1\n", "hexagonal, and its .* are rectangular"),
    "toroidal": ("x,y,toroidal,a\n0,0,perhaps,1\n", "'perhaps' in 'toroidal'"),
    "torus": (
        "x,y,toroidal,a\n0,0,TRUE,1\n.5,.87,TRUE,2\n0,1.73,TRUE,3\n",
        "hexagonal grid of 3 rows .* not a lattice",
    ),
}


@pytest.mark.parametrize("case", BAD_TEXT)
def test_bad_text_is_refused_with_its_line(tmp_path: Path, case: str) -> None:
    name, text, complaint = BAD_TEXT[case]
    grid = ss.Grid(1, 2) if name.endswith("csv") else None
    with pytest.raises(InputError, match=complaint) as refused:
        ss.read_codebook(placed(tmp_path, name, text), grid=grid)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("case", BAD_PLACES)
def test_places_of_no_grid_are_refused(tmp_path: Path, case: str) -> None:
    text, complaint = BAD_PLACES[case]
    with pytest.raises(InputError, match=complaint):
        ss.read_codebook(placed(tmp_path, "m.csv", text))


@pytest.mark.parametrize(
    ("name", "grid", "complaint"),
    [
        ("som_pak_hexa.cod", ss.Grid(3, 2, topology="hexagonal"), "2 rows and 3 .*has 3 and 2"),
        ("som_pak_hexa.cod", ss.Grid(2, 3), "holds a hexagonal map, and the grid is rectangular"),
        ("som_pak_hexa.cod", ss.Grid.chain(5), r"\(6 units\), and the grid has 1 and 5 \(5\)"),
        ("dataio_toroid.wts", ss.Grid(2, 3), "holds a toroid, and the grid has periodic=False"),
        (
            "somtoolbox_hexagonal.wgt",
            ss.Grid(2, 3, topology="hexagonal", periodic=True),
            "holds a planar map, and the grid has periodic=True",
        ),
        ("kohonen_codes.csv", ss.Grid(3, 5), r"12 code vectors, and the grid has 15 units"),
        ("som_pak_hexa.cod", (2, 3), "the grid is a tuple, not a Grid"),
    ],
)
def test_a_grid_that_does_not_fit_is_refused(name: str, grid: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        ss.read_codebook(DATA / name, grid=grid)


def test_a_grid_may_add_what_a_file_cannot_say() -> None:
    torus = ss.Grid(2, 3, topology="hexagonal", periodic=True, delta="euclidean")
    assert grid_of(ss.read_codebook(DATA / "som_pak_hexa.cod", grid=torus)) == torus
    graph = ss.Grid.from_edges(6, [(n, n + 1) for n in range(5)])
    assert grid_of(ss.read_codebook(DATA / "som_pak_hexa.cod", grid=graph)) == graph


def test_text_of_other_encodings_is_read_if_named(tmp_path: Path) -> None:
    path = placed(tmp_path, "m.cod", "1 rect 1 1 bubble\n0 Höhe\n".encode("latin-1"))
    assert ss.read_codebook(path, encoding="latin-1")["label"].item() == "Höhe"
    marked = placed(tmp_path, "b.cod", "1 rect 1 1 bubble\n0 Höhe\n".encode("utf-8-sig"))
    assert ss.read_codebook(marked)["label"].item() == "Höhe"
    for encoding in ("utf-16", "klingon", "base64"):
        with pytest.raises(InputError, match=f"'{encoding}' is none that extends ASCII"):
            ss.read_codebook(path, encoding=encoding)


def test_damaged_gzip_files_are_refused(tmp_path: Path) -> None:
    whole = (DATA / "somtoolbox_hexagonal.wgt").read_bytes()
    plain = placed(tmp_path, "plain.wgt.gz", whole)
    with pytest.raises(InputError, match=r"'plain\.wgt\.gz' is no gzip file"):
        ss.read_codebook(plain)
    packed = gzip.compress(whole)
    for n, part in enumerate([packed[:40], packed[:-6], packed[:-8] + b"\0" * 8]):
        path = placed(tmp_path, f"part{n}.wgt.gz", part)
        with pytest.raises(InputError, match="damaged gzip file: it breaks off after line"):
            ss.read_codebook(path)
    with pytest.raises(InputError, match=r"'none\.wgt\.gz' is empty"):
        ss.read_codebook(placed(tmp_path, "none.wgt.gz", b""))
    with pytest.raises(InputError, match=r"'no\.wgt\.gz' is empty"):
        ss.read_codebook(placed(tmp_path, "no.wgt.gz", gzip.compress(b"")))


class Trap:
    """Fails the test that unpickles it."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return pytest.fail, ("a file was unpickled",)


@pytest.mark.parametrize("name", ["m.p", "m.pkl", "m.pickle", "m.joblib", "m.PKL", "m.pkl.gz"])
def test_pickles_are_refused_by_name(tmp_path: Path, name: str) -> None:
    path = placed(tmp_path, name, pickle.dumps(Trap()))
    with pytest.raises(InputError, match=r"is a pickle, which runs code .*give the map itself"):
        ss.read_codebook(path)
    with pytest.raises(InputError, match="is a pickle"):
        ss.evaluate(np.zeros((3, 2)), path)


@pytest.mark.parametrize("name", ["m.npy", "m.npz"])
def test_pickles_are_refused_by_content(tmp_path: Path, name: str) -> None:
    path = placed(tmp_path, name, pickle.dumps(Trap()))
    with pytest.raises(InputError, match="holds pickled objects, or is no NumPy file"):
        ss.read_codebook(path, grid=RECTANGLE)
    objects = np.array([Trap()], dtype=object)
    save = np.save if name.endswith("npy") else np.savez
    with path.open("wb") as file:
        save(file, objects, allow_pickle=True)
    with pytest.raises(InputError, match="holds pickled objects"):
        ss.read_codebook(path, grid=RECTANGLE)


def test_damaged_arrays_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "whole.npy", np.zeros((6, 2)))
    np.savez_compressed(tmp_path / "whole.npz", codes=np.arange(3000.0).reshape(6, 500))
    for name in ("whole.npy", "whole.npz"):
        content = (tmp_path / name).read_bytes()
        for n, part in enumerate([b"", content[:-20], content[: len(content) // 2]]):
            path = placed(tmp_path, f"part{n}_{name}", part)
            with pytest.raises(InputError, match=r"is no whole NumPy file|no NumPy file"):
                ss.read_codebook(path, grid=RECTANGLE)
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("codes.txt", "1 2 3")
    with pytest.raises(InputError, match=r"text\.npz"):
        ss.read_codebook(tmp_path / "text.npz", grid=RECTANGLE)


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ({"a": np.zeros(2), "b": np.zeros(2)}, r"arrays \['a', 'b'\]; one .* called 'codes'"),
        ({"codes": np.array(["a", "b"])}, "'m.npz': the weights are of type"),
        ({"codes": np.zeros((4, 2))}, "'m.npz': the weights have shape"),
        ({"codes": np.full((6, 2), np.inf)}, "'m.npz': the weights hold inf"),
    ],
)
def test_arrays_that_are_no_codes_are_refused(
    tmp_path: Path, arrays: dict[str, Any], complaint: str
) -> None:
    np.savez(tmp_path / "m.npz", **arrays)
    with pytest.raises(InputError, match=complaint):
        ss.read_codebook(tmp_path / "m.npz", grid=RECTANGLE)


@pytest.mark.parametrize("stored", ["no JSON", "[1]", json.dumps({"topology": "rectangular"})])
def test_a_stored_grid_that_is_none_is_refused(tmp_path: Path, stored: str) -> None:
    np.savez(tmp_path / "m.npz", codes=np.zeros((6, 2)), grid=np.array(stored))
    with pytest.raises(InputError, match=r"is no JSON of one; give grid=|spec of a grid lacks"):
        ss.read_codebook(tmp_path / "m.npz")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("m.rds", r"write\.csv\(getCodes\(map\)"),
        ("m.RData", r"write\.csv\(getCodes\(map\)"),
        ("m.mat", r"som_write_cod"),
        ("m.txt", "neither a Zarr store nor NetCDF"),
    ],
)
def test_other_files_are_refused_with_a_way_out(tmp_path: Path, name: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        ss.read_codebook(placed(tmp_path, name, "0 1\n"))


@pytest.mark.parametrize(
    "suffix", ["cod", "wts", "wgt", "wgt.gz", "csv", "npy", "npz", "zarr", "nc"]
)
def test_missing_files_and_folders_are_refused(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(InputError, match=r"no file|No such file"):
        ss.read_codebook(tmp_path / f"none.{suffix}")
    (tmp_path / f"folder.{suffix}").mkdir()
    with pytest.raises(InputError, match=r"neither a Zarr store nor NetCDF"):
        ss.read_codebook(tmp_path / f"folder.{suffix}")


def test_the_format_can_be_named(tmp_path: Path) -> None:
    path = placed(tmp_path, "codes.txt", (DATA / "som_pak_hexa.cod").read_bytes())
    expected = ss.read_codebook(DATA / "som_pak_hexa.cod")
    assert ss.read_codebook(path, format="cod").identical(expected)
    with pytest.raises(InputError, match=r"format='sompak' is none of cod, wts"):
        ss.read_codebook(path, format="sompak")
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(InputError, match="'folder' cannot be read: Is a directory"):
        ss.read_codebook(folder, format="cod")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(["m.cod", "m.wts", "m.wgt", "m.csv", "m.npy", "m.npz", "m.wgt.gz"]),
    start=st.sampled_from([b"", b"2 hexa 1 1 bubble\n", b"%1 1 0\n%2\n", WGT.encode(), b"a,b\n"]),
    rest=st.binary(max_size=40)
    | st.text("0123456789.,;eEx%$# \n\"'-+_naif", max_size=40).map(str.encode),
)
def test_no_content_makes_another_error(
    tmp_path: Path, name: str, start: bytes, rest: bytes
) -> None:
    path = placed(tmp_path, name, start + rest)
    try:
        som: xr.Dataset | None = ss.read_codebook(path, grid=ss.Grid(1, 1))
    except InputError:
        som = None
    assert som is None or som.sizes["unit"] == 1
