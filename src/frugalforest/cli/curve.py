"""frugalforest curve: error against cost, for one or several methods."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from frugalforest.cli import options
from frugalforest.cli.errors import as_mistake
from frugalforest.cli.files import size_of
from frugalforest.cli.methods import METHODS, Settings, methods_of
from frugalforest.cli.printing import Printer, money, percent

if TYPE_CHECKING:
    from frugalforest.cli.experiments import Summary
    from frugalforest.cli.training import TrainingData

METHODS_HELP = f"A method; repeat for several. {', '.join(METHODS)}."
COLUMNS = ("method", "budget", "average_bill", "error")


def curve(
    data: options.Data,
    target: options.Target,
    costs: options.Costs,
    method: Annotated[list[str] | None, typer.Option("--method", "-m", metavar="NAME", help=METHODS_HELP)] = None,
    budgets: Annotated[
        str | None,
        typer.Option(metavar="B,B,...", help="Budgets; from the cheapest feature to everything if not given."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A picture (.png, .svg, .pdf), or the points (.csv)."),
    ] = None,
    test_share: Annotated[
        float, typer.Option(min=0.01, max=0.9, metavar="SHARE", help="Share of the rows kept apart to measure.")
    ] = 0.25,
    separator: options.Separator = None,
    missing: options.Missing = None,
    categorical: options.Categorical = None,
    drop: options.Drop = None,
    trees: options.Trees = 100,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Error against cost: what does a better answer cost?

    Each method is fitted for every budget on three quarters of the rows, and measured on the others.

    [b]Examples[/b]

    $ frugalforest curve heart.csv -t disease -c prices.csv -o curve.png
    $ frugalforest curve heart.csv -t disease -c prices.csv -m linear -m panel
    $ frugalforest curve heart.csv -t disease -c prices.csv --budgets 5,20,100 -o curve.csv
    """
    methods = methods_of(method or ["budget-forest"])
    from frugalforest.cli.experiments import measure, parse_budgets, summarise
    from frugalforest.cli.pictures import require_picture
    from frugalforest.cli.progress import progress
    from frugalforest.cli.training import TableWishes, load_training_data

    if output is not None:
        require_picture(output)
    table = load_training_data(data, target, costs, TableWishes.of(separator, missing, categorical, drop))
    amounts = parse_budgets(budgets, table.costs)
    learn, test = table.split(test_share, seed)
    settings = Settings(table.costs, None, trees, seed, jobs)
    with progress("fitting", len(methods)) as advance, as_mistake():
        points = summarise(measure(methods, learn, test, amounts, settings, on_step=advance), n_splits=2)
    points.sort(key=lambda point: [each.name for each in methods].index(point.method))
    free_error = _free_error(learn, test)
    printer = Printer()
    _show(printer, points, learn, test, free_error)
    if output is not None:
        _write(output, points, free_error, table.costs.total)
        printer.line()
        printer.line(f"Curve: {output} ({size_of(output)})")
    printer.json(
        {
            "n_learned_from": len(learn),
            "n_test": len(test),
            "cost_of_everything": table.costs.total,
            "error_of_most_frequent_class": free_error,
            "points": [dict(zip(COLUMNS, _row(point), strict=True)) for point in points],
            "output": None if output is None else str(output),
        }
    )


def _free_error(learn: TrainingData, test: TrainingData) -> float:
    """The error of answering with the class that is most frequent among the rows to learn from."""
    most_frequent = max(learn.classes.tolist(), key=lambda label: (learn.y == label).sum())
    return float((test.y != most_frequent).mean())


def _row(point: Summary) -> tuple[str, float, float, float]:
    return point.method, point.budget, point.cost, point.error


def _show(printer: Printer, points: list[Summary], learn: TrainingData, test: TrainingData, free_error: float) -> None:
    everything = money(learn.costs.total)
    printer.line(f"{len(learn):,} rows to learn from, {len(test):,} to measure on; everything costs {everything}.")
    printer.line(f"The most frequent class, for nothing: {percent(free_error)} wrong.")
    printer.line()
    rows = [(point.method, money(point.budget), money(point.cost), percent(point.error)) for point in points]
    printer.table(["method", "budget", "average bill", "error"], rows)


def _write(output: Path, points: list[Summary], free_error: float, total_cost: float) -> None:
    from frugalforest.cli.pictures import save_picture, save_rows

    if output.suffix.lower() == ".csv":
        save_rows(output, COLUMNS, [_row(point) for point in points])
        return
    from frugalforest.plotting.methods import draw_methods

    save_picture(output, lambda ax: draw_methods(points, free_error=free_error, total_cost=total_cost, ax=ax))
