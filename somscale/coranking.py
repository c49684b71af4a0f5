"""The co-ranking framework for many projections of the same samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from somscale.codebook.passes import without_gapped_features
from somscale.engine.arrays import array_of
from somscale.engine.readers.samples import Samples, refuse_partial
from somscale.errors import InputError
from somscale.evaluate import open_candidates
from somscale.metrics.answering.assemble import assemble, refuse_clashes
from somscale.metrics.answering.compute import solve
from somscale.metrics.answering.single import compute_index, put_off
from somscale.metrics.asking.pair_wishes import measure_of
from somscale.metrics.asking.problem import READING, open_input, pose
from somscale.metrics.asking.question import Problem
from somscale.metrics.asking.selection import Metrics, select
from somscale.metrics.passes.rank_prepared import PreparedRanks, refuse_ranks
from somscale.metrics.spec import find_spec
from somscale.reductions.rank_want import JACCARD_K_MAX

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["CoRanking"]

_KEEPS: Final = ("lists", "ranks", None)
_CURVES: Final = (
    "q_nx",
    "r_nx",
    "lcmc",
    "b_nx",
    "u_n",
    "u_x",
    "trustworthiness",
    "continuity",
    "neighborhood_preservation",
    "mrre_intrusion",
    "mrre_extrusion",
    "neighborhood_jaccard",
)
"""All indices of every K that need no labels."""


class CoRanking:
    """Judge many projections of the same samples by ranks of neighbours.

    The samples are opened once.  What their distances tell is kept as `keep` says, found in
    one walk over the samples when it is first needed; every result equals that of
    :func:`somscale.evaluate`, bit for bit.

    Parameters
    ----------
    samples : array, DataArray, Dataset, Dask array, zarr.Array, CSR matrix or path(s)
        The samples, as for :func:`somscale.evaluate`; or their distances, (N, N), with
        ``distance="precomputed"``.
    keep : {"lists", "ranks"} or None
        What is kept of the samples' distances, see below.
    k_max : int
        With ``keep="lists"``: how many nearest samples are kept of each, at most N − 1.
    distance : str or callable
        Distance of the samples.
    p : float
        Exponent of "minkowski".
    sample_dims, variable, missing, mask, feature_weights
        How samples are read, as for :func:`somscale.evaluate`.

    Raises
    ------
    InputError
        An argument of the wrong shape, type or value.
    MemoryBudgetError
        With ``keep="ranks"``: the ranks do not fit the memory budget; nothing was computed.

    Notes
    -----
    What is kept, for N samples, and what a projection then costs:

    ``keep="lists"``
        The `k_max` nearest of every sample, N × `k_max` numbers of 4 bytes (of 8 from
        N = 2³¹ on).  With ties by sample index and K ≤ `k_max` they serve `q_nx`, `r_nx`,
        `lcmc`, `u_n`, `u_x`, `b_nx`, `continuity` (`neighborhood_preservation`),
        `mrre_extrusion`, `neighborhood_jaccard` and `rank_regions`, where these alone are
        asked for: only the projection is walked.  `trustworthiness`, `mrre_intrusion`, Q',
        point-wise quality, the co-ranking matrix, larger K and other ties need ranks of
        samples that are far: they walk the samples once for each call, whatever the number
        of projections in it.
    ``keep="ranks"``
        All ranks among the samples, N × N, in the narrowest unsigned integers that hold N
        (2 bytes up to N = 65,535), and twice that while they are found.  Equal distances
        share the least of their ranks, so that all ties are known.  No index walks the
        samples again, and its ranks are ordered in the place of distances: this pays where
        distances are dear, of many features or by a function, and less for Euclidean ones.
    ``keep=None``
        Nothing: every call walks the samples once.

    Several projections in one dict cost one walk over the samples, and stand along the dim
    ``candidate``.  Best-matching units of a map are found in one linear read of the samples.
    Results of samples in Dask arrays are lazy; what is kept of these is found when the
    first result that needs it is asked for.

    Coming from the class that the framework's second article prints: its
    ``significance=s, tolerance=t`` is here ``kappa_s=s - 2, kappa_t=t - 1``.  It ranks from
    1 on and counts the sample itself, compares with < in the place of ≤, and divides by s:
    in terms of ours its value is ``(1 + kappa_s * Q') / s``, one for the pair of each
    sample with itself, where it looks at both ranks; as printed it looks at that among the
    samples twice, so that neighbours in the projection alone are left out.

    References
    ----------
    Lee & Verleysen 2009, Neurocomputing 72; Lueks, Mokbel, Biehl & Hammer 2011,
    arXiv:1110.3917.

    Examples
    --------
    >>> import numpy as np, somscale as ss
    >>> samples = np.array([[0.0], [1.0], [3.0], [6.0], [10.0]])
    >>> cr = ss.CoRanking(samples)
    >>> float(cr.evaluate(np.array([[0.0], [10.0], [6.0], [3.0], [1.0]]), 2, 1))
    0.8
    """

    def __init__(
        self,
        samples: Any,
        *,
        keep: Literal["lists", "ranks"] | None = "lists",
        k_max: int = 100,
        distance: Any = "euclidean",
        p: float = 2,
        sample_dims: Any = None,
        variable: Any = None,
        missing: str = "raise",
        mask: Any = None,
        feature_weights: Any = None,
    ) -> None:
        if keep not in _KEEPS:
            raise InputError(f"keep is one of {_KEEPS}, not {keep!r}")
        if not _counts(k_max):
            raise InputError(f"k_max is a whole number from 1 on, not {k_max!r}")
        if samples is None:
            raise InputError("neighbours are those of samples; give them first")
        self._given = samples
        self._distance = {"distance": distance, "p": p}
        self._reading = {
            **READING,
            "sample_dims": sample_dims,
            "variable": variable,
            "missing": missing,
            "mask": mask,
            "feature_weights": feature_weights,
        }
        self._samples = self._open(samples)
        measure = measure_of(Problem({}, self._samples, matrix=self._matrix), self._distance)
        if keep == "ranks":
            refuse_ranks(self._samples.shape[0])
        self._ranks = PreparedRanks(self._samples, measure, keep, int(k_max))

    def evaluate(
        self,
        embedding: Any,
        kappa_s: Any = None,
        kappa_t: Any = None,
        *,
        norm: Literal["lueks", "region"] = "lueks",
        ties: str | None = None,
    ) -> xr.DataArray:
        """Quality of ranks Q'(κs, κt), as :func:`somscale.metrics.rank_quality` gives it.

        Parameters
        ----------
        embedding : array_like (sample, component), map, or dict of either
            What is judged.
        kappa_s, kappa_t : int, sequence, slice, "all" or None
            1 to N − 1, and 0 to N − 1: which neighbours matter, and by how many ranks they
            may move; None for the first hundred.
        norm : {"lueks", "region"}
            Over κs N as published, in [0, 2]; or over the pairs that are near, in [0, 1].
        ties : {"index", "expected", "best", "worst"}, optional
            What ranks of equal distances are: by default "expected" on maps, else "index".

        Returns
        -------
        DataArray
            On ``candidate`` (for a dict), ``kappa_s`` and ``kappa_t``, without those that
            are one number.

        Raises
        ------
        InputError
            κs or κt out of range, or a projection of other samples.
        """
        given = {"kappa_s": kappa_s, "kappa_t": kappa_t, "norm": norm, "ties": ties}
        return self._index("rank_quality", embedding, given)

    def pointwise(
        self,
        embedding: Any,
        kappa_s: Any,
        kappa_t: Any,
        side: Literal["both", "row", "column"] = "both",
        *,
        norm: Literal["lueks", "region"] = "lueks",
        ties: str | None = None,
    ) -> xr.DataArray:
        """Quality of ranks of every sample, as `pointwise_rank_quality` gives it.

        Parameters
        ----------
        embedding, kappa_s, kappa_t, ties
            As for :meth:`evaluate`; κs and κt are few.
        side : {"both", "row", "column"}
            Pairs (i, j) and (j, i); those of the sample's own neighbours; or of those whose
            neighbour it is.
        norm : {"lueks", "region"}
            As for :meth:`evaluate`, whose value is the mean over samples.

        Returns
        -------
        DataArray
            On the samples' dims, and as for :meth:`evaluate`.

        Raises
        ------
        InputError
            κs or κt out of range, or too many of them.
        """
        own = {"side": side, "norm": norm}
        given = {"kappa_s": kappa_s, "kappa_t": kappa_t, **own, "ties": ties}
        return self._index("pointwise_rank_quality", embedding, given)

    def curves(
        self,
        embedding: Any,
        metrics: Metrics | None = None,
        k: Any = None,
        *,
        ties: str | None = None,
    ) -> xr.Dataset:
        """Indices of every K, as :func:`somscale.evaluate` gives them.

        Parameters
        ----------
        embedding : array_like (sample, component), map, or dict of either
            What is judged.
        metrics : name, sequence or mapping, optional
            Indices of ranks without labels; by default all of K.
        k : int, sequence, slice, "all" or None
            K, from 1 to N − 1 (`r_nx`: N − 2); None for the first hundred.
        ties : {"index", "expected", "weighted", "best", "worst"}, optional
            As for :meth:`evaluate`.

        Returns
        -------
        Dataset
            A variable for each index, on ``candidate`` (for a dict) and ``k``.

        Raises
        ------
        InputError
            An index that is none of ranks, or K out of range.
        """
        problem, named = self._problem(embedding)
        chosen = self._all_curves(k, ties) if metrics is None else metrics
        for request in select(chosen, problem):
            if "ranks" not in request.spec.needs:
                raise InputError(
                    f"{request.label} is no index of ranks; ask for it with ss.evaluate"
                )
        parameters = {"ties": ties, **self._distance, **({} if k is None else {"k": k})}
        requests = select(chosen, problem, parameters=parameters)
        refuse_clashes(problem, requests)
        names = frozenset(request.spec.name for request in requests)
        answers = solve(problem, requests, self._ranks.asked(names))
        return assemble(problem, requests, answers, named=named)

    def matrix(
        self, embedding: Any, k_max: int | None = None, *, ties: str | None = None
    ) -> xr.DataArray:
        """The co-ranking matrix, as :func:`somscale.metrics.coranking_matrix` gives it.

        Parameters
        ----------
        embedding : array_like (sample, component), or map
            What is judged.
        k_max : int, optional
            The corner up to this rank; all N − 1 ranks if None.
        ties : {"index", "expected", "best", "worst"}, optional
            As for :meth:`evaluate`.

        Returns
        -------
        DataArray
            On ``rank_in`` and ``rank_out``, lazy.

        Raises
        ------
        InputError
            A matrix that is too large, or several projections.
        """
        if isinstance(embedding, dict):
            raise InputError(
                "a co-ranking matrix is that of one projection; ask for each by itself"
            )
        given = {"k_max": k_max, "ties": ties}
        found = self._index("coranking_matrix", embedding, given, later=True)
        return found if found.chunks is not None else found.copy(data=array_of(found.values))

    @property
    def _matrix(self) -> bool:
        """Whether the samples are a matrix of distances."""
        distance = self._distance["distance"]
        return isinstance(distance, str) and distance == "precomputed"

    def _open(self, samples: Any) -> Samples:
        opened = open_input(samples, self._reading, matrix=self._matrix)
        refuse_partial(opened, "ranks of samples")
        return without_gapped_features(opened)

    def _problem(self, projection: Any, *, later: bool = False) -> tuple[Problem, bool]:
        """The problem, and whether the candidates have names of the user's."""
        candidates, named = open_candidates(projection)
        clustering = InputError(
            "ranks judge a map or an embedding, and this is a clustering; an embedding of one "
            "component has shape (N, 1)"
        )
        if any(len(getattr(own, "shape", ())) == 1 for own in candidates.values()):
            # numbers of one component are no labels, which would be said of them first
            raise clustering
        samples = self._open(put_off(self._given)) if later else self._samples
        distance = self._distance["distance"]
        # reads=False: features with gaps are left out already
        problem = pose(samples, candidates, None, {}, READING, reads=False, distance=distance)
        if problem.kind == "clusters":
            raise clustering
        return problem, named

    def _index(
        self, name: str, projection: Any, given: dict[str, Any], *, later: bool = False
    ) -> xr.DataArray:
        problem, named = self._problem(projection, later=later)
        ranks = self._ranks.asked(frozenset({name}))
        asked = {**given, **self._distance}
        return compute_index(find_spec(name), problem, asked, named=named, ranks=ranks)

    def _all_curves(self, k: Any, ties: str | None) -> Sequence[str]:
        if ties == "weighted":
            return ("trustworthiness", "continuity", "neighborhood_preservation")
        most = self._samples.shape[0] - 1
        if most <= JACCARD_K_MAX or k is None:
            return _CURVES
        if isinstance(k, str | slice) or np.max(k, initial=0) > JACCARD_K_MAX:
            return [name for name in _CURVES if name != "neighborhood_jaccard"]
        return _CURVES


def _counts(value: Any) -> bool:
    """Whether a value is a whole number from 1 on."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and bool(value >= 1)
