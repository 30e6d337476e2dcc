"""Boosters of several folds, read together: scores are means, errors out of fold, bills of all of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import frugalforest as ff
from boosting.problems import interrupt_after_rounds
from estimators.test_frugal_boosting import COSTS, TEST, TRAIN, VALIDATION, make, simulated
from frugalforest.cascades.folds import stratified_folds
from frugalforest.estimators.fold_boosters import averaged


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_the_mean_of_boosters_that_each_lack_a_fold(n_classes):
    X, y = simulated(300, n_classes=n_classes)
    model = make(tradeoff=0.002, n_folds=3, early_stopping=False, n_estimators=4, random_state=1).fit(X, y)
    fold_of = stratified_folds(y, 3, 1)
    alone = []
    for fold in range(3):
        part = make(tradeoff=0.002, early_stopping=False, n_estimators=4, random_state=1)
        alone.append(part.fit(X[fold_of != fold], y[fold_of != fold]).decision_function(TEST[0]))
    np.testing.assert_allclose(model.decision_function(TEST[0]), np.mean(alone, axis=0), atol=1e-12)
    assert model.n_estimators_ == 12


@pytest.mark.parametrize("stop", ["all", "label", "confidence"])
def test_errors_are_out_of_fold_and_bills_of_all_boosters_together(stop):
    X, y = TRAIN
    model = make(tradeoff=0.005, n_folds=2, n_estimators=8, stop=stop, early_stopping=False, random_state=2).fit(X, y)
    (variant,) = model.variants_
    fold_of, wrong, bills = stratified_folds(y, 2, 2), [], []
    for fold in range(2):
        inside, outside = (X[fold_of == fold], y[fold_of == fold]), (X[fold_of != fold], y[fold_of != fold])
        part = make(tradeoff=0.005, n_estimators=8, early_stopping=False, random_state=2).fit(*outside)
        wrong.append(part.predict(inside[0]) != inside[1])
        rule = ff.acquisition.StopRule(stop, confidence=np.inf)
        bills.append(COSTS.of_rows(ff.acquisition.Acquirer(model.ensemble_, COSTS).evaluate(inside[0], rule).mask))
    assert variant.error[-1] == pytest.approx(np.concatenate(wrong).mean())
    assert variant.cost[-1] == pytest.approx(np.concatenate(bills).mean())


def test_first_rounds_of_all_boosters_come_before_their_second_ones():
    X, y = TRAIN
    boosted = [
        make(tradeoff=0.0, n_estimators=n, early_stopping=False).fit(X[rows], y[rows]).variants_[0]
        for n, rows in ((3, slice(0, 150)), (5, slice(150, None)))
    ]
    base, trees = averaged(boosted)
    model = make(n_estimators=1).fit(X, y)
    for size, n_rounds in ((1, 2), (2, 4), (3, 6), (4, 7), (5, 8)):
        together = model._ensemble(base, trees.first(n_rounds), "log_loss").scores(TEST[0])[0]
        alone = [model._ensemble(b.base, b.trees.first(size), "log_loss").scores(TEST[0])[0] for b in boosted]
        np.testing.assert_allclose(together, np.mean(alone, axis=0), atol=1e-12)


def test_budgets_rows_to_choose_with_and_runs():
    path = make(n_folds=3, stop="confidence").path(*TRAIN, eval_set=VALIDATION)
    for budget in (1.5, 3.0):
        model = path.at_budget(budget)
        labels, bills = model.predict_with_cost(VALIDATION[0])
        assert bills.mean() == pytest.approx(model.validation_cost_)
        assert model.validation_cost_ <= budget
        assert np.mean(labels != VALIDATION[1]) == pytest.approx(model.validation_error_)
        for row, label, bill in zip(TEST[0][:15], *model.predict_with_cost(TEST[0][:15]), strict=True):
            run = model.predict_on_demand(row.__getitem__)
            assert (run.prediction, run.spent) == (label, bill)
    assert path.score(*TEST) > 0.8


def test_categories_missing_values_and_a_class_of_one_row():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=121), "b": rng.choice(["x", "y", None], 121)})
    y = np.append(np.where(X["a"][:120] > 0, "ill", "well"), "rare")
    X.loc[3, "a"] = np.nan
    model = make(tradeoff=0.0, feature_costs=None, n_folds=3, n_estimators=3, stop="confidence").fit(X, y)
    assert model.score(X, y) > 0.9
    assert np.isfinite(model.predict_proba(X)).all()


def test_ctrl_c_keeps_the_trade_offs_of_which_all_folds_are_trained(monkeypatch):
    model = make(n_folds=2, n_estimators=3, n_tradeoffs=4, early_stopping=False)
    interrupt_after_rounds(8, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        model.path(*TRAIN)
    assert len(model.variants_) == 1
    assert model.predict(TEST[0]).shape == TEST[1].shape


def test_no_warm_start():
    with pytest.raises(ValueError, match="warm_start goes on with one booster, and n_folds asks for several"):
        make(tradeoff=0.1, n_folds=2, warm_start=True).fit(*TRAIN)
