"""From the scores of a node to class probabilities: a logistic curve fitted to the training rows that come there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import inv_boxcox

from frugalforest.linear_trees.standardising import Floats, Positions
from frugalforest.linear_trees.tree import LinearTree

MOST_STEPS = 50
LEAST_DECREASE = 1e-9  # of the mean log-loss, where Newton's method stops
FIXED = 1e-9  # a little weight on zero parameters: a shift of all offsets changes nothing and stays 0


@dataclass(frozen=True, eq=False)
class NodeLink:
    """Probabilities of a row with scores s at a node: softmax(slope * class_scores(s) + offset)."""

    slope: Floats  # (n_nodes,)
    offset: Floats  # (n_nodes, n_classes)

    @classmethod
    def learn(cls, tree: LinearTree, matrix: NDArray[Any], labels: NDArray[Any], weights: Floats, k: int) -> NodeLink:
        """Fit every node to the rows that come to it: matrix (n, m), labels (n,) below k, weights (n,)."""
        slope, offset = np.ones(tree.n_nodes), np.zeros((tree.n_nodes, k))
        for visit in tree.visits(matrix):
            scores, here = class_scores(visit.scores), visit.rows
            slope[visit.node], offset[visit.node] = fit_curve(scores, labels[here], weights[here])
        return cls(slope, offset)

    def probabilities(self, nodes: Positions, scores: Floats) -> Floats:
        """Class probabilities (n, n_classes) of rows that have these scores (n, k) at these nodes (n,)."""
        return softmax(self.slope[nodes, None] * class_scores(scores) + self.offset[nodes])


def class_scores(scores: Floats) -> Floats:
    """One score for each class: a single one, positive for the second class, becomes (-s / 2, s / 2)."""
    return np.hstack([-scores / 2, scores / 2]) if scores.shape[1] == 1 else scores


def softmax(margins: Floats) -> Floats:
    """exp(m) / sum of exp(m), (n, n_classes); every row by itself, whatever the number of rows."""
    each = inv_boxcox(margins - margins.max(axis=1, keepdims=True), 0.0)  # exp, one number at a time
    return each / np.cumsum(each, axis=1)[:, -1:]


def fit_curve(scores: Floats, labels: NDArray[Any], weights: Floats) -> tuple[float, Floats]:
    """Slope and offsets (n_classes,) of the least weighted log-loss; scores (n, n_classes).

    Targets are drawn in a little as Platt (1999) does, (N_c + 1) / (N_c + n_classes) instead of 1 for a row of a class
    of weight N_c: the curve stays finite where the scores separate the classes, and no class is impossible.
    """
    targets = _drawn_in(labels, weights, scores.shape[1])
    share = weights / weights.sum()
    parameters = np.zeros(1 + scores.shape[1])
    loss = _loss(parameters, scores, targets, share)
    for _ in range(MOST_STEPS):
        before = loss
        parameters, loss = _descend(parameters, loss, scores, targets, share)
        if before - loss < LEAST_DECREASE:
            break
    return float(parameters[0]), parameters[1:]


def _drawn_in(labels: NDArray[Any], weights: Floats, n_classes: int) -> Floats:
    class_weight = np.bincount(labels, weights, minlength=n_classes)[labels]
    rest = 1 / (class_weight + n_classes)
    targets: Floats = np.repeat(rest[:, None], n_classes, axis=1)
    targets[np.arange(len(labels)), labels] += class_weight * rest
    return targets


def _margins(parameters: Floats, scores: Floats) -> Floats:
    return parameters[0] * scores + parameters[1:]


def _loss(parameters: Floats, scores: Floats, targets: Floats, share: Floats) -> float:
    margins = _margins(parameters, scores)
    log_total = np.logaddexp.reduce(margins, axis=1)
    penalty = FIXED / 2 * float(parameters @ parameters)
    return float(share @ (log_total - np.einsum("ij,ij->i", targets, margins))) + penalty


def _descend(parameters: Floats, loss: float, scores: Floats, targets: Floats, share: Floats) -> tuple[Floats, float]:
    """A Newton step, halved until it lowers the loss; the parameters as they were if none does."""
    step = _newton_step(parameters, scores, targets, share)
    for _ in range(30):
        tried = parameters - step
        lower = _loss(tried, scores, targets, share)
        if lower < loss:
            return tried, lower
        step /= 2
    return parameters, loss


def _newton_step(parameters: Floats, scores: Floats, targets: Floats, share: Floats) -> Floats:
    chance = softmax(_margins(parameters, scores))
    weighted = share[:, None] * chance
    from_mean = scores - np.einsum("ij,ij->i", chance, scores)[:, None]
    surplus = share[:, None] * (chance - targets)
    gradient = np.append((surplus * scores).sum(), surplus.sum(axis=0)) + FIXED * parameters
    curvature = np.empty((len(parameters), len(parameters)))
    curvature[0, 0] = (weighted * scores * from_mean).sum()
    curvature[0, 1:] = curvature[1:, 0] = (weighted * from_mean).sum(axis=0)
    curvature[1:, 1:] = np.diag(weighted.sum(axis=0)) - weighted.T @ chance
    curvature.flat[:: len(parameters) + 1] += FIXED
    return np.asarray(np.linalg.solve(curvature, gradient), dtype=np.float64)
