"""frugalforest reproduce: run a study of a paper, in a checkout of the project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from frugalforest.cli import options
from frugalforest.cli.errors import Mistake
from frugalforest.cli.printing import Printer


def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The study; a list of them without.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version, to see that it runs.")] = False,
    checkout: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the project lies; looked for if not given.")
    ] = None,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Run a study: the figures of a paper, measured again.

    Studies are scripts of the project, not of the installed package: run this in a checkout of it. What a study takes
    as further options, `python -m studies.NAME.run --help` says.

    [b]Examples[/b]

    $ frugalforest reproduce
    $ frugalforest reproduce thomas --quick
    """
    root = _checkout(checkout)
    names = _studies(root)
    if name is None:
        printer = Printer()
        printer.line(f"Studies in {root / 'studies'}: {', '.join(names)}")
        printer.json({"folder": str(root / "studies"), "studies": names})
        return
    if name not in names:
        raise Mistake(f"there is no study {name!r} in {root / 'studies'}; there are {', '.join(names)}.")
    command = [sys.executable, "-m", f"studies.{name}.run", *(["--quick"] if quick else [])]
    result = subprocess.run(command, cwd=root, check=False)
    raise typer.Exit(result.returncode)


def _checkout(given: Path | None) -> Path:
    """The folder that holds studies/: the one given, this one or one above it, or the one the package lies in."""
    here = Path.cwd()
    places = [given] if given is not None else [here, *here.parents, Path(__file__).resolve().parents[3]]
    for place in places:
        if (place / "studies" / "__init__.py").is_file():
            return place
    where = given or "this folder, or above it"
    raise Mistake(
        f"there are no studies in {where}. They come with the source of frugalforest, not with the installed package: "
        "go to a checkout of it, or name one by --checkout."
    )


def _studies(root: Path) -> list[str]:
    return sorted(path.parent.name for path in (root / "studies").glob("*/run.py"))
