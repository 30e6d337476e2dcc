"""Fitted tree ensembles, read into an Ensemble. The libraries that grew them are never imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frugalforest.ensemble import Ensemble
from frugalforest.importers.catboost import import_catboost
from frugalforest.importers.classes import entry_of, layers_of
from frugalforest.importers.lightgbm import import_booster as import_lightgbm_booster
from frugalforest.importers.lightgbm import import_classifier as import_lightgbm_classifier
from frugalforest.importers.sklearn import import_forest, import_gradient_boosting, import_hist_gradient_boosting
from frugalforest.importers.versions import version_of
from frugalforest.importers.xgboost import import_booster as import_xgboost_booster
from frugalforest.importers.xgboost import import_classifier as import_xgboost_classifier

__all__ = ["import_ensemble", "layers_of", "version_of"]

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

# Classifiers of this library that are an ensemble of trees, or hold one; for messages.
OWN = (
    "StandardForestClassifier",
    "BudgetForestClassifier",
    "PenalizedForestClassifier",
    "PrunedForestClassifier",
    "FrugalBoostingClassifier",
    "GreedyMiserClassifier",
    "PreselectedClassifier",
    "FrugalClassifier",
    "OnDemand",
)


def import_ensemble(model: Any) -> Ensemble:
    """A fitted tree ensemble of scikit-learn, LightGBM, XGBoost, CatBoost or this library, with the same predictions.

    The label of every row is the library's own `predict`, ties and missing values included, and unknown categories
    where the library has a rule for them: XGBoost takes them for others, so they are refused in rows for its models.
    What cannot be had exactly is refused. Columns are called what the model calls them (LightGBM turns blanks in names
    into underscores); a model that was fitted without names goes by position. Categories are given as they were for
    fitting, in a column of the same kind, never as the codes that a library made of them.
    """
    inside = layers_of(model)[-1]
    if hasattr(inside, "_acquirer") and not isinstance(inside, type):  # of this library: it has read itself already
        return inside._acquirer().ensemble
    importer = entry_of(inside, _IMPORTERS)
    if importer is None:
        raise TypeError(_refusal(model, inside))
    return importer(inside)


def _refusal(model: Any, inside: Any) -> str:
    what = _full_name(inside)
    if inside is not model:
        what += f", the model inside this {type(model).__name__},"
    known = [f"frugalforest.{name}" for name in OWN] + [f"{library}.{name}" for library, name in _IMPORTERS]
    return (
        f"{what} is no tree classifier that can be read. Supported are fitted models of: {', '.join(known)}. "
        "Of a pipeline or a search, give the fitted model inside."
    )


def _full_name(model: Any) -> str:
    return f"{type(model).__module__}.{type(model).__qualname__}"
