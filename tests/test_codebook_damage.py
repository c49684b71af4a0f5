"""Files of maps that are cut, flipped or made to harm: one sentence, and no other error."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import somscale as ss
from somscale.errors import InputError
from somscale.store import write_dataset

GRID = ss.Grid(2, 3)
SPEC = json.dumps(GRID.to_spec())
NINES = "9" * 5000
"""More digits than int() takes."""

TEXTS = {
    "m.cod": "2 hexa 3 2 gaussian\n#n a b\n" + "".join(f"{n}.5 {n}e-3 l{n}\n" for n in range(6)),
    "m.wts": "# of somoclu\n%2 3\n%2\n" + "".join(f"{n}.5 {n}e-3\n" for n in range(6)),
    "m.wgt": "$TYPE som\n$XDIM 3\n$YDIM 2\n$VEC_DIM 2\n"
    + "".join(f"{n}.5 {n}e-3 m_({n % 3}/{n // 3}/0)\n" for n in range(6)),
    "m.csv": '"","a","b"\n' + "".join(f'"V{n}",{n}.5,{n}e-3\n' for n in range(1, 7)),
}


def refusal(path: Path, content: bytes, grid: ss.Grid | None = None) -> str:
    """What the reader says of a file, "" where it reads it."""
    path.write_bytes(content)
    try:
        ss.read_codebook(path, grid=grid)
    except InputError as error:
        return str(error)
    return ""


def arrays() -> dict[str, bytes]:
    codes = np.arange(12.0).reshape(6, 2)
    plain, packed = io.BytesIO(), io.BytesIO()
    np.save(plain, codes)
    np.savez_compressed(packed, codes=codes, grid=np.array(SPEC), label=np.array(list("abcdef")))
    return {"m.npy": plain.getvalue(), "m.npz": packed.getvalue()}


@pytest.mark.filterwarnings("ignore:.*says neither its lattice")
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_text_cut_anywhere_before_its_last_value_is_refused(
    tmp_path: Path, name: str, ends: str
) -> None:
    whole = TEXTS[name].replace("\n", ends).encode()
    grid = GRID if name.endswith("csv") else None
    last = whole.rindex(b"5.5" if not name.endswith("csv") else b"6.5")
    assert refusal(tmp_path / name, whole, grid) == ""
    for length in range(last):
        said = refusal(tmp_path / name, whole[:length], grid)
        assert repr(name) in said, length
        assert "\n" not in said


@pytest.mark.parametrize("name", ["m.cod", "m.wgt"])
def test_a_gzip_file_cut_or_flipped_anywhere_is_refused(tmp_path: Path, name: str) -> None:
    whole = gzip.compress(TEXTS[name].encode(), mtime=0)
    path = tmp_path / f"{name}.gz"
    for length in range(len(whole)):
        assert repr(path.name) in refusal(path, whole[:length])
    for at in range(10, len(whole)):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << at % 8
        assert repr(path.name) in refusal(path, bytes(flipped)), at


@pytest.mark.parametrize("name", ["m.npy", "m.npz"])
def test_arrays_cut_or_flipped_anywhere_make_no_other_error(tmp_path: Path, name: str) -> None:
    whole = arrays()[name]
    grid = GRID if name == "m.npy" else None
    assert refusal(tmp_path / name, whole, grid) == ""
    for length in range(len(whole)):
        assert repr(name) in refusal(tmp_path / name, whole[:length], grid), length
    for at in range(len(whole)):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << at % 8
        said = refusal(tmp_path / name, bytes(flipped), grid)
        assert not said or (repr(name) in said and "\n" not in said), at


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from([*TEXTS, "m.npy", "m.npz"]), data=st.data())
def test_bytes_put_in_anywhere_make_no_other_error(tmp_path: Path, name: str, data: Any) -> None:
    content = bytearray(TEXTS[name].encode() if name in TEXTS else arrays()[name])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        more = data.draw(
            st.binary(max_size=3)
            | st.sampled_from(
                ["\r", "\n", '"', "%", "$", "#", "x", "nan", "inf", "1e999", "(", NINES]
            ).map(str.encode)
        )
        content[at : at + data.draw(st.integers(0, 4))] = more
    said = refusal(tmp_path / name, bytes(content), GRID)
    assert not said or "\n" not in said


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("m.cod", f"0{NINES} hexa 2 2 bubble\n", "line 1 .* no integer from 1 up"),
        ("m.cod", "9999999999999999 hexa 2 2 bubble\n", "line 1 .* no integer from 1 up"),
        ("m.cod", "2 hexa 9000000000000000 9 bubble\n1 2\n", "ends after 1 of the 810"),
        ("m.cod", "9000000000000000 hexa 1 1 bubble\n1 2\n", "line 2 .* has 2 values .* 9000"),
        ("m.cod", "1 rect 1 1 bubble\nx\n", r"'m\.cod': the weights are nan everywhere"),
        ("m.cod", "1 rect 1 1 bubble\r0\r", "line 1 "),
        ("m.wts", f"%{NINES} 1\n%1\n", "line 1 .* no integer from 1 up"),
        ("m.wgt", f"$XDIM 1\n$YDIM 1\n$VEC_DIM 1\n0 m_({NINES}/0/0)\n", ""),
        ("m.csv", f'"",a\nV{NINES},1\n', "does not say how its units lie"),
        ("m.csv", "a,b\r1,2\r3,4\r", "line 1 .* is no CSV"),
        ("m.csv", "a" * 200_000 + "\n1\n", "line 1 .* is no CSV"),
        ("m.csv", "x,y,a\n1e308,0,1\n-1e308,0,2\n", "unit at 1e[+]308"),
        (
            "m.csv",
            "x,y,topology,toroidal,a\n.5,.87,hexagonal,TRUE,1\n0,1.73,hexagonal,TRUE,2\n"
            ".5,2.6,hexagonal,TRUE,3\n",
            r"'m\.csv': A hexagonal grid of 3 rows",
        ),
    ],
)
def test_text_that_is_made_to_harm(tmp_path: Path, name: str, content: str, complaint: str) -> None:
    path = tmp_path / name
    path.write_text(content, newline="")
    if not complaint:
        assert ss.read_codebook(path).sizes["unit"] == 1
        return
    with pytest.raises(InputError, match=complaint):
        ss.read_codebook(path)


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        ("{'descr':'<f8','fortran_order':False,'shape':(6,200000000000)}", "and 96 follow"),
        (f"{{'descr':'<f8','fortran_order':False,'shape':(6,{'9' * 40})}}", "and 96 follow"),
        ("{'descr':'<f8','fortran_order':False,'shape':(-6,-2)}", "of shape \\(-6, -2\\)"),
        ("{'descr':'<U0','fortran_order':False,'shape':(6,2)}", "promises values <U0"),
        ("{'descr':',f8','fortran_order':False,'shape':(6,2)}", "no whole NumPy file"),
        ("{'descr':'<f8','fortran_order':False,'shape':" + "(" * 900, "no whole NumPy file"),
        ("{'descr':'|O','fortran_order':False,'shape':(6,2)}", "holds pickled objects"),
        ("{'descr':[('a','|O')],'fortran_order':False,'shape':(6,)}", "holds pickled objects"),
        ("{'descr':[('a','<f8')],'fortran_order':False,'shape':(6,)}", "not real numbers"),
    ],
)
def test_headers_of_arrays_are_held_against_the_file(
    tmp_path: Path, header: str, complaint: str
) -> None:
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) + 1) + header.encode() + b"\n"
    content = start + b"\0" * 96
    assert_refused(tmp_path / "m.npy", content, complaint)
    with zipfile.ZipFile(tmp_path / "z.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("codes.npy", content)
    assert_refused(tmp_path / "m.npz", (tmp_path / "z.npz").read_bytes(), complaint)


def assert_refused(path: Path, content: bytes, complaint: str) -> None:
    path.write_bytes(content)
    with pytest.raises(InputError, match=complaint):
        ss.read_codebook(path, grid=GRID)


def test_a_member_that_claims_more_than_it_can_hold_is_not_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive:
        archive.writestr("codes.npy", b"\x93NUMPY\x01\x00")
    content = bytearray((tmp_path / "m.npz").read_bytes())
    entry = content.rindex(b"PK\x01\x02")
    struct.pack_into("<I", content, entry + 24, 2**31)
    assert_refused(tmp_path / "m.npz", bytes(content), "claims 2147483648 bytes, more than")


CODES = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    ("held", "complaint"),
    [
        ({"label": np.array(list("abc"))}, r"labels of shape \(3,\), and its map 6 units"),
        ({"label": np.array("a")}, r"labels of shape \(\)"),
        ({"dims": np.array("feature")}, "'dims' are no names"),
        ({"dims": np.array(["unit"])}, "'dims' are no names"),
        ({"dims": np.array([["a"]])}, "'dims' are no names"),
        ({"dims": np.array(["a", "b"])}, "do not fit their names"),
        ({"dims": np.array(["a"]), "coord_a": np.arange(3)}, "do not fit their names"),
        ({"grid": np.array("[" * 100_000)}, "no JSON of one; give grid="),
        ({"grid": np.array(SPEC.replace('"rows": 2', '"rows": 2e9'))}, "rows must be an integer"),
        ({"codes": np.array(3.0)}, r"have shape \(\)"),
    ],
)
def test_arrays_beside_the_codes_that_do_not_fit(
    tmp_path: Path, held: dict[str, Any], complaint: str
) -> None:
    np.savez(tmp_path / "m.npz", **{"codes": CODES, "grid": np.array(SPEC), **held})
    with pytest.raises(InputError, match=complaint) as refused:
        ss.read_codebook(tmp_path / "m.npz")
    assert "'m.npz'" in str(refused.value)


def test_arrays_that_are_no_part_of_a_map_are_not_read(tmp_path: Path) -> None:
    objects = np.array([{}], dtype=object)
    np.savez(tmp_path / "m.npz", codes=CODES, history=objects, allow_pickle=True)
    assert ss.read_codebook(tmp_path / "m.npz", grid=GRID).sizes["unit"] == 6


@pytest.mark.parametrize("grid", [5, None, "[1]", "null", "nope", '{"rows": 2}', "[" * 100_000])
@pytest.mark.parametrize("name", ["m.zarr", "m.nc"])
def test_a_stored_map_with_a_grid_of_something_else(tmp_path: Path, grid: Any, name: str) -> None:
    som = ss.codebook(CODES, GRID)
    som.attrs["grid"] = grid
    with pytest.raises(InputError, match=r"no JSON of one|lacks 'topology'"):
        ss.evaluate(CODES, som)
    if grid is not None:
        write_dataset(som, tmp_path / name)
        with pytest.raises(InputError, match=rf"{name}.*(no JSON of one|lacks 'topology')"):
            ss.read_codebook(tmp_path / name)


@pytest.mark.parametrize("path", [None, 3, b"m.cod", "a\0b.cod", "a\0b.npz", "a" * 5000 + ".cod"])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(InputError, match=r"the path is a|holds a zero byte|too long"):
        ss.read_codebook(path)


@pytest.mark.parametrize("label", ["1.5", "weight=3", "fall 1e3", "a\0b", "\udcff"])
def test_a_cod_is_not_written_that_would_be_read_otherwise(tmp_path: Path, label: str) -> None:
    som = ss.codebook(CODES, GRID)
    named = som.assign_coords(label=("unit", [label, *"bcdef"]))
    with pytest.raises(InputError, match="label"):
        ss.write_codebook(named, tmp_path / "m.cod")
    assert not (tmp_path / "m.cod").exists()
    with pytest.raises(InputError, match="without a name"):
        ss.write_codebook(som.assign_coords(feature=["", "b"]), tmp_path / "m.cod")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(labels=st.lists(st.text(max_size=5), min_size=6, max_size=6))
def test_any_label_is_kept_or_refused(tmp_path: Path, labels: list[str]) -> None:
    som = ss.codebook(CODES, GRID).assign_coords(label=("unit", labels))
    try:
        ss.write_codebook(som, tmp_path / "m.cod")
    except InputError:
        return
    back = ss.read_codebook(tmp_path / "m.cod")
    xr.testing.assert_equal(
        back["codes"].drop_vars("label", errors="ignore"), som["codes"].drop_vars("label")
    )
    kept = back["label"].values.tolist() if "label" in back.coords else [""] * 6
    assert kept == [" ".join(label.split()) for label in som["label"].values.tolist()]


@pytest.mark.parametrize("name", ["m.cod", "m.npz"])
def test_a_place_where_nothing_can_be_written(tmp_path: Path, name: str) -> None:
    som = ss.codebook(CODES, GRID)
    (tmp_path / name).mkdir()
    for path in (tmp_path / name, tmp_path / "none" / name):
        with pytest.raises(InputError, match="cannot be written"):
            ss.write_codebook(som, path)
    nowhere: Any = None
    with pytest.raises(InputError, match="the path is a NoneType"):
        ss.write_codebook(som, nowhere)
