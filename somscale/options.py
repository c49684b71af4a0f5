"""Settings that hold inside a ``with`` block or until changed; nothing is read at import."""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from somscale.errors import InputError

__all__ = ["Options", "get_options", "parse_bytes", "set_options"]

_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@dataclass(frozen=True)
class Options:
    """Current settings; see :func:`set_options`."""

    memory_budget: int | None = None
    scheduler: Literal["auto", "serial", "threads", "processes", "distributed"] = "auto"
    workers: int | None = None
    progress: bool = False


_DEFAULTS = Options()
_current: ContextVar[Options] = ContextVar("somscale_options", default=_DEFAULTS)


def get_options() -> Options:
    """The settings in force here."""
    return _current.get()


def set_options(**settings: Any) -> AbstractContextManager[None]:
    """Change settings, from here on or inside a ``with`` block.

    They hold for the thread (the context, see ``contextvars``) that sets them.

    Parameters
    ----------
    memory_budget : int or str, optional
        Bytes a worker process may hold in all, what it holds already included;
        a number or a text such as "2GiB".  None: half of the memory that is free,
        on a cluster 70 % of the smallest worker's own limit.
    scheduler : {"auto", "serial", "threads", "processes", "distributed"}
        "auto" uses a Dask client where there is one, a plain loop where the
        work is small, and threads otherwise.  Every choice gives the same bits.
    workers : int, optional
        Threads or processes; None: as many as cores.
    progress : bool
        Show a progress bar on stderr.

    Raises
    ------
    InputError
        Unknown setting or value.

    Examples
    --------
    >>> import somscale as ss
    >>> with ss.set_options(memory_budget="2GiB"):
    ...     pass  # and what was set before is back afterwards
    """
    known = {f.name for f in fields(Options)}
    unknown = set(settings) - known
    if unknown:
        raise InputError(f"unknown option {sorted(unknown)[0]!r}; the options are {sorted(known)}")
    before = _current.get()
    _current.set(replace(before, **_checked(settings)))
    return _Block(before)


class _Block(AbstractContextManager[None]):
    """Brings back what was set before."""

    def __init__(self, before: Options) -> None:
        self._before = before

    def __exit__(self, *failure: object) -> None:
        _current.set(self._before)


def _checked(settings: dict[str, Any]) -> dict[str, Any]:
    checked = dict(settings)
    if settings.get("memory_budget") is not None:
        checked["memory_budget"] = parse_bytes(settings["memory_budget"])
    schedulers = ("auto", "serial", "threads", "processes", "distributed")
    if settings.get("scheduler", "auto") not in schedulers:
        raise InputError(f"unknown scheduler {settings['scheduler']!r}; choose from {schedulers}")
    workers = settings.get("workers")
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise InputError(f"workers must be a positive integer, not {workers!r}")
    if not isinstance(settings.get("progress", False), bool):
        raise InputError(f"progress is True or False, not {settings['progress']!r}")
    return checked


def parse_bytes(text: int | float | str) -> int:
    """Bytes from a number or a text such as "512 MiB", "2GiB" or "1.5GB".

    Raises
    ------
    InputError
        The text is no amount of memory.
    """
    if isinstance(text, int | float) and not isinstance(text, bool):
        amount, factor = float(text), 1
    elif not isinstance(text, str):
        raise InputError(f"{text!r} is no amount of memory; write for example '2GiB'")
    else:
        stripped = text.strip().lower().removesuffix("b")
        base = 1024 if stripped.endswith("i") else 1000
        stripped = stripped.removesuffix("i")
        unit = stripped[-1:] if stripped[-1:] in _UNITS else ""
        try:
            amount = float(stripped.removesuffix(unit) if unit else stripped)
        except ValueError:
            raise InputError(f"{text!r} is no amount of memory; write for example '2GiB'") from None
        factor = base ** _UNITS[unit]
    if not 0 < amount * factor < 2**62:
        raise InputError(f"an amount of memory is positive and finite, not {text!r}")
    return int(amount * factor)
