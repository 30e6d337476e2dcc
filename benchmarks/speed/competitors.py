"""Ours and our peers, each at 40 trees grown to purity, and how each is fitted and asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.ensemble import RandomForestClassifier

import frugalforest as ff

THREADS = 2


@dataclass(frozen=True)
class Competitor:
    make: Callable[[int], Any]  # number of trees -> estimator
    fit: Callable[[Any, Any, Any], Any]
    predict: Callable[[Any, Any], Any]
    is_ours: bool = False
    is_slow: bool = False  # half an hour and more on a million rows


def _fit(model, X, y):
    return model.fit(X, y)


def _fit_budget(model, X, y):
    # A small eval_set: the time is that of binning and growing, on all rows.
    return model.fit(X, y, eval_set=(X[:1000], y[:1000]))


def _predict(model, X):
    return model.predict(X)


def _predict_with_bill(model, X):
    return model.predict_with_cost(X)


def lightgbm_forest(n_trees: int):
    """LightGBM's rf mode: without a large histogram pool it would recompute histograms, which is unfair to it.

    1024 leaves for each class are fewer than our trees have in all (about 5000), and so in its favour.
    """
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        boosting_type="rf",
        n_estimators=n_trees,
        num_leaves=1024,
        min_child_samples=1,
        min_child_weight=0.0,
        bagging_freq=1,
        bagging_fraction=0.632,
        histogram_pool_size=4096,
        n_jobs=THREADS,
        random_state=0,
        verbose=-1,
    )


COMPETITORS = {
    "BudgetForest": Competitor(
        lambda n: ff.BudgetForestClassifier(alpha=0, n_estimators=n, n_jobs=THREADS, random_state=0),
        _fit_budget,
        _predict_with_bill,
        is_ours=True,
    ),
    # At most 1,024 leaves, as many as LightGBM's trees have: for rows on which trees grown to purity have far more.
    "BudgetForest depth 10": Competitor(
        lambda n: ff.BudgetForestClassifier(alpha=0, max_depth=10, n_estimators=n, n_jobs=THREADS, random_state=0),
        _fit_budget,
        _predict_with_bill,
        is_ours=True,
    ),
    "StandardForest sqrt": Competitor(
        lambda n: ff.StandardForestClassifier(n, n_jobs=THREADS, random_state=0), _fit, _predict_with_bill, is_ours=True
    ),
    "scikit-learn all features": Competitor(
        lambda n: RandomForestClassifier(n, max_features=None, n_jobs=THREADS, random_state=0),
        _fit,
        _predict,
        is_slow=True,
    ),
    "scikit-learn sqrt": Competitor(
        lambda n: RandomForestClassifier(n, n_jobs=THREADS, random_state=0), _fit, _predict
    ),
    "LightGBM rf": Competitor(lightgbm_forest, _fit, _predict),
}
