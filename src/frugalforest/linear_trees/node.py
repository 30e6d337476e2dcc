"""One node of a submodular tree: choose features, fit least squares, and cut the rows in two halves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts
from frugalforest.linear_trees.greedy_qr import GreedyQR, select
from frugalforest.linear_trees.moments import Moments
from frugalforest.linear_trees.purse import Purse
from frugalforest.linear_trees.standardising import Floats, Mask, Positions, Standard, blocks
from frugalforest.linear_trees.tree import linear_scores


@dataclass(frozen=True, eq=False)
class Choice:
    """The features of a node in the order they were taken, what is paid then, and the fit on them."""

    features: Positions
    paid_mask: Mask  # (n_features,): by this node and those above it
    coefficients: Floats  # (n_used, k): of standardised columns
    intercept: Floats  # (k,)
    r_squared: float
    smallest_eigenvalue: float


@dataclass(frozen=True, eq=False)
class Fitting:
    """The rows of a node and their moments: what its classifier is fitted to."""

    standard: Standard
    matrix: NDArray[Any]  # (n_all, m)
    rows: Positions  # (n,)
    targets: Floats  # (n_all, k)
    weights: Floats  # (n_all,)
    moments: Moments

    def choose(self, costs: FeatureCosts, budget: float, paid_mask: Mask, inherited: Positions, ridge: float) -> Choice:
        """Greedy selection within the budget on top of what is paid, and least squares on the chosen set."""
        qr, purse = GreedyQR(self.moments, ridge), Purse(costs, budget, paid_mask)
        if self.moments.target_spread > 0:
            select(qr, purse, inherited)
        features = np.array(qr.chosen, dtype=np.intp)
        coefficients, intercept = self._least_squares(qr, features, ridge)
        return Choice(
            features, purse.paid_mask, coefficients, intercept, min(qr.r_squared, 1.0), qr.smallest_eigenvalue
        )

    def _least_squares(self, qr: GreedyQR, features: Positions, ridge: float) -> tuple[Floats, Floats]:
        """Coefficients and intercept in standardised units.

        Solved through R'R, then corrected once with the residuals themselves, which makes up for the digits that
        correlations lose (Bjorck 1987, corrected seminormal equations).
        """
        if len(features) == 0:
            return np.zeros((0, self.targets.shape[1])), self.moments.target_mean
        unit = qr.coefficients()
        unit += qr.correction(self._residual_products(features, unit) - ridge * unit)
        return self._in_units(features, unit)

    def _in_units(self, features: Positions, unit: Floats) -> tuple[Floats, Floats]:
        """From columns and targets of unit norm to standardised columns and targets as they are."""
        coefficients = unit * (self.moments.target_spread / self.moments.spread[features])[:, None]
        return coefficients, self.moments.target_mean - self.moments.mean[features] @ coefficients

    def _residual_products(self, features: Positions, unit: Floats) -> Floats:
        """Products of the chosen columns, of unit norm, and the residuals of a fit, (n_used, k)."""
        coefficients, intercept = self._in_units(features, unit)
        total, weight_sum = np.zeros(unit.shape), 0.0
        for block in blocks(len(self.rows), len(features)):
            rows = self.rows[block]
            values, weight = self.standard.read(self.matrix, rows, features), self.weights[rows]
            residuals = self.targets[rows] - intercept - values @ coefficients
            total += (values - self.moments.mean[features]).T @ (residuals * weight[:, None])
            weight_sum += weight.sum()
        return total / (self.moments.spread[features][:, None] * self.moments.target_spread * weight_sum)

    def scores(self, choice: Choice, rows: Positions) -> Floats:
        """What the classifier says of some rows, (n_rows, k), exactly as the finished tree will."""
        order = np.argsort(choice.features)
        return linear_scores(
            self.standard,
            self.matrix,
            rows,
            choice.features[order],
            choice.coefficients[order],
            choice.intercept,
        )


def principal_direction(scores: Floats, weights: Floats) -> Floats:
    """The direction of largest weighted variance of scores (n, k): a unit vector (k,), its largest entry positive."""
    if scores.shape[1] == 1:
        return np.ones(1)
    centred = (scores - np.average(scores, axis=0, weights=weights)) * np.sqrt(weights)[:, None]
    _, vectors = np.linalg.eigh(centred.T @ centred)
    direction: Floats = vectors[:, -1]
    return direction * np.sign(direction[np.argmax(np.abs(direction))])


def halving_threshold(values: Floats, weights: Floats, least: int) -> float | None:
    """A threshold between two different values that halves the weight as nearly as possible; None if there is none.

    values, weights: (n,). At least `least` rows on each side. Rows with value <= threshold are one side. The paper's
    median; line 11 of its algorithm compares probabilities with it, and means values.
    """
    order = np.argsort(values, kind="stable")
    ranked, below = values[order], np.cumsum(weights[order])
    last = np.flatnonzero(ranked[:-1] < ranked[1:])  # of the left side
    last = last[(last + 1 >= least) & (len(values) - last - 1 >= least)]
    if len(last) == 0:
        return None
    cut = last[np.argmin(np.abs(below[last] - below[-1] / 2))]
    middle = ranked[cut] / 2 + ranked[cut + 1] / 2
    return float(middle if middle < ranked[cut + 1] else ranked[cut])
