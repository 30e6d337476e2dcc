"""Trade-offs to train at: along the whole range of costs, or for one budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from frugalforest.boosting.training import Boosted, Trainer

STEP = 4.0  # from one trade-off to the next while the range is explored
CLOSE = 1.15  # trade-offs whose ratio is less are not told apart
NEARLY_ALL = 0.98  # a path ends where this share of the unlimited bill is spent
JUST_BELOW = 0.9  # of the largest trade-off
LEAST = STEP**-9  # of the largest trade-off: below, 0 is tried instead
WORSE = 2  # steps in a row without a lower loss that end exploring
SMALLER = 1.5  # from one small budget to the next, where no first round of a path fits


def largest_tradeoff(trainer: Trainer) -> float:
    """The trade-off above which no first split pays: the largest gain / (rows * price alone); 0: all is free."""
    gains, price = trainer.booster(0.0).root_gains(), trainer.costs.alone
    worth = gains[price > 0] / (price[price > 0] * trainer.rows.total_weight)
    return float(worth.max(initial=0.0))


@dataclass
class Path:
    """Boosters by trade-off and budget; each is trained once. After Ctrl-C no more are."""

    train: Callable[[float, float], tuple[Boosted, bool]]  # trade-off, budget -> booster, whether Ctrl-C cut it short
    largest: float  # trade-off that buys anything
    interrupted: bool = False
    tried: dict[tuple[float, float], Boosted] = field(default_factory=dict)

    def boosters(self) -> tuple[Boosted, ...]:
        """All of them, the largest trade-off first."""
        return tuple(self.tried[key] for key in sorted(self.tried, reverse=True))

    def at(self, tradeoff: float, budget: float = np.inf) -> Boosted | None:
        """The booster of this trade-off and budget; None if Ctrl-C came before its first round."""
        if (tradeoff, budget) not in self.tried and not self.interrupted:
            try:
                self.tried[tradeoff, budget], self.interrupted = self.train(tradeoff, budget)
            except KeyboardInterrupt:
                if not self.tried:
                    raise
                self.interrupted = True
        return self.tried.get((tradeoff, budget))

    # ---- the whole range

    def along(self, n_tradeoffs: int, cheapest: float) -> None:
        """The whole range of bills, in up to so many trainings without a budget, and a third more with small ones.

        First 0, and from just below the largest trade-off on ever smaller ones, until nearly as much is spent as
        without any; then between those neighbours whose bills differ most, as a ratio. Where even the first round
        costs more than the cheapest feature that is not free, small budgets between the two follow.
        """
        everything = self._cost_at(0.0)
        tradeoff = JUST_BELOW * self.largest
        while len(self.tried) < n_tradeoffs and self.largest > 0:
            if (
                self.interrupted
                or self._cost_at(tradeoff) >= NEARLY_ALL * everything
                or tradeoff < LEAST * self.largest
            ):
                break
            tradeoff /= STEP
        while len(self.tried) < n_tradeoffs and not self.interrupted and (gap := self._widest_gap(everything)):
            self.at(float(np.sqrt(gap[0] * gap[1])))
        self._below_the_first_round(cheapest, n_tradeoffs // 3)

    def _cost_at(self, tradeoff: float) -> float:
        boosted = self.at(tradeoff)
        return np.nan if boosted is None else boosted.final_cost

    def _widest_gap(self, everything: float) -> tuple[float, float] | None:
        """Two neighbouring trade-offs, apart enough, whose bills have the largest ratio; None if there are none."""
        known = sorted(tradeoff for tradeoff, _ in self.tried if 0 < tradeoff < np.inf)
        least = everything / 100  # bills that are nearly nothing count as this much
        cost = [max(self.tried[tradeoff, np.inf].final_cost, least) for tradeoff in known]
        gaps = [(cost[i] / cost[i + 1], known[i], known[i + 1]) for i in range(len(known) - 1)]
        apart = [gap for gap in gaps if gap[2] / gap[1] > CLOSE and gap[0] > 1]
        return max(apart)[1:] if apart else None

    def _below_the_first_round(self, cheapest: float, n_budgets: int) -> None:
        first = min(
            b.cost[~np.isnan(b.cost)][:1].min(initial=np.inf) for b in self.tried.values() if b.tradeoff < np.inf
        )
        if not cheapest < first < np.inf:
            return
        n_steps = min(n_budgets, int(np.ceil(np.log(first / cheapest) / np.log(SMALLER))))
        for budget in np.geomspace(cheapest, first, n_steps + 1)[:-1]:
            for tradeoff in (self.largest / STEP, self.largest / STEP**3, 0.0):
                boosted = self.at(tradeoff, float(budget))
                if boosted is None or boosted.n_rounds > 0:  # without: what is affordable was not worth its price
                    break

    # ---- one budget

    def within(self, budget: float, n_tradeoffs: int, training_budget: float) -> None:
        """Find the trade-off of least validation loss within the budget, in up to so many trainings.

        Ever smaller ones while the loss falls, then halfway between the best one and its neighbours. training_budget:
        what boosters keep to while they grow; infinity where their bills are measured afterwards.
        """
        self._explore(budget, n_tradeoffs, training_budget)
        while self.n_trained < n_tradeoffs and not self.interrupted:
            if (halfway := self._beside_the_best(budget, training_budget)) is None:
                return
            self.at(halfway, training_budget)

    def _explore(self, budget: float, n_tradeoffs: int, training_budget: float) -> None:
        tradeoff, n_worse, least, all_fits = JUST_BELOW * self.largest, 0, np.inf, False
        while self.n_trained < n_tradeoffs and n_worse < WORSE:
            boosted = self.at(tradeoff, training_budget)
            if boosted is None or self.interrupted or tradeoff == 0:
                return
            loss = boosted.least_loss(budget)
            if boosted.n_rounds > 0:  # without, what is worth most is too dear for all rows, and others may not be
                n_worse = 0 if loss < least else n_worse + 1
            least, all_fits = min(least, loss), not boosted.is_limited and boosted.final_cost <= budget
            tradeoff = tradeoff / STEP if tradeoff > LEAST * self.largest else 0.0
        if all_fits:
            self.at(0.0, training_budget)

    @property
    def n_trained(self) -> int:
        """Boosters that have trees."""
        return sum(boosted.n_rounds > 0 for boosted in self.tried.values())

    def _beside_the_best(self, budget: float, training_budget: float) -> float | None:
        """A trade-off halfway between the best one and its farther neighbour; None if both are close."""
        losses = {t: b.least_loss(budget) for (t, limit), b in self.tried.items() if limit == training_budget and t > 0}
        best = min(losses, key=lambda t: losses[t], default=0.0)
        if best == 0 or losses[best] == np.inf:
            return None
        ratios = {max(best, other) / min(best, other): other for other in self._neighbours(best, losses)}
        farthest = max(ratios, default=1.0)
        return float(np.sqrt(best * ratios[farthest])) if farthest > CLOSE else None

    @staticmethod
    def _neighbours(best: float, tradeoffs: Iterable[float]) -> list[float]:
        smaller, larger = [t for t in tradeoffs if t < best], [t for t in tradeoffs if best < t < np.inf]
        return [*([max(smaller)] if smaller else []), *([min(larger)] if larger else [])]
