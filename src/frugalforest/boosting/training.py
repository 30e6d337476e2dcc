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

LESS = 0.99  # of what should just be enough

NOT_WATCHED = Standing(np.nan, np.nan, np.nan)


@dataclass(frozen=True, eq=False)
class Record:
    """How the validation rows did after each round, read in one way; NaN where that was not measured."""

    confidence: float  # rows end once they are so sure; infinity: at a proof, or when everything is read
    loss: Floats  # (n_rounds,)
    error: Floats  # (n_rounds,)
    cost: Floats  # (n_rounds,): average bill

    def worth(self, n_rounds: int, tradeoff: float) -> float:
        """Loss and bill after so many rounds, in one number; less is better."""
        return float(self.loss[n_rounds - 1] + tradeoff * self.cost[n_rounds - 1])


@dataclass(frozen=True, eq=False)
class Boosted:
    """A booster at one trade-off, as far as it was trained."""

    tradeoff: float
    budget: float  # that it was trained within, infinity: none
    base: Floats  # (n_outputs,): where scores start
    trees: BoostedTrees
    loss: Floats  # (n_rounds,): of the validation rows after each round; these three are NaN where nobody watched
    error: Floats  # (n_rounds,)
    cost: Floats  # (n_rounds,): average bill
    is_limited: bool  # whether it would have bought more with a larger budget
    sooner: tuple[Record, ...] = ()  # the same rows, if they end before a proof

    @property
    def n_rounds(self) -> int:
        """Number of rounds within the budget."""
        return self.trees.n_rounds

    @property
    def records(self) -> tuple[Record, ...]:
        """All ways in which it was read, that of a proof, or of everything, first."""
        return Record(np.inf, self.loss, self.error, self.cost), *self.sooner

    @property
    def final_cost(self) -> float:
        """The bill after the last round that was measured; 0 without rounds."""
        known = self.cost[~np.isnan(self.cost)]
        return float(known[-1]) if len(known) else 0.0

    def least_loss(self, budget: float) -> float:
        """The lowest loss of a round whose bill is within a budget, read in any way; infinite if none is."""
        return min(float(np.min(r.loss, initial=np.inf, where=r.cost <= budget)) for r in self.records)


@dataclass(frozen=True, eq=False)
class Trainer:
    """Everything that the boosters of one fit have in common."""

    rows: BoostingRows
    audience: BoostingRows | None
    options: BoostOptions
    costs: FeatureCosts
    n_rounds: int
    patience: int | None = None  # rounds without a lower validation loss after which training ends; None: never
    seed: int = 0
    n_threads: int = 1
    verbose: int = 0
    name: str = "boosting"

    def train(self, tradeoff: float, budget: float = np.inf, before: Before | None = None) -> tuple[Boosted, bool]:
        """Add rounds until there are enough, or nothing is left to gain within the budget, which needs an audience.

        -> what was trained, whether Ctrl-C cut it short. Ctrl-C before the first round raises KeyboardInterrupt.
        """
        training = _Training(self, tradeoff, budget, before)
        interrupted = False
        with progress_bar(self.verbose, self.n_rounds, f"{self.name}, tradeoff={tradeoff:.4g}") as show:
            try:
                while training.booster.n_rounds < self.n_rounds and training.grow_round():
                    if show is not None:
                        show(training.booster.n_rounds)
            except KeyboardInterrupt:
                interrupted = True
        if interrupted and not training.standings and before is None:
            raise KeyboardInterrupt
        return training.finished(), interrupted

    def booster(self, tradeoff: float, budget: float = np.inf, before: Before | None = None) -> Booster:
        """A booster before its first round."""
        return Booster(
            self.rows,
            self.options,
            self.costs,
            seed=self.seed,
            n_threads=self.n_threads,
            audience=self.audience,
            before=before,
            is_charged=tradeoff > 0 or self.options.price_per_split > 0 or budget < np.inf,
        )


class _Training:
    """One booster on its way.

    Training rows keep to the budget themselves: no split is taken with which their bill would exceed it, so that what
    is left over goes to smaller nodes, and rounds go on with what is paid. Validation rows may pay a little more; then
    the round is taken back and grown again with less.
    """

    def __init__(self, trainer: Trainer, tradeoff: float, budget: float, before: Before | None) -> None:
        self._trainer, self._tradeoff, self._budget = trainer, tradeoff, budget
        self._first = 0 if before is None else before[1].n_rounds
        self._limit, self._n_tries, self._was_undone = budget, 0, False
        self.booster = trainer.booster(tradeoff, budget, before)
        self.standings: list[Standing] = []

    def grow_round(self) -> bool:
        """One more round -> whether there may be another."""
        trainer = self._trainer
        n_splits = self.booster.grow_round(self._tradeoff, budget=self._limit, can_undo=self._budget < np.inf)
        if n_splits == 0 and not trainer.options.is_random:
            return False
        standing = NOT_WATCHED if trainer.audience is None else self.booster.watch()
        if standing.cost > self._budget:
            return self._turn_back(standing.cost)
        self.standings.append(standing)
        self._n_tries = 0
        return not self._is_stale()

    def _turn_back(self, cost: float) -> bool:
        """Take back the last round -> whether to try again: with a little less, then without buying anything."""
        self.booster.undo_round()
        self._was_undone = True
        self._n_tries += 1
        self._limit = LESS * self._limit * self._budget / cost if self._n_tries == 1 else 0.0
        return self._n_tries <= 2

    def _is_stale(self) -> bool:
        patience = self._trainer.patience
        if patience is None or len(self.standings) <= patience:
            return False
        losses = [standing.loss for standing in self.standings]
        return min(losses[-patience:]) >= min(losses[:-patience])

    def finished(self) -> Boosted:
        """What was trained so far."""
        standings = [NOT_WATCHED] * self._first + self.standings
        loss, error, cost = np.array(standings, dtype=np.float64).reshape(-1, 3).T
        trees = self.booster.trees().first(len(standings))
        is_limited = self._was_undone or self.booster.was_limited
        return Boosted(self._tradeoff, self._budget, self.booster.base, trees, loss, error, cost, is_limited)
