"""All solutions of a trade-off between cost and information, from nothing to everything that tells something."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts
from frugalforest.selection.min_cut import GRAINS
from frugalforest.selection.set_function import SetFunction

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SelectionPath:
    """Nested sets of features: number i is the best one for trade-offs above tradeoffs[i - 1], up to tradeoffs[i].

    At most one set more than there are features; the last one goes on for ever.
    """

    entry: Floats  # (n_features,): the trade-off above which each feature is in; infinity: never
    tradeoffs: Floats  # (n_sets,), rising; the last one is infinity
    cost: Floats  # (n_sets,)
    information: Floats  # (n_sets,): the sum over the features of the set
    n_selected: NDArray[np.int64]  # (n_sets,)

    @classmethod
    def of(cls, entry: Floats, information: Floats, costs: FeatureCosts | SetFunction) -> SelectionPath:
        """The path of features with these entries."""
        finite = np.unique(entry[np.isfinite(entry)])
        tradeoffs = np.append(finite, math.inf)
        number = np.searchsorted(finite, entry) + 1  # of the first set that has the feature
        number[entry == -math.inf] = 0
        grains = np.rint(information * GRAINS).astype(np.int64)
        added = _added(number, grains, len(tradeoffs))
        if isinstance(costs, FeatureCosts):
            bills = _nested_bills(costs, number, len(tradeoffs))
        else:
            bills = np.array([costs(entry < tradeoff) for tradeoff in tradeoffs])
        sizes = _added(number, np.ones(len(entry), dtype=np.int64), len(tradeoffs))
        return cls(entry, tradeoffs, bills, added / GRAINS, sizes)

    def __len__(self) -> int:
        return len(self.tradeoffs)

    def mask(self, number: int) -> Mask:
        """Set number i, (n_features,)."""
        return self.mask_at(self.tradeoffs[number])

    def mask_at(self, tradeoff: float) -> Mask:
        """The best set for a trade-off, the smallest of equals, (n_features,)."""
        return np.asarray(self.entry < tradeoff)

    def within(self, budget: float) -> int:
        """The number of the largest set that costs no more than the budget."""
        return int(np.flatnonzero(self.cost <= budget)[-1])

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame, one row per set."""
        import pandas as pd

        columns = ("tradeoffs", "n_selected", "cost", "information")
        return pd.DataFrame({name: getattr(self, name) for name in columns}).rename(columns={"tradeoffs": "up_to"})


def _added(number: NDArray[np.intp], amounts: NDArray[np.int64], n_sets: int) -> NDArray[np.int64]:
    """Running sums over nested sets: each amount counts from set `number` on; numbers beyond the last never do."""
    sums = np.zeros(n_sets + 1, dtype=np.int64)
    np.add.at(sums, np.minimum(number, n_sets), amounts)
    return np.cumsum(sums)[:n_sets]


def _nested_bills(costs: FeatureCosts, number: NDArray[np.intp], n_sets: int) -> Floats:
    """The bill of each set: own prices from a feature's entry on, shared ones from that of the first member on."""
    own, shared = costs.ticks
    group, member = np.nonzero(costs.membership)
    first = np.full(len(shared), n_sets, dtype=np.intp)
    np.minimum.at(first, group, number[member])
    ticks = _added(np.concatenate([number, first]), np.concatenate([own, shared]), n_sets)
    return np.array([costs.money(int(bill)) for bill in ticks])
