"""The slow, obvious twin of tree growing: docs/growing.md in plain Python, loops and floats.

This is the specification that the compiled engines are tested against. Nothing here is clever; where the order of
operations decides a tie, it is written out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from frugalforest.impurities import Entropy, Gini, Polynomial, Powers, ThresholdPairs, evaluate

MISSING = 255
ALL_CODES = range(256)


@dataclass(frozen=True)
class Node:
    """One node. A leaf has feature -1; only a categorical split has left_categories."""

    feature: int
    threshold: int  # numeric: codes <= threshold go left; -1 otherwise
    missing_left: bool
    left_categories: frozenset[int] | None  # of the codes 0 .. 254, those the node does not have included
    left: int
    right: int
    counts: tuple[float, ...]
    size: int
    gain: float


@dataclass(frozen=True)
class Costs:
    """own (n_features,), shared (n_groups,), membership (n_features, n_groups)."""

    own: list[float]
    shared: list[float]
    membership: list[list[bool]]

    def groups(self, feature: int) -> list[int]:
        return [g for g in range(len(self.shared)) if self.membership[feature][g]]

    def touched(self, features: set[int]) -> set[int]:
        return {g for f in features for g in self.groups(f)}

    def of_set(self, features: set[int]) -> float:
        """Own costs by feature index, then shared costs by group index."""
        total = 0.0
        for f in sorted(features):
            total += self.own[f]
        for g in sorted(self.touched(features)):
            total += self.shared[g]
        return total

    def marginal(self, feature: int, paid: set[int]) -> float:
        """What the feature adds to the bill of a set: 0 if it is in the set, else own cost and groups not yet paid."""
        if feature in paid:
            return 0.0
        price = self.own[feature]
        for g in self.groups(feature):
            if g not in self.touched(paid):
                price += self.shared[g]
        return price


@dataclass(frozen=True)
class Problem:
    """Everything that growing a tree depends on; lists of Python numbers."""

    codes: list[list[int]]
    n_bins: list[int]
    is_categorical: list[bool]
    labels: list[Any]
    n_classes: int
    draws: list[int]
    weights: list[float]
    weighted_targets: list[float]
    class_weight: list[float]
    price: list[float]
    tree_seed: int
    bin_min: list[list[float]] | None
    bin_max: list[list[float]] | None
    edges: list[list[float]] | None
    impurity: Any
    splitting: str
    objective: str
    tradeoff: float
    at_a_loss: bool
    max_depth: int | None
    max_features: int
    skip_constants: bool
    min_samples_leaf: int
    min_samples_split: int
    thresholds: str
    max_distinct_features: int | None
    max_tree_cost: float | None
    costs: Costs
    charge: str
    repeat_charge: float
    paid: list[list[bool]] | None
    ledger: set[int]

    @property
    def n_features(self) -> int:
        return len(self.codes)

    @property
    def is_regression(self) -> bool:
        return isinstance(self.impurity, str) and self.impurity == "variance"


def grow_tree(
    codes: Any,
    n_bins: Sequence[int],
    labels: Any,
    *,
    is_categorical: Sequence[bool] | None = None,
    n_classes: int | None = None,
    draws: Any = None,
    weights: Any = None,
    weighted_targets: Any = None,
    class_weight: Any = None,
    price: Any = None,
    tree_seed: int = 0,
    bin_min: Sequence[Any] | None = None,
    bin_max: Sequence[Any] | None = None,
    edges: Sequence[Any] | None = None,
    impurity: Any = ThresholdPairs(),  # noqa: B008 (frozen)
    splitting: str = "minimax",
    objective: str = "risk",
    tradeoff: float = 0.0,
    at_a_loss: bool = False,
    max_depth: int | None = None,
    max_features: int | None = None,
    skip_constants: bool = False,
    min_samples_leaf: int = 1,
    min_samples_split: int = 2,
    thresholds: str = "all",
    max_distinct_features: int | None = None,
    max_tree_cost: float | None = None,
    costs: tuple[Any, Any, Any] | None = None,
    charge: str = "always",
    repeat_charge: float = 0.0,
    paid: Any = None,
    ledger: Any = None,
) -> list[Node]:
    """Grow one tree; nodes in preorder.

    Without `costs` (own, shared, membership (n_features, n_groups)) there are no groups and `price` is the own cost;
    without `price` it is the cost of each feature bought alone. `labels` are targets if `impurity` is "variance", and
    `weighted_targets` (weight * target, rounded to a grid by whoever calls) is what is summed. `ledger` (n_features,)
    says what earlier trees have bought.
    """
    codes = np.asarray(codes)
    n_features, n_rows = codes.shape
    if class_weight is None:
        is_regression = isinstance(impurity, str)
        k = 2 if is_regression else n_classes if n_classes is not None else int(max(labels)) + 1
        class_weight = [1.0] * k
    if costs is None:
        cost_model = Costs(_floats(price if price is not None else [1.0] * n_features), [], [[]] * n_features)
    else:
        cost_model = Costs(_floats(costs[0]), _floats(costs[1]), np.asarray(costs[2], dtype=bool).tolist())
    if weighted_targets is None and isinstance(impurity, str):
        weighted_targets = np.asarray(labels, dtype=float) * (1.0 if weights is None else np.asarray(weights))
    problem = Problem(
        codes=codes.astype(int).tolist(),
        n_bins=[int(b) for b in n_bins],
        is_categorical=[bool(c) for c in (is_categorical if is_categorical is not None else [False] * n_features)],
        labels=np.asarray(labels).tolist(),
        n_classes=len(class_weight),
        draws=[int(d) for d in (draws if draws is not None else [1] * n_rows)],
        weights=_floats(weights if weights is not None else [1.0] * n_rows),
        weighted_targets=_floats(weighted_targets if weighted_targets is not None else []),
        class_weight=_floats(class_weight),
        price=_floats(price) if price is not None else [cost_model.of_set({f}) for f in range(n_features)],
        tree_seed=int(tree_seed),
        bin_min=[_floats(values) for values in bin_min] if bin_min is not None else None,
        bin_max=[_floats(values) for values in bin_max] if bin_max is not None else None,
        edges=[_floats(values) for values in edges] if edges is not None else None,
        impurity=impurity,
        splitting=splitting,
        objective=objective,
        tradeoff=float(tradeoff),
        at_a_loss=at_a_loss,
        max_depth=max_depth,
        max_features=n_features if max_features is None else max_features,
        skip_constants=skip_constants,
        min_samples_leaf=min_samples_leaf,
        min_samples_split=min_samples_split,
        thresholds=thresholds,
        max_distinct_features=max_distinct_features,
        max_tree_cost=max_tree_cost,
        costs=cost_model,
        charge=charge,
        repeat_charge=float(repeat_charge),
        paid=np.asarray(paid, dtype=bool).tolist() if paid is not None else None,
        ledger=set() if ledger is None else set(np.flatnonzero(ledger).tolist()),
    )
    nodes: list[Node | None] = []
    rows = [r for r in range(n_rows) if problem.draws[r] > 0 and problem.weights[r] > 0]
    _grow(problem, nodes, rows, depth=0, path=set())
    return [node for node in nodes if node is not None]


def _floats(values: Any) -> list[float]:
    return [float(v) for v in values]


# Growing.


def _grow(p: Problem, nodes: list[Node | None], rows: list[int], depth: int, path: set[int]) -> int:
    """Append the subtree on `rows`, in preorder; returns the number of its root."""
    number = len(nodes)
    nodes.append(None)  # takes the number; filled in below
    counts = counts_of(p, rows)
    chosen = None if is_leaf(p, rows, counts, depth) else best_split(p, nodes, number, rows, counts, path)
    if chosen is None:
        nodes[number] = Node(-1, -1, False, None, -1, -1, counts, size_of(p, rows), 0.0)
        return number

    feature, stump = chosen.feature, settle(p, rows, chosen)
    # The right subtree counts the features of the left one, and of this node, as used in the tree.
    nodes[number] = Node(feature, -1, False, None, -1, -1, counts, size_of(p, rows), chosen.gain)
    left_rows, right_rows = partition(p, feature, rows, stump)
    left = _grow(p, nodes, left_rows, depth + 1, path | {feature})
    right = _grow(p, nodes, right_rows, depth + 1, path | {feature})
    nodes[number] = Node(
        feature=feature,
        threshold=stump.threshold,
        missing_left=MISSING in stump.left_codes,
        left_categories=stump.left_codes - {MISSING} if p.is_categorical[feature] else None,
        left=left,
        right=right,
        counts=counts,
        size=size_of(p, rows),
        gain=chosen.gain,
    )
    return number


def is_leaf(p: Problem, rows: list[int], counts: tuple[float, ...], depth: int) -> bool:
    if p.max_depth is not None and depth >= p.max_depth:
        return True
    if size_of(p, rows) < p.min_samples_split:
        return True
    if p.is_regression:
        return len({p.labels[r] for r in rows}) <= 1
    if isinstance(p.impurity, Gini | Entropy):
        return sum(n > 0 for n in counts) <= 1
    return impurity_of(p, counts) == 0


# What a set of rows amounts to.


def size_of(p: Problem, rows: list[int]) -> int:
    return sum(p.draws[r] for r in rows)


def counts_of(p: Problem, rows: list[int]) -> tuple[float, ...]:
    """(n_1 .. n_k), or (sum of w, sum of w * y) for regression."""
    if p.is_regression:
        total, weighted = 0.0, 0.0
        for r in rows:
            total += p.draws[r] * p.weights[r]
            weighted += p.draws[r] * p.weighted_targets[r]
        return total, weighted
    sums = [0.0] * p.n_classes
    for r in rows:
        sums[p.labels[r]] += p.draws[r] * p.weights[r]
    return tuple(p.class_weight[c] * sums[c] for c in range(p.n_classes))


def weight_of(p: Problem, counts: Sequence[float]) -> float:
    return counts[0] if p.is_regression else _in_order(counts)


def _in_order(values: Sequence[float]) -> float:
    total = 0.0
    for v in values:
        total += v
    return total


# Impurities, one scalar at a time, in the order of operations that the compiled core uses.


def impurity_of(p: Problem, counts: Sequence[float]) -> float:
    if p.is_regression:
        return variance(*counts)
    return impurity_value(p.impurity, counts)


def impurity_value(impurity: Any, n: Sequence[float]) -> float:
    if isinstance(impurity, ThresholdPairs):
        return threshold_pairs(n, float(impurity.alpha), impurity.offset)
    if isinstance(impurity, Powers):
        return powers(n, impurity.power)
    if isinstance(impurity, Polynomial):
        return polynomial(n, impurity.terms)
    if isinstance(impurity, Gini):
        return gini(n)
    if isinstance(impurity, Entropy):
        return entropy(n)
    return float(evaluate(impurity, [list(n)])[0])  # a user's own


def threshold_pairs(n: Sequence[float], a: float, offset: bool) -> float:
    total = 0.0
    for i in range(len(n)):
        for j in range(i + 1, len(n)):
            v = max(n[i] - a, 0.0) * max(n[j] - a, 0.0)
            if offset:
                v -= a * a
            if v > 0:
                total += v
    return 2.0 * total


def powers(n: Sequence[float], power: int) -> float:
    return _power(_in_order(n), power) - _in_order([_power(n_c, power) for n_c in n])


def polynomial(n: Sequence[float], terms: Sequence[tuple[float, Sequence[int]]]) -> float:
    total = 0.0
    for coefficient, exponents in terms:
        product = coefficient
        for n_c, exponent in zip(n, exponents, strict=True):
            for _ in range(exponent):
                product *= n_c
        total += product
    return total


def gini(n: Sequence[float]) -> float:
    everything = _in_order(n)
    return 1.0 - _in_order([n_c * n_c for n_c in n]) / (everything * everything) if everything > 0 else 0.0


def entropy(n: Sequence[float]) -> float:
    everything = _in_order(n)
    if everything == 0:
        return 0.0
    return math.log2(everything) - _in_order([n_c * math.log2(n_c) for n_c in n if n_c > 0]) / everything


def variance(w: float, s: float) -> float:
    return -(s / w) * (s / w) if w > 0 else 0.0


def _power(x: float, power: int) -> float:
    product = 1.0
    for _ in range(power):
        product *= x
    return product


# Splits.


@dataclass(frozen=True)
class Stump:
    """A question about one feature: which of the codes 0 .. 255 go left."""

    threshold: int
    left_codes: frozenset[int]

    @classmethod
    def numeric(cls, threshold: int, missing_left: bool) -> Stump:
        return cls(threshold, frozenset(range(threshold + 1)) | ({MISSING} if missing_left else frozenset()))


@dataclass(frozen=True)
class Split:
    """The best stump of a feature, what it gains, what it is charged."""

    feature: int
    stump: Stump
    gain: float
    price: float


def partition(p: Problem, feature: int, rows: list[int], stump: Stump) -> tuple[list[int], list[int]]:
    left = [r for r in rows if p.codes[feature][r] in stump.left_codes]
    right = [r for r in rows if p.codes[feature][r] not in stump.left_codes]
    return left, right


def gain_of(p: Problem, parent: Sequence[float], left: Sequence[float], right: Sequence[float]) -> float:
    before, f_left, f_right = impurity_of(p, parent), impurity_of(p, left), impurity_of(p, right)
    if p.splitting == "minimax":
        return before - max(f_left, f_right)
    if weight_of(p, parent) == 0:
        return 0.0
    return before - (weight_of(p, left) * f_left + weight_of(p, right) * f_right) / weight_of(p, parent)


def best_split(
    p: Problem, nodes: list[Node | None], number: int, rows: list[int], counts: tuple[float, ...], path: set[int]
) -> Split | None:
    """The split of this node, or None if none may be taken."""
    node_seed = mix(p.tree_seed ^ mix(number))
    used = {node.feature for node in nodes if node is not None and node.feature >= 0}
    candidates = []
    for feature in sorted(candidate_features(p, node_seed, rows, used)):
        found = best_stump(p, node_seed, feature, rows, counts)
        if found is not None:
            stump, gain = found
            candidates.append(Split(feature, stump, gain, price_of(p, feature, rows, path, used)))
    if p.objective == "risk":
        return choose_by_risk(candidates)
    return choose_penalized(candidates, p.tradeoff, p.at_a_loss)


def choose_by_risk(candidates: list[Split]) -> Split | None:
    """Least risk, then larger gain, then smaller feature index."""
    helpful = [c for c in candidates if c.gain > 0]
    return min(helpful, key=lambda c: (c.price / c.gain, -c.gain, c.feature), default=None)


def choose_penalized(candidates: list[Split], tradeoff: float, at_a_loss: bool) -> Split | None:
    """Largest gain - tradeoff * price, then smaller feature index; a free split needs no gain.

    A score that is not above 0 is no reason not to split if at_a_loss.
    """

    def score(c: Split) -> float:
        return c.gain - tradeoff * c.price

    best = min(candidates, key=lambda c: (-score(c), c.feature), default=None)
    free = [c for c in candidates if tradeoff * c.price == 0]
    if best is None or score(best) > 0 or best in free or at_a_loss:
        return best
    return min(free, key=lambda c: (-score(c), c.feature), default=None)


def best_stump(
    p: Problem, node_seed: int, feature: int, rows: list[int], counts: tuple[float, ...]
) -> tuple[Stump, float] | None:
    """The first of the stumps with the largest gain: they come in the order in which ties are decided."""
    best: tuple[Stump, float] | None = None
    stumps = categorical_stumps if p.is_categorical[feature] else numeric_stumps
    for stump in stumps(p, node_seed, feature, rows):
        left, right = partition(p, feature, rows, stump)
        if min(size_of(p, left), size_of(p, right)) < max(1, p.min_samples_leaf):
            continue
        gain = gain_of(p, counts, counts_of(p, left), counts_of(p, right))
        if best is None or gain > best[1]:
            best = stump, gain
    return best


def numeric_stumps(p: Problem, node_seed: int, feature: int, rows: list[int]) -> Iterator[Stump]:
    """Missing on the right, thresholds rising; then missing on the left, thresholds rising.

    Of the thresholds in the gap between two values of the node only the first is looked at: the others send the same
    rows to the same sides, and lose the tie.
    """
    present = {p.codes[feature][r] for r in rows}
    values = sorted(present - {MISSING})
    if not values:
        return
    between = values[:-1] if p.thresholds == "all" else sorted(drawn_thresholds(p, node_seed, feature, rows))
    for t in between:
        yield Stump.numeric(t, missing_left=False)
    if MISSING in present:
        yield Stump.numeric(p.n_bins[feature] - 1, missing_left=False)  # missing against the rest
        for t in between:
            yield Stump.numeric(t, missing_left=True)


def drawn_thresholds(p: Problem, node_seed: int, feature: int, rows: list[int]) -> set[int]:
    """Random thresholds: uniform between the least and the largest value, moved to the nearest edge between them.

    Edge t lies between the bins t and t + 1. Of two edges that are equally near the smaller is taken.
    """
    assert p.bin_min is not None
    assert p.bin_max is not None
    assert p.edges is not None
    values = {p.codes[feature][r] for r in rows} - {MISSING}
    if len(values) == 1:
        return set()
    least, largest = p.bin_min[feature][min(values)], p.bin_max[feature][max(values)]
    edges = p.edges[feature]
    size = size_of(p, rows)
    n_draws = 80 if size > 2000 else 40 if size > 500 else 20
    stream = Stream(mix(node_seed ^ mix(feature + 1)))
    drawn = set()
    for _ in range(n_draws):
        u = least + uniform(stream) * (largest - least)
        drawn.add(min(range(min(values), max(values)), key=lambda t: (abs(edges[t] - u), t)))
    return drawn


def categorical_stumps(p: Problem, node_seed: int, feature: int, rows: list[int]) -> Iterator[Stump]:
    """For each order of the categories present, every proper prefix."""
    present = {}  # code -> counts
    for code in sorted({p.codes[feature][r] for r in rows}):
        counts = counts_of(p, [r for r in rows if p.codes[feature][r] == code])
        if weight_of(p, counts) > 0:
            present[code] = counts
    for order in category_orders(p, present):
        for length in range(1, len(order)):
            left, right = order[:length], order[length:]
            elsewhere = frozenset(ALL_CODES) - set(order)  # go to the heavier child
            left_rows = [r for r in rows if p.codes[feature][r] in left]
            right_rows = [r for r in rows if p.codes[feature][r] in right]
            heavier_left = weight_of(p, counts_of(p, left_rows)) > weight_of(p, counts_of(p, right_rows))
            yield Stump(-1, frozenset(left) | (elsewhere if heavier_left else frozenset()))


def category_orders(p: Problem, present: dict[int, tuple[float, ...]]) -> Iterator[list[int]]:
    """Codes by rising share of class c (by mean, for regression), ties by code: one order per class."""
    # The counts of a regression are (w, s), so that its "share of class 1" is the mean.
    classes = [1] if p.is_regression or p.n_classes == 2 else range(p.n_classes)
    for c in classes:
        shares = {code: counts[c] / weight_of(p, counts) for code, counts in present.items()}
        yield sorted(present, key=lambda code, shares=shares: (shares[code], code))  # type: ignore[misc]


def settle(p: Problem, rows: list[int], split: Split) -> Stump:
    """The chosen stump, its threshold in the middle of the gap, and missing sent somewhere if the node has none."""
    stump, column = split.stump, p.codes[split.feature]
    if p.is_categorical[split.feature]:
        return stump
    left, right = partition(p, split.feature, rows, stump)
    left_values = {column[r] for r in left} - {MISSING}
    right_values = {column[r] for r in right} - {MISSING}
    threshold = stump.threshold
    if p.thresholds == "all" and left_values and right_values:
        threshold = (max(left_values) + min(right_values) - 1) // 2
    missing_left = MISSING in stump.left_codes
    if all(column[r] != MISSING for r in rows):
        missing_left = weight_of(p, counts_of(p, left)) > weight_of(p, counts_of(p, right))
    return Stump.numeric(threshold, missing_left)


# Which features may be used, and what they are charged.


def candidate_features(p: Problem, node_seed: int, rows: list[int], used: set[int]) -> list[int]:
    def eligible(feature: int) -> bool:
        constant = len({p.codes[feature][r] for r in rows}) == 1
        return not constant and within_limits(p, used | {feature})

    if p.max_features >= p.n_features:
        return [f for f in range(p.n_features) if eligible(f)]
    drawn: list[int] = []
    order = list(range(p.n_features))
    stream = Stream(node_seed)
    for i in range(p.n_features):
        n_drawn = len(drawn) if p.skip_constants else i
        if n_drawn >= p.max_features and drawn:
            break
        j = i + below(stream, p.n_features - i)
        order[i], order[j] = order[j], order[i]
        if eligible(order[i]):
            drawn.append(order[i])
    return drawn


def within_limits(p: Problem, features: set[int]) -> bool:
    if p.max_distinct_features is not None and len(features) > p.max_distinct_features:
        return False
    return p.max_tree_cost is None or p.costs.of_set(features) <= p.max_tree_cost


def price_of(p: Problem, feature: int, rows: list[int], path: set[int], used: set[int]) -> float:
    """path: features above the node; used: features of all nodes before it, in preorder."""
    alone = p.price[feature]
    if p.charge == "always":
        return alone
    if p.charge == "path":
        marginal = p.costs.marginal(feature, path)
    elif p.charge == "ledger":
        marginal = p.costs.marginal(feature, p.ledger | used)
    else:
        marginal = mean_marginal(p, feature, rows)
    return p.repeat_charge * alone + (1.0 - p.repeat_charge) * marginal


def mean_marginal(p: Problem, feature: int, rows: list[int]) -> float:
    """Mean over the node's rows, each `draws` times, of what the feature adds to what the row paid in earlier trees.

    Added up part by part (own cost, then groups), so that only whole numbers of rows are summed.
    """
    assert p.paid is not None
    paid_by = {r: {f for f in range(p.n_features) if p.paid[r][f]} for r in rows}
    total = p.costs.own[feature] * sum(p.draws[r] for r in rows if feature not in paid_by[r])
    for g in p.costs.groups(feature):
        total += p.costs.shared[g] * sum(p.draws[r] for r in rows if g not in p.costs.touched(paid_by[r]))
    return total / size_of(p, rows)


# Randomness.

_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15


class Stream:
    """splitmix64."""

    def __init__(self, seed: int) -> None:
        self.state = seed & _MASK

    def next(self) -> int:
        self.state = (self.state + _GOLDEN) & _MASK
        x = self.state
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
        return x ^ (x >> 31)


def mix(x: int) -> int:
    return Stream(x).next()


def below(stream: Stream, n: int) -> int:
    return ((stream.next() >> 32) * n) >> 32


def uniform(stream: Stream) -> float:
    return (stream.next() >> 11) * 2.0**-53


def bootstrap_draws(tree_seed: int, n_rows: int, draw_weights: Sequence[float] | None = None) -> list[int]:
    """How often each row is drawn; in proportion to draw_weights, if there are any."""
    stream = Stream(mix(tree_seed ^ 0xB0075742A9))
    draws = [0] * n_rows
    for _ in range(n_rows):
        draws[below(stream, n_rows) if draw_weights is None else weighted_row(stream, draw_weights)] += 1
    return draws


def weighted_row(stream: Stream, draw_weights: Sequence[float]) -> int:
    """The first row at which the sum of the weights exceeds u, uniform between 0 and the sum of all."""
    u = uniform(stream) * _in_order(draw_weights)
    total = 0.0
    for row, weight in enumerate(draw_weights):
        total += weight
        if total > u:
            return row
    return len(draw_weights) - 1


# Forests whose trees know of one another.


def ledger_forest(
    grow_one: Callable[[int, list[bool], list[float] | None], list[Node]],
    tree_seeds: Sequence[int],
    n_features: int,
    rounds: int = 1,
    next_weights: Callable[[list[list[Node]]], list[float] | None] | None = None,
) -> list[list[Node]]:
    """Trees in rounds of 1, 1, 2, 4, ... and at most `rounds`; what a round has bought is free for the next one.

    grow_one(seed, ledger, draw_weights) -> nodes. next_weights(trees so far) -> draw weights of the next round; None:
    rows are drawn alike.
    """
    trees: list[list[Node]] = []
    while len(trees) < len(tree_seeds):
        size = min(rounds, max(1, len(trees)), len(tree_seeds) - len(trees))
        bought = {node.feature for tree in trees for node in tree}
        ledger = [f in bought for f in range(n_features)]
        weights = next_weights(trees) if next_weights is not None and trees else None
        trees += [grow_one(int(seed), ledger, weights) for seed in tree_seeds[len(trees) : len(trees) + size]]
    return trees


def complementary_weights(
    trees: list[list[Node]], draws: Sequence[Sequence[int]], codes: Any, labels: Sequence[int], printed: bool
) -> list[float] | None:
    """Weight of each row for the next bootstrap; draws (n_trees, n_rows): what the trees were grown from."""
    weights: list[float | None] = []
    for i, row in enumerate(np.asarray(codes).T):
        judges = [tree for tree, drawn in zip(trees, draws, strict=True) if printed or drawn[i] == 0]
        right = [int(np.argmax(walk(tree, row)[-1].counts)) == labels[i] for tree in judges]
        share = sum(right) / len(right) if right else None
        weights.append(share if printed or share is None else 1 - share)
    known = [weight for weight in weights if weight is not None]
    if not any(known):
        return None
    return [sum(known) / len(known) if weight is None else weight for weight in weights]


# Reading a tree by hand.


def goes_left(node: Node, code: int) -> bool:
    if code == MISSING:
        return node.missing_left
    if node.left_categories is not None:
        return code in node.left_categories
    return code <= node.threshold


def walk(nodes: list[Node], codes_of_row: Sequence[int]) -> list[Node]:
    """The nodes a row passes, leaf included."""
    path = [nodes[0]]
    while path[-1].feature >= 0:
        node = path[-1]
        path.append(nodes[node.left if goes_left(node, int(codes_of_row[node.feature])) else node.right])
    return path


def predict_counts(nodes: list[Node], codes: Any) -> np.ndarray:
    """Counts of the leaf of each row: codes (n_features, n_rows) -> (n_rows, k)."""
    return np.array([walk(nodes, row)[-1].counts for row in np.asarray(codes).T])


def acquired(nodes: list[Node], codes_of_row: Sequence[int]) -> set[int]:
    """The features a row needs: those on its path."""
    return {node.feature for node in walk(nodes, codes_of_row) if node.feature >= 0}
