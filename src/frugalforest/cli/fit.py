"""frugalforest fit: learn a model from a table and a price list."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from frugalforest.cli import options
from frugalforest.cli.errors import Mistake, as_mistake
from frugalforest.cli.files import require_room, size_of, write_text, written
from frugalforest.cli.methods import AUTO, METHODS, Method, Settings, methods_of, suited_to
from frugalforest.cli.printing import Printer

if TYPE_CHECKING:
    from frugalforest.cli.choosing import Choice
    from frugalforest.cli.fitted import Fitted
    from frugalforest.cli.training import TrainingData


def fit(
    data: options.Data,
    target: options.Target,
    costs: options.Costs,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes.")] = Path(
        "model.ff"
    ),
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget", "-b", metavar="AMOUNT", help="What a prediction may cost on average; no limit if not given."
        ),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", "-m", metavar="NAME", help="auto, or one of the methods above.")
    ] = AUTO,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a report, one page of HTML.")] = None,
    test_share: Annotated[
        float,
        typer.Option(min=0.01, max=0.9, metavar="SHARE", help="Share of the rows kept apart to measure the model."),
    ] = 0.25,
    time_limit: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Seconds that `auto` may take to try methods.")
    ] = 60.0,
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
    """Learn a model from a table and a price list.

    Three quarters of the rows are learned from; the others measure the model, once, at the end. The model that is
    written is the one that was measured.

    [b]Examples[/b]

    $ frugalforest fit heart.csv --target disease --costs prices.csv
    $ frugalforest fit heart.csv -t disease -c prices.csv --budget 50 -o heart.ff
    $ frugalforest fit heart.csv -t disease -c prices.csv --report heart.html
    $ frugalforest fit heart.parquet -t disease -c prices.csv -m panel --drop id
    """
    check_budget(budget)
    methods = list(METHODS.values()) if method == AUTO else methods_of([method])
    for path, what in ((output, "the model"), (report, "the report")):
        if path is not None:
            require_room(path, what)
    from frugalforest.cli.fitted import as_json as answer_as_json
    from frugalforest.cli.fitted import show_choice, show_model, show_split, show_table
    from frugalforest.cli.training import TableWishes, load_training_data

    printer = Printer()
    table = load_training_data(data, target, costs, TableWishes.of(separator, missing, categorical, drop))
    show_table(printer, table)
    learn, test = table.split(test_share, seed)
    show_split(printer, learn, test, seed)
    settings = Settings(table.costs, budget, trees, seed, jobs)
    chosen, choice = _choose(methods, learn, settings, time_limit)
    show_choice(printer, choice)
    fitted = _fit(chosen, choice, table, learn, test, settings)
    show_model(printer, fitted)
    printer.line()
    _write(printer, fitted, output, report)
    printer.json(answer_as_json(fitted, output, report))


def check_budget(budget: float | None) -> None:
    """Refuse budgets that buy nothing."""
    if budget is not None and not 0 < budget < float("inf"):
        raise Mistake(
            f"--budget is {budget:g}; give an amount above 0, or leave it out for no limit. For nothing, the answer is "
            "always the most frequent class, and needs no model."
        )


def _choose(
    methods: list[Method], learn: TrainingData, settings: Settings, time_limit: float
) -> tuple[Method, Choice | None]:
    if len(methods) == 1:
        return methods[0], None
    from frugalforest.cli.choosing import choose
    from frugalforest.cli.progress import progress

    methods = suited_to(methods, has_text=bool(learn.text_columns))
    with progress("trying methods", len(methods)) as advance, as_mistake():
        choice = choose(methods, learn, settings, time_limit, advance)
    return choice.method, choice


def _fit(
    method: Method,
    choice: Choice | None,
    table: TrainingData,
    learn: TrainingData,
    test: TrainingData,
    settings: Settings,
) -> Fitted:
    """Fit on all rows to learn from, and measure on the others."""
    from frugalforest.cli.fitted import Fitted
    from frugalforest.cli.progress import progress
    from frugalforest.report.measuring import Measured

    with progress(f"fitting {method.name}") as advance:
        with as_mistake():
            model = method.fit(settings, learn.X, learn.y)
        advance(0, "measuring")
        return Fitted(table, learn, test, settings, method, choice, model, Measured.of(model, test.X, test.y))


def _write(printer: Printer, fitted: Fitted, output: Path, report: Path | None) -> None:
    """The model first: a report that fails does not take it away."""
    from frugalforest.cli.fitted import report_page
    from frugalforest.cli.progress import progress

    with written("the model", output):
        fitted.model.save(output)
    printer.line(f"Model: {output} ({size_of(output)})")
    if report is not None:
        with progress("writing the report"):
            write_text("the report", report, report_page(fitted, output.name))
        printer.line(f"Report: {report} ({size_of(report)})")
