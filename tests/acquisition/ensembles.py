"""Random tree ensembles that are bought feature by feature, with prices and rows; each is a function of its seed.

Training weights halve or quarter at every split and trees are shallow, so that means and bounds of the exact kinds are
dyadic: sums are the same in any order, and the compiled core and the naive twin must agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest import FeatureCosts, Group
from frugalforest.acquisition import Acquirer, Order, StopRule
from frugalforest.data import FeatureEncoder
from frugalforest.ensemble import Ensemble, Link
from frugalforest.forest import Forest

FEW = np.array([-1.0, 0.0, 0.5, 1.0])  # thresholds, and values that hit them
EXACT_KINDS = ("votes", "two shares", "two margins")
KINDS = (*EXACT_KINDS, "shares", "margins", "classes", "rounds", "one against all", "single", "equal", "small change")

BY = ("count", "score")
BOUNDS = ("cursor", "deep", "grouped")


# Trees.


@dataclass
class Trees:
    """Arrays of a forest while it is made up."""

    rng: np.random.Generator
    n_features: int
    categorical: frozenset[int]
    n_words: int
    most_depth: int
    nodes: list[tuple[int, float, int, int, int]] = field(default_factory=list)
    sets: list[NDArray[np.uint64]] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)  # of the leaves
    offsets: list[int] = field(default_factory=lambda: [0])
    leaf_offsets: list[int] = field(default_factory=lambda: [0])

    def add_tree(self) -> None:
        """A tree of any shape; every seventh is a single leaf, every seventh has no training rows."""
        weight = 0.0 if self.rng.random() < 1 / 7 else 4.0**self.most_depth
        self._add(0 if self.rng.random() < 1 / 7 else self.most_depth, weight)
        self.offsets.append(len(self.nodes))
        self.leaf_offsets.append(len(self.weights))

    def _add(self, depth: int, weight: float) -> None:
        place, rng = len(self.nodes), self.rng
        self.nodes.append((-1, 0.0, 0, len(self.weights), -1))
        if depth == 0 or (rng.random() < 0.25 and depth < self.most_depth):
            self.weights.append(weight)
            return
        f, share = int(rng.integers(self.n_features)), float(rng.choice([0, 0.25, 0.5, 0.5, 0.75, 1]))
        threshold, category_set = self._threshold(f), -1
        if f in self.categorical:
            threshold, category_set = 0.0, len(self.sets)
            self.sets.append(rng.integers(0, 2**64, self.n_words, dtype=np.uint64))
        self._add(depth - 1, share * weight)
        self.nodes[place] = (f, threshold, int(rng.integers(2)), len(self.nodes), category_set)
        self._add(depth - 1, (1 - share) * weight)

    def _threshold(self, f: int) -> float:
        if self.rng.random() < 0.03:
            return float(self.rng.choice([-np.inf, np.inf]))
        # Odd features have many thresholds, even ones a few that come again and again.
        return float(self.rng.choice(FEW) if f % 2 == 0 else self.rng.integers(-80, 80) / 32)

    def forest(self, n_classes: int) -> Forest:
        """The forest; the weight of a leaf lies on one class."""
        feature, threshold, missing_left, right, category_set = zip(*self.nodes, strict=True)
        counts = np.zeros((len(self.weights), n_classes))
        counts[np.arange(len(counts)), self.rng.integers(n_classes, size=len(counts))] = self.weights
        arrays = {
            "node_offsets": np.array(self.offsets, np.int64),
            "leaf_offsets": np.array(self.leaf_offsets, np.int64),
            "feature": np.array(feature, np.int32),
            "threshold": np.array(threshold),
            "missing_left": np.array(missing_left, np.uint8),
            "right": np.array(right, np.int32),
            "category_set": np.array(category_set, np.int32),
            "category_sets": np.array(self.sets, np.uint64).reshape(-1, self.n_words),
            "leaf_counts": counts,
        }
        return Forest.from_arrays(arrays, self.n_features)


def random_forest(
    rng: np.random.Generator, n_trees: int, n_features: int, n_classes: int, categorical: frozenset[int], depth: int
) -> Forest:
    """Made-up trees; categories need one or two words of bits."""
    if n_trees == 0:
        return Forest.without_trees(n_features, n_classes)
    trees = Trees(rng, n_features, categorical, int(rng.integers(1, 3)), depth)
    for _ in range(n_trees):
        trees.add_tree()
    return trees.forest(n_classes)


# Values of leaves.


@dataclass(frozen=True)
class Scores:
    """What the leaves of an ensemble add, and what becomes of it."""

    values: NDArray[np.float64]  # (n_leaves, n_classes)
    base: NDArray[np.float64]  # (n_classes,)
    link: Link


def _votes(rng: np.random.Generator, forest: Forest, k: int) -> Scores:
    return Scores(np.eye(k)[rng.integers(k, size=forest.n_leaves)], np.zeros(k), "mean")


def _equal(rng: np.random.Generator, forest: Forest, k: int) -> Scores:
    """Every leaf says the same, but for a few: ties wherever one looks."""
    votes = np.where(rng.random(forest.n_leaves) < 0.2, rng.integers(k, size=forest.n_leaves), 0)
    return Scores((np.eye(k)[votes] + np.eye(k)[(votes + 1) % k]) / 2, np.zeros(k), "mean")


def _eighths(rng: np.random.Generator, forest: Forest, k: int) -> Scores:
    cuts = np.sort(rng.integers(0, 9, (forest.n_leaves, k - 1)), axis=1)
    edges = np.column_stack([np.zeros(forest.n_leaves), cuts, np.full(forest.n_leaves, 8)])
    return Scores(np.diff(edges, axis=1) / 8, np.zeros(k), "mean")


def _shares(rng: np.random.Generator, forest: Forest, k: int) -> Scores:
    counts = rng.integers(0, 12, (forest.n_leaves, k)) + np.eye(k)[rng.integers(k, size=forest.n_leaves)]
    return Scores(counts / counts.sum(axis=1, keepdims=True), np.zeros(k), "mean")


def _two_margins(rng: np.random.Generator, forest: Forest, k: int) -> Scores:
    values = np.column_stack([np.zeros(forest.n_leaves), rng.integers(-8, 9, forest.n_leaves) / 4])
    return Scores(values, np.array([0, rng.integers(-8, 9) / 4]), "sigmoid")


def _margins(rng: np.random.Generator, forest: Forest, k: int) -> Scores:
    values = np.column_stack([np.zeros(forest.n_leaves), rng.normal(size=forest.n_leaves) * 0.3])
    return Scores(values, np.array([0, rng.normal() * 0.3]), "sigmoid")


def _classes(rng: np.random.Generator, forest: Forest, k: int) -> Scores:
    return Scores(rng.normal(size=(forest.n_leaves, k)) * 0.3, rng.normal(size=k) * 0.3, "softmax")


def _rounds(rng: np.random.Generator, forest: Forest, k: int) -> Scores:
    """As boosters do it: a tree adds to one class only."""
    tree = np.searchsorted(forest.leaf_offsets, np.arange(forest.n_leaves), side="right") - 1
    return Scores(np.eye(k)[tree % k] * rng.normal(size=(forest.n_leaves, 1)), np.zeros(k), "softmax")


def _one_against_all(rng: np.random.Generator, forest: Forest, k: int) -> Scores:
    rounds = _rounds(rng, forest, k)
    return Scores(rounds.values, rounds.base, "one_vs_all")


def _single(rng: np.random.Generator, forest: Forest, k: int) -> Scores:
    values = rng.normal(size=(forest.n_leaves, k)).astype(np.float32).astype(np.float64)
    return Scores(values, np.zeros(k), "softmax")


def _small_change(rng: np.random.Generator, forest: Forest, k: int) -> Scores:
    """Large values that all but cancel, beside tiny ones that decide."""
    large = np.eye(k)[rng.integers(k, size=forest.n_leaves)] * (1 - 2.0**-24 * rng.integers(0, 3, (forest.n_leaves, 1)))
    return Scores(large + 2.0**-26 * rng.integers(-6, 7, (forest.n_leaves, k)), np.zeros(k), "softmax")


VALUES: dict[str, Callable[[np.random.Generator, Forest, int], Scores]] = {
    "votes": _votes,
    "two shares": _eighths,
    "two margins": _two_margins,
    "shares": _shares,
    "margins": _margins,
    "classes": _classes,
    "rounds": _rounds,
    "one against all": _one_against_all,
    "single": _single,
    "equal": _equal,
    "small change": _small_change,
}
TWO_CLASSES = ("two shares", "two margins", "margins")


# Whole cases.


@dataclass(frozen=True, eq=False)
class Case:
    """An ensemble with prices, and rows to read."""

    ensemble: Ensemble
    costs: FeatureCosts
    rows: NDArray[Any]  # (n_rows, n_features)
    seed: int

    def acquirer(self, order: Order | None = None) -> Acquirer:
        return Acquirer(self.ensemble, self.costs, order or Order())

    @property
    def full_labels(self) -> NDArray[np.intp]:
        """The label of each row when everything is read, (n_rows,)."""
        return self.ensemble.label_numbers(self.ensemble.scores(self.rows)[0])


def random_costs(n_features: int, rng: np.random.Generator) -> FeatureCosts:
    """Equal, decimal or partly free prices; overlapping groups every other time."""
    lists = [[1.0], [0.1, 0.2, 0.3, 0.7], [0.0, 0.0, 1.0, 2.0], [0.0], [0.37, 1.19, 2.09, 15.51]]
    own = rng.choice(lists[rng.integers(len(lists))], n_features)
    groups = {}
    for g in range(rng.choice([0, 0, 1, 3])):
        members = rng.choice(n_features, rng.integers(1, n_features + 1), replace=False).tolist()
        groups[f"group {g}"] = Group(members=members, cost=float(rng.choice([0, 0.1, 0.5, 2.1])))
    return FeatureCosts(own, groups=groups)


def random_rows(rng: np.random.Generator, n_rows: int, n_features: int, categorical: frozenset[int]) -> NDArray[Any]:
    """Values that hit thresholds, lie between them or are missing; categories also beyond all sets."""
    rows = np.where(rng.random((n_rows, n_features)) < 0.5, rng.choice(FEW, (n_rows, n_features)), 0.0)
    rows = np.where(rows == 0, rng.integers(-90, 90, rows.shape) / 32, rows)
    for f in categorical:
        rows[:, f] = rng.choice([*range(130), 500], n_rows)
    rows[rng.random(rows.shape) < 0.12] = np.nan
    return rows


def random_case(
    seed: int, *, kinds: tuple[str, ...] = KINDS, most_trees: int = 12, most_features: int = 9, n_rows: int = 12
) -> Case:
    """A case that is a function of the seed and the limits."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(kinds))
    n_features = int(rng.integers(1, most_features + 1))
    if most_features > 8 and rng.random() < 0.1:
        n_features = 80  # more than bits in a word
    n_trees = 0 if rng.random() < 0.03 else int(rng.integers(1, most_trees + 1))
    n_classes = 2 if kind in TWO_CLASSES else int(rng.integers(2, 6))
    categorical = frozenset(np.flatnonzero(rng.random(n_features) < rng.choice([0, 0.3])).tolist())
    forest = random_forest(rng, n_trees, n_features, n_classes, categorical, depth=int(rng.integers(1, 6)))
    scores = VALUES[kind](rng, forest, n_classes)
    base = rng.dirichlet(np.ones(n_classes)) if n_trees == 0 and scores.link == "mean" else scores.base
    ensemble = Ensemble(forest, scores.values, base, scores.link, np.arange(n_classes) * 10, plain_encoder(n_features))
    return Case(ensemble, random_costs(n_features, rng), random_rows(rng, n_rows, n_features, categorical), seed)


