"""Random problems of tree growing, and how one problem is grown by the compiled core and by the naive twin.

Weights and targets are dyadic (eighths, quarters, or on the grid of growing/weights.py), so that every sum is exact
and a difference between the two is a difference in the rules. `random_problem(seed)` is a function of the seed: a
failure is repeated by its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import naive
from frugalforest import FeatureCosts, Group, _core
from frugalforest.data import MISSING, BinnedData, Bins
from frugalforest.growing import Growth, TrainingSet, grow
from frugalforest.growing.weights import on_grid
from frugalforest.impurities import Entropy, Gini, Polynomial, Powers, ThresholdPairs

INSTRUCTION_SETS = _core.instruction_sets()


def misclassified(counts):
    """A user's own impurity: rows outside the majority class. Neither smooth nor supermodular."""
    return counts.sum(axis=1) - counts.max(axis=1)


def mixed_polynomial(n_classes: int) -> Polynomial:
    """Products of neighbouring classes with different powers."""
    terms = []
    for c in range(n_classes - 1):
        powers = [0] * n_classes
        powers[c], powers[c + 1] = 1 + c % 2, 1 + (c + 1) % 3
        terms.append((2.0 ** -(c % 3), powers))
    return Polynomial([*terms, (0.25, [1] * n_classes)])


# name -> impurity for k classes
IMPURITIES = {
    **{
        f"pairs {alpha}{'' if offset else ' plain'}": (lambda k, a=alpha, o=offset: ThresholdPairs(a, o))
        for alpha in (0, 0.5, 1, 4)
        for offset in (True, False)
    },
    **{f"powers {power}": (lambda k, p=power: Powers(p)) for power in (2, 3, 4, 5)},
    "polynomial": mixed_polynomial,
    "gini": lambda k: Gini(),
    "entropy": lambda k: Entropy(),
    "variance": lambda k: "variance",
    "own": lambda k: misclassified,
}
OBJECTIVES = {
    "risk": {"objective": "risk"},
    "penalized 0": {"objective": "penalized", "tradeoff": 0.0},
    "penalized": {"objective": "penalized"},
}


@dataclass(frozen=True, eq=False)
class Problem:
    """What one tree is grown from; labels are targets if the impurity is "variance"."""

    binned: BinnedData
    labels: NDArray[Any]
    n_classes: int
    growth: Growth
    costs: FeatureCosts
    tree_seed: int = 0
    weights: NDArray[np.float64] | None = None
    class_weight: NDArray[np.float64] | None = None
    paid: NDArray[np.bool_] | None = None
    ledger: NDArray[np.bool_] | None = None

    @property
    def is_regression(self) -> bool:
        return isinstance(self.growth.impurity, str)

    def training_set(self) -> TrainingSet:
        given = {"targets": self.labels} if self.is_regression else {"labels": self.labels, "n_classes": self.n_classes}
        class_weight = None if self.is_regression else self.class_weight
        return TrainingSet(self.binned, weights=self.weights, class_weight=class_weight, **given)

    def weighted_targets(self) -> NDArray[np.float64] | None:
        """What regression sums, as TrainingSet rounds it."""
        if not self.is_regression:
            return None
        return on_grid(self.labels if self.weights is None else self.labels * self.weights)

    def engines(self) -> list[str]:
        """The engines that may grow this problem."""
        growth = self.growth
        weighted = self.weights is not None and not np.all(self.weights == 1)
        admissible = isinstance(growth.impurity, ThresholdPairs | Powers | Polynomial)
        minimax = admissible and growth.splitting == "minimax" and growth.objective == "risk"
        bisection = minimax and growth.charge != "forest"
        return ["histogram", "bisection"] if bisection and not weighted and not self.is_regression else ["histogram"]


# Growing.


def compiled(problem: Problem, engine: str = "auto", instruction_set: str = "auto", seeds: Any = None, **options: Any):
    """The core's arrays, for the problem's own seed or several."""
    seeds = np.array([problem.tree_seed] if seeds is None else seeds, dtype=np.uint64)
    training_set = options.pop("training_set", None) or problem.training_set()
    options |= {"engine": engine, "instruction_set": instruction_set}
    options |= {"paid": problem.paid, "ledger": problem.ledger}
    return grow(training_set, problem.growth, problem.costs, seeds, with_gains=True, **options).arrays


