"""frugalforest fit: learn a model from a table and a price list."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frugalforest.cli import options
from frugalforest.cli.errors import Mistake, as_mistake
from frugalforest.cli.files import require_room, size_of, write_text, written
from frugalforest.cli.methods import AUTO, METHODS, Method, Settings, methods_of, suited_to
from frugalforest.cli.printing import Printer, counted, money, percent, shortened

if TYPE_CHECKING:
    from frugalforest.cli.choosing import Choice
    from frugalforest.cli.training import TrainingData
    from frugalforest.report.measuring import Measured

MOST_COLUMNS_SHOWN = 40
N_DEAREST = 5


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
    require_room(output, "the model")
    if report is not None:
        require_room(report, "the report")
    from frugalforest.cli.tables import TextFormat
    from frugalforest.cli.training import TableWishes, load_training_data

    wishes = TableWishes(TextFormat(separator, missing or ()), categorical or (), drop or ())
    printer = Printer()
    table = load_training_data(data, target, costs, wishes)
    _show_table(printer, table)
    learn, test = table.split(test_share, seed)
    printer.line(
        f"{len(learn):,} rows to learn from, {len(test):,} kept apart for the test (the same share of every class, "
        f"seed {seed})."
    )
    settings = Settings(table.costs, budget, trees, seed, jobs)
    chosen, choice = _choose(methods, learn, settings, time_limit)
    _show_choice(printer, choice, chosen)
    model, measured = _fit(chosen, learn, test, settings)
    _show_model(printer, measured, settings, chosen)
    with written("the model", output):
        model.save(output)
    printer.line()
    printer.line(f"Model: {output} ({size_of(output)})")
    if report is not None:
        _write_report(report, model, measured, table, learn, test, settings, chosen, choice, output)
        printer.line(f"Report: {report} ({size_of(report)})")
    printer.json(_as_json(table, learn, test, settings, chosen, choice, measured, output, report))


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


def _fit(method: Method, learn: TrainingData, test: TrainingData, settings: Settings) -> tuple[Any, Measured]:
    from frugalforest.cli.progress import progress
    from frugalforest.report.measuring import Measured

    with progress(f"fitting {method.name}") as advance:
        with as_mistake():
            model = method.fit(settings, learn.X, learn.y)
        advance(0, "measuring")
        return model, Measured.of(model, test.X, test.y)


# ---- printing


def _show_table(printer: Printer, table: TrainingData) -> None:
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


def _show_choice(printer: Printer, choice: Choice | None, chosen: Method) -> None:
    if choice is None:
        return
    printer.heading(f"Methods on validation rows ({choice.n_validation:,} of the rows to learn from)")
    rows = [
        (
            trial.method,
            percent(trial.error),
            "" if trial.cost != trial.cost else money(trial.cost),
            f"{trial.seconds:.1f}",
            note,
        )
        for trial in choice.trials
        for note in [trial.note or ("chosen" if trial.method == chosen.name else "")]
    ]
    printer.table(["method", "error", "bill", "seconds", ""], rows)
    printer.line(f"Chosen: {chosen.name}, {choice.reason}. It is fitted again on all rows to learn from.")


def _show_model(printer: Printer, measured: Measured, settings: Settings, chosen: Method) -> None:
    low, high = measured.error_interval
    printer.heading(f"{chosen.name} on {counted(len(measured.y), 'row')} it has not seen")
    total = measured.costs.total
    saved = f", {measured.cost / total:.0%} of it" if total > 0 else ""
    printer.facts(
        [
            ("error", f"{percent(measured.error)} (95% interval {percent(low)} to {percent(high)})"),
            ("error of the most frequent class", f"{percent(measured.free_error)}, for nothing"),
            (
                "average bill",
                money(measured.cost) + ("" if settings.budget is None else f", budget {money(settings.budget)}"),
            ),
            ("reading everything", f"{money(total)}; the bill is{saved[1:]}" if saved else money(total)),
        ]
    )
    dearest = [i for i in (-measured.spent).argsort()[:N_DEAREST].tolist() if measured.bought[i] > 0]
    if not dearest:
        printer.line("No feature is bought: the budget is below every tree. Give a larger one.")
        return
    printer.heading("Where the money goes")
    rows = [(measured.names[i], percent(measured.bought[i]), money(measured.spent[i])) for i in dearest]
    printer.table(["feature", "bought for", "average spent"], rows)


# ---- the other outputs


def _write_report(
    path: Path,
    model: Any,
    measured: Measured,
    table: TrainingData,
    learn: TrainingData,
    test: TrainingData,
    settings: Settings,
    chosen: Method,
    choice: Choice | None,
    output: Path,
) -> None:
    from frugalforest.cli.progress import progress
    from frugalforest.report import fit_page

    facts = {
        "Table": f"{table.source.name}: {len(table):,} rows, {len(measured.names)} features",
        "Target": f"{table.target}: {shortened(_class_shares(table), 10)}",
        "Prices": f"{money(table.costs.total)} for everything; {counted(len(table.costs.group_names), 'group')}",
        "Split": f"{len(learn):,} rows to learn from, {len(test):,} for the test",
        "Method": chosen.name + ("" if choice is None else f", chosen among {len(choice.trials)} on validation rows"),
        "Budget": "none" if settings.budget is None else money(settings.budget),
        "Trees, seed": f"at most {settings.n_trees}, seed {settings.seed}",
        "Command": " ".join(["frugalforest", *sys.argv[1:]]),
    }
    trials = () if choice is None else tuple((t.method, t.cost, t.error) for t in choice.trials if t.error == t.error)
    with progress("writing the report"):
        page = fit_page(
            model,
            measured,
            test.X,
            title=f"What it costs to know {table.target}",
            settings=facts,
            budget=settings.budget,
            method=chosen.name,
            trials=trials,
            model_file=output.name,
            seed=settings.seed,
        )
        write_text("the report", path, page)


def _as_json(
    table: TrainingData,
    learn: TrainingData,
    test: TrainingData,
    settings: Settings,
    chosen: Method,
    choice: Choice | None,
    measured: Measured,
    output: Path,
    report: Path | None,
) -> dict[str, Any]:
    spent = sorted(
        zip(measured.names, measured.bought.tolist(), measured.spent.tolist(), strict=True), key=lambda s: -s[2]
    )
    return {
        "model": str(output),
        "report": None if report is None else str(report),
        "method": chosen.name,
        "trials": [] if choice is None else [vars(trial) for trial in choice.trials],
        "reason": None if choice is None else choice.reason,
        "n_rows": len(table),
        "n_learned_from": len(learn),
        "n_test": len(test),
        "budget": settings.budget,
        "error": measured.error,
        "error_interval": measured.error_interval,
        "error_of_most_frequent_class": measured.free_error,
        "average_bill": measured.cost,
        "cost_of_everything": measured.costs.total,
        "features": [
            {"feature": name, "bought": bought, "spent": money_} for name, bought, money_ in spent if bought > 0
        ],
        "columns": [vars(fact) for fact in table.facts()],
        "seed": settings.seed,
    }
