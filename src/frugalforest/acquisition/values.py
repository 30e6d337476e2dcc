"""Values at the door of a run: one value of one feature, as it is read, said and remembered."""

from __future__ import annotations

import datetime
from numbers import Number
from typing import Any

import numpy as np

from frugalforest.acquisition.scalars import as_float
from frugalforest.data.categories import Category, as_python, refuse_no_category
from frugalforest.data.columns import Label, is_missing

DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


def one_value(value: Any, label: Label, *, is_categorical: bool) -> Any:
    """A value without its numpy dress; refuses, by the name of its feature, what cannot be one."""
    if getattr(value, "ndim", None) == 0 and not isinstance(value, np.generic):
        value = value[()] if isinstance(value, np.ndarray) else value.item()
    _refuse_several(value, label)
    if isinstance(value, int) and as_float(int(value)) is None:
        raise ValueError(
            f"Feature {label!r} got a whole number beyond 1e308. Give a smaller one, or None where it is missing."
        )
    plain = as_python(value)
    if is_missing(plain):
        return None
    if not is_categorical:
        _refuse_no_number(value, label)
        # JSON has no word for numbers of other libraries.
        return float(plain) if hasattr(plain, "__float__") and not isinstance(plain, Number) else plain
    if not isinstance(plain, bytes):  # which some encoders know as text
        refuse_no_category(type(plain), label)
    return plain


def _refuse_several(value: Any, label: Label) -> None:
    if hasattr(type(value), "__len__") and not isinstance(value, str | bytes | bytearray):
        shown = " ".join(repr(value).split())
        raise TypeError(
            f"Feature {label!r} takes one value, but got a {type(value).__name__}: {shown:.60}. Give what is in it."
        )


def _refuse_no_number(value: Any, label: Label) -> None:
    """Refuse dates and bytes, some of which would be read as numbers."""
    if isinstance(value, DATES):
        raise TypeError(f"Feature {label!r} is a number, but got {value!r:.60}. Give a number, of days for example.")
    if isinstance(value, bytes | bytearray):
        raise TypeError(f"Feature {label!r} is a number, but got {value!r:.60}. Give float(value).")


def as_text(value: Any, category: Category | None) -> str:
    """What is neither text nor number, a date for example, as the text that JSON keeps and the model knows."""
    if isinstance(category, str):  # the text of the value may be another one
        return category
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def checked_note(note: Any, most: int) -> str | None:
    """A note of at most so many characters; refuses what is no text."""
    if note is None:
        return None
    if not isinstance(note, str):
        raise TypeError(f"note is {note!r:.60}; expected text that says why, or None.")
    return note if len(note) <= most else note[: most - 3] + "..."
