"""The version of somscale, kept here alone; the build and the package both read it."""

from __future__ import annotations

__version__ = "0.1.0"
