"""CostPenalty: what a linear classifier is charged for the features it uses, as a convex stand-in for their bill.

    penalty(B) = sum over features a of own_a |B_a| + sum over groups g of shared_g |B_g|

B_a is the row of coefficients of feature a, one for each output, and |B_g| the root of the summed squares of all rows
of the group: the first member to be used pays the kink at 0, the others ride along. The weighted l1 penalty of Kusner
et al. 2014 is the case without groups and of one output.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts
from frugalforest.linear_trees.standardising import Floats, Mask

MOST_SWEEPS = 200
PRECISION = 1e-12  # of the thresholding with overlapping groups, relative to what is thresholded


@dataclass(frozen=True, eq=False)
class CostPenalty:
    """Prices of the rows of a matrix of coefficients, alone and in groups."""

    own: Floats  # (n,)
    shared: Floats  # (n_groups,)
    membership: Mask  # (n_groups, n)

    @classmethod
    def of(cls, costs: FeatureCosts) -> CostPenalty:
        """The penalty of a price list; groups that cost nothing are left out."""
        counts = costs.shared > 0
        return cls(costs.own, costs.shared[counts], costs.membership[counts])

    def among(self, features: NDArray[np.intp], n_free: int = 0) -> CostPenalty:
        """The penalty of some features when all others are 0, and of `n_free` rows more that cost nothing."""
        members = self.membership[:, features]
        touched = members.any(axis=1)
        own = np.append(self.own[features], np.zeros(n_free))
        return CostPenalty(own, self.shared[touched], np.pad(members[touched], ((0, 0), (0, n_free))))

    def value(self, coefficients: Floats) -> float:
        """The penalty of coefficients (n, k)."""
        squares = np.square(coefficients).sum(axis=1)
        return float(self.own @ np.sqrt(squares) + self.shared @ np.sqrt(self.membership @ squares))

    def shrink(self, moved: Floats, times: float) -> Floats:
        """argmin over B of |B - moved|^2 / 2 + times * penalty(B), (n, k): the proximal operator.

        Rows are drawn in first, then groups: exact where no feature is in two groups (Jenatton et al. 2011, Prop. 2).
        Overlapping groups are gone through until nothing changes: block coordinate ascent in the dual.
        """
        alone = _drawn_in(moved, times * self.own)
        if len(self.shared) == 0:
            return alone
        if self.membership.sum(axis=0).max() <= 1:
            return self._shrink_groups(alone, times)
        return self._shrink_overlapping(moved, times)

    def _shrink_groups(self, alone: Floats, times: float) -> Floats:
        norm = np.sqrt(self.membership @ np.square(alone).sum(axis=1))
        limit = times * self.shared
        kept = np.divide(norm - limit, norm, out=np.zeros_like(norm), where=norm > limit)
        return alone * np.where(self.membership.any(axis=0), kept @ self.membership, 1.0)[:, None]

    def _shrink_overlapping(self, moved: Floats, times: float) -> Floats:
        taken = np.zeros((len(self.shared), *moved.shape))  # by each group, from its members
        rest = moved - _cut(moved, times * self.own)
        for _ in range(MOST_SWEEPS):
            before = rest.copy()
            for group, members in enumerate(self.membership):
                open_part = rest[members] + taken[group, members]
                size = float(np.sqrt(np.square(open_part).sum()))
                limit = times * self.shared[group]
                taken[group, members] = open_part if size <= limit else open_part * (limit / size)
                rest[members] = open_part - taken[group, members]
            others = moved - taken.sum(axis=0)
            rest = others - _cut(others, times * self.own)
            if np.abs(rest - before).max() <= PRECISION * np.abs(moved).max():
                break
        return np.where(np.abs(rest) <= PRECISION * np.abs(moved).max(), 0.0, rest)


def _cut(rows: Floats, limit: Floats) -> Floats:
    """The part of each row (n, k) up to a norm of `limit` (n,)."""
    norm = np.sqrt(np.square(rows).sum(axis=1))
    share = np.divide(limit, norm, out=np.ones_like(norm), where=norm > limit)
    return rows * share[:, None]


def _drawn_in(rows: Floats, limit: Floats) -> Floats:
    """Rows (n, k) made shorter by `limit` (n,), down to 0."""
    norm = np.sqrt(np.square(rows).sum(axis=1))
    kept = np.divide(norm - limit, norm, out=np.zeros_like(norm), where=norm > limit)
    return rows * kept[:, None]
