"""The laws that every index keeps, ours and a user's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from somscale.errors import InputError
from somscale.metrics.spec import Subject
from somscale.testing.checks import Check, chosen_checks, run_all
from somscale.testing.judged import Index, Judged, plain_index
from somscale.testing.metric_changes import (
    check_labels,
    check_order,
    check_precision,
    check_scale,
    check_translation,
)
from somscale.testing.metric_facts import check_facts, check_range, check_refusals
from somscale.testing.metric_runs import (
    check_alone,
    check_candidates,
    check_chunks,
    check_laziness,
    check_repeat,
    check_schedulers,
)

__all__ = ["check_metric", "checks_of_metric"]

_LAWS: Final[dict[str, Callable[[Judged], None]]] = {
    "facts": check_facts,
    "range": check_range,
    "refusals": check_refusals,
    "repeat": check_repeat,
    "alone": check_alone,
    "chunks": check_chunks,
    "schedulers": check_schedulers,
    "laziness": check_laziness,
    "candidates": check_candidates,
    "order": check_order,
    "precision": check_precision,
    "scale": check_scale,
    "translation": check_translation,
    "labels": check_labels,
}

_NOT_OF: Final[dict[Subject, frozenset[str]]] = {
    "map": frozenset({"labels"}),
    "projection": frozenset(),
    "clusters": frozenset(),
    # these have no samples but labels, which are read at once
    "partition": frozenset({"chunks", "laziness", "precision", "scale", "translation"}),
    "units": frozenset({"laziness"}),
}
"""Laws that say nothing of some indices."""


def check_metric(
    index: Any,
    *,
    parameters: Mapping[str, Any] | None = None,
    without: Iterable[str] = (),
    seed: int = 0,
) -> None:
    """Check that an index keeps the laws that users of somscale count on.

    It is computed on small data, 40 samples of 3 features, in some dozen ways; on a map of
    3 × 4 units, on embeddings and clusterings, as it was declared.

    Parameters
    ----------
    index : callable, str, or a sequence of them
        What a decorator of ``somscale.extending`` made of a formula, or the name of an index
        that is declared.  Several are checked together, which takes less time than one after
        another.
    parameters : mapping, optional
        Parameters of the index that are not left at their defaults.
    without : iterable of str
        Laws that the index does not promise, by their names below.
    seed : int
        What the data are drawn from.

    Raises
    ------
    AssertionError
        A law is broken: the sentence names the index, the law, both values and where they come
        from, the place in the array, the data and their seed.
    InputError
        It is no index, has no such parameter, or `without` names no law.
    UnknownMetricError
        No index has that name.

    Notes
    -----
    The laws, in the order in which they are checked:

    facts
        Texts are not empty; the value has the declared dims and type, and units, long name and
        range as attributes.
    range
        Values lie within ``lower`` and ``upper``, and where they are nan a note or ``undefined``
        says why: also of one sample, of ties, of samples that are all equal.  Such data may be
        refused with an `InputError`.
    refusals
        An unknown parameter is refused, by its name.
    repeat
        Asked for twice at once, it is the same: the formula does not change its statistics.
    alone
        Its own function gives the bits that ``evaluate`` gives.
    chunks
        Samples in memory, and in a Dask array of ragged chunks or of single rows, give the same
        bits.
    schedulers
        So do a plain loop, two threads, and Dask's own scheduler in one thread.
    laziness
        Of a Dask array the value is one, and nothing is computed before it is asked for.
    candidates
        Candidates in a dict have the bits that each has alone; sums over pairs of samples, which
        all candidates share a walk for, agree to 1e−12.
    order
        Other orders of the samples give the same integers, and floats to 1e−9.
    precision
        The same numbers in float32 give the same integers, and floats to 1e−5.
    scale
        Samples times 8, code vectors and embedding along with them, give a value 8^p times as
        large where its units are "data^p", and the same where they are "1" or count something.
        Of other units nothing is asked; nor of distances on a map, which do not scale, or, of
        units "data^p", in an embedding, which has a scale of its own.
    translation
        Samples and code vectors that are shifted alike give the same value, to 1e−6.
        An index of places, such as a mean, does not promise it, nor one of ratios to the mean.
    labels
        Other numbers for the same classes and clusters permute what stands for each.

    That statistics do not depend on how large samples are cut and merged is no affair of an
    index: see :func:`somscale.testing.check_reduction`.

    Examples
    --------
    >>> from somscale.testing import check_metric
    >>> check_metric("topographic_error")
    """
    run_all(checks_of_metric(index, parameters=parameters, without=without, seed=seed))


def checks_of_metric(
    index: Any,
    *,
    parameters: Mapping[str, Any] | None = None,
    without: Iterable[str] = (),
    seed: int = 0,
) -> list[Check[Judged]]:
    """Give the checks of :func:`somscale.testing.check_metric` one by one, to be listed.

    Parameters
    ----------
    index, parameters, without, seed
        As in :func:`somscale.testing.check_metric`.

    Returns
    -------
    list of Check
        Each is called without arguments, raises an `AssertionError` where its law is broken, and
        prints as the index and the law.

    Raises
    ------
    InputError
        It is no index, has no such parameter, or `without` names no law.
    UnknownMetricError
        No index has that name.

    Examples
    --------
    In a test file::

        @pytest.mark.parametrize("check", checks_of_metric(hit_inequality), ids=str)
        def test_hit_inequality(check):
            check()

    >>> from somscale.testing import checks_of_metric
    >>> print(checks_of_metric("purity")[0])
    purity: facts
    """
    several = isinstance(index, Iterable) and not isinstance(index, str)
    indices = [plain_index(one, parameters or {}) for one in (index if several else [index])]
    if not indices:
        raise InputError("there is no index to check; give one at least")
    by_subject: dict[Subject, list[Index]] = {}
    for one in indices:
        by_subject.setdefault(one.declared.subject, []).append(one)
    left_out = [without] if isinstance(without, str) else list(without)
    checks = []
    for subject, own in by_subject.items():
        judged = Judged(own, seed)
        chosen = chosen_checks(_LAWS, judged.name, judged, left_out)
        checks += [check for check in chosen if check.law not in _NOT_OF[subject]]
    return checks
