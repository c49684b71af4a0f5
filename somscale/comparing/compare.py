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
    candidates: Mapping[str, Any] | Mapping[int, Any],
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
    samples : array, DataArray, Dataset, Dask array, zarr.Array, CSR matrix, path(s) or Workspace
        The samples, as for :func:`somscale.evaluate`.
    candidates : dict
        Names, texts or all of them integers, to two or more maps, embeddings or clusterings,
        all of one kind.
    metrics : "all", name, sequence or mapping
        Indices or families, as for :func:`somscale.evaluate`; of "all" and of families those
        that are one number.  An index along a parameter is one number where one value is
        given, as `trustworthiness` with ``k=10`` or `distortion` with ``temperature=1``.
    labels : array_like, (sample,), optional
        Classes of the samples.
    intervals : {"bootstrap", "anchors"}, optional
        "bootstrap": 95 % intervals from other draws of the samples, and the anchors' of
        estimates, where there is `sample_anchors`; "anchors": these alone; None: neither.
    n_boot : int
        Resamples, at least 40.
    seed : int
        Of the resamples, and of anchors.  The same seed gives the same resamples for any
        chunks, workers and candidates, and the first so many of them for any `n_boot`.
    **options
        ``cost``, ``convention``, ``sample_anchors``, how samples are read, and parameters of
        indices, as for :func:`somscale.evaluate`.  ``store``: a workspace of these samples,
        whose distances and ranks are read instead of computed; nothing is written to it.

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
            The first of the candidates of lowest rank, as a text; "" where there is none.
        ``on_front(candidate)``
            For maps, where quantization and topographic error are asked for (by any label):
            whether no other map is as low in both and lower in one.
        ``standard_error``, ``interval_low``, ``interval_high``
            Of the value; nan where there is no interval, and ``interval_note`` says why.  It
            also marks intervals without width, as of an error that no sample has.
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
    WorkspaceError
        The samples are not those of the `store`.
    MemoryBudgetError
        A pass does not fit the budget.

    Notes
    -----
    Three ways lead to intervals, of what other *samples* from where these are from would
    change; candidates are held fixed, and what training again would change is not in them.

    *Means over samples* are resampled: the quantization error of every kind,
    ``rms_per_feature``, the topographic and combined errors (of maps of up to 1,024 units)
    and the simplified silhouette.  A sample
    occurs in a resample by a weight of its own, of mean and variance 1, Poisson's, in the
    place of multinomial ones that would have to know all samples (Hanley & MacGibbon 2006,
    doi:10.1016/j.cmpb.2006.04.006); the index of a resample is the ratio of two sums.  The
    sums alone are held, `n_boot` × (terms) numbers of 8 bytes, however many samples there
    are.  Intervals are percentiles.

    *Indices against labels*, of clusterings and of maps' units, are computed anew from the
    table of every resample, but for those that count samples or pairs; with maps one unit a
    sample is held for it.  As a resample repeats samples, and a sample agrees with itself,
    replicates are moved to have the value as their mean.  Where cells are so few that this
    moves others than indices of pairs by half a standard error or more, the index has no
    interval: itself it is as far off that of many samples.

    *Silhouettes* (micro and macro), ``davies_bouldin_score`` and ``_index``, ``r_squared``,
    ``explained_variance``, and correlations and stresses of distances of pairs change for
    all samples with every one.  Their errors are those of 64 random halves of (at most 1,024)
    samples, scaled to all of them (delete-d jackknife, Shao & Wu 1989,
    doi:10.1214/aos/1176347263), with the samples held fixed that were drawn.

    All candidates share all draws, so that differences are paired.
    Samples that depend on each other, as days of weather do, make intervals too narrow.
    Many comparisons with the best are not corrected for their number.  All else, as indices
    of ranks, has intervals of `sample_anchors` alone, which tell how well these estimate the
    index of the samples at hand.

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
