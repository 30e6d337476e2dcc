"""PanelClassifier: buy the same few features for every row, then predict from all of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, assert_all_finite, get_tags
from sklearn.utils.validation import check_is_fitted

from frugalforest.acquisition.fetch_mixin import FetchMixin
from frugalforest.acquisition.fingerprint import fingerprint_of
from frugalforest.acquisition.run_base import model_of_runs
from frugalforest.acquisition.staged import End, StagedRun
from frugalforest.costs import FeatureCosts
from frugalforest.data import FeatureEncoder
from frugalforest.data.tables import as_frame, column_names
from frugalforest.estimators.base import Floats, FrugalClassifierMixin, Mask
from frugalforest.estimators.checks import check_n_jobs, check_seed
from frugalforest.estimators.problem import Problem
from frugalforest.estimators.standard_forest import StandardForestClassifier
from frugalforest.importers import import_ensemble


class PanelClassifier(FrugalClassifierMixin, FetchMixin, MetaEstimatorMixin, BaseEstimator):
    """A fixed panel of features, and a classifier that reads all of it: the same bill for every row.

    Parameters
    ----------
    selector : selector
        One of frugalforest.selection, or any selector of scikit-learn (`fit`, `get_support`).
    estimator : classifier, default=None
        What is fitted on the panel; None: StandardForestClassifier with 1000 trees that try sqrt features per node. It
        is given the columns of the panel as numbers: categories as theirs, NaN where a value is missing.
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost; None: as the selector has it, or every feature costs 1.
    n_jobs : int, default=None
        Threads of the default forest.
    random_state : int, RandomState or None, default=None
        Seed of the default forest.

    Attributes
    ----------
    selector_ : selector
        Fitted on all features.
    estimator_ : classifier or None
        Fitted on the panel; None if the panel is empty: then the most frequent class is the answer, for nothing.
    panel_ : ndarray of shape (n_chosen,)
        Positions of the features of the panel.
    cost_ : float
        What every row pays.
    feature_costs_, classes_, class_prior_, n_features_in_, feature_names_in_, encoder_ :
        As of every classifier of frugalforest.

    Notes
    -----
    Frames need only the columns of the panel when they are predicted; arrays have all columns, in the order of fitting.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frugalforest.selection import AUCSelector
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = PanelClassifier(AUCSelector(budget=2, xi=0, n_forest_trees=50), random_state=0).fit(X, y)
    >>> model.cost_
    2.0
    >>> bool(model.score(X[["petal length (cm)", "petal width (cm)"]], y) > 0.95)
    True
    """

    selector_: Any
    estimator_: Any
    panel_: NDArray[np.intp]
    cost_: float
    class_prior_: Floats
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        selector: Any,
        estimator: Any = None,
        *,
        feature_costs: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.selector = selector
        self.estimator = estimator
        self.feature_costs = feature_costs
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the panel, then fit the estimator on it.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), default=None
            Handed to the estimator. Selectors count rows; only those of weight 0 are left out for them too.
        """
        self._check_parameters()
        problem = self._learn(X, y, sample_weight)
        self._refuse_missing(problem.rows.matrix)
        selector = self._select(X, y, sample_weight)
        panel = np.flatnonzero(selector.get_support())
        estimator = self._fit_estimator(problem, panel)
        self._keep(problem, selector, panel, estimator)
        return self

    # ---- steps of fit

    def _check_parameters(self) -> None:
        for name, method in (("selector", "get_support"), ("estimator", "predict")):
            given = getattr(self, name)
            if not (name == "estimator" and given is None) and not hasattr(given, method):
                raise TypeError(
                    f"{name} is {given!r:.60}; expected a {name} of scikit-learn or frugalforest with `{method}`."
                )
        check_n_jobs(self.n_jobs)
        check_seed(self.random_state)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        prices = self.feature_costs
        if prices is None:
            prices = getattr(self.selector, "feature_costs", None)
        if callable(prices):
            raise TypeError(
                "the selector's feature_costs is a callable, and bills need a price list; give feature_costs to "
                "PanelClassifier."
            )
        return Problem.learn(
            X,
            y,
            sample_weight,
            feature_costs=prices,
            class_weight=None,
            categorical_features=getattr(self.selector, "categorical_features", None),
            estimator_name=type(self).__name__,
        )

    def _select(self, X: Any, y: Any, sample_weight: Any) -> Any:
        if sample_weight is not None and (np.asarray(sample_weight) == 0).any():
            counted = np.flatnonzero(np.broadcast_to(sample_weight, len(y)))
            X, y = _safe_indexing(X, counted), _safe_indexing(y, counted)
        return clone(self.selector).fit(X, y)

    def _fit_estimator(self, problem: Problem, panel: NDArray[np.intp]) -> Any:
        if len(panel) == 0:
            return None
        rows = problem.rows
        if self.estimator is None:
            estimator: Any = StandardForestClassifier(
                n_estimators=1000,
                max_features="sqrt",
                categorical_features=problem.encoder.is_categorical[panel],
                n_jobs=self.n_jobs,
                random_state=self.random_state,
            )
        else:
            estimator = clone(self.estimator)
        weights = {} if rows.weights is None else {"sample_weight": rows.weights}
        return estimator.fit(rows.matrix[:, panel], problem.classes[rows.labels], **weights)

    def _keep(self, problem: Problem, selector: Any, panel: NDArray[np.intp], estimator: Any) -> None:
        self.selector_, self.estimator_, self.panel_ = selector, estimator, panel
        self._keep_problem(problem)
        self.cost_ = problem.costs.of(self._panel_mask)

    @property
    def _panel_mask(self) -> Mask:
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.panel_] = True
        return mask

    def _refuse_missing(self, matrix: NDArray[Any]) -> None:
        """In scikit-learn's words, for an estimator that cannot do with missing values."""
        if self.estimator is not None and not get_tags(self.estimator).input_tags.allow_nan:
            assert_all_finite(matrix, estimator_name=type(self.estimator).__name__, input_name="X")

    # ---- the contract

    def _rows(self, X: Any, stacklevel: int = 3) -> NDArray[Any]:
        """The panel's columns as numbers, (n_rows, n_chosen); of a frame only these are looked at."""
        check_is_fitted(self)
        frame = as_frame(X)
        by_name = frame is not None and column_names(frame) is not None and self.encoder_.feature_names is not None
        if by_name and len(self.panel_):
            rows = self.encoder_.subset(self.panel_).encode(X, estimator_name=type(self).__name__)
            self._refuse_missing(rows)
            return rows
        matrix = super()._rows(X, stacklevel + 1)
        self._refuse_missing(matrix)
        return matrix[:, self.panel_]

    def _read(self, rows: NDArray[Any], *, with_mask: bool) -> tuple[Floats, Mask | None]:
        mask = np.tile(self._panel_mask, (len(rows), 1)) if with_mask else None
        if self.estimator_ is None:
            return np.tile(self.class_prior_, (len(rows), 1)), mask
        if hasattr(self.estimator_, "predict_proba"):
            return self._in_order(self.estimator_.predict_proba(rows)), mask
        return (self.estimator_.predict(rows)[:, None] == self.classes_).astype(np.float64), mask

    def _in_order(self, probabilities: Floats) -> Floats:
        """Columns in the order of `classes_`; a class that only rows of weight 0 have gets 0."""
        if len(self.estimator_.classes_) == len(self.classes_):
            return probabilities
        full = np.zeros((len(probabilities), len(self.classes_)))
        full[:, np.searchsorted(self.classes_, self.estimator_.classes_)] = probabilities
        return full

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row, (n_rows,)."""
        return self._label_of(self._rows(X))

    def _label_of(self, rows: NDArray[Any]) -> NDArray[Any]:
        if self.estimator_ is None:
            return self._labels(np.tile(self.class_prior_, (len(rows), 1)))
        return np.asarray(self.estimator_.predict(rows))

    def _label_and_mask(self, rows: NDArray[Any]) -> tuple[NDArray[Any], Mask]:
        return self._label_of(rows), np.tile(self._panel_mask, (len(rows), 1))

    # ---- one row at a time

    def start(self) -> StagedRun:  # type: ignore[override]  # of the same surface
        """A run for one row: it asks for the features of the panel, the cheapest first."""
        check_is_fitted(self)
        return StagedRun(_PanelStage(self))

    def resume(self, text: str) -> StagedRun:
        """The run that `run.to_json()` wrote, at the point where it was."""
        check_is_fitted(self)
        return StagedRun.from_json(text, _PanelStage(self))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags


@dataclass(frozen=True, eq=False)
class _PanelStage:
    """The one stage of a panel, as runs read it."""

    model: PanelClassifier

    @property
    def costs(self) -> FeatureCosts:
        return self.model.feature_costs_

    @property
    def encoder(self) -> FeatureEncoder:
        return self.model.encoder_

    @property
    def classes(self) -> NDArray[Any]:
        return self.model.classes_

    @cached_property
    def fingerprint(self) -> str:
        model, costs = self.model, self.costs
        prices = (*costs.ticks, costs.money(1), costs.membership)
        return fingerprint_of(model.panel_, model.class_prior_, prices, _estimator_mark(model.estimator_))

    @property
    def earlier_fingerprints(self) -> tuple[str, ...]:
        """What runs of version 1 may have in its place, which leaves the estimator out."""
        content = repr((self.model.panel_.tolist(), self.model.classes_.tolist(), self.model.class_prior_.tolist()))
        prices = repr((self.costs.own.tolist(), sorted(self.costs.groups.items())))
        return (hashlib.sha256((content + prices).encode()).hexdigest()[:16],)

    def wanted(self, values: Floats, known_mask: Mask) -> NDArray[np.intp]:
        return self.model.panel_[~known_mask[self.model.panel_]]

    def answer(self, values: Floats, known_mask: Mask) -> Floats:
        """The estimator's once the panel is complete; before, the class shares of the training rows."""
        if len(self.wanted(values, known_mask)) or self.model.estimator_ is None:
            return self.model.class_prior_
        row = values[None, self.model.panel_]
        if np.isnan(row).any() and not get_tags(self.model.estimator_).input_tags.allow_nan:
            lacking = [self.encoder.feature_label(int(f)) for f in self.model.panel_[np.isnan(row[0])]]
            raise ValueError(
                f"{type(self.model.estimator_).__name__} cannot do without {', '.join(map(repr, lacking))}; take an "
                "estimator that accepts missing values, such as the default forest."
            )
        return self.model._read(row, with_mask=False)[0][0]

    def outlook(self, values: Floats, known_mask: Mask) -> list[End]:
        return [End(1.0, self.model._panel_mask)]


def _estimator_mark(estimator: Any) -> str:
    """A text that tells fitted estimators apart: by their trees if these can be read, else by all they learned."""
    own = model_of_runs(estimator)
    if hasattr(own, "fingerprint"):  # one of frugalforest, which has runs itself
        return str(own.fingerprint)
    try:
        return fingerprint_of(import_ensemble(estimator))
    except (TypeError, ValueError):  # no trees, or some that cannot be read
        return fingerprint_of(estimator)
