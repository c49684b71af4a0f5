"""Codes and weights as the units reduction takes them, and its sums as formulas do."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from somscale._types import Bool, Float
from somscale.errors import InputError
from somscale.reductions.census import Missing
from somscale.reductions.names import EntryNames

__all__ = ["checked_weights", "scaled_sums", "without_mask"]


def without_mask(codes: Float, missing: Missing, names: EntryNames) -> tuple[Float, Bool | None]:
    """Codes with 0 in masked features, and which these are; no copy where there are none."""
    values = np.ascontiguousarray(codes, dtype=np.float64)
    gaps = np.zeros(values.shape[1], np.int64)
    for code in values:
        gaps += np.isnan(code)
    if not gaps.any():
        return values, None
    masked = gaps == len(values)
    if (gaps[~masked] > 0).any():
        feature = int(np.argmax((gaps > 0) & ~masked))
        raise InputError(
            f"the map holds nan at {names.describe_feature(feature)} in {gaps[feature]} of "
            f"{len(values)} units; a feature is masked in all units or in none"
        )
    if masked.all():
        raise InputError("the map is nan at every feature; give codes that hold values")
    if missing not in ("drop", "partial"):
        n_masked = int(np.count_nonzero(masked))
        count = "1 feature" if n_masked == 1 else f"{n_masked} features"
        raise InputError(
            f"the map is masked (nan in every unit) at {count}, first at "
            f"{names.describe_feature(int(np.argmax(masked)))}; give missing='drop'"
        )
    return np.where(masked, 0.0, values), masked


def checked_weights(weights: ArrayLike | None, n_features: int) -> Float | None:
    """Feature weights, (D,) float64; refused where they are negative or not finite."""
    if weights is None:
        return None
    values = np.ascontiguousarray(weights, dtype=np.float64)
    if values.shape != (n_features,):
        raise InputError(
            f"feature_weights has the shape {values.shape}; give one weight for each of "
            f"{n_features} features"
        )
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        feature = int(np.argmax(wrong))
        raise InputError(
            f"feature_weights holds {values[feature]} at feature {feature}; weights are finite "
            "and 0 or more"
        )
    return values


def scaled_sums(
    codes: Float, residuals: Float, missing: Bool | None, feature_weights: Float | None
) -> tuple[Float, Float, tuple[Float, Float] | None]:
    """Codes and residuals for formulas, and as they are where that differs."""
    if missing is None and feature_weights is None:
        return codes, residuals, None
    unscaled = (codes, residuals)
    if missing is not None:
        # nothing was added to their residuals
        codes = np.where(missing, 0.0, codes)
        unscaled = np.where(missing, np.nan, codes), np.where(missing, np.nan, residuals)
    if feature_weights is not None:
        roots = np.sqrt(feature_weights)
        codes, residuals = codes * roots, residuals * roots
    return codes, residuals, unscaled
