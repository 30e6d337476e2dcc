"""Weights on a grid, so that sums are exact and no order of addition can change a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_EXACT_BITS = 52  # a float64 holds whole numbers up to 2^53


def on_grid(values: ArrayLike, most_draws: int = 2**8) -> NDArray[np.float64]:
    """Round to multiples of 2^-s, s as large as keeps every sum of draws * |values| exact in float64.

    sum of |values| * most_draws < 2^(52 - s), so the rounding is below 2^-52 of the total: nothing a user could see.
    """
    values = np.asarray(values, dtype=np.float64)
    total = float(np.abs(values).sum()) * most_draws
    if total == 0:
        return values
    unit = np.ldexp(1.0, int(np.ceil(np.log2(total))) - _EXACT_BITS)
    return np.rint(values / unit) * unit
