"""Block coordinate descent for trees of classifiers under a mixed norm (CSTC), along a path of trade-offs.

A sweep goes through the nodes from the leaves to the root, so that every node sees the trees below as they are now. All
rows count at every node, by the chance that they come there. Features whose coefficients have vanished leave the
working set, and are let in again if the objective would fall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.linear_trees.mixed_norm import MixedNorm, Shape, SoftTree
from frugalforest.linear_trees.mixed_norm_blocks import Below, Block, Classifier, improve, seen_from
from frugalforest.linear_trees.node import halving_threshold, principal_direction
from frugalforest.linear_trees.penalty import CostPenalty
from frugalforest.linear_trees.standardising import Floats, Mask, Positions, Standard, blocks
from frugalforest.linear_trees.tree import along

SMOOTHING = 3e-4  # of norms, in units of coefficients of standardised columns and targets of -1 and 1
MOST_ENTRIES = 5  # times that features are let into the working set again


@dataclass(frozen=True, eq=False)
class MixedNormData:
    """Rows to learn from."""

    matrix: NDArray[Any]  # (n, m)
    standard: Standard
    targets: Floats  # (n, k)
    shares: Floats  # (n,): weights that add up to 1
    prices: CostPenalty


@dataclass(frozen=True)
class Descent:
    """How the objective is brought down."""

    depth: int = 5
    rho: float = 1e-4
    steepness: float = 1.0
    tol: float = 1e-3
    max_sweeps: int = 50


@dataclass(frozen=True, eq=False)
class Fitted:
    """A tree at the end of its descent, and the objective after each sweep."""

    tree: SoftTree
    norm: MixedNorm
    objectives: Floats
    converged: bool


def solve_path(data: MixedNormData, tradeoffs: Sequence[float], descent: Descent) -> list[Fitted]:
    """One tree for each trade-off, in the order given; solved from the smallest up, each from the one before."""
    found: dict[float, Fitted] = {}
    state: _Descending | None = None
    for tradeoff in sorted(set(tradeoffs)):
        state = _Descending.start(data, tradeoff, descent) if state is None else state.at(tradeoff)
        found[tradeoff] = state.finish()
    return [found[tradeoff] for tradeoff in tradeoffs]


def largest_tradeoff(data: MixedNormData, depth: int) -> float:
    """A trade-off at which nothing that costs something is used: root of depth * gradient / price at the root.

    With all nodes alike, the D coefficients of a path share one kink, and each has the gradient of the root.
    """
    centred = data.targets - data.shares @ data.targets
    gradient = 2 * np.sqrt(np.square(_products(data, centred * data.shares[:, None])).sum(axis=1))
    price = data.prices.own + data.prices.shared @ data.prices.membership
    priced = (price > 0) & (gradient > 0)
    return float(np.sqrt(depth) * (gradient[priced] / price[priced]).max()) if priced.any() else 1.0


def _products(data: MixedNormData, weighted: Floats) -> Floats:
    """Standardised columns times some (n, k), (m, k)."""
    total = np.zeros((data.matrix.shape[1], weighted.shape[1]))
    for block in blocks(*data.matrix.shape):
        total += data.standard.read(data.matrix, block).T @ weighted[block]
    total[~data.standard.varies_mask] = 0.0
    return total


class _Descending:
    """A tree on its way down."""

    def __init__(self, data: MixedNormData, tradeoff: float, descent: Descent, tree: SoftTree) -> None:
        self.data, self.tradeoff, self.descent = data, tradeoff, descent
        self.shape = Shape(descent.depth)
        self._enter(tree)

    @classmethod
    def start(cls, data: MixedNormData, tradeoff: float, descent: Descent) -> _Descending:
        """Every node is fitted to the rows above it, and sends half of their weight each way, from the root down."""
        features = np.flatnonzero(data.standard.varies_mask)
        tree = SoftTree.empty(Shape(descent.depth), features, data.shares @ data.targets)
        state = cls(data, tradeoff, descent, tree)
        for node in range(state.shape.n_nodes):
            state._grow(node)
        state._leave(state._objective(state._upwards(improving=False)))
        return state

    def at(self, tradeoff: float) -> _Descending:
        """From here on with another trade-off."""
        return _Descending(self.data, tradeoff, self.descent, self.tree)

    # ---- the working set

    def _enter(self, tree: SoftTree) -> None:
        self.tree = tree
        self.columns = self.data.standard.read(self.data.matrix, slice(None), tree.features)
        prices = self.data.prices.among(tree.features)
        self.norm = MixedNorm(prices, self.tradeoff, self.descent.rho, SMOOTHING)
        self.chances = self._chances()

    def _chances(self) -> Floats:
        """(n_nodes, n): that a row comes to a node."""
        chances = np.ones((self.shape.n_nodes, len(self.columns)))
        for node in range(self.shape.n_inner):
            self._send(chances, node)
        return chances

    def _send(self, chances: Floats, node: int) -> None:
        classifier = self._classifier(node)
        up = classifier.up(classifier.scores(self.columns), self.descent.steepness)
        chances[2 * node + 1], chances[2 * node + 2] = chances[node] * (1 - up), chances[node] * up

    def _classifier(self, node: int) -> Classifier:
        if node >= self.shape.n_inner:
            k = self.tree.intercept.shape[1]
            return Classifier(self.tree.slopes[node], self.tree.intercept[node], 0.0, np.eye(k)[0])
        return Classifier(
            self.tree.slopes[node],
            self.tree.intercept[node],
            float(self.tree.threshold[node]),
            self.tree.direction[node],
        )

    def _put(self, node: int, classifier: Classifier) -> None:
        self.tree.slopes[node], self.tree.intercept[node] = classifier.slopes, classifier.intercept
        if node < self.shape.n_inner:
            self.tree.threshold[node], self.tree.direction[node] = classifier.threshold, classifier.direction

    def _block(self, node: int, children: tuple[Below, Below] | None) -> Block:
        squares = self.tree.squares
        squares[node] = 0.0
        paths = self.shape.path_mask[self.shape.leaves_below(node)]
        return Block(
            self.columns,
            self.data.targets,
            self.data.shares * self.chances[node],
            self.norm,
            paths.astype(np.float64) @ squares,
            self.descent.steepness,
            children,
        )

    # ---- growing

    def _grow(self, node: int) -> None:
        block = self._block(node, None)
        block = replace(block, others=block.others[:1])  # nothing below differs yet: as if it were a leaf
        classifier = replace(self._classifier(node), slopes=np.ones_like(self.tree.slopes[node]))
        classifier = improve(block, classifier)
        self._put(node, classifier)
        if node < self.shape.n_inner:
            self._put(node, _halving(classifier, self.columns, block.weights))
            self._send(self.chances, node)

    # ---- descending

    def finish(self) -> Fitted:
        """Sweep until the objective hardly falls, and no feature outside the working set would lower it."""
        objectives: list[float] = []
        converged = False
        for entry in range(MOST_ENTRIES):
            converged = self._descend(objectives, may_leave=entry == 0)
            entering = self._entering()
            if len(entering) == 0 or not converged:
                break
            self._enter(self.tree.among(np.sort(np.append(self.tree.features, entering))))
        return Fitted(self.tree.copy(), self.norm, np.array(objectives), converged)

    def _descend(self, objectives: list[float], *, may_leave: bool) -> bool:
        """Sweep until the objective hardly falls. What has come in again does not leave, or it would go on for ever."""
        before = np.inf
        while len(objectives) < self.descent.max_sweeps:
            value = self._sweep()
            objectives.append(value)
            if before - value <= self.descent.tol * value:
                return True
            before = value
            if may_leave:
                self._leave(value)
        return False

    def _sweep(self) -> float:
        """Improve every node once; the objective afterwards."""
        root = self._upwards(improving=True)
        self.chances = self._chances()
        return self._objective(root)

    def _upwards(self, *, improving: bool) -> Below:
        """What awaits the rows at the root, seen from the leaves up."""
        below: dict[int, Below] = {}
        for node in self.shape.upwards():
            is_leaf = node >= self.shape.n_inner
            block = self._block(node, None if is_leaf else (below.pop(2 * node + 1), below.pop(2 * node + 2)))
            if improving:
                self._put(node, improve(block, self._classifier(node)))
            below[node] = seen_from(block, self._classifier(node))
        return below[0]

    def _objective(self, root: Below) -> float:
        squares = self.tree.squares
        tolls = self.norm.tolls(squares, self.shape.path_mask)
        return float(self.data.shares @ root.loss + tolls @ (root.leaves @ self.data.shares) + self.norm.l1(squares))

    def _leave(self, value: float) -> None:
        """Drop the features whose coefficients are all below the smoothing, unless the objective would rise for it.

        It can where sigmoids are steep: a little more or less in a score then sends rows elsewhere.
        """
        stays = self.tree.squares.max(axis=0) > SMOOTHING**2
        if stays.sum() > 0.9 * len(stays):  # reading columns again has to pay
            return
        kept = self.tree
        self._enter(kept.among(kept.features[stays]))
        if self._objective(self._upwards(improving=False)) > value * (1 + self.descent.tol / 10):
            self._enter(kept)

    def _entering(self) -> Positions:
        """Features outside the working set for which 0 is no minimum.

        From 0, the bound gives node k the coefficient smoothing * x_k, x_k = gradient / (tradeoff * price * p_k + rho);
        it grows from step to step where the length of x along a path is above 1.
        """
        outside = self.data.standard.varies_mask.copy()
        outside[self.tree.features] = False
        if not outside.any():
            return np.zeros(0, dtype=np.intp)
        pulls = self._pulls(outside)
        paths = self.shape.path_mask.astype(np.float64)
        return np.flatnonzero(outside & ((paths @ pulls**2).max(axis=0) > 1.0))

    def _pulls(self, outside_mask: Mask) -> Floats:
        """x of every node and feature, (n_nodes, m), by the gradient of the squared loss."""
        prices = self.data.prices
        price = prices.own + prices.shared @ prices.membership
        weights = self.data.shares * self.chances
        scores = [self._classifier(node).scores(self.columns) for node in range(self.shape.n_nodes)]
        residuals = [(self.data.targets - s) * w[:, None] for s, w in zip(scores, weights, strict=True)]
        products = _products(self.data, np.hstack(residuals)).reshape(len(price), self.shape.n_nodes, -1)
        gradient = 2 * np.sqrt(np.square(products).sum(axis=2)).T
        hold = self.tradeoff * weights.sum(axis=1)[:, None] * price + self.descent.rho
        pulls = np.divide(gradient, hold, out=np.full_like(gradient, np.inf), where=hold > 0)
        return np.where(outside_mask, pulls, 0.0)


def _halving(node: Classifier, columns: Floats, weights: Floats) -> Classifier:
    """With the threshold that halves the weight, along the direction in which scores vary most."""
    scores = node.scores(columns)
    direction = principal_direction(scores, weights) if weights.sum() > 0 else node.direction
    values = along(scores, direction)
    threshold = halving_threshold(values, weights, least=1)
    return replace(node, direction=direction, threshold=float(values.mean()) if threshold is None else threshold)
