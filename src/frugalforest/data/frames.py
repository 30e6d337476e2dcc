"""Turns whatever the user hands in into one matrix of numbers, and remembers how: names, order, categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite

from frugalforest.data.categories import Category, encode_categories, learn_categories
from frugalforest.data.columns import Column, Label, first_text, objects_to_numbers
from frugalforest.data.tables import Table, as_frame, column_names, pick_columns, read_array, read_frame

CategoricalFeatures = str | Sequence[str] | Sequence[int] | Sequence[bool] | NDArray[Any] | None
Matrix = NDArray[Any]  # (n_rows, n_features): bool, int, uint, float32 or float64, C or F order, NaN where missing


@dataclass(frozen=True, eq=False)
class FeatureEncoder:
    """How X becomes a matrix of numbers, learned in fit and used in predict.

    A numeric column stays as it is, a categorical one becomes the number of its category, 0 .. K - 1; a missing value
    is NaN in both. Columns of text, of a category type, and of objects with any text among them are categorical, as
    are those that `categorical_features` marks. An array of plain numbers is passed on without a copy.
    """

    n_features: int
    feature_names: tuple[str, ...] | None
    categories: dict[int, tuple[Category, ...]]  # position -> its categories, in the order of their numbers
    has_other: NDArray[np.bool_]  # (n_features,): whether number 254 stands for all categories without their own

    @classmethod
    def learn(
        cls, X: Any, categorical_features: CategoricalFeatures = None, *, estimator_name: str = "FeatureEncoder"
    ) -> tuple[FeatureEncoder, Matrix]:
        """Learn the encoding of X -> (encoder, encoded X).

        `categorical_features` marks further columns, of whole numbers for instance, as categorical: a list of names
        or positions, or a boolean mask. None and "from_dtype" mark none: the column types decide.
        """
        frame = as_frame(X)
        table = read_array(X, estimator_name) if frame is None else read_frame(frame, estimator_name)
        n_features = table.shape[1]
        marked = categorical_mask(categorical_features, table.names, n_features)
        categories, has_other = {}, np.zeros(n_features, dtype=bool)
        for i in range(n_features):
            if marked[i] or table.is_text(i):
                categories[i], has_other[i] = learn_categories(table.column(i), _label(table.names, i))
        encoder = cls(n_features, table.names, categories, has_other)
        return encoder, encoder._encode_table(table)

    def encode(self, X: Any, *, estimator_name: str = "FeatureEncoder") -> Matrix:
        """X as the matrix of numbers that `learn` would have made of it, (n_rows, n_features).

        A frame's columns are found by name where names were learned: any order, further columns are ignored.
        Everything else goes by position. An unseen category is "other" if its column has that, else missing.
        """
        frame = as_frame(X)
        if frame is not None and self.feature_names is not None and column_names(frame) is not None:
            frame = pick_columns(frame, self.feature_names, estimator_name)
        table = read_array(X, estimator_name) if frame is None else read_frame(frame, estimator_name)
        if table.shape[1] != self.n_features:
            raise ValueError(
                f"X has {table.shape[1]} features, but {estimator_name} is expecting {self.n_features} features "
                "as input."
            )
        return self._encode_table(table)

    def encode_value(self, position: int, value: object) -> float:
        """One value of one feature as its number, for features that are bought one at a time."""
        column = np.empty(1, dtype=object)
        column[0] = value
        number = float(self._encode_column(column, position)[0])
        _refuse_infinity(np.array([[number]]), [self.feature_label(position)])
        return number

    def feature_label(self, position: int) -> Label:
        """What the feature is called: its name if X had names, otherwise its position."""
        return _label(self.feature_names, position)

    def subset(self, positions: Sequence[int] | NDArray[np.intp]) -> FeatureEncoder:
        """The encoding of some of the features only, in this order."""
        names = None if self.feature_names is None else tuple(self.feature_names[i] for i in positions)
        categories = {new: self.categories[old] for new, old in enumerate(positions) if old in self.categories}
        return FeatureEncoder(len(positions), names, categories, self.has_other[np.asarray(positions, dtype=np.intp)])

    @property
    def is_categorical(self) -> NDArray[np.bool_]:
        """Which features are categorical, (n_features,)."""
        mask = np.zeros(self.n_features, dtype=bool)
        mask[list(self.categories)] = True
        return mask

    @property
    def n_categories(self) -> NDArray[np.int32]:
        """How many numbers each feature's categories use, "other" included, (n_features,); 0 where numeric."""
        counts = self.has_other.astype(np.int32)
        for i, categories in self.categories.items():
            counts[i] += len(categories)
        return counts

    def _encode_column(self, column: Column, i: int) -> NDArray[Any]:
        label = self.feature_label(i)
        if i in self.categories:
            return encode_categories(column, self.categories[i], bool(self.has_other[i]), label)
        if column.dtype != object:
            return column
        if (text := first_text(column)) is not None:
            raise ValueError(
                f"Feature {label!r} was numeric when fitted, but now holds text (such as {text!r}). "
                "Give it as a number, or as NaN where it is missing."
            )
        return objects_to_numbers(column, label)

    def _encode_table(self, table: Table) -> Matrix:
        if table.matrix is not None:
            encoded = {i: self._encode_column(table.column(i), i) for i in self.categories}
            matrix = _replace_columns(table.matrix, encoded)
        else:
            matrix = _join_columns([self._encode_column(table.column(i), i) for i in range(self.n_features)])
        _refuse_infinity(matrix, [self.feature_label(i) for i in range(self.n_features)])
        return matrix


