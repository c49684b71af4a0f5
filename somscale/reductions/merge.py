"""One merge for every reduction, and the fixed tree in which partials are merged.

Floating-point addition is not associative, so the *order* of merging is part
of a result.  :class:`Fold` merges along the binary tree over tile numbers,
whatever the tasks, workers and arrivals were; a task that holds an aligned
power-of-two run of tiles folds its own subtree and hands on one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from somscale._types import AnyArray
from somscale.kernels.counts import merge_keyed
from somscale.kernels.rowwise import merge_rows
from somscale.reductions.base import Field, Partial

__all__ = ["Fold", "fold_nodes", "merge_partials"]


def merge_partials(fields: Mapping[str, Field], left: Partial, right: Partial) -> Partial:
    """Merge two partials, `left` covering the earlier tiles.

    Neither is changed: a scheduler may hand the same partial out again.
    """
    return {name: _merge(spec, left[name], right[name]) for name, spec in fields.items()}


def _merge(spec: Field, left: AnyArray, right: AnyArray) -> AnyArray:
    if spec.merge == "sum":
        return np.asarray(np.add(left, right))
    if spec.merge == "max":
        return np.asarray(np.maximum(left, right))
    if spec.merge == "min":
        return np.asarray(np.minimum(left, right))
    if spec.merge in ("concat", "listed"):
        return np.concatenate([left, right])
    return merge_rows(left, right) if spec.merge == "rows" else merge_keyed(left, right)


class Fold:
    """Merge nodes of the binary tree over tile numbers, given in ascending order.

    A node ``(level, index)`` covers tiles ``index·2^level`` to
    ``(index+1)·2^level − 1``.  Tiles may be missing; a node with one child is
    that child.  At most one waiting node a level is held.

    Parameters
    ----------
    fields : mapping of str to Field
        The reduction's fields.
    """

    def __init__(self, fields: Mapping[str, Field]) -> None:
        self._fields = fields
        self._waiting: list[tuple[int, int, Partial]] = []

    def add(self, level: int, index: int, partial: Partial) -> None:
        """Take the next node; its tiles come after all tiles taken so far."""
        self._settle(level, index)
        self._waiting.append((level, index, partial))

    def result(self) -> Partial | None:
        """The whole tree's partial, or None when no tile was given."""
        while len(self._waiting) > 1:
            self._merge_last()
        return self._waiting[0][2] if self._waiting else None

    def _settle(self, level: int, index: int) -> None:
        # nodes whose common ancestor lies below the newcomer's are complete
        while len(self._waiting) > 1:
            (left_level, left, _), (right_level, right, _) = self._waiting[-2:]
            ancestor = _ancestor_level(left_level, left, right_level, right)
            if _ancestor_level(right_level, right, level, index) <= ancestor:
                return
            self._merge_last()

    def _merge_last(self) -> None:
        right_level, right, right_partial = self._waiting.pop()
        left_level, left, left_partial = self._waiting.pop()
        level = _ancestor_level(left_level, left, right_level, right)
        merged = merge_partials(self._fields, left_partial, right_partial)
        self._waiting.append((level, left >> (level - left_level), merged))


def _ancestor_level(left_level: int, left: int, right_level: int, right: int) -> int:
    """Level of the lowest node above both of two nodes."""
    level = max(left_level, right_level)
    apart = (left >> (level - left_level)) ^ (right >> (level - right_level))
    return level + apart.bit_length()


def fold_nodes(
    fields: Mapping[str, Field], nodes: Iterable[tuple[int, int, Partial]]
) -> Partial | None:
    """Fold nodes of one tree; see :class:`Fold`."""
    fold = Fold(fields)
    for level, index, partial in nodes:
        fold.add(level, index, partial)
    return fold.result()
