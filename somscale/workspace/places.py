"""A workspace by its place, for whoever is given either."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from somscale.engine.readers.urls import Url
from somscale.store.keys import list_children, read_key
from somscale.store.location import locate
from somscale.workspace.workspace import Workspace

__all__ = ["as_workspace", "is_workspace", "known_workspace"]


def as_workspace(store: Any) -> Workspace:
    """A workspace, or the one at a place."""
    return store if isinstance(store, Workspace) else Workspace(store)


def known_workspace(store: Any) -> Workspace | None:
    """A workspace, or that at a place for reading; None where there is nothing at all."""
    if store is None or isinstance(store, Workspace):
        return store
    if not list_children(locate(store, read_only=True), ""):
        return None
    return Workspace(store, mode="r")


def is_workspace(path: Path | Url) -> bool:
    """Whether a path or a URL leads to a workspace, and not to any other archive.

    Raises
    ------
    WorkspaceError
        What is at the URL cannot be asked for.
    """
    if isinstance(path, Url):
        return _is_workspace_at(path)
    if not (path / "zarr.json").is_file():
        return False
    import zarr

    try:
        return "somscale_workspace" in zarr.open_group(path, mode="r").attrs
    except (OSError, ValueError, TypeError):
        return False


def _is_workspace_at(url: Url) -> bool:
    text = read_key(locate(str(url), read_only=True), "zarr.json")
    try:
        return text is not None and "somscale_workspace" in json.loads(text)["attributes"]
    except (ValueError, KeyError, TypeError):
        return False