def plain_encoder(n_features: int) -> FeatureEncoder:
    """Numbers as they are, without names."""
    return FeatureEncoder(n_features, None, {}, np.zeros(n_features, dtype=bool))


def random_order(rng: np.random.Generator, **fixed: Any) -> Order:
    """Every setting drawn; `fixed` ones are as given."""
    settings = {
        "by": str(rng.choice(BY)),
        "bounds": str(rng.choice(BOUNDS)),
        "hope": float(rng.choice([0.0, 0.45, 1.0])),
        "most_visits": int(rng.choice([0, 1, 3, 64])),
        "range_weight": float(rng.choice([0, 0.25])),
        "boxes": int(rng.choice([0, 0, 4, 60])),
    }
    return Order(**(settings | fixed))


def random_rule(rng: np.random.Generator, costs: FeatureCosts, name: str | None = None) -> StopRule:
    """A stop rule of this name, or of any, with numbers that matter."""
    name = name or str(rng.choice(["label", "all", "confidence", "budget"]))
    if name == "confidence":
        return StopRule("confidence", confidence=float(rng.choice([0.0, 0.1, 0.4, 1.0, np.inf])))
    if name == "budget":
        return StopRule("budget", budget=float(rng.choice([0.0, 0.3, 0.7, costs.total / 3, costs.total])))
    return StopRule(name)


