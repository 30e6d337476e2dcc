"""Stored rows as frames: measurements of finished repetitions, and curves of accuracy against cost."""

from __future__ import annotations

import numpy as np
import pandas as pd
from studies.intervals import Interval, interval_of

NAMES = {"pima": "diabetes (pima)", "spambase": "spam", "mfeat_pix": "digits (mfeat-pix)"}
GROUPED = {"cifar10_kmeans400": "images, 4 quadrants", "covtype": "covertype, 12 measurements"}
N_TREES = 100
RULES = ("paper", "leaf")
PAPER_METHODS = ("FFS", "RFS", "FFS + CT")
ALL_METHODS = (*PAPER_METHODS, "FFS + CT, printed")
GROUP_METHODS = ("FFS", "RFS")


# ---- rows of a part


def rows_of(part: str, rows: list[dict]) -> pd.DataFrame | None:
    """What was measured in one part of the study, a line for each measurement; None: nothing."""
    mine = [row for row in rows if row["task"].startswith(f"{part} ")]
    lines = [row["settings"] | measured for row in mine for measured in row["measured"]]
    return pd.DataFrame(lines) if lines else None


def finished(rows: pd.DataFrame | None, methods: tuple[str, ...]) -> pd.DataFrame | None:
    """Only repetitions that have every method, by both rules, at every trade-off tried on the data set."""
    if rows is None:
        return None
    n_tradeoffs = rows.groupby("data")["tradeoff"].transform("nunique")
    n_measured = rows[rows["method"].isin(methods)].groupby(["data", "seed"])["method"].transform("size")
    done = rows[n_measured == n_tradeoffs * len(methods) * len(RULES) * rows["trees"].nunique()]
    return done if len(done) else None


def finished_curves(rows: list[dict]) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
    """Measurements of the paper's data sets, and of those with groups, as far as repetitions are finished."""
    return finished(rows_of("curves", rows), ALL_METHODS), finished(rows_of("groups", rows), GROUP_METHODS)


def complete(rows: pd.DataFrame | None) -> pd.DataFrame | None:
    """Only repetitions with as many measurements as the fullest one of their data set."""
    if rows is None:
        return None
    n_measured = rows.groupby(["data", "seed"])["data"].transform("size")
    return rows[n_measured == n_measured.groupby(rows["data"]).transform("max")]


def present(rows: pd.DataFrame | None, names: dict[str, str]) -> dict[str, str]:
    """The data sets that were measured, with their names; a set that could not be had is none of them."""
    measured = set() if rows is None else set(rows["data"])
    return {data: name for data, name in names.items() if data in measured}


def seeds_of(rows: pd.DataFrame | None, names: dict[str, str]) -> str:
    """Like "spam 20, digits 20", and "none" without rows."""
    there = present(rows, names)
    return (
        ", ".join(f"{name} {rows.loc[rows['data'] == data, 'seed'].nunique()}" for data, name in there.items())
        or "none"
    )


# ---- curves


class Paths:
    """Cost and accuracy of one method on one data set, (n_seeds, n_tradeoffs), tradeoffs rising."""

    def __init__(self, rows: pd.DataFrame, data: str, method: str, rule: str = "paper", trees: int = N_TREES) -> None:
        some = rows.query("data == @data and method == @method and rule == @rule and trees == @trees")
        table = some.pivot(index="seed", columns="tradeoff", values=["set_cost", "accuracy", "bill"])
        self.cost, self.accuracy, self.bill = (table[name].to_numpy() for name in ("set_cost", "accuracy", "bill"))
        self.tradeoffs = table["set_cost"].columns.to_numpy()
        self.n_seeds = len(table)

    @property
    def reductions(self) -> np.ndarray:
        """Share of the cost without a penalty that each tradeoff saves, on average, (n_tradeoffs,)."""
        return 1 - self.cost.mean(axis=0) / self.cost[:, 0].mean()

    def change_at(self, reduction: float) -> Interval | None:
        """Change of accuracy where the cost is reduced so much; None: nowhere.

        Between two neighbouring tradeoffs both are mixed; which, is decided by cost alone.
        """
        enough = np.flatnonzero(self.reductions >= reduction)
        if len(enough) == 0:
            return None
        i = enough[0]
        before, after = self.reductions[i - 1], self.reductions[i]
        share = (reduction - before) / (after - before)
        mixed = (1 - share) * self.accuracy[:, i - 1] + share * self.accuracy[:, i]
        return interval_of(mixed - self.accuracy[:, 0])

    def end(self) -> tuple[float, Interval]:
        """The largest reduction, and the change of accuracy there."""
        i = int(np.argmax(self.reductions))
        return float(self.reductions[i]), interval_of(self.accuracy[:, i] - self.accuracy[:, 0])

    def accuracy_at(self, costs: np.ndarray) -> np.ndarray:
        """Accuracy of each repetition at these costs, straight lines between its points, (n_seeds, n_costs)."""
        rows = []
        for cost, accuracy in zip(self.cost, self.accuracy, strict=True):
            order = np.argsort(cost, kind="stable")
            rows.append(np.interp(costs, cost[order], accuracy[order]))
        return np.array(rows)


def difference(one: Paths, two: Paths) -> Interval:
    """Mean difference in accuracy at equal cost, over the costs that both reach."""
    low = max(paths.cost.mean(axis=0).min() for paths in (one, two))
    high = min(paths.cost.mean(axis=0).max() for paths in (one, two))
    costs = np.linspace(low, high, 101)
    n = min(one.n_seeds, two.n_seeds)  # repetitions are run in order, so both have the first n
    return interval_of((one.accuracy_at(costs)[:n] - two.accuracy_at(costs)[:n]).mean(axis=1))


def selection_change(selection: pd.DataFrame, data: str, reduction: float) -> Interval:
    """Change of accuracy against all features where selection saves so much; between two sets both are mixed."""
    changes = []
    for _, path in selection[selection["data"] == data].groupby("seed"):
        path = path.sort_values("set_cost")
        cost, accuracy = path["set_cost"].to_numpy(), path["accuracy"].to_numpy()
        changes.append(np.interp((1 - reduction) * cost[-1], cost, accuracy) - accuracy[-1])
    return interval_of(changes)


def points(change: Interval) -> str:
    """In points of accuracy."""
    return Interval(100 * change.mean, 100 * change.half).text(2, sign=True)
