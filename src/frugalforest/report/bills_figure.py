"""Who pays what: the distribution of bills."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from frugalforest.report.curve_figure import axis_limit, draw_axes
from frugalforest.report.measuring import Measured
from frugalforest.report.svg import Drawing, Scale, figure, short

N_BARS = 24


@dataclass(frozen=True)
class BillsFigure:
    """Bars: from, to, share of the rows; and amounts to mark."""

    bars: tuple[tuple[float, float, float], ...]
    mean: float
    largest: float
    budget: float | None
    total_cost: float


def bills_figure(measured: Measured, budget: float | None) -> BillsFigure:
    """Bars of equal width from 0 to the largest bill."""
    bills = measured.bills
    end = float(bills.max()) or 1.0
    counts, edges = np.histogram(bills, bins=N_BARS, range=(0, 1.0001 * end))
    shares = counts / len(bills)
    bars = tuple(zip(edges[:-1].tolist(), edges[1:].tolist(), shares.tolist(), strict=True))
    return BillsFigure(bars, measured.cost, float(bills.max()), budget, measured.costs.total)


def draw_bills_figure(data: BillsFigure) -> str:
    """The figure as SVG."""
    often = max(data.bars, key=lambda bar: bar[2])
    description = (
        f"A histogram of the bills of the test rows. They average {data.mean:.2f}; the largest is {data.largest:.2f}. "
        f"Most frequent are bills from {often[0]:.2f} to {often[1]:.2f}, with {often[2]:.0%} of the rows."
    )
    return figure("bills", "Distribution of bills", description, lambda width: _draw(data, width))


def _draw(data: BillsFigure, width: float) -> Drawing:
    height = 250.0
    drawing = Drawing(width, height)
    end = data.bars[-1][1]
    near = [amount for amount in (data.budget, data.total_cost) if amount is not None and amount < 1.6 * end]
    x = Scale(0, 1.04 * max([end, *near]), 46, width - 14)
    y = Scale(0, axis_limit([share for *_, share in data.bars]), height - 44, 30)
    draw_axes(drawing, x, y, "bill of a row", percent_y=True)
    for low, high, share in data.bars:
        if share > 0:
            tip = f"{low:.2f} to {high:.2f}: {share:.1%} of the rows"
            drawing.rect(x(low) + 1, y(share), max(2.0, x(high) - x(low) - 2), y.start - y(share), "bar", tip)
    _mark(drawing, "average", data.mean, x, y, y.end - 4)
    _mark(drawing, "budget", data.budget, x, y, y.end - 17)
    _mark(drawing, "everything", data.total_cost, x, y, y.end - 4)
    return drawing


def _mark(drawing: Drawing, name: str, amount: float | None, x: Scale, y: Scale, level: float) -> None:
    """A line at an amount, with its name at a level above the bars."""
    if amount is None or amount > x.high:
        return
    drawing.line(x(amount), y.start, x(amount), level + 2, "mark")
    at_left = x(amount) > (x.start + x.end) / 2
    place, anchor = (x(amount) - 5, "end") if at_left else (x(amount) + 5, "start")
    drawing.text(place, level, f"{name} {short(round(amount, 2))}", "soft", anchor)
