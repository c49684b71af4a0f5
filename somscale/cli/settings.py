"""Where and how a command computes: scheduler, workers, memory and progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from somscale.errors import InputError
from somscale.options import set_options

__all__ = ["run_settings"]

_LOCAL = ("serial", "threads", "processes")


@contextmanager
def run_settings(options: Mapping[str, Any]) -> Iterator[None]:
    """Apply ``--scheduler``, ``--workers`` and ``--memory-budget`` inside the block."""
    scheduler = options.get("scheduler")
    settings: dict[str, Any] = {"progress": True, "workers": options.get("workers")}
    if options.get("memory_budget"):
        settings["memory_budget"] = options["memory_budget"]
    if scheduler is None or scheduler in _LOCAL:
        settings["scheduler"] = scheduler or "auto"
        with set_options(**settings):
            yield
        return
    from distributed import Client

    where = {"scheduler_file": scheduler} if Path(scheduler).exists() else {"address": scheduler}
    try:
        client = Client(timeout=10, **where)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {scheduler!r}: {error}") from None
    with client, set_options(scheduler="distributed", **settings):
        yield
