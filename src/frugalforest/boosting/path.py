"""Trade-offs to train at: along the whole range of costs, or towards one budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from frugalforest.boosting.training import Boosted, Trainer

STEP = 4.0  # from one trade-off to the next while a budget is not bracketed yet
CLOSE = 1.1  # trade-offs whose ratio is less are not told apart
NEARLY_ALL = 0.98  # a path ends where this share of the unlimited bill is spent
JUST_BELOW = 0.9
LEAST = STEP**-9  # of the largest trade-off: below, 0 is tried instead


def largest_tradeoff(trainer: Trainer) -> float:
    """The trade-off above which no first split pays: the largest gain / (rows * price alone); 0: all is free."""
    gains, price = trainer.booster(0.0).root_gains(), trainer.costs.alone
    counts = price > 0 if trainer.excluded is None else (price > 0) & ~trainer.excluded
    worth = gains[counts] / (price[counts] * trainer.rows.total_weight)
    return float(worth.max(initial=0.0))


@dataclass
class Path:
    """Boosters by trade-off; each is trained once. After Ctrl-C no more are."""

    train: Callable[[float], tuple[Boosted, bool]]  # -> booster, whether Ctrl-C cut it short
    largest: float  # trade-off that buys anything
    interrupted: bool = False
    tried: dict[float, Boosted] = field(default_factory=dict)

    def boosters(self) -> tuple[Boosted, ...]:
        """All of them, the largest trade-off first."""
        return tuple(self.tried[tradeoff] for tradeoff in sorted(self.tried, reverse=True))

    def cost_at(self, tradeoff: float) -> float:
        """The bill at this trade-off, after all rounds; NaN if Ctrl-C came before the first."""
        if tradeoff not in self.tried and not self.interrupted:
            try:
                self.tried[tradeoff], self.interrupted = self.train(tradeoff)
            except KeyboardInterrupt:
                if not self.tried:
                    raise
                self.interrupted = True
        return self.tried[tradeoff].final_cost if tradeoff in self.tried else np.nan

    def along(self, n_tradeoffs: int) -> None:
        """The whole range of bills, in up to so many trainings.

        First 0, and from just below the largest trade-off on ever smaller ones, until nearly as much is spent as
        without any; then between those neighbours whose bills differ most, as a ratio.
        """
        everything = self.cost_at(0.0)
        tradeoff = JUST_BELOW * self.largest
        while len(self.tried) < n_tradeoffs and self.largest > 0:
            if self.interrupted or self.cost_at(tradeoff) >= NEARLY_ALL * everything or tradeoff < LEAST * self.largest:
                break
            tradeoff /= STEP
        while len(self.tried) < n_tradeoffs and not self.interrupted and (gap := self._widest_gap(everything)):
            self.cost_at(float(np.sqrt(gap[0] * gap[1])))

    def _widest_gap(self, everything: float) -> tuple[float, float] | None:
        """Two neighbouring trade-offs, apart enough, whose bills have the largest ratio; None if there are none."""
        known = sorted(tradeoff for tradeoff in self.tried if 0 < tradeoff < np.inf)
        least = everything / 100  # bills that are nearly nothing count as this much
        cost = [max(self.tried[tradeoff].final_cost, least) for tradeoff in known]
        gaps = [(cost[i] / cost[i + 1], known[i], known[i + 1]) for i in range(len(known) - 1)]
        apart = [gap for gap in gaps if gap[2] / gap[1] > CLOSE and gap[0] > 1]
        return max(apart)[1:] if apart else None

    def towards(self, budget: float, n_tradeoffs: int) -> None:
        """Find the trade-off whose bill is just within the budget, in up to so many trainings.

        Bills fall with the trade-off, roughly. Above the largest one nothing is bought, just below it one feature.
        """
        low, high = 0.0, self.largest
        tradeoff = self.largest / STEP**2
        for _ in range(n_tradeoffs):
            if self.cost_at(tradeoff) > budget:
                low = tradeoff
            else:
                high = tradeoff
            is_close = low > 0 and high / low < CLOSE and high in self.tried
            if self.interrupted or tradeoff == 0 or is_close:
                return
            tradeoff = self._between(low, high)

    @property
    def has_trees(self) -> bool:
        """Whether any booster has a round."""
        return any(boosted.n_rounds > 0 for boosted in self.tried.values())

    def _between(self, low: float, high: float) -> float:
        if low > 0:
            return float(np.sqrt(low * high))
        return high / STEP if high > LEAST * self.largest else 0.0
