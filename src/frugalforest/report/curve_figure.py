"""Error against money, with the point that was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from frugalforest.evaluation import CostCurve, cost_curve
from frugalforest.report.measuring import Measured
from frugalforest.report.svg import Drawing, Names, Scale, figure, polyline, short

MOST_POINTS = 60
OWN_TRIAL = "this one, validation"


@dataclass(frozen=True)
class CurveFigure:
    """What is drawn: sizes of the model, other methods, the chosen point, and the free answer."""

    steps: tuple[tuple[float, float], ...]  # (cost, error) of the sizes of the model on the test rows, by rising cost
    trials: tuple[tuple[str, float, float], ...]  # method, cost, error on validation rows
    chosen: tuple[float, float]
    free_error: float
    budget: float | None
    total_cost: float


def curve_figure(
    model: Any,
    measured: Measured,
    X: Any,
    trials: Sequence[tuple[str, float, float]],
    method: str,
    budget: float | None,
) -> CurveFigure:
    """The sizes of the model measured on the test rows, where it has several, and what else was tried."""
    steps: list[tuple[float, float]] = []
    if hasattr(model, "_cost_curve"):
        curve = _thinned(cost_curve(model, X, measured.y))
        steps = sorted(zip(curve.cost.tolist(), curve.error.tolist(), strict=True))
    named = tuple((OWN_TRIAL if name == method else name, cost, error) for name, cost, error in trials)
    return CurveFigure(
        tuple(steps), named, (measured.cost, measured.error), measured.free_error, budget, measured.costs.total
    )


def _thinned(curve: CostCurve) -> CostCurve:
    """At most sixty points, more of them among the small sizes, where the curve still bends."""
    if len(curve) <= MOST_POINTS:
        return curve
    order = np.lexsort((curve.variant, curve.n_trees))
    return curve.take(order[np.unique(np.geomspace(1, len(order), MOST_POINTS).round().astype(np.intp)) - 1])


def draw_curve_figure(data: CurveFigure) -> str:
    """The figure as SVG."""
    cost, error = data.chosen
    description = (
        f"Average bill from left to right, error from bottom to top. The chosen model costs {cost:.2f} and is wrong "
        f"for {error:.1%} of the rows; answering with the most frequent class costs nothing and is wrong for "
        f"{data.free_error:.1%}. {len(data.steps)} sizes of the model and {len(data.trials)} other methods are shown."
    )
    return figure("curve", "Error against average bill", description, lambda width: _draw(data, width))


def _draw(data: CurveFigure, width: float) -> Drawing:
    height = 320.0 if width > 400 else 290.0
    drawing = Drawing(width, height)
    points = [*data.steps, *((cost, error) for _, cost, error in data.trials), data.chosen, (0.0, data.free_error)]
    costs, errors = zip(*points, strict=True)
    end = max(costs)
    if data.budget is not None and data.budget < 3 * end:
        end = max(end, data.budget)
    x = Scale(0, 1.12 * end or 1.0, 46, width - 14)
    y = Scale(0, 1.12 * max(errors) or 1.0, height - 44, 16)
    draw_axes(drawing, x, y, "average bill per row", percent_y=True)
    drawing.line(x.start, y(data.free_error), x.end, y(data.free_error), "mark dashed")
    drawing.text(x.end, y(data.free_error) - 6, "most frequent class, for nothing", "soft", "end")
    if data.budget is not None and data.budget <= x.high:
        drawing.line(x(data.budget), y.start, x(data.budget), y.end, "mark dashed")
        drawing.text(x(data.budget) - 5, y.start - 6, f"budget {short(data.budget)}", "soft", "end")
    _draw_steps(drawing, data, x, y)
    _draw_points(drawing, data, x, y)
    return drawing


def _draw_steps(drawing: Drawing, data: CurveFigure, x: Scale, y: Scale) -> None:
    if data.steps:
        corners = [(x(0), y(data.free_error))]
        for cost, error in data.steps:
            corners += [(x(cost), corners[-1][1]), (x(cost), y(error))]
        drawing.path(polyline([*corners, (x.end, corners[-1][1])]), "curve")
        for cost, error in data.steps:
            drawing.circle(x(cost), y(error), 2.6, "dot accent", f"{cost:.2f}: {error:.1%} wrong")


def _draw_points(drawing: Drawing, data: CurveFigure, x: Scale, y: Scale) -> None:
    """Other methods as rings, the chosen model as a disc; names where there is room for them."""
    names = Names(drawing, x)
    cost, error = data.chosen
    drawing.circle(x(cost), y(error), 6, "dot strong", f"this model: {cost:.2f}, {error:.1%} wrong")
    names.write("this model", x(cost), y(error) - 12, 8, "bold")
    for name, cost, error in data.trials:
        drawing.circle(x(cost), y(error), 4.5, "ring", f"{name}: {cost:.2f}, {error:.1%} wrong")
        names.write(name, x(cost), y(error), 10)


def draw_axes(drawing: Drawing, x: Scale, y: Scale, label: str, *, percent_y: bool, percent_x: bool = False) -> None:
    """Lines and amounts for both axes; what the vertical one means, the caption says."""
    for tick in y.ticks(4):
        drawing.line(x.start, y(tick), x.end, y(tick), "grid")
        text = f"{100 * tick:g}%" if percent_y else short(tick)
        drawing.text(x.start - 7, y(tick) + 4, text, "tick", "end")
    drawing.line(x.start, y.start, x.end, y.start, "axis")
    for tick in x.ticks(5 if x.end - x.start > 400 else 4):
        drawing.line(x(tick), y.start, x(tick), y.start + 4, "axis")
        drawing.text(x(tick), y.start + 17, f"{100 * tick:g}%" if percent_x else short(tick), "tick", "middle")
    drawing.text((x.start + x.end) / 2, y.start + 36, label, "label", "middle")


def axis_limit(values: Any) -> float:
    """A little more than the largest value; 1 if there is none above 0."""
    largest = float(np.max(values, initial=0.0))
    return 1.08 * largest if largest > 0 else 1.0
