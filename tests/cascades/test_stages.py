"""Stages: folds, gains, calibrated answers, and nested panels by both orders."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import frugalforest as ff
from frugalforest.cascades import CrossFitter, PanelBuilder, Stage, stratified_folds
from frugalforest.cascades.gains import feature_gains, histogram_gains, knows_unread, residual_gains
from frugalforest.cascades.nested import by_panel

BOOSTER = {"max_iter": 15, "early_stopping": False, "min_samples_leaf": 5}


@pytest.fixture(scope="module")
def rows():
    """Columns 0 to 2 tell something, 3 to 5 nothing."""
    X, y = make_classification(400, 6, n_informative=3, n_redundant=0, shuffle=False, class_sep=1.5, random_state=1)
    return X, y.astype(np.int32)


def fitter(rows, labels, make=None, n_folds=3, **options):
    make = make or (lambda panel, seed: HistGradientBoostingClassifier(**BOOSTER, random_state=seed))
    folds = stratified_folds(labels, n_folds, 0)
    n_classes = int(labels.max()) + 1
    return CrossFitter(rows, labels, None, folds, n_classes, make, seed=0, **options)


# ---- folds


def test_folds_hold_every_class_and_differ_by_one_row():
    labels = np.repeat([0, 1, 2], [50, 7, 4])
    folds = stratified_folds(labels, 3, seed=5)
    assert np.ptp(np.bincount(folds)) <= 1
    for label in range(3):
        assert np.ptp(np.bincount(folds[labels == label], minlength=3)) <= 1
    assert np.array_equal(folds, stratified_folds(labels, 3, seed=5))
    assert not np.array_equal(folds, stratified_folds(labels, 3, seed=6))


def test_with_fewer_rows_than_folds_every_row_is_one():
    assert sorted(stratified_folds(np.array([0, 1, 1]), 5, 0)) == [0, 1, 2]


# ---- gains


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(20, random_state=0),
        HistGradientBoostingClassifier(**BOOSTER),
        LogisticRegression(),
        KNeighborsClassifier(),
    ],
)
def test_gains_rank_what_tells_something_before_what_does_not(model, rows):
    X, y = rows
    gains = feature_gains(model.fit(X[:300], y[:300]), X[300:], y[300:], 0)
    assert gains.shape == (6,)
    assert (gains >= 0).all()
    assert gains[:3].sum() > 2 * gains[3:].sum()


def test_a_booster_has_no_gain_from_what_it_does_not_read(rows):
    X, y = rows
    model = HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=2).fit(X, y)
    assert knows_unread(model)
    assert np.count_nonzero(histogram_gains(model, 6)) == 1
    assert not knows_unread(LogisticRegression().fit(X, y))


def test_gains_of_categories_are_those_of_their_columns(rows):
    X, _ = rows
    category = np.random.default_rng(0).integers(0, 5, len(X))
    mixed = np.column_stack([X[:, 5], category, X[:, 4]])
    model = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=2, categorical_features=[1])
    model.fit(mixed, np.isin(category, [1, 4]))
    assert np.argmax(histogram_gains(model, 3)) == 1


def test_residual_gains_see_what_is_not_explained_yet(rows):
    X, _ = rows
    residuals = np.column_stack([0.3 * np.sign(X[:, 4]), np.zeros(len(X))])
    gains = residual_gains(X, residuals, None, np.zeros(6, bool), 0)
    assert np.argmax(gains) == 4
    assert gains[4] > 100 * np.delete(gains, 4).max()


# ---- a stage


def test_out_of_fold_answers_are_those_of_the_model_that_has_not_seen_the_row(rows):
    X, y = rows
    fit = fitter(X, y)
    panel = np.array([True, True, False, True, False, False])
    fitted = fit.fit(panel)
    assert fitted.stage.panel.tolist() == [0, 1, 3]
    for fold, model in enumerate(fitted.stage.models):
        held_out = fit.folds == fold
        single = Stage(fitted.stage.panel, (model,), fitted.stage.slope, fitted.stage.offset)
        assert single.probabilities(X[held_out]) == pytest.approx(fitted.out_of_fold[held_out], rel=1e-9)
    assert (fitted.gains[~panel] == 0).all()


def test_probabilities_are_calibrated_out_of_fold(rows):
    """A model that is far too sure is drawn in: log-loss falls, and the mean probability is the share of the class."""
    X, y = rows
    noisy = np.where(np.random.default_rng(0).random(len(y)) < 0.25, 1 - y, y).astype(np.int32)
    fitted = fitter(
        X, noisy, make=lambda panel, seed: HistGradientBoostingClassifier(max_iter=150, min_samples_leaf=2)
    ).fit(np.ones(6, bool))
    chance = fitted.out_of_fold[np.arange(len(y)), noisy]
    assert fitted.stage.slope < 0.7
    assert -np.log(chance).mean() < 0.7
    assert fitted.out_of_fold[:, 1].mean() == pytest.approx(noisy.mean(), abs=0.01)


def test_answers_of_one_row_and_of_many_are_the_same(rows):
    X, y = rows
    stage = fitter(X, y).fit(np.ones(6, bool)).stage
    together = stage.probabilities(X[:50])
    assert np.array_equal(together, np.concatenate([stage.probabilities(X[[i]]) for i in range(50)]))
    assert together.sum(axis=1) == pytest.approx(1)


def test_a_stage_without_features_answers_with_the_shares():
    stage = Stage.of_shares(np.array([0.7, 0.2, 0.1]))
    assert stage.probabilities(np.zeros((2, 4))) == pytest.approx(np.array([[0.7, 0.2, 0.1]] * 2))


def test_threads_do_not_change_a_stage(rows):
    X, y = rows
    one, two = (fitter(X, y, n_jobs=n_jobs).fit(np.ones(6, bool)) for n_jobs in (1, 2))
    assert np.array_equal(one.out_of_fold, two.out_of_fold)


def test_a_class_that_a_fold_lacks_is_improbable_there_but_possible(rows):
    X, y = rows
    labels = y.copy()
    labels[[3, 8]] = 2
    fitted = fitter(X, labels).fit(np.ones(6, bool))
    assert fitted.out_of_fold.shape == (400, 3)
    assert (fitted.out_of_fold[:, 2] > 0).all()
    assert fitted.out_of_fold[:, 2].mean() < 0.05


def test_folds_of_one_class_have_no_model():
    fitted = fitter(np.array([[0.0], [1.0]]), np.array([0, 1], dtype=np.int32)).fit(np.ones(1, bool))
    assert fitted.stage.models == (None, None)
    assert np.isfinite(fitted.out_of_fold).all()


# ---- nested panels


@pytest.mark.parametrize("order", ["forward", "backward", "both"])
def test_panels_are_nested_and_rise_in_price(order, rows):
    X, y = rows
    costs = ff.FeatureCosts([1, 2, 1, 0, 3, 1], groups={"step": ff.Group([0, 2], 2)})
    builder = PanelBuilder(fitter(X, y), costs, 5, np.array([0.5, 0.5]), np.zeros(6, bool))
    built: dict[str, list] = {}
    for name, fitted in builder.build(order):
        built.setdefault(name, []).append(fitted)
    assert set(built) == ({"forward", "backward"} if order == "both" else {order})
    for stages in built.values():
        panels = [set(fitted.stage.panel.tolist()) for fitted in by_panel(stages)]
        assert all(small < large for small, large in pairwise(panels))
        prices = [costs.of(sorted(panel)) if panel else 0.0 for panel in panels]
        assert prices[0] == 0
        assert (np.diff(prices) > 0).all()
        assert len(panels) > 2


@pytest.mark.parametrize("order", ["forward", "backward"])
def test_the_first_panels_hold_what_tells_most(order, rows):
    X, y = rows
    builder = PanelBuilder(fitter(X, y), ff.FeatureCosts.unit(6), 6, np.array([0.5, 0.5]), np.zeros(6, bool))
    stages = by_panel([fitted for _, fitted in builder.build(order)])
    two = next(fitted for fitted in stages if len(fitted.stage.panel) == 2)
    assert set(two.stage.panel.tolist()) < {0, 1, 2}
