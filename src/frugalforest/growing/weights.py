"""Weights on a grid, so that sums are exact and no order of addition can change a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_EXACT_BITS = 52  # a float64 holds whole numbers up to 2^53
_LEAST_EXPONENT = -1074  # the least float64 is 2^-1074


def on_grid(values: ArrayLike, most_draws: int = 2**8) -> NDArray[np.float64]:
    """Round to multiples of 2^-s, s as large as keeps every sum of draws * |values| exact in float64.

    sum of |values| * most_draws < 2^(52 - s), so the rounding is below 2^-52 of the total: nothing a user could see.
    """
    values = np.asarray(values, dtype=np.float64)
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest == 0:
        return values
    exponent = int(np.frexp(largest)[1])  # the sum is taken in units of 2^exponent: it neither overflows nor vanishes
    total = float(np.abs(np.ldexp(values, -exponent)).sum()) * most_draws
    unit_exponent = int(np.ceil(np.log2(total))) + exponent - _EXACT_BITS
    if unit_exponent <= _LEAST_EXPONENT:
        return values  # the least floats of all lie on one grid already
    return np.ldexp(np.rint(np.ldexp(values, -unit_exponent)), unit_exponent)
