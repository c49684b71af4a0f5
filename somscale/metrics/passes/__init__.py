"""The passes over samples and pairs that statistics come from."""

from __future__ import annotations
