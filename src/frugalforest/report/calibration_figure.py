"""Do probabilities mean what they say? Predicted against observed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from frugalforest.report.curve_figure import draw_axes
from frugalforest.report.measuring import Measured, wilson_interval
from frugalforest.report.svg import Drawing, Scale, figure

MOST_BINS, FEWEST_PER_BIN = 10, 15


@dataclass(frozen=True)
class CalibrationFigure:
    """Groups of rows by what was predicted: mean prediction, share observed, its interval, number of rows."""

    what: str
    groups: tuple[tuple[float, float, float, float, int], ...]
    brier: float  # mean squared distance of prediction and truth


def calibration_figure(measured: Measured) -> CalibrationFigure:
    """Groups of about equal size: P(second class) for two classes, else the probability of the label given."""
    if len(measured.classes) == 2:
        predicted, happened = measured.probabilities[:, 1], measured.y == measured.classes[1]
        what = f"probability of {measured.classes[1]}"
    else:
        predicted, happened = measured.probabilities.max(axis=1), measured.y == measured.labels
        what = "probability of the label given"
    n_bins = int(np.clip(len(predicted) // FEWEST_PER_BIN, 1, MOST_BINS))
    edges = np.unique(np.quantile(predicted, np.linspace(0, 1, n_bins + 1)))
    group = np.clip(np.searchsorted(edges, predicted, side="right") - 1, 0, max(0, len(edges) - 2))
    groups = []
    for g in np.unique(group):
        inside = group == g
        hits, n = int(happened[inside].sum()), int(inside.sum())
        groups.append((float(predicted[inside].mean()), hits / n, *wilson_interval(hits, n), n))
    return CalibrationFigure(what, tuple(groups), float(np.mean((predicted - happened) ** 2)))


def draw_calibration_figure(data: CalibrationFigure) -> str:
    """The figure as SVG."""
    worst = max(data.groups, key=lambda group: abs(group[0] - group[1]))
    description = (
        f"Predicted {data.what} from left to right, how often it came true from bottom to top, for {len(data.groups)} "
        f"groups of rows; on the diagonal both are the same. Farthest from it: predicted {worst[0]:.0%}, came true "
        f"{worst[1]:.0%}."
    )
    return figure("calibration", "Calibration", description, lambda width: _draw(data, width), half=True)


def _draw(data: CalibrationFigure, width: float) -> Drawing:
    height = 300.0
    drawing = Drawing(width, height)
    x, y = Scale(0, 1, 50, width - 16), Scale(0, 1, height - 44, 12)
    draw_axes(drawing, x, y, f"predicted {data.what}"[:52], percent_y=True, percent_x=True)
    drawing.line(x(0), y(0), x(1), y(1), "mark dashed")
    for predicted, observed, low, high, n in data.groups:
        drawing.line(x(predicted), y(low), x(predicted), y(high), "whisker")
        tip = f"predicted {predicted:.0%}, came true {observed:.0%}, {n} rows"
        drawing.circle(x(predicted), y(observed), 4.5, "dot accent", tip)
    return drawing
