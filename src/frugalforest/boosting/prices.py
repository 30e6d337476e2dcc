"""What growing charges: prices in units of the loss, made in one place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts

Floats = NDArray[np.float64]

DIGITS = 12  # of a product: costs times k with trade-off / k then give the same number, not only nearly
MOST = 1e290  # stands for infinity, which times no rows at all would be no number


def loss_prices(costs: FeatureCosts, tradeoff: float) -> tuple[Floats, Floats]:
    """Trade-off times own prices (n_features,) and shared prices (n_groups,), rounded to 12 digits."""
    return _rounded(costs.own, tradeoff), _rounded(costs.shared, tradeoff)


def _rounded(prices: Floats, tradeoff: float) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        products = np.where(prices > 0, np.minimum(prices * tradeoff, MOST), 0.0)
    return np.array([float(f"{product:.{DIGITS - 1}e}") for product in products.tolist()], dtype=np.float64)
