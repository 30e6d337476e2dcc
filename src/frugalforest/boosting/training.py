"""Trains one booster at one trade-off, and remembers how the validation rows did after every round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frugalforest.boosting.booster import Booster, Standing
from frugalforest.boosting.params import BoostOptions
from frugalforest.boosting.rows import BoostingRows
from frugalforest.boosting.trees import BoostedTrees
from frugalforest.costs import FeatureCosts
from frugalforest.growing.progress import progress_bar

Floats = NDArray[np.float64]
Before = tuple[Floats, BoostedTrees]  # base scores and trees that training goes on from

NOT_WATCHED = Standing(np.nan, np.nan, np.nan)


@dataclass(frozen=True, eq=False)
class Boosted:
    """A booster at one trade-off, as far as it was trained."""

    tradeoff: float
    base: Floats  # (n_outputs,): where scores start
    trees: BoostedTrees
    loss: Floats  # (n_rounds,): of the validation rows after each round; these three are NaN where nobody watched
    error: Floats  # (n_rounds,)
    cost: Floats  # (n_rounds,): average bill
    beyond: float  # the bill of the round that exceeded the budget and was dropped; infinity: none was

    @property
    def n_rounds(self) -> int:
        """Number of rounds within the budget."""
        return self.trees.n_rounds

    @property
    def is_complete(self) -> bool:
        """Whether no round was dropped for its bill."""
        return self.beyond == np.inf

    @property
    def final_cost(self) -> float:
        """The bill after the last round, also if that was dropped; 0 without rounds."""
        if not self.is_complete:
            return self.beyond
        known = self.cost[~np.isnan(self.cost)]
        return float(known[-1]) if len(known) else 0.0


@dataclass(frozen=True, eq=False)
class Trainer:
    """Everything that the boosters of one fit have in common."""

    rows: BoostingRows
    audience: BoostingRows | None
    options: BoostOptions
    costs: FeatureCosts
    n_rounds: int
    patience: int | None = None  # rounds without a lower validation loss after which training ends; None: never
    tolerance: float = 0.0  # a loss counts as lower if it is by more than this
    budget: float = np.inf
    seed: int = 0
    n_threads: int = 1
    verbose: int = 0
    name: str = "boosting"

    def train(self, tradeoff: float, before: Before | None = None) -> tuple[Boosted, bool]:
        """Add rounds until there are enough, nothing is left to gain, or the bill exceeds the budget.

        -> what was trained, whether Ctrl-C cut it short. Ctrl-C before the first round raises KeyboardInterrupt.
        """
        booster = self.booster(tradeoff, before)
        standings: list[Standing] = []
        interrupted = False
        with progress_bar(self.verbose, self.n_rounds, f"{self.name}, tradeoff={tradeoff:.4g}") as show:
            try:
                while booster.n_rounds < self.n_rounds and not self._is_over(standings):
                    if booster.grow_round(tradeoff) == 0 and not self.options.is_random:
                        break
                    standings.append(NOT_WATCHED if self.audience is None else booster.watch())
                    if show is not None:
                        show(booster.n_rounds)
            except KeyboardInterrupt:
                interrupted = True
        if interrupted and not standings and before is None:
            raise KeyboardInterrupt
        return self._finished(tradeoff, booster, standings, before), interrupted

    def booster(self, tradeoff: float, before: Before | None = None) -> Booster:
        """A booster before its first round."""
        return Booster(
            self.rows,
            self.options,
            self.costs,
            seed=self.seed,
            n_threads=self.n_threads,
            audience=self.audience,
            before=before,
            is_charged=tradeoff > 0 or self.options.price_per_split > 0,
        )

    def _is_over(self, standings: list[Standing]) -> bool:
        if not standings:
            return False
        if standings[-1].cost > self.budget:
            return True
        if self.patience is None:
            return False
        losses = np.array([standing.loss for standing in standings])
        return len(losses) > self.patience and bool(
            losses[-self.patience :].min() > losses[: -self.patience].min() - self.tolerance
        )

    def _finished(self, tradeoff: float, booster: Booster, standings: list[Standing], before: Before | None) -> Boosted:
        beyond = np.inf
        if standings and standings[-1].cost > self.budget:
            beyond = standings.pop().cost
        standings = [NOT_WATCHED] * (0 if before is None else before[1].n_rounds) + standings
        loss, error, cost = np.array(standings, dtype=np.float64).reshape(-1, 3).T
        return Boosted(tradeoff, booster.base, booster.trees().first(len(standings)), loss, error, cost, beyond)