# Trees by hand.


def made_up_stump(feature: int, values: list[list[float]]) -> dict[str, Any]:
    """A tree that splits a feature at 0, with these values of its left and right leaf."""
    return {"feature": [feature, -1, -1], "right": [2, 0, 1], "values": values}


def made_up_leaf(values: list[float]) -> dict[str, Any]:
    """A tree that is one leaf."""
    return {"feature": [-1], "right": [0], "values": [values]}


def joined_case(trees: list[dict[str, Any]], costs: FeatureCosts, rows: Any, link: Link = "mean") -> Case:
    """A case of hand-made trees."""
    forests = []
    for tree in trees:
        n_nodes, n_leaves = len(tree["feature"]), len(tree["values"])
        arrays = {
            "node_offsets": np.array([0, n_nodes], np.int64),
            "leaf_offsets": np.array([0, n_leaves], np.int64),
            "feature": np.array(tree["feature"], np.int32),
            "threshold": np.zeros(n_nodes),
            "missing_left": np.zeros(n_nodes, np.uint8),
            "right": np.array(tree["right"], np.int32),
            "category_set": np.full(n_nodes, -1, np.int32),
            "category_sets": np.zeros((0, 1), np.uint64),
            "leaf_counts": np.ones((n_leaves, len(tree["values"][0]))),
        }
        forests.append(Forest.from_arrays(arrays, costs.n_features))
    values = np.array([row for tree in trees for row in tree["values"]], dtype=np.float64)
    k = values.shape[1]
    encoder = plain_encoder(costs.n_features)
    ensemble = Ensemble(Forest.joined(forests), values, np.zeros(k), link, np.arange(k), encoder)
    return Case(ensemble, costs, np.array(rows, dtype=np.float64), 0)
