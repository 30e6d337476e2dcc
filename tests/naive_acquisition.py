"""The slow, obvious twin of on-demand evaluation: which feature is bought next, and when the label is settled.

Plain Python over `Forest.nodes`. Nothing is kept from one step to the next but what is known, who leads, and which
rivals were closed against the leader: everything else is worked out afresh from the leaves.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from frugalforest.acquisition import Acquirer, StopRule
from frugalforest.ensemble import Ensemble
from frugalforest.forest import Node

Known = Mapping[int, float]


def goes_left(node: Node, value: float) -> bool:
    """Where a known value goes at a split; a category that no set can hold is missing."""
    if math.isnan(value):
        return node.missing_left
    if node.left_categories is None:
        return value <= node.threshold
    return int(value) in node.left_categories


class NaiveTree:
    """One tree: its nodes, the values of its leaves, and the training weight that came to each node."""

    def __init__(self, ensemble: Ensemble, t: int) -> None:
        forest = ensemble.forest
        first = int(forest.node_offsets[t])
        self.nodes = forest.nodes(t)
        self.n_categories = 64 * forest.category_sets.shape[1]
        leaf = [int(forest.right[first + i]) for i in range(len(self.nodes))]
        self.values = {i: ensemble.values[leaf[i]].tolist() for i, node in enumerate(self.nodes) if node.feature < 0}

    def child(self, i: int, value: float) -> int:
        node = self.nodes[i]
        if node.left_categories is not None and not 0 <= value < self.n_categories:
            value = math.nan
        return node.left if goes_left(node, value) else node.right

    def cursor(self, known: Known) -> int:
        """The first node on the row's way whose feature is not known, or the leaf it ends in."""
        i = 0
        while self.nodes[i].feature >= 0 and self.nodes[i].feature in known:
            i = self.child(i, known[self.nodes[i].feature])
        return i

    def leaves(self, i: int, known: Known) -> Iterator[Sequence[float]]:
        """Values of the leaves below node i that agree with what is known."""
        node = self.nodes[i]
        if node.feature < 0:
            yield self.values[i]
        elif node.feature in known:
            yield from self.leaves(self.child(i, known[node.feature]), known)
        else:
            yield from self.leaves(node.left, known)
            yield from self.leaves(node.right, known)

    def leads(self, i: int, known: Known, k: int, j: int) -> tuple[float, float]:
        """Least and largest v_k - v_j below node i."""
        leads = [values[k] - values[j] for values in self.leaves(i, known)]
        return min(leads), max(leads)

    def weight(self, i: int) -> float:
        node = self.nodes[i]
        return sum(node.counts) if node.counts is not None else self.weight(node.left) + self.weight(node.right)

    def left_share(self, i: int) -> float:
        """Share of the training rows of a split that went left; half where there were none."""
        left, right = self.weight(self.nodes[i].left), self.weight(self.nodes[i].right)
        return left / (left + right) if left + right > 0 else 0.5

    def mean(self, i: int, known: Known) -> list[float]:
        """Mean value of each class over the leaves below node i that agree with what is known, by training rows."""
        node = self.nodes[i]
        if node.feature < 0:
            return list(self.values[i])
        if node.feature in known:
            return self.mean(self.child(i, known[node.feature]), known)
        share, left, right = self.left_share(i), self.mean(node.left, known), self.mean(node.right, known)
        return [share * a + (1 - share) * b for a, b in zip(left, right, strict=True)]


@dataclass(frozen=True)
class Look:
    """A waiting tree, seen against one rival: least lead in its left and right child, largest in either."""

    node: Node
    left_share: float
    left: float
    right: float
    largest: float

    @property
    def least(self) -> float:
        return min(self.left, self.right)

    @property
    def range(self) -> float:
        return self.largest - self.least

    @property
    def gain(self) -> float:
        """How much the least lead rises on average when the feature is bought."""
        return self.left_share * self.left + (1 - self.left_share) * self.right - self.least


