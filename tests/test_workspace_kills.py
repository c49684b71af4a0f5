"""Random kills of a run and of its workers; many, and of a scheduler, by SOMSCALE_KILLS=20."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from faults import Victim
from workspace_kills import kill, undisturbed

KILLS = int(os.environ.get("SOMSCALE_KILLS", "2"))


VICTIMS = ["process", "worker", *(["scheduler"] if "SOMSCALE_KILLS" in os.environ else [])]


@pytest.mark.parametrize("victim", VICTIMS)
def test_killed_runs_end_with_the_same_bytes(victim: Victim, tmp_path: Path) -> None:
    whole, seconds = undisturbed(tmp_path / "whole", 1500, 0, victim)
    runs = kill(
        tmp_path, whole, kills=KILLS, seconds=seconds, n_samples=1500, seed=KILLS, victim=victim
    )
    assert runs >= 1
