"""TableFile: a table in a file, read as a whole to learn from it, or in chunks to predict."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frugalforest.cli.errors import Mistake
from frugalforest.cli.files import require_file
from frugalforest.cli.tables.formats import COMPRESSED, TextFormat, format_of, separator_of
from frugalforest.cli.tables.mistakes import explain, is_about_a_row, text_for_number

if TYPE_CHECKING:
    import pyarrow as pa

MAX_BYTES = 8 * 2**30  # of text, unpacked, that is read as a whole
MAX_HEADER = 2**24  # bytes of the first line
BLOCK = 2**20  # bytes of text in a chunk; Arrow reads some thirty ahead
CHUNK_ROWS = 2**16

Chunk = tuple["pa.Table", float]  # rows, and the share of the file that is read by now


class TableFile:
    """One file. Columns may be wanted as numbers or as text; what does not fit is named by row and column."""

    def __init__(self, path: Path, text: TextFormat | None = None) -> None:
        self.path = path
        self.kind = format_of(path)
        self._text = text or TextFormat()
        require_file(path, "a table")

    # ---- what is in it

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns; each must be there once."""
        names = self._read_names()
        twice = [name for name, n in Counter(names).items() if n > 1]
        if twice:
            raise Mistake(
                f"{self.path} has several columns called {', '.join(map(repr, twice))}; rename or remove them."
            )
        return names

    @cached_property
    def separator(self) -> str:
        """What separates the columns of a text file."""
        return separator_of(self.path, self._first_line, self._text.separator)

    @cached_property
    def _first_line(self) -> str:
        with self._guarded(), self._open() as file:
            start = file.read(MAX_HEADER)
        if not start.strip():
            raise Mistake(f"{self.path} is empty; give a table whose first line names the columns.")
        try:
            return start.lstrip(b"\xef\xbb\xbf").splitlines()[0].decode()
        except UnicodeDecodeError:
            raise _not_utf8(self.path) from None

    def _read_names(self) -> list[str]:
        if self.kind != "text":
            with self._guarded():
                return list(self._schema.names)
        import csv

        names = next(csv.reader([self._first_line], delimiter=self.separator))
        nameless = [str(place + 1) for place, name in enumerate(names) if not name.strip()]
        if nameless:
            raise Mistake(f"{self.path}: column {', '.join(nameless)} has no name in the first line; give it one.")
        return names

    # ---- reading

    def read(self, as_text: Sequence[str] = ()) -> pa.Table:
        """All of it; types are guessed from all rows, except for columns that are wanted as text."""
        columns = self.columns
        if self.kind != "text":
            with self._guarded():
                return self._whole_binary()
        import pyarrow as pa

        self._refuse_too_large()
        types = dict.fromkeys([name for name in as_text if name in columns], pa.string())
        table = self._told_by_row(lambda threads: self._read_csv(types, threads))
        binary = [field.name for field in table.schema if pa.types.is_binary(field.type)]
        if binary:
            raise _not_utf8(self.path, binary)
        return table

    def chunks(self, columns: Sequence[str], as_text: Sequence[str], as_is: Sequence[str] = ()) -> Iterator[Chunk]:
        """Rows of these columns, a few megabytes at a time: as text, as is, and the others as numbers."""
        wanted = [*dict.fromkeys([*columns, *as_is])]
        if self.kind == "text":
            yield from self._text_chunks(wanted, as_text, as_is)
            return
        n_before = 0
        with self._guarded():
            for batch, share in self._binary_batches(wanted):
                yield self._typed(batch, as_text, as_is, n_before), share
                n_before += len(batch)

    # ---- text

    def _read_csv(self, types: Mapping[str, Any], use_threads: bool) -> pa.Table:
        from pyarrow import csv

        with self._open() as file:
            limited: Any = _Limited(file, self.path) if self._is_packed else file
            return csv.read_csv(
                limited, csv.ReadOptions(use_threads=use_threads), self._parsing(), self._converting(types)
            )

    def _text_chunks(self, columns: list[str], as_text: Sequence[str], as_is: Sequence[str]) -> Iterator[Chunk]:
        import pyarrow as pa

        types = {name: pa.string() if name in {*as_text, *as_is} else pa.float64() for name in columns}
        size = max(1, os.path.getsize(self.path))
        try:
            yield from self._stream(columns, types, size)
        except pa.ArrowInvalid as error:
            # Several threads do not know the number of the row; one does.
            self._told_by_row(lambda threads: _exhaust(self._stream(columns, types, size, use_threads=threads)), error)

    def _stream(
        self, columns: list[str], types: Mapping[str, Any], size: int, *, use_threads: bool = True
    ) -> Iterator[Chunk]:
        import pyarrow as pa
        from pyarrow import csv

        options = csv.ReadOptions(use_threads=use_threads, block_size=BLOCK)
        converting = self._converting(types, columns)
        with (
            pa.OSFile(str(self.path)) as raw,
            self._unpacked(raw) as file,
            csv.open_csv(file, options, self._parsing(), converting) as reader,
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
            error = first
            if is_about_a_row(first):
                try:
                    read(False)
                except pa.ArrowInvalid as second:
                    error = second
            raise explain(self.path, error, self.columns) from first
        except (OSError, EOFError) as fault:
            raise Mistake(f"{self.path} cannot be read: {fault}") from fault

    def _parsing(self) -> Any:
        from pyarrow import csv

        return csv.ParseOptions(delimiter=self.separator, newlines_in_values=True)

    def _converting(self, types: Mapping[str, Any], columns: Sequence[str] | None = None) -> Any:
        from pyarrow import csv

        missing = [*csv.ConvertOptions().null_values, *self._text.missing]
        # Columns of "true" and "false" are texts like others: so they are the same in every chunk, and when predicting.
        return csv.ConvertOptions(
            column_types=dict(types),
            null_values=missing,
            strings_can_be_null=True,
            true_values=[],
            false_values=[],
            include_columns=columns,
        )

    @property
    def _is_packed(self) -> bool:
        return self.path.suffix.lower() in COMPRESSED

    def _open(self) -> Any:
        import pyarrow as pa

        return self._unpacked(pa.OSFile(str(self.path)))

    def _unpacked(self, raw: Any) -> Any:
        import pyarrow as pa

        packing = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}.get(self.path.suffix.lower())
        return raw if packing is None else pa.CompressedInputStream(raw, packing)

    def _refuse_too_large(self) -> None:
        if os.path.getsize(self.path) > MAX_BYTES:
            raise _too_large(self.path)

    # ---- Parquet and Feather

    @cached_property
    def _schema(self) -> pa.Schema:
        if self.kind == "parquet":
            from pyarrow import parquet

            return parquet.read_schema(self.path)
        from pyarrow import ipc

        with ipc.open_file(str(self.path)) as file:
            return file.schema

    def _whole_binary(self) -> pa.Table:
        import pyarrow as pa

        batches, n_bytes = [], 0
        for batch, _ in self._binary_batches(self.columns):
            batches.append(batch)
            n_bytes += batch.nbytes
            if n_bytes > MAX_BYTES:
                raise _too_large(self.path)
        return pa.concat_tables(batches) if batches else self._schema.empty_table()

    def _binary_batches(self, columns: list[str]) -> Iterator[Chunk]:
        import pyarrow as pa

        if self.kind == "parquet":
            from pyarrow import parquet

            with parquet.ParquetFile(self.path) as file:
                n_rows, n_read = max(1, file.metadata.num_rows), 0
                for batch in file.iter_batches(CHUNK_ROWS, columns=columns, use_threads=True):
                    n_read += batch.num_rows
                    yield pa.Table.from_batches([batch]), n_read / n_rows
            return
        from pyarrow import ipc

        with pa.memory_map(str(self.path)) as source, ipc.open_file(source) as file:
            for place in range(file.num_record_batches):
                part = pa.Table.from_batches([file.get_batch(place)]).select(columns)
                for start in range(0, max(1, len(part)), CHUNK_ROWS):
                    yield part.slice(start, CHUNK_ROWS), (place + 1) / file.num_record_batches

    def _typed(self, batch: pa.Table, as_text: Sequence[str], as_is: Sequence[str], n_before: int) -> pa.Table:
        """Columns in the types that are wanted."""
        import pyarrow as pa

        for place, name in enumerate(batch.column_names):
            column = batch.column(place)
            if name in as_text:
                batch = batch.set_column(place, name, plain_text(column))
            elif name not in as_is and not pa.types.is_floating(column.type):
                batch = batch.set_column(place, name, self._as_numbers(name, column, n_before))
        return batch

    def _as_numbers(self, name: str, column: Any, n_before: int) -> Any:
        import pyarrow as pa

        try:
            return column.cast(pa.float64())
        except pa.ArrowInvalid:
            for row, value in enumerate(column.to_pylist()):
                if value is not None and not is_number(str(value)):
                    raise text_for_number(self.path, name, str(value), None, n_before + row + 1) from None
            raise
        except pa.ArrowNotImplementedError:
            raise Mistake(
                f"{self.path}: column {name!r} is of type {column.type}, where numbers are expected."
            ) from None

    def _guarded(self) -> Any:
        return _arrow_errors(self.path)


