"""StandardForestClassifier: Breiman's forest, its limits, weights, estimates and importances."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import frugalforest as ff
from frugalforest import _core
from frugalforest.estimators.light_leaves import without_light_leaves
from frugalforest.growing import tree_seeds
from interrupting import ctrl_c_after


def simulated(n_rows=600, seed=0, n_classes=2):
    """Columns 0 to 2 decide, 3 to 7 are noise."""
    return make_classification(
        n_rows, 8, n_informative=3, n_redundant=0, n_classes=n_classes, shuffle=False, random_state=seed, flip_y=0.05
    )


def same_forest(one, two):
    names = ("node_offsets", "feature", "threshold", "missing_left", "right", "category_set", "leaf_counts")
    return all(np.array_equal(getattr(one.forest_, name), getattr(two.forest_, name)) for name in names)


def features_of_trees(forest):
    return [{node.feature for node in forest.nodes(t) if node.feature >= 0} for t in range(forest.n_trees)]


def features_out_of_bag(model, X):
    """Features that each row reads in the trees that have not drawn it, by hand."""
    in_bag = _core.in_bag(tree_seeds(model.random_state, model.forest_.n_trees), len(X)).astype(bool)
    for i, row in enumerate(X):
        read = set()
        for nodes in (model.forest_.nodes(t) for t in np.flatnonzero(~in_bag[:, i])):
            at = nodes[0]
            while at.feature >= 0:
                read.add(at.feature)
                at = nodes[at.left if row[at.feature] <= at.threshold else at.right]
        yield sorted(read)


# ---- quality


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_as_good_as_scikit_learn(criterion, n_classes):
    X, y = simulated(1600, n_classes=n_classes)
    ours = ff.StandardForestClassifier(60, criterion=criterion, random_state=0).fit(X[::2], y[::2])
    theirs = RandomForestClassifier(60, criterion=criterion, random_state=0).fit(X[::2], y[::2])
    assert ours.score(X[1::2], y[1::2]) == pytest.approx(theirs.score(X[1::2], y[1::2]), abs=0.03)


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_out_of_bag_estimates_are_close_to_the_test_rows(voting):
    X, y = simulated(1600)
    costs = [1, 2, 3, 4, 5, 6, 7, 8]
    model = ff.StandardForestClassifier(
        25, feature_costs=costs, voting=voting, oob_score=True, max_depth=3, max_features=None, random_state=0
    )
    model.fit(X[::2], y[::2])
    assert model.oob_score_ == pytest.approx(model.score(X[1::2], y[1::2]), abs=0.06)
    assert model.oob_decision_function_.shape == (800, 2)
    assert np.allclose(model.oob_decision_function_.sum(axis=1), 1)
    right = model.classes_[np.argmax(model.oob_decision_function_, axis=1)] == y[::2]
    assert model.oob_score_ == right.mean()
    # About 37 % of the trees judge a row: its bill is that of a smaller forest.
    assert model.oob_cost_ < model.acquisition_cost(X[::2]).mean()
    assert model.oob_cost_ == np.mean([model.feature_costs_.of(read) for read in features_out_of_bag(model, X[::2])])


def test_rows_that_every_tree_has_seen_have_no_estimate():
    X, y = simulated(200)
    model = ff.StandardForestClassifier(1, oob_score=True, random_state=0).fit(X, y)
    seen = np.isnan(model.oob_decision_function_).all(axis=1)
    assert 0.5 < seen.mean() < 0.75
    assert 0.5 < model.oob_score_ < 1


def test_out_of_bag_estimates_of_an_earlier_fit_are_forgotten():
    X, y = simulated(100)
    model = ff.StandardForestClassifier(5, oob_score=True, random_state=0).fit(X, y)
    assert hasattr(model, "oob_score_")
    model.set_params(oob_score=False).fit(X, y)
    assert not any(hasattr(model, name) for name in ("oob_score_", "oob_cost_", "oob_decision_function_"))


# ---- randomness


@pytest.mark.parametrize("options", [{}, {"thresholds": "random"}, {"max_features": None, "criterion": "entropy"}])
def test_threads_do_not_matter(options):
    X, y = simulated(500)
    weight = np.random.default_rng(0).uniform(0, 2, 500)
    one, two = (ff.StandardForestClassifier(11, n_jobs=n, random_state=0, oob_score=True, **options) for n in (1, 2))
    assert same_forest(one.fit(X, y, weight), two.fit(X, y, weight))
    assert one.oob_score_ == two.oob_score_
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))


def test_random_state():
    X, y = simulated(200)

    def fit(random_state):
        return ff.StandardForestClassifier(4, random_state=random_state).fit(X, y)

    for seed in (0, 7):
        assert same_forest(fit(seed), fit(seed))
        assert same_forest(fit(seed), fit(np.int64(seed)))
        assert same_forest(fit(np.random.RandomState(seed)), fit(np.random.RandomState(seed)))
    assert not same_forest(fit(0), fit(1))
    assert not same_forest(fit(0), fit(None))
    assert not same_forest(fit(None), fit(None))
    generator = np.random.RandomState(0)
    assert not same_forest(fit(generator), fit(generator))


def test_a_larger_forest_starts_with_the_same_trees():
    X, y = simulated(200)
    small, large = (ff.StandardForestClassifier(n, random_state=0).fit(X, y) for n in (3, 9))
    assert np.array_equal(large.forest_.first(3).threshold, small.forest_.threshold)


# ---- weights


@pytest.mark.parametrize("options", [{}, {"criterion": "entropy"}, {"max_features": None}, {"voting": "hard"}])
def test_a_weight_is_a_repetition(options):
    random = np.random.default_rng(0)
    X = random.integers(0, 30, size=(150, 5)).astype(float)
    y = (X[:, 0] + X[:, 1] > 30).astype(int) ^ (random.random(150) < 0.1)
    weight = random.integers(0, 4, 150)
    model = ff.StandardForestClassifier(5, bootstrap=False, random_state=0, **options)
    weighted = ff.StandardForestClassifier(**model.get_params()).fit(X, y, sample_weight=weight)
    repeated = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert same_forest(weighted, repeated)
    assert np.array_equal(weighted.class_prior_, repeated.class_prior_)


def test_one_weight_for_all_changes_nothing():
    X, y = simulated(150)
    plain = ff.StandardForestClassifier(5, random_state=0).fit(X, y)
    assert same_forest(plain, ff.StandardForestClassifier(5, random_state=0).fit(X, y, sample_weight=1.0))
    heavy = ff.StandardForestClassifier(5, random_state=0).fit(X, y, sample_weight=np.full(150, 3))
    assert np.allclose(heavy.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_class_weight_moves_the_answer(voting):
    X, y = simulated(600)
    y = np.where(np.random.default_rng(0).random(600) < 0.25, 1 - y, y)
    options = {"min_samples_leaf": 20, "voting": voting, "random_state": 0}
    shares = [
        ff.StandardForestClassifier(20, class_weight=weight, **options).fit(X, y).predict(X).mean()
        for weight in ({0: 10, 1: 1}, None, {1: 10})
    ]
    assert shares[0] < shares[1] - 0.1
    assert shares[2] > shares[1] + 0.1


def test_balanced_class_weight_finds_the_rare_class():
    random = np.random.default_rng(0)
    X = random.normal(size=(1000, 3))
    y = np.where((X[:, 0] > 1) & (random.random(1000) < 0.4), "rare", "common")
    plain, balanced = (
        ff.StandardForestClassifier(20, class_weight=w, min_samples_leaf=30, random_state=0).fit(X, y)
        for w in (None, "balanced")
    )
    recall = [np.mean(model.predict(X)[y == "rare"] == "rare") for model in (plain, balanced)]
    assert recall[0] < 0.5 < 0.9 < recall[1]
    weights = {"rare": 500 / np.sum(y == "rare"), "common": 500 / np.sum(y == "common")}
    by_hand = ff.StandardForestClassifier(20, class_weight=weights, min_samples_leaf=30, random_state=0).fit(X, y)
    assert same_forest(by_hand, balanced)


def test_a_class_without_weight_is_left_out():
    X, y = simulated(300, n_classes=3)
    model = ff.StandardForestClassifier(5, class_weight={1: 0}, random_state=0).fit(X, y)
    without = ff.StandardForestClassifier(5, random_state=0).fit(X[y != 1], y[y != 1])
    assert list(model.classes_) == [0, 1, 2]
    assert not model.predict_proba(X)[:, 1].any()
    assert np.array_equal(model.predict(X), without.predict(X))


# ---- limits


@pytest.mark.parametrize("max_features", ["sqrt", None])
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_no_tree_uses_more_features_than_allowed(limit, max_features):
    X, y = simulated()
    model = ff.StandardForestClassifier(
        12, max_distinct_features=limit, max_features=max_features, bootstrap=max_features is None, random_state=0
    )
    used = [len(features) for features in features_of_trees(model.fit(X, y).forest_)]
    assert max(used) == limit


@pytest.mark.parametrize("limit", [0, 0.3, 1.0, 4.2])
def test_no_tree_costs_more_than_allowed(limit):
    X, y = simulated()
    costs = ff.FeatureCosts(
        [0.1, 0.2, 0.3, 0.7, 1.1, 0, 3, 0.1], groups={"a": ff.Group([0, 1, 4], 0.5), "b": ff.Group([1, 2, 6], 0.1)}
    )
    model = ff.StandardForestClassifier(12, max_tree_cost=limit, feature_costs=costs, random_state=0).fit(X, y)
    bills = [costs.of(sorted(features)) for features in features_of_trees(model.forest_)]
    assert max(bills) <= limit
    assert min(len(features) for features in features_of_trees(model.forest_)) >= 1  # one feature is free


def test_sizes_are_limited():
    X, y = simulated()
    shallow = ff.StandardForestClassifier(5, max_depth=1, random_state=0).fit(X, y)
    assert all(len(shallow.forest_.nodes(t)) == 3 for t in range(5))
    broad = ff.StandardForestClassifier(5, min_samples_leaf=25, random_state=0).fit(X, y)
    assert broad.forest_.leaf_counts.sum(axis=1).min() >= 25
    rough = ff.StandardForestClassifier(5, min_samples_split=200, random_state=0).fit(X, y)
    inner = rough.forest_.feature >= 0
    assert rough.forest_.node_counts.sum(axis=1)[inner].min() >= 200


def test_splits_that_leave_too_little_weight_are_undone():
    X, y = simulated()
    loose = ff.StandardForestClassifier(6, random_state=0).fit(X, y)
    tight = ff.StandardForestClassifier(6, min_weight_fraction_leaf=0.1, random_state=0).fit(X, y)
    assert tight.forest_.leaf_counts.sum(axis=1).min() >= 60
    assert tight.forest_.n_trees == 6
    for t in range(6):
        full, cut = loose.forest_.nodes(t), tight.forest_.nodes(t)
        _assert_is_top_of(cut, full, 0, 0)
        assert sum(sum(node.counts) for node in cut if node.counts) == 600
    assert tight.score(X, y) > 0.65
    assert without_light_leaves(loose.forest_, 0) is loose.forest_


def _assert_is_top_of(cut, full, i, j):
    """The pruned tree has the same splits as the full one, or a leaf that holds everything below it."""
    if cut[i].feature < 0:
        assert np.allclose(cut[i].counts, _counts_below(full, j))
        return
    assert (cut[i].feature, cut[i].threshold) == (full[j].feature, full[j].threshold)
    _assert_is_top_of(cut, full, cut[i].left, full[j].left)
    _assert_is_top_of(cut, full, cut[i].right, full[j].right)


def _counts_below(nodes, j):
    if nodes[j].feature < 0:
        return np.array(nodes[j].counts)
    return _counts_below(nodes, nodes[j].left) + _counts_below(nodes, nodes[j].right)


# ---- thresholds, importances, confidence


@pytest.mark.parametrize("thresholds", ["all", "random"])
def test_thresholds_are_in_the_users_units(thresholds):
    X, y = simulated()
    X = (1000 + 250 * X).astype(np.float32)
    model = ff.StandardForestClassifier(5, thresholds=thresholds, max_bins=32, random_state=0).fit(X, y)
    for feature in range(8):
        values = np.unique(X[:, feature])
        used = model.forest_.threshold[model.forest_.feature == feature]
        assert len(used)
        assert ((used >= values[0]) & (used < values[-1])).all()
        assert len(np.unique(used)) <= 31


def test_a_threshold_lies_between_the_values_it_divides():
    X = np.array([[10.0], [20], [20], [40]])
    model = ff.StandardForestClassifier(1, bootstrap=False, random_state=0).fit(X, [0, 0, 0, 1])
    root, left, right = model.forest_.nodes(0)
    assert 20 <= root.threshold < 40
    assert root.feature == 0
    assert (left.counts, right.counts) == ((3, 0), (0, 1))
    assert list(model.predict([[20.0], [40]])) == [0, 1]


def test_importances_add_up_and_ignore_noise():
    X, y = simulated(1500)
    costs = np.array([1, 2, 4, 1, 1, 1, 1, 1.0])
    model = ff.StandardForestClassifier(30, feature_costs=costs, min_samples_leaf=20, max_features=None, random_state=0)
    model.fit(X, y)
    importance = model.feature_importances_
    assert importance.sum() == pytest.approx(1)
    assert (importance >= 0).all()
    assert importance[:3].sum() > 0.9
    assert importance[3:].max() < 0.05
    assert np.allclose(model.importances_per_cost_, importance / costs)


def test_importance_per_cost_counts_the_shared_step_and_free_features():
    X, y = simulated(400)
    costs = ff.FeatureCosts([0, 2, 4, 1, 1, 1, 1, 0], groups={"draw": ff.Group([1, 2], 3)})
    X[:, 7] = 0
    model = ff.StandardForestClassifier(10, feature_costs=costs, random_state=0).fit(X, y)
    per_cost = model.importances_per_cost_
    assert per_cost[0] == np.inf
    assert per_cost[1] == model.feature_importances_[1] / 5
    assert per_cost[7] == 0


def test_ranking_confidence_weighs_leaves_by_their_size():
    X = np.array([[0.0]] * 90 + [[1.0]] * 10)
    y = np.array([0] * 81 + [1] * 9 + [1] * 10)
    model = ff.StandardForestClassifier(2, bootstrap=False, random_state=0).fit(X, y)
    assert np.allclose(model.ranking_confidence([[0.0], [1.0]]), [[0.9, 0.1], [0, 1]])
    X, y = simulated(800)
    model = ff.StandardForestClassifier(15, voting="hard", max_depth=3, random_state=0).fit(X[::2], y[::2])
    confidence = model.ranking_confidence(X[1::2])[:, 1]
    assert len(np.unique(confidence)) > len(np.unique(model.predict_proba(X[1::2])[:, 1]))
    by_hand = model.forest_.leaf_counts[model.forest_.apply(X[1::2])].sum(axis=1)
    assert np.allclose(confidence, by_hand[:, 1] / by_hand.sum(axis=1))


# ---- the bill


def test_costs_do_not_change_the_trees():
    X, y = simulated(300)
    plain, priced = (ff.StandardForestClassifier(5, feature_costs=c, random_state=0) for c in (None, range(1, 9)))
    assert same_forest(plain.fit(X, y), priced.fit(X, y))
    assert plain.feature_costs_.total == 8
    assert priced.acquisition_cost(X).max() <= 36


def test_costs_follow_the_columns_by_name():
    X, y = simulated(300)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    costs = dict(zip("hgfedcba", range(1, 9), strict=True))
    model = ff.StandardForestClassifier(5, feature_costs=costs, random_state=0).fit(frame, y)
    assert list(model.feature_costs_.own) == [8, 7, 6, 5, 4, 3, 2, 1]
    mask = model.acquisition_mask(frame)
    assert np.array_equal(model.acquisition_cost(frame), mask @ np.arange(8.0, 0, -1))


# ---- progress and interruption


def test_progress_is_shown_when_asked_for(capsys):
    X, y = simulated(100)
    ff.StandardForestClassifier(7, random_state=0).fit(X, y)
    assert capsys.readouterr().err == ""
    ff.StandardForestClassifier(7, random_state=0, verbose=1).fit(X, y)
    shown = capsys.readouterr().err
    assert "StandardForestClassifier" in shown
    assert "7/7" in shown


def test_ctrl_c_keeps_the_trees_grown():
    X, y = simulated(3000)
    model = ff.StandardForestClassifier(100_000, oob_score=True, n_jobs=2, random_state=0)
    with (
        pytest.raises(KeyboardInterrupt, match=r"stopped after .* of 100000 trees; the model holds these"),
        ctrl_c_after(0.5),
    ):
        model.fit(X, y)
    n_trees = model.forest_.n_trees
    assert 1 <= n_trees < 100_000
    small = ff.StandardForestClassifier(min(n_trees, 20), random_state=0).fit(X, y)
    assert np.array_equal(model.forest_.first(small.forest_.n_trees).threshold, small.forest_.threshold)
    assert model.score(X, y) > 0.8
    assert 0.5 < model.oob_score_ <= 1


def test_ctrl_c_before_the_first_tree_keeps_the_old_model(monkeypatch):
    from frugalforest.estimators import standard_forest

    X, y = simulated(100)
    model = ff.StandardForestClassifier(3, random_state=0).fit(X, y)
    before = model.forest_
    grow = standard_forest.grow

    def interrupted(training_set, growth, costs, seeds, **options):
        grown = grow(training_set, growth, costs, seeds[:0], **options)
        return type(grown)(grown.arrays, True)

    monkeypatch.setattr(standard_forest, "grow", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :4], y)
    assert model.forest_ is before
    assert model.n_features_in_ == 8
    assert model.predict(X).shape == (100,)
