"""Whether a model is still what it was when it was read: marks that change when it is trained on, cut or set anew.

Asked for at every prediction, so a mark takes microseconds. It does not see the values of single leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from frugalforest.importers.classes import entry_of

Mark = tuple[Any, ...]  # compared by ==


def version_of(model: Any) -> Mark:
    """What tells the present state of a model from others that the same object has had, or will have."""
    mark = entry_of(model, _MARKS)
    return () if mark is None else mark(model)


def _trees(model: Any) -> Mark:
    """The trees of scikit-learn's forests and boosters, which are in a list or an array that may change in place."""
    trees = getattr(model, "estimators_", ())
    return tuple(tree.tree_ for tree in (trees.ravel() if isinstance(trees, np.ndarray) else trees))


def _predictors(model: Any) -> Mark:
    return tuple(predictor for stage in getattr(model, "_predictors", ()) for predictor in stage)


def _lightgbm(booster: Any) -> Mark:
    return booster.num_trees(), booster.best_iteration


def _xgboost(booster: Any) -> Mark:
    return booster.num_boosted_rounds(), booster.attributes().get("best_iteration")


def _of_the_booster(mark: Callable[[Any], Mark]) -> Callable[[Any], Mark]:
    """The mark of a classifier of LightGBM or XGBoost: that of the booster in it, if it is fitted."""

    def of_classifier(model: Any) -> Mark:
        booster = vars(model).get("_Booster")
        return () if booster is None else mark(booster)

    return of_classifier


def _catboost(model: Any) -> Mark:
    if not model.is_fitted():
        return ()
    threshold = getattr(model, "get_probability_threshold", None)  # which only classifiers have
    return model.tree_count_, model.get_scale_and_bias(), threshold and threshold()


_MARKS: dict[tuple[str, str], Callable[[Any], Mark]] = {
    ("sklearn", "RandomForestClassifier"): _trees,
    ("sklearn", "ExtraTreesClassifier"): _trees,
    ("sklearn", "GradientBoostingClassifier"): _trees,
    ("sklearn", "HistGradientBoostingClassifier"): _predictors,
    ("lightgbm", "LGBMClassifier"): _of_the_booster(_lightgbm),
    ("lightgbm", "Booster"): _lightgbm,
    ("xgboost", "XGBClassifier"): _of_the_booster(_xgboost),
    ("xgboost", "Booster"): _xgboost,
    ("catboost", "CatBoost"): _catboost,
}
