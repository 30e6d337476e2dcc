"""Which features are bought, in which order: rows flow from their first purchase to their last."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from frugalforest.report.svg import Drawing, band, figure, fitted

MOST_ROWS, MOST_SECONDS = 300, 20.0
MOST_NAMES = 7  # features with a colour and a place of their own in a step
MOST_STEPS = 12
BAR, LAST_NAME = 10.0, 58.0  # width of a node, and of the names behind the last ones
DONE, OTHERS, MORE = "done", "others", "more"

Node = tuple[int, str]  # step, name


@dataclass(frozen=True)
class FlowFigure:
    """How many rows buy which feature as their first, second, ... purchase, and where they go from there."""

    n_rows: int
    n_played: int  # rows that were played through
    counts: dict[Node, int]
    links: dict[tuple[Node, Node], int]
    names: tuple[str, ...]  # features with a colour, most frequent first
    n_steps: int


def purchases_of(model: Any, X: Any, seed: int) -> list[list[str]]:
    """The features that some of the rows buy, in order: as many as a few seconds allow."""
    n_rows = len(X)
    rows = np.sort(np.random.default_rng(seed).permutation(n_rows)[:MOST_ROWS])
    end = time.monotonic() + MOST_SECONDS
    orders = []
    for row in X.take(rows).to_pylist():
        run = model.start()
        while (feature := run.next_feature()) is not None:
            run.provide(feature, row[feature])
        orders.append([str(feature) for feature in run.acquired])
        if time.monotonic() > end:
            break
    return orders


def flow_figure(orders: Sequence[Sequence[str]], n_rows: int) -> FlowFigure:
    """Count purchases by place, and what follows what; rare features go together."""
    frequency = Counter(name for order in orders for name in order)
    names = tuple(name for name, _ in frequency.most_common(MOST_NAMES))
    n_steps = min(MOST_STEPS, max((len(order) for order in orders), default=0))
    counts: Counter[Node] = Counter()
    links: Counter[tuple[Node, Node]] = Counter()
    for order in orders:
        shown = [name if name in names else OTHERS for name in order[:n_steps]]
        nodes = [(step, name) for step, name in enumerate(shown)]
        nodes.append((len(shown), DONE if len(order) <= n_steps else MORE))
        counts.update(nodes)
        links.update(pairwise(nodes))
    return FlowFigure(n_rows, len(orders), dict(counts), dict(links), names, n_steps)


def draw_flow_figure(data: FlowFigure) -> str:
    """The figure as SVG."""
    first = Counter({name: n for (step, name), n in data.counts.items() if step == 0})
    begin = ", ".join(f"{name} ({n / data.n_played:.0%})" for name, n in first.most_common(4))
    description = (
        f"Rows flow from left to right, from purchase to purchase, until their answer is settled. First comes {begin}. "
        f"{data.n_played} rows; the longest buys {data.n_steps} features or more."
    )
    return figure("flow", "Order of purchases", description, lambda width: _draw(data, width))


def _draw(data: FlowFigure, width: float) -> Drawing:
    most = (7 if data.n_steps == 7 else 6) if width > 400 else 3
    shown = _cut(data, most)
    drawing = Drawing(width, 330.0)
    room = (width - BAR - LAST_NAME) / max(1, shown.n_steps)
    places = _places(shown, drawing.height - 34)
    for step in range(shown.n_steps):
        drawing.text(step * room, 12, _ordinal(step), "tick")
    _draw_links(drawing, shown, places, room)
    for node, (top, thick) in places.items():
        tip = f"{node[1]}: {shown.counts[node] / data.n_played:.0%}"
        drawing.rect(node[0] * room, top, BAR, max(thick, 1.5), _colour(node[1], shown), tip)
    for node, (top, thick) in places.items():
        space = room - BAR - 8 if node[0] < shown.n_steps else LAST_NAME - 8
        if thick > 9:
            drawing.text(node[0] * room + BAR + 4, top + thick / 2 + 4, fitted(node[1], space), "soft")
    return drawing


def _draw_links(drawing: Drawing, data: FlowFigure, places: dict[Node, tuple[float, float]], room: float) -> None:
    """Bands between the nodes; each leaves and arrives below the ones before it."""
    order = _order(data)
    left, right = {node: top for node, (top, _) in places.items()}, {node: top for node, (top, _) in places.items()}
    for source, sink in sorted(data.links, key=lambda link: (link[0][0], order(link[0]), order(link[1]))):
        n = data.links[(source, sink)]
        thick = places[source][1] * n / data.counts[source]
        commands = band(source[0] * room + BAR, left[source], sink[0] * room, right[sink], thick)
        tip = f"{source[1]}, then {sink[1]}: {n / data.n_played:.0%} of the rows"
        drawing.path(commands, f"flow {_colour(source[1], data)}", tip)
        left[source] += thick
        right[sink] += thick


def _cut(data: FlowFigure, most_steps: int) -> FlowFigure:
    """The same, with what comes after some steps as one."""
    if data.n_steps <= most_steps:
        return data
    counts: Counter[Node] = Counter()
    links: Counter[tuple[Node, Node]] = Counter()
    for (step, name), n in data.counts.items():
        if step < most_steps:
            counts[(step, name)] += n
        elif step == most_steps:
            counts[(step, name if name == DONE else MORE)] += n
    for (source, (step, name)), n in data.links.items():
        if step < most_steps:
            links[(source, (step, name))] += n
        elif step == most_steps:
            links[(source, (step, name if name == DONE else MORE))] += n
    return FlowFigure(data.n_rows, data.n_played, dict(counts), dict(links), data.names, most_steps)


def _places(data: FlowFigure, height: float) -> dict[Node, tuple[float, float]]:
    """Top and height of each node: as high as it has rows, in each step one below the other."""
    gap = 7.0
    places = {}
    columns = [[n for n in data.counts if n[0] == step] for step in range(data.n_steps + 1)]
    most_nodes = max(len(column) for column in columns)
    unit = (height - gap * (most_nodes - 1)) / data.n_played
    for column in columns:
        top = 24.0
        for node in sorted(column, key=_order(data)):
            thick = unit * data.counts[node]
            places[node] = (top, thick)
            top += thick + gap
    return places


def _order(data: FlowFigure) -> Any:
    """Features as frequent as they are, then the others, then the end."""
    ranks = {name: rank for rank, name in enumerate([*data.names, OTHERS, MORE, DONE])}
    return lambda node: ranks[node[1]]


def _colour(name: str, data: FlowFigure) -> str:
    return f"c{data.names.index(name)}" if name in data.names else "c-none"


def _ordinal(step: int) -> str:
    return ("first", "second", "third")[step] if step < 3 else f"{step + 1}th"
