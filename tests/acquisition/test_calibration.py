"""Calibration: the least confidence that keeps disagreement with the full ensemble where it was wanted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import frugalforest as ff
from acquisition.ensembles import Case, plain_encoder, random_case, random_costs, random_forest, random_rows
from frugalforest.acquisition import StopRule
from frugalforest.acquisition.calibration import CERTAINTY, LEVELS, _upper_bound, calibrate
from frugalforest.ensemble import Ensemble


def voting_case(seed=0, n_rows=1500, n_trees=25, n_features=8):
    """Enough trees that being sure before a proof pays, and is sometimes wrong."""
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, n_trees, n_features, 2, frozenset(), depth=4)
    values = np.eye(2)[(rng.random(forest.n_leaves) < 0.55).astype(int)]
    ensemble = Ensemble(forest, values, np.zeros(2), "mean", np.arange(2), plain_encoder(n_features))
    return Case(ensemble, random_costs(n_features, rng), random_rows(rng, n_rows, n_features, frozenset()), seed)


def disagreements(acquirer, rows, full, level):
    return int((acquirer.evaluate(rows, StopRule("confidence", confidence=level)).label_numbers != full).sum())


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_every_threshold_by_itself(seed):
    case = voting_case(seed, 300)
    acquirer = case.acquirer()
    levels = np.append(LEVELS[:-1:7], np.inf)
    ends = acquirer.ends_at(case.rows, levels[:-1])
    for i, level in enumerate(levels):  # the last is a proof
        alone = acquirer.evaluate(case.rows, StopRule("confidence", confidence=level))
        assert np.array_equal(ends.label_numbers[:, i], alone.label_numbers), level
        assert np.array_equal(ends.bills[:, i], case.costs.of_rows(alone.mask)), level
        assert np.allclose(ends.probabilities[:, i], alone.probabilities, rtol=0, atol=1e-12), level


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("wanted", [0.003, 0.01, 0.05, 0.2])
def test_the_threshold_is_the_least_that_holds(seed, wanted):
    case = voting_case(seed)
    acquirer = case.acquirer()
    found = calibrate(acquirer, case.rows, wanted)
    counts = np.array([disagreements(acquirer, case.rows, case.full_labels, level) for level in LEVELS[::10]])
    for level, count in zip(LEVELS[::10], counts, strict=True):
        if level >= found.confidence:
            assert count / len(case.rows) <= wanted
    count = disagreements(acquirer, case.rows, case.full_labels, found.confidence)
    assert found.rate == count / len(case.rows)
    assert found.rate <= found.rate_bound <= wanted
    assert found.n_rows == len(case.rows)
    below = LEVELS[np.searchsorted(LEVELS, found.confidence) - 1] if found.confidence > LEVELS[0] else None
    if below is not None:
        worse = disagreements(acquirer, case.rows, case.full_labels, below)
        assert _upper_bound(np.array([worse]), len(case.rows))[0] > wanted


def test_some_of_these_thresholds_are_worth_something():
    case = voting_case(1)
    acquirer = case.acquirer()
    found = calibrate(acquirer, case.rows, 0.05)
    assert np.isfinite(found.confidence)
    sure = acquirer.evaluate(case.rows, StopRule("confidence", confidence=found.confidence)).mask.sum()
    assert sure < acquirer.evaluate(case.rows, StopRule("label")).mask.sum()


@pytest.mark.parametrize("n", [1, 5, 30, 400])
def test_the_bound_is_the_rate_under_which_so_few_are_improbable(n):
    """By its definition: at the bound, at most this many disagreements have probability 1 - CERTAINTY."""
    for count in {0, 1, n // 2, n - 1} - {n}:
        bound = float(_upper_bound(np.array([count]), n)[0])
        assert binom.cdf(count, n, bound) == pytest.approx(1 - CERTAINTY, rel=1e-6)
    assert _upper_bound(np.array([n]), n)[0] == 1


@pytest.mark.parametrize("wanted", [0.0, 1e-9])
def test_without_allowed_disagreement_only_a_proof_will_do(wanted):
    case = voting_case()
    found = calibrate(case.acquirer(), case.rows, wanted)
    assert (found.confidence, found.rate, found.rate_bound) == (np.inf, 0, 0)


def test_too_few_rows_say_nothing():
    case = voting_case(n_rows=20)
    assert calibrate(case.acquirer(), case.rows, 0.05).confidence == np.inf
    found = calibrate(case.acquirer(), case.rows[:0], 0.05)
    assert (found.confidence, found.rate, found.n_rows) == (np.inf, 0, 0)


def test_any_disagreement_allows_any_confidence():
    for seed in range(10):
        case = random_case(seed, n_rows=40)
        found = calibrate(case.acquirer(), case.rows, 1.0)
        assert found.confidence == LEVELS[0]


def test_threads_do_not_matter():
    case = voting_case()
    assert calibrate(case.acquirer(), case.rows, 0.05, 1) == calibrate(case.acquirer(), case.rows, 0.05, 3)


def test_other_rows_disagree_as_rarely():
    """The bound holds for rows of the same kind: nine times out of ten, and ten of ten within a slack of two."""
    rates = []
    for seed in range(10):
        case = voting_case(seed, 3000)
        acquirer = case.acquirer()
        found = calibrate(acquirer, case.rows[:1500], 0.02)
        rates.append(disagreements(acquirer, case.rows[1500:], case.full_labels[1500:], found.confidence) / 1500)
    assert np.mean(np.array(rates) <= 0.02) >= 0.7
    assert max(rates) <= 0.04


def test_the_estimator_calibrates_itself():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 6))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    model = ff.OnDemand(ff.StandardForestClassifier(20, random_state=0), stop="confidence", disagreement=0.05).fit(X, y)
    assert model.calibration_.n_rows == 200
    assert model.calibration_.rate_bound <= 0.05
    full = model.estimator_.predict(X)
    assert np.mean(model.predict(X) != full) <= 0.05
