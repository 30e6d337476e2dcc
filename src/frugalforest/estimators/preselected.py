"""PreselectedClassifier: selection first, then a frugal classifier that may only buy what was selected; one bill."""

from __future__ import annotations

from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from frugalforest.acquisition.fetch_mixin import FetchMixin
from frugalforest.costs import resolve_costs
from frugalforest.data.tables import as_frame, column_names
from frugalforest.estimators.base import Floats, FrugalClassifierMixin, Mask
from frugalforest.estimators.penalized_forest import PenalizedForestClassifier


class PreselectedClassifier(FrugalClassifierMixin, FetchMixin, MetaEstimatorMixin, BaseEstimator):
    """A selector narrows the features down, and a frugal classifier buys among those: a row pays for what it reads.

    The combination that Thomas suggests: a cheap global choice (SubmodularSelector) before penalised splits. To the
    estimator the other columns are constant, so it never reads them; mask, bill and runs are its own. PanelClassifier,
    in contrast, buys the whole panel for every row.

    Parameters
    ----------
    selector : selector
        One of frugalforest.selection, or any selector of scikit-learn.
    estimator : classifier of frugalforest, default=None
        What buys among the selected features; None: PenalizedForestClassifier().
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost, for both; None: as the selector has it, or every feature costs 1.

    Attributes
    ----------
    selector_, estimator_ :
        Both fitted.
    classes_, n_features_in_, feature_names_in_, feature_costs_, encoder_ :
        As of every classifier of frugalforest.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frugalforest.selection import SubmodularSelector
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = PreselectedClassifier(SubmodularSelector(budget=3), feature_costs=[1, 1, 2, 2]).fit(X, y)
    >>> bool(model.acquisition_cost(X).max() <= 3)
    True
    """

    selector_: Any
    estimator_: Any
    feature_names_in_: NDArray[Any]

    def __init__(self, selector: Any, estimator: Any = None, *, feature_costs: Any = None) -> None:
        self.selector = selector
        self.estimator = estimator
        self.feature_costs = feature_costs

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Select, then fit the estimator on X with the other columns blank; fit_params go to it."""
        self._check_parameters()
        selector = clone(self.selector)
        if self.feature_costs is not None and "feature_costs" in selector.get_params():
            selector.set_params(feature_costs=self.feature_costs)
        selector.fit(X, y)
        support = selector.get_support()
        names = getattr(selector, "feature_names_in_", None)
        prices = self.feature_costs if self.feature_costs is not None else getattr(selector, "feature_costs_", None)
        costs = resolve_costs(prices, len(support), None if names is None else tuple(names))
        estimator = PenalizedForestClassifier() if self.estimator is None else clone(self.estimator)
        estimator.set_params(feature_costs=costs).fit(_blank(X, ~support), y, **fit_params)
        self._keep(selector, estimator)
        return self

    def _check_parameters(self) -> None:
        if not hasattr(self.selector, "get_support"):
            raise TypeError(f"selector is {self.selector!r:.60}; expected a selector with `get_support`.")
        if self.estimator is not None and not isinstance(self.estimator, FrugalClassifierMixin):
            raise TypeError(
                f"estimator is {self.estimator!r:.60}; expected a classifier of frugalforest, which says what each row "
                "reads. PanelClassifier takes any other."
            )

    def _keep(self, selector: Any, estimator: Any) -> None:
        self.__dict__.pop("feature_names_in_", None)
        self.selector_, self.estimator_ = selector, estimator
        self.classes_ = estimator.classes_
        self.n_features_in_ = estimator.n_features_in_
        if hasattr(estimator, "feature_names_in_"):
            self.feature_names_in_ = estimator.feature_names_in_
        self.feature_costs_ = estimator.feature_costs_
        self.encoder_ = estimator.encoder_

    # ---- the contract is the estimator's

    def _rows(self, X: Any, stacklevel: int = 3) -> NDArray[Any]:
        check_is_fitted(self)
        hidden = ~self.selector_.get_support()
        names = getattr(self, "feature_names_in_", None)
        return self.estimator_._rows(_blank(X, hidden, names), stacklevel + 1)

    def _read(self, rows: NDArray[Any], *, with_mask: bool) -> tuple[Floats, Mask | None]:
        return self.estimator_._read(rows, with_mask=with_mask)

    def _label_and_mask(self, rows: NDArray[Any]) -> tuple[NDArray[Any], Mask]:
        return self.estimator_._label_and_mask(rows)

    def start(self) -> Any:
        """A run for one row, as the estimator has it."""
        check_is_fitted(self)
        return self.estimator_.start()

    def resume(self, text: str) -> Any:
        """The run that `run.to_json()` wrote, at the point where it was."""
        check_is_fitted(self)
        return self.estimator_.resume(text)


def _blank(X: Any, hidden: Mask, names: NDArray[Any] | None = None) -> Any:
    """X with 0 in the hidden columns; names: those of the columns in the order of `hidden`, if X may have another."""
    frame = as_frame(X)
    if frame is None or column_names(frame) is None:
        return _blank_array(X, hidden)
    known = list(frame.columns) if names is None else names.tolist()
    zeros = [nw.lit(0).alias(name) for name, is_hidden in zip(known, hidden, strict=False) if is_hidden]
    return frame.with_columns(*zeros).to_native() if zeros else X


def _blank_array(X: Any, hidden: Mask) -> Any:
    array = np.asarray(X)
    if array.ndim != 2 or array.shape[1] != len(hidden) or not hidden.any():
        return X  # refused in the estimator's own words, or as it is
    array = array.copy()
    array[:, hidden] = 0
    return array
