"""Probabilities of scores: the least log-loss that a logistic curve can have, finite whatever the classes do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from frugalforest.linear_trees.link import NodeLink, _drawn_in, class_scores, fit_curve, softmax


def scored(seed, n_classes, n_rows=400):
    random = np.random.default_rng(seed)
    labels = random.integers(0, n_classes, n_rows)
    scores = np.eye(n_classes)[labels] + random.normal(size=(n_rows, n_classes))
    return scores, labels, random.uniform(0.5, 2, n_rows)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_no_other_curve_has_a_smaller_loss(n_classes):
    scores, labels, weights = scored(n_classes, n_classes)
    targets = _drawn_in(labels, weights, n_classes)

    def loss(parameters):
        margins = parameters[0] * scores + parameters[1:]
        return weights @ -(targets * np.log(softmax(margins))).sum(axis=1) / weights.sum()

    slope, offset = fit_curve(scores, labels, weights)
    best = minimize(loss, np.zeros(1 + n_classes), tol=1e-10).fun
    assert loss(np.append(slope, offset)) == pytest.approx(best, abs=1e-7)


def test_two_classes_are_almost_logistic_regression():
    scores, labels, weights = scored(0, 2, n_rows=5000)
    single = scores[:, 1:] - scores[:, :1]
    slope, offset = fit_curve(class_scores(single), labels, weights)
    model = LogisticRegression(C=1e6).fit(single, labels, sample_weight=weights)
    assert slope == pytest.approx(model.coef_[0, 0], rel=0.01)
    assert offset[1] - offset[0] == pytest.approx(model.intercept_[0], abs=0.01)


def test_separated_classes_and_single_classes_stay_finite():
    scores = np.array([[-1.0], [-0.5], [0.5], [1.0]])
    slope, offset = fit_curve(class_scores(scores), np.array([0, 0, 1, 1]), np.ones(4))
    chance = softmax(slope * class_scores(scores) + offset)
    assert slope > 0
    assert (chance > 0).all()
    slope, offset = fit_curve(class_scores(scores), np.zeros(4, dtype=int), np.ones(4))
    assert np.allclose(softmax(slope * class_scores(scores) + offset)[:, 0], 5 / 6, atol=1e-3)


def test_scores_that_do_not_differ_give_the_shares():
    labels = np.repeat([0, 1, 2], [500, 300, 200])
    slope, offset = fit_curve(np.zeros((1000, 3)), labels, np.ones(1000))
    assert np.allclose(softmax(slope * np.zeros((1, 3)) + offset), [[0.5, 0.3, 0.2]], atol=0.01)


def test_rows_are_answered_one_by_one_as_together():
    scores, *_ = scored(1, 4)
    link = NodeLink(np.array([1.0, 2.5]), np.array([[0, 0, 0, 0], [0.1, 0.2, -3, 1.0]]))
    nodes = np.arange(400) % 2
    together = link.probabilities(nodes, scores)
    for i in range(0, 400, 37):
        assert np.array_equal(link.probabilities(nodes[i : i + 1], scores[i : i + 1])[0], together[i])
    assert np.allclose(together.sum(axis=1), 1)
    assert np.isfinite(link.probabilities(nodes, scores * 1e120)).all()
