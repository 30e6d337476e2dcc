"""Purse: what a node may still buy, and what each feature would cost it now."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts
from frugalforest.linear_trees.standardising import Mask


class Purse:
    """A budget for new features on top of those paid before; counted in whole ticks, so never exceeded by rounding.

    A feature costs cost(paid + f) - cost(paid): its own price and that of its groups which nobody has paid yet.
    """

    prices: NDArray[np.int64]  # (n_features,): what each feature costs now, in ticks; 0 where it is paid
    left: int  # ticks

    def __init__(self, costs: FeatureCosts, budget: float, paid_mask: Mask) -> None:
        own, self._shared = costs.ticks
        self._membership = costs.membership
        self._is_unpaid: Mask = np.logical_not(self._membership[:, paid_mask].any(axis=1))
        self.paid_mask = paid_mask.copy()
        self.prices = np.add(own, self._price_of_groups(self._is_unpaid))
        self.prices[paid_mask] = 0
        self.left = costs.ticks_within(budget)

    def buy(self, feature: int) -> None:
        """Pay for a feature; the other members of its groups become cheaper."""
        self.left -= int(self.prices[feature])
        paid_now = self._membership[:, feature] & self._is_unpaid
        self.prices -= self._price_of_groups(paid_now)
        self._is_unpaid &= ~paid_now
        self.paid_mask[feature] = True
        self.prices[self.paid_mask] = 0

    def _price_of_groups(self, which: Mask) -> NDArray[np.int64]:
        """What these groups add to the price of each of their members, (n_features,)."""
        return self._shared[which] @ self._membership[which].astype(np.int64)
