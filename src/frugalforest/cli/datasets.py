"""frugalforest datasets: what is there, what it costs, and as a CSV to try commands on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from frugalforest.cli import options
from frugalforest.cli.errors import Mistake
from frugalforest.cli.files import draft_of, require_room, size_of
from frugalforest.cli.printing import Printer, shortened

BUILT_IN = "breast_cancer"


def datasets(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A data set to look at.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write it as .csv, and its prices beside it as .costs.csv."
        ),
    ] = None,
    target: Annotated[
        str, typer.Option("--target", "-t", metavar="NAME", help="What the column to predict is called in it.")
    ] = "target",
    folder: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where to look; FRUGALFOREST_DATA, or the cache folder, if not given."),
    ] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Get it from OpenML if it is not in the folder; keep it there.")
    ] = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Data sets to try things on: list them, look at one, write it as CSV.

    breast_cancer comes with scikit-learn and is always there; its prices are made up. Others are files NAME.npz (and
    NAME.costs.csv) in a folder, some of which --fetch can put there.

    [b]Examples[/b]

    $ frugalforest datasets
    $ frugalforest datasets breast_cancer -o cancer.csv --target diagnosis
    $ frugalforest datasets spambase --fetch
    """
    if fetch and name is None:
        raise Mistake("--fetch gets one data set; give its name.")
    if output is not None and (name is None or output.suffix.lower() != ".csv"):
        raise Mistake("--output writes one data set as CSV; give its name, and a file name that ends in .csv.")
    printer = Printer()
    if name is None:
        _list(printer, folder)
        return
    dataset = _load(name, folder, fetch)
    facts: dict[str, Any] = {
        "name": dataset.name,
        "n_rows": dataset.X.shape[0],
        "n_features": dataset.X.shape[1],
        "features": list(dataset.feature_names or range(dataset.X.shape[1])),
        "classes": None if dataset.class_names is None else list(dataset.class_names),
        "cost_of_everything": None if dataset.feature_costs is None else dataset.feature_costs.total,
    }
    printer.line(repr(dataset))
    printer.line(f"Features: {shortened(facts['features'], 30)}")
    if output is not None:
        facts["files"] = [str(path) for path in _write(dataset, output, target)]
        for path in facts["files"]:
            printer.line(f"Wrote {path} ({size_of(Path(path))})")
        if len(facts["files"]) == 2:
            printer.line(f"Try: frugalforest fit {output} --target {target} --costs {facts['files'][1]}")
    printer.json(facts)


def _list(printer: Printer, folder: Path | None) -> None:
    from frugalforest.datasets import available, data_folder, fetchable

    place, names = data_folder(folder), available(folder)
    printer.line(f"{BUILT_IN} is always there. Looking in {place}{'' if place.is_dir() else ', which does not exist'}:")
    rows = [(name, "yes" if (place / f"{name}.costs.csv").is_file() else "") for name in names]
    if rows:
        printer.table(["name", "prices"], rows, text_columns=2)
    else:
        printer.line("nothing. Put NAME.npz there, or set FRUGALFOREST_DATA to the folder that holds some.")
    others = [name for name in fetchable() if name not in names]
    if others:
        printer.line(f"From OpenML, with --fetch: {', '.join(others)}.")
    printer.json(
        {
            "folder": str(place),
            "datasets": [BUILT_IN, *names],
            "with_prices": [BUILT_IN, *(n for n, c in rows if c)],
            "fetchable": others,
        }
    )


def _load(name: str, folder: Path | None, fetch: bool) -> Any:
    import frugalforest.datasets as sources

    if name == BUILT_IN:
        return sources.load_breast_cancer()
    try:
        return sources.fetch(name, folder) if fetch else sources.load(name, folder)
    except (OSError, ValueError) as error:
        raise Mistake(str(error)) from error


def _write(dataset: Any, output: Path, target: str) -> list[Path]:
    """The table with the column to predict, and the prices where there are some -> the files."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv

    prices = output.with_name(f"{output.stem}.costs.csv")
    for path, what in ((output, "the table"), (prices, "the price list")):
        require_room(path, what)
    names = dataset.feature_names or [f"x{i}" for i in range(dataset.X.shape[1])]
    if len({*names, target}) != len(names) + 1:
        raise Mistake(f"--target is {target!r}, which is a feature, or features have the same name; give another one.")
    columns = {name: pa.array(np.ascontiguousarray(dataset.X[:, i]), from_pandas=True) for i, name in enumerate(names)}
    labels = dataset.y if dataset.class_names is None else np.array(dataset.class_names)[dataset.y]
    with draft_of("the table", output) as draft:
        csv.write_csv(pa.table({**columns, target: labels}), draft, csv.WriteOptions(quoting_style="needed"))
    if dataset.feature_costs is None:
        return [output]
    costs = dataset.feature_costs
    if costs.feature_names is None:
        from frugalforest.costs import resolve_costs

        costs = resolve_costs(costs, len(names), names)
    with draft_of("the price list", prices) as draft:
        costs.to_csv(draft)
    return [output, prices]
