"""What every selector of features is: scikit-learn's selector, with a price list and a bill."""

from __future__ import annotations

import warnings
from abc import ABCMeta
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from frugalforest.costs import FeatureCosts
from frugalforest.data import FeatureEncoder
from frugalforest.estimators.problem import Problem

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class FeatureSelector(SelectorMixin, BaseEstimator, metaclass=ABCMeta):
    """Learns rows, labels and prices, and keeps a set of features: the part that all selectors share.

    Subclasses call `_learn` at the start of `fit` and `_keep_support` at its end; nothing is kept before, so that a
    fit that fails leaves the selector as it was. `get_support`, `transform` and the names come from scikit-learn.
    """

    feature_costs: Any
    categorical_features: Any

    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    feature_costs_: FeatureCosts
    encoder_: FeatureEncoder
    support_: Mask
    cost_: float

    def _learn(self, X: Any, y: Any) -> Problem:
        """Rows as numbers, classes, and prices in the order of the columns, all checked."""
        return Problem.learn(
            X,
            y,
            None,
            feature_costs=self.feature_costs,
            class_weight=None,
            categorical_features=self.categorical_features,
            estimator_name=type(self).__name__,
        )

    def _keep_support(self, problem: Problem, support: Mask) -> None:
        """The chosen features and what they cost; traces of an earlier fit go."""
        self.__dict__.pop("feature_names_in_", None)
        self.encoder_ = problem.encoder
        self.classes_ = problem.classes
        self.n_features_in_ = problem.n_features
        if problem.encoder.feature_names is not None:
            self.feature_names_in_ = np.array(problem.encoder.feature_names, dtype=object)
        self.feature_costs_ = problem.costs
        self.support_ = np.asarray(support, dtype=bool)
        self.cost_ = problem.costs.of(self.support_)

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return self.support_

    @property
    def selected_(self) -> list[Any]:
        """The chosen features, by name where X had names, else by position, in the order of the columns."""
        check_is_fitted(self)
        return [self.encoder_.feature_label(int(f)) for f in np.flatnonzero(self.support_)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def warn_if_nothing_fits(problem: Problem, budget: float | None, estimator_name: str) -> None:
    """Say which feature is the cheapest when the budget buys none."""
    if budget is None or (problem.costs.alone <= budget).any():
        return
    cheapest = int(np.argmin(problem.costs.alone))
    warnings.warn(
        f"{estimator_name}: budget {budget:g} is below the cheapest feature, "
        f"{problem.encoder.feature_label(cheapest)!r} for {problem.costs.alone[cheapest]:g}; the panel is empty. "
        "Raise the budget to at least that.",
        UserWarning,
        stacklevel=4,
    )
