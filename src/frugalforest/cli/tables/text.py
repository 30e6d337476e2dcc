"""Tables in text files: CSV, TSV and their like, also packed."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frugalforest.cli.errors import Mistake
from frugalforest.cli.tables import base
from frugalforest.cli.tables.base import Chunk, TableFile, too_large
from frugalforest.cli.tables.formats import TextFormat, separator_of
from frugalforest.cli.tables.mistakes import explain, is_about_a_row

if TYPE_CHECKING:
    import pyarrow as pa

MAX_HEADER = 2**24  # bytes of the first line
BLOCK = 2**20  # bytes in a chunk; Arrow reads some thirty ahead
PACKINGS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


class TextTable(TableFile):
    """A file whose first line names the columns."""

    has_lines = True

    def __init__(self, path: Path, text: TextFormat) -> None:
        super().__init__(path)
        self._text = text

    # ---- the first line

    @cached_property
    def separator(self) -> str:
        """What separates the columns."""
        return separator_of(self.path, self._first_line, self._text.separator)

    @cached_property
    def _first_line(self) -> str:
        try:
            with self._open() as file:
                start = file.read(MAX_HEADER)
        except (OSError, EOFError) as error:
            raise Mistake(f"{self.path} cannot be read: {error}") from error
        if not start.strip():
            raise Mistake(f"{self.path} is empty; give a table whose first line names the columns.")
        try:
            return str(start.lstrip(b"\xef\xbb\xbf").splitlines()[0].decode())
        except UnicodeDecodeError:
            raise _not_utf8(self.path) from None

    def _names(self) -> list[str]:
        names = next(csv.reader([self._first_line], delimiter=self.separator))
        nameless = [str(place + 1) for place, name in enumerate(names) if not name.strip()]
        if nameless:
            raise Mistake(f"{self.path}: column {', '.join(nameless)} has no name in the first line; give it one.")
        return names

    # ---- reading

    def read(self, as_text: Sequence[str] = ()) -> pa.Table:
        """All of it; types are guessed from all rows, except for columns that are wanted as text."""
        import pyarrow as pa

        types = dict.fromkeys([name for name in as_text if name in self.columns], pa.string())
        if os.path.getsize(self.path) > base.MAX_BYTES:
            raise too_large(self.path, base.MAX_BYTES)
        table = self._told_by_row(lambda threads: self._read_all(types, threads))
        binary = [field.name for field in table.schema if pa.types.is_binary(field.type)]
        if binary:
            raise _not_utf8(self.path, binary)
        return table

    def chunks(self, columns: Sequence[str], as_text: Sequence[str], as_is: Sequence[str] = ()) -> Iterator[Chunk]:
        """Rows of these columns, a megabyte of text at a time."""
        import pyarrow as pa

        wanted = [*dict.fromkeys([*columns, *as_is])]
        types = {name: pa.string() if name in {*as_text, *as_is} else pa.float64() for name in wanted}
        try:
            yield from self._stream(types, use_threads=True)
        except pa.ArrowInvalid as error:
            self._told_by_row(lambda threads: _exhaust(self._stream(types, use_threads=threads)), error)

    def _read_all(self, types: Mapping[str, Any], use_threads: bool) -> pa.Table:
        from pyarrow import csv as arrow_csv

        with self._open() as file:
            limited: Any = _Limited(file, self.path) if self._packing else file
            options = arrow_csv.ReadOptions(use_threads=use_threads)
            return arrow_csv.read_csv(limited, options, self._parsing(), self._converting(types))

    def _stream(self, types: Mapping[str, Any], *, use_threads: bool) -> Iterator[Chunk]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        size = max(1, os.path.getsize(self.path))
        options = arrow_csv.ReadOptions(use_threads=use_threads, block_size=BLOCK)
        converting = self._converting(types, list(types))
        with (
            pa.OSFile(str(self.path)) as raw,
            self._unpacked(raw) as file,
            arrow_csv.open_csv(file, options, self._parsing(), converting) as reader,
        ):
            for batch in reader:
                yield pa.Table.from_batches([batch]), min(1.0, raw.tell() / size)

    def _told_by_row(self, read: Callable[[bool], Any], error: Exception | None = None) -> Any:
        """Read with all threads; if a row is at fault, once more with one, which knows where it is."""
        import pyarrow as pa

        try:
            if error is not None:
                raise error
            return read(True)
        except pa.ArrowInvalid as first:
            last: Exception = first
            if is_about_a_row(first):
                try:
                    read(False)
                except pa.ArrowInvalid as second:
                    last = second
            raise explain(self.path, last, self.columns) from first
        except (OSError, EOFError) as fault:
            raise Mistake(f"{self.path} cannot be read: {fault}") from fault

    def _parsing(self) -> Any:
        from pyarrow import csv as arrow_csv

        return arrow_csv.ParseOptions(delimiter=self.separator, newlines_in_values=True)

    def _converting(self, types: Mapping[str, Any], columns: Sequence[str] | None = None) -> Any:
        from pyarrow import csv as arrow_csv

        # Columns of "true" and "false" are texts like others: so they are the same in every chunk, and when predicting.
        return arrow_csv.ConvertOptions(
            column_types=dict(types),
            null_values=[*arrow_csv.ConvertOptions().null_values, *self._text.missing],
            strings_can_be_null=True,
            true_values=[],
            false_values=[],
            include_columns=columns,
        )

    # ---- packed files

    @property
    def _packing(self) -> str | None:
        return PACKINGS.get(self.path.suffix.lower())

    def _open(self) -> Any:
        import pyarrow as pa

        return self._unpacked(pa.OSFile(str(self.path)))

    def _unpacked(self, raw: Any) -> Any:
        import pyarrow as pa

        return raw if self._packing is None else pa.CompressedInputStream(raw, self._packing)


class _Limited(io.RawIOBase):
    """A stream that must not be longer than a limit: a small packed file can unpack to anything."""

    def __init__(self, file: Any, path: Path) -> None:
        self._file, self._path, self._n_read = file, path, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        part: bytes = self._file.read(size)
        self._n_read += len(part)
        if self._n_read > base.MAX_BYTES:
            raise too_large(self._path, base.MAX_BYTES)
        return part


def _exhaust(chunks: Iterator[Any]) -> None:
    for _ in chunks:
        pass


def _not_utf8(path: Path, columns: Sequence[str] = ()) -> Mistake:
    where = f" (column {', '.join(columns)})" if columns else ""
    return Mistake(f"{path} is not text in UTF-8{where}; save it as CSV in UTF-8, or as Parquet.")
