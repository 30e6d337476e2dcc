"""From soft paths to a tree that sends every row one way: cut, fit anew, prune.

Small coefficients are cut off first. Rows then go one way, and every node is fitted by least squares, as if it were a
leaf, to the rows that come to it, on all that is paid on its way. From the leaves up, a split is taken back where it
does not pay: where the leaves below lose as much on new rows, what they pay for more features included, as the node
would alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from frugalforest.linear_trees.mixed_norm import Shape, SoftTree
from frugalforest.linear_trees.mixed_norm_solve import Fitted, MixedNormData
from frugalforest.linear_trees.standardising import Floats, Mask, Positions
from frugalforest.linear_trees.tree import LinearTree, Node, along, linear_scores

SMALLEST = 2e-3  # a shorter row of coefficients is 0; smoothed norms leave no exact zeros


@dataclass(frozen=True)
class Finish:
    """How a soft tree becomes a hard one."""

    min_samples_leaf: int = 1
    refit: bool = True  # least squares at leaves; otherwise they keep their soft coefficients
    prune: bool = True
    ridge: float = 1e-4  # of these least squares, in units of the variance of a column


class LeastSquares(NamedTuple):
    """A fit to some rows, and what it would lose on as many new ones."""

    coefficients: Floats  # (n_used, k)
    intercept: Floats  # (k,)
    expected_loss: float  # summed over the weight of the rows


def finished(data: MixedNormData, fitted: Fitted, finish: Finish) -> LinearTree:
    """The tree that predicts."""
    maker = _Maker(data, replace(fitted, tree=_cut(fitted.tree)), finish)
    everything = np.arange(len(data.targets))
    root, _ = maker.node(0, everything, np.zeros(maker.shape.n_nodes, dtype=bool))
    return LinearTree.from_nodes(root, data.standard)


def _cut(tree: SoftTree) -> SoftTree:
    return replace(tree, slopes=np.where(tree.squares[:, :, None] < SMALLEST**2, 0.0, tree.slopes))


def least_squares(columns: Floats, targets: Floats, weights: Floats, ridge: float) -> LeastSquares:
    """Weighted ridge regression with an intercept: columns (n, s), targets (n, k), weights (n,).

    The loss on new rows is what is left, times (n + p) / (n - p) for p parameters and n rows (Akaike's final
    prediction error); infinite where there are no more rows than parameters.
    """
    total, n_parameters = weights.sum(), columns.shape[1] + 1
    mean, target_mean = weights @ columns / total, weights @ targets / total
    centred, residuals = columns - mean, targets - target_mean
    weighted = centred * weights[:, None]
    products = weighted.T @ centred
    products.flat[:: len(products) + 1] += ridge * total
    coefficients = (
        np.linalg.solve(products, weighted.T @ residuals) if columns.shape[1] else np.zeros((0, targets.shape[1]))
    )
    residuals = residuals - centred @ coefficients
    left = float(weights @ np.square(residuals).sum(axis=1))
    n_rows = len(weights)
    worsening = (n_rows + n_parameters) / (n_rows - n_parameters) if n_rows > n_parameters else np.inf
    return LeastSquares(coefficients, target_mean - mean @ coefficients, left * worsening if left > 0 else 0.0)


class _Maker:
    """Makes nodes, from the root down."""

    def __init__(self, data: MixedNormData, fitted: Fitted, finish: Finish) -> None:
        self.data, self.tree, self.norm, self.finish = data, fitted.tree, fitted.norm, finish
        self.shape = Shape((len(self.tree.slopes) + 1).bit_length() - 1)

    def node(self, node: int, rows: Positions, above: Mask) -> tuple[Node, float]:
        """The node with all below it, and its value: expected loss and what new features cost, on the rows it gets.

        above: (n_nodes,), the nodes on the way here.
        """
        path = above.copy()
        path[node] = True
        leaf, value = self._leaf(node, rows, path, above)
        up = None if node >= self.shape.n_inner else self._up(node, rows)
        if up is None:
            return leaf, value
        down_side, down_value = self.node(2 * node + 1, rows[~up], path)
        up_side, up_value = self.node(2 * node + 2, rows[up], path)
        split_value = down_value + up_value + self._new_toll(rows, path, above)
        if self.finish.prune and not split_value < value:
            return leaf, value
        trained = self._as_trained(node, rows)
        whole = replace(
            trained,
            direction=self.tree.direction[node],
            threshold=float(self.tree.threshold[node]),
            left=down_side,
            right=up_side,
        )
        return whole, split_value

    def _up(self, node: int, rows: Positions) -> Mask | None:
        """Which rows go up; None if one side would get too few."""
        values = along(self._scores(node, rows), self.tree.direction[node])
        up: Mask = values > self.tree.threshold[node]
        return up if min(up.sum(), len(rows) - up.sum()) >= self.finish.min_samples_leaf else None

    def _scores(self, node: int, rows: Positions) -> Floats:
        trained = self._as_trained(node, rows)
        parts = trained.features, trained.coefficients, trained.intercept
        return linear_scores(self.data.standard, self.data.matrix, rows, *parts)

    def _as_trained(self, node: int, rows: Positions) -> Node:
        used = np.flatnonzero(self.tree.squares[node])
        return Node(
            features=self.tree.features[used],
            coefficients=self.tree.slopes[node, used],
            intercept=self.tree.intercept[node],
            direction=np.eye(self.tree.intercept.shape[1])[0],
            share=float(self.data.shares[rows].sum()),
            r_squared=np.nan,
            smallest_eigenvalue=np.nan,
        )

    def _leaf(self, node: int, rows: Positions, path: Mask, above: Mask) -> tuple[Node, float]:
        trained = self._as_trained(node, rows)
        paid = self.tree.features[self.tree.squares[path].any(axis=0)]
        columns = self.data.standard.read(self.data.matrix, rows, paid)
        fit = least_squares(columns, self.data.targets[rows], self.data.shares[rows], self.finish.ridge)
        value = fit.expected_loss + self._new_toll(rows, path, above)
        if not self.finish.refit:
            return trained, value
        return replace(trained, features=paid, coefficients=fit.coefficients, intercept=fit.intercept), value

    def _new_toll(self, rows: Positions, path: Mask, above: Mask) -> float:
        """The toll of what this path reads and the one above does not, times the weight of the rows."""
        squares = self.tree.squares
        known = squares[above].any(axis=0)
        groups = self.norm.prices.membership
        opened = groups[:, known].any(axis=1)
        fresh = np.where(known, 0.0, squares)
        prices = replace(self.norm.prices, shared=np.where(opened, 0.0, self.norm.prices.shared))
        toll = replace(self.norm, prices=prices).tolls(fresh, path[None, :])[0]
        return float(self.data.shares[rows].sum() * toll)
