"""What `fit` has found: for the screen, for machines, and for the report."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frugalforest.cli.choosing import Choice, Trial
from frugalforest.cli.methods import Method, Settings
from frugalforest.cli.printing import Printer, counted, money, percent, shortened
from frugalforest.cli.training import TrainingData
from frugalforest.report import Measured, fit_page

MOST_COLUMNS_SHOWN = 40
N_DEAREST = 5


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model with everything that led to it."""

    table: TrainingData
    learn: TrainingData
    test: TrainingData
    settings: Settings
    method: Method
    choice: Choice | None  # None: the user chose
    model: Any
    measured: Measured

    @property
    def trials(self) -> tuple[Trial, ...]:
        """What was tried on validation rows."""
        return () if self.choice is None else self.choice.trials


# ---- on the screen


def show_table(printer: Printer, table: TrainingData) -> None:
    """Types, missing values and prices, as they were read or guessed."""
    facts = table.facts()
    printer.line(
        f"{table.source}: {counted(len(table), 'row')}, {counted(len(facts), 'feature')}; reading all of them costs "
        f"{money(table.costs.total)} per row."
    )
    if table.n_without_label:
        printer.line(f"{counted(table.n_without_label, 'row')} without a {table.target} left out.")
    printer.line()
    rows = [
        (
            fact.name,
            "number" if fact.kind == "number" else f"text, {counted(fact.n_distinct, 'value')}",
            percent(fact.missing) if fact.missing else "",
            money(fact.price),
        )
        for fact in facts[:MOST_COLUMNS_SHOWN]
    ]
    printer.table(["feature", "read as", "missing", "price"], rows, text_columns=2)
    if len(facts) > MOST_COLUMNS_SHOWN:
        printer.line(f"and {len(facts) - MOST_COLUMNS_SHOWN} more")
    if table.costs.group_names:
        printer.line()
        for name, group in table.costs.groups.items():
            printer.line(f"Group {name}: {money(group.cost)} once for {shortened(group.members)}; in each price above.")
    printer.line()
    printer.line(f"Target {table.target}: {shortened(_class_shares(table), 10)}.")


def _class_shares(table: TrainingData) -> list[str]:
    return [f"{label} ({(table.y == label).mean():.0%})" for label in table.classes.tolist()]


def show_split(printer: Printer, learn: TrainingData, test: TrainingData, seed: int) -> None:
    """Which rows are for what."""
    printer.line(
        f"{len(learn):,} rows to learn from, {len(test):,} kept apart for the test (the same share of every class, "
        f"seed {seed})."
    )


def show_choice(printer: Printer, choice: Choice | None) -> None:
    """What was tried, and what was chosen, and why."""
    if choice is None:
        return
    printer.heading(f"Methods on validation rows ({choice.n_validation:,} of the rows to learn from)")
    rows = [
        (
            trial.method,
            percent(trial.error),
            "" if trial.cost != trial.cost else money(trial.cost),
            f"{trial.seconds:.1f}",
            trial.note or ("chosen" if trial.method == choice.method.name else ""),
        )
        for trial in choice.trials
    ]
    printer.table(["method", "error", "bill", "seconds", ""], rows)
    printer.line(f"Chosen: {choice.method.name}, {choice.reason}. It is fitted again on all rows to learn from.")


def show_model(printer: Printer, fitted: Fitted) -> None:
    """Error and bill on the test rows, and the features that most money goes to."""
    measured = fitted.measured
    printer.heading(f"{fitted.method.name} on {counted(len(measured.y), 'row')} it has not seen")
    printer.facts(_figures(measured, fitted.settings.budget))
    dearest = [i for i in (-measured.spent).argsort()[:N_DEAREST].tolist() if measured.bought[i] > 0]
    if not dearest:
        printer.line("No feature is bought: the budget is below every tree. Give a larger one.")
        return
    printer.heading("Where the money goes")
    rows = [(measured.names[i], percent(measured.bought[i]), money(measured.spent[i])) for i in dearest]
    printer.table(["feature", "bought for", "average spent"], rows)


def _figures(measured: Measured, budget: float | None) -> list[tuple[str, str]]:
    low, high = measured.error_interval
    total = measured.costs.total
    share = f"; the bill is {measured.cost / total:.0%} of it" if total > 0 else ""
    return [
        ("error", f"{percent(measured.error)} (95% interval {percent(low)} to {percent(high)})"),
        ("error of the most frequent class", f"{percent(measured.free_error)}, for nothing"),
        ("average bill", money(measured.cost) + ("" if budget is None else f", budget {money(budget)}")),
        ("reading everything", f"{money(total)}{share}"),
    ]


# ---- for the report, and for machines


def report_page(fitted: Fitted, model_file: str) -> str:
    """One page of HTML."""
    return fit_page(
        fitted.model,
        fitted.measured,
        fitted.test.X,
        title=f"What it costs to know {fitted.table.target}",
        settings=_settings(fitted),
        budget=fitted.settings.budget,
        method=fitted.method.name,
        trials=[(trial.method, trial.cost, trial.error) for trial in fitted.trials if trial.error == trial.error],
        model_file=model_file,
        seed=fitted.settings.seed,
    )


def _settings(fitted: Fitted) -> dict[str, str]:
    table, costs, settings = fitted.table, fitted.table.costs, fitted.settings
    chosen = f", chosen among {len(fitted.trials)} on validation rows" if fitted.trials else ""
    return {
        "Table": f"{table.source.name}: {len(table):,} rows, {costs.n_features} features",
        "Target": f"{table.target}: {shortened(_class_shares(table), 10)}",
        "Prices": f"{money(costs.total)} for everything; {counted(len(costs.group_names), 'group')}",
        "Split": f"{len(fitted.learn):,} rows to learn from, {len(fitted.test):,} for the test",
        "Method": f"{fitted.method.name}{chosen}",
        "Budget": "none" if settings.budget is None else money(settings.budget),
        "Trees, seed": f"at most {settings.n_trees}, seed {settings.seed}",
        "Command": " ".join(["frugalforest", *sys.argv[1:]]),
    }


def as_json(fitted: Fitted, output: Path, report: Path | None) -> dict[str, Any]:
    """Everything that the screen shows, and more of it."""
    measured = fitted.measured
    spent = zip(measured.names, measured.bought.tolist(), measured.spent.tolist(), strict=True)
    features = [{"feature": name, "bought": bought, "spent": amount} for name, bought, amount in spent if bought > 0]
    return {
        "model": str(output),
        "report": None if report is None else str(report),
        "method": fitted.method.name,
        "trials": [vars(trial) for trial in fitted.trials],
        "reason": None if fitted.choice is None else fitted.choice.reason,
        "n_rows": len(fitted.table),
        "n_learned_from": len(fitted.learn),
        "n_test": len(fitted.test),
        "budget": fitted.settings.budget,
        "error": measured.error,
        "error_interval": measured.error_interval,
        "error_of_most_frequent_class": measured.free_error,
        "average_bill": measured.cost,
        "cost_of_everything": measured.costs.total,
        "features": sorted(features, key=lambda feature: -feature["spent"]),
        "columns": [vars(fact) for fact in fitted.table.facts()],
        "seed": fitted.settings.seed,
    }
