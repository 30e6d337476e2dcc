"""Booster: grows round after round of trees, and keeps account of what every row has paid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core
from frugalforest.boosting.losses import base_scores
from frugalforest.boosting.params import BoostOptions
from frugalforest.boosting.prices import loss_prices
from frugalforest.boosting.rows import BoostingRows
from frugalforest.boosting.trees import BoostedTrees
from frugalforest.costs import FeatureCosts
from frugalforest.growing.params import groups_by_feature

Floats = NDArray[np.float64]


class Standing(NamedTuple):
    """How some rows do after a round: means over rows, by weight; the bill is a plain mean."""

    loss: float
    error: float
    cost: float


class Booster:
    """Boosting in progress: `grow_round` adds one tree per output, `watch` says how validation rows do.

    A split is charged for all rows of its node that have not paid for its feature, and for each of its groups that they
    have not paid:

        score = gain - tradeoff * sum over unpaid rows of marginal cost

    Rows that are not in the bag of a round walk through its trees and pay as well, since they will be predicted too.
    `before`: base scores and trees to go on from; rows have paid for what those trees read. `is_charged`: whether any
    round has a trade-off above 0 or a budget; without, nobody keeps account.
    """

    def __init__(
        self,
        rows: BoostingRows,
        options: BoostOptions,
        costs: FeatureCosts,
        *,
        seed: int = 0,
        n_threads: int = 1,
        audience: BoostingRows | None = None,
        before: tuple[Floats, BoostedTrees] | None = None,
        is_charged: bool = True,
    ) -> None:
        self.rows, self.options, self.costs = rows, options, costs
        self._charge = getattr(_core.BoostCharge, options.charge if is_charged else "none")
        self.audience, self._n_threads = audience, n_threads
        self._before = None if before is None else before[1]
        self.base = base_scores(rows, options.loss) if before is None else before[0]
        prices = _core.PriceList(costs.own, costs.shared, *groups_by_feature(costs))
        loss = options.loss_for_core(rows.n_classes)
        self._core = _core.Booster(
            rows=rows.core,
            labels=rows.labels,
            weights=rows.loss_weights,
            charge_weights=rows.charge_weights,
            n_classes=rows.n_classes,
            loss=loss,
            params=options.for_core(),
            prices=prices,
            **options.constraints_for_core(),
            seed=seed,
            first_round=0 if self._before is None else self._before.n_rounds,
            n_threads=n_threads,
        )
        used = np.zeros(0, np.int32) if self._before is None else self._before.features_used
        self._core.start(*self._standing_before(rows), used)
        self._audience: _core.Audience | None = None
        if audience is not None:
            scores, paid = self._standing_before(audience)
            self._audience = _core.Audience(
                audience.core, audience.labels, audience.loss_weights, audience.n_classes, loss, prices, scores, paid
            )

    def _standing_before(self, rows: BoostingRows) -> tuple[Floats, NDArray[np.uint8] | None]:
        """Scores (n_outputs, n_rows) and paid sets (n_rows, n_features) of rows before the first round."""
        n_outputs = len(self.base)
        if self._before is None or self._before.forest.n_trees == 0:
            return np.repeat(self.base[:, None], len(rows), axis=1), None
        values = self._before.values_by_class(max(2, n_outputs))
        base = np.concatenate([[0.0], self.base]) if n_outputs == 1 else self.base
        forest = self._before.forest
        scores, mask = forest.sums(rows.matrix, values, base=base, with_mask=True, n_threads=self._n_threads)
        assert mask is not None
        return np.ascontiguousarray(scores.T[-n_outputs:]), mask.view(np.uint8)

    def grow_round(self, tradeoff: float, *, budget: float = np.inf, can_undo: bool = False) -> int:
        """Grow one tree per output at this trade-off, infinity for what is free or paid only -> number of splits.

        budget: no split is taken with which the average bill of the training rows would exceed it.
        """
        own, shared = loss_prices(self.costs, tradeoff)
        purse = budget * self.rows.total_weight
        n_splits = self._core.grow_round(self._charge, own, shared, self.options.price_per_split, purse, can_undo)
        if self._audience is not None:
            self._audience.follow(self._core, self._n_threads, can_undo)
        return n_splits

    @property
    def was_limited(self) -> bool:
        """Whether a budget was ever too small for a split that was worth its price."""
        return self._core.was_limited

    def undo_round(self) -> None:
        """Take back the last round, which was grown with can_undo."""
        self._core.undo_round()
        if self._audience is not None:
            self._audience.undo()

    def watch(self) -> Standing:
        """Loss, error and average bill of the audience now."""
        assert self._audience is not None
        assert self.audience is not None
        loss, wrong, purchases = self._audience.standing(self._n_threads)
        n_features, total = self.costs.n_features, self.audience.loss_weights.sum()
        spent = self.costs.of_purchases(purchases[:n_features], purchases[n_features:])
        return Standing(float(loss / total), float(wrong / total), float(spent) / len(self.audience))

    @property
    def n_rounds(self) -> int:
        """Rounds so far, those before included."""
        before = 0 if self._before is None else self._before.n_rounds
        return before + self._core.n_trees // self._core.n_outputs

    def root_gains(self) -> Floats:
        """The most that a first split on each feature would take off the loss, (n_features,)."""
        return self._core.root_gains()

    def trees(self) -> BoostedTrees:
        """All trees so far, those before included."""
        grown = BoostedTrees.from_arrays(self._core.trees(), self.rows.binned.bins, self._core.n_outputs)
        return grown if self._before is None else self._before.then(grown)