def grid_step(ensemble: Ensemble) -> float:
    """The grid on which the kernel keeps what is below a node: of a byte where trees add to several of many classes.

    Everything else is exact on it in the cases that are compared.
    """
    leaves = np.split(ensemble.values, ensemble.forest.leaf_offsets[1:-1])
    if ensemble.n_classes == 2 or all((values != 0).any(axis=0).sum() <= 1 for values in leaves):
        return 2.0**-14
    return 2.0 ** math.ceil(math.log2(np.abs(ensemble.values).max() / 127))


def least_together(looks: Sequence[Look]) -> float:
    """The least sum of leads of trees that wait for the same feature, over all that its value can be."""
    if looks[0].node.left_categories is not None:  # categories have no order: tree by tree
        return sum(look.least for look in looks)
    thresholds = sorted({look.node.threshold for look in looks})
    # One case for each interval between thresholds: all trees with a threshold from t on go left.
    cases = [[look.node.threshold >= t for look in looks] for t in thresholds]
    cases += [[False] * len(looks), [look.node.missing_left for look in looks]]
    return min(sum(look.left if left else look.right for look, left in zip(looks, case, strict=True)) for case in cases)


class NaiveRun:
    """One row in progress."""

    def __init__(self, acquirer: Acquirer, rule: StopRule) -> None:
        self.ensemble, self.costs, self.rule = acquirer.ensemble, acquirer.costs, rule
        self.policy = acquirer.policy(rule)
        ensemble = self.ensemble
        self.trees = [NaiveTree(ensemble, t) for t in range(ensemble.forest.n_trees)]
        self.known: dict[int, float] = {}
        self.bought: list[int] = []
        self.leader = 0
        self.open = set(range(ensemble.n_classes)) - {0}
        self._assess()

    # ---- what is known

    def waiting(self) -> dict[int, list[tuple[NaiveTree, int]]]:
        """For each feature that trees wait for: those trees, and where they stand."""
        found: dict[int, list[tuple[NaiveTree, int]]] = {}
        for tree in self.trees:
            i = tree.cursor(self.known)
            if tree.nodes[i].feature >= 0:
                found.setdefault(tree.nodes[i].feature, []).append((tree, i))
        return dict(sorted(found.items()))

    def cursor_means(self) -> list[float]:
        """Base and the mean of all leaves below every cursor, by class."""
        return self._means({})

    def rough_means(self) -> list[float]:
        """The same with each mean rounded to the kernel's grid: by these the leader is chosen, and hope is judged."""
        step = grid_step(self.ensemble)
        means = [[round(m / step) * step for m in tree.mean(tree.cursor(self.known), {})] for tree in self.trees]
        return [sum(column) for column in zip(self.ensemble.base.tolist(), *means, strict=True)]

    def estimate(self) -> list[float]:
        """Base and the mean of the leaves that can still be reached in every tree, by class."""
        return self._means(self.known)

    def _means(self, known: Known) -> list[float]:
        means = [tree.mean(tree.cursor(self.known), known) for tree in self.trees]
        return [sum(column) for column in zip(self.ensemble.base.tolist(), *means, strict=True)]

    def score_bounds(self) -> tuple[list[float], list[float]]:
        """Least and largest score of each class, over the leaves that agree with what is known."""
        low, high = self.ensemble.base.tolist(), self.ensemble.base.tolist()
        for tree in self.trees:
            columns = list(zip(*tree.leaves(0, self.known), strict=True))
            low = [a + min(column) for a, column in zip(low, columns, strict=True)]
            high = [a + max(column) for a, column in zip(high, columns, strict=True)]
        return low, high

    def cursor_lead(self, j: int) -> float:
        """The least lead over rival j, each tree bounded by all leaves below its cursor."""
        k, base = self.leader, self.ensemble.base
        return float(base[k] - base[j]) + sum(tree.leads(tree.cursor(self.known), {}, k, j)[0] for tree in self.trees)

    def looks(self, j: int) -> dict[int, list[Look]]:
        """The waiting trees by feature, seen against rival j."""
        known = self.known if self.policy.deep else {}
        found = {}
        for f, trees in self.waiting().items():
            found[f] = [self._look(tree, i, known, j) for tree, i in trees]
        return found

    def _look(self, tree: NaiveTree, i: int, known: Known, j: int) -> Look:
        node = tree.nodes[i]
        left, most_left = tree.leads(node.left, known, self.leader, j)
        right, most_right = tree.leads(node.right, known, self.leader, j)
        return Look(node, tree.left_share(i), left, right, max(most_left, most_right))

    def done_lead(self, j: int) -> float:
        """What base and finished trees give the leader over rival j."""
        lead = float(self.ensemble.base[self.leader] - self.ensemble.base[j])
        for tree in self.trees:
            i = tree.cursor(self.known)
            if tree.nodes[i].feature < 0:
                lead += tree.values[i][self.leader] - tree.values[i][j]
        return lead

    # ---- who leads, and against whom it is open

    def _assess(self) -> None:
        self.gain: dict[int, float] = {}
        self.confidence, self.is_hopeful = 0.0, False
        if self.is_settled:
            self.confidence = math.inf
            return
        estimate = self.rough_means()
        leader = max(range(len(estimate)), key=lambda c: (estimate[c], -c))
        if leader != self.leader:
            self.leader, self.open = leader, set(range(len(estimate))) - {leader}
        mean_lead = {j: estimate[leader] - estimate[j] for j in self.open}
        self.is_hopeful = all(
            mean_lead[j] >= self.policy.hope * (mean_lead[j] - self.cursor_lead(j)) for j in self.open
        )
        if not self.is_hopeful:
            return
        looks = {j: self.looks(j) for j in self.open}
        self._close(looks)
        self.gain = {f: sum(self._gain(looks[j][f]) for j in self.open) for f in self.waiting()}
        spreads = {j: math.sqrt(sum(look.range**2 for each in looks[j].values() for look in each)) for j in self.open}
        means = self.cursor_means()
        mean_lead = {j: means[leader] - means[j] for j in self.open}
        sure = [mean_lead[j] / spreads[j] if spreads[j] > 0 else 0.0 for j in self.open]
        self.confidence = min(sure, default=math.inf)

    def _gain(self, looks: Sequence[Look]) -> float:
        return sum(look.gain + self.policy.range_weight * look.range for look in looks)

    def _close(self, looks: Mapping[int, Mapping[int, list[Look]]]) -> None:
        """Take rivals away that cannot win any more: tree by tree, then with the trees of one feature together."""
        done = {j: self.done_lead(j) for j in self.open}
        tolerance = self.policy.tolerance
        alone = {j: done[j] + sum(look.least for each in looks[j].values() for look in each) for j in self.open}
        self.open = {j for j in self.open if not alone[j] > tolerance}
        if not self.policy.grouped or not all(self._could_close(done[j], looks[j]) for j in self.open):
            return
        together = {j: done[j] + sum(least_together(each) for each in looks[j].values()) for j in self.open}
        self.open = {j for j in self.open if not together[j] > tolerance}

    def _could_close(self, done: float, looks: Mapping[int, list[Look]]) -> bool:
        """Joint bounds are worth their time only if all trees going one way would be enough, for every rival."""
        ends = [min(sum(x.left for x in each), sum(x.right for x in each)) for each in looks.values()]
        return done + sum(ends) > self.policy.tolerance

    @property
    def is_settled(self) -> bool:
        return not self.open

    # ---- what to buy

    def price(self, f: int) -> int:
        """In ticks, so that equal offers are equal: 2 trees for 4.2 are as good as 1 for 2.1."""
        own, shared = self.costs.ticks
        groups = [row for row in range(len(shared)) if self.costs.membership[row, f]]
        unpaid = [row for row in groups if not self.costs.membership[row, self.bought].any()]
        return int(own[f]) + sum(int(shared[row]) for row in unpaid)

    @property
    def spent(self) -> float:
        return self.costs.of(np.array(self.bought, dtype=int)) if self.bought else 0.0

    def affordable(self) -> list[int]:
        """Features that trees wait for and that the budget allows, by their number."""
        features = list(self.waiting())
        if self.rule.name != "budget":
            return features
        assert self.rule.budget is not None
        return [f for f in features if self.costs.of([*self.bought, f]) <= self.rule.budget]

    @property
    def is_over(self) -> bool:
        if not self.waiting():
            return True
        if self.rule.name == "confidence" and self.confidence >= self.rule.confidence:
            return True
        if self.rule.name == "budget" and not self.affordable():
            return True
        return self.rule.name != "all" and self.is_settled

    def next(self) -> int | None:
        """The feature with the most to gain for its price; free ones first, of equals the smallest number."""
        if self.is_over:
            return None
        count = {f: float(len(trees)) for f, trees in self.waiting().items()}
        by_score = not self.policy.by_count and not self.is_settled and self.is_hopeful
        found = self._best(self.gain) if by_score else None
        return self._best(count) if found is None else found

    def _best(self, gain: Mapping[int, float]) -> int | None:
        worth = {f: self._worth(gain[f], f) for f in self.affordable() if gain[f] > 0}
        return min(worth, key=lambda f: (-worth[f], f), default=None)

    def _worth(self, gain: float, f: int) -> float:
        price = self.price(f)
        return gain / price if price > 0 else math.inf

    def buy(self, f: int, value: float) -> None:
        self.bought.append(f)
        self.learn(f, value)

    def learn(self, f: int, value: float) -> None:
        """Take a value that costs nothing."""
        self.known[f] = float(value)
        self._assess()

    def run(self, row: Sequence[float]) -> list[int]:
        """Buy to the end -> the features in order."""
        while (f := self.next()) is not None:
            self.buy(f, float(row[f]))
        return self.bought


