"""One progress bar for every scheduler: plain text on stderr, none off a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from somscale.options import get_options

if TYPE_CHECKING:
    from tqdm import tqdm

__all__ = ["progress_bar"]


def progress_bar(total: int, label: str) -> tqdm[Any]:
    """A bar that counts tasks; silent unless the option ``progress`` is set.

    A notebook's stderr is no terminal but shows a plain bar well, and a plain
    bar needs no widgets.
    """
    from tqdm import tqdm

    disable: bool | None = True
    if get_options().progress:
        disable = False if "ipykernel" in sys.modules else None
    return tqdm(total=total, desc=label, unit="task", disable=disable, leave=False)
