"""Whether a value is what a type hint says: the hints of a class are what its stored parts are checked against."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of this type. Numpy's numbers count as numbers, and whole numbers as floats."""
    if hint is Any:
        return True
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is None:
        return _fits_class(value, hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, argument) for argument in arguments)
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in arguments)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _fits_dtype(value.dtype, get_args(arguments[1])[0])
    if origin is dict:
        pairs = value.items() if isinstance(value, dict) else ()
        return isinstance(value, dict) and all(fits(k, arguments[0]) and fits(v, arguments[1]) for k, v in pairs)
    if origin is tuple:
        return isinstance(value, tuple) and _fits_tuple(value, arguments)
    if origin in (Sequence, list):
        return isinstance(value, list | tuple) and all(fits(item, arguments[0]) for item in value)
    raise TypeError(f"the type {hint} is not one that model files can check; use a simpler one.")


def _fits_class(value: Any, cls: Any) -> bool:
    if cls is None:
        return value is None
    if cls is float:
        return isinstance(value, int | float | np.integer | np.floating)
    if cls is int:
        return isinstance(value, int | np.integer)
    if cls is bool:
        return isinstance(value, bool | np.bool_)
    return isinstance(value, cls)


def _fits_dtype(dtype: np.dtype[Any], wanted: Any) -> bool:
    return wanted is Any or dtype == np.dtype(wanted)


def _fits_tuple(value: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    if hints[-1:] == (Ellipsis,):
        return all(fits(item, hints[0]) for item in value)
    return len(value) == len(hints) and all(map(fits, value, hints))
