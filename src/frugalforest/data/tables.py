"""Whatever the user hands in, read into a table: an array, a list, or a pandas, polars or other frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from sklearn.utils import check_array

from frugalforest.data.columns import DATES_WAY_OUT, Column, Label, plain_numbers, read_objects, read_series

Frame = nw.DataFrame[Any]

FEW = 4  # one column in so many may well be missing


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of X, either all numbers in one block (in place where possible) or one by one."""

    names: tuple[str, ...] | None
    shape: tuple[int, int]
    matrix: NDArray[Any] | None = None
    columns: list[Column] = field(default_factory=list)

    def column(self, i: int) -> Column:
        """Column i, (n_rows,): numbers, or objects if it is categorical."""
        return self.columns[i] if self.matrix is None else self.matrix[:, i]

    def is_text(self, i: int) -> bool:
        """Whether column i can only be read as categories."""
        return self.matrix is None and self.columns[i].dtype == object


def as_frame(X: Any) -> Frame | None:
    """X as a narwhals frame, or None if it is not a frame."""
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except DuplicateError as error:
        raise ValueError(f"X has several columns of the same name; rename or drop them. {error}") from error
    if isinstance(frame, nw.DataFrame):
        return frame
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise TypeError(f"X is lazy ({type(X).__name__}): collect it first, for example with X.collect().")
    return None


def column_names(frame: Frame) -> tuple[str, ...] | None:
    """The names of the columns if all are strings, None if none is; a mixture is refused as scikit-learn does."""
    names = list(frame.columns)
    types = sorted({type(name).__qualname__ for name in names})
    if len(types) > 1 and "str" in types:
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{types} as feature name / column name types. If you want feature names to be stored and validated, you "
            "must convert them all to strings, by using X.columns = X.columns.astype(str) for example. Otherwise you "
            "can remove feature / column names from your input data, or convert them all to a non-string data type."
        )
    return tuple(names) if types == ["str"] else None


def pick_columns(frame: Frame, names: Sequence[str], estimator_name: str) -> Frame:
    """The named columns in the given order; others are ignored, missing ones listed."""
    missing = [name for name in names if name not in set(frame.columns)]
    if missing:
        raise ValueError(_lacking(frame, names, missing, estimator_name))
    # Selecting all columns of a pandas frame copies it.
    return frame if list(frame.columns) == list(names) else frame.select(*names)


def _lacking(frame: Frame, names: Sequence[str], missing: Sequence[str], estimator_name: str) -> str:
    """What is said about columns that are not there."""
    if len(missing) == len(names):
        return (
            f"X has none of the {len(names)} columns that {estimator_name} was fitted with: they are called "
            f"{', '.join(names)}, and those of X {', '.join(frame.columns) or 'nothing, as there are none'}. "
            "Rename the columns of X, or give an array with the columns in that order."
        )
    text = (
        f"X lacks {len(missing)} of the {len(names)} columns that {estimator_name} was fitted with: "
        f"{', '.join(missing)}. Add {'it' if len(missing) == 1 else 'them'}"
    )
    # Of a model that misses most of its columns nobody would want the answer.
    if FEW * len(missing) <= len(names):
        text += "; where a value cannot be had, NaN or null stands for it"
    return text + "."


def read_frame(frame: Frame, estimator_name: str) -> Table:
    """A frame as a table: in one block if all columns are numbers of one type, otherwise column by column."""
    names = column_names(frame)
    # Broadcasting makes an array of the frame's shape and no content, for scikit-learn to complain about.
    check_array(np.broadcast_to(0.0, frame.shape), ensure_all_finite=False, estimator=estimator_name)
    labels: Sequence[Label] = names or range(frame.shape[1])
    _refuse_dates([label for label, type_ in zip(labels, frame.schema.values(), strict=True) if type_.is_temporal()])
    if _may_be_one_block(frame) and (matrix := frame.to_numpy()).dtype.kind in "biuf":
        return Table(names, frame.shape, plain_numbers(matrix))
    columns = [read_series(series, label) for series, label in zip(frame.iter_columns(), labels, strict=True)]
    return Table(names, frame.shape, columns=columns)


def _may_be_one_block(frame: Frame) -> bool:
    dtypes = set(frame.schema.values())
    numbers = all(dtype.is_numeric() or dtype == nw.Boolean for dtype in dtypes)
    # Arrow keeps columns apart, and joins them row by row, which is slow.
    return len(dtypes) == 1 and numbers and not frame.implementation.is_pyarrow()


def read_array(X: Any, estimator_name: str) -> Table:
    """An array or array-like as a table: numbers in place, objects column by column."""
    array = check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator_name, input_name="X")
    if array.dtype.kind == "U" and not isinstance(X, np.ndarray):
        # In a list of rows with texts and numbers, numpy has made text of the numbers.
        array = check_array(X, dtype=object, ensure_all_finite=False, estimator=estimator_name, input_name="X")
    if array.dtype.kind in "biuf":
        return Table(None, array.shape, plain_numbers(array))
    if array.dtype.kind in "mM":
        _refuse_dates(range(array.shape[1]))
    if array.dtype.kind not in "OUT":
        check_array(array, estimator=estimator_name, input_name="X")  # bytes and records: scikit-learn's own refusal
    columns = [read_objects(array[:, i].astype(object, copy=False), i) for i in range(array.shape[1])]
    return Table(None, array.shape, columns=columns)


def _refuse_dates(labels: Sequence[Label]) -> None:
    if labels:
        listed = ", ".join(str(label) for label in labels)
        raise TypeError(f"Dates, times and durations are not supported, but are in: {listed}. {DATES_WAY_OUT}")
