"""Ensembles to export: grown ones with the rows they were grown on, and made-up ones with every kind of node."""

from dataclasses import replace

import numpy as np
import pytest

import frugalforest as ff
from frugalforest.data import FeatureEncoder
from frugalforest.ensemble import Ensemble, Reading
from frugalforest.forest import Forest

GRID = np.arange(-4, 5) / 4  # thresholds and values: rows hit thresholds exactly
N_FEATURES, CATEGORICAL = 5, 3  # made-up ensembles have one categorical feature, number 3


# Grown.


def table(n_rows=240, n_classes=2, seed=0):
    """X (n_rows, 6) with rounded numbers, missing values, and categories in columns 4 and 5; labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 6)).round(1)
    X[:, 4] = rng.integers(0, 4, n_rows)
    X[:, 5] = rng.integers(0, 40, n_rows)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + (X[:, 4] == 2) + (X[:, 5] % 7 < 3) + rng.normal(0, 0.3, n_rows)
    y = np.digitize(signal, np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1]))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def standard_forest(voting, n_classes, **options):
    X, y = table(n_classes=n_classes)
    options = {"n_estimators": 15, "random_state": 0, **options}
    model = ff.StandardForestClassifier(voting=voting, categorical_features=[4, 5], **options)
    return model.fit(X, y), X


def budget_forest(voting, n_classes, **options):
    X, y = table(n_classes=n_classes, seed=1)
    options = {"budget": 4.5, "alpha": 1, "n_estimators": 10, "random_state": 0, **options}
    model = ff.BudgetForestClassifier(voting=voting, categorical_features=[4, 5], **options)
    return model.fit(X, y), X


def tied_forest(voting, n_classes):
    """Four trees on coarse leaves: classes are often tied."""
    return standard_forest(voting, n_classes, n_estimators=4, max_depth=2)


def lone_leaves(voting, n_classes):
    """Trees that split rarely: some are a single leaf."""
    model, X = standard_forest(voting, n_classes, min_samples_leaf=120, n_estimators=12)
    assert set(np.diff(model.forest_.node_offsets).tolist()) == {1, 3}
    return model, X


def no_trees(voting, n_classes):
    """A budget that buys nothing: the most frequent class."""
    with pytest.warns(UserWarning, match="no tree fits"):
        model, X = budget_forest(voting, n_classes, budget=0.0)
    assert model.forest_.n_trees == 0
    return model, X


GROWN = {
    f"{maker.__name__}, {voting}, {n_classes} classes": (maker, voting, n_classes)
    for maker in (standard_forest, budget_forest, tied_forest, lone_leaves, no_trees)
    for voting in ("hard", "soft")
    for n_classes in (2, 5)
}


def grown(name):
    """Model, X, its ensemble, and X as the matrix that exported models take."""
    maker, voting, n_classes = GROWN[name]
    model, X = maker(voting, n_classes)
    return model, X, ensemble_of(model), model._rows(X).astype(np.float64)


def ensemble_of(model):
    forest = model.forest_
    base = model.class_prior_ if forest.n_trees == 0 else np.zeros(len(model.classes_))
    values = forest.leaf_votes if model.voting == "hard" else forest.leaf_shares
    return Ensemble(
        forest=forest, values=values, base=base, link="mean", classes=model.classes_, encoder=model.encoder_
    )


# Made up.


def made_up(link="mean", n_classes=3, seed=0, n_trees=7, depth=5, n_categories=9, n_known=9, **changes):
    """An ensemble of random trees; changes are fields of Ensemble.

    n_categories: how many its sets tell apart; n_known: how many its encoder knows, 0 for a column of plain numbers.
    """
    rng = np.random.default_rng(seed)
    n_classes = 2 if link == "sigmoid" else n_classes
    forest = random_forest(rng, n_trees, depth, n_categories)
    values, base = rng.standard_normal((forest.n_leaves, n_classes)), rng.standard_normal(n_classes)
    if link == "sigmoid":
        values[:, 0] = base[0] = 0
    categories = {CATEGORICAL: tuple(range(n_known))} if n_known else {}
    encoder = FeatureEncoder(N_FEATURES, None, categories, np.zeros(N_FEATURES, dtype=bool))
    ensemble = Ensemble(
        forest=forest, values=values, base=base, link=link, classes=np.arange(n_classes), encoder=encoder
    )
    return replace(ensemble, **changes)


def random_forest(rng, n_trees, depth, n_categories):
    nodes, sets, node_offsets, leaf_offsets, n_leaves = [], [], [0], [0], 0

    def add(depth):
        nonlocal n_leaves
        place = len(nodes)
        nodes.append((-1, 0.0, 0, n_leaves, -1))
        if depth == 0 or rng.random() < 0.2:
            n_leaves += 1
            return
        feature, missing_left, category_set = int(rng.integers(N_FEATURES)), int(rng.integers(2)), -1
        if feature == CATEGORICAL:
            category_set = len(sets)
            sets.append(rng.random(n_categories) < rng.choice([0.0, 0.1, 0.5, 1.0]))
        threshold = float(rng.choice([*GRID, -np.inf, np.inf]))
        add(depth - 1)
        nodes[place] = (feature, threshold, missing_left, len(nodes), category_set)
        add(depth - 1)

    for _ in range(n_trees):
        add(depth)
        node_offsets.append(len(nodes))
        leaf_offsets.append(n_leaves)
    feature, threshold, missing_left, right, category_set = zip(*nodes, strict=True)
    arrays = {
        "node_offsets": np.array(node_offsets, np.int64),
        "leaf_offsets": np.array(leaf_offsets, np.int64),
        "feature": np.array(feature, np.int32),
        "threshold": np.array(threshold),
        "missing_left": np.array(missing_left, np.uint8),
        "right": np.array(right, np.int32),
        "category_set": np.array(category_set, np.int32),
        "category_sets": words(sets, n_categories),
        "leaf_counts": rng.integers(1, 9, (n_leaves, 2)) / 4,
    }
    return Forest.from_arrays(arrays, N_FEATURES)


def words(sets, n_categories):
    n_words = -(-n_categories // 64)
    padded = np.zeros((len(sets), 64 * n_words), np.uint64)
    padded[:, :n_categories] = np.reshape(sets, (len(sets), n_categories))
    return (padded.reshape(-1, n_words, 64) << np.arange(64, dtype=np.uint64)).sum(axis=2, dtype=np.uint64)


def rows_for(ensemble, n_rows=150, seed=0, missing=0.1):
    """Rows that meet the splits of a made-up ensemble; where its encoder allows, with numbers of no category."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(GRID, (n_rows, N_FEATURES)) + rng.choice([0, 0, 0.01], (n_rows, N_FEATURES))
    known = int(ensemble.encoder.n_categories[CATEGORICAL])
    everything = 64 * ensemble.forest.category_sets.shape[1] + 5
    rows[:, CATEGORICAL] = rng.integers(0, known, n_rows) if known else rng.integers(-3, everything, n_rows)
    rows[rng.random(rows.shape) < missing] = np.nan
    return rows


