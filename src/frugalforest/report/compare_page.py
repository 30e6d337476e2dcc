"""The report of `frugalforest compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from frugalforest.plotting.methods import MethodLine, methods_data
from frugalforest.report.curve_figure import draw_axes
from frugalforest.report.page import facts, key, page, section, table
from frugalforest.report.svg import Drawing, Scale, figure, polyline

N_COLOURS = 7


def compare_page(
    summaries: Sequence[Any], *, title: str, settings: Mapping[str, str], free_error: float, total_cost: float
) -> str:
    """The whole page; summaries have method, budget, cost, error, half, is_best and is_within."""
    lines = methods_data(summaries)
    budgets = list(dict.fromkeys(summary.budget for summary in summaries))
    parts = [
        section(
            "Error against money",
            "A point for each budget, with its 95% interval; on rows that were left out.",
            _figure(lines, free_error) + _key(lines),
        )
    ]
    parts += [_budget_section(budget, [s for s in summaries if s.budget == budget]) for budget in budgets]
    parts.append(section("Data and settings", "", facts(settings)))
    best = [summary for summary in summaries if summary.is_best]
    numbers = [
        (f"Budget {summary.budget:,.2f}", f"{summary.error:.1%}", f"{summary.method}, bill {summary.cost:,.2f}")
        for summary in best[:2]
    ]
    numbers += [
        ("Everything costs", f"{total_cost:,.2f}", "per row"),
        ("Most frequent class", f"{free_error:.1%}", "wrong, for nothing"),
    ]
    return page(title, _lead(best), numbers, parts)


def _key(lines: Sequence[MethodLine]) -> str:
    return key([line.name for line in lines], [f"c{_colour(place)}" for place in range(len(lines))])


def _lead(best: Sequence[Any]) -> str:
    said = "; ".join(f"<b>{escape(s.method)}</b> with a budget of {s.budget:,.2f} ({s.error:.1%})" for s in best)
    return f"Least error within the budget: {said}." if said else "No method stays within these budgets."


def _budget_section(budget: float, summaries: Sequence[Any]) -> str:
    ordered = sorted(summaries, key=lambda summary: (not summary.is_within, summary.error))
    rows = [
        (
            summary.method,
            f"{summary.error:.1%}",
            "" if np.isnan(summary.half) else f"± {100 * summary.half:.1f}",
            f"{summary.cost:,.2f}" + ("" if summary.is_within else " (over)"),
        )
        for summary in ordered
    ]
    best = next((place for place, summary in enumerate(ordered) if summary.is_best), None)
    return section(f"Budget {budget:,.2f}", "", table(["method", "error", "95%", "average bill"], rows, best=best))


def _figure(lines: Sequence[MethodLine], free_error: float) -> str:
    cheapest = min(lines, key=lambda line: float(line.error.min()))
    description = (
        f"Average bill from left to right, error from bottom to top, a line for each of {len(lines)} methods. The "
        f"least error is {cheapest.error.min():.1%}, by {cheapest.name}; the most frequent class is wrong for "
        f"{free_error:.1%}."
    )
    return figure("methods", "Error against average bill", description, lambda width: _draw(lines, free_error, width))


def _draw(lines: Sequence[MethodLine], free_error: float, width: float) -> Drawing:
    height = 340.0
    drawing = Drawing(width, height)
    bills = np.concatenate([line.cost for line in lines])
    positive = bills[bills > 0]
    by_ratio = len(positive) > 0 and positive.max() > 20 * positive.min()
    x = Scale(
        0.8 * float(positive.min()) if by_ratio else 0.0,
        (1.25 if by_ratio else 1.06) * float(bills.max() or 1),
        46,
        width - 14,
        by_ratio,
    )
    highest = max([free_error, *(float((line.error + np.nan_to_num(line.half)).max()) for line in lines)])
    y = Scale(0, 1.06 * highest or 1.0, height - 44, 14)
    draw_axes(drawing, x, y, "average bill per row" + (" (each step a multiple)" if by_ratio else ""), percent_y=True)
    drawing.line(x.start, y(free_error), x.end, y(free_error), "mark dashed")
    drawing.text(x.end, y(free_error) - 6, "most frequent class, for nothing", "soft", "end")
    for place, line in enumerate(lines):
        _draw_line(drawing, line, place, x, y)
    return drawing


def _draw_line(drawing: Drawing, line: MethodLine, place: int, x: Scale, y: Scale) -> None:
    colour = _colour(place)
    points = list(zip(line.cost.tolist(), line.error.tolist(), line.half.tolist(), strict=True))
    drawing.path(polyline([(x(cost), y(error)) for cost, error, _ in points]), f"method s{colour}")
    for cost, error, half in points:
        if not np.isnan(half):
            drawing.line(x(cost), y(error - half), x(cost), y(error + half), f"interval s{colour}")
        drawing.circle(x(cost), y(error), 4, f"c{colour}", f"{line.name}: {cost:.2f}, {error:.1%} wrong")


def _colour(place: int) -> str:
    return str(place) if place < N_COLOURS else "-none"
