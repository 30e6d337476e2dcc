"""The objective of a cost-sensitive tree of classifiers (CSTC): soft paths, and a mixed norm for what they cost.

    sum over nodes k of   mean over rows of p_k (y - f_k)^2  +  rho |B_k|_1
    + tradeoff * sum over leaves l of   p_l (sum over features a of own_a |B_a along l| + the same for groups)

Kusner et al. 2014, eq. (2) and (3); Xu et al. 2013, 2014. p_k is the chance that a row comes to node k, a product of
sigmoids along the path; |B_a along l| is the root of the summed squares of all coefficients of feature a on the path to
leaf l: whichever node uses the feature first pays the kink at 0, the others ride along.

Nodes of a full binary tree are numbered level by level: node k has the children 2k + 1 (below its threshold) and
2k + 2 (above it).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from frugalforest.linear_trees.penalty import CostPenalty
from frugalforest.linear_trees.standardising import Floats, Mask, Positions


@dataclass(frozen=True)
class Shape:
    """A full binary tree of some levels."""

    depth: int

    @property
    def n_nodes(self) -> int:
        """Leaves included."""
        return 2**self.depth - 1

    @property
    def n_inner(self) -> int:
        """Nodes with a threshold; they come before the leaves."""
        return 2 ** (self.depth - 1) - 1

    @cached_property
    def path_mask(self) -> Mask:
        """(n_leaves, n_nodes): which nodes are on the way to which leaf."""
        mask = np.zeros((self.n_inner + 1, self.n_nodes), dtype=bool)
        for leaf in range(self.n_inner + 1):
            node = self.n_inner + leaf
            while node >= 0:
                mask[leaf, node] = True
                node = (node + 1) // 2 - 1
        return mask

    def leaves_below(self, node: int) -> slice:
        """Numbers of the leaves that can be reached from a node, counted from 0; a leaf reaches itself."""
        level = (node + 1).bit_length() - 1
        width = 2 ** (self.depth - 1 - level)
        first = (node + 1 - 2**level) * width
        return slice(first, first + width)

    def upwards(self) -> Iterator[int]:
        """Children before their parents."""
        return iter(range(self.n_nodes - 1, -1, -1))


@dataclass(frozen=True, eq=False)
class SoftTree:
    """Linear scores and thresholds of all nodes, for some features (the working set) in standardised units."""

    features: Positions  # (s,)
    slopes: Floats  # (n_nodes, s, k)
    intercept: Floats  # (n_nodes, k)
    threshold: Floats  # (n_inner,)
    direction: Floats  # (n_inner, k): unit vectors; scores along them are compared with thresholds

    @classmethod
    def empty(cls, shape: Shape, features: Positions, intercept: Floats) -> SoftTree:
        """No coefficients yet; intercept: (k,)."""
        k = len(intercept)
        return cls(
            features,
            np.zeros((shape.n_nodes, len(features), k)),
            np.tile(intercept, (shape.n_nodes, 1)),
            np.zeros(shape.n_inner),
            np.tile(np.eye(k)[0], (shape.n_inner, 1)),
        )

    @property
    def squares(self) -> Floats:
        """(n_nodes, s): squared lengths of the rows of coefficients."""
        return np.square(self.slopes).sum(axis=2)

    def copy(self) -> SoftTree:
        """Arrays of its own."""
        return SoftTree(
            self.features.copy(),
            self.slopes.copy(),
            self.intercept.copy(),
            self.threshold.copy(),
            self.direction.copy(),
        )

    def among(self, features: Positions) -> SoftTree:
        """The same tree for another working set; features that come in start at 0."""
        position = {int(feature): i for i, feature in enumerate(self.features)}
        slopes = np.zeros((len(self.slopes), len(features), self.slopes.shape[2]))
        for i, feature in enumerate(features.tolist()):
            if feature in position:
                slopes[:, i] = self.slopes[:, position[feature]]
        return replace(self, features=features, slopes=slopes)


@dataclass(frozen=True, eq=False)
class MixedNorm:
    """What the coefficients of a tree cost: tradeoff, rho and prices of the features in the working set.

    |z| is smoothed to sqrt(z^2 + smoothing^2) - smoothing. Its quadratic bound, sqrt(z) <= (z / eta + eta) / 2 with
    equality at eta = sqrt(z), is what makes the fit of a node a ridge regression.
    """

    prices: CostPenalty
    tradeoff: float
    rho: float
    smoothing: float

    def tolls(self, squares: Floats, path_mask: Mask) -> Floats:
        """What each leaf costs, (n_leaves,): tradeoff * (sum of own |B_a along l| + sum of shared |B_g along l|)."""
        along = path_mask.astype(np.float64) @ squares  # (n_leaves, s)
        alone = self._smooth(along) @ self.prices.own
        together = self._smooth(along @ self.prices.membership.T.astype(np.float64)) @ self.prices.shared
        return self.tradeoff * (alone + together)

    def l1(self, squares: Floats) -> float:
        """rho times the summed lengths of coefficients, of any nodes."""
        return self.rho * float(self._smooth(squares).sum())

    def bound(self, own_squares: Floats, other_squares: Floats, chances: Floats) -> Floats:
        """Weights q (s,) of the quadratic bound q_a |B_a|^2 / 2 at a node.

        own_squares (s,): of this node; other_squares (n_leaves, s): of the other nodes on the way to each leaf below
        it; chances (n_leaves,): of these leaves.
        """
        along = own_squares + other_squares
        weights = chances @ (self.prices.own / self._root(along))
        if len(self.prices.shared):
            members = self.prices.membership.astype(np.float64)
            weights = weights + chances @ (self.prices.shared / self._root(along @ members.T)) @ members
        return self.tradeoff * weights + self.rho / self._root(own_squares)

    def _root(self, squares: Floats) -> Floats:
        return np.sqrt(squares + self.smoothing**2)

    def _smooth(self, squares: Floats) -> Floats:
        return self._root(squares) - self.smoothing
