"""frugalforest inspect: what a model asks first, what it buys, and its trees as text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from frugalforest.cli import options
from frugalforest.cli.errors import Mistake, as_mistake
from frugalforest.cli.printing import Printer, counted, money, percent, shortened


def inspect(
    model: options.Model,
    data: Annotated[
        Path | None,
        typer.Argument(metavar="[DATA]", help="Rows to count purchases on; without, the trees say how many at most."),
    ] = None,
    tree: Annotated[list[int] | None, typer.Option(min=0, metavar="N", help="Print tree N, counted from 0.")] = None,
    depth: Annotated[int, typer.Option(min=1, metavar="N", help="How deep trees are printed.")] = 6,
    separator: options.Separator = None,
    missing: options.Missing = None,
    jobs: options.Jobs = -1,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """What a model asks first, how often it buys each feature, and its trees as text.

    [b]Examples[/b]

    $ frugalforest inspect heart.ff
    $ frugalforest inspect heart.ff patients.csv
    $ frugalforest inspect heart.ff --tree 0 --depth 3
    """
    from frugalforest.cli.models import feature_names, load_model
    from frugalforest.cli.purchases import count_purchases, expected_purchases
    from frugalforest.cli.tree_text import forest_of

    classifier = load_model(model, jobs)
    names = feature_names(classifier)
    run = classifier.start()
    costs = classifier.feature_costs_
    if data is None:
        bought, source, bill = *expected_purchases(classifier), None
    else:
        from frugalforest.cli.tables import TextFormat, open_table

        with as_mistake(f"{data}: "):
            bought, n_rows, bill = count_purchases(classifier, open_table(data, TextFormat(separator, missing or ())))
        source = f"share of the {counted(n_rows, 'row')} of {data} that buy it"
    texts = [_tree_text(classifier, number, depth) for number in tree or []]
    printer = Printer()
    first, price = run.next_feature(), run.next_price
    printer.line(f"{model}: {type(classifier).__name__} for {shortened([str(c) for c in classifier.classes_], 10)}")
    facts = [
        ("asks first for", "nothing" if first is None else f"{first} ({money(price)})"),
        ("reading everything", money(costs.total)),
        (
            "features bought",
            f"{sum(share != 0 for share in bought)} of {len(names)}{', at most' if data is None else ''}",
        ),
    ]
    if bill is not None:
        facts.append(("average bill", money(bill)))
    forest = forest_of(classifier)
    if forest is not None:
        facts.append(("trees", f"{forest.n_trees}, {forest.n_leaves} leaves"))
    printer.facts([*facts, *_settings(classifier)])
    printer.heading(f"Bought ({source})")
    order = sorted(range(len(names)), key=lambda i: (-bought[i], i))
    rows = [(names[i], percent(bought[i]), money(costs.alone[i])) for i in order if bought[i] != 0]
    printer.table(["feature", "bought", "price"], rows or [("nothing", "", "")])
    for number, text in zip(tree or [], texts, strict=True):
        printer.heading(f"Tree {number}")
        printer.line(text)
    printer.json(
        {
            "class": type(classifier).__name__,
            "classes": classifier.classes_,
            "asks_first": first,
            "first_price": price,
            "cost_of_everything": costs.total,
            "average_bill": bill,
            "bought": dict(zip(names, bought, strict=True)),
            "bought_is": source,
            "trees": dict(zip(map(str, tree or []), texts, strict=True)),
        }
    )


def _settings(model: Any) -> list[tuple[str, str]]:
    """What was learned besides the trees, where the model says it."""
    known = [("budget", "budget"), ("validation_error_", "validation error"), ("validation_cost_", "validation bill")]
    found = [(what, getattr(model, name, None)) for name, what in known]
    return [(what, percent(value) if "error" in what else money(value)) for what, value in found if value is not None]


def _tree_text(model: Any, number: int, depth: int) -> str:
    from frugalforest.cli.tree_text import forest_of, tree_text

    forest = forest_of(model)
    if forest is None:
        raise Mistake(f"a {type(model).__name__} has no trees to print.")
    if number >= forest.n_trees:
        raise Mistake(f"--tree is {number}; the model has {counted(forest.n_trees, 'tree')}, counted from 0.")
    return tree_text(model, forest, number, depth)
