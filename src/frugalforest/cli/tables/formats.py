"""Which format a file has, by its name, and what separates the columns of a text file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from frugalforest.cli.errors import Mistake

Kind = Literal["text", "parquet", "feather"]

KINDS: dict[str, Kind] = {
    ".csv": "text",
    ".tsv": "text",
    ".tab": "text",
    ".txt": "text",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
}
COMPRESSED = (".gz", ".bz2", ".zst")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


@dataclass(frozen=True)
class TextFormat:
    """How text becomes a table."""

    separator: str | None = None  # None: guessed from the first line
    missing: Sequence[str] = ()  # texts that mean missing, besides the usual ones


def format_of(path: Path) -> Kind:
    """The format, from the name of the file."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    kind = KINDS.get(suffixes[-1]) if suffixes else None
    if kind is None or (kind != "text" and path.suffix.lower() in COMPRESSED):
        raise Mistake(
            f"{path.name}: the end of the name does not say what it is. Tables are {', '.join(KINDS)}; "
            f"text may also end in {', '.join(COMPRESSED)}."
        )
    return kind


def default_separator(path: Path) -> str:
    """What a file of this name is written with."""
    name = path.name.lower()
    return "\t" if ".tsv" in name or ".tab" in name else ","


def separator_of(path: Path, first_line: str, wanted: str | None) -> str:
    """The separator of a text file: the one wanted, which must be there, or the most frequent of the usual ones."""
    counts = Counter({separator: _outside_quotes(first_line).count(separator) for separator in SEPARATORS})
    likely, n = counts.most_common(1)[0]
    if wanted is not None:
        if len(wanted.encode()) != 1:
            raise Mistake(
                f"--separator is {wanted!r}; give one character. For a tab, in most shells: --separator $'\\t'."
            )
        if wanted not in first_line and n > 0:
            raise Mistake(
                f"{path} has one column only if split at {wanted!r}: {first_line[:60]!r}. Its columns seem to be "
                f"separated by {SEPARATORS[likely]}; leave --separator out."
            )
        return wanted
    return likely if n > 0 else default_separator(path)


def single_column(path: Path, name: str) -> Mistake:
    """The mistake of a table that should have had several columns."""
    hint = " Give --separator ' ' if it is a space." if " " in name.strip() else ""
    return Mistake(
        f"{path} has a single column, {name[:60]!r}, so there is nothing to predict from. "
        f"Columns are separated by {', '.join(SEPARATORS.values())}; another character goes with --separator.{hint}"
    )


def _outside_quotes(line: str) -> str:
    return "".join(line.split('"')[::2])
