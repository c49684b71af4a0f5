"""The plain loop: the reference of all schedulers, used where the work is small."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from somscale.engine.blas import single_threaded_blas
from somscale.engine.progress import progress_bar
from somscale.reductions.base import HasFields, Partial, RunResult
from somscale.reductions.merge import Fold

__all__ = ["fold_alone"]


def fold_alone(
    reductions: Sequence[HasFields],
    level: int,
    indices: Sequence[int],
    run: Callable[[int], RunResult],
    label: str,
) -> list[Partial]:
    """Run tasks one after another and fold their partials; no Dask.

    Parameters
    ----------
    reductions : sequence
        In the order of the tasks' partials.
    level : int
        Level of the tasks in the tree over tiles.
    indices : sequence of int
        Their indices at that level, ascending.
    run : callable
        Gives the partials of the task at a position in `indices`.
    label : str
        What the progress bar says.
    """
    folds = [Fold(r.fields) for r in reductions]
    with single_threaded_blas(), progress_bar(len(indices), label) as bar:
        for position, index in enumerate(indices):
            for fold, partial in zip(folds, run(position), strict=True):
                fold.add(level, index, partial)
            bar.update()
    totals = [fold.result() for fold in folds]
    return [total for total in totals if total is not None]
