"""What fit knows before any tree is grown: rows as numbers, classes, weights, and what features cost."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts, resolve_costs
from frugalforest.data import Bins, FeatureEncoder
from frugalforest.estimators.checks import check_labels, check_weights, class_numbers, class_weights
from frugalforest.growing import TrainingSet
from frugalforest.growing.weights import on_grid

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """Encoded rows with class numbers and weights; weights None: all 1."""

    matrix: NDArray[Any]  # (n_rows, n_features)
    labels: NDArray[np.int32]  # (n_rows,); -1: a class that fit has not seen
    weights: Floats | None  # (n_rows,), on a grid: sums are exact, whatever the number of threads

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, mask: NDArray[np.bool_]) -> Rows:
        """The rows of a mask, in order; these rows themselves if it is true everywhere."""
        if mask.all():
            return self
        return Rows(self.matrix[mask], self.labels[mask], None if self.weights is None else self.weights[mask])

    def share(self, of: NDArray[np.bool_]) -> float:
        """The weight of the rows of a mask, over the weight of all."""
        return float(np.average(of, weights=self.weights))


@dataclass(frozen=True, eq=False)
class Problem:
    """Checked training data. Rows that weigh nothing, by their own weight or their class', are left out."""

    rows: Rows
    encoder: FeatureEncoder
    classes: NDArray[Any]  # (n_classes,)
    class_weight: Floats  # (n_classes,)
    costs: FeatureCosts

    @classmethod
    def learn(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        feature_costs: Any,
        class_weight: Any,
        categorical_features: Any,
        estimator_name: str,
    ) -> Problem:
        """Check everything the user gave, and learn names, categories, classes and prices from it."""
        encoder, matrix = FeatureEncoder.learn(X, categorical_features, estimator_name=estimator_name)
        classes, labels = check_labels(y, len(matrix), estimator_name)
        weights = check_weights(sample_weight, len(matrix))
        rows = Rows(matrix, labels, None if weights is None else on_grid(weights))
        if rows.weights is not None:
            rows = rows.take(rows.weights > 0)
        by_class = class_weights(class_weight, classes, rows.labels)
        counts = by_class[rows.labels] > 0
        if not counts.any():
            raise ValueError("class_weight is zero for every row; give at least one class a positive weight.")
        costs = resolve_costs(feature_costs, encoder.n_features, encoder.feature_names)
        return cls(rows.take(counts), encoder, classes, by_class, costs)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.encoder.n_features

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def class_prior(self) -> Floats:
        """Share of each class in the weight of the rows, (n_classes,)."""
        counts = np.bincount(self.rows.labels, self.rows.weights, minlength=self.n_classes)
        return np.asarray(counts / counts.sum())

    def binned(self, rows: Rows, *, max_bins: int, seed: int, n_threads: int) -> TrainingSet:
        """Some of the rows as trees are grown from them."""
        bins = Bins.learn(
            rows.matrix,
            self.encoder.is_categorical,
            n_categories=self.encoder.n_categories,
            max_bins=max_bins,
            random_state=seed,
            n_threads=n_threads,
        )
        return TrainingSet(
            bins.transform(rows.matrix, n_threads),
            labels=rows.labels,
            weights=rows.weights,
            class_weight=self.class_weight,
            n_classes=self.n_classes,
        )


def validation_rows(problem: Problem, eval_set: Any, estimator_name: str) -> Rows:
    """Check eval_set=(X_val, y_val), whose columns and labels must be those of the training data."""
    if not isinstance(eval_set, tuple | list) or len(eval_set) != 2:
        size = f" of {len(eval_set)}" if isinstance(eval_set, tuple | list) else ""
        raise ValueError(f"eval_set is a {type(eval_set).__name__}{size}; expected a pair (X_val, y_val).")
    X, y = eval_set
    try:
        matrix = problem.encoder.encode(X, estimator_name=estimator_name)
        labels = class_numbers(y, problem.classes, len(matrix))
    except (TypeError, ValueError) as error:
        raise type(error)(f"eval_set: {error}") from error
    if (labels < 0).any():
        unseen = sorted({str(label) for label in np.asarray(y)[labels < 0].tolist()})
        raise ValueError(
            f"eval_set has labels that y does not have: {', '.join(unseen)}; y has {problem.classes.tolist()}. "
            "Leave these rows out, or add rows of these classes to X and y."
        )
    return Rows(matrix, labels, None)


def stratified_mask(labels: NDArray[np.int32], fraction: float, seed: int) -> NDArray[np.bool_]:
    """Which rows to set aside: the same share of every class, rounded; every class keeps at least one row."""
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**31,)))
    mask = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        rows = random.permutation(np.flatnonzero(labels == label))
        mask[rows[: min(round(fraction * len(rows)), len(rows) - 1)]] = True
    return mask


def set_aside(rows: Rows, fraction: float, seed: int, *, stacklevel: int) -> tuple[Rows, Rows]:
    """Rows to learn from, and a share of every class to choose with; with a warning, all rows for both if too few.

    stacklevel: of the warning, counted from here to the user's line.
    """
    held_out = stratified_mask(rows.labels, fraction, seed)
    if not held_out.any():
        warn_too_few_rows(stacklevel + 1)
        return rows, rows
    return rows.take(~held_out), rows.take(held_out)


def warn_too_few_rows(stacklevel: int) -> None:
    """Say that the rows to choose with are those that were learned from; stacklevel: from here to the user's line."""
    warnings.warn(
        "too few rows to set some aside: the bill and the error that choose the model are those of the "
        "training rows. Give eval_set, or more rows.",
        UserWarning,
        stacklevel=stacklevel,
    )
