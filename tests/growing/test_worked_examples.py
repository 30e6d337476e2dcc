"""The paper's worked examples by the compiled engines and BudgetForestClassifier; by the twin: tests/test_naive.py."""

from dataclasses import replace

import numpy as np
import pytest

from frugalforest import BudgetForestClassifier, FeatureCosts
from frugalforest.data import Bins
from frugalforest.forest import Forest
from frugalforest.growing import Growth, TrainingSet, grow, tree_seeds
from frugalforest.impurities import ThresholdPairs
from growing.problems import INSTRUCTION_SETS, Problem, compare

engines = pytest.mark.parametrize("engine", ["bisection", "histogram"])


def tree(X, y, growth, engine="auto", instruction_set="auto"):
    """One tree without bootstrap -> its forest, and the gain of its root."""
    data = TrainingSet(Bins.learn(X).transform(X), labels=y)
    arrays = grow(
        data,
        replace(growth, bootstrap=False),
        FeatureCosts.unit(X.shape[1]),
        tree_seeds(0, 1),
        engine=engine,
        instruction_set=instruction_set,
        with_gains=True,
    ).arrays
    return Forest.from_arrays(arrays, X.shape[1]), arrays["gain"][0]


# Figure 1: 30 circles and 30 triangles; t1 sets 20 triangles apart, t2 halves both classes.

FIGURE_1 = np.array([[0] * 40 + [1] * 20, [0] * 15 + [1] * 15 + [0] * 15 + [1] * 15]).T.astype(float)
FIGURE_1_LABELS = np.repeat([0, 1], 30)


@engines
@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
@pytest.mark.parametrize(
    ("impurity", "gain_t1", "gain_t2", "chosen"),
    [
        (ThresholdPairs(0), 600, 675, 1),
        (ThresholdPairs(0, offset=False), 600, 675, 1),
        (ThresholdPairs(8, offset=False), 440, 435, 0),
        (ThresholdPairs(8), 420, 420, 0),  # a tie: the first feature
    ],
    ids=str,
)
def test_figure_1(impurity, gain_t1, gain_t2, chosen, engine, instruction_set):
    growth = Growth(impurity, max_depth=1)
    for feature, gain in enumerate((gain_t1, gain_t2)):
        _, found = tree(FIGURE_1[:, [feature]], FIGURE_1_LABELS, growth, engine, instruction_set)
        assert found == 2 * gain  # eq. (11) sums over both orders of a pair
    both, _ = tree(FIGURE_1, FIGURE_1_LABELS, growth, engine, instruction_set)
    assert both.feature[0] == chosen
    swapped, _ = tree(FIGURE_1[:, ::-1], FIGURE_1_LABELS, growth, engine, instruction_set)
    assert swapped.feature[0] == (0 if gain_t1 == gain_t2 else 1 - chosen)


@pytest.mark.parametrize(("alpha", "chosen"), [(0, 1), (8, 0)])
def test_figure_1_by_the_estimator(alpha, chosen):
    model = BudgetForestClassifier(bootstrap=False, n_estimators=1, alpha=alpha, max_depth=1)
    model.fit(FIGURE_1, FIGURE_1_LABELS, eval_set=(FIGURE_1, FIGURE_1_LABELS))
    assert model.forest_.feature[0] == chosen
    assert model.alpha_ == alpha


# All 10-bit patterns, class = top two bits, but four patterns carry the next class.

PATTERNS = np.array([[pattern >> bit & 1 for bit in range(9, -1, -1)] for pattern in range(1024)])
PATTERN_LABELS = np.array([(pattern // 256 + (pattern % 256 == 0)) % 4 for pattern in range(1024)])
AFTER_ALPHA = [(0, 10, 0), (1, 2, 4), (1.5, 2, 4), (8, 2, 4), (25, 2, 4)]


@engines
@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize(("alpha", "cost", "errors"), AFTER_ALPHA, ids=str)
def test_patterns(alpha, cost, errors, offset, engine):
    growth = Growth(ThresholdPairs(alpha, offset))
    for instruction_set in INSTRUCTION_SETS:
        forest, _ = tree(PATTERNS, PATTERN_LABELS, growth, engine, instruction_set)
        assert forest.features_read(PATTERNS).sum(axis=1).max() == cost
        predicted = forest.sums(PATTERNS, forest.leaf_votes)[0].argmax(axis=1)
        assert (predicted != PATTERN_LABELS).sum() == errors


@pytest.mark.parametrize("alpha", [0, 1, 8, 25])
def test_patterns_node_by_node(alpha):
    binned = Bins.learn(PATTERNS).transform(PATTERNS)
    growth = Growth(ThresholdPairs(alpha), bootstrap=False)
    compare(Problem(binned, PATTERN_LABELS, 4, growth, FeatureCosts.unit(10)), ["auto"])


@pytest.mark.parametrize(("alpha", "cost", "errors"), AFTER_ALPHA, ids=str)
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32, bool])
def test_patterns_by_the_estimator(alpha, cost, errors, dtype):
    X = PATTERNS.astype(dtype)
    model = BudgetForestClassifier(bootstrap=False, n_estimators=1, alpha=alpha)
    model.fit(X, PATTERN_LABELS, eval_set=(X, PATTERN_LABELS))
    assert model.acquisition_cost(X).max() == cost
    assert (model.predict(X) != PATTERN_LABELS).sum() == errors
    assert model.validation_error_ == errors / 1024
    assert model.validation_cost_ == model.acquisition_cost(X).mean()
    assert (model.alpha_, model.n_estimators_) == (alpha, 1)


def test_alpha_buys_the_two_bits_that_matter():
    model = BudgetForestClassifier(bootstrap=False, n_estimators=1, alpha=8)
    model.fit(PATTERNS, PATTERN_LABELS, eval_set=(PATTERNS, PATTERN_LABELS))
    np.testing.assert_array_equal(model.acquisition_mask(PATTERNS), np.tile(np.arange(10) < 2, (1024, 1)))


def test_a_budget_of_two_is_met_by_alpha():
    # Without an alpha that lets four patterns go, no tree costs 2 on average; with one there is.
    model = BudgetForestClassifier(2.0, bootstrap=False, n_estimators=1, alpha=[0, 1])
    model.fit(PATTERNS, PATTERN_LABELS, eval_set=(PATTERNS, PATTERN_LABELS))
    assert (model.alpha_, model.validation_cost_, model.validation_error_) == (1, 2.0, 4 / 1024)
    at_any_price = BudgetForestClassifier(bootstrap=False, n_estimators=1, alpha=[0, 1])
    at_any_price.fit(PATTERNS, PATTERN_LABELS, eval_set=(PATTERNS, PATTERN_LABELS))
    assert (at_any_price.alpha_, at_any_price.validation_error_) == (0, 0.0)
    assert at_any_price.validation_cost_ > 2


@engines
def test_a_very_large_alpha_misses_the_point(engine):
    # tests/test_naive.py says why: for alpha > 32 four halved classes count less than two whole ones.
    def root(alpha):
        forest, _ = tree(PATTERNS, PATTERN_LABELS, Growth(ThresholdPairs(alpha), max_depth=1), engine)
        return forest.feature[0]

    assert root(31) in (0, 1)
    assert root(33) not in (0, 1)
