"""What the linear models know before they are fitted: numeric columns, targets, weights, and what features cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d

from frugalforest.costs import FeatureCosts, resolve_costs
from frugalforest.data import FeatureEncoder
from frugalforest.estimators.checks import check_weights
from frugalforest.estimators.problem import Problem, stratified_mask, validation_rows
from frugalforest.linear_trees import Standard, TrainingSet

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearRows:
    """Rows with their targets and weights."""

    matrix: NDArray[Any]  # (n_rows, n_features), NaN where missing
    targets: NDArray[Any]  # (n_rows,): class numbers, -1 for a class that fit has not seen; or what is to be predicted
    weights: Floats  # (n_rows,)

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, mask: NDArray[np.bool_]) -> LinearRows:
        """The rows of a mask, in order."""
        return LinearRows(self.matrix[mask], self.targets[mask], self.weights[mask])


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """Checked training data; rows that weigh nothing are left out."""

    rows: LinearRows
    encoder: FeatureEncoder
    costs: FeatureCosts
    name: str  # of the estimator
    with_labels: Problem | None = None  # None if numbers are to be predicted

    @classmethod
    def of_classes(
        cls, X: Any, y: Any, sample_weight: Any, *, feature_costs: Any, class_weight: Any, name: str
    ) -> LinearProblem:
        """Check data with labels."""
        problem = Problem.learn(
            X,
            y,
            sample_weight,
            feature_costs=feature_costs,
            class_weight=class_weight,
            categorical_features=None,
            estimator_name=name,
        )
        _refuse_categories(problem.encoder, name)
        rows = problem.rows
        weights = np.ones(len(rows)) if rows.weights is None else rows.weights
        return cls(
            LinearRows(rows.matrix, rows.labels, weights), problem.encoder, problem.costs, name, with_labels=problem
        )

    @classmethod
    def of_numbers(cls, X: Any, y: Any, sample_weight: Any, *, feature_costs: Any, name: str) -> LinearProblem:
        """Check data with numbers to be predicted."""
        encoder, matrix = FeatureEncoder.learn(X, estimator_name=name)
        _refuse_categories(encoder, name)
        targets = _check_numbers(y, len(matrix), name)
        weights = check_weights(sample_weight, len(matrix))
        costs = resolve_costs(feature_costs, encoder.n_features, encoder.feature_names)
        rows = LinearRows(matrix, targets, np.ones(len(matrix)) if weights is None else weights)
        rows = rows if rows.weights.all() else rows.take(rows.weights > 0)
        return cls(rows, encoder, costs, name)

    @property
    def classes(self) -> NDArray[Any] | None:
        """The labels (n_classes,), or None if numbers are to be predicted."""
        return None if self.with_labels is None else self.with_labels.classes

    @property
    def prior(self) -> Floats:
        """The free answer: the share of each class in the weight (n_classes,), or the mean (1,)."""
        if self.with_labels is None:
            return np.array([mean_of(self.rows.targets, self.rows.weights)])
        return self.with_labels.class_prior

    def fitting_weights(self, rows: LinearRows) -> Floats:
        """Weights that a model is fitted with: those of rows times those of their classes."""
        if self.with_labels is None:
            return rows.weights
        return rows.weights * self.with_labels.class_weight[rows.targets]

    def standard(self, rows: LinearRows) -> Standard:
        """Centre and spread of the columns."""
        return Standard.learn(rows.matrix, self.fitting_weights(rows))

    def training_set(self, rows: LinearRows, targets: Floats) -> TrainingSet:
        """Rows as trees are grown from them; targets: (n_rows, k)."""
        weights = self.fitting_weights(rows)
        return TrainingSet(rows.matrix, targets, weights, self.standard(rows), self.costs)

    def split(self, eval_set: Any, fraction: float, seed: int) -> tuple[LinearRows, LinearRows]:
        """Rows to fit and rows to choose with: those of eval_set, or a share of the rows set aside.

        With so few rows that none can be set aside, all rows serve for both.
        """
        if eval_set is not None:
            return self.rows, self._validation_rows(eval_set)
        labels = np.zeros(len(self.rows), dtype=np.int32) if self.with_labels is None else self.rows.targets
        held_out = stratified_mask(labels, fraction, seed)
        if not held_out.any():
            return self.rows, self.rows
        return self.rows.take(~held_out), self.rows.take(held_out)

    def _validation_rows(self, eval_set: Any) -> LinearRows:
        if self.with_labels is None:
            return self._validation_numbers(eval_set)
        rows = validation_rows(self.with_labels, eval_set, self.name)
        return LinearRows(rows.matrix, rows.labels, np.ones(len(rows)))

    def _validation_numbers(self, eval_set: Any) -> LinearRows:
        if not isinstance(eval_set, tuple | list) or len(eval_set) != 2:
            raise ValueError(f"eval_set is a {type(eval_set).__name__}; expected a pair (X_val, y_val).")
        try:
            matrix = self.encoder.encode(eval_set[0], estimator_name=self.name)
            targets = _check_numbers(eval_set[1], len(matrix), self.name)
        except (TypeError, ValueError) as error:
            raise type(error)(f"eval_set: {error}") from error
        return LinearRows(matrix, targets, np.ones(len(matrix)))


def _refuse_categories(encoder: FeatureEncoder, name: str) -> None:
    labels = [str(encoder.feature_label(i)) for i in sorted(encoder.categories)]
    if labels:
        raise ValueError(
            f"{name} reads numbers, but there is text in: {', '.join(labels)}. Give one column of 0 and 1 for each "
            "category (one-hot), and put these into a group of feature_costs that carries the price."
        )


def _check_numbers(y: Any, n_rows: int, name: str) -> Floats:
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None; give one number per row.")
    values = column_or_1d(y, warn=True)
    if len(values) != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {len(values)}; give one number per row.")
    numbers: Floats = check_array(
        values, ensure_2d=False, dtype=np.float64, ensure_all_finite=True, input_name="y", estimator=name
    )
    return numbers


def mean_of(values: Floats, weights: Floats) -> float:
    """Weighted mean, also of numbers whose sum would overflow."""
    size = max(float(np.abs(values).max()), np.finfo(float).tiny)
    return float(np.average(values / size, weights=weights) * size)
