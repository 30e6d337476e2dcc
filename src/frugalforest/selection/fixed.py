"""FixedSelector: a panel that somebody has chosen already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from frugalforest.selection.base import FeatureSelector


class FixedSelector(FeatureSelector):
    """The features one names, and what they cost: for panels that are given, such as the one in use today.

    Parameters
    ----------
    features : sequence of str or int
        Names of columns, or positions if X has no names.
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost; None: every feature costs 1.
    categorical_features : array of str, int or bool, default=None
        Columns that hold categories, besides those whose type says so.

    Attributes
    ----------
    support_, cost_, feature_costs_, classes_, n_features_in_, feature_names_in_, encoder_ :
        As of every selector.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> FixedSelector(["petal width (cm)"], feature_costs=[1, 1, 2, 3]).fit(X, y).cost_
    3.0
    """

    def __init__(
        self, features: Sequence[Any] = (), *, feature_costs: Any = None, categorical_features: Any = None
    ) -> None:
        self.features = features
        self.feature_costs = feature_costs
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any) -> Self:
        """Check that the features are there, and add up what they cost."""
        problem = self._learn(X, y)
        try:
            support = problem.costs.mask(list(self.features))
        except (ValueError, TypeError) as error:
            raise type(error)(f"features: {error}") from None
        self._keep_support(problem, support)
        return self