LINKS = ("mean", "sigmoid", "softmax", "one_vs_all")
VARIANTS = {
    "plain": {},
    "five classes": {"n_classes": 5},
    "one class": {"n_classes": 1},
    "base last": {"base_last": True},
    "slope and divisor": {"slope": 1.7, "divisor": 3.0},
    "ties to the last": {"ties_to_last": True},
    "labels by score": {"labels_by": "score"},
    "one tree": {"n_trees": 1},
    "leaves only": {"depth": 0},
    "many categories": {"n_categories": 255, "n_known": 255},
    "more categories than sets name": {"n_categories": 64, "n_known": 80},
    "unknown categories": {"n_known": 0, "n_categories": 70},
    "other category": {
        "n_known": 0,
        "n_categories": 64,
        "reading": Reading(categories=(CATEGORICAL,), other_category=63),
    },
}


def predictions(ensemble, rows):
    """Scores, probabilities and labels of encoded rows, from the ensemble itself."""
    scores = ensemble.scores(ensemble.reading(rows))[0]
    return scores, ensemble.probabilities(scores), ensemble.classes[ensemble.label_numbers(scores)]


def near_float32(ensemble, n_rows=200, seed=0):
    """The ensemble with thresholds that are no float32, and float64 rows within an ulp of what rounds to them."""
    rng = np.random.default_rng(seed)
    threshold = ensemble.forest.threshold * (1 + rng.choice([0, 1e-9, -1e-9, 3e-8], len(ensemble.forest.threshold)))
    forest = replace(ensemble.forest, threshold=threshold, _cache={})
    rows = rows_for(ensemble, n_rows, seed)
    steps = rng.choice([0, 1e-9, -1e-9, 2.0**-26, 2.0**-25, 3 * 2.0**-26, -(2.0**-26), 1e-7], rows.shape)
    numeric = np.arange(N_FEATURES) != CATEGORICAL
    rows[:, numeric] *= (1 + steps)[:, numeric]
    return replace(ensemble, forest=forest), rows
