"""Which of many candidates to keep: indices with ranks and intervals, from one read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import xarray as xr

from somscale.comparing.arguments import question_of
from somscale.comparing.labelling import with_intervals, with_ranks
from somscale.comparing.numbers import as_table
from somscale.comparing.solving import solve_resampled
from somscale.metrics.answering.assemble import assemble
from somscale.metrics.answering.compute import solve
from somscale.metrics.asking.selection import Metrics

__all__ = ["compare"]


def compare(
    samples: Any,
    candidates: Mapping[str, Any],
    metrics: Metrics = "all",
    *,
    labels: Any = None,
    intervals: Literal["bootstrap", "anchors"] | None = "bootstrap",
    n_boot: int = 200,
    seed: int = 0,
    **options: Any,
) -> xr.Dataset:
    """Compare maps, embeddings or clusterings by indices, with ranks and intervals.

    Maps are judged, and resampled, in one read of the samples.

    Parameters
    ----------
    samples : array, DataArray, Dataset, Dask array, zarr.Array, CSR matrix or path(s)
        The samples, as for :func:`somscale.evaluate`.
    candidates : dict
        Names to two or more maps, embeddings or clusterings, all of one kind.
    metrics : "all", name, sequence or mapping
        Indices or families, as for :func:`somscale.evaluate`; of "all" and of families those
        that are one number.  An index along a parameter is one number where one value is
        given, as `trustworthiness` with ``k=10`` or `distortion` with ``temperature=1``.
    labels : array_like, (sample,), optional
        Classes of the samples.
    intervals : {"bootstrap", "anchors"}, optional
        "bootstrap": 95 % intervals of indices that are means over samples, and the anchors' of
        estimates, where there is `sample_anchors`; "anchors": these alone; None: neither.
    n_boot : int
        Resamples, at least 40.
    seed : int
        Of the resamples, and of anchors.  The same seed gives the same resamples for any
        chunks, workers and candidates, and the first so many of them for any `n_boot`.
    **options
        ``cost``, ``convention``, ``sample_anchors``, how samples are read, and parameters of
        indices, as for :func:`somscale.evaluate`.

    Returns
    -------
    Dataset
        On ``metric`` and ``candidate``, computed also for Dask samples:

        ``value``, ``note``
            As of :func:`somscale.evaluate`.
        ``rank``
            1 is the best by the index's direction (nearest to 0 for "zero"); equal values
            share the mean of their ranks.  nan for undefined values, and for all of an index
            of direction "none".
        ``mean_rank(candidate)``
            Mean over the indices by which every candidate has a rank, each counted once:
            name the `metrics` that matter, for many of "all" measure the same.
        ``best(metric)``
            The first of the candidates of lowest rank, "" where there is none.
        ``on_front(candidate)``
            For maps, where quantization and topographic error are asked for (by any label):
            whether no other map is as low in both and lower in one.
        ``standard_error``, ``interval_low``, ``interval_high``
            Of the value; nan where there is no interval, and ``interval_note`` says why.
        ``indistinguishable``
            1 where the 95 % interval of the difference to the best candidate, over the same
            resamples, holds 0, and for the best itself; 0 where it does not; nan where no
            resamples tell.

    Raises
    ------
    InputError
        Fewer than two candidates, candidates of several kinds, too few resamples, an index
        that is no single number, or any bad argument of :func:`somscale.evaluate`.
    UnknownMetricError
        An unknown index.
    SampleValueError
        Samples that are not finite.
    MemoryBudgetError
        A pass does not fit the budget.

    Notes
    -----
    Resampled are the quantization error of every kind, ``rms_per_feature``, the topographic
    and combined errors (of maps of up to 1,024 units), the simplified silhouette, and the
    micro-averaged silhouettes of clusterings, each sample's own value held fixed; and indices
    of clusterings against labels, computed anew from the table of every resample, but for
    those that count samples or pairs.  A sample
    occurs in a resample by a weight of its own, of mean and variance 1, Poisson's, in the
    place of multinomial ones that would have to know all samples (Hanley & MacGibbon 2006,
    doi:10.1016/j.cmpb.2006.04.006); the index of a resample is the ratio of two sums.  The
    sums alone are held, `n_boot` × (terms) numbers of 8 bytes, however many samples there
    are; of clusterings also one number a sample.

    Intervals are percentiles; they tell what other *samples* would change, with the candidate
    held fixed, and not what training again would.  Samples that depend on each other, as days
    of weather do, make them too narrow.  Many comparisons with the best are not corrected for
    their number.

    References
    ----------
    Efron & Tibshirani 1993, An Introduction to the Bootstrap

    Examples
    --------
    >>> import numpy as np, somscale as ss
    >>> samples = np.random.default_rng(0).random((500, 2))
    >>> maps = {f"{n} x {n}": ss.train(samples, ss.Grid(n, n), epochs=3) for n in (2, 4, 6)}
    >>> found = ss.compare(samples, maps, ["quantization_error", "topographic_error"])
    >>> found["best"].sel(metric="quantization_error").item()
    '6 x 6'
    """
    problem, requests = question_of(
        samples, candidates, metrics, labels, intervals, n_boot, seed, options
    )
    if intervals != "bootstrap":
        result = assemble(problem, requests, solve(problem, requests), named=True).compute()
        result = with_ranks(as_table(result, requests), problem, requests)
        return result if intervals is None else with_intervals(result, problem, requests, {}, {})
    result, replicates, reasons = solve_resampled(problem, requests, int(n_boot), int(seed))
    result = with_ranks(result, problem, requests)
    result = with_intervals(result, problem, requests, replicates, reasons)
    result.attrs |= {"n_boot": int(n_boot), "seed": int(seed)}
    return result
