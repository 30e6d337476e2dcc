"""frugalforest compare: methods at several budgets, by honest resampling."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frugalforest.cli import options
from frugalforest.cli.errors import as_mistake
from frugalforest.cli.files import require_room, size_of, write_text
from frugalforest.cli.methods import AUTO, METHODS, Settings, methods_of, suited_to
from frugalforest.cli.printing import Printer, money, percent, shortened

if TYPE_CHECKING:
    from frugalforest.cli.experiments import Outcome, Summary
    from frugalforest.cli.training import TrainingData

METHODS_HELP = f"A method; repeat for several; all if not given. auto, {', '.join(METHODS)}."


def compare(
    data: options.Data,
    target: options.Target,
    costs: options.Costs,
    method: Annotated[list[str] | None, typer.Option("--method", "-m", metavar="NAME", help=METHODS_HELP)] = None,
    budgets: Annotated[
        str | None,
        typer.Option(
            metavar="B,B,...", help="Budgets; three between the cheapest feature and everything if not given."
        ),
    ] = None,
    splits: Annotated[int, typer.Option(min=2, metavar="N", help="Parts of the cross-validation.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, metavar="N", help="How often it is repeated, with other parts.")] = 1,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A picture (.png, .svg, .pdf), or every split (.csv)."),
    ] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a report, one page of HTML.")] = None,
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
    """Methods at several budgets, measured on rows that they have not seen.

    Repeated cross-validation. Everything that a method chooses (sizes, trade-offs, panels), it chooses inside the
    training part of each split; `auto` chooses the method there, too. Intervals are 95%, corrected for training rows
    that splits share.

    [b]Examples[/b]

    $ frugalforest compare heart.csv -t disease -c prices.csv --budgets 10,50,150
    $ frugalforest compare heart.csv -t disease -c prices.csv -m auto -m panel --json
    $ frugalforest compare heart.csv -t disease -c prices.csv --repeats 3 -o all.png
    """
    names = list(dict.fromkeys(method or METHODS))
    with_auto = AUTO in names
    methods = methods_of([name for name in names if name != AUTO] or list(METHODS))
    from frugalforest.cli.experiments import parse_budgets, resample, spread_budgets, summarise
    from frugalforest.cli.pictures import require_picture
    from frugalforest.cli.progress import progress
    from frugalforest.cli.training import TableWishes, load_training_data

    if output is not None:
        require_picture(output)
    if report is not None:
        require_room(report, "the report")
    table = load_training_data(data, target, costs, TableWishes.of(separator, missing, categorical, drop))
    amounts = spread_budgets(table.costs, 5)[1:-1] if budgets is None else parse_budgets(budgets, table.costs)
    settings = Settings(table.costs, None, trees, seed, jobs)
    if not method or names == [AUTO]:
        methods = suited_to(methods, has_text=bool(table.text_columns))
    n_steps = splits * repeats * len(methods) * (2 if with_auto else 1)
    with progress("comparing", n_steps) as advance, as_mistake():
        outcomes = resample(methods, table, amounts, settings, splits, repeats, with_auto=with_auto, on_step=advance)
    summaries = summarise(outcomes, splits)
    free_error = 1 - max(float((table.y == label).mean()) for label in table.classes.tolist())
    printer = Printer()
    _show(printer, table, summaries, free_error, splits, repeats)
    _write(output, outcomes, summaries, free_error, table)
    if report is not None:
        _write_report(report, table, summaries, free_error, settings, splits, repeats)
    for what, path in (("Picture", output), ("Report", report)):
        if path is not None:
            printer.line(f"{what}: {path} ({size_of(path)})")
    printer.json(
        {
            "n_rows": len(table),
            "cost_of_everything": table.costs.total,
            "error_of_most_frequent_class": free_error,
            "splits": splits,
            "repeats": repeats,
            "summary": [vars(summary) for summary in summaries],
            "output": None if output is None else str(output),
            "report": None if report is None else str(report),
        }
    )


def _show(
    printer: Printer, table: TrainingData, summaries: list[Summary], free_error: float, splits: int, repeats: int
) -> None:
    how = f"{splits}-fold cross-validation" + (f", {repeats} times" if repeats > 1 else "")
    printer.line(f"{table.source}: {len(table):,} rows, {how}; everything costs {money(table.costs.total)}.")
    printer.line(f"The most frequent class, for nothing: {percent(free_error)} wrong.")
    for budget in dict.fromkeys(summary.budget for summary in summaries):
        here = sorted((s for s in summaries if s.budget == budget), key=lambda s: (not s.is_within, s.error))
        printer.heading(f"Budget {money(budget)}")
        rows = [(s.method, percent(s.error), f"± {100 * s.half:.1f}", money(s.cost), _remark(s)) for s in here]
        printer.table(["method", "error", "95%", "average bill", ""], rows)
    printer.line()


def _remark(summary: Summary) -> str:
    if not summary.is_within:
        return "above the budget"
    return "least error" if summary.is_best else ""


def _write(
    output: Path | None, outcomes: list[Outcome], summaries: list[Summary], free_error: float, table: TrainingData
) -> None:
    from frugalforest.cli.pictures import save_picture, save_rows

    if output is None:
        return
    if output.suffix.lower() == ".csv":
        columns = ["method", "budget", "split", "average_bill", "error"]
        save_rows(output, columns, [(o.method, o.budget, o.split, o.cost, o.error) for o in outcomes])
        return
    from frugalforest.plotting.methods import draw_methods

    save_picture(output, lambda ax: draw_methods(summaries, free_error=free_error, total_cost=table.costs.total, ax=ax))


def _write_report(
    path: Path,
    table: TrainingData,
    summaries: list[Summary],
    free_error: float,
    settings: Settings,
    splits: int,
    repeats: int,
) -> None:
    from frugalforest.report import compare_page

    facts: dict[str, Any] = {
        "Table": f"{table.source.name}: {len(table):,} rows, {table.costs.n_features} features",
        "Target": f"{table.target}: {shortened(table.classes.tolist(), 10)}",
        "Prices": f"{money(table.costs.total)} for everything",
        "Splits": f"{splits}-fold cross-validation, {repeats} times; choices are made inside the training rows",
        "Trees, seed": f"at most {settings.n_trees}, seed {settings.seed}",
        "Command": " ".join(["frugalforest", *sys.argv[1:]]),
    }
    page = compare_page(
        summaries,
        title=f"Ways to know {table.target}, and what they cost",
        settings=facts,
        free_error=free_error,
        total_cost=table.costs.total,
    )
    write_text("the report", path, page)
