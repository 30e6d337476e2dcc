"""Nested panels: which features join, or leave, when a panel has to cost more, or less.

Gains say what each feature is worth to a model; prices are those of the panel at hand. A group is an offer of its own:
its first member alone may not be worth the common step, while all of them together are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def free_features(costs: FeatureCosts) -> Mask:
    """What every row has for nothing, (n_features,)."""
    return costs.alone == 0


def price_steps(costs: FeatureCosts, candidates: Mask, n_panels: int) -> Floats:
    """What panels shall cost at most, rising: in equal ratios from the cheapest candidate to all of them."""
    prices = costs.alone[candidates & (costs.alone > 0)]
    if len(prices) == 0:
        return np.zeros(0)
    total = costs.of(candidates)
    steps = np.geomspace(prices.min(), total, n_panels) if n_panels > 1 else np.array([total])
    steps[-1] = total
    return steps


def shrunk(costs: FeatureCosts, panel: Mask, gains: Floats, limit: float) -> Mask:
    """The panel without the features, or whole groups, of least gain per money saved, until it costs `limit` at most.

    Free features stay. panel, gains: (n_features,)
    """
    panel = panel.copy()
    while costs.of(panel) > limit:
        panel &= ~_least_worth(costs, panel, gains)
    return panel


def grown(costs: FeatureCosts, panel: Mask, gains: Floats, limit: float) -> Mask:
    """The panel with the features, or whole groups, of most gain per money, as long as it costs `limit` at most.

    Features without gain do not join. panel, gains: (n_features,)
    """
    panel = panel.copy()
    while (offer := _most_worth(costs, panel, gains, limit)) is not None:
        panel |= offer
    return panel


def savings(costs: FeatureCosts, panel: Mask) -> Floats:
    """What leaving out each feature of a panel would save, 0 for the others: cost(A) - cost(A - f), (n_features,)."""
    members = costs.membership & panel
    last = members & (members.sum(axis=1, keepdims=True) == 1)
    return np.where(panel, costs.own + costs.shared @ last, 0.0)


def _least_worth(costs: FeatureCosts, panel: Mask, gains: Floats) -> Mask:
    saved = savings(costs, panel)
    some = np.flatnonzero(saved > 0)
    worth = gains[some] / saved[some]
    best, least = None, np.inf
    if len(some):
        at = np.lexsort((-saved[some], worth))[0]  # of equals the dearest
        best, least = costs.mask([int(some[at])]), float(worth[at])
    for group in costs.membership & panel:
        if group.sum() > 1:
            saved_together = costs.of(panel) - costs.of(panel & ~group)
            if saved_together > 0 and gains[group].sum() / saved_together < least:
                best, least = group, gains[group].sum() / saved_together
    assert best is not None  # a panel that costs something has a feature that saves something
    return best


def _most_worth(costs: FeatureCosts, panel: Mask, gains: Floats, limit: float) -> Mask | None:
    price = costs.marginal(panel)
    room = costs.affordable(panel, limit) & ~panel & (gains > 0)
    best, most = None, 0.0
    some = np.flatnonzero(room)
    if len(some):
        worth = _per_money(gains[some], price[some])
        at = int(np.argmax(worth))
        best, most = costs.mask([int(some[at])]), float(worth[at])
    for group in costs.membership & ~panel & (gains > 0):
        together = costs.of(panel | group)
        if group.sum() > 1 and together <= limit:
            worth_together = float(_per_money(gains[group].sum(), np.float64(together - costs.of(panel))))
            if worth_together > most:
                best, most = group.copy(), worth_together
    return best


def _per_money(gain: Any, price: Any) -> Floats:
    """Gain over price; infinite where something is free."""
    with np.errstate(divide="ignore"):
        return np.asarray(gain / price)
