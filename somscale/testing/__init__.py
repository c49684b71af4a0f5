"""Checks that an index, a distance or a reduction keeps the laws that somscale counts on.

somscale's own tests run them over everything that is built in; one line in a test file runs them
over what a user declares:

>>> import numpy as np
>>> from somscale.extending import UnitStats, map_index
>>> from somscale.testing import check_metric, check_space
>>> @map_index(
...     needs=("units",),
...     long_name="share of the fullest unit",
...     definition="hits of the unit that has most, over all samples",
...     direction="lower",
...     upper=1.0,
...     source="an example of 2026",
... )
... def fullest_share(units: UnitStats) -> float:
...     '''How many samples the fullest unit has.'''
...     return float(units.hits.max() / units.hits.sum())
>>> check_metric(fullest_share)
>>> def worst_feature(a, b):
...     return np.abs(a[:, None] - b[None]).max(axis=2)
>>> check_space(worst_feature)

A law that is broken raises an `AssertionError` of one sentence, which names the law, the data with
their seed, and both values.  With pytest every law becomes a test of its own::

    @pytest.mark.parametrize("check", checks_of_metric(fullest_share), ids=str)
    def test_fullest_share(check):
        check()

Nothing here needs pytest.
"""

from __future__ import annotations

from somscale.testing.metric import check_metric, checks_of_metric
from somscale.testing.reduction import check_reduction, checks_of_reduction
from somscale.testing.space import check_space, checks_of_space

__all__ = [
    "check_metric",
    "check_reduction",
    "check_space",
    "checks_of_metric",
    "checks_of_reduction",
    "checks_of_space",
]
