"""Missing values of the samples: counted inside the pass, judged once it is over.

A feature that every sample lacks, and a sample that lacks every feature, are whole
gaps, such as the sea in a record of the land or a day without a report.  Any other
missing value is isolated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from somscale._types import Bool, Int
from somscale.errors import SampleValueError
from somscale.kernels.counts import count_keyed, merge_keyed, sort_keyed
from somscale.reductions.base import Field, Partial
from somscale.reductions.faults import fault_error, first_fault
from somscale.reductions.names import EntryNames

__all__ = [
    "POLICIES",
    "Census",
    "Missing",
    "SampleCheck",
    "add_gap_sizes",
    "census_fields",
    "tolerated",
]

Missing: TypeAlias = Literal["raise", "drop", "drop_any_sample", "partial"]
"""What nan means; "partial", that a sample takes part by the features it has, is the maps'."""
POLICIES: tuple[Missing, ...] = ("raise", "drop", "drop_any_sample")

_MEND_ISOLATED = (
    "missing='drop_any_sample' or missing='drop_any_feature', or missing='partial' where a map is "
    "trained or judged"
)


def tolerated(missing: Missing, n_features: int) -> int | None:
    """The most nan a sample may hold and still take part; None where nan are an error."""
    if missing == "raise":
        return None
    return 0 if missing == "drop_any_sample" else n_features - 1


def census_fields(n_features: int) -> dict[str, Field]:
    """The arrays of a partial that a census is taken from."""
    return {
        "seen": Field("sum", "int64"),
        "excluded_samples": Field("sum", "int64"),
        "missing_samples": Field("sum", "int64"),
        # nan of every feature, and how many samples hold how many
        "gaps": Field("sum", "int64", (n_features,)),
        "gap_sizes": Field("keyed", "int64"),
    }


def add_gap_sizes(partial: Partial, by_sample: Int) -> None:
    """Count how many samples hold how many nan; those that hold none are not counted."""
    sizes = by_sample[by_sample > 0]
    if len(sizes):
        counted = count_keyed(sizes, int(sizes.max()) + 1)
        partial["gap_sizes"] = merge_keyed(partial["gap_sizes"], counted)


@dataclass(frozen=True)
class Census:
    """Missing values of a pass.

    Attributes
    ----------
    seen : int
        Samples that were not excluded.
    samples : int
        Samples missing in every feature.
    features : (D,) bool
        Features missing in every other sample; in all, where there is no other.
    gaps : (D,) int64
        Samples, beside those, that each feature is missing in.
    affected : int
        Samples with isolated missing values.
    """

    seen: int
    samples: int
    features: Bool
    gaps: Int
    affected: int

    @classmethod
    def of(cls, total: Partial) -> Census:
        """Take the census of a merged partial."""
        n_features = len(total["gaps"])
        sizes, counts = sort_keyed(total["gap_sizes"])
        samples, seen = int(counts[sizes == n_features].sum()), int(total["seen"])
        gaps = total["gaps"] - samples
        features = gaps == seen - samples
        isolated = (sizes > np.count_nonzero(features)) & (sizes < n_features)
        return cls(seen, samples, features, gaps, int(counts[isolated].sum()))

    @property
    def isolated(self) -> Bool:
        """Features with isolated missing values, (D,)."""
        return np.asarray((self.gaps > 0) & ~self.features)

    @property
    def entries(self) -> int:
        """Isolated missing values."""
        return int(self.gaps[self.isolated].sum())

    def describe(self) -> str:
        """The three counts in words."""
        features = int(np.count_nonzero(self.features))
        return (
            f"{_number(features, 'feature')} missing in every sample, "
            f"{_number(self.samples, 'sample')} missing in every feature, and "
            f"{_number(self.entries, 'isolated missing value')} in "
            f"{_number(self.affected, 'sample')}"
        )


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


@dataclass(frozen=True)
class SampleCheck:
    """Refuses samples that no index can be computed from.

    Called with what a part of a pass found, it raises only what is sure by then.

    Parameters
    ----------
    n_features : int
        Features D.
    names : EntryNames
        How to name an entry.
    missing : {"raise", "drop", "drop_any_sample", "partial"}
        What nan means.
    """

    n_features: int
    names: EntryNames
    missing: Missing = "raise"

    def __call__(self, partial: Partial) -> None:
        """Raise SampleValueError for infinities, for large values and for nan that may not be."""
        kind = first_fault(partial)
        if kind is not None:
            mending = "drop or fill such samples first"
            if kind == "faulty_nan":
                mending = self._mend_nan(Census.of(partial))
            raise fault_error(partial, kind, self.n_features, self.names, mending)
        if self.missing == "drop":
            self._refuse_isolated(Census.of(partial))

    def whole(self, total: Partial, masked: Bool | None) -> Census:
        """Check a whole pass, and what it leaves against the map's masked features."""
        self(total)
        census = Census.of(total)
        if not total["hits"].any():
            self._refuse_nothing(total, census)
        if masked is not None:
            self._compare(census.features, masked)
        return census

    def _mend_nan(self, census: Census) -> str:
        call = f"; give {_MEND_ISOLATED}" if census.entries else "; missing='drop' leaves these out"
        if census.samples == census.seen:
            call = "; no sample has any value"
        return f"drop or fill such values: there are {census.describe()}{call}{self._hint()}"

    def _hint(self) -> str:
        return self.names.hint

    def _at(self, feature: int) -> str:
        """Where a feature is, said after a noun; its number where it has no name of its own."""
        return f"at {self.names.describe_feature(feature) or f'feature {feature}'}"

    def _refuse_isolated(self, census: Census) -> None:
        if not census.entries:
            return
        first = int(np.argmax(census.isolated))
        raise SampleValueError(
            f"missing values are isolated, first {self._at(first)}, which "
            f"is nan in {census.gaps[first]} of {census.seen - census.samples} samples: there "
            f"are {census.describe()}; give {_MEND_ISOLATED}{self._hint()}"
        )

    def _refuse_nothing(self, total: Partial, census: Census) -> None:
        if not census.seen:
            excluded = int(total["excluded_samples"])
            if excluded:
                raise SampleValueError(
                    f"no sample is left: all {excluded} are excluded; exclude fewer"
                )
        elif self.missing == "drop_any_sample":
            features = _number(int((total["gaps"] == census.seen).sum()), "feature")
            raise SampleValueError(
                f"no sample is left: every one of {census.seen} has a missing value, and "
                f"{features} missing in every sample; give missing='drop', which leaves such "
                f"features out, or mask= to choose what takes part{self._hint()}"
            )
        else:
            raise SampleValueError(
                f"no sample is left: all {census.seen} are missing in every feature; "
                f"check how they were read{self._hint()}"
            )

    def _compare(self, missing: Bool, masked: Bool) -> None:
        # by the features that they have, samples may lack more than the map leaves out
        wrong = masked & ~missing if self.missing == "partial" else missing != masked
        differing = np.flatnonzero(wrong)
        if not len(differing):
            return
        feature = int(differing[0])
        where, differ = self._at(feature), "differs" if len(differing) == 1 else "differ"
        if masked[feature]:
            raise SampleValueError(
                f"the map is masked {where} where the samples have values "
                f"({_number(len(differing), 'feature')} {differ}); give mask= to leave it out"
            )
        raise SampleValueError(
            f"the samples are missing {where} where the map has values "
            f"({_number(len(differing), 'feature')} {differ}); give a map that is masked there too"
        )
