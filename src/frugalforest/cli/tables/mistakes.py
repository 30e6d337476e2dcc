"""Arrow's complaints about a text file, in words that name the row and the column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from frugalforest.cli.errors import Mistake

_CONVERSION = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+): invalid value '(.*)'", re.S
)
_RAGGED = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*)", re.S)


def is_about_a_row(error: Exception) -> bool:
    """Whether a single thread could tell the row."""
    return bool(_CONVERSION.search(str(error)) or _RAGGED.search(str(error)))


def explain(path: Path, error: Exception, columns: Sequence[str]) -> Mistake:
    """The mistake behind an error of Arrow's reader; columns: those of the file, in order."""
    text = str(error)
    if found := _CONVERSION.search(text):
        position, row, _, value = found.groups()
        return text_for_number(path, columns[int(position)], value, int(row) if row else None)
    if found := _RAGGED.search(text):
        row, expected, got, line = found.groups()
        where = f" in line {row}" if row else ""
        return Mistake(
            f"{path}: the first line names {expected} columns, but there are {got}{where}: {line[:80].strip()!r}. "
            "Put texts that hold the separator into quotes, or remove what is too much."
        )
    if "Empty CSV file" in text:
        return Mistake(f"{path} is empty; give a table whose first line names the columns.")
    if "straddling" in text:
        return Mistake(f"{path} has a line that is too long to be a row of a table; is a quote left open?")
    return Mistake(f"{path} cannot be read: {text}")


def text_for_number(path: Path, column: str, value: str, line: int | None, row: int | None = None) -> Mistake:
    """The mistake of a text where a number is expected; line: of the file, row: of a file without lines."""
    where = f" in line {line}" if line else f" in row {row}" if row else ""
    return Mistake(
        f"{path}: column {column!r} has the text {value[:40]!r}{where}, where a number is expected. Correct it; if it "
        f"means that the value is missing, add --missing {value[:40]!r}."
    )
