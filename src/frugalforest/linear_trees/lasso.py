"""One linear classifier with a penalty for what its features cost: logistic loss, whole paths with warm starts.

    minimise  mean log-loss(b + Z B) + ridge / 2 |B|^2 + tradeoff * penalty(B)

Z are standardised columns; two classes have one output, more have one each (softmax). Solved on a working set of
features that grows until no other feature would move. Within it, the curvature of the log-loss is bounded by that of
least squares (Boehning and Lindsay 1988: 1/4, 1/2 for softmax), so that a step needs the rows only for the gradient.
The penalised least squares of a step are solved among a few coefficients; steps are accelerated (Beck, Teboulle 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from frugalforest.linear_trees.penalty import CostPenalty
from frugalforest.linear_trees.standardising import Floats, Mask, Positions, Standard, blocks

PRECISION = 1e-4  # of a coefficient step, in units of standardised columns; 1e-5 takes three times as long
INNER_PRECISION = 1e-3  # of the least squares of a step, relative to its length
MOST_ROUNDS = 100
MOST_STEPS = 300
MOST_INNER_STEPS = 1000


@dataclass(frozen=True, eq=False)
class LogisticData:
    """Rows, one-hot labels and weights of a logistic loss."""

    matrix: NDArray[Any]  # (n, m)
    standard: Standard
    targets: Floats  # (n, k): 0 and 1; k = 1 for two classes, 1 for the second
    shares: Floats  # (n,): weights that add up to 1

    @property
    def curvature(self) -> float:
        """Upper bound of the second derivative of the loss of a row."""
        return 0.25 if self.targets.shape[1] == 1 else 0.5

    def surplus(self, margins: Floats) -> Floats:
        """Derivative of the loss by the margins, (n, k)."""
        chance = expit(margins) if margins.shape[1] == 1 else softmax(margins, axis=1)
        return (chance - self.targets) * self.shares[:, None]

    def gradient(self, surplus: Floats) -> Floats:
        """Derivative of the loss by the coefficients of all features, (m, k)."""
        total = np.zeros((self.matrix.shape[1], surplus.shape[1]))
        for block in blocks(*self.matrix.shape):
            total += self.standard.read(self.matrix, block).T @ surplus[block]
        total[~self.standard.varies_mask] = 0.0
        return total


@dataclass(frozen=True, eq=False)
class Coefficients:
    """A fitted classifier in standardised units: (m, k), most rows 0, and the intercept (k,)."""

    slopes: Floats
    intercept: Floats

    @property
    def used_mask(self) -> Mask:
        """(m,): features with a coefficient."""
        return np.asarray(self.slopes.any(axis=1))


def solve_path(
    data: LogisticData, penalty: CostPenalty, tradeoffs: Sequence[float], ridge: float
) -> list[Coefficients]:
    """One classifier for each trade-off, in the order given; solved from the largest down, each from the one before."""
    found: dict[float, Coefficients] = {}
    n_features, n_outputs = data.matrix.shape[1], data.targets.shape[1]
    state = _State.empty(data, Coefficients(np.zeros((n_features, n_outputs)), _prior_margins(data)))
    for tradeoff in sorted(set(tradeoffs), reverse=True):
        state = _solve(data, penalty, tradeoff, ridge, state)
        found[tradeoff] = state.current
    return [found[tradeoff] for tradeoff in tradeoffs]


def largest_tradeoff(data: LogisticData, penalty: CostPenalty) -> float:
    """The least trade-off at which no feature that costs something is used, to within 1 %."""
    gradient = data.gradient(data.surplus(np.tile(_prior_margins(data), (len(data.matrix), 1))))
    priced = (penalty.own > 0) | penalty.membership.any(axis=0)
    if not gradient[priced].any():
        return 1.0
    low, high = 0.0, 1.0
    while penalty.shrink(gradient, high)[priced].any():
        low, high = high, 2 * high
    while low < 0.99 * high and high > 1e-300:
        middle = (low + high) / 2
        low, high = (middle, high) if penalty.shrink(gradient, middle)[priced].any() else (low, middle)
    return high


def _prior_margins(data: LogisticData) -> Floats:
    """The intercept of a classifier without features: log odds, or log shares, of the classes."""
    share = np.clip(data.shares @ data.targets, 1e-12, 1 - 1e-12)
    return np.log(share / (1 - share)) if len(share) == 1 else np.log(share)


@dataclass(frozen=True, eq=False)
class _State:
    """Where a path is: the classifier, and the columns of the features that have been looked at closely."""

    current: Coefficients
    features: Positions  # (s,): the working set
    columns: Floats  # (n, s + 1): their standardised columns, and one of ones
    products: Floats  # (s + 1, s + 1): of these, weighted

    @classmethod
    def empty(cls, data: LogisticData, current: Coefficients) -> _State:
        ones = np.ones((len(data.matrix), 1))
        return cls(current, np.zeros(0, dtype=np.intp), ones, np.ones((1, 1)))

    def joined_by(self, data: LogisticData, features: Positions) -> _State:
        """With further features in the working set."""
        if len(features) == 0:
            return self
        added = data.standard.read(data.matrix, slice(None), features)
        columns = np.hstack([self.columns[:, :-1], added, self.columns[:, -1:]])
        products = columns.T @ (columns * data.shares[:, None])
        return _State(self.current, np.append(self.features, features), columns, products)

    @property
    def stacked(self) -> Floats:
        """(s + 1, k): coefficients of the working set, and the intercept."""
        return np.vstack([self.current.slopes[self.features], self.current.intercept])

    def moved_to(self, stacked: Floats) -> _State:
        slopes = np.zeros_like(self.current.slopes)
        slopes[self.features] = stacked[:-1]
        return _State(Coefficients(slopes, stacked[-1]), self.features, self.columns, self.products)


def _solve(data: LogisticData, penalty: CostPenalty, tradeoff: float, ridge: float, state: _State) -> _State:
    """Add features to the working set until none outside it would move."""
    for _ in range(MOST_ROUNDS):
        state = _solve_within(data, penalty, tradeoff, ridge, state)
        wanted = _movers(data, penalty, tradeoff, ridge, state)
        if len(wanted) == 0:
            break
        state = state.joined_by(data, wanted)
    return state


def _movers(data: LogisticData, penalty: CostPenalty, tradeoff: float, ridge: float, state: _State) -> Positions:
    """Features outside the working set that a gradient step would use; those that move most, as many as it has."""
    slopes = state.current.slopes
    gradient = data.gradient(data.surplus(state.columns @ state.stacked)) + ridge * slopes
    length = 1 / (data.curvature + ridge)
    moved = np.square(penalty.shrink(slopes - length * gradient, length * tradeoff)).sum(axis=1)
    moved[state.features] = 0.0
    moved[moved < PRECISION**2] = 0.0
    most = np.argsort(-moved, kind="stable")[: max(10, len(state.features))]
    return most[moved[most] > 0]


def _solve_within(data: LogisticData, penalty: CostPenalty, tradeoff: float, ridge: float, state: _State) -> _State:
    """Accelerated steps among the features of the working set."""
    own = penalty.among(state.features, n_free=1)
    held = np.append(np.full(len(state.features), ridge), 0.0)[:, None]  # the intercept is not held back
    bound = data.curvature * state.products + np.diag(held[:, 0])
    longest = 1 / float(np.linalg.eigvalsh(bound)[-1])
    at = ahead = state.stacked
    pace = 1.0
    for _ in range(MOST_STEPS):
        gradient = state.columns.T @ data.surplus(state.columns @ ahead) + held * ahead
        after = _least_squares_step(ahead, gradient, bound, longest, own, tradeoff)
        is_close = np.abs(after - ahead).max() <= PRECISION
        if np.vdot(ahead - after, after - at) > 0:  # it went too far: without momentum again
            pace = 1.0
        next_pace = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        ahead = after + (pace - 1) / next_pace * (after - at)
        at, pace = after, next_pace
        if is_close:
            break
    return state.moved_to(at)


def _least_squares_step(
    start: Floats, gradient: Floats, bound: Floats, longest: float, penalty: CostPenalty, tradeoff: float
) -> Floats:
    """argmin over B of <gradient, B - start> + (B - start)' bound (B - start) / 2 + tradeoff * penalty(B)."""
    at = ahead = start
    pace = 1.0
    for _ in range(MOST_INNER_STEPS):
        slope = gradient + bound @ (ahead - start)
        after = penalty.shrink(ahead - longest * slope, longest * tradeoff)
        # As exact as the step is long: the next step makes up for the rest.
        is_close = np.abs(after - ahead).max() <= max(PRECISION / 100, INNER_PRECISION * np.abs(after - start).max())
        if np.vdot(ahead - after, after - at) > 0:
            pace = 1.0
        next_pace = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        ahead = after + (pace - 1) / next_pace * (after - at)
        at, pace = after, next_pace
        if is_close:
            break
    return at
