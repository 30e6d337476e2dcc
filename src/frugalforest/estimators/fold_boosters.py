"""A booster for each fold, read together: their scores are averaged, and each tells the error of the rows it lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from frugalforest.acquisition import Acquirer, StopRule
from frugalforest.acquisition.acquirer import Ends
from frugalforest.acquisition.stopping import StopName
from frugalforest.boosting import BoostedTrees, BoostingRows
from frugalforest.boosting.training import Boosted, Record, Trainer
from frugalforest.costs import FeatureCosts
from frugalforest.ensemble import Ensemble
from frugalforest.estimators.base import Floats
from frugalforest.estimators.boosted_records import CONFIDENCES, MOST_ROWS, mean_loss

MakeEnsemble = Callable[[Floats, BoostedTrees], Ensemble]  # from where scores start, and trees


@dataclass(frozen=True, eq=False)
class FoldBoosters:
    """Trains a booster for each fold on the other rows; the fold's own tell it when to stop, and how it errs.

    What they cost is measured by reading them together. The rows are known to all boosters but one, so that leads are
    a little too large, and bills a little too small; `choose_with` measures both on other rows.
    """

    trainers: tuple[Trainer, ...]  # each watched by the rows of its fold
    ensemble_of: MakeEnsemble
    costs: FeatureCosts
    stop: StopName
    n_threads: int
    choose_with: BoostingRows | None = None

    def train(self, tradeoff: float, budget: float = np.inf) -> tuple[Boosted, bool]:
        """All of them at one trade-off, as one booster whose rounds take turns; some of its rounds are measured.

        -> the booster, and False: Ctrl-C raises KeyboardInterrupt, for some boosters without the others are no use.
        """
        fitted = []
        for trainer in self.trainers:
            boosted, interrupted = trainer.train(tradeoff, budget)
            if interrupted:
                raise KeyboardInterrupt
            fitted.append(_at_its_best(boosted) if trainer.patience is not None else boosted)
        return self._measured(fitted), False

    def _measured(self, fitted: Sequence[Boosted]) -> Boosted:
        base, trees = averaged(fitted)
        n_ends = (len(CONFIDENCES) if self.stop == "confidence" else 0) + 1
        found = np.full((3, n_ends, trees.n_rounds), np.nan)
        for size in _doubling(max(boosted.n_rounds for boosted in fitted)):
            some = [replace(boosted, trees=boosted.trees.first(size)) for boosted in fitted]
            n_rounds = sum(boosted.n_rounds for boosted in some)
            whole = self.ensemble_of(base, trees.first(n_rounds))
            found[:, :, n_rounds - 1] = (
                self._out_of_fold(some, whole) if self.choose_with is None else self._on_others(whole)
            )
        loss, error, cost = found
        confidences = (CONFIDENCES * self._surer).tolist()
        sooner = tuple(Record(confidences[i], loss[i], error[i], cost[i]) for i in range(n_ends - 1))
        is_limited = any(boosted.is_limited for boosted in fitted)
        first = fitted[0]
        return Boosted(
            first.tradeoff, first.budget, base, trees, loss[-1], error[-1], cost[-1], is_limited, sooner=sooner
        )

    @property
    def _surer(self) -> float:
        """How much surer the mean has to be than each booster is alone, to be as right.

        The ranges of the mean of n are n times as many, each an nth: their squares add up to an nth, though what is
        open is the same for all.
        """
        return float(np.sqrt(len(self.trainers)))

    def _out_of_fold(self, fitted: Sequence[Boosted], whole: Ensemble) -> tuple[Floats, Floats, Floats]:
        """Loss, error and bill at each end: errors of every booster by itself, bills of all of them together."""
        rows = [_some(trainer.audience, MOST_ROWS // len(fitted)) for trainer in self.trainers]
        alone = [
            self._ends(self.ensemble_of(boosted.base, boosted.trees), part, CONFIDENCES)
            for boosted, part in zip(fitted, rows, strict=True)
        ]
        together = [self._ends(whole, part, CONFIDENCES * self._surer) for part in rows]
        loss, error = mean_loss(alone, [part.labels for part in rows], [part.loss_weights for part in rows])
        return loss, error, np.concatenate([ends.bills for ends in together]).mean(axis=0)

    def _on_others(self, whole: Ensemble) -> tuple[Floats, Floats, Floats]:
        rows = _some(self.choose_with, MOST_ROWS)
        ends = self._ends(whole, rows, CONFIDENCES * self._surer)
        loss, error = mean_loss([ends], [rows.labels], [rows.loss_weights])
        return loss, error, ends.bills.mean(axis=0)

    def _ends(self, ensemble: Ensemble, rows: BoostingRows, confidences: Floats) -> Ends:
        acquirer = Acquirer(ensemble, self.costs)
        if self.stop == "confidence":
            return acquirer.ends_at(rows.matrix, confidences, self.n_threads)
        found = acquirer.evaluate(rows.matrix, StopRule(self.stop), self.n_threads)
        assert found.probabilities is not None
        bills = self.costs.of_rows(found.mask)
        return Ends(found.label_numbers[:, None], bills[:, None], found.probabilities[:, None, :])


def averaged(fitted: Sequence[Boosted]) -> tuple[Floats, BoostedTrees]:
    """Where scores start, and trees whose scores are the mean of several boosters: first rounds first, then second."""
    trees = fitted[0].trees
    for boosted in fitted[1:]:
        trees = trees.then(boosted.trees)
    round_of = np.concatenate([np.repeat(np.arange(b.n_rounds), trees.n_outputs) for b in fitted])
    trees, n = trees.take(np.argsort(round_of, kind="stable")), len(fitted)
    base = np.mean([boosted.base for boosted in fitted], axis=0)
    return base, replace(trees, values=trees.values / n, gains=trees.gains / n, charged=trees.charged / n)


def _doubling(most: int) -> list[int]:
    """1, 2, 4, ... and the most."""
    return sorted({*(2**i for i in range(most.bit_length())), most} - {0})


def _at_its_best(boosted: Boosted) -> Boosted:
    """The booster up to its round of least loss."""
    n_rounds = int(np.argmin(boosted.loss)) + 1 if boosted.n_rounds else 0
    return replace(boosted, trees=boosted.trees.first(n_rounds))


def _some(rows: BoostingRows | None, at_most: int) -> BoostingRows:
    """At most so many rows, at equal distances."""
    assert rows is not None
    chosen = np.linspace(0, len(rows) - 1, min(len(rows), at_most)).astype(np.intp)
    weights = None if rows.weights is None else rows.weights[chosen]
    return replace(rows, matrix=rows.matrix[chosen], labels=rows.labels[chosen], weights=weights)
