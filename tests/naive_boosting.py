"""The slow, obvious twin of boosting: docs/boosting.md ("The rules") in plain Python.

Rows keep a set of what they have paid, sums are exact (math.fsum), and every split of every feature is looked at. The
compiled booster rounds gradients to a grid of whole numbers, so gains and values agree nearly, and trees exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import naive

MISSING = 255


@dataclass
class Options:
    """The options of frugalforest.boosting.BoostOptions, in plain numbers and lists."""

    loss: str = "log_loss"
    charge: str = "row"
    learning_rate: float = 0.1
    max_leaves: int = 31
    max_depth: int | None = None
    min_samples_leaf: int = 20
    min_hessian: float = 1e-3
    l2: float = 0.0
    min_gain: float = 1e-9
    category_smoothing: float = 10.0
    min_category_rows: int = 10
    subsample: float = 1.0
    colsample: float = 1.0
    monotone: Any = None
    interactions: Any = None
    price_per_split: float = 0.0


@dataclass
class Split:
    """A split of one node on one feature."""

    feature: int
    left_codes: frozenset[int]  # of 0 .. 255, 255 being missing
    code: int  # of a numeric split, as it was found; -1: categorical
    gain: float
    left: list[int]
    right: list[int]


@dataclass
class Node:
    """A node of a tree while it grows; children are numbers of nodes."""

    rows: list[int]
    depth: int
    path: frozenset[int]
    lower: float = -math.inf
    upper: float = math.inf
    split: Split | None = None
    charged: float = 0.0
    left: int = -1
    right: int = -1
    value: float = 0.0
    best: dict[int, Split] = field(default_factory=dict)  # by feature


class NaiveBooster:
    """Binned rows, labels and weights; `grow_round` returns one list of nodes per output, the root first."""

    def __init__(
        self,
        codes,
        n_bins,
        is_categorical,
        labels,
        n_classes,
        costs,
        options,
        *,
        weights=None,
        class_weight=None,
        seed=0,
        base=None,
    ):
        self.codes = np.asarray(codes).tolist()  # by feature
        self.n_bins, self.is_categorical = [int(n) for n in n_bins], [bool(c) for c in is_categorical]
        self.labels, self.n_classes = [int(y) for y in labels], n_classes
        self.costs, self.options, self.seed, self.round = costs, options, seed, 0
        n = len(self.labels)
        self.weights = [1.0] * n if weights is None else [float(w) for w in weights]
        by_class = [1.0] * n_classes if class_weight is None else [float(w) for w in class_weight]
        self.loss_weights = [w * by_class[y] for w, y in zip(self.weights, self.labels, strict=True)]
        self.n_outputs = 1 if n_classes == 2 else n_classes
        start = [0.0] * self.n_outputs if base is None else [float(b) for b in base]
        self.scores = [[b] * n for b in start]  # by output
        self.paid: list[set[int]] = [set() for _ in range(n)]
        self.used: set[int] = set()
        self.columns = [f for f in range(len(self.codes)) if len(set(self.codes[f])) > 1]

    # ---- rounds

    def grow_round(self, tradeoff: float, budget: float = math.inf) -> list[list[Node]]:
        self.budget = budget
        gradients = [self.gradients(k) for k in range(self.n_outputs)]
        trees = []
        for k in range(self.n_outputs):
            trees.append(self.grow_tree(k, *gradients[k], tradeoff))
        self.round += 1
        return trees

    def gradients(self, k: int) -> tuple[list[float], list[float]]:
        """g and h of every row for output k."""
        g, h = [], []
        for i, y in enumerate(self.labels):
            w = self.loss_weights[i]
            is_mine = y == (1 if self.n_outputs == 1 else k)
            if self.options.loss == "squared":
                g.append(w * (self.scores[k][i] - (1 if is_mine else -1)))
                h.append(w)
                continue
            if self.n_outputs == 1:
                p, factor = 1 / (1 + math.exp(-self.scores[0][i])), 1.0
            else:
                top = max(s[i] for s in self.scores)
                each = [math.exp(s[i] - top) for s in self.scores]
                p, factor = each[k] / sum(each), self.n_classes / (self.n_classes - 1)
            g.append(w * (p - is_mine))
            h.append(w * factor * p * (1 - p))
        return g, h

    def grow_tree(self, k, g, h, tradeoff) -> list[Node]:
        self.g, self.h, self.tradeoff = g, h, tradeoff
        self.allowed = self.sampled_columns(k)
        bag = [i for i in range(len(self.labels)) if self.is_in_bag(i)]
        self.bag_weight = math.fsum(self.weights[i] for i in bag)
        self.left = self.left_of_the_budget()
        nodes = [Node(bag, 0, frozenset())]
        self.look(nodes[0])
        leaves = [0]
        while len(leaves) < self.options.max_leaves:
            scored = [(self.best_of(nodes[v]), v) for v in leaves]
            scored = [(best, v) for best, v in scored if best is not None and best[0] > self.options.min_gain]
            if not scored:
                break
            (_, feature), v = max(scored, key=lambda item: (item[0][0], -item[1]))
            self.split(nodes, v, feature)
            leaves.remove(v)
            leaves += [nodes[v].left, nodes[v].right]
        if len(nodes) > 1:
            for v in leaves:
                nodes[v].value = self.options.learning_rate * self.value(nodes[v].rows, nodes[v])
        self.send_all(nodes, k)
        return nodes

    def left_of_the_budget(self) -> float:
        """What the rows of the bag may spend: their share of what all rows together have left."""
        if self.budget == math.inf:
            return math.inf
        spent = math.fsum(w * self.costs.of_set(paid) for w, paid in zip(self.weights, self.paid, strict=True))
        all_weight = math.fsum(self.weights)
        return (self.budget * all_weight - spent) * self.bag_weight / all_weight

    def send_all(self, nodes: list[Node], k: int) -> None:
        """Every row walks to its leaf, in the bag or not, and pays for what it reads."""
        for i in range(len(self.labels)):
            node = nodes[0]
            while node.split is not None:
                self.paid[i].add(node.split.feature)
                goes_left = self.codes[node.split.feature][i] in node.split.left_codes
                node = nodes[node.left if goes_left else node.right]
            self.scores[k][i] += node.value

    # ---- samples

    def round_seed(self) -> int:
        return naive.mix(self.seed ^ naive.mix(self.round))

    def is_in_bag(self, row: int) -> bool:
        if self.options.subsample >= 1:
            return True
        return naive.uniform(naive.Stream(naive.mix(self.round_seed() ^ naive.mix(row)))) < self.options.subsample

    def sampled_columns(self, k: int) -> list[int]:
        chosen = list(self.columns)
        if self.options.colsample >= 1:
            return chosen
        stream = naive.Stream(naive.mix(self.round_seed() ^ naive.mix(~k % 2**64)))
        for i in range(len(chosen) - 1):
            j = i + naive.below(stream, len(chosen) - i)
            chosen[i], chosen[j] = chosen[j], chosen[i]
        return sorted(chosen[: max(1, int(self.options.colsample * len(chosen) + 0.5))])

    # ---- one node

    def look(self, node: Node) -> None:
        """The best split of every feature that may be used here, prices aside."""
        too_deep = self.options.max_depth is not None and node.depth >= self.options.max_depth
        if too_deep or len(node.rows) < 2 * self.options.min_samples_leaf:
            return
        for f in self.allowed:
            if not self.may_follow(f, node.path):
                continue
            best = None
            for split in self.splits(f, node):
                if best is None or split.gain > best.gain:
                    best = split
            if best is not None:
                node.best[f] = best

    def may_follow(self, f: int, path: frozenset[int]) -> bool:
        sets = self.options.interactions
        return sets is None or any(members[f] and all(members[p] for p in path) for members in sets)

    def best_of(self, node: Node) -> tuple[float, int] | None:
        """Largest gain minus price, and its feature; the smaller feature of equals."""
        best = None
        for f in sorted(node.best):
            score = node.best[f].gain - self.price(f, node)
            affordable = self.options.charge != "row" or self.money(f, node) <= max(self.left, 0)
            if affordable and (best is None or score > best[0]):
                best = (score, f)
        return best

    def price(self, f: int, node: Node) -> float:
        weight = math.fsum(self.weights[i] for i in node.rows)
        total = self.options.price_per_split * weight
        if self.options.charge == "forest":
            return total + self.tradeoff * self.bag_weight * self.costs.marginal(f, self.used)
        return total + self.tradeoff * self.money(f, node)

    def money(self, f: int, node: Node) -> float:
        """What the rows of a node that have not paid for a feature have to pay."""
        return math.fsum(self.weights[i] * self.costs.marginal(f, self.paid[i] | node.path) for i in node.rows)

    def split(self, nodes: list[Node], v: int, feature: int) -> None:
        node = nodes[v]
        split = node.best[feature]
        node.charged = self.price(feature, node)
        self.left -= self.money(feature, node)
        self.used.add(feature)
        node.split = self.settled(split, node)
        node.left, node.right = len(nodes), len(nodes) + 1
        bounds = self.bounds_below(split, node)
        for rows, (lower, upper) in zip((split.left, split.right), bounds, strict=True):
            child = Node(rows, node.depth + 1, node.path | {feature}, lower, upper)
            self.look(child)
            nodes.append(child)

    def bounds_below(self, split: Split, node: Node) -> tuple[tuple[float, float], tuple[float, float]]:
        sign = 0 if self.options.monotone is None else int(self.options.monotone[split.feature])
        mine = (node.lower, node.upper)
        if sign == 0 or self.is_missing(split.feature, split.right):
            return mine, mine
        middle = self.value(split.left, node) / 2 + self.value(split.right, node) / 2
        below, above = (node.lower, middle), (middle, node.upper)
        return (below, above) if sign > 0 else (above, below)

    # ---- gains

    def value(self, rows: list[int], node: Node) -> float:
        g, h = math.fsum(self.g[i] for i in rows), math.fsum(self.h[i] for i in rows)
        return min(max(-g / (h + self.options.l2), node.lower), node.upper)

    def fall(self, rows: list[int], node: Node) -> float:
        """What the loss falls by, twice, if the rows get their value."""
        g, h = math.fsum(self.g[i] for i in rows), math.fsum(self.h[i] for i in rows)
        if self.options.monotone is None:
            return g * g / (h + self.options.l2)
        value = self.value(rows, node)
        return -(2 * g * value + (h + self.options.l2) * value * value)

    def is_allowed(self, rows: list[int]) -> bool:
        enough = len(rows) >= self.options.min_samples_leaf
        return enough and math.fsum(self.h[i] for i in rows) >= self.options.min_hessian

    def splits(self, f: int, node: Node) -> Iterator[Split]:
        """Allowed splits in the order in which the first of equals wins."""
        lefts = self.category_lefts(f, node) if self.is_categorical[f] else self.numeric_lefts(f, node)
        whole = self.fall(node.rows, node)
        for code, codes in lefts:
            left = [i for i in node.rows if self.codes[f][i] in codes]
            right = [i for i in node.rows if self.codes[f][i] not in codes]
            if not self.is_allowed(left) or not self.is_allowed(right) or not self.keeps_order(f, left, right, node):
                continue
            if code >= 0 and self.is_missing(f, left):
                continue  # missing against the rest is tried with missing on the right
            gain = 0.5 * (self.fall(left, node) + self.fall(right, node) - whole)
            yield Split(f, frozenset(codes), code, gain, left, right)

    def keeps_order(self, f, left, right, node) -> bool:
        sign = 0 if self.options.monotone is None or self.is_missing(f, right) else int(self.options.monotone[f])
        from_value, to_value = self.value(left, node), self.value(right, node)
        return sign == 0 or (from_value <= to_value if sign > 0 else from_value >= to_value)

    def is_missing(self, f: int, rows: list[int]) -> bool:
        return all(self.codes[f][i] == MISSING for i in rows)

    def numeric_lefts(self, f: int, node: Node) -> Iterator[tuple[int, set[int]]]:
        for t in range(self.n_bins[f]):
            yield t, set(range(t + 1))
        if any(self.codes[f][i] == MISSING for i in node.rows):
            for t in range(self.n_bins[f]):
                yield t, {*range(t + 1), MISSING}

    def category_lefts(self, f: int, node: Node) -> Iterator[tuple[int, set[int]]]:
        ratio = {}
        for c in sorted({self.codes[f][i] for i in node.rows}):
            rows = [i for i in node.rows if self.codes[f][i] == c]
            if len(rows) >= self.options.min_category_rows:
                g, h = math.fsum(self.g[i] for i in rows), math.fsum(self.h[i] for i in rows)
                ratio[c] = g / (h + self.options.category_smoothing)
        order = sorted(ratio, key=lambda c: (ratio[c], c))
        for ordered in (order, order[::-1]):
            for length in range(1, len(ordered) + 1):
                yield -1, set(ordered[:length])

    def settled(self, split: Split, node: Node) -> Split:
        """The split as it is kept: threshold in the middle of its gap, and codes the node does not have on a side."""
        column = self.codes[split.feature]
        present = {column[i] for i in node.rows}
        left_is_heavier = len(split.left) > len(split.right)
        if split.code < 0:
            absent = set(range(256)) - present if left_is_heavier else set()
            codes = split.left_codes | absent
        else:
            code = self.middle_of_gap(split, present)
            missing_left = MISSING in split.left_codes if MISSING in present else left_is_heavier
            codes = set(range(code + 1)) | ({MISSING} if missing_left else set())
            split = Split(split.feature, split.left_codes, code, split.gain, split.left, split.right)
        return Split(split.feature, frozenset(codes), split.code, split.gain, split.left, split.right)

    def middle_of_gap(self, split: Split, present: set[int]) -> int:
        values = present - {MISSING}
        left, right = [c for c in values if c <= split.code], [c for c in values if c > split.code]
        return (max(left) + min(right) - 1) // 2 if left and right else self.n_bins[split.feature] - 1


def preorder(nodes: list[Node]) -> list[Node]:
    """The nodes in the order of a Forest."""
    order, waiting = [], [0]
    while waiting:
        v = waiting.pop()
        order.append(nodes[v])
        if nodes[v].split is not None:
            waiting += [nodes[v].right, nodes[v].left]
    return order
