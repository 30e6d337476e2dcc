"""Random small problems for boosting, in the shapes that trip histogram code, and the comparison with the twin."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

import naive
import naive_boosting
from frugalforest.boosting import BoostedTrees, Booster, BoostingRows, BoostOptions
from frugalforest.boosting.losses import base_scores
from frugalforest.costs import FeatureCosts
from frugalforest.data import BinnedData
from growing.problems import make_bins, random_codes, random_costs


@dataclass
class Problem:
    """Everything a booster needs, for the core and for the twin."""

    rows: BoostingRows
    options: BoostOptions
    costs: FeatureCosts
    tradeoff: float
    seed: int = 0
    budget: float = np.inf


def random_problem(seed: int, **fixed: Any) -> Problem:
    rng = np.random.default_rng(seed)
    n_rows, n_features = int(rng.choice([12, 30, 64, 90])), int(rng.integers(1, 6))
    n_classes = int(rng.choice([2, 2, 2, 3]))
    labels = rng.integers(0, n_classes, n_rows).astype(np.int32)
    labels[:n_classes] = np.arange(n_classes)
    is_categorical = rng.random(n_features) < 0.25
    n_bins = rng.choice([1, 2, 3, 7, 20], n_features)
    columns: list[Any] = []
    for n in n_bins:
        columns.append((random_codes(int(n), labels, columns, rng), n))
    binned = BinnedData(np.array([codes for codes, _ in columns]), make_bins(n_bins, is_categorical, rng))
    weights = rng.choice([0.25, 1.0, 2.0], n_rows) if rng.random() < 0.3 else None
    class_weight = rng.choice([0.5, 1.0, 3.0], n_classes) if rng.random() < 0.3 else None
    rows = BoostingRows(_matrix(binned), binned, labels, n_classes, weights, class_weight)
    options = BoostOptions(**{**_random_options(n_features, n_classes, is_categorical, rng), **fixed})
    tradeoff = float(rng.choice([0, 0.001, 0.01, 0.05]))
    costs, core_seed = random_costs(n_features, rng), int(rng.integers(2**32))
    budget = float(rng.random() * costs.total) if rng.random() < 0.4 else np.inf
    return Problem(rows, options, costs, tradeoff, core_seed, budget)


def _random_options(n_features: int, n_classes: int, is_categorical: Any, rng: np.random.Generator) -> dict[str, Any]:
    options: dict[str, Any] = {
        "loss": rng.choice(["log_loss", "log_loss", "squared"]).item(),
        "charge": rng.choice(["row", "row", "forest"]).item(),
        "learning_rate": float(rng.choice([0.1, 0.5, 1.0])),
        "max_leaves": int(rng.choice([2, 4, 8, 31])),
        "max_depth": [None, None, 1, 3][rng.integers(4)],
        "min_samples_leaf": int(rng.choice([1, 2, 5])),
        "l2": float(rng.choice([0, 0.5, 3])),
        "min_category_rows": int(rng.choice([1, 3, 10])),
        "category_smoothing": float(rng.choice([0.5, 10])),
        "subsample": float(rng.choice([1, 1, 0.6])),
        "colsample": float(rng.choice([1, 1, 0.5])),
        "price_per_split": float(rng.choice([0, 0, 0.001])),
    }
    if n_classes == 2 and rng.random() < 0.3:
        options["monotone"] = np.where(is_categorical, 0, rng.integers(-1, 2, n_features)).astype(np.int8)
    if rng.random() < 0.2:
        sets = rng.random((2, n_features)) < 0.6
        options["interactions"] = np.vstack([sets, ~sets.any(axis=0)])
    return options


def _matrix(binned: BinnedData) -> np.ndarray:
    """Numbers with these codes: a value inside each bin, NaN where missing."""
    bins, codes = binned.bins, binned.codes
    matrix = np.full(codes.T.shape, np.nan)
    for f, column in enumerate(codes):
        known = column != naive.MISSING
        matrix[known, f] = bins.bin_max[bins.bin_offsets[f] + column[known]]
    return matrix


def compiled(problem: Problem, n_rounds: int, n_threads: int = 1, **more: Any) -> Booster:
    booster = Booster(problem.rows, problem.options, problem.costs, seed=problem.seed, n_threads=n_threads, **more)
    for _ in range(n_rounds):
        booster.grow_round(problem.tradeoff, budget=problem.budget)
    return booster


def twin(problem: Problem) -> naive_boosting.NaiveBooster:
    rows, costs = problem.rows, problem.costs
    names = {f.name for f in fields(naive_boosting.Options)}
    options = naive_boosting.Options(**{k: v for k, v in asdict(problem.options).items() if k in names})
    return naive_boosting.NaiveBooster(
        rows.binned.codes,
        rows.binned.bins.n_bins,
        rows.binned.bins.is_categorical,
        rows.labels,
        rows.n_classes,
        naive.Costs(costs.own.tolist(), costs.shared.tolist(), costs.membership.T.tolist()),
        options,
        weights=rows.weights,
        class_weight=rows.class_weight,
        seed=problem.seed,
        base=base_scores(rows, problem.options.loss),
    )


def assert_same_tree(trees: BoostedTrees, number: int, expected: list[naive_boosting.Node], problem: Problem) -> None:
    """Node by node: the same features and codes, and nearly the same gains, prices and values."""
    forest = trees.forest
    first = int(forest.node_offsets[number])
    found = forest.nodes(number)
    nodes = naive_boosting.preorder(expected)
    assert [node.feature for node in found] == [-1 if n.split is None else n.split.feature for n in nodes]
    for i, (node, wanted) in enumerate(zip(found, nodes, strict=True)):
        where = f"tree {number}, node {i}"
        if wanted.split is None:
            assert node.counts == (len(wanted.rows),), where
            value = trees.values[forest.right[first + i]]
            np.testing.assert_allclose(value, wanted.value, rtol=1e-6, atol=1e-9, err_msg=where)
            continue
        assert goes_left(problem, node) == wanted.split.left_codes & codes_of(problem, node.feature), where
        np.testing.assert_allclose(trees.gains[first + i], wanted.split.gain, rtol=1e-6, atol=1e-9, err_msg=where)
        np.testing.assert_allclose(trees.charged[first + i], wanted.charged, rtol=1e-6, atol=1e-12, err_msg=where)


def codes_of(problem: Problem, feature: int) -> frozenset[int]:
    """All codes that a value of the feature can have."""
    return frozenset([*range(problem.rows.binned.bins.n_bins[feature]), naive.MISSING])


def goes_left(problem: Problem, node: Any) -> frozenset[int]:
    """Codes that a node of the forest sends left."""
    bins, f = problem.rows.binned.bins, node.feature
    missing = {naive.MISSING} if node.missing_left else set()
    if node.left_categories is not None:
        return frozenset(node.left_categories | missing) & codes_of(problem, f)
    values = bins.bin_max[bins.bin_offsets[f] : bins.bin_offsets[f + 1]]
    return frozenset(np.flatnonzero(values <= node.threshold).tolist()) | missing


def interrupt_after_rounds(n_rounds: int, monkeypatch: Any) -> None:
    """Ctrl-C when one more round than this is about to be grown."""
    plain, done = Booster.grow_round, []

    def grow_round(self, *args, **options):
        if len(done) == n_rounds:
            raise KeyboardInterrupt
        done.append(1)
        return plain(self, *args, **options)

    monkeypatch.setattr(Booster, "grow_round", grow_round)
