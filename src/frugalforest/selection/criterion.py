"""Benefit against cost: the one criterion of all four panel selectors (Jagdhuber et al., equations 1, 3, 4, 5).

Costs are marginal: what a candidate adds to the bill of the set chosen so far. `xi` weighs them: 0 ignores costs, 1 is
the plain ratio.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ratio = Literal["signed", "paper"]


def benefit_per_cost(benefit: Floats, cost: Floats, xi: float) -> Floats:
    """benefit / cost^xi, larger is better; both (n,), benefits >= 0, costs > 0."""
    return benefit / cost**xi


def change_per_cost(change: Floats, cost: Floats, xi: float, ratio: Ratio = "signed") -> Floats:
    """change / cost^xi of an error, smaller is better; both (n,), a good change is negative, costs > 0.

    Printed for every change ("paper"), but a rise of the error divided by a larger cost is a smaller rise: where
    nothing lowers the error, that rule prefers the dearer candidate. "signed" therefore multiplies a rise by cost^xi.
    """
    weight = cost**xi
    if ratio == "paper":
        return change / weight
    return np.where(change < 0, change / weight, change * weight)


def best_of(values: Floats, cost: Floats, xi: float, *, allowed: NDArray[np.bool_]) -> int:
    """The allowed candidate of the smallest value; of equals the cheaper one unless costs are ignored, then the first.

    values, cost, allowed: (n,), at least one is allowed.
    """
    places = np.flatnonzero(allowed)
    equal = places[values[places] == values[places].min()]
    if xi > 0:
        equal = equal[cost[equal] == cost[equal].min()]
    return int(equal[0])
