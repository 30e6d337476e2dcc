"""Growing submodular trees of classifiers (ASTC), for several node budgets at once.

Kusner et al. 2014, Algorithm 1. A node is fitted to the rows that come to it; features that the nodes above have paid
are taken at once, and new ones are bought up to the node's budget. Trees for several budgets are grown together: as
long as two budgets choose the same features, they share rows, moments and nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from frugalforest.costs import FeatureCosts
from frugalforest.linear_trees.moments import moments_of
from frugalforest.linear_trees.node import Choice, Fitting, halving_threshold, principal_direction
from frugalforest.linear_trees.standardising import Floats, Mask, Positions, Standard
from frugalforest.linear_trees.tree import LinearTree, Node, along


@dataclass(frozen=True)
class Growth:
    """How trees are grown."""

    depth: int = 5  # levels of nodes; 1 is a single classifier
    soft: bool = False  # weigh rows by sigmoids along the path, instead of sending each one way
    ridge: float = 0.0
    min_samples_leaf: int = 1  # rows on each side of a threshold


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Rows to learn from."""

    matrix: NDArray[Any]  # (n_rows, n_features), NaN where missing
    targets: Floats  # (n_rows, k)
    weights: Floats  # (n_rows,), > 0
    standard: Standard
    costs: FeatureCosts


@dataclass(frozen=True, eq=False)
class _Place:
    """A node before it is fitted."""

    rows: Positions  # that come here when each goes one way
    weights: Floats  # (n_rows,): with soft trees also by the sigmoids above
    inherited: Positions  # features read by the nodes above, in the order they were bought
    paid_mask: Mask
    level: int


def grow_trees(data: TrainingSet, budgets: Sequence[float], growth: Growth) -> list[LinearTree]:
    """One tree for each node budget."""
    n_rows, n_features = data.matrix.shape
    nothing = np.zeros(n_features, dtype=bool)
    root = _Place(np.arange(n_rows), data.weights, np.zeros(0, dtype=np.intp), nothing, level=1)
    nodes = _grow(data, root, tuple(budgets), growth)
    return [LinearTree.from_nodes(node, data.standard) for node in nodes]


def _grow(data: TrainingSet, place: _Place, budgets: tuple[float, ...], growth: Growth) -> list[Node]:
    """The node at a place, for each budget."""
    fitting = _fitting(data, place, growth)
    choices = [fitting.choose(data.costs, budget, place.paid_mask, place.inherited, growth.ridge) for budget in budgets]
    found: list[Node | None] = [None] * len(budgets)
    for choice, members in _distinct(choices):
        nodes = _finish(data, place, fitting, choice, tuple(budgets[i] for i in members), growth)
        for i, node in zip(members, nodes, strict=True):
            found[i] = node
    return [node for node in found if node is not None]


def _fitting(data: TrainingSet, place: _Place, growth: Growth) -> Fitting:
    rows = np.arange(len(data.matrix)) if growth.soft else place.rows
    moments = moments_of(data.standard, data.matrix, rows, data.targets, place.weights)
    moments = replace(moments, usable_mask=moments.usable_mask & data.standard.varies_mask)
    return Fitting(data.standard, data.matrix, rows, data.targets, place.weights, moments)


def _distinct(choices: Sequence[Choice]) -> list[tuple[Choice, list[int]]]:
    """Different choices, each with the positions of the budgets that make it."""
    positions: dict[bytes, list[int]] = {}
    for i, choice in enumerate(choices):
        positions.setdefault(choice.features.tobytes(), []).append(i)
    return [(choices[members[0]], members) for members in positions.values()]


def _finish(
    data: TrainingSet, place: _Place, fitting: Fitting, choice: Choice, budgets: tuple[float, ...], growth: Growth
) -> list[Node]:
    """The node with this choice, and what is below it, for each budget."""
    order = np.argsort(choice.features)
    scores = fitting.scores(choice, place.rows)
    direction = principal_direction(scores, data.weights[place.rows])
    node = Node(
        features=choice.features[order],
        coefficients=choice.coefficients[order],
        intercept=choice.intercept,
        direction=direction,
        share=float(data.weights[place.rows].sum() / data.weights.sum()),
        r_squared=choice.r_squared,
        smallest_eigenvalue=choice.smallest_eigenvalue,
    )
    values = along(scores, direction)
    threshold = None
    if place.level < growth.depth:
        threshold = halving_threshold(values, place.weights[place.rows], growth.min_samples_leaf)
    if threshold is None:
        return [node] * len(budgets)
    sides = [
        _grow(data, below, budgets, growth)
        for below in _children(place, fitting, choice, direction, threshold, values, growth)
    ]
    return [replace(node, threshold=threshold, left=left, right=right) for left, right in zip(*sides, strict=True)]


def _children(
    place: _Place,
    fitting: Fitting,
    choice: Choice,
    direction: Floats,
    threshold: float,
    values: Floats,
    growth: Growth,
) -> tuple[_Place, _Place]:
    """Where the rows go: those with values up to the threshold to the left."""
    shares: tuple[Any, Any] = (1.0, 1.0)
    if growth.soft:
        everywhere = along(fitting.scores(choice, fitting.rows), direction)
        shares = expit(threshold - everywhere), expit(everywhere - threshold)
    is_left = values <= threshold
    known = np.concatenate([place.inherited, choice.features[~np.isin(choice.features, place.inherited)]])
    left, right = (
        _Place(place.rows[side], place.weights * share, known, choice.paid_mask, place.level + 1)
        for side, share in ((is_left, shares[0]), (~is_left, shares[1]))
    )
    return left, right
