"""Options that several commands have, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from frugalforest.cli.errors import Switches

DATA_PANEL, OTHER_PANEL = "The table", "Other options"


def _switch_debug(value: bool) -> bool:
    Switches.debug = value
    return value


def _switch_json(value: bool) -> bool:
    Switches.as_json = value
    return value


Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="A table: .csv, .tsv, .parquet, .feather; text also as .gz.")
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, as `frugalforest fit` writes it.")]
Target = Annotated[str, typer.Option("--target", "-t", metavar="COL", help="The column to predict.")]
Costs = Annotated[
    Path,
    typer.Option("--costs", "-c", metavar="FILE", help="The price list: a CSV file with the columns feature,cost."),
]

Separator = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="What stands between columns of a text file; guessed if not given.",
        rich_help_panel=DATA_PANEL,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help="Text that means missing, besides nothing, NA, NaN and null. Repeat for several.",
        rich_help_panel=DATA_PANEL,
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="COL", help="A column of numbers that are names, not amounts.", rich_help_panel=DATA_PANEL),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COL", help="A column to leave out, such as an id.", rich_help_panel=DATA_PANEL),
]

Trees = Annotated[int, typer.Option(min=1, metavar="N", help="Trees per forest, at most.", rich_help_panel=OTHER_PANEL)]
Seed = Annotated[
    int,
    typer.Option(
        min=0, max=2**32 - 1, metavar="N", help="The same seed gives the same result.", rich_help_panel=OTHER_PANEL
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        metavar="N", help="Threads; -1: all processors. Results do not depend on it.", rich_help_panel=OTHER_PANEL
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", callback=_switch_json, is_eager=True, help="Print JSON, for machines.", rich_help_panel=OTHER_PANEL
    ),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        callback=_switch_debug,
        is_eager=True,
        help="Show where an error comes from.",
        rich_help_panel=OTHER_PANEL,
    ),
]
