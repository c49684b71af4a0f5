"""Workspaces: what large runs stand on, and what is left of them."""

from __future__ import annotations

from somscale.workspace.places import as_workspace, known_workspace
from somscale.workspace.workspace import Workspace

__all__ = ["Workspace", "as_workspace", "known_workspace"]
