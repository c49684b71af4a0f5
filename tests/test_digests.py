"""Digests of arguments: equal where the values are, in any process; refused where unknown."""

from __future__ import annotations

import enum
import functools
import operator
import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import somscale as ss
from somscale.errors import InputError
from somscale.store.digests import digest_of

SCALE = 2.0


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Point:
    x: float
    y: float
    cache: dict[str, float] = field(default_factory=dict, compare=False)

    @functools.cached_property
    def norm(self) -> float:
        return float(np.hypot(self.x, self.y))


class Plain:
    def __init__(self, value: Any) -> None:
        self.value = value

    @functools.cached_property
    def doubled(self) -> Any:
        return [self.value, self.value]

    def method(self) -> Any:
        return self.value


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Callable:
    def __call__(self, a: Any, b: Any) -> Any:
        return a - b


def scaled(a: Any, b: Any) -> Any:
    return SCALE * helper(a, b)


def helper(a: Any, b: Any) -> Any:
    return abs(a - b)


def values() -> dict[str, Any]:
    """One of each kind; no two are equal."""
    return {
        "none": None,
        "true": True,
        "one": 1,
        "float one": 1.0,
        "text one": "1",
        "bytes one": b"1",
        "zero": 0.0,
        "minus zero": -0.0,
        "complex": 1 + 0j,
        "large": 10**40,
        "text": "κ and δ",
        "surrogate": "\udc80",
        "red": Color.RED,
        "blue": Color.BLUE,
        "list": [1, 2],
        "nested list": [[1], 2],
        "tuple": (1, 2),
        "empty": (),
        "dict": {"a": 1, "b": (2, 3)},
        "set": {"a", "b", "c"},
        "frozen": frozenset({"a", "b"}),
        "slice": slice(0, 3),
        "range": range(3),
        "f8": np.arange(3.0),
        "f4": np.arange(3, dtype=np.float32),
        "column": np.arange(3.0)[:, None],
        "i8": np.arange(3),
        "bool": np.array([True]),
        "text array": np.array(["a", "bc"]),
        "objects": np.array(["a", None, 1.0], dtype=object),
        "times": np.array(["2001-01-01", "NaT"], "M8[ns]"),
        "zero-d": np.array(1.0),
        "scalar": np.float64(1.0),
        "scalar f4": np.float32(1.0),
        "dtype": np.dtype("f4"),
        "record": np.array([(1, 2.0)], dtype=[("a", "i1"), ("b", "f8")]),
        "masked": np.ma.masked_array([1.0, 2.0], [False, True]),
        "point": Point(1.0, 2.0),
        "other point": Point(2.0, 1.0),
        "plain": Plain({"a": 1}),
        "slots": Slotted(1),
        "lambda": lambda a, b: a + b,
        "function": scaled,
        "helper": helper,
        "partial": functools.partial(helper, b=1),
        "method": Plain(1).method,
        "callable": Callable(),
        "builtin": len,
        "ufunc": np.hypot,
        "class": Plain,
        "module": np,
        "getter": operator.itemgetter(1),
        "generator": np.random.default_rng(0),
        "path": Path("a/b"),
        "variable": xr.Variable("x", [1.0], {"units": "K"}),
        "array": xr.DataArray([1.0], dims="x", coords={"x": ["a"]}, name="t"),
        "dataset": xr.Dataset({"a": ("x", [1.0])}, {"x": [1]}, {"title": "t"}),
        "map": ss.codebook(np.arange(8.0).reshape(4, 2), ss.Grid(2, 2)),
        "series": pd.Series(["a", "b"], name="s"),
        "categories": pd.Series(pd.Categorical(["2", "10"], ["2", "10"])),
        "other order": pd.Series(pd.Categorical(["2", "10"], ["10", "2"])),
        "frame": pd.DataFrame({"a": [1], "b": ["x"]}),
        "grid": ss.Grid(3, 2),
        "other grid": ss.Grid(2, 3),
    }


def test_no_two_kinds_are_taken_for_each_other() -> None:
    digests = {name: digest_of(value) for name, value in values().items()}
    assert all(len(digest) == 32 and int(digest, 16) >= 0 for digest in digests.values())
    assert len(set(digests.values())) == len(digests)
    assert digests == {name: digest_of(value) for name, value in values().items()}


