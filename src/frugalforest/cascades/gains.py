"""What each feature is worth to a fitted model, by whatever the model can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.inspection import permutation_importance

Floats = NDArray[np.float64]

MOST_PERMUTED = 2_000  # rows
MOST_RESIDUALS = 5_000  # rows that the next features are looked for with: it takes a seventh of the time of 36,000
RESIDUAL_TREES = {"max_iter": 20, "learning_rate": 0.3, "max_leaf_nodes": 15, "early_stopping": False}


def knows_unread(model: Any) -> bool:
    """Whether a gain of 0 says that the model never reads a feature."""
    return hasattr(model, "feature_importances_") or hasattr(model, "_predictors")


def feature_gains(model: Any, rows: NDArray[Any], labels: NDArray[Any], seed: int) -> Floats:
    """Gain of each column, (n_columns,), at least 0: of trees their own, of linear models |coefficient| * spread.

    For any other model the fall of the score when the column is permuted in rows that it was not fitted on.
    """
    if hasattr(model, "feature_importances_"):
        return np.asarray(model.feature_importances_, dtype=np.float64)
    if hasattr(model, "_predictors"):
        return histogram_gains(model, rows.shape[1])
    if hasattr(model, "coef_"):
        return np.asarray(np.abs(model.coef_).sum(axis=0) * np.nanstd(rows.astype(np.float64), axis=0))
    some = slice(0, MOST_PERMUTED)
    found = permutation_importance(model, rows[some], labels[some], n_repeats=2, random_state=seed)
    return np.maximum(found.importances_mean, 0.0)


def histogram_gains(model: Any, n_columns: int) -> Floats:
    """Total gain of the splits on each column in a HistGradientBoosting model, which does not tell by itself."""
    gains = np.zeros(n_columns)
    column = _columns_of(model, n_columns)
    for predictor in (predictor for stage in model._predictors for predictor in stage):
        splits = predictor.nodes[predictor.nodes["is_leaf"] == 0]
        np.add.at(gains, column[splits["feature_idx"]], np.maximum(splits["gain"], 0.0))
    return gains


def _columns_of(model: Any, n_columns: int) -> NDArray[np.intp]:
    """The column behind each feature of the trees: categorical ones come first there."""
    mask = model.is_categorical_
    if mask is None:
        return np.arange(n_columns)
    return np.concatenate([np.flatnonzero(mask), np.flatnonzero(~mask)])


def residual_gains(
    rows: NDArray[Any], residuals: Floats, weights: Floats | None, categorical: NDArray[np.bool_], seed: int
) -> Floats:
    """What each column tells about what is not explained yet, (n_columns,): gains of a few trees on the residuals.

    residuals: (n_rows, n_targets), one column of 0/1 minus probability for each class but one.
    """
    if len(rows) > MOST_RESIDUALS:
        some = np.sort(np.random.default_rng(seed).choice(len(rows), MOST_RESIDUALS, replace=False))
        rows, residuals = rows[some], residuals[some]
        weights = None if weights is None else weights[some]
    gains = np.zeros(rows.shape[1])
    for target in residuals.T:
        trees = HistGradientBoostingRegressor(**RESIDUAL_TREES, categorical_features=categorical, random_state=seed)
        gains += histogram_gains(trees.fit(rows, target, weights), rows.shape[1])
    return gains
