"""The contract every fitted classifier keeps, and what the forests share on top of it.

A model says three things about a row: its label, which features it needs for it (`acquisition_mask`), and what those
cost (`acquisition_cost`). The cost is always the cost of the mask.
"""

from __future__ import annotations

import os
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from frugalforest.acquisition import Acquirer, StopRule
from frugalforest.costs import FeatureCosts
from frugalforest.data import FeatureEncoder
from frugalforest.data.tables import as_frame, column_names
from frugalforest.ensemble import Ensemble
from frugalforest.estimators.acquiring import AcquiringMixin
from frugalforest.estimators.checks import (
    check_choice,
    check_flag,
    check_n_jobs,
    check_number,
    check_seed,
    check_whole_number,
    class_numbers,
    resolve_max_features,
)
from frugalforest.estimators.problem import Problem, Rows
from frugalforest.estimators.sizes import measured_sizes
from frugalforest.evaluation import CostCurve
from frugalforest.forest import Forest
from frugalforest.growing.params import Thresholds

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class FrugalClassifierMixin(ClassifierMixin, metaclass=ABCMeta):
    """Asks for one method, `_read` (class scores and features read), and gives the contract."""

    classes_: NDArray[Any]
    n_features_in_: int
    feature_costs_: FeatureCosts
    encoder_: FeatureEncoder

    @abstractmethod
    def _read(self, rows: NDArray[Any], *, with_mask: bool) -> tuple[Floats, Mask | None]:
        """Class probabilities (n_rows, n_classes) and, if asked for, the features read (n_rows, n_features)."""

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row, the first of equals, (n_rows,)."""
        return self._labels(self._read(self._rows(X), with_mask=False)[0])

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities, (n_rows, n_classes), columns in the order of `classes_`."""
        return self._read(self._rows(X), with_mask=False)[0]

    def acquisition_mask(self, X: Any) -> Mask:
        """Which features each row needs for its prediction, (n_rows, n_features)."""
        return self._label_and_mask(self._rows(X))[1]

    def acquisition_cost(self, X: Any) -> Floats:
        """The bill of each row: what the features of its mask cost together, (n_rows,)."""
        _, mask = self._label_and_mask(self._rows(X))
        return self.feature_costs_.of_rows(mask)

    def predict_with_cost(self, X: Any) -> tuple[NDArray[Any], Floats]:
        """Label and bill of each row in one pass: `predict(X), acquisition_cost(X)`."""
        labels, mask = self._label_and_mask(self._rows(X))
        return labels, self.feature_costs_.of_rows(mask)

    def _label_and_mask(self, rows: NDArray[Any]) -> tuple[NDArray[Any], Mask]:
        scores, mask = self._read(rows, with_mask=True)
        assert mask is not None
        return self._labels(scores), mask

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `frugalforest.load` reads: no code in it, and checked when read."""
        from frugalforest.persistence import save

        save(self, path)

    def _rows(self, X: Any, stacklevel: int = 3) -> NDArray[Any]:
        """X as the matrix of numbers that the model reads. Columns of a frame are found by name, else by position.

        stacklevel: of a warning, counted from here to the user's line.
        """
        check_is_fitted(self)
        name = type(self).__name__
        matrix = self.encoder_.encode(X, estimator_name=name)
        frame = as_frame(X)
        has_names = frame is not None and column_names(frame) is not None
        if has_names != (self.encoder_.feature_names is not None):
            # In the words of scikit-learn, so that its users' filters work.
            what = "X has feature names" if has_names else "X does not have valid feature names"
            how = "without" if has_names else "with"
            warnings.warn(f"{what}, but {name} was fitted {how} feature names", UserWarning, stacklevel=stacklevel)
        return matrix

    def _keep_problem(self, problem: Problem) -> None:
        """What fit has learned before any model; names of an earlier fit go."""
        self.__dict__.pop("feature_names_in_", None)
        self.encoder_ = problem.encoder
        self.n_features_in_ = problem.n_features
        if problem.encoder.feature_names is not None:
            self.feature_names_in_ = np.array(problem.encoder.feature_names, dtype=object)
        self.classes_ = problem.classes
        self.class_prior_ = problem.class_prior
        self.feature_costs_ = problem.costs

    def _labels(self, scores: Floats) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_[np.argmax(scores, axis=1)]
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class ForestClassifierBase(AcquiringMixin, FrugalClassifierMixin, BaseEstimator):
    """What every forest does: check, learn, keep; vote, bill, importances.

    Subclasses have the parameters below, and `fit` sets `forest_`. Nothing is kept before everything is checked and
    grown: a fit that fails leaves the model as it was.
    """

    n_estimators: int
    feature_costs: Any
    max_depth: int | None
    max_features: Any
    min_samples_split: int
    min_samples_leaf: int
    min_weight_fraction_leaf: float
    thresholds: Thresholds
    bootstrap: bool
    voting: str
    stop: Literal["all", "label"]
    class_weight: Any
    categorical_features: Any
    max_bins: int
    oob_score: bool
    n_jobs: int | None
    random_state: Any
    verbose: int

    forest_: Forest
    class_prior_: Floats
    feature_names_in_: NDArray[Any]
    oob_score_: float
    oob_cost_: float
    oob_decision_function_: Floats

    # ---- steps of fit

    def _check_common(self) -> None:
        check_whole_number(self.n_estimators, "n_estimators", 1)
        check_whole_number(self.max_depth, "max_depth", 1, or_none=True)
        resolve_max_features(self.max_features, 1)
        check_whole_number(self.min_samples_split, "min_samples_split", 2)
        check_whole_number(self.min_samples_leaf, "min_samples_leaf", 1)
        check_number(self.min_weight_fraction_leaf, "min_weight_fraction_leaf", 0, at_most=0.5)
        check_choice(self.thresholds, "thresholds", ("all", "random"))
        check_flag(self.bootstrap, "bootstrap")
        check_choice(self.voting, "voting", ("hard", "soft"))
        check_choice(self.stop, "stop", ("all", "label"))
        check_whole_number(self.max_bins, "max_bins", 2, at_most=255)
        check_flag(self.oob_score, "oob_score")
        check_n_jobs(self.n_jobs)
        check_seed(self.random_state)
        check_whole_number(int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, "verbose", 0)
        if self.oob_score and not self.bootstrap:
            raise ValueError("oob_score=True needs bootstrap=True: without it no row is out of a bag.")

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        return Problem.learn(
            X,
            y,
            sample_weight,
            feature_costs=self.feature_costs,
            class_weight=self.class_weight,
            categorical_features=self.categorical_features,
            estimator_name=type(self).__name__,
        )

    def _common_growth(self, n_features: int) -> dict[str, Any]:
        """The options of `Growth` that all forests have."""
        return {
            "thresholds": self.thresholds,
            "max_depth": self.max_depth,
            "max_features": resolve_max_features(self.max_features, n_features),
            "min_samples_leaf": self.min_samples_leaf,
            "min_samples_split": self.min_samples_split,
            "bootstrap": self.bootstrap,
        }

    def _keep_problem(self, problem: Problem) -> None:
        """What was learned besides trees; traces of an earlier fit go."""
        super()._keep_problem(problem)
        for name in ("oob_score_", "oob_cost_", "oob_decision_function_"):
            self.__dict__.pop(name, None)

    def _keep_oob(self, rows: Rows, in_bag: NDArray[np.uint8]) -> None:
        """Out-of-bag estimates from the rows the forest was grown on; in_bag: (n_trees, n_rows)."""
        sums, mask = self.forest_.sums(
            rows.matrix, **self._votes(self.forest_), with_mask=True, in_bag=in_bag, n_threads=self._n_threads()
        )
        assert mask is not None
        judged: Mask = np.any(in_bag == 0, axis=0)
        if self.forest_.n_trees == 0:  # every row is judged, by the free answer
            sums, judged = np.tile(self.class_prior_, (len(rows), 1)), np.ones(len(rows), dtype=bool)
        votes = np.where(judged[:, None], sums, np.nan)
        self.oob_decision_function_ = votes / votes.sum(axis=1, keepdims=True)
        some = rows.take(judged)
        right = np.argmax(sums[judged], axis=1) == some.labels
        self.oob_score_ = some.share(right) if judged.any() else np.nan
        self.oob_cost_ = float(self.feature_costs_.of_rows(mask[judged]).mean()) if judged.any() else np.nan

    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    # ---- reading a fitted forest

    def _votes(self, forest: Forest) -> dict[str, Any]:
        """What leaves add to the votes of a row, as the forest wants it."""
        if self.voting == "hard":
            return {"values": forest.leaf_counts, "as_votes": True}
        return {"values": forest.leaf_shares}

    def _read(self, rows: NDArray[Any], *, with_mask: bool) -> tuple[Floats, Mask | None]:
        if self.stop != "label":
            return self._read_all(rows, with_mask=with_mask)
        found = self._acquirer().evaluate(rows, self._stop_rule(), self._n_threads())
        assert found.probabilities is not None
        return found.probabilities, found.mask

    def _read_all(self, rows: NDArray[Any], *, with_mask: bool) -> tuple[Floats, Mask | None]:
        if self.forest_.n_trees == 0:
            mask = np.zeros((len(rows), self.n_features_in_), dtype=bool) if with_mask else None
            return np.tile(self.class_prior_, (len(rows), 1)), mask
        sums, mask = self.forest_.sums(
            rows, **self._votes(self.forest_), with_mask=with_mask, n_threads=self._n_threads()
        )
        sums /= self.forest_.n_trees
        return sums, mask

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row, the first of equals, (n_rows,)."""
        # Whatever is bought, and in whatever order, the label is that of the whole forest, and this is the fastest way.
        return self._labels(self._read_all(self._rows(X), with_mask=False)[0])

    def _label_and_mask(self, rows: NDArray[Any]) -> tuple[NDArray[Any], Mask]:
        if self.stop != "label":
            return super()._label_and_mask(rows)
        found = self._acquirer().evaluate(rows, self._stop_rule(), self._n_threads(), with_probabilities=False)
        return self.classes_[found.label_numbers], found.mask

    def _acquirer(self) -> Acquirer:
        check_is_fitted(self)
        return self._acquirer_of(self.forest_)

    def _acquirer_of(self, forest: Forest) -> Acquirer:
        """Made once for each forest and kept with it: preparing a large one takes a moment."""
        key = f"acquirer of {self.voting} votes, {hash(self.feature_costs_)}"
        if key not in forest._cache:
            base = self.class_prior_ if forest.n_trees == 0 else np.zeros(len(self.classes_))
            ensemble = self._ensemble(forest, base, self.classes_, self.encoder_)
            forest._cache[key] = Acquirer(ensemble, self.feature_costs_)
        return forest._cache[key]

    def _ensemble(self, forest: Forest, base: Floats, classes: NDArray[Any], encoder: FeatureEncoder) -> Ensemble:
        values = forest.leaf_votes if self.voting == "hard" else forest.leaf_shares
        return Ensemble(forest=forest, values=values, base=base, link="mean", classes=classes, encoder=encoder)

    def _stop_rule(self) -> StopRule:
        return StopRule(self.stop)

    def ranking_confidence(self, X: Any) -> Floats:
        """Class counts of the reached leaves, added over the trees and normalised, (n_rows, n_classes).

        Finer than votes: it tells a leaf of 900 : 100 from one of 3 : 2. Use it to rank rows (Nan et al. 2015).
        """
        rows = self._rows(X)
        if self.forest_.n_trees == 0:
            return np.tile(self.class_prior_, (len(rows), 1))
        sums, _ = self.forest_.sums(rows, self.forest_.leaf_counts, n_threads=self._n_threads())
        confidence: Floats = sums / sums.sum(axis=1, keepdims=True)
        return confidence

    @property
    def feature_importances_(self) -> Floats:
        """Share of each feature in the decrease of Gini impurity, (n_features,); adds up to 1, or 0 without splits."""
        check_is_fitted(self)
        decrease = self.forest_.gini_decrease()
        return decrease / decrease.sum() if decrease.sum() > 0 else decrease

    @property
    def importances_per_cost_(self) -> Floats:
        """Importance over the price of the feature alone, (n_features,); infinite where a useful feature is free."""
        importance, price = self.feature_importances_, self.feature_costs_.alone
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(importance > 0, importance / price, 0.0)

    # ---- curves

    def _measure(
        self,
        forest: Forest,
        rows: Rows,
        costs: FeatureCosts,
        acquirer_of: Callable[[Forest], Acquirer],
        sizes: Sequence[int] | None = None,
    ) -> tuple[Floats, Floats]:
        """Error and average bill of these rows after each tree, both (n_trees,).

        With stop="label" the bill of each part of the forest has to be measured by itself. That is done for `sizes`
        (None: for some that are spread over all), and the others are NaN.
        """
        if forest.n_trees == 0:
            return np.zeros(0), np.zeros(0)
        error, cost = forest.by_tree(
            rows.matrix,
            rows.labels,
            **self._votes(forest),
            costs=costs,
            weights=rows.weights,
            n_threads=self._n_threads(),
        )
        if self.stop == "label":
            cost = np.full(forest.n_trees, np.nan)
            for size in measured_sizes(0, forest.n_trees) if sizes is None else sizes:
                cost[size - 1] = self._mean_bill(acquirer_of(forest.first(size)), rows)
        return error, cost

    def _mean_bill(self, acquirer: Acquirer, rows: Rows) -> float:
        mask = acquirer.evaluate(rows.matrix, self._stop_rule(), self._n_threads(), with_probabilities=False).mask
        return float(acquirer.costs.of_rows(mask).mean())

    def _later_rows(self, X: Any, y: Any) -> Rows:
        """Rows that came after fitting, for a curve."""
        matrix = self._rows(X)
        return Rows(matrix, class_numbers(y, self.classes_, len(matrix)), None)

    def _baseline_error(self, rows: Rows) -> float:
        return rows.share(rows.labels != np.argmax(self.class_prior_))

    def _cost_curve(self, X: Any, y: Any) -> CostCurve:
        """The curve of `frugalforest.evaluation.cost_curve`: a point for every number of trees."""
        rows = self._later_rows(X, y)
        return CostCurve.of_forests(
            [self._measure(self.forest_, rows, self.feature_costs_, self._acquirer_of)],
            [type(self).__name__],
            total_cost=self.feature_costs_.total,
            baseline_error=self._baseline_error(rows),
        ).measured()