def test_other_processes_and_hash_seeds_agree() -> None:
    code = f"from {__name__} import *\nprint(*[digest_of(v) for v in values().values()])"
    here = Path(__file__).parent
    places = os.pathsep.join([str(here), str(here.parent)])
    own = " ".join(digest_of(value) for value in values().values())
    for seed in ("0", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": places}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == own


def test_parts_are_not_run_together() -> None:
    assert digest_of("ab", "c") != digest_of("a", "bc") != digest_of("abc")
    assert digest_of([1, 2], 3) != digest_of([1], 2, 3)
    assert digest_of() != digest_of(None)


@given(hnp.arrays(hnp.scalar_dtypes(), hnp.array_shapes(min_dims=0, max_dims=3, max_side=5)))
def test_layout_of_memory_does_not_matter(array: np.ndarray[Any, Any]) -> None:
    expected = digest_of(array)
    wide = np.repeat(array[..., None], 2, axis=-1)[..., 0]
    for same in (np.asfortranarray(array), wide, array.astype(array.dtype.newbyteorder(">"))):
        if same.shape == array.shape:
            assert digest_of(same) == expected


def test_a_large_array_in_another_layout() -> None:
    array = np.random.default_rng(0).random((700, 500))
    expected = digest_of(array)
    assert digest_of(np.asfortranarray(array)) == expected
    assert digest_of(np.repeat(array, 2, axis=0)[::2]) == expected
    array[699, 499] += 1
    assert digest_of(array) != expected


def test_broadcast_and_masked_values() -> None:
    assert digest_of(np.broadcast_to(1.0, (3, 2))) == digest_of(np.ones((3, 2)))
    masked = [np.ma.masked_array([1.0, under], [False, True]) for under in (2.0, 3.0)]
    assert digest_of(masked[0]) == digest_of(masked[1]) != digest_of(np.array([1.0, 2.0]))


def test_text_arrays_of_any_make() -> None:
    variable = np.array(["a", "a long text that is on no stack"], np.dtypes.StringDType())
    assert digest_of(variable) == digest_of(variable.copy()) != digest_of(variable[::-1])


@given(st.dictionaries(st.text() | st.integers(), st.integers(), max_size=5))
def test_order_of_entries_does_not_matter(entries: dict[Any, int]) -> None:
    assert digest_of(dict(reversed(entries.items()))) == digest_of(entries)
    assert digest_of(set(entries)) == digest_of(set(reversed(entries)))
    assert digest_of(entries) != digest_of({**entries, "one more": 1})


def test_what_is_derived_takes_no_part() -> None:
    used, fresh = Point(3.0, 4.0), Point(3.0, 4.0)
    assert used.norm == 5.0
    used.cache["norm"] = 5.0
    assert digest_of(used) == digest_of(fresh)
    plain = Plain(1)
    before = digest_of(plain)
    assert plain.doubled == [1, 1]
    assert digest_of(plain) == before
    plain.value = 2
    assert digest_of(plain) != before


def closing_over(value: Any) -> Any:
    return lambda a: (a, value)


def test_functions_differ_by_what_they_compute() -> None:
    same = [lambda a, b=1: a + b * 2 for _ in range(2)]
    assert digest_of(same[0]) == digest_of(same[1])
    others = [
        lambda a, b=1: a - b * 2,  # code
        lambda a, b=1: a + b * 3,  # constant
        lambda a, b=2: a + b * 2,  # default
        lambda a, *, b=1: a + b * 2,  # keyword default
        lambda a, b=1: a + (lambda c: c * 2)(b),
        lambda a, b=1: a + (lambda c: c * 3)(b),
        closing_over(1),
        closing_over(2),
        closing_over("1"),
    ]
    digests = {digest_of(function) for function in [same[0], *others]}
    assert len(digests) == 1 + len(others)
    assert digest_of(closing_over(1)) == digest_of(closing_over(1))


def test_globals_that_a_function_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest_of(scaled)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    other = digest_of(scaled)
    assert other != before
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    assert digest_of(scaled) == before
    monkeypatch.setitem(globals(), "helper", lambda a, b: a)
    assert digest_of(scaled) != before


def test_a_compiled_distance() -> None:
    import numba

    compiled = [numba.njit(function) for function in (helper, helper, lambda a, b: a * b)]
    before = digest_of(compiled[0])
    compiled[0](1.0, 2.0)
    assert digest_of(compiled[0]) == digest_of(compiled[1]) == before
    assert digest_of(compiled[2]) != before


def test_values_that_hold_themselves() -> None:
    def count(n: int) -> int:
        return n and count(n - 1)

    loop: list[Any] = [1]
    loop.append(loop)
    assert digest_of(count) == digest_of(count)
    assert digest_of(loop) == digest_of(loop) != digest_of([1, [1]])


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (threading.Lock(), "lock"),
        ((n for n in ()), "generator"),
        (object(), "object"),
        ([{"a": object()}], "object"),
        (da.zeros(3), "Array"),
        (xr.DataArray(da.zeros(3)), "DataArray"),
    ],
)
def test_what_cannot_be_told_is_refused(value: Any, kind: str) -> None:
    with pytest.raises(InputError, match=kind):
        digest_of("before", value)
