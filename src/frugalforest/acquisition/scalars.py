"""Numbers at the door: those of Python, numpy and exact arithmetic, as plain Python numbers; None for anything else."""

from __future__ import annotations

from decimal import Decimal
from numbers import Integral, Real

import numpy as np

NO_NUMBERS = (bool, np.timedelta64)  # although Python and numpy count them among the whole ones


def as_float(number: object) -> float | None:
    """A number of any kind as a float; None if it is none, or larger than a float can be. True is no number."""
    if not isinstance(number, Real | Decimal) or isinstance(number, NO_NUMBERS):
        return None
    try:
        return float(number)
    except (OverflowError, ValueError):  # the latter for a NaN of Decimal that signals
        return None


def as_whole(number: object) -> int | None:
    """A whole number of any kind as an int; None if it is none. 2.0 is none, nor is True."""
    if not isinstance(number, Integral) or isinstance(number, NO_NUMBERS):
        return None
    return int(number)
