"""A table in a file, whatever the format."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from frugalforest.cli.errors import Mistake
from frugalforest.cli.files import require_file

if TYPE_CHECKING:
    import pyarrow as pa

MAX_BYTES = 8 * 2**30  # that are read as a whole: of text, unpacked, or of columns in memory

Chunk = tuple["pa.Table", float]  # rows, and the share of the file that is read by now


class TableFile(metaclass=ABCMeta):
    """One file, read as a whole to learn, or in chunks to predict. What does not fit is named by row and column."""

    has_lines = False  # whether rows are lines, which people count with the first one

    def __init__(self, path: Path) -> None:
        self.path = path
        require_file(path, "a table")

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns; each must be there once."""
        names = self._names()
        twice = [name for name, n in Counter(names).items() if n > 1]
        if twice:
            listed = ", ".join(map(repr, twice))
            raise Mistake(f"{self.path} has several columns called {listed}; rename or remove them.")
        return names

    @abstractmethod
    def _names(self) -> list[str]:
        """The names as they stand there."""

    @abstractmethod
    def read(self, as_text: Sequence[str] = ()) -> pa.Table:
        """All of it; types are those of the file, or guessed from all rows, except for columns wanted as text."""

    @abstractmethod
    def chunks(self, columns: Sequence[str], as_text: Sequence[str], as_is: Sequence[str] = ()) -> Iterator[Chunk]:
        """Rows of these columns, a few megabytes at a time: as text, as is, and the others as numbers."""


def too_large(path: Path, limit: int) -> Mistake:
    """The mistake of learning from more than memory can hold."""
    return Mistake(f"{path} has more than {limit / 2**30:.2g} GB; learn from a sample of its rows.")
