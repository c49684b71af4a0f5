"""One progress bar for every scheduler: plain text on stderr, none off a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from somscale.options import get_options

if TYPE_CHECKING:
    from tqdm import tqdm

__all__ = ["progress_bar"]


class _Silent:
    """No bar, and none of tqdm's threads."""

    disable = True

    def __enter__(self) -> _Silent:
        return self

    def __exit__(self, *failure: object) -> None:
        """Nothing was shown, so nothing is cleared."""

    def update(self, count: int = 1) -> None:
        """Count nothing."""


def progress_bar(total: int, label: str, unit: str = "task") -> tqdm[Any] | _Silent:
    """A bar that counts tasks, or other units; silent unless the option ``progress`` is set.

    A notebook's stderr is no terminal but shows a plain bar well, and a plain
    bar needs no widgets.
    """
    if not get_options().progress:
        return _Silent()
    from tqdm import tqdm

    disable = False if "ipykernel" in sys.modules else None
    return tqdm(total=total, desc=label, unit=unit, disable=disable, leave=False)