def plain_text(column: Any) -> Any:
    """A column as text: 3.0 as "3", so that whole numbers are the same category however they are stored."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = compute.if_else(compute.is_nan(column), pa.scalar(None, column.type), column)
        whole = compute.all(compute.equal(compute.floor(column), column)).as_py()
        column = column.cast(pa.int64()) if whole else column
    return column.cast(pa.string())


def is_number(text: str) -> bool:
    """Whether a text says a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


class _Limited(io.RawIOBase):
    """A stream that must not be longer than a limit: a small packed file can unpack to anything."""

    def __init__(self, file: Any, path: Path) -> None:
        self._file, self._path, self._n_read = file, path, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        part: bytes = self._file.read(size)
        self._n_read += len(part)
        if self._n_read > MAX_BYTES:
            raise _too_large(self._path)
        return part


class _arrow_errors:
    """What Arrow says of a broken file, as a mistake."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: object) -> None:
        import pyarrow as pa

        if isinstance(error, pa.ArrowException | OSError | EOFError):
            said = str(error).splitlines()[0]
            raise Mistake(
                f"{self._path} cannot be read; is it damaged, or of another format? Arrow says: {said}"
            ) from error


def _exhaust(chunks: Iterator[Any]) -> None:
    for _ in chunks:
        pass


def _not_utf8(path: Path, columns: Sequence[str] = ()) -> Mistake:
    where = f" (column {', '.join(columns)})" if columns else ""
    return Mistake(f"{path} is not text in UTF-8{where}; save it as CSV in UTF-8, or as Parquet.")


def _too_large(path: Path) -> Mistake:
    return Mistake(f"{path} has more than {MAX_BYTES / 2**30:.0f} GB; learn from a sample of its rows.")
