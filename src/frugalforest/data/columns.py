"""One column of anything: numbers of a type the core reads, or objects that stand for categories."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]  # (n_rows,): numbers of a plain type, or objects (categories; None, NaN and NA are missing)
Label = str | int  # what a feature is called: its name, or its position

DATES_WAY_OUT = "Turn them into numbers first, for example days since a fixed date, or year, month and weekday."


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether the core reads this type in place: bool, int and uint of 8 to 64 bits, float32, float64."""
    return dtype.isnative and (dtype.kind in "biu" or (dtype.kind == "f" and dtype.itemsize in (4, 8)))


def plain_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in a type the core reads; the array itself if it has one already."""
    dtype = values.dtype.newbyteorder("=")
    if not is_plain(dtype):
        dtype = np.dtype(np.float32 if dtype.itemsize == 2 else np.float64)
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinity, which is refused by name later
        values = values.astype(dtype, copy=False)
    # Fields of packed records lie at odd addresses, which the core does not expect.
    return values if values.flags.aligned else values.copy()


def is_missing(value: object) -> bool:
    """Whether an object stands for a missing value: None, NaN, pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def first_text(values: Column) -> str | None:
    """The first text among objects, or None: one text makes a column categorical, also if it looks like a number."""
    items = values.tolist()
    if not any(issubclass(kind, str) for kind in set(map(type, items))):
        return None
    return next(item for item in items if isinstance(item, str))


def objects_to_numbers(values: Column, label: Label) -> NDArray[np.float64]:
    """Objects that are all numbers, or missing, as float64."""
    with suppress(TypeError, ValueError, OverflowError):
        return values.astype(np.float64)  # reads None as NaN, but not pandas' NA
    values = values.copy()
    values[[is_missing(item) for item in values.tolist()]] = np.nan
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"Feature {label!r} holds something that is neither a number nor text: {error}") from error


def read_objects(values: Column, label: Label) -> Column:
    """A column of Python objects: left as it is if it holds any text, otherwise float64."""
    return objects_to_numbers(values, label) if first_text(values) is None else values


def read_series(series: nw.Series[Any], label: Label) -> Column:
    """A column of a frame; nulls become NaN in numbers and stay missing among categories."""
    if isinstance(series.dtype, nw.String | nw.Categorical | nw.Enum):
        return _read_text(series)
    if isinstance(series.dtype, nw.Decimal | nw.Int128 | nw.UInt128):
        series = series.cast(nw.Float64)
    values = series.to_numpy()
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: feature {label!r} is complex. Split it into two real columns.")
    if series.dtype.is_nested() or values.dtype.kind not in "biufO":
        raise TypeError(f"Feature {label!r} is of type {series.dtype}; expected numbers, booleans or text.")
    return read_objects(values, label) if values.dtype == object else plain_numbers(values)


def _read_text(series: nw.Series[Any]) -> Column:
    """A column of a text or category type as objects, by the way that is fast in each library."""
    if series.implementation.is_polars():
        return _objects(series.to_list())
    if series.implementation.is_pyarrow():
        native = series.to_native()
        # to_numpy of an Arrow dictionary forgets its nulls, and its to_list is twenty times slower than that of text.
        dictionary = isinstance(series.dtype, nw.Categorical)
        return _objects((native.cast(native.type.value_type) if dictionary else native).to_pylist())
    return series.to_numpy().astype(object, copy=False)


def _objects(items: list[Any]) -> Column:
    values = np.empty(len(items), dtype=object)
    values[:] = items
    return values
