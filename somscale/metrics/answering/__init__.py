"""From finished statistics to labelled answers."""

from __future__ import annotations
