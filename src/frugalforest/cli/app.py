"""The commands, under one name."""

from __future__ import annotations

import inspect as introspection
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import frugalforest as package
from frugalforest.cli.acquire import acquire
from frugalforest.cli.compare import compare
from frugalforest.cli.curve import curve
from frugalforest.cli.datasets import datasets
from frugalforest.cli.errors import explained
from frugalforest.cli.fit import fit
from frugalforest.cli.inspect import inspect
from frugalforest.cli.methods import ABOUT
from frugalforest.cli.predict import predict
from frugalforest.cli.reproduce import reproduce
from frugalforest.cli.select import select

__all__ = ["app"]

LEARN, USE, LOOK = "Learn", "Use", "Look around"
EXIT_CODES = (
    "Exit codes: 0 all is well, 1 a fault of frugalforest, 2 a mistake in options or input, 3 a file could not be "
)
EXIT_CODES += "written, 130 interrupted."


class Commands(TyperGroup):
    """Runs a command, and explains what goes wrong."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command of this context."""
        with explained():
            return super().invoke(ctx)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"frugalforest {package.__version__}")
        raise typer.Exit


@app.callback()
def frugalforest(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Prediction when features cost something: from a table and a price list to a model, and its bill.

    [b]Start here:[/b] a table with a column to predict, and a price list (feature,cost) for the others.

    $ frugalforest fit patients.csv --target ill --costs prices.csv --budget 50
    $ frugalforest predict model.ff others.csv -o answers.csv
    $ frugalforest acquire model.ff
    """


def _help_of(command: Callable[..., None]) -> str:
    """The docstring, with lines joined to paragraphs, except examples; `fit` also lists the methods."""
    paragraphs = introspection.cleandoc(command.__doc__ or "").split("\n\n")
    joined = [part if part.startswith("$") else " ".join(part.split("\n")) for part in paragraphs]
    return "\n\n".join([*joined[:-2], *([ABOUT] if command is fit else []), *joined[-2:]])


for _panel, _commands in (
    (LEARN, (fit, curve, compare, select)),
    (USE, (predict, acquire, inspect)),
    (LOOK, (datasets, reproduce)),
):
    for _command in _commands:
        app.command(rich_help_panel=_panel, help=_help_of(_command))(_command)
