"""Fitted tree ensembles of other libraries, read into an Ensemble. The libraries themselves are never imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frugalforest.ensemble import Ensemble
from frugalforest.importers.catboost import import_catboost
from frugalforest.importers.lightgbm import import_booster as import_lightgbm_booster
from frugalforest.importers.lightgbm import import_classifier as import_lightgbm_classifier
from frugalforest.importers.sklearn import import_forest, import_gradient_boosting, import_hist_gradient_boosting
from frugalforest.importers.xgboost import import_booster as import_xgboost_booster
from frugalforest.importers.xgboost import import_classifier as import_xgboost_classifier

__all__ = ["import_ensemble"]

# By library and class, so that nothing has to be imported to ask. Subclasses come in through their parents.
_IMPORTERS: dict[tuple[str, str], Callable[[Any], Ensemble]] = {
    ("sklearn", "DecisionTreeClassifier"): import_forest,
    ("sklearn", "RandomForestClassifier"): import_forest,
    ("sklearn", "ExtraTreesClassifier"): import_forest,
    ("sklearn", "GradientBoostingClassifier"): import_gradient_boosting,
    ("sklearn", "HistGradientBoostingClassifier"): import_hist_gradient_boosting,
    ("lightgbm", "LGBMClassifier"): import_lightgbm_classifier,
    ("lightgbm", "Booster"): import_lightgbm_booster,
    ("xgboost", "XGBClassifier"): import_xgboost_classifier,
    ("xgboost", "Booster"): import_xgboost_booster,
    ("catboost", "CatBoost"): import_catboost,
}


def import_ensemble(model: Any) -> Ensemble:
    """A fitted tree ensemble of scikit-learn, LightGBM, XGBoost or CatBoost as an Ensemble with the same predictions.

    The label of every row is the library's own `predict`, ties, missing values and unknown categories included; what
    cannot be had exactly is refused. Columns are called what the model calls them (LightGBM turns blanks in names into
    underscores); a model that was fitted without names goes by position. Categories are given as they were for fitting,
    in a column of the same kind, never as the codes that a library made of them.
    """
    for parent in type(model).__mro__:
        importer = _IMPORTERS.get((parent.__module__.partition(".")[0], parent.__name__))
        if importer is not None:
            return importer(model)
    known = ", ".join(f"{library}.{name}" for library, name in _IMPORTERS)
    raise TypeError(
        f"{type(model).__module__}.{type(model).__qualname__} is no tree classifier that can be read. Supported are "
        f"fitted models of: {known}. Of a pipeline or a search, give the fitted model inside."
    )