def twin(problem: Problem, tree_seed: int | None = None) -> list[naive.Node]:
    """The naive twin's nodes."""
    growth, costs, bins = problem.growth, problem.costs, problem.binned.bins
    seed = problem.tree_seed if tree_seed is None else tree_seed
    n_rows = problem.binned.n_rows
    return naive.grow_tree(
        problem.binned.codes,
        bins.n_bins,
        problem.labels,
        is_categorical=bins.is_categorical,
        n_classes=problem.n_classes,
        draws=naive.bootstrap_draws(seed, n_rows) if growth.bootstrap else None,
        weights=problem.weights,
        weighted_targets=problem.weighted_targets(),
        class_weight=None if problem.is_regression else problem.class_weight,
        tree_seed=seed,
        edges=parts(bins.edges, bins.edge_offsets),
        bin_min=parts(bins.bin_min, bins.bin_offsets),
        bin_max=parts(bins.bin_max, bins.bin_offsets),
        costs=(costs.own, costs.shared, costs.membership.T),
        paid=problem.paid,
        ledger=problem.ledger,
        **{name: value for name, value in vars(growth).items() if name != "bootstrap"},
    )


def parts(values: NDArray[Any], offsets: NDArray[np.int64]) -> list[NDArray[Any]]:
    return [values[a:b] for a, b in pairwise(offsets)]


# Comparing.


