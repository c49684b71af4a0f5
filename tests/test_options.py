"""Settings: in force at once, back after a block, refused where they make no sense."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import somscale as ss
from somscale.errors import InputError
from somscale.options import Options, get_options, parse_bytes


@pytest.fixture(autouse=True)
def _defaults() -> Iterator[None]:
    """What a test sets from there on is undone after it."""
    with ss.set_options():
        yield


def test_a_block_holds_and_gives_back() -> None:
    with ss.set_options(memory_budget="2GiB", workers=3):
        assert get_options() == Options(memory_budget=2 << 30, workers=3)
        with ss.set_options(workers=None, scheduler="serial", progress=True):
            assert get_options() == Options(2 << 30, "serial", None, True)
        assert get_options() == Options(memory_budget=2 << 30, workers=3)
    assert get_options() == Options()


def test_a_failing_block_gives_back_too() -> None:
    with pytest.raises(ZeroDivisionError), ss.set_options(workers=3):
        raise ZeroDivisionError
    assert get_options() == Options()


def test_settings_hold_from_here_on_without_a_block() -> None:
    ss.set_options(workers=3)
    ss.set_options(scheduler="serial")
    assert get_options() == Options(scheduler="serial", workers=3)


def test_another_thread_has_its_own() -> None:
    seen: list[Options] = []

    def other() -> None:
        ss.set_options(workers=5)
        seen.append(get_options())

    ss.set_options(scheduler="serial")
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [Options(workers=5)]
    assert get_options() == Options(scheduler="serial")


@pytest.mark.parametrize("scheduler", ["auto", "serial", "threads"])
@pytest.mark.parametrize("workers", [None, 1, 2])
def test_settings_change_no_bit(scheduler: str, workers: int | None) -> None:
    samples = np.random.default_rng(0).standard_normal((5000, 3))
    som = ss.codebook(samples[:6], ss.Grid(2, 3))
    expected = ss.evaluate(samples, som)
    with ss.set_options(scheduler=scheduler, workers=workers, memory_budget="8GiB"):
        assert ss.evaluate(samples, som).identical(expected)


def test_progress_is_shown_where_asked(capfd: pytest.CaptureFixture[str]) -> None:
    samples = np.random.default_rng(0).standard_normal((50, 3))
    som = ss.codebook(samples[:6], ss.Grid(2, 3))
    ss.evaluate(samples, som)
    quiet = capfd.readouterr()
    assert (quiet.out, quiet.err) == ("", "")
    with ss.set_options(progress=True):
        ss.evaluate(samples, som)
    # nothing but a terminal gets a bar, and standard output never does
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"memory": 1}, "unknown option 'memory'; the options are .*memory_budget"),
        ({"memory_budget": "much"}, "'much' is no amount of memory; write for example '2GiB'"),
        ({"memory_budget": [1]}, r"\[1\] is no amount of memory"),
        ({"memory_budget": 0}, "positive and finite, not 0"),
        ({"memory_budget": "-1GiB"}, "positive and finite, not '-1GiB'"),
        ({"memory_budget": float("nan")}, "positive and finite, not nan"),
        ({"scheduler": "fast"}, "unknown scheduler 'fast'; choose from .*'auto'"),
        ({"workers": 0}, "workers must be a positive integer, not 0"),
        ({"workers": 1.5}, "workers must be a positive integer, not 1.5"),
        ({"progress": "yes"}, "progress is True or False, not 'yes'"),
    ],
)
def test_bad_settings_are_refused_and_change_nothing(
    settings: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        ss.set_options(**settings)
    assert get_options() == Options()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (1, 1),
        (1.5, 1),
        ("512", 512),
        ("1kB", 1000),
        ("1 KiB", 1024),
        ("1.5GB", 1_500_000_000),
        (" 2gib ", 2 << 30),
        ("3M", 3_000_000),
        ("3Mi", 3 << 20),
        ("0.5 TiB", 1 << 39),
        ("1e3", 1000),
        ("100b", 100),
    ],
)
def test_amounts_of_memory(text: Any, expected: int) -> None:
    assert parse_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "GiB", "2 GiB of it", "2PiB", "two", "inf", "1e30"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_bytes(text)
