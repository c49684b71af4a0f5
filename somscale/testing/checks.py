"""A check as an object: called it runs, printed it says what of, so that pytest can list it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from somscale.errors import InputError

__all__ = ["Check", "chosen_checks", "run_all"]

Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Check(Generic[Subject]):
    """One law, and what has to keep it.

    Attributes
    ----------
    law : str
        Name of the law.
    of : str
        Name of what is checked.
    """

    law: str
    of: str
    function: Callable[[Subject], None]
    subject: Subject

    def __call__(self) -> None:
        """Check the law.

        Raises
        ------
        AssertionError
            It is broken.
        """
        self.function(self.subject)

    def __str__(self) -> str:
        return f"{self.of}: {self.law}"


def chosen_checks(
    laws: Mapping[str, Callable[[Subject], None]],
    of: str,
    subject: Subject,
    without: Iterable[str],
) -> list[Check[Subject]]:
    """A check of each law, without those that are left out by name.

    Raises
    ------
    InputError
        A name is none of a law.
    """
    left_out = [without] if isinstance(without, str) else list(without)
    for name in left_out:
        if name not in laws:
            known = ", ".join(map(repr, laws))
            raise InputError(f"without={name!r} names no law of {of}; its laws are {known}")
    return [
        Check(law, of, function, subject) for law, function in laws.items() if law not in left_out
    ]


def run_all(checks: Iterable[Check[Subject]]) -> None:
    """Run checks in order; the first that fails ends it."""
    for check in checks:
        check()
