"""The report of `frugalforest fit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from frugalforest.report.bills_figure import bills_figure, draw_bills_figure
from frugalforest.report.calibration_figure import calibration_figure, draw_calibration_figure
from frugalforest.report.confusion import confusion_table
from frugalforest.report.curve_figure import CurveFigure, curve_figure, draw_curve_figure
from frugalforest.report.flow_figure import MORE, OTHERS, FlowFigure, draw_flow_figure, flow_figure, purchases_of
from frugalforest.report.measuring import Measured
from frugalforest.report.page import code, facts, key, page, pair, section, table
from frugalforest.report.value_figure import FeatureValue, draw_value_figure, feature_values

MOST_ROWS_OF_TABLE = 60


def fit_page(
    model: Any,
    measured: Measured,
    X: Any,
    *,
    title: str,
    settings: Mapping[str, str],
    budget: float | None,
    method: str,
    trials: Sequence[tuple[str, float, float]],
    model_file: str,
    seed: int,
) -> str:
    """The whole page about a fitted model; X: the test rows, an Arrow table; trials: method, bill, error."""
    curve = curve_figure(model, measured, X, trials, method, budget)
    parts = [
        section("What does a better answer cost?", _said_of_curve(curve), draw_curve_figure(curve)),
        section("Who pays what", _said_of_bills(measured), draw_bills_figure(bills_figure(measured, budget))),
    ]
    if measured.bought.any():
        flow = flow_figure(purchases_of(model, X, seed), len(X))
        parts.append(section("What is bought, in which order", _said_of_flow(flow), _flow(flow)))
        values = feature_values(model, measured, X, seed)
        parts.append(section("What a feature is worth, and what it costs", _SAID_OF_VALUES, draw_value_figure(values)))
        parts.append(section("Features", "Those that are bought for any of the test rows.", _values_table(values)))
    calibration = calibration_figure(measured)
    parts.append(
        pair(
            section("What is confused with what", "Rows of the table: what is true.", confusion_table(measured)),
            section(
                "Do probabilities mean what they say?",
                "Groups of rows; on the diagonal, what is predicted comes true. "
                f"Mean squared distance (Brier score): {calibration.brier:.3f}.",
                draw_calibration_figure(calibration),
            ),
        )
    )
    parts.append(section("Data and settings", "", facts(settings)))
    parts.append(section("Use the model", "", code(_usage(model_file))))
    return page(title, _lead(measured), _numbers(measured, budget), parts)


def _lead(measured: Measured) -> str:
    total = measured.costs.total
    share = f", {measured.cost / total:.0%} of what reading everything would cost" if total > 0 else ""
    return (
        f"For <b>{measured.cost:,.2f}</b> per row on average{share}, the answer is wrong for "
        f"<b>{measured.error:.1%}</b> of {len(measured.y):,} rows that the model has not seen. "
        f"{escape(_most_money(measured))}"
    )


def _most_money(measured: Measured) -> str:
    if not measured.bought.any():
        return "It buys nothing, and answers with the most frequent class."
    dearest = int(measured.spent.argmax())
    return f"Most money goes to {measured.names[dearest]}."


def _numbers(measured: Measured, budget: float | None) -> list[tuple[str, str, str]]:
    low, high = measured.error_interval
    saved = 1 - measured.cost / measured.costs.total if measured.costs.total > 0 else 0.0
    return [
        ("Error", f"{measured.error:.1%}", f"95%: {low:.1%} to {high:.1%}"),
        ("Average bill", f"{measured.cost:,.2f}", "no budget" if budget is None else f"budget {budget:,.2f}"),
        ("Everything costs", f"{measured.costs.total:,.2f}", f"{saved:.0%} saved"),
        ("Most frequent class", f"{measured.free_error:.1%}", "wrong, for nothing"),
    ]


def _said_of_curve(curve: CurveFigure) -> str:
    line = " The line is this model in other sizes, as validation chose them." if curve.steps else ""
    rings = " Rings are the methods that were tried, on validation rows." if curve.trials else ""
    return f"Error against average bill, on the test rows.{line}{rings}"


def _said_of_bills(measured: Measured) -> str:
    low, high = float(measured.bills.min()), float(measured.bills.max())
    if low == high:
        return f"Every row pays the same: {low:,.2f}."
    middle = float(np.median(measured.bills))
    return f"Bills go from {low:,.2f} to {high:,.2f}; half of the rows pay at most {middle:,.2f}."


_SAID_OF_VALUES = (
    "Worth: how much probability of the truth is lost when a feature's values are shuffled among the rows. Up and to "
    "the left is good value; the larger the dot, the more rows buy it. The price is that of a feature bought first, "
    "with its groups."
)


def _said_of_flow(flow: FlowFigure) -> str:
    rows = f"{flow.n_played:,} of {flow.n_rows:,}" if flow.n_played < flow.n_rows else f"{flow.n_rows:,}"
    return f"{rows} test rows, one purchase after the other; each ends when its answer is settled."


def _flow(flow: FlowFigure) -> str:
    names = list(flow.names)
    colours = [f"c{place}" for place in range(len(names))]
    if any(name in (OTHERS, MORE) for _, name in flow.counts):
        names, colours = [*names, "other features, or more of them"], [*colours, "c-none"]
    return draw_flow_figure(flow) + key(names, colours)


def _values_table(values: Sequence[FeatureValue]) -> str:
    rows = [
        (
            value.name,
            f"{value.price:,.2f}",
            f"{value.bought:.0%}",
            f"{value.spent:,.2f}",
            "" if value.worth != value.worth else f"{100 * value.worth:.1f}",
        )
        for value in values[:MOST_ROWS_OF_TABLE]
    ]
    more = len(values) - len(rows)
    note = f'<p class="quiet">and {more} more</p>' if more > 0 else ""
    return table(["feature", "price", "bought for", "spent per row", "worth (points)"], rows) + note


def _usage(model_file: str) -> str:
    return (
        f"import frugalforest as ff\n\nmodel = ff.load({model_file!r})\n"
        "label, bill = model.predict_with_cost(table)  # a pandas, polars or Arrow table\n"
        "run = model.start()  # or one feature at a time\n\n"
        f"# in a terminal\nfrugalforest predict {model_file} table.csv -o answers.csv\n"
        f"frugalforest acquire {model_file}"
    )
