"""The last stage on demand: the models of a stage as one ensemble, what rows buy of it, and what that costs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import frugalforest as ff
from frugalforest.cascades import CrossFitter, stratified_folds
from frugalforest.cascades.last_stage import LastStage
from frugalforest.cascades.stages import answers, log_chances, softmax
from frugalforest.cascades.trees import LEAST_SHARE

COSTS = ff.FeatureCosts([1, 2, 0.5, 1, 0, 3, 1], groups={"blood": ff.Group([0, 3, 5], 2)})
CATEGORY = 2  # column of category numbers

BOOSTER = ff.FrugalBoostingClassifier(n_estimators=8, max_leaf_nodes=6, categorical_features=[CATEGORY])
FOREST = ff.StandardForestClassifier(9, min_samples_leaf=3, categorical_features=[CATEGORY])
HARD = ff.StandardForestClassifier(9, max_depth=4, voting="hard", categorical_features=[CATEGORY])
OURS = {"booster": BOOSTER, "forest": FOREST, "hard votes": HARD}
OTHERS = {
    "scikit-learn's forest": RandomForestClassifier(9, max_depth=5),
    "scikit-learn's booster": HistGradientBoostingClassifier(max_iter=8, early_stopping=False),
}


def data(n_classes, seed=0):
    """Numbers, categories of which some are rare, and gaps."""
    X, y = make_classification(
        240, 7, n_informative=5, n_redundant=0, n_classes=n_classes, flip_y=0.15, random_state=seed
    )
    X[:, CATEGORY] = np.clip(np.round(2 * X[:, CATEGORY]) + 4, 0, 9)
    X[5, CATEGORY], X[8, CATEGORY] = 10, 11  # one row each: two models of three see them
    X[::7, 1] = X[::11, CATEGORY] = np.nan
    return X, y.astype(np.int32)


def fitted_stage(template, n_classes, panel=range(7), seed=0):
    X, y = data(n_classes, seed)
    panel = np.isin(np.arange(7), panel)
    columns = np.flatnonzero(panel)

    def make(columns, seed):
        model = clone(template)
        marked = np.flatnonzero(columns == CATEGORY)
        if "frugalforest" in type(template).__module__:
            model.set_params(categorical_features=marked)
        return model.set_params(random_state=seed)

    fitter = CrossFitter(X, y, None, stratified_folds(y, 3, 0), n_classes, make, seed=seed)
    stage = fitter.fit(panel).stage
    assert stage.panel.tolist() == columns.tolist()
    return stage, X


# ---- one ensemble


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["booster", "scikit-learn's booster"])
def test_boosters_together_say_what_their_mean_margin_says(name, n_classes):
    stage, X = fitted_stage((OURS | OTHERS)[name], n_classes)
    logs = np.mean([log_chances(answers(model, X, n_classes)) for model in stage.models], axis=0)
    assert stage.trees is not None
    assert stage.probabilities(X) == pytest.approx(softmax(stage.slope * logs + stage.offset), abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["forest", "hard votes", "scikit-learn's forest"])
def test_forests_together_say_what_their_mean_share_says(name, n_classes):
    stage, X = fitted_stage((OURS | OTHERS)[name], n_classes)
    mean = np.mean([answers(model, X, n_classes) for model in stage.models], axis=0)
    logs = np.log((1 - LEAST_SHARE) * mean + LEAST_SHARE / n_classes)
    assert stage.trees is not None
    assert stage.probabilities(X) == pytest.approx(softmax(stage.slope * logs + stage.offset), abs=1e-9)


def test_categories_that_a_fold_has_not_seen_go_where_missing_values_go():
    stage, X = fitted_stage(BOOSTER, 2)
    seen = [set(model.encoder_.categories[CATEGORY]) for model in stage.models]
    assert any(mine != seen[0] for mine in seen)  # the numbers of categories differ from model to model
    rows = np.repeat(X[:1], 14, axis=0)
    rows[:, CATEGORY] = [*range(13), np.nan]  # 12 was never there
    logs = np.mean([log_chances(answers(model, rows, 2)) for model in stage.models], axis=0)
    assert stage.probabilities(rows) == pytest.approx(softmax(stage.slope * logs + stage.offset), abs=1e-12)


def test_stages_without_trees_have_no_ensemble():
    X, y = data(2)
    X = np.nan_to_num(X)
    fitter = CrossFitter(X, y, None, stratified_folds(y, 3, 0), 2, lambda columns, seed: LogisticRegression(), seed=0)
    assert fitter.fit(np.ones(7, dtype=bool)).stage.trees is None


def test_a_fold_without_a_class_has_no_ensemble():
    X, y = data(3)
    y[y == 2] = 0
    y[:2] = 2
    make = lambda columns, seed: ff.StandardForestClassifier(3, random_state=seed)  # noqa: E731
    folds = np.where(y == 2, 0, stratified_folds(y, 3, 0))
    stage = CrossFitter(X, y, None, folds, 3, make, seed=0).fit(np.ones(7, dtype=bool)).stage
    assert stage.trees is None
    assert stage.probabilities(X).sum(axis=1) == pytest.approx(1)


# ---- what rows buy


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", [*OURS, *OTHERS])
@pytest.mark.parametrize("before", [(), (0, 4), (2, 3, 5)])
def test_the_label_is_that_of_the_whole_panel_for_less(name, n_classes, before):
    stage, X = fitted_stage((OURS | OTHERS)[name], n_classes, panel=[0, 2, 3, 4, 5, 6])
    last = LastStage(stage, np.array(before, dtype=np.intp), COSTS)
    ends = last.read(X, n_threads=2)
    assert np.array_equal(np.argmax(ends.probabilities, axis=1), np.argmax(stage.probabilities(X), axis=1))
    assert ends.mask[:, list(before)].all()
    assert not ends.mask[:, 1].any()  # not of the panel
    assert np.array_equal(last.bills(X), COSTS.of_rows(ends.mask))
    assert last.bills(X).mean() < COSTS.of(stage.panel)


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("before", [(), (0, 4)])
def test_one_row_buys_what_its_mask_says(name, before):
    stage, X = fitted_stage(OURS[name], 3, seed=1)
    last = LastStage(stage, np.array(before, dtype=np.intp), COSTS)
    ends = last.read(X[:40])
    for row, mask, probabilities in zip(X[:40], ends.mask, ends.probabilities, strict=True):
        known = np.zeros(7, dtype=bool)
        known[list(before)] = True
        while (feature := last.run(np.where(known, row, np.nan), known).next_feature) is not None:
            assert not known[feature]
            known[feature] = True
        assert np.array_equal(known, mask)
        run = last.run(np.where(known, row, np.nan), known)
        assert np.array_equal(run.probabilities, probabilities)
        assert run.expected_cost() == 0


def test_a_group_paid_before_makes_its_members_cheap():
    stage, X = fitted_stage(FOREST, 2)
    costs = ff.FeatureCosts(np.ones(7), groups={"blood": ff.Group([0, 3, 5], 100)})
    alone, after = (LastStage(stage, np.array(before, dtype=np.intp), costs) for before in ((), (0,)))
    members = [3, 5]
    assert after.read(X).mask[:, members].mean() > alone.read(X).mask[:, members].mean()
    assert after.run(X[0], np.arange(7) == 0).expected_cost() <= 6 < alone.run(X[0], np.zeros(7, bool)).expected_cost()


def test_values_that_were_given_unasked_are_used():
    stage, X = fitted_stage(FOREST, 2)
    last = LastStage(stage, np.zeros(0, dtype=np.intp), COSTS)
    first = last.run(X[0], np.zeros(7, dtype=bool)).next_feature
    everything_else = np.arange(7) != first
    run = last.run(X[0], everything_else)
    assert run.next_feature in (None, first)
    assert last.run(X[0], np.ones(7, dtype=bool)).next_feature is None
