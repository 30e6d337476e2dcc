"""Validation at the door: every check of what a user hands to an estimator, before any work is done."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from frugalforest.data.columns import is_missing

Floats = NDArray[np.float64]

# ---- labels and weights


def check_labels(y: Any, n_rows: int, estimator_name: str) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Check y -> (classes, class number of each row)."""
    if y is None:
        raise ValueError(f"{estimator_name} requires y to be passed, but the target y is None; give one label per row.")
    y = column_or_1d(y, warn=True)
    if len(y) != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {len(y)}; give one label per row.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y contains NaN or infinity; remove these rows, or give them a label.")
    if y.dtype == object and any(map(is_missing, y.tolist())):
        raise ValueError("y contains missing labels (None, NaN or NA); remove these rows, or give them a label.")
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {classes[0]!r}; a classifier needs rows of at least two classes.")
    # Not np.unique(return_inverse=True): that sorts all rows, 0.22 s for a million, and this takes 0.03 s.
    return classes, np.searchsorted(classes, y).astype(np.int32)


def class_numbers(y: Any, classes: NDArray[Any], n_rows: int) -> NDArray[np.int32]:
    """Class number of each label of rows that came after fitting; -1 for a class that fit has not seen."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise ValueError(f"X has {n_rows} rows but y has shape {labels.shape}; give one label per row.")
    number = {label: i for i, label in enumerate(classes.tolist())}
    return np.array([number.get(label, -1) for label in labels.tolist()], dtype=np.int32)


def check_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Check sample_weight -> (n_rows,) or None."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be numbers, one per row: {error}.") from None
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        raise ValueError(f"X has {n_rows} rows but sample_weight has shape {weights.shape}; give one weight per row.")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        row = int(np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))[0])
        raise ValueError(
            f"sample_weight is {weights[row]:g} in row {row}; expected finite numbers >= 0, where 0 leaves a row out."
        )
    if not weights.any():
        raise ValueError("sample_weight is zero for every row; give at least one row a positive weight.")
    if weights.max(initial=0.0) > 1e300 / max(1, n_rows):
        raise ValueError("sample_weight is so large that its sum overflows; divide all weights by their mean.")
    return weights


def check_class_weight(class_weight: Any, classes: NDArray[Any]) -> None:
    """Refuse anything but None, "balanced" or a dict of classes that y has."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, Mapping):
        raise ValueError(f'class_weight is {class_weight!r}; expected None, "balanced" or a dict class -> weight.')
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        raise ValueError(f"class_weight names classes that y does not have: {unknown}; y has {classes.tolist()}.")
    for label, weight in class_weight.items():
        check_number(weight, f"class_weight[{label!r}]", 0)


def class_weights(class_weight: Any, classes: NDArray[Any], labels: NDArray[np.int32]) -> Floats:
    """class_weight (None, "balanced" or a dict) as numbers, (n_classes,); classes that are not mentioned get 1.

    "balanced": n_rows / (number of classes that have rows * rows of the class), as in scikit-learn
    """
    check_class_weight(class_weight, classes)
    if isinstance(class_weight, Mapping):
        return np.array([class_weight.get(label, 1.0) for label in classes.tolist()], dtype=np.float64)
    weights = np.ones(len(classes))
    if class_weight is not None:
        counts = np.bincount(labels, minlength=len(classes))
        present = counts > 0
        weights[present] = len(labels) / (present.sum() * counts[present])
    return weights


# ---- parameters


def check_whole_number(
    value: Any, name: str, at_least: int, *, at_most: int | None = None, or_none: bool = False
) -> None:
    """Refuse anything but a whole number in [at_least, at_most]."""
    if or_none and value is None:
        return
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_whole or value < at_least or (at_most is not None and value > at_most):
        limits = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
        raise ValueError(f"{name} is {value!r}; expected a whole number {limits}{' or None' if or_none else ''}.")


def check_number(value: Any, name: str, at_least: float, *, at_most: float = np.inf, or_none: bool = False) -> None:
    """Refuse anything but a finite number in [at_least, at_most]."""
    if or_none and value is None:
        return
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not np.isfinite(value) or not at_least <= value <= at_most:
        limits = f"of at least {at_least:g}" if at_most == np.inf else f"between {at_least:g} and {at_most:g}"
        raise ValueError(f"{name} is {value!r}; expected a finite number {limits}{' or None' if or_none else ''}.")


def check_validation_fraction(share: Any, way_out: str = "Give eval_set to fit on all rows.") -> None:
    """Refuse anything but a share that leaves rows on both sides."""
    check_number(share, "validation_fraction", 0, at_most=1)
    if share in (0, 1):
        raise ValueError(f"validation_fraction is {share}; expected a share between 0 and 1, exclusive. {way_out}")


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> None:
    """Refuse anything but one of the choices."""
    if not (isinstance(value, str) and value in choices):
        raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(repr, choices))}.")


def check_flag(value: Any, name: str) -> None:
    """Refuse anything but True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {value!r}; expected True or False.")


def check_numbers(values: Any, name: str, at_least: float, *, at_most: float = np.inf, or_auto: bool = False) -> None:
    """Refuse anything but one or several finite numbers in [at_least, at_most]."""
    several = np.atleast_1d(np.asarray(values, dtype=object))
    try:
        for value in several:
            check_number(value, name, at_least, at_most=at_most)
    except ValueError:
        several = several[:0]
    if several.ndim != 1 or len(several) == 0:
        limits = f"of at least {at_least:g}" if at_most == np.inf else f"between {at_least:g} and {at_most:g}"
        auto = '"auto", or ' if or_auto else ""
        expected = f"{auto}one or several finite numbers {limits}"
        raise ValueError(f"{name} is {values!r}; expected {expected}.")


def check_n_jobs(n_jobs: Any) -> None:
    """Refuse anything but None or a whole number other than 0."""
    is_whole = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not is_whole or n_jobs == 0):
        raise ValueError(f"n_jobs is {n_jobs!r}; expected None, a number of threads, or -1 for all processors.")


def check_seed(random_state: Any) -> None:
    """Refuse anything that scikit-learn does not take as a random_state."""
    try:
        check_random_state(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state is {random_state!r}; expected None, a whole number from 0 to 2**32 - 1, or a RandomState."
        ) from None


def resolve_max_features(max_features: Any, n_features: int) -> int | None:
    """scikit-learn's max_features: None (all), "sqrt", "log2", a whole number, or a share -> number, None for all."""
    if max_features is None:
        return None
    if isinstance(max_features, str) and max_features in ("sqrt", "log2"):
        return max(1, int(np.sqrt(n_features) if max_features == "sqrt" else np.log2(n_features)))
    is_number = isinstance(max_features, numbers.Real) and not isinstance(max_features, bool)
    is_whole = isinstance(max_features, numbers.Integral)
    if is_number and is_whole and max_features >= 1:
        return min(int(max_features), n_features)
    if is_number and not is_whole and 0 < max_features <= 1:
        return max(1, int(max_features * n_features))
    raise ValueError(
        f'max_features is {max_features!r}; expected "sqrt", "log2", a whole number of at least 1, a share above 0 and '
        "up to 1.0, or None for all features."
    )