def categorical_mask(
    categorical_features: CategoricalFeatures, names: Sequence[str] | None, n_features: int
) -> NDArray[np.bool_]:
    """Which columns the user marks as categorical, from names, positions or a mask, (n_features,)."""
    mask = np.zeros(n_features, dtype=bool)
    if categorical_features is None or (isinstance(categorical_features, str) and categorical_features == "from_dtype"):
        return mask
    if isinstance(categorical_features, str):
        raise ValueError(
            f"categorical_features={categorical_features!r} is not a list: "
            f'give ["{categorical_features}"], positions, a boolean mask, "from_dtype" or None.'
        )
    marks = list(categorical_features)
    if marks and all(isinstance(mark, bool | np.bool_) for mark in marks):
        if len(marks) != n_features:
            raise ValueError(f"categorical_features has {len(marks)} entries, but X has {n_features} columns.")
        return np.array(marks, dtype=bool)
    mask[[_position(mark, names, n_features) for mark in marks]] = True
    return mask


def _position(mark: object, names: Sequence[str] | None, n_features: int) -> int:
    if isinstance(mark, str):
        if names is None:
            raise ValueError(f"categorical_features names {mark!r}, but X has no column names. Give positions instead.")
        if mark not in names:
            raise ValueError(f"categorical_features names {mark!r}, but X has no such column: {', '.join(names)}.")
        return names.index(mark)
    if isinstance(mark, int | np.integer) and not isinstance(mark, bool) and 0 <= mark < n_features:
        return int(mark)
    raise ValueError(
        f"categorical_features holds {mark!r}; expected column names, positions from 0 to {n_features - 1}, "
        "or one boolean for each column."
    )


def _label(names: Sequence[str] | None, i: int) -> Label:
    return i if names is None else names[i]


def _replace_columns(matrix: Matrix, encoded: Mapping[int, NDArray[Any]]) -> Matrix:
    """The matrix itself if no column is replaced, otherwise a copy in its own memory order."""
    if not encoded:
        return matrix
    matrix = matrix.astype(np.result_type(matrix, np.float32))
    for i, column in encoded.items():
        matrix[:, i] = column
    return matrix


def _join_columns(columns: Sequence[NDArray[Any]]) -> Matrix:
    """Columns of different types side by side, in the smallest type that holds them all, F order."""
    matrix = np.empty((len(columns[0]), len(columns)), np.result_type(*columns), order="F")
    for i, column in enumerate(columns):
        matrix[:, i] = column
    return matrix


def _refuse_infinity(matrix: Matrix, labels: Sequence[Label]) -> None:
    try:
        assert_all_finite(matrix, allow_nan=True)
    except ValueError as error:
        infinite = np.flatnonzero(np.isinf(matrix).any(axis=0))
        found = ", ".join(str(labels[int(i)]) for i in infinite)
        raise ValueError(
            f"Input X contains infinity or a value too large for {matrix.dtype!r} in: {found}. "
            "Replace it by a large number, or by NaN where the value is missing."
        ) from error
