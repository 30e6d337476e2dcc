"""Columns as linear classifiers read them: centred, of unit variance, with nothing missing.

Values are read a block of rows at a time. So a matrix of any type, float32 or whole numbers, stays as it is, and
only a block of it is ever float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]

LARGEST = 1e100  # standardised values are cut off here, so that no sum of them is infinite
_BLOCK = 2**21  # cells of float64: 16 MB, large enough for BLAS


@dataclass(frozen=True, eq=False)
class Standard:
    """Centre and spread of each column over the training rows; missing values are read as the centre."""

    centre: Floats  # (n_features,): weighted mean
    spread: Floats  # (n_features,): weighted standard deviation, 1 where a column does not vary
    varies_mask: Mask  # (n_features,)

    @classmethod
    def learn(cls, matrix: NDArray[Any], weights: Floats) -> Standard:
        """Learn from all rows: matrix (n_rows, n_features), NaN where missing; weights (n_rows,), all > 0."""
        low, high = np.fmin.reduce(matrix, axis=0), np.fmax.reduce(matrix, axis=0)
        varies = low < high  # False for a column without any value, too
        size = np.where(varies, np.maximum(np.abs(low.astype(np.float64)), np.abs(high.astype(np.float64))), 1.0)
        centre = np.where(varies, _mean(matrix, weights, np.zeros(len(size)), size, power=1) * size, low)
        centre = np.where(np.isnan(centre), 0.0, centre)
        spread = np.sqrt(_mean(matrix, weights, centre, size, power=2)) * size
        if not np.isfinite(spread).all():
            column = int(np.flatnonzero(~np.isfinite(spread))[0])
            raise ValueError(f"X spans more than float64 can hold in column {column}; give it in a larger unit.")
        varies &= spread > 0
        return cls(centre, np.where(varies, spread, 1.0), varies)

    def read(
        self, matrix: NDArray[Any], rows: Positions | slice = slice(None), features: Positions | None = None
    ) -> Floats:
        """(x - centre) / spread of some rows and features, 0 where missing: (n_rows, n_features) float64, a copy."""
        values = _take(matrix, rows, features)
        chosen = slice(None) if features is None else features
        with np.errstate(over="ignore"):
            values -= self.centre[chosen]
            values /= self.spread[chosen]
        np.copyto(values, 0.0, where=np.isnan(values))
        return np.clip(values, -LARGEST, LARGEST, out=values)


def blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of neighbouring rows, of a size that suits BLAS and the cache, in order."""
    step = max(1, _BLOCK // max(1, n_columns))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def _mean(matrix: NDArray[Any], weights: Floats, centre: Floats, size: Floats, power: int) -> Floats:
    """Weighted mean of ((x - centre) / size)^power over the values that are there, (n_features,)."""
    total, weight = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1])
    for block in blocks(*matrix.shape):
        values = _take(matrix, block, None)
        with np.errstate(over="ignore"):
            values -= centre
            values /= size
        there = ~np.isnan(values)
        np.copyto(values, 0.0, where=~there)
        total += weights[block] @ (values if power == 1 else np.square(values, out=values))
        weight += weights[block] @ there
    return total / np.where(weight > 0, weight, 1.0)


def _take(matrix: NDArray[Any], rows: Positions | slice, features: Positions | None) -> Floats:
    """A copy of some rows and features as float64."""
    if features is not None:
        part = matrix[rows][:, features] if isinstance(rows, slice) else matrix[np.ix_(rows, features)]
    elif isinstance(rows, slice) or not matrix.flags.f_contiguous:
        part = matrix[rows]
    else:  # along the columns, as they lie
        part = np.take(matrix.T, rows, axis=1).T
    return np.array(part, dtype=np.float64, order="C")
