"""The laws of a reduction: what engines count on when they cut, merge and send its work."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, get_args

import numpy as np
from numpy.typing import ArrayLike

from somscale._types import AnyArray
from somscale.engine.readers.columns import Column, RowValues, SampleValues, SampleVectors
from somscale.errors import InputError
from somscale.reductions.base import Field, Merge, Partial
from somscale.testing.checks import Check, chosen_checks, run_all
from somscale.testing.comparing import broken, shown
from somscale.testing.reduction_walks import Node, Walk, fold_all, walk_of

__all__ = ["check_reduction", "checks_of_reduction"]


@dataclass(frozen=True)
class _Walked:
    """A reduction, its walk, and what every tile gives."""

    name: str
    walk: Walk
    samples: AnyArray
    before: AnyArray
    tile_rows: int

    def __str__(self) -> str:
        return f"{len(self.samples)} samples in tiles of {self.tile_rows} rows"

    @property
    def fields(self) -> Mapping[str, Field]:
        """The fields of a partial."""
        found: Mapping[str, Field] = self.walk.reduction.fields
        return found

    @cached_property
    def tiles(self) -> list[Node]:
        """Every tile on its own."""
        return [self.walk.node(tile, 1) for tile in range(self.walk.tasks(1))]

    @cached_property
    def whole(self) -> Partial:
        """All tiles, merged along their tree."""
        return fold_all(self.fields, self.tiles)

    def fail(self, law: str, what: str) -> None:
        """Say that a law is broken."""
        broken(self.name, law, what, self)

    def require_same(self, law: str, found: Partial, known: Partial, words: str) -> None:
        """Refuse a partial that differs in a bit."""
        for field, wanted in known.items():
            own = found[field]
            if own.dtype != wanted.dtype or own.shape != wanted.shape:
                left, right = (f"{a.dtype} of shape {a.shape}" for a in (own, wanted))
                self.fail(law, f"field {field!r} is {left} {words}, not {right}")
            if own.tobytes() != wanted.tobytes():
                differs = (own != wanted) & ~((own != own) & (wanted != wanted))
                places = np.argwhere(differs | (np.signbit(own) != np.signbit(wanted)))
                at = tuple(int(i) for i in places[0]) if len(places) else ()
                place = f"field {field!r} at {list(at)}" if at else f"field {field!r}"
                self.fail(law, f"{place} is {shown(own[at])} {words}, not {shown(wanted[at])}")


def _check_fields(given: _Walked) -> None:
    """A partial is a flat dict with an array for each field, as declared."""
    merges = get_args(Merge)
    for field, spec in given.fields.items():
        if spec.merge not in merges:
            given.fail("fields", f"field {field!r} merges by {spec.merge!r}, none of {merges}")
    for _, tile, partial in given.tiles:
        if type(partial) is not dict or set(partial) != set(given.fields):
            given.fail(
                "fields",
                f"the partial of tile {tile} is {_names(partial)}, "
                f"but its fields are {sorted(given.fields)}",
            )
        for field, spec in given.fields.items():
            _check_array(given, f"field {field!r} of tile {tile}", partial[field], spec)


def _names(partial: Any) -> str:
    return str(sorted(partial)) if isinstance(partial, dict) else f"a {type(partial).__name__}"


def _check_array(given: _Walked, name: str, array: Any, spec: Field) -> None:
    if not isinstance(array, np.ndarray):
        given.fail("fields", f"{name} is a {type(array).__name__}, not an array")
    if array.dtype != np.dtype(spec.dtype):
        given.fail("fields", f"{name} is {array.dtype}, but declared as {spec.dtype}")
    if spec.merge == "keyed":
        right, wanted = array.ndim == 2 and len(array) == 2, "(2, m)"
    elif spec.merge in ("concat", "rows", "listed"):
        right = array.ndim > 0 and array.shape[1:] == spec.shape
        wanted = f"(m, {', '.join(map(str, spec.shape))})"
    else:
        right, wanted = array.shape == spec.shape, str(spec.shape)
    if not right:
        given.fail("fields", f"{name} has shape {array.shape}, but merges as {wanted}")


def _check_order(given: _Walked) -> None:
    """Tiles give the same in any order and a second time: none leaves anything behind."""
    for task in reversed(range(len(given.tiles))):
        _, number, partial = given.tiles[task]
        *_, again = given.walk.node(task, 1)
        given.require_same("order", again, partial, f"when tile {number} is walked again")


def _check_grouping(given: _Walked) -> None:
    """Tasks of 2, 4 or more tiles merge to what single tiles merge to."""
    run_tiles = 2
    while run_tiles < 2 * given.walk.n_tiles:
        nodes = [given.walk.node(task, run_tiles) for task in range(given.walk.tasks(run_tiles))]
        words = f"from tasks of {run_tiles} tiles"
        given.require_same("grouping", fold_all(given.fields, nodes), given.whole, words)
        run_tiles *= 2


def _check_cuts(given: _Walked) -> None:
    """Rows in pieces, features in slabs, panels and sweeps of any size give the same bits."""
    for words, nodes in given.walk.cuts():
        given.require_same("cuts", fold_all(given.fields, nodes), given.whole, f"from {words}")


def _check_finalize(given: _Walked) -> None:
    """To finish a partial does not change it: it may be finished again."""
    total = copy.deepcopy(given.whole)
    for time in ("once", "twice"):
        given.walk.reduction.finalize(total)
        given.require_same("finalize", total, given.whole, f"when it has been finished {time}")


def _check_pickle(given: _Walked) -> None:
    """A copy that was pickled gives the same: it may be sent to a process."""
    try:
        copied = pickle.loads(pickle.dumps(given.walk.reduction))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        given.fail("pickle", f"it cannot be pickled: {error}")
    walk = given.walk.with_reduction(copied)
    *_, partial = walk.node(0, 1)
    given.require_same("pickle", partial, given.tiles[0][2], "from a copy that was pickled")


def _check_input(given: _Walked) -> None:
    """Samples are left as they are."""
    if given.tiles and given.samples.tobytes() != given.before.tobytes():
        at = [int(i) for i in np.argwhere(given.samples != given.before)[0]]
        now, then = (shown(a[tuple(at)]) for a in (given.samples, given.before))
        given.fail("input", f"the samples hold {now} at {at} after the walk, not {then}")


_LAWS: Final[dict[str, Callable[[_Walked], None]]] = {
    "fields": _check_fields,
    "order": _check_order,
    "grouping": _check_grouping,
    "cuts": _check_cuts,
    "finalize": _check_finalize,
    "pickle": _check_pickle,
    "input": _check_input,
}


def check_reduction(
    reduction: Any,
    samples: ArrayLike,
    *,
    columns: Mapping[str, Any] | None = None,
    matrix: ArrayLike | None = None,
    after: Sequence[Any] = (),
    tile_rows: int = 8,
    without: Iterable[str] = (),
) -> None:
    """Check that a reduction keeps the laws that engines count on.

    Parameters
    ----------
    reduction : LinearReduction, PairReduction or SweepReduction
        See ``somscale.reductions.base``.
    samples : array_like, (N, D)
        More samples than `tile_rows`.
    columns : mapping of str to array_like, optional
        What it reads beside the samples: codes (N,), negative where a sample takes no part, or
        vectors (N, C).
    matrix : array_like, (N, N), optional
        The samples' distances, for a reduction of pairs that is told of them.
    after : sequence of LinearReduction
        Those whose words it needs, which go before it in a pass.
    tile_rows : int
        Rows of a tile here; a reduction's own tiles have more.
    without : iterable of str
        Laws that are not looked at, by their names below.

    Raises
    ------
    AssertionError
        A law is broken: the sentence names the reduction, the law, the field, and both values.
    InputError
        There are too few samples, columns of other lengths, or `without` names no law.

    Notes
    -----
    The laws, in the order in which they are checked:

    fields
        The partial of a tile is a flat dict with an array for each field, of the declared type
        and shape, and each field names a merge.
    order
        Tiles give the same bits in another order and a second time.
    grouping
        Tasks of 1, 2, 4, … tiles merge to the same bits along the binary tree.
    cuts
        So do rows in pieces, features in slabs or, of pairs, panels, groups and sweeps of every
        size that the reduction offers.
    finalize
        It does not change what it finishes.
    pickle
        A copy that was pickled gives the same bits.
    input
        Samples are left as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from somscale.reductions.units import UnitsReduction
    >>> from somscale.testing import check_reduction
    >>> samples = np.random.default_rng(0).standard_normal((50, 3))
    >>> check_reduction(UnitsReduction(samples[:6]), samples)
    """
    checks = checks_of_reduction(
        reduction,
        samples,
        columns=columns,
        matrix=matrix,
        after=after,
        tile_rows=tile_rows,
        without=without,
    )
    run_all(checks)


def checks_of_reduction(
    reduction: Any,
    samples: ArrayLike,
    *,
    columns: Mapping[str, Any] | None = None,
    matrix: ArrayLike | None = None,
    after: Sequence[Any] = (),
    tile_rows: int = 8,
    without: Iterable[str] = (),
) -> list[Check[_Walked]]:
    """Give the checks of :func:`somscale.testing.check_reduction` one by one, to be listed.

    Parameters
    ----------
    reduction, samples, columns, matrix, after, tile_rows, without
        As in :func:`somscale.testing.check_reduction`.

    Returns
    -------
    list of Check
        As :func:`somscale.testing.checks_of_metric` gives them.

    Raises
    ------
    InputError
        There are too few samples, columns of other lengths, or `without` names no law.
    """
    values = np.array(samples)
    if values.ndim != 2 or len(values) <= tile_rows:
        raise InputError(
            f"samples are (sample, feature), more than the {tile_rows} rows of a tile, not of "
            f"shape {values.shape}"
        )
    read = {name: _column(name, own, len(values)) for name, own in (columns or {}).items()}
    given_matrix = None if matrix is None else np.array(matrix)
    walk = walk_of(reduction, values, read, after, tile_rows, given_matrix)
    given = _Walked(reduction.name, walk, values, values.copy(), tile_rows)
    return chosen_checks(_LAWS, reduction.name, given, without)


def _column(name: str, values: Any, n_samples: int) -> RowValues:
    """A column as passes read it."""
    if hasattr(values, "read"):
        own: RowValues = values
        return own
    array = np.asarray(values)
    if len(array) != n_samples:
        raise InputError(f"column {name!r} has {len(array)} values for {n_samples} samples")
    if array.ndim == 1 and array.dtype.kind in "iu":
        return Column(array, 0, range(int(array.max(initial=-1)) + 1), name)
    return SampleValues(array) if array.ndim == 1 else SampleVectors(array)
