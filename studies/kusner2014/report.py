"""The report of the study, written from the stored rows alone: tables, a figure, and a verdict on every sentence."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from studies.findings import findings_table
from studies.intervals import Interval
from studies.kusner2014.claims import findings
from studies.kusner2014.figure import draw
from studies.kusner2014.methods import METHODS
from studies.kusner2014.rows import curves_of, log_ratio, money, n_seeds_of, races_of
from studies.kusner2014.tasks import CLASSIFICATION, RANKING, TASKS

NONE = "No rows yet."
RACERS = ("cstc", "astc", "astc_soft")


# ---- tables


def loss_table(curves: pd.DataFrame, names: Iterable[str]) -> str:
    """Error, or precision@5, of every method at every budget; the best of a line is bold."""
    some = curves[curves["name"].isin(names)]
    if len(some) == 0:
        return NONE
    methods = [m for m in METHODS if (some["method"] == m).any()]
    lines = ["| | budget | " + " | ".join(methods) + " |", "|---" * (len(methods) + 2) + "|"]
    for name in [n for n in TASKS if (some["name"] == n).any()]:
        cells = some[some["name"] == name].set_index(["budget", "method"])
        for budget in sorted({b for b, _ in cells.index}):
            best = cells.loc[budget]["loss"].min()
            texts = [_cell(cells, (budget, m), best, name) for m in methods]
            lines.append(f"| {name} | {budget:g} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def _cell(cells: pd.DataFrame, key: tuple[float, str], best: float, name: str) -> str:
    if key not in cells.index:
        return "-"
    row = cells.loc[key]
    value = 1 - row["loss"] if name in RANKING else row["loss"]
    text = f"{Interval(value, row['half']).text()} ({money(row['cost'])})"
    return f"**{text}**" if row["loss"] == best else text


def race_table(races: pd.DataFrame) -> str:
    """A line for every bill: means over seeds, and ratios."""
    if len(races) == 0:
        return NONE
    head = "| | rows x columns | seeds | bill CSTC / ASTC / soft | error CSTC / ASTC / soft | CSTC, CPU s |"
    lines = [head + " ASTC: times faster | soft: times faster |", "|---" * 8 + "|"]
    for (name, _), some in races.groupby(["name", "share"], sort=False):
        bills = " / ".join(money(some[f"{racer}_bill"].mean()) for racer in RACERS)
        errors = " / ".join(f"{some[f'{racer}_error'].mean():.3f}" for racer in RACERS)
        ratios = " | ".join(ratio_text(log_ratio(some, racer)) for racer in RACERS[1:])
        size = f"{some['rows'].iloc[0]} x {some['columns'].iloc[0]} | {len(some)}"
        lines.append(f"| {name} | {size} | {bills} | {errors} | {some['cstc_seconds'].mean():.2f} | {ratios} |")
    return "\n".join(lines)


def ratio_text(logarithm: Interval) -> str:
    """Like "6.2 (5.1 to 7.5)", from the interval of its logarithm."""
    text = f"{np.exp(logarithm.mean):.1f}"
    return text if np.isnan(logarithm.half) else f"{text} ({np.exp(logarithm.low):.1f} to {np.exp(logarithm.high):.1f})"


def tuning_table(curves: pd.DataFrame) -> str:
    """CPU seconds of all fits that a method chooses from."""
    if len(curves) == 0:
        return NONE
    methods = [m for m in METHODS if (curves["method"] == m).any()]
    lines = ["| | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    seconds = curves.groupby(["name", "method"])["seconds"].first()
    for name in [n for n in TASKS if (curves["name"] == n).any()]:
        texts = [f"{seconds[name, m]:.0f}" if (name, m) in seconds.index else "-" for m in methods]
        lines.append(f"| {name} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


# ---- the page


def seeds_text(by_task: dict[str, dict[str, int]]) -> str:
    """Like "cifar 5 (CSTC 3)": seeds of most methods, and those of others."""
    texts = []
    for name, by_method in by_task.items():
        n = max(by_method.values())
        fewer = ", ".join(f"{method} {k}" for method, k in by_method.items() if k < n)
        texts.append(f"{name} {n}" + (f" ({fewer})" if fewer else ""))
    return ", ".join(texts) or "none"


def missing_text(by_task: dict[str, dict[str, int]], races: pd.DataFrame) -> str:
    """What was not run: tasks, methods of a task, and times."""
    missing = [name for name in TASKS if name not in by_task]
    missing += [f"{m} on {name}" for name, by_method in by_task.items() for m in METHODS if m not in by_method]
    timed = set(races["name"]) if len(races) else set()
    missing += [f"times of {name}" for name in by_task if name not in timed]
    return f"Not run: {', '.join(missing)}." if missing else "Nothing was skipped."


def write_report(rows: list[dict], folder: Path) -> None:
    """report.md and its figure in a folder."""
    folder.mkdir(exist_ok=True)
    curves, races = curves_of(rows), races_of(rows)
    by_task, found = n_seeds_of(curves), findings(rows)
    if by_task:
        draw(curves, folder / "curves.png")
    template = (Path(__file__).parent / "report.template.md").read_text()
    text = template.format(
        findings=findings_table(found) if found else NONE,
        seeds=seeds_text(by_task),
        missing=missing_text(by_task, races),
        figure="![Test error or precision@5 against the average bill](curves.png)" if by_task else NONE,
        classification=loss_table(curves, CLASSIFICATION),
        ranking=loss_table(curves, RANKING),
        races=race_table(races),
        tuning=tuning_table(curves),
    )
    (folder / "report.md").write_text(text)
