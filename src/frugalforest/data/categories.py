"""Categories and their numbers: which ones a column has, and which number each value gets."""

from __future__ import annotations

import datetime
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from frugalforest.data.columns import Column, Label, is_missing

Category = str | int | float

# A code is a byte and 255 means missing, so 255 numbers are left for categories; the last one is "other" if need be.
MAX_CATEGORIES = 255
OTHER = MAX_CATEGORIES - 1

MIDNIGHT = " 00:00:00"
NO_CATEGORIES = (bytes, bytearray, memoryview, complex, np.complexfloating, np.void, type)


def learn_categories(column: Column, label: Label) -> tuple[tuple[Category, ...], bool]:
    """The categories of a column in the order of their numbers, and whether the rest share the number 254, "other".

    Numbers come before text and each kind is sorted, however the column was stored: text, a category type of any
    order and objects with the same content give the same numbers. With more than 255 categories the 254 most frequent
    ones keep their own (of equally frequent ones, the first in order).
    """
    counts = _count(column, label)
    ordered = sorted(counts, key=_order)
    if len(ordered) <= MAX_CATEGORIES:
        return tuple(ordered), False
    frequent = sorted(ordered, key=lambda category: -counts[category])[:OTHER]
    _warn_other(label, counts, frequent)
    return tuple(sorted(frequent, key=_order)), True


def encode_categories(
    column: Column, categories: Sequence[Category], has_other: bool, label: Label
) -> NDArray[np.float32]:
    """The number of each value's category; NaN where missing.

    A category that was not there when learning is "other" if the column has that, and otherwise missing.
    """
    items = column.tolist()
    distinct = _distinct(items, label)
    _refuse_changed_kind(distinct, categories, label)
    number = {category: float(i) for i, category in enumerate(categories)}
    unseen = float(OTHER) if has_other else np.nan
    lookup = {item: np.nan if _is_missing(item) else _number(item, number, unseen) for item in distinct}
    return np.fromiter(map(lookup.__getitem__, items), np.float32, len(items))


def as_python(item: object) -> object:
    """An object of Python for one of numpy, a date for a datetime64; None for no date; anything else as it is."""
    if isinstance(item, np.datetime64):
        return None if np.isnat(item) else _moment(item)
    if not isinstance(item, np.generic):
        return item
    value: object = item.item()
    # A span of nanoseconds, or of no unit, would come out as a mere number.
    return str(item) if isinstance(item, np.timedelta64) and isinstance(value, int) else value


def refuse_no_category(kind: type, label: Label) -> None:
    """Refuse types that cannot be categories: bytes, functions, and what has no text but an address."""
    is_nameless = all(getattr(kind, method) is getattr(object, method) for method in ("__str__", "__repr__"))
    if is_nameless or issubclass(kind, NO_CATEGORIES) or issubclass(kind, Callable):  # type: ignore[arg-type]
        way_out = "Decode it." if issubclass(kind, bytes | bytearray) else "Give the text of the category."
        raise TypeError(
            f"Feature {label!r} is categorical, but holds something of type {kind.__name__}; expected text, numbers or "
            f"dates. {way_out}"
        )


def _is_missing(item: object) -> bool:
    return is_missing(item) or (isinstance(item, np.datetime64 | np.timedelta64) and bool(np.isnat(item)))


def _number(item: object, number: Mapping[Category, float], unseen: float) -> float:
    """The number of a category; a date is also known as its midnight, and the other way round."""
    category = _plain(item)
    if category in number or not isinstance(item, datetime.date | np.datetime64):
        return number.get(category, unseen)
    text = str(category)
    return number.get(text.removesuffix(MIDNIGHT) if text.endswith(MIDNIGHT) else text + MIDNIGHT, unseen)


def _moment(item: np.datetime64) -> datetime.datetime | str:
    """A date of numpy as one of Python, whose text is that of pandas; with nanoseconds, or far off, as text."""
    whole = item.astype("datetime64[us]")
    moment = whole.item()
    if not isinstance(moment, datetime.datetime):
        return str(item)
    rest = int((item - whole).astype("timedelta64[ns]").astype(np.int64))
    return f"{moment.isoformat(' ', 'microseconds')}{rest:03d}" if rest else moment


def _plain(item: object) -> Category:
    """A value that JSON can hold: text and numbers as they are, anything else (dates, intervals) as its text."""
    item = as_python(item)
    return item if isinstance(item, str | int | float) else str(item)


def _order(category: Category) -> tuple[bool, Category]:
    return isinstance(category, str), category


def _distinct(items: list[object], label: Label) -> Counter[object]:
    try:
        distinct = Counter(items)
    except TypeError as error:
        raise TypeError(f"Feature {label!r} is categorical, but holds something that cannot be: {error}") from error
    for kind in set(map(type, distinct)):
        refuse_no_category(kind, label)
    return distinct


def _count(column: Column, label: Label) -> Counter[Category]:
    counts: Counter[Category] = Counter()
    for item, count in _distinct(column.tolist(), label).items():
        if not _is_missing(item):
            counts[_plain(item)] += count
    return counts


def _warn_other(label: Label, counts: Counter[Category], frequent: Sequence[Category]) -> None:
    n_rows = counts.total() - sum(counts[category] for category in frequent)
    warnings.warn(
        f"Feature {label!r} has {len(counts)} categories, at most {MAX_CATEGORIES} are possible: the {OTHER} most "
        f"frequent keep their own, the other {len(counts) - OTHER} ({n_rows} of {counts.total()} values) share one. "
        "Group its categories yourself to choose which, or give it as a number if they have an order.",
        UserWarning,
        stacklevel=5,
    )


def _refuse_changed_kind(distinct: Iterable[object], categories: Sequence[Category], label: Label) -> None:
    """Numbers in a column learned from text would all be unseen, and quietly missing: 12345 is not "12345"."""
    found = [_plain(item) for item in distinct if not _is_missing(item)]
    if found and categories and _kinds(found).isdisjoint(_kinds(categories)):
        was, now = ("text", "numbers") if isinstance(categories[0], str) else ("numbers", "text")
        raise ValueError(
            f"Feature {label!r} held {was} when fitted (such as {categories[0]!r}), but now holds {now} "
            f"(such as {found[0]!r}). Convert it to {was}."
        )


def _kinds(categories: Iterable[Category]) -> set[bool]:
    return {isinstance(category, str) for category in categories}
