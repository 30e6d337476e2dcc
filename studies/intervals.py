"""A mean over repetitions and its 95 % interval: every ± of every report."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student_t


class Interval(NamedTuple):
    """A mean, and half of its 95 % interval; NaN for a single repetition."""

    mean: float
    half: float

    @property
    def low(self) -> float:
        return self.mean - self.half

    @property
    def high(self) -> float:
        return self.mean + self.half

    def is_below(self, limit: float = 0.0) -> bool:
        """The whole interval is; never with a single repetition."""
        return bool(self.high < limit)

    def is_above(self, limit: float = 0.0) -> bool:
        return bool(self.low > limit)

    def text(self, digits: int = 3, sign: bool = False) -> str:
        """Like "+0.012 ± 0.003", or the mean alone where there is no interval."""
        mean = f"{self.mean:{'+' if sign else ''}.{digits}f}"
        return mean if np.isnan(self.half) else f"{mean} ± {self.half:.{digits}f}"


def interval_of(values: ArrayLike) -> Interval:
    """Of independent repetitions: mean and t_{n-1} s / sqrt(n). Differences of two methods are taken seed by seed."""
    found = np.asarray(values, dtype=np.float64)
    n = len(found)
    half = student_t.ppf(0.975, n - 1) * found.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
    return Interval(float(found.mean()), float(half))
