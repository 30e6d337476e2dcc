"""Bills: every sum of prices that the library ever forms. Masks and counts are trusted; FeatureCosts checks them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs.ticks import Money, Ticks, in_ticks, join, split

Mask = NDArray[np.bool_]

_BLOCK = 2**16  # cells of a mask turned into float64 at once: 512 kB, which stays in the cache


class Bills:
    """Own prices (n_features,), shared prices (n_groups,), who is in which group, and the exact sums of all that."""

    def __init__(self, own: Money, shared: Money, membership: Mask) -> None:
        ticks, self._tick = in_ticks(np.concatenate([own, shared]))
        self._own_ticks = ticks[: len(own)]
        self._shared_ticks = ticks[len(own) :]
        self._membership = membership
        self._pair_group, self._pair_feature = np.nonzero(membership)

    @property
    def own(self) -> Money:
        """(n_features,): what each feature costs once its groups are paid, as the sums count it."""
        return self._tick.money(self._own_ticks)

    @property
    def shared(self) -> Money:
        """(n_groups,): what each group costs, as the sums count it."""
        return self._tick.money(self._shared_ticks)

    @property
    def ticks(self) -> tuple[Ticks, Ticks]:
        """Own prices (n_features,) and shared prices (n_groups,) in whole ticks."""
        return self._own_ticks, self._shared_ticks

    def ticks_within(self, money: float) -> int:
        """The most ticks that are not worth more than this, at most everything there is."""
        everything = int(self._own_ticks.sum() + self._shared_ticks.sum())
        if money >= self._tick.exactly(everything):
            return everything
        ticks = int(Fraction(money) * self._tick.down / self._tick.up)
        # 0.3 as a float is a little less than three ticks of 0.1, and still what they are worth.
        return ticks + 1 if self._tick.exactly(ticks + 1) <= money else ticks

    def money(self, ticks: int) -> float:
        """Ticks as money."""
        return self._tick.exactly(ticks)

    def money_of_many(self, ticks: Ticks) -> Money:
        """The same for an array, each below 2^62."""
        return self._tick.money(ticks)

    def of(self, mask: Mask) -> float:
        """The bill of one set: mask (n_features,)."""
        return self._tick.exactly(self._ticks_of(mask))

    def marginal(self, acquired: Mask) -> Money:
        """cost(A + f) - cost(A) for every feature f: (n_features,) -> (n_features,), 0 where acquired."""
        return self._tick.money(self._marginal_ticks(acquired))

    def affordable(self, acquired: Mask, budget: float) -> Mask:
        """Whether cost(A + f) <= budget, for every feature f: (n_features,) -> (n_features,)."""
        return self._marginal_ticks(acquired) <= self.ticks_within(budget) - self._ticks_of(acquired)

    def _marginal_ticks(self, acquired: Mask) -> Ticks:
        unpaid = np.where(self._touched(acquired), 0, self._shared_ticks)
        ticks = self._own_ticks.copy()
        np.add.at(ticks, self._pair_feature, unpaid[self._pair_group])
        ticks[acquired] = 0
        return ticks

    def _ticks_of(self, mask: Mask) -> int:
        return int(self._own_ticks[mask].sum() + self._shared_ticks[self._touched(mask)].sum())

    def of_rows(self, rows: Mask) -> Money:
        """The bill of each row: (n_rows, n_features) -> (n_rows,)."""
        n_groups, n_features = self._membership.shape
        own, bits = split(self._own_ticks, n_features)
        shared, shared_bits = split(self._shared_ticks, n_groups)
        # One product gives both the own costs and, for each group, how many of its members the row has.
        weights = np.hstack([own, self._membership.T])
        bills = np.empty(len(rows), dtype=np.int64)
        step = max(1, _BLOCK // n_features)
        for start in range(0, len(rows), step):
            product = rows[start : start + step].astype(np.float64) @ weights
            touched = (product[:, own.shape[1] :] > 0).astype(np.float64)
            bills[start : start + step] = join(product[:, : own.shape[1]], bits) + join(touched @ shared, shared_bits)
        return self._tick.money(bills)

    def of_purchases(self, feature_counts: NDArray[Any], group_counts: NDArray[Any]) -> Any:
        """Counts (..., n_features) and (..., n_groups) times prices, exact: (...,), or a float."""
        counts = np.concatenate([feature_counts, group_counts], axis=-1).astype(np.float64)
        ticks = np.concatenate([self._own_ticks, self._shared_ticks])
        weights, bits = split(ticks, int(counts.max(initial=1)) * len(ticks))
        product = join(counts @ weights, bits, dtype=object)
        money = np.array([self._tick.exactly(int(one)) for one in np.ravel(product)], dtype=np.float64)
        return money.reshape(counts.shape[:-1])[()]

    def _touched(self, mask: Mask) -> Mask:
        touched = np.zeros(len(self._shared_ticks), dtype=bool)
        touched[self._pair_group[mask[self._pair_feature]]] = True
        return touched