# ---- the oracle


def cells(ensemble: Ensemble, f: int) -> list[float]:
    """A value for every way in which a feature can be read: between thresholds, in every set of categories, missing."""
    forest = ensemble.forest
    own = np.flatnonzero(forest.feature == f)
    if any(forest.category_set[own] >= 0):
        words = forest.category_sets[forest.category_set[own]]
        numbers = range(64 * words.shape[1])
        sides = {tuple(int(row[c // 64]) >> (c % 64) & 1 for row in words): float(c) for c in numbers}
        return [*sides.values(), math.nan]
    finite = sorted({float(t) for t in forest.threshold[own] if math.isfinite(t)})
    return [*finite, (finite[-1] if finite else 0.0) + 1, math.nan]


def n_completions(ensemble: Ensemble, known: Known) -> int:
    """How many rows `every_completion` would try."""
    unread = [f for f in range(ensemble.n_features) if f not in known and (ensemble.forest.feature == f).any()]
    return math.prod(len(cells(ensemble, f)) for f in unread)


def every_completion(ensemble: Ensemble, known: Known) -> set[int]:
    """The label numbers that the full ensemble can still give, whatever the values of all other features are."""
    used = [f for f in range(ensemble.n_features) if (ensemble.forest.feature == f).any()]
    choices = [[known[f]] if f in known else cells(ensemble, f) for f in used]
    combinations: Any = np.array(list(itertools.product(*choices)), dtype=np.float64).reshape(-1, len(used))
    rows = np.full((len(combinations), ensemble.n_features), np.nan)
    rows[:, used] = combinations
    return set(ensemble.label_numbers(ensemble.scores(rows)[0]).tolist())
