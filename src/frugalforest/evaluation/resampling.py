"""Intervals for errors that were measured on resampled splits of the same rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

Floats = NDArray[np.float64]


def corrected_interval(errors: Floats, test_share: float, level: float = 0.95) -> tuple[float, float]:
    """Mean error and half the width of its interval, for the splits of repeated cross-validation.

        half = t_{J-1} sqrt((1 / J + n_test / n_train) s^2)         Nadeau and Bengio 2003

    Training rows of different splits overlap, so s^2 / J alone would be too small. errors: (J,); test_share: n_test /
    n_train of one split. One split has no interval: half is NaN.
    """
    n = len(errors)
    if n < 2:
        return float(np.mean(errors)), np.nan
    variance = (1 / n + test_share) * np.var(errors, ddof=1)
    return float(np.mean(errors)), float(t.ppf(0.5 + level / 2, n - 1) * np.sqrt(variance))


def monte_carlo_interval(errors: Floats) -> tuple[float, float]:
    """Mean error and half the width of its 95 % interval, for independent runs: 1.96 s / sqrt(J)."""
    if len(errors) < 2:
        return float(np.mean(errors)), np.nan
    return float(np.mean(errors)), float(1.96 * np.std(errors, ddof=1) / np.sqrt(len(errors)))
