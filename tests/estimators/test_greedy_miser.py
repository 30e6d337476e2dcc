"""GreedyMiserClassifier: a panel paid once for all rows, its twin, losses, bills, bad input, and interruption."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import get_type_hints

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils.estimator_checks import parametrize_with_checks

import frugalforest as ff
import naive
import naive_boosting
from boosting.problems import interrupt_after_rounds
from frugalforest.data import Bins

COSTS = ff.FeatureCosts(
    [1, 1.5, 2, 0.5, 1, 3, 1, 2.5], groups={"a": ff.Group([0, 1, 4], 0.75), "b": ff.Group([1, 2, 6], 1.25)}
)


def simulated(n_rows=500, seed=0, n_classes=2):
    """Columns 0 to 2 decide, 3 to 7 are noise."""
    X, y = make_classification(
        n_rows, 8, n_informative=3, n_redundant=0, n_classes=n_classes, n_clusters_per_class=1, shuffle=False,
        random_state=seed, flip_y=0.05,
    )  # fmt: skip
    order = np.random.default_rng(seed).permutation(n_rows)
    return X[order].round(2), y[order]


X, y = simulated()


def fit(tradeoff=0.01, n_classes=2, **options):
    options = {"n_estimators": 20, "feature_costs": COSTS} | options
    return ff.GreedyMiserClassifier(tradeoff, **options).fit(*simulated(n_classes=n_classes))


def same_model(one, other) -> bool:
    forests = all(np.array_equal(getattr(one.forest_, n), getattr(other.forest_, n)) for n in ("feature", "threshold"))
    return forests and np.array_equal(one.ensemble_.values, other.ensemble_.values)


@parametrize_with_checks(
    [
        ff.GreedyMiserClassifier(n_estimators=10),
        ff.GreedyMiserClassifier(0.001, n_estimators=6, loss="log_loss", stop="label", evaluation_cost=0.01),
    ],
    expected_failed_checks=lambda _: PER_ESTIMATOR_XFAIL_CHECKS[RandomForestClassifier],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ---- the twin


@pytest.mark.parametrize("loss", ["squared", "log_loss"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_those_of_the_slow_twin(loss, n_classes):
    X, y = simulated(90, n_classes=n_classes)
    for tradeoff, evaluation_cost in ((0.0, 0.0), (0.004, 0.0), (0.02, 0.1)):
        model = ff.GreedyMiserClassifier(
            tradeoff, n_estimators=4, max_depth=3, loss=loss, evaluation_cost=evaluation_cost, feature_costs=COSTS
        ).fit(X, y)
        slow = slow_twin(X, y, n_classes, model)
        for _ in range(4):
            slow.grow_round(tradeoff)
        scores = np.array(slow.scores).T
        np.testing.assert_allclose(model.decision_function(X), scores[:, 0] if n_classes == 2 else scores, rtol=1e-7)
        assert set(np.flatnonzero(model.panel_mask_)) == slow.used


def slow_twin(X, y, n_classes, model):
    binned = Bins.learn(X).transform(X)
    options = naive_boosting.Options(
        loss=model.loss,
        charge="forest",
        learning_rate=model.learning_rate,
        max_leaves=2**model.max_depth,
        max_depth=model.max_depth,
        min_samples_leaf=model.min_samples_leaf,
        price_per_split=model.tradeoff * model.evaluation_cost,
    )
    costs = naive.Costs(COSTS.own.tolist(), COSTS.shared.tolist(), COSTS.membership.T.tolist())
    share = np.bincount(y) / len(y)
    base = 2 * share - 1 if model.loss == "squared" else np.log(share)
    start = [base[1] if model.loss == "squared" else base[1] - base[0]] if n_classes == 2 else base
    bins = binned.bins
    return naive_boosting.NaiveBooster(
        binned.codes, bins.n_bins, bins.is_categorical, y, n_classes, costs, options, base=start
    )


def test_without_costs_squared_loss_is_plain_boosting_of_regression_trees():
    """scikit-learn's, on targets -1 and +1: the same trees but for ties and bins."""
    peer = GradientBoostingRegressor(n_estimators=20, max_depth=4, learning_rate=0.1).fit(X, 2 * y - 1)
    model = fit(0.0)
    assert np.corrcoef(model.decision_function(X), peer.predict(X))[0, 1] > 0.99
    assert np.mean((model.decision_function(X) > 0) == (peer.predict(X) > 0)) > 0.98


# ---- prices


def test_a_larger_trade_off_takes_a_cheaper_panel():
    panels = [fit(tradeoff).panel_cost_ for tradeoff in (0, 0.003, 0.03, 0.3, 3)]
    assert panels[0] == COSTS.total
    assert panels[-1] == 0
    assert all(later <= earlier for earlier, later in pairwise(panels))
    assert len(set(panels)) >= 4


def test_the_panel_is_what_the_trees_read_and_no_bill_exceeds_it():
    model = fit(0.02)
    read = model.forest_.features_read(X).any(axis=0)
    assert not np.any(read & ~model.panel_mask_)
    assert model.panel_cost_ == COSTS.of(model.panel_mask_)
    assert model.acquisition_cost(X).max() <= model.panel_cost_


def test_costs_times_k_with_trade_off_over_k_is_the_identical_model():
    for k in (3.0, 0.1, 7.7):
        one, other = fit(0.02), fit(0.02 / k, feature_costs=COSTS.scaled(k))
        assert same_model(one, other)
        assert 0 < one.panel_cost_ < COSTS.total


def test_a_paid_group_makes_its_members_cheap():
    costs = ff.FeatureCosts(np.zeros(8), groups={"all": ff.Group(range(8), 1.0)})
    model = fit(0.02, feature_costs=costs)
    assert model.panel_mask_.sum() == 8
    assert model.panel_cost_ == 1.0


