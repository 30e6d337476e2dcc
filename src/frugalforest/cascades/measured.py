"""Labelled rows in one cascade: which policies are worth a look, and what each of them would cost and get wrong."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from frugalforest.cascades.cascade import Cascade, Policy
from frugalforest.cascades.last_stage import LastStage
from frugalforest.cascades.path import thresholds_path
from frugalforest.cascades.stages import Floats
from frugalforest.cascades.stopping import ALWAYS, StageTable, labels_and_leads
from frugalforest.costs import FeatureCosts
from frugalforest.evaluation import CostCurve

MOST_PLAYED, LEAST_PLAYED = 1_000, 100  # rows whose bills at a last stage tell those of all
LEAVES_PLAYED = 200_000  # one for each row and tree: with more trees fewer rows


class EndBills(metaclass=ABCMeta):
    """What each row has spent at the end, if it buys on demand at the last stage."""

    def __init__(self, cascade: Cascade, costs: FeatureCosts, rows: NDArray[Any], n_threads: int) -> None:
        self.cascade, self.costs, self.rows, self.n_threads = cascade, costs, rows, n_threads
        self._known: dict[tuple[int, int], Floats | None] = {}

    def __call__(self, before: int, last: int) -> Floats | None:
        """Bills of rows that come from one stage (0: from nothing) to the last; None if that is bought as a whole."""
        if (before, last) not in self._known:
            last_stage = self.cascade.last_stage(before, last, self.costs)
            self._known[before, last] = None if last_stage is None else self._play(last_stage, last)
        return self._known[before, last]

    @abstractmethod
    def _play(self, last_stage: LastStage, last: int) -> Floats:
        """Bills of all rows, (n_rows,)."""


class PlayedBills(EndBills):
    """Of rows that the models have not seen: every one is played to its end."""

    def _play(self, last_stage: LastStage, last: int) -> Floats:
        return last_stage.bills(self.rows, self.n_threads)


class BillsByLead(EndBills):
    """Of rows that the models were fitted on, from their leads out of fold.

    Models are too sure of rows they have seen, which then end too early. But what a lead costs to prove is the same for
    all rows: a falling line through leads and bills of some of them, as the models see them, tells the bill of a lead.
    """

    def __init__(
        self, cascade: Cascade, costs: FeatureCosts, rows: NDArray[Any], n_threads: int, leads: Floats
    ) -> None:
        super().__init__(cascade, costs, rows, n_threads)
        self.leads = leads  # (n_stages, n_rows), out of fold

    def _play(self, last_stage: LastStage, last: int) -> Floats:
        rows = self._some_rows(last_stage)
        _, leads = labels_and_leads(last_stage.stage.probabilities(rows, self.n_threads))
        line = IsotonicRegression(increasing=False, out_of_bounds="clip")
        return line.fit(leads, last_stage.bills(rows, self.n_threads)).predict(self.leads[last])

    def _some_rows(self, last_stage: LastStage) -> NDArray[Any]:
        """Rows at equal distances."""
        assert last_stage.stage.trees is not None
        n_played = np.clip(LEAVES_PLAYED // last_stage.stage.trees.forest.n_trees, LEAST_PLAYED, MOST_PLAYED)
        return self.rows[np.linspace(0, len(self.rows) - 1, min(len(self.rows), int(n_played))).astype(np.intp)]


@dataclass(frozen=True, eq=False)
class MeasuredCascade:
    """Rows at every stage of a cascade; with `end_bills` they buy on demand where a policy ends."""

    table: StageTable
    end_bills: EndBills | None = None

    def policies(self, number: int, n_classes: int) -> list[Policy]:
        """Policies for all prices; `number` is that of the cascade."""
        found = []
        for table in self._tables():
            for tradeoff, first in zip(*thresholds_path(table, n_classes), strict=True):
                thresholds = np.full((self.table.n_stages - 1, n_classes), ALWAYS)
                thresholds[: len(first)] = first
                found.append(Policy(number, tradeoff, thresholds, self.table.shares(thresholds)))
        return found

    def mean_bill(self, policy: Policy) -> float:
        """What rows spend on average."""
        table, (before, last) = self.table, policy.last_step()
        if self.end_bills is not None:
            table = table.up_to(last, self.end_bills(before, last))
        return table.mean_bill(policy.thresholds[: table.n_stages - 1])

    def mean_error(self, policy: Policy) -> float:
        """The share of rows with a wrong label."""
        return self.table.mean(self.table.errors, policy.thresholds)

    def mean_loss(self, policy: Policy) -> float:
        """Mean of the loss that thresholds are chosen by."""
        return self.table.mean(self.table.losses, policy.thresholds)

    def _tables(self) -> list[StageTable]:
        """The rows with each stage as the last one, if that makes a difference to the bill."""
        if self.end_bills is None:
            return [self.table]
        ends = range(1, self.table.n_stages)
        return [self.table.up_to(last, self.end_bills(last - 1, last)) for last in ends] or [self.table]


def policy_curve(
    policies: Sequence[Policy], measured: Sequence[MeasuredCascade], *, total_cost: float, baseline_error: float
) -> CostCurve:
    """A point for each policy, by the rows in its cascade."""
    return CostCurve(
        cost=np.array([measured[policy.cascade].mean_bill(policy) for policy in policies]),
        error=np.array([measured[policy.cascade].mean_error(policy) for policy in policies]),
        n_trees=np.array([len(policy.looked_at()) for policy in policies], dtype=np.intp),
        variant=np.arange(len(policies)),
        variants=tuple(policy.tradeoff for policy in policies),
        total_cost=total_cost,
        baseline_error=baseline_error,
    )