def compiled_nodes(arrays: dict[str, NDArray[Any]], tree: int = 0) -> list[naive.Node]:
    """One tree of the core as the twin writes it. The core keeps counts of leaves only, and no sizes."""
    first, last = arrays["node_offsets"][tree : tree + 2]
    nodes = []
    for i in range(first, last):
        feature, right = int(arrays["feature"][i]), int(arrays["right"][i])
        if feature < 0:
            counts = tuple(arrays["leaf_counts"][right].tolist())
            nodes.append(naive.Node(-1, -1, False, None, -1, -1, counts, 0, 0.0))
            continue
        left_categories, threshold = None, int(arrays["code"][i])
        if arrays["category_set"][i] >= 0:
            threshold = -1
            words = [int(word) for word in arrays["category_sets"][arrays["category_set"][i]]]
            left_categories = frozenset(c for c in range(255) if words[c // 64] >> c % 64 & 1)
        missing_left, gain = bool(arrays["missing_left"][i]), float(arrays["gain"][i])
        children = i + 1 - int(first), right - int(first)
        nodes.append(naive.Node(feature, threshold, missing_left, left_categories, *children, (), 0, gain))
    return nodes


def first_difference(expected: Sequence[naive.Node], found: Sequence[naive.Node]) -> str | None:
    """Where two trees differ first, in words; None if nowhere. Everything exactly, the gain to 1e-9."""
    for i, (a, b) in enumerate(zip(expected, found, strict=False)):
        counts = a.counts if a.feature < 0 else ()
        same = (a.feature, a.threshold, a.missing_left, a.left_categories, a.left, a.right, counts) == (
            (b.feature, b.threshold, b.missing_left, b.left_categories, b.left, b.right, b.counts)
        )
        if not same or abs(a.gain - b.gain) > 1e-9 * max(1.0, abs(a.gain)):
            return f"node {i}: the twin has {a}, the core {b}"
    if len(expected) != len(found):
        return f"the twin has {len(expected)} nodes, the core {len(found)}"
    return None


def compare(problem: Problem, instruction_sets: Sequence[str] = INSTRUCTION_SETS) -> int:
    """Grow by the twin and by every engine and instruction set; returns how many trees of the core were compared."""
    expected = twin(problem)
    training_set = problem.training_set()
    n_compared = 0
    for engine in problem.engines():
        for instruction_set in instruction_sets:
            arrays = compiled(problem, engine, instruction_set, training_set=training_set)
            difference = first_difference(expected, compiled_nodes(arrays))
            assert difference is None, f"{engine}, {instruction_set}, {problem.growth}: {difference}"
            n_compared += 1
    return n_compared


def assert_same_arrays(a: dict[str, NDArray[Any]], b: dict[str, NDArray[Any]]) -> None:
    """Bit for bit."""
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name, strict=True)


# Making problems up.


def make_bins(n_bins: Sequence[int], is_categorical: Sequence[bool], rng: np.random.Generator) -> Bins:
    """Bins with uneven edges; least value <= largest value <= edge < least value of the next bin."""
    cuts = []
    for n, categorical in zip(n_bins, is_categorical, strict=True):
        codes = np.arange(n, dtype=np.float64)
        points = np.cumsum(rng.random((n, 3)) * rng.choice([0.01, 1, 10], (n, 1)) + 2.0**-20).reshape(n, 3)
        cuts.append((np.empty(0), codes, codes) if categorical else (points[:-1, 2], points[:, 0], points[:, 1]))
    return Bins._join(cuts, np.array(is_categorical))


def random_codes(n_bins: int, labels: NDArray[Any], others: list[Any], rng: np.random.Generator) -> NDArray[np.uint8]:
    """A column in one of the shapes that have tripped tree growers."""
    n_rows = len(labels)
    if n_bins == 0:
        return np.full(n_rows, MISSING, np.uint8)
    shape = rng.choice(["noise", "informed", "gaps", "constant", "copy", "mirror", "ends", "rising"])
    fitting = [codes for codes, n in others if n == n_bins]
    if shape == "copy" and fitting:
        return fitting[rng.integers(len(fitting))].copy()
    if shape == "mirror" and fitting:
        codes = fitting[rng.integers(len(fitting))]
        return np.where(codes == MISSING, MISSING, n_bins - 1 - codes).astype(np.uint8)
    if shape == "informed":
        rank = np.argsort(np.argsort(labels, kind="stable"), kind="stable") / n_rows
        codes = np.clip((rank + 0.3 * rng.standard_normal(n_rows)) * n_bins, 0, n_bins - 1)
    elif shape == "gaps":
        codes = rng.choice(rng.integers(0, n_bins, 4), n_rows)
    elif shape == "constant":
        codes = np.full(n_rows, rng.integers(n_bins))
    elif shape == "ends":
        codes = rng.choice([0, n_bins - 1], n_rows)
    elif shape == "rising":
        codes = np.arange(n_rows) * n_bins // n_rows
    else:
        codes = rng.integers(0, n_bins, n_rows)
    codes = codes.astype(np.uint8)
    codes[rng.random(n_rows) < rng.choice([0, 0, 0.1, 0.5])] = MISSING
    return codes


def random_costs(n_features: int, rng: np.random.Generator) -> FeatureCosts:
    """Equal, tied, different or partly free prices, with overlapping groups every other time."""
    lists = [[1.0], [0.25, 0.5, 1.0, 1.0, 3.0], [0.0, 0.0, 1.0, 2.0], [0.0], [0.37, 1.19, 2.09, 15.51]]
    own = rng.choice(lists[rng.integers(len(lists))], n_features)
    groups = {}
    for g in range(rng.choice([0, 0, 1, 3])):
        members = rng.choice(n_features, rng.integers(1, n_features + 1), replace=False).tolist()
        groups[f"group {g}"] = Group(members=members, cost=float(rng.choice([0, 0.5, 2])))
    return FeatureCosts(own, groups=groups)


def random_size(rng: np.random.Generator) -> tuple[int, int, int]:
    """(n_rows, n_features, most bins): together small enough for the twin, whose work is rows^2 * features at most."""
    shares = [0.05] * 3 + [0.1] * 7 + [0.09, 0.06]
    n_rows = int(rng.choice([8, 13, 20, 33, 48, 63, 64, 65, 80, 129, 200, 300], p=shares))
    most_features, most_bins = (8, 255) if n_rows <= 65 else (6, 255) if n_rows <= 80 else (5, 24)
    if n_rows <= 48 and rng.random() < 0.2:
        most_features = 20  # features are bisected side by side, eight in a vector
    return n_rows, int(rng.integers(1, most_features + 1)), most_bins


def random_growth(n_features: int, n_classes: int, rng: np.random.Generator, **fixed: Any) -> Growth:
    """Every option drawn; `fixed` ones are as given."""
    maybe = lambda p, value: value if rng.random() < p else None  # noqa: E731
    options = {
        "impurity": IMPURITIES[rng.choice(list(IMPURITIES))](n_classes),
        "splitting": rng.choice(["minimax", "minimax", "expected"]),
        "thresholds": rng.choice(["all", "all", "random"]),
        "max_depth": maybe(0.2, int(rng.choice([0, 1, 2, 3, 5, 8]))),
        "max_features": maybe(0.3, int(rng.integers(1, n_features + 1))),
        "min_samples_leaf": int(rng.choice([1, 1, 1, 2, 3, 7])),
        "min_samples_split": int(rng.choice([2, 2, 2, 5, 12])),
        "max_distinct_features": maybe(0.15, int(rng.integers(0, n_features + 1))),
        "max_tree_cost": maybe(0.15, float(rng.choice([0, 1, 2.5, 4, 6]))),
        "charge": rng.choice(["always", "path", "forest", "ledger"]),
        "repeat_charge": float(rng.choice([0, 0.5, 1])),
        "bootstrap": bool(rng.random() < 0.5),
        **OBJECTIVES[rng.choice(["risk", "risk", "penalized 0", "penalized"])],
    }
    options["skip_constants"] = bool(rng.random() < 0.5)
    options["at_a_loss"] = bool(rng.random() < 0.3)
    options |= fixed
    if options["objective"] == "penalized":
        options.setdefault("tradeoff", float(rng.choice([2.0**-10, 2.0**-6, 0.125, 4])))
    return Growth(**{name: value.item() if isinstance(value, np.generic) else value for name, value in options.items()})


def random_problem(seed: int, size: tuple[int, int, int] | None = None, *, impurity: str | None = None, **fixed: Any):
    """A problem that is a function of the seed: everything drawn but what is given. size: rows, features, bins."""
    rng = np.random.default_rng(seed)
    n_rows, n_features, most_bins = random_size(rng) if size is None else size
    n_classes = int(rng.integers(2, 6))
    if impurity is not None:
        fixed["impurity"] = IMPURITIES[impurity](n_classes)
    growth = random_growth(n_features, n_classes, rng, **fixed)
    labels = rng.choice(n_classes, n_rows, p=rng.dirichlet(np.full(n_classes, 2.0)))
    if isinstance(growth.impurity, str):
        labels = rng.integers(-8, 9, n_rows) / rng.choice([1, 4])

    drawn = rng.choice([2, 3, 5, 24, 0, 1, 254, 255], n_features, p=[0.2] * 4 + [0.05] * 4)
    n_bins = [min(int(b), most_bins) for b in drawn]
    is_categorical = (rng.random(n_features) < 0.3).tolist()
    columns: list[tuple[NDArray[np.uint8], int]] = []
    for b in n_bins:
        columns.append((random_codes(b, labels, columns, rng), b))
    codes = np.array([column for column, _ in columns])
    if rng.random() < 0.2:  # duplicate rows
        again = rng.integers(0, n_rows, n_rows)
        codes, labels = np.ascontiguousarray(codes[:, again]), labels[again]

    kind = rng.random()
    weights = rng.integers(0, 9, n_rows) / 8 if kind < 0.25 else on_grid(rng.random(n_rows)) if kind < 0.35 else None
    lists = [[0.25, 0.5, 1.0, 1.5, 3.0], [0.0, 1.0], [1 / 3, 0.7, 1.1, 1 / 3]]
    class_weight = rng.choice(lists[rng.integers(3)], n_classes) if rng.random() < 0.3 else None
    paid = rng.random((n_rows, n_features)) < rng.choice([0.0, 0.3, 0.9]) if growth.charge == "forest" else None
    ledger = rng.random(n_features) < rng.choice([0.0, 0.3, 0.9]) if growth.charge == "ledger" else None
    return Problem(
        BinnedData(codes, make_bins(n_bins, is_categorical, rng)),
        labels,
        n_classes,
        growth,
        random_costs(n_features, rng),
        tree_seed=int(rng.integers(0, 2**64, dtype=np.uint64)),
        weights=weights,
        class_weight=class_weight,
        paid=paid,
        ledger=ledger,
    )
