"""When a row stops: leads, thresholds by dynamic programming, and all prices at once.

A row goes through the stages of a cascade in order. At each it has a label and a lead, that of the most probable class
over the second. It stops at the first stage whose lead reaches the threshold of its label there; the last stage always
stops. Stopping at a stage costs the loss of its label and, at the price `tradeoff`, what has been spent until then: the
price of its panel, or at the last stage less, if rows buy on demand there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]

NEVER, ALWAYS = np.inf, -np.inf  # thresholds that no lead, and every lead, reaches


def labels_and_leads(probabilities: Floats) -> tuple[Positions, Floats]:
    """The most probable class of each row, the first of equals, and its lead; probabilities: (n, n_classes)."""
    two = np.partition(probabilities, -2, axis=1)[:, -2:]
    return np.argmax(probabilities, axis=1), two[:, 1] - two[:, 0]


@dataclass(frozen=True, eq=False)
class StageTable:
    """What is known of some rows at every stage.

    Of rows that a stage was fitted on, the predictions have to be out of fold: otherwise leads are too good to be true.
    """

    labels: Positions  # (n_stages, n_rows)
    leads: Floats  # (n_stages, n_rows)
    errors: Floats  # (n_stages, n_rows): 1 where the label is wrong, else 0
    losses: Floats  # (n_stages, n_rows): what thresholds are chosen by: errors, or something smoother
    spent: Floats  # (n_stages,): by a row that stops there; rising
    weights: Floats  # (n_rows,)
    last_bills: Floats | None = None  # (n_rows,): in place of the last of `spent`, where rows buy on demand

    @property
    def n_stages(self) -> int:
        """Number of stages."""
        return len(self.leads)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.leads.shape[1]

    def stops(self, thresholds: Floats) -> Positions:
        """The stage at which each row stops, (n_rows,); thresholds: (n_stages - 1, n_classes)."""
        stops = np.ones((self.n_stages, self.n_rows), dtype=bool)
        for k in range(self.n_stages - 1):
            stops[k] = self._stops_at(k, thresholds)
        return np.argmax(stops, axis=0)

    def shares(self, thresholds: Floats) -> Floats:
        """How many of the rows, by weight, stop at each stage, (n_stages,)."""
        weight = np.bincount(self.stops(thresholds), self.weights, minlength=self.n_stages)
        return np.asarray(weight / weight.sum())

    def mean(self, values: Floats, thresholds: Floats) -> float:
        """Weighted mean of values, (n_stages, n_rows), at the stages where rows stop."""
        return float(np.average(values[self.stops(thresholds), np.arange(self.n_rows)], weights=self.weights))

    def mean_bill(self, thresholds: Floats) -> float:
        """What rows spend on average. By shares: if all stop at one stage, this is its price to the last digit."""
        shares = self.shares(thresholds)
        if self.last_bills is None:
            return float(shares @ self.spent)
        at_last = self.stops(thresholds) == self.n_stages - 1
        at_the_end = float(self.weights[at_last] @ self.last_bills[at_last] / self.weights.sum())
        return float(shares[:-1] @ self.spent[:-1]) + at_the_end

    def up_to(self, last: int, last_bills: Floats | None) -> StageTable:
        """The same rows where `last` is the last stage."""
        first = slice(0, last + 1)
        return replace(
            self,
            labels=self.labels[first],
            leads=self.leads[first],
            errors=self.errors[first],
            losses=self.losses[first],
            spent=self.spent[first],
            last_bills=last_bills,
        )

    def best_thresholds(self, tradeoff: float, n_classes: int) -> Floats:
        """Thresholds for one price, (n_stages - 1, n_classes), by dynamic programming from the last stage.

            S_k = loss_k + tradeoff * spent_k,   V_K = S_K
            tau_k = argmin_t  sum of S_k over leads >= t  +  sum of V_{k+1} over leads < t,   for each label by itself
            V_k = S_k where the lead reaches tau_k, else V_{k+1}

        Every stage is judged by all rows, as if all came there. Going on by optimising each stage over the rows that do
        come lowers the objective on these rows, and raises the error on others (tried on six data sets: by 0.5 %).
        """
        values = self.losses + tradeoff * self.spent[:, None]
        if self.last_bills is not None:
            values[-1] = self.losses[-1] + tradeoff * self.last_bills
        thresholds = np.full((self.n_stages - 1, n_classes), NEVER)
        go_on = values[-1]
        for k in reversed(range(self.n_stages - 1)):
            self.ranked[k].cut(thresholds[k], self.weights * (go_on - values[k]))
            go_on = np.where(self._stops_at(k, thresholds), values[k], go_on)
        return thresholds

    def _stops_at(self, k: int, thresholds: Floats) -> Mask:
        return self.leads[k] >= thresholds[k, self.labels[k]]

    @cached_property
    def ranked(self) -> list[Ranked]:
        """The rows of every stage but the last, sorted."""
        return [Ranked(self.labels[k], self.leads[k]) for k in range(self.n_stages - 1)]


class Ranked:
    """The rows of one stage by label, then by falling lead: sorted once, cut at every price."""

    def __init__(self, labels: Positions, leads: Floats) -> None:
        self.order = np.lexsort((-leads, labels))
        self.leads = leads[self.order]
        found, starts = np.unique(labels[self.order], return_index=True)
        ends = [*starts[1:].tolist(), len(labels)]
        self.parts = list(zip(found.tolist(), starts.tolist(), ends, strict=True))

    def cut(self, thresholds: Floats, benefit: Floats) -> None:
        """Set the thresholds (n_classes,) to the largest sum of the benefit of stopping, in place.

        benefit: (n_rows,), of stopping over going on. Of equals the one that stops most; labels without rows are left.
        """
        ordered = benefit[self.order]
        for label, start, end in self.parts:
            leads = self.leads[start:end]
            sums = np.concatenate([[0.0], np.cumsum(ordered[start:end])])  # of the first i rows
            may_cut = np.concatenate([[True], leads[1:] < leads[:-1], [True]])  # equal leads stop together
            best = len(leads) - int(np.argmax(np.where(may_cut, sums, -np.inf)[::-1]))
            thresholds[label] = threshold_between(leads, best)


def threshold_between(leads: Floats, n_stopping: int) -> float:
    """A threshold that the first n_stopping of the falling leads reach, and the others do not."""
    if n_stopping == 0:
        return NEVER
    if n_stopping == len(leads):
        return ALWAYS
    last, next_one = leads[n_stopping - 1], leads[n_stopping]
    middle = (last + next_one) / 2
    return float(middle if middle > next_one else last)
