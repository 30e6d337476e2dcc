"""What boosted classifiers share: trees that add up to scores, read as an Ensemble."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from frugalforest.acquisition import Acquirer, StopRule
from frugalforest.boosting import BoostedTrees, BoostingRows
from frugalforest.boosting.params import LossName
from frugalforest.data import BinnedData, Bins
from frugalforest.ensemble import Ensemble
from frugalforest.estimators.acquiring import AcquiringMixin
from frugalforest.estimators.base import Floats, FrugalClassifierMixin, Mask
from frugalforest.estimators.boosted_records import first_trees
from frugalforest.estimators.checks import (
    check_choice,
    check_n_jobs,
    check_number,
    check_seed,
    check_whole_number,
    class_numbers,
)
from frugalforest.estimators.problem import Problem, Rows
from frugalforest.estimators.sizes import measured_sizes
from frugalforest.evaluation import CostCurve
from frugalforest.forest import Forest

SQUARED_SLOPE = 2.0  # scores near 2 p - 1 become probabilities by 1 / (1 + exp(-2 m)), right to first order at m = 0


class BoostedClassifierBase(AcquiringMixin, FrugalClassifierMixin, BaseEstimator):
    """Check, learn, keep; scores, bill, importances.

    Subclasses have the parameters below, and `fit` sets `ensemble_`. Nothing is kept before everything is checked and
    trained: a fit that fails leaves the model as it was.
    """

    _stops: ClassVar[tuple[str, ...]] = ("all", "label")

    n_estimators: int
    feature_costs: Any
    learning_rate: float
    max_depth: int | None
    min_samples_leaf: int
    stop: Literal["all", "label", "confidence"]
    class_weight: Any
    categorical_features: Any
    max_bins: int
    n_jobs: int | None
    random_state: Any
    verbose: int

    ensemble_: Ensemble
    n_estimators_: int
    class_prior_: Floats
    gain_by_feature_: Floats
    feature_names_in_: NDArray[Any]

    # ---- steps of fit

    def _check_common(self) -> None:
        check_whole_number(self.n_estimators, "n_estimators", 1)
        check_number(self.learning_rate, "learning_rate", 0)
        if self.learning_rate == 0:
            raise ValueError(
                "learning_rate is 0, with which nothing is learned; expected a number above 0, such as 0.1."
            )
        check_whole_number(self.max_depth, "max_depth", 1, or_none=True)
        check_whole_number(self.min_samples_leaf, "min_samples_leaf", 1)
        check_choice(self.stop, "stop", self._stops)
        check_whole_number(self.max_bins, "max_bins", 2, at_most=255)
        check_n_jobs(self.n_jobs)
        check_seed(self.random_state)
        check_whole_number(int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, "verbose", 0)

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

    def _bins(self, problem: Problem, rows: Rows, seed: int) -> Bins:
        return Bins.learn(
            rows.matrix,
            problem.encoder.is_categorical,
            n_categories=problem.encoder.n_categories,
            max_bins=self.max_bins,
            random_state=seed,
            n_threads=self._n_threads(),
        )

    def _boosting_rows(self, problem: Problem, rows: Rows, bins: Bins) -> BoostingRows:
        binned: BinnedData = bins.transform(rows.matrix, self._n_threads())
        return BoostingRows(rows.matrix, binned, rows.labels, problem.n_classes, rows.weights, problem.class_weight)

    def _keep_trees(self, base: Floats, trees: BoostedTrees, loss: LossName) -> None:
        self.ensemble_ = self._ensemble(base, trees, loss)
        self.n_estimators_ = trees.n_rounds
        self.gain_by_feature_ = trees.gain_by_feature()

    def _ensemble(self, base: Floats, trees: BoostedTrees, loss: LossName) -> Ensemble:
        n_classes = len(self.classes_)
        return Ensemble(
            forest=trees.forest,
            values=trees.values_by_class(n_classes),
            base=np.concatenate([[0.0], base]) if n_classes == 2 else base,
            link="sigmoid" if n_classes == 2 else "softmax",
            classes=self.classes_,
            encoder=self.encoder_,
            slope=1.0 if loss == "log_loss" else SQUARED_SLOPE,
        )

    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    # ---- reading a fitted booster

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row, the first of equals, (n_rows,)."""
        rows = self._rows(X)
        if self.stop == "confidence":
            return self._label_and_mask(rows)[0]
        # Whatever is bought, and in whatever order, the label is that of all trees, and this is the fastest way.
        return self.classes_[self.ensemble_.label_numbers(self._scores(rows, with_mask=False)[0])]

    def decision_function(self, X: Any) -> Floats:
        """Scores: (n_rows,) for two classes, the margin of the second one; else (n_rows, n_classes).

        Of all trees, or with stop="confidence" as far as rows are read: logarithms of the probabilities.
        """
        rows = self._rows(X)
        if self.stop == "confidence":
            scores = np.log(np.maximum(self._read(rows, with_mask=False)[0], np.finfo(np.float64).tiny))
        else:
            scores, _ = self._scores(rows, with_mask=False)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def _scores(self, rows: NDArray[Any], *, with_mask: bool) -> tuple[Floats, Mask | None]:
        return self.ensemble_.scores(rows, with_mask=with_mask, n_threads=self._n_threads())

    def _read(self, rows: NDArray[Any], *, with_mask: bool) -> tuple[Floats, Mask | None]:
        if self.stop == "all":
            scores, mask = self._scores(rows, with_mask=with_mask)
            return self.ensemble_.probabilities(scores), mask
        found = self._acquirer().evaluate(rows, self._stop_rule(), self._n_threads())
        assert found.probabilities is not None
        return found.probabilities, found.mask

    def _label_and_mask(self, rows: NDArray[Any]) -> tuple[NDArray[Any], Mask]:
        found = self._acquirer().evaluate(rows, self._stop_rule(), self._n_threads(), with_probabilities=False)
        return self.classes_[found.label_numbers], found.mask

    def _acquirer(self) -> Acquirer:
        """Made once for each ensemble and kept with its forest: preparing a large one takes a moment."""
        check_is_fitted(self)
        cache, key = self.ensemble_.forest._cache, f"acquirer, {hash(self.feature_costs_)}"
        if key not in cache or cache[key].ensemble is not self.ensemble_:
            cache[key] = Acquirer(self.ensemble_, self.feature_costs_)
        return cache[key]

    def _stop_rule(self) -> StopRule:
        return StopRule(self.stop)

    @property
    def forest_(self) -> Forest:
        """The trees; those of one round lie side by side, one per output."""
        check_is_fitted(self)
        return self.ensemble_.forest

    @property
    def feature_importances_(self) -> Floats:
        """Share of each feature in what splits took off the loss, (n_features,); adds up to 1, or 0 without splits."""
        check_is_fitted(self)
        total = self.gain_by_feature_.sum()
        return self.gain_by_feature_ / total if total > 0 else self.gain_by_feature_

    @property
    def importances_per_cost_(self) -> Floats:
        """Importance over the price of the feature alone, (n_features,); infinite where a useful feature is free."""
        importance, price = self.feature_importances_, self.feature_costs_.alone
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(importance > 0, importance / price, 0.0)

    # ---- curves

    def _later_rows(self, X: Any, y: Any) -> Rows:
        matrix = self._rows(X)
        return Rows(matrix, class_numbers(y, self.classes_, len(matrix)), None)

    def _baseline_error(self, rows: Rows) -> float:
        return rows.share(rows.labels != np.argmax(self.class_prior_))

    def _by_round(self, ensemble: Ensemble, rows: Rows, sizes: list[int] | None = None) -> tuple[Floats, Floats]:
        """Error and average bill of rows after each round, both (n_rounds,).

        Unless everything is read they are measured for `sizes` (None: some that are spread over all); others are NaN.
        """
        n_outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        forest = ensemble.forest
        n_rounds = forest.n_trees // n_outputs
        if n_rounds == 0:
            return np.zeros(0), np.zeros(0)
        if self.stop == "all":
            values, costs, n_threads = _with_base(ensemble), self.feature_costs_, self._n_threads()
            error, cost = forest.by_tree(rows.matrix, rows.labels, values, costs, n_threads=n_threads)
            return error[n_outputs - 1 :: n_outputs], cost[n_outputs - 1 :: n_outputs]
        error, cost = np.full((2, n_rounds), np.nan)
        for size in measured_sizes(0, n_rounds) if sizes is None else sizes:
            error[size - 1], cost[size - 1] = self._on_demand(first_trees(ensemble, size * n_outputs), rows)
        return error, cost

    def _on_demand(self, ensemble: Ensemble, rows: Rows) -> tuple[float, float]:
        """Error and average bill of rows, each until the rule says that it is enough."""
        acquirer = Acquirer(ensemble, self.feature_costs_)
        found = acquirer.evaluate(rows.matrix, self._stop_rule(), self._n_threads(), with_probabilities=False)
        error = rows.share(found.label_numbers != rows.labels)
        return error, float(self.feature_costs_.of_rows(found.mask).mean())

    def _cost_curve(self, X: Any, y: Any) -> CostCurve:
        """The curve of `frugalforest.evaluation.cost_curve`: a point for every number of rounds."""
        rows = self._later_rows(X, y)
        return CostCurve.of_forests(
            [self._by_round(self.ensemble_, rows)],
            [type(self).__name__],
            total_cost=self.feature_costs_.total,
            baseline_error=self._baseline_error(rows),
        ).measured()


def _with_base(ensemble: Ensemble) -> Floats:
    """Leaf values of which the first tree's hold the base scores as well, (n_leaves, n_classes)."""
    values = ensemble.values.copy()
    values[: ensemble.forest.leaf_offsets[1]] += ensemble.base
    return values
