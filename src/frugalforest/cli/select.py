"""frugalforest select: the same few features for every row, within a budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frugalforest.cli import options
from frugalforest.cli.errors import Mistake, as_mistake
from frugalforest.cli.files import require_room, size_of
from frugalforest.cli.printing import Printer, money, percent

if TYPE_CHECKING:
    from frugalforest.cli.training import TrainingData

SELECTORS = {"shallow-trees": "STS", "auc": "AUC", "permutation": "pFI", "forward": "FS"}


def select(
    data: options.Data,
    target: options.Target,
    costs: options.Costs,
    budgets: Annotated[
        str | None,
        typer.Option(
            "--budgets", "--budget", "-b", metavar="B,B,...", help="What the panel may cost; several with commas."
        ),
    ] = None,
    selector: Annotated[
        str, typer.Option("--selector", "-s", metavar="NAME", help=f"{', '.join(SELECTORS)}.")
    ] = "shallow-trees",
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Compare all selectors by cross-validation, choices inside the training rows."),
    ] = False,
    splits: Annotated[int, typer.Option(min=2, metavar="N", help="Parts of the cross-validation, for --compare.")] = 5,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="The panels as .csv.")] = None,
    separator: options.Separator = None,
    missing: options.Missing = None,
    categorical: options.Categorical = None,
    drop: options.Drop = None,
    trees: options.Trees = 200,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """A panel: the same few features for every row, within a budget.

    The error is the out-of-bag error of a full forest on the panel. With several budgets, the panels of all of them.

    [b]Examples[/b]

    $ frugalforest select heart.csv -t disease -c prices.csv --budget 50
    $ frugalforest select heart.csv -t disease -c prices.csv --budgets 5,50,150
    $ frugalforest select heart.csv -t disease -c prices.csv -b 50 --compare
    """
    if selector not in SELECTORS:
        raise Mistake(f"--selector is {selector!r}; expected one of {', '.join(SELECTORS)}.")
    if output is not None:
        require_room(output, "the panels")
        if output.suffix.lower() != ".csv":
            raise Mistake(f"{output.name}: panels are written as .csv.")
    from frugalforest.cli.experiments import parse_budgets
    from frugalforest.cli.training import TableWishes, load_training_data

    table = load_training_data(data, target, costs, TableWishes.of(separator, missing, categorical, drop))
    amounts = parse_budgets(budgets, table.costs)
    found = (
        _compared(table, amounts, splits, trees, seed, jobs)
        if compare
        else _panels(table, amounts, selector, trees, seed, jobs)
    )
    printer = Printer()
    printer.line(f"{table.source}: {len(table):,} rows; everything costs {money(table.costs.total)}.")
    printer.line()
    (_show_comparison if compare else _show_panels)(printer, found)
    if output is not None:
        from frugalforest.cli.pictures import save_rows

        rows = [[" ".join(value) if isinstance(value, list) else value for value in line.values()] for line in found]
        save_rows(output, list(found[0]), rows)
        printer.line()
        printer.line(f"Panels: {output} ({size_of(output)})")
    printer.json({"comparison" if compare else "panels": found, "cost_of_everything": table.costs.total})


def _panels(
    table: TrainingData, budgets: list[float], selector: str, trees: int, seed: int, jobs: int
) -> list[dict[str, Any]]:
    from frugalforest.cli.progress import progress

    chosen = _selectors(trees, seed, jobs)[SELECTORS[selector]].set_params(feature_costs=table.costs)
    with progress(f"searching panels by {selector}"), as_mistake():
        path = chosen.path(table.X, table.y, budgets)
    return [
        {
            "selector": selector,
            "budget": point.budget,
            "cost": point.cost,
            "out_of_bag_error": point.error,
            "features": list(point.features),
        }
        for point in path
    ]


def _compared(
    table: TrainingData, budgets: list[float], splits: int, trees: int, seed: int, jobs: int
) -> list[dict[str, Any]]:
    import numpy as np

    from frugalforest.cli.progress import progress
    from frugalforest.estimators import StandardForestClassifier
    from frugalforest.evaluation.resampling import corrected_interval
    from frugalforest.selection import compare_selectors

    names = {short: name for name, short in SELECTORS.items()} | {"pick": "pick"}
    with progress("comparing selectors"), as_mistake():
        found = compare_selectors(
            table.X,
            table.y,
            table.costs,
            budgets,
            selectors=_selectors(trees, seed, jobs),
            estimator=StandardForestClassifier(trees, n_jobs=jobs, random_state=seed),
            n_splits=splits,
            random_state=seed,
        )
    lines = []
    for budget in found.budgets:
        for short in [*found.selectors, "pick"]:
            rows = [row for row in found.rows if (row.selector, row.budget) == (short, budget)]
            error, half = corrected_interval(np.array([row.error for row in rows]), found.test_share)
            cost, size = (float(np.mean([getattr(row, what) for row in rows])) for what in ("cost", "n_features"))
            lines.append(
                {
                    "budget": budget,
                    "selector": names[short],
                    "error": error,
                    "half_interval": half,
                    "cost": cost,
                    "n_features": size,
                }
            )
    return lines


def _selectors(trees: int, seed: int, jobs: int) -> dict[str, Any]:
    from frugalforest.selection.compare import default_selectors

    return {name: selector.set_params(n_forest_trees=trees) for name, selector in default_selectors(jobs, seed).items()}


def _show_panels(printer: Printer, found: list[dict[str, Any]]) -> None:
    rows = [
        (
            money(p["budget"]),
            money(p["cost"]),
            percent(p["out_of_bag_error"]),
            ", ".join(map(str, p["features"])) or "(nothing)",
        )
        for p in found
    ]
    printer.table(["budget", "cost", "error (out of bag)", "panel"], rows, text_columns=4)


def _show_comparison(printer: Printer, found: list[dict[str, Any]]) -> None:
    rows = [
        (
            money(p["budget"]),
            p["selector"],
            percent(p["error"]),
            f"± {100 * p['half_interval']:.1f}",
            money(p["cost"]),
            f"{p['n_features']:.1f}",
        )
        for p in sorted(found, key=lambda line: (line["budget"], line["error"]))
    ]
    printer.table(["budget", "selector", "error", "95%", "cost", "features"], rows, text_columns=2)
    printer.line("pick: the selector of least out-of-bag error on the training rows of each split.")