def test_nothing_pays_at_a_huge_trade_off():
    model = fit(1e6)
    assert model.n_estimators_ == 0
    np.testing.assert_array_equal(model.predict(X), np.argmax(np.bincount(y)))
    assert model.acquisition_cost(X).max() == 0
    assert model.start().next_feature() is None


def test_evaluation_costs_make_trees_smaller():
    assert fit(0.01, evaluation_cost=1.0).forest_.n_nodes < fit(0.01).forest_.n_nodes


def test_the_same_panel_as_the_bill_grows_finds_the_informative_features():
    assert np.flatnonzero(fit(0.05, feature_costs=np.ones(8)).panel_mask_).max() <= 2


# ---- the contract


@pytest.mark.parametrize("stop", ["all", "label"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_runs_mask_and_bill_agree(stop, n_classes):
    model = fit(0.005, n_classes, stop=stop)
    rows = simulated(n_classes=n_classes)[0][:25]
    labels, mask, bills = model.predict(rows), model.acquisition_mask(rows), model.acquisition_cost(rows)
    np.testing.assert_array_equal(bills, COSTS.of_rows(mask))
    for i, row in enumerate(rows):
        run = model.start()
        while (feature := run.next_feature()) is not None:
            run.provide(feature, row[feature])
        assert (run.prediction, run.spent, set(run.acquired)) == (labels[i], bills[i], set(np.flatnonzero(mask[i])))


def test_stopping_early_costs_less_and_labels_stay():
    everything, early = fit(0.001), fit(0.001, stop="label")
    np.testing.assert_array_equal(everything.predict(X), early.predict(X))
    assert early.acquisition_cost(X).mean() < everything.acquisition_cost(X).mean()


def test_cost_curve_has_a_point_for_every_round():
    model = fit(0.01)
    curve = ff.evaluation.cost_curve(model, X, y)
    assert len(curve) == model.n_estimators_
    assert curve.cost[-1] == pytest.approx(model.acquisition_cost(X).mean())
    assert curve.error[-1] == pytest.approx(1 - model.score(X, y))


def test_real_data_frames_and_missing_values():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    train, test, train_y, test_y = train_test_split(X, y, random_state=0)
    model = ff.GreedyMiserClassifier(0.02, n_estimators=100).fit(train, train_y)
    assert model.score(test, test_y) > 0.9
    assert model.panel_cost_ <= 12
    assert isinstance(model.start().next_feature(), str)


def test_categories_weights_and_classes():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"town": random.choice(list("abcde"), 300), "age": random.normal(size=300)})
    label = np.where(frame["town"].isin(["a", "d"]), "yes", "no")
    model = ff.GreedyMiserClassifier(0.01, n_estimators=5, class_weight="balanced").fit(frame, label)
    assert model.score(frame, label) == 1
    assert list(model.feature_names_in_[model.panel_mask_]) == ["town"]
    weights = np.where(np.arange(500) < 300, 1, 0)
    weighted = ff.GreedyMiserClassifier(n_estimators=5).fit(X, y, sample_weight=weights)
    assert same_model(weighted, ff.GreedyMiserClassifier(n_estimators=5).fit(X[:300], y[:300]))


def test_the_same_whatever_the_machine_does():
    assert same_model(fit(0.01, n_jobs=1), fit(0.01, n_jobs=2))
    model = fit(0.01)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()


def test_what_is_learned_has_type_hints_so_that_it_can_be_stored():
    hints = get_type_hints(ff.GreedyMiserClassifier)
    assert {name for name in vars(fit()) if name.endswith("_")} <= set(hints)


def test_ctrl_c_keeps_the_rounds_trained(monkeypatch):
    short = fit(n_estimators=7)
    interrupt_after_rounds(7, monkeypatch)
    model = ff.GreedyMiserClassifier(n_estimators=20, feature_costs=COSTS)
    with pytest.raises(KeyboardInterrupt, match="stopped after 7 of 20 rounds; the model holds these"):
        model.fit(X, y)
    assert same_model(model, short)


# ---- bad input

BAD = {
    "tradeoff": ([-1, np.inf, np.nan, "much", None, True], "finite number of at least 0"),
    "evaluation_cost": ([-1, np.inf, None], "finite number of at least 0"),
    "loss": (["hinge", None], "expected one of 'squared', 'log_loss'"),
    "n_estimators": ([0, 2.5, None], "whole number of at least 1"),
    "max_depth": ([0, 1.5], "whole number of at least 1 or None"),
    "learning_rate": ([0, -1, None], "expected a (finite )?number"),
    "min_samples_leaf": ([0, None], "whole number of at least 1"),
    "stop": (["early", None], "expected one of 'all', 'label'"),
    "max_bins": ([1, 256], "whole number from 2 to 255"),
    "n_jobs": ([0, 1.5], "expected None, a number of threads"),
    "random_state": ([-1, "lucky"], "expected None, a whole number"),
    "verbose": ([-1, None], "whole number of at least 0"),
}


@pytest.mark.parametrize(
    ("name", "value", "message"), [(name, value, m) for name, (values, m) in BAD.items() for value in values]
)
def test_parameters_out_of_range(name, value, message):
    with pytest.raises(ValueError, match=f"{name} is .*{message}"):
        ff.GreedyMiserClassifier(**{name: value}).fit(X, y)


def test_every_parameter_is_checked():
    elsewhere = {"feature_costs", "class_weight", "categorical_features"}
    assert set(ff.GreedyMiserClassifier().get_params()) - elsewhere == set(BAD)


def test_no_limit_to_depth():
    deep = fit(0.0, max_depth=None, n_estimators=3)
    assert np.diff(deep.forest_.leaf_offsets).max() > 16
    assert deep.score(X, y) > 0.95
