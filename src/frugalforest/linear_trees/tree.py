"""LinearTree: a tree of linear classifiers, as flat arrays; the fitted form of every method that grows one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalforest.linear_trees.standardising import Floats, Mask, Positions, Standard, blocks

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Node:
    """One linear classifier, and the two below it; `features` and `coefficients` are for standardised columns."""

    features: Positions  # (n_used,), rising
    coefficients: Floats  # (n_used, k)
    intercept: Floats  # (k,)
    direction: Floats  # (k,): scores @ direction is compared with the threshold
    share: float  # of the weight of the training rows that comes here
    r_squared: float  # on the rows that the node was fitted to
    smallest_eigenvalue: float  # of the correlations of its features
    threshold: float = np.nan
    left: Node | None = None  # where scores @ direction <= threshold
    right: Node | None = None


class Visit(NamedTuple):
    """The rows that come to a node, and what its classifier says of them."""

    node: int
    rows: Positions  # (n,): positions in the matrix
    scores: Floats  # (n, k)


@dataclass(frozen=True, eq=False)
class LinearTree:
    """Nodes in preorder; entry e of `feature` and `coefficient` belongs to the node whose offsets enclose e.

    scores = intercept + sum over its features of coefficient * (x - centre) / spread, a missing x read as its centre.
    Sums are formed feature by feature, in the same order for one row as for many: scores do not depend on the
    company a row is in, to the last digit.
    """

    centre: Floats  # (n_features,)
    spread: Floats  # (n_features,), > 0
    left: Numbers  # (n_nodes,): -1 at leaves
    right: Numbers  # (n_nodes,): -1 at leaves
    threshold: Floats  # (n_nodes,): NaN at leaves
    direction: Floats  # (n_nodes, k)
    intercept: Floats  # (n_nodes, k)
    feature_offsets: Numbers  # (n_nodes + 1,)
    feature: Numbers  # (n_entries,): rising within a node
    coefficient: Floats  # (n_entries, k)
    share: Floats  # (n_nodes,): of the weight of the training rows
    r_squared: Floats  # (n_nodes,)
    smallest_eigenvalue: Floats  # (n_nodes,)

    @classmethod
    def from_nodes(cls, root: Node, standard: Standard) -> LinearTree:
        """Flat arrays of a node and all below it."""
        nodes = list(_preorder(root))
        position = {id(node): i for i, node in enumerate(nodes)}
        children = [(-1 if n.left is None else position[id(n.left)]) for n in nodes]
        others = [(-1 if n.right is None else position[id(n.right)]) for n in nodes]
        return cls(
            centre=standard.centre,
            spread=standard.spread,
            left=np.array(children, dtype=np.int64),
            right=np.array(others, dtype=np.int64),
            threshold=np.array([n.threshold for n in nodes]),
            direction=np.array([n.direction for n in nodes]),
            intercept=np.array([n.intercept for n in nodes]),
            feature_offsets=np.cumsum([0, *(len(n.features) for n in nodes)], dtype=np.int64),
            feature=np.concatenate([n.features for n in nodes]).astype(np.int64),
            coefficient=np.concatenate([n.coefficients for n in nodes]),
            share=np.array([n.share for n in nodes]),
            r_squared=np.array([n.r_squared for n in nodes]),
            smallest_eigenvalue=np.array([n.smallest_eigenvalue for n in nodes]),
        )

    @classmethod
    def without_features(cls, centre: Floats, spread: Floats, scores: Floats) -> LinearTree:
        """A single leaf that gives every row the same scores, (k,)."""
        nothing = np.zeros((0, len(scores)))
        node = Node(np.zeros(0, dtype=np.intp), nothing, scores, np.eye(len(scores))[0], 1.0, 0.0, 1.0)
        return cls.from_nodes(node, Standard(centre, spread, np.ones(len(centre), dtype=bool)))

    def rescaled(self, scale: float, shift: float) -> LinearTree:
        """The tree whose scores are `scale` > 0 times these, plus `shift`; rows go the same ways. For one output."""
        return replace(
            self,
            coefficient=self.coefficient * scale,
            intercept=self.intercept * scale + shift,
            threshold=self.threshold * scale + shift,
        )

    # ---- the tree itself

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.left)

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return len(self.centre)

    @property
    def n_outputs(self) -> int:
        """Number of scores of a node: 1, or one for each of three and more classes."""
        return self.intercept.shape[1]

    def is_leaf(self, node: int) -> bool:
        """Whether a row ends here."""
        return bool(self.left[node] < 0)

    def features_of(self, node: int) -> Numbers:
        """What the classifier of a node reads."""
        return self.feature[self.feature_offsets[node] : self.feature_offsets[node + 1]]

    @cached_property
    def path_mask(self) -> Mask:
        """(n_nodes, n_features): what has been read of a row that was scored by this node."""
        mask = np.zeros((self.n_nodes, self.n_features), dtype=bool)
        for node in range(self.n_nodes):  # parents come first
            mask[node, self.features_of(node)] = True
            if not self.is_leaf(node):
                mask[[self.left[node], self.right[node]]] = mask[node]
        return mask

    # ---- reading rows

    def node_scores(self, node: int, matrix: NDArray[Any], rows: Positions) -> Floats:
        """What the classifier of a node says of some rows, (n_rows, k)."""
        features = self.features_of(node)
        entries = slice(self.feature_offsets[node], self.feature_offsets[node + 1])
        standard = Standard(self.centre, self.spread, np.ones(self.n_features, dtype=bool))
        return linear_scores(standard, matrix, rows, features, self.coefficient[entries], self.intercept[node])

    def goes_left(self, node: int, scores: Floats) -> Mask:
        """Which rows with these scores (n, k) go to the left child."""
        return along(scores, self.direction[node]) <= self.threshold[node]

    def visits(self, matrix: NDArray[Any]) -> Iterator[Visit]:
        """Every node that rows come to, parents first."""
        waiting = [(0, np.arange(len(matrix)))]
        while waiting:
            node, rows = waiting.pop()
            scores = self.node_scores(node, matrix, rows)
            yield Visit(node, rows, scores)
            if not self.is_leaf(node):
                left = self.goes_left(node, scores)
                sides = ((int(self.right[node]), rows[~left]), (int(self.left[node]), rows[left]))
                waiting.extend((child, part) for child, part in sides if len(part))

    def ends(self, matrix: NDArray[Any]) -> tuple[Positions, Floats]:
        """The leaf of each row (n_rows,), and the scores that it gives (n_rows, k)."""
        leaf, scores = np.zeros(len(matrix), dtype=np.intp), np.zeros((len(matrix), self.n_outputs))
        for visit in self.visits(matrix):
            if self.is_leaf(visit.node):
                leaf[visit.rows], scores[visit.rows] = visit.node, visit.scores
        return leaf, scores

    def where(self, values: Floats, known_mask: Mask) -> tuple[int, Floats | None]:
        """How far one row gets with what is known of it: the node it comes to, its scores there if it has all for it.

        values, known_mask: (n_features,); NaN among the known is missing. Scores are None if something is not known.
        """
        node, row = 0, values[None, :]
        while known_mask[self.features_of(node)].all():
            scores = self.node_scores(node, row, np.zeros(1, dtype=np.intp))
            if self.is_leaf(node):
                return node, scores[0]
            node = int(self.left[node] if self.goes_left(node, scores)[0] else self.right[node])
        return node, None

    def leaves_below(self, node: int) -> list[int]:
        """The leaves that can be reached from a node."""
        if self.is_leaf(node):
            return [node]
        return self.leaves_below(int(self.left[node])) + self.leaves_below(int(self.right[node]))

    @cached_property
    def parent(self) -> Numbers:
        """(n_nodes,): -1 for the root."""
        parent = np.full(self.n_nodes, -1, dtype=np.int64)
        inner = np.flatnonzero(self.left >= 0)
        parent[self.left[inner]] = parent[self.right[inner]] = inner
        return parent


def linear_scores(
    standard: Standard,
    matrix: NDArray[Any],
    rows: Positions,
    features: NDArray[Any],
    coefficients: Floats,
    base: Floats,
) -> Floats:
    """base + sum over features of coefficient * standardised value, (n_rows, k), the same for a row in any company."""
    scores = np.tile(base, (len(rows), 1))
    for block in blocks(len(rows), len(features)):
        values = standard.read(matrix, rows[block], features)
        for column, weights in zip(values.T, coefficients, strict=True):  # BLAS would add in another order for one row
            scores[block] += column[:, None] * weights
    return scores


def along(scores: Floats, direction: Floats) -> Floats:
    """scores @ direction, (n_rows,), added up in the same order whatever the number of rows."""
    total = np.zeros(len(scores))
    for column, weight in zip(scores.T, direction, strict=True):
        total += column * weight
    return total


def _preorder(node: Node) -> Iterator[Node]:
    yield node
    for child in (node.left, node.right):
        if child is not None:
            yield from _preorder(child)
