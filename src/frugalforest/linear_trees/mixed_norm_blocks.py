"""One block of the descent: the classifier and the threshold of one node, all others held fixed.

The objective, as a function of the scores f of node k on the rows, is

    sum over rows of w p_k [ (y - f)^2 + (1 - u) V_down + u V_up ] + ...,      u = sigmoid(steepness (f - threshold))

with V the expected loss and toll in the trees below. The sigmoid is bounded by a parabola (its second derivative is at
most 1 / (6 sqrt(3))), the norms by theirs: what is left is a weighted ridge regression, solved exactly. Coefficients
are solved and norms bounded anew a few times before rows are looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from frugalforest.linear_trees.mixed_norm import MixedNorm
from frugalforest.linear_trees.standardising import Floats
from frugalforest.linear_trees.tree import along

STEEPEST_BEND = 1 / (6 * np.sqrt(3))  # largest second derivative of the sigmoid
BOUNDS_PER_STEP = 10
THRESHOLD_STEPS = 3
HALVINGS = 6
LEAST_WEIGHT = 1e-12  # of the rows of a node, in all; with less it stays as it is
LEAST_HOLD, LARGEST_HOLD = 1e-9, 1e30  # of a coefficient: against dependent columns, and against prices beyond counting


@dataclass(frozen=True, eq=False)
class Below:
    """What awaits the rows in a subtree, apart from what its leaves cost."""

    loss: Floats  # (n,): expected loss of all its nodes
    leaves: Floats  # (n_leaves, n): chances of its leaves


@dataclass(frozen=True, eq=False)
class Block:
    """Everything a node has to know to improve itself. Its children are None at a leaf."""

    columns: Floats  # (n, s)
    targets: Floats  # (n, k)
    weights: (
        Floats  # (n,): of rows, times the chance that they come here; the chances' share of all rows adds up to <= 1
    )
    norm: MixedNorm
    others: Floats  # (n_leaves, s): squared coefficients of the other nodes on the way to each leaf below
    steepness: float
    children: tuple[Below, Below] | None


@dataclass(frozen=True, eq=False)
class Classifier:
    """Scores and threshold of a node."""

    slopes: Floats  # (s, k)
    intercept: Floats  # (k,)
    threshold: float
    direction: Floats  # (k,)

    def scores(self, columns: Floats) -> Floats:
        """(n, k)."""
        return columns @ self.slopes + self.intercept

    def up(self, scores: Floats, steepness: float) -> Floats:
        """Chance that a row goes to the child above the threshold, (n,)."""
        return expit(steepness * (along(scores, self.direction) - self.threshold))

    @property
    def squares(self) -> Floats:
        """(s,)."""
        return np.square(self.slopes).sum(axis=1)


def improve(block: Block, before: Classifier) -> Classifier:
    """A classifier of lower objective: a step in the coefficients, then steps in the threshold."""
    after = _step(block, before)
    return after if block.children is None else _move_threshold(block, after)


def seen_from(block: Block, node: Classifier) -> Below:
    """The subtree of the node, as its parent sees it."""
    scores = node.scores(block.columns)
    loss = np.square(block.targets - scores).sum(axis=1)
    if block.children is None:
        return Below(loss, np.ones((1, len(loss))))
    up = node.up(scores, block.steepness)
    down_below, up_below = block.children
    leaves = np.concatenate([down_below.leaves * (1 - up), up_below.leaves * up])
    return Below(loss + (1 - up) * down_below.loss + up * up_below.loss, leaves)


def objective(block: Block, node: Classifier) -> float:
    """The part of the objective that depends on this node."""
    loss, chances = _expected(block, node, node.scores(block.columns))
    return loss + float(_tolls(block, node) @ chances) + block.norm.l1(node.squares)


def _expected(block: Block, node: Classifier, scores: Floats) -> tuple[float, Floats]:
    """The loss here and below, and the chances of the leaves (n_leaves,), in expectation over the rows."""
    loss = float(block.weights @ np.square(block.targets - scores).sum(axis=1))
    if block.children is None:
        return loss, np.array([block.weights.sum()])
    down_below, up_below = block.children
    going_up = block.weights * node.up(scores, block.steepness)
    going_down = block.weights - going_up
    loss += float(going_down @ down_below.loss + going_up @ up_below.loss)
    return loss, np.concatenate([down_below.leaves @ going_down, up_below.leaves @ going_up])


def _tolls(block: Block, node: Classifier) -> Floats:
    """(n_leaves,): what the leaves below cost."""
    n_leaves = len(block.others)
    return block.norm.tolls(block.others + node.squares, np.eye(n_leaves, dtype=bool))


def _advantage(block: Block, node: Classifier) -> Floats:
    """(n,): how much worse it is for a row to go up than to go down."""
    assert block.children is not None
    down_below, up_below = block.children
    down_tolls, up_tolls = np.split(_tolls(block, node), 2)
    return up_below.loss - down_below.loss + up_tolls @ up_below.leaves - down_tolls @ down_below.leaves


def _step(block: Block, before: Classifier) -> Classifier:
    """The minimum of the bound, or a point on the way there: tolls depend on the step, which the bound leaves out."""
    wanted = _ridge_step(block, before)
    value = objective(block, before)
    length = 1.0
    for _ in range(HALVINGS):
        tried = Classifier(
            before.slopes + length * (wanted[0] - before.slopes),
            before.intercept + length * (wanted[1] - before.intercept),
            before.threshold,
            before.direction,
        )
        if objective(block, tried) <= value:
            return tried
        length /= 2
    return before


def _ridge_step(block: Block, before: Classifier) -> tuple[Floats, Floats]:
    scores = before.scores(block.columns)
    downhill, bend = 2 * (block.targets - scores), np.full(len(scores), 2.0)
    if block.children is not None:
        worse = _advantage(block, before)
        up = before.up(scores, block.steepness)
        pull = block.steepness * worse * up * (1 - up)
        downhill = downhill - pull[:, None] * before.direction
        bend = bend + block.steepness**2 * STEEPEST_BEND * np.abs(worse)
    _, chances = _expected(block, before, scores)
    return _ridge(block, before, scores + downhill / bend[:, None], block.weights * bend, chances)


def _ridge(
    block: Block, before: Classifier, targets: Floats, weights: Floats, chances: Floats
) -> tuple[Floats, Floats]:
    """argmin of sum of weights |targets - f|^2 / 2 + norms, by bounding the norms and solving in turns.

    chances: of the leaves below, which weigh the norms.
    """
    total = weights.sum()
    if total <= LEAST_WEIGHT:
        return before.slopes, before.intercept
    mean, target_mean = weights @ block.columns / total, weights @ targets / total
    root = np.sqrt(weights)[:, None]
    weighted = block.columns * root
    products = weighted.T @ weighted - total * np.outer(mean, mean)  # of a matrix with itself: half the work for BLAS
    with_targets = weighted.T @ ((targets - target_mean) * root)
    slopes = before.slopes
    for _ in range(BOUNDS_PER_STEP):
        hold = block.norm.bound(np.square(slopes).sum(axis=1), block.others, chances)
        system = products.copy()
        system.flat[:: len(system) + 1] += np.clip(hold, LEAST_HOLD * total, LARGEST_HOLD)
        slopes = cho_solve(cho_factor(system, overwrite_a=True, check_finite=False), with_targets, check_finite=False)
    return slopes, target_mean - mean @ slopes


def _move_threshold(block: Block, node: Classifier) -> Classifier:
    """Steps to the minimum of the parabola that bounds the objective as a function of the threshold."""
    values = along(node.scores(block.columns), node.direction)
    worse = _advantage(block, node)
    bend = block.steepness * STEEPEST_BEND * float(block.weights @ np.abs(worse))
    threshold = node.threshold
    for _ in range(THRESHOLD_STEPS if bend > 0 else 0):
        up = expit(block.steepness * (values - threshold))
        threshold += float(block.weights @ (worse * up * (1 - up))) / bend
    return Classifier(node.slopes, node.intercept, threshold, node.direction)
