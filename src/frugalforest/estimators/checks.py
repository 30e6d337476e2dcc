"""Validation at the door: every check of what a user hands to an estimator, before any work is done."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight


@dataclass(frozen=True, eq=False)
class Rows:
    """Encoded rows with class numbers and weights; weights None: all 1."""

    matrix: NDArray[Any]  # (n_rows, n_features)
    labels: NDArray[np.int32]  # (n_rows,)
    weights: NDArray[np.float64] | None  # (n_rows,)

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Some of the rows, in this order."""
        weights = None if self.weights is None else self.weights[rows]
        return Rows(self.matrix[rows], self.labels[rows], weights)


def check_labels(y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Check y -> (classes, class number of each row)."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    if len(y) != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {len(y)}; give one label per row.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y contains NaN or infinity; remove these rows, or give them a label.")
    if y.dtype == object and any(label is None or label != label for label in y):
        raise ValueError("y contains missing labels (None or NaN); remove these rows, or give them a label.")
    check_classification_targets(y)
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {classes[0]!r}; a classifier needs rows of at least two classes.")
    return classes, labels.astype(np.int32)


def check_weights(sample_weight: Any, matrix: NDArray[Any]) -> NDArray[np.float64] | None:
    """Check sample_weight -> (n_rows,) or None."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, matrix, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("sample_weight is 0 for every row; give at least one row a positive weight.")
    return weights


def drop_weightless(rows: Rows) -> Rows:
    """Leave out rows of weight 0, as if they had not been given."""
    if rows.weights is None or rows.weights.all():
        return rows
    return rows.take(np.flatnonzero(rows.weights))


def class_weights(class_weight: Any, classes: NDArray[Any], rows: Rows) -> NDArray[np.float64]:
    """Resolve class_weight (None, "balanced" or a dict) -> (n_classes,)."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight != "balanced":
        raise ValueError(f'class_weight is {class_weight!r}; expected None, "balanced" or a dict class -> weight.')
    if isinstance(class_weight, Mapping):
        unknown = [label for label in class_weight if label not in classes.tolist()]
        if unknown:
            raise ValueError(f"class_weight names classes that y does not have: {unknown}; y has {classes.tolist()}.")
    present = np.unique(rows.labels)
    weights = np.ones(len(classes))
    labels = classes[rows.labels]
    weights[present] = compute_class_weight(class_weight, classes=classes[present], y=labels)
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("class_weight must be finite and not negative for every class.")
    return weights


def check_whole_number(value: Any, name: str, at_least: int, *, or_none: bool = False) -> None:
    """Refuse anything but a whole number >= at_least."""
    if or_none and value is None:
        return
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < at_least:
        alternative = " or None" if or_none else ""
        raise ValueError(f"{name} is {value!r}; expected a whole number of at least {at_least}{alternative}.")


def check_number(value: Any, name: str, at_least: float, *, or_none: bool = False, at_most: float = np.inf) -> None:
    """Refuse anything but a finite number in [at_least, at_most]."""
    if or_none and value is None:
        return
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not np.isfinite(value) or not at_least <= value <= at_most:
        limits = f"of at least {at_least:g}" if at_most == np.inf else f"between {at_least:g} and {at_most:g}"
        raise ValueError(f"{name} is {value!r}; expected a finite number {limits}{' or None' if or_none else ''}.")


def check_choice(value: Any, name: str, choices: tuple[Any, ...]) -> None:
    """Refuse anything but one of the choices."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(repr, choices))}.")


def resolve_max_features(max_features: Any, n_features: int) -> int | None:
    """scikit-learn's max_features: None (all), "sqrt", "log2", a whole number, or a share -> number, None for all."""
    if max_features is None:
        return None
    if isinstance(max_features, str):
        check_choice(max_features, "max_features", ("sqrt", "log2", None))
        return max(1, int(np.sqrt(n_features) if max_features == "sqrt" else np.log2(n_features)))
    if isinstance(max_features, numbers.Integral):
        check_whole_number(max_features, "max_features", 1)
        return min(int(max_features), n_features)
    check_number(max_features, "max_features", 0.0, at_most=1.0)
    return max(1, int(max_features * n_features))
