"""What each feature is worth, against its price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.report.curve_figure import draw_axes
from frugalforest.report.measuring import Measured
from frugalforest.report.svg import Drawing, Names, Scale, figure

MOST_ROWS, MOST_FEATURES, N_SHUFFLES = 1000, 40, 5
NAMED = 0.05  # of the largest worth: those below lie on top of each other, and are in the table


@dataclass(frozen=True)
class FeatureValue:
    """One feature: its price alone, how often it is bought, what goes to it, and what it is worth."""

    name: str
    price: float
    bought: float
    spent: float
    worth: float  # how much probability of the true class goes when its values are shuffled among the rows


def feature_values(model: Any, measured: Measured, X: Any, seed: int) -> list[FeatureValue]:
    """The features that are bought, the one most money goes to first; the worth of the first forty is measured.

    worth_f = mean P(true class) - mean over shuffles of f of mean P(true class), on at most 1,000 test rows
    """
    random = np.random.default_rng(seed)
    rows = np.sort(random.permutation(len(X))[:MOST_ROWS])
    X, y = X.take(rows), measured.y[rows]
    sure = _probability_of(model, X, y)
    order = [int(f) for f in np.lexsort((-measured.bought, -measured.spent)) if measured.bought[f] > 0]
    values = []
    for rank, f in enumerate(order):
        worth = np.nan
        if rank < MOST_FEATURES:
            place = X.column_names.index(measured.names[f])
            shuffled = (
                X.set_column(place, measured.names[f], X.column(place).take(random.permutation(len(X))))
                for _ in range(N_SHUFFLES)
            )
            worth = sure - float(np.mean([_probability_of(model, one, y) for one in shuffled]))
        name, price = measured.names[f], float(measured.costs.alone[f])
        values.append(FeatureValue(name, price, float(measured.bought[f]), float(measured.spent[f]), worth))
    return values


def _probability_of(model: Any, X: Any, y: NDArray[Any]) -> float:
    """Mean probability of the true class."""
    found = model.predict_proba(X)
    right = y[:, None] == model.classes_
    return float((found * right).sum(axis=1).mean())


def draw_value_figure(values: list[FeatureValue]) -> str:
    """The figure as SVG."""
    shown = [value for value in values if not np.isnan(value.worth)]
    best = max(shown, key=lambda value: value.worth)
    description = (
        "Each dot is a feature: its price from left to right, what it is worth from bottom to top, how often it is "
        f"bought as its size. Worth most is {best.name}, at a price of {best.price:.2f}. The table has all numbers."
    )
    return figure("value", "Worth of each feature against its price", description, lambda width: _draw(shown, width))


def _draw(values: list[FeatureValue], width: float) -> Drawing:
    height = 320.0
    drawing = Drawing(width, height)
    prices = [value.price for value in values if value.price > 0] or [1.0]
    by_ratio = max(prices) > 15 * min(prices)
    low = 0.8 * min(prices) if by_ratio else 0.0
    x = Scale(low, 1.25 * max(prices) if by_ratio else 1.1 * max(prices), 52, width - 16, by_ratio)
    top, bottom = max(value.worth for value in values), min(value.worth for value in values)
    low_end = min(1.15 * bottom, -0.08 * top) if bottom < 0 else 0.0
    y = Scale(low_end, 1.15 * top if top > 0 else 0.01, height - 44, 14)
    draw_axes(drawing, x, y, "price" + (" (each step a multiple)" if by_ratio else ""), percent_y=True)
    if bottom < 0:
        drawing.line(x.start, y(0), x.end, y(0), "axis")
    names = Names(drawing, x)
    for value in sorted(values, key=lambda value: -value.worth):
        left, level = x(value.price), y(value.worth)
        tip = f"{value.name}: price {value.price:.2f}, bought for {value.bought:.0%} of the rows"
        drawing.circle(left, level, 3 + 6 * value.bought**0.5, "dot accent see-through", tip)
        if value.worth >= NAMED * top:
            names.write(value.name, left, level, 12)
    return drawing
