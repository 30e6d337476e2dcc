"""The stored rows as tables: losses by seed, their means, and training times."""

from __future__ import annotations

import numpy as np
import pandas as pd
from studies.intervals import Interval, interval_of
from studies.kusner2014.methods import METHODS
from studies.kusner2014.race import RACE
from studies.kusner2014.tasks import TASKS

NUMBERS = ["name", "budget", "method", "seed", "loss", "cost", "seconds", "validation_loss"]  # that the report reads


def split(row: dict, number: str) -> dict:
    """A row with its data set, and with the number that its task ends with."""
    name, _, value = row["task"].rpartition(" ")
    return row | {"name": name, number: float(value)}


def losses_of(rows: list[dict]) -> pd.DataFrame:
    """One line per (task, budget, method, seed)."""
    return pd.DataFrame([split(row, "budget") for row in rows if row["method"] != RACE], columns=NUMBERS)


def curves_of(rows: list[dict]) -> pd.DataFrame:
    """One line per (task, budget, method): mean test loss over seeds, half its 95 % interval, and mean bill."""
    by = losses_of(rows).groupby(["name", "budget", "method"])
    return by.agg(
        loss=("loss", "mean"),
        half=("loss", lambda losses: interval_of(losses).half),
        cost=("cost", "mean"),
        seconds=("seconds", "mean"),
        n=("loss", "size"),
    ).reset_index()


def races_of(rows: list[dict]) -> pd.DataFrame:
    """One line per task, share of the largest trade-off, and seed; the smallest bills of a task first."""
    frame = pd.DataFrame([split(row, "share") for row in rows if row["method"] == RACE])
    if len(frame) == 0:
        return frame
    frame["place"] = frame["name"].map(TASKS.index)
    return frame.sort_values(["place", "share", "seed"], ascending=[True, False, True])


def money(bill: float) -> str:
    """Three digits, or all before the point."""
    return f"{bill:.3g}" if bill < 1000 else f"{bill:.0f}"


def log_ratio(some: pd.DataFrame, racer: str) -> Interval:
    """Logarithm of CSTC's seconds over a racer's: twice as fast and half as fast are as far from 0."""
    return interval_of(np.log(some[f"{racer}_ratio"]))


def n_seeds_of(curves: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Task -> method -> seeds that all its budgets have; only what there is."""
    fewest = curves.groupby(["name", "method"])["n"].min()
    found = {name: {m: int(fewest[name, m]) for m in METHODS if (name, m) in fewest.index} for name in TASKS}
    return {name: by_method for name, by_method in found.items() if by_method}
