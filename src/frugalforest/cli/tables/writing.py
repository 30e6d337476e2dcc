"""TableWriter: a table written chunk by chunk, whole or not at all."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from frugalforest.cli.errors import Mistake
from frugalforest.cli.files import draft_of
from frugalforest.cli.tables.formats import default_separator, format_of

if TYPE_CHECKING:
    import pyarrow as pa

STDOUT = Path("-")


def require_writable_format(path: Path) -> None:
    """Refuse names that do not say what to write."""
    if path != STDOUT:
        format_of(path)
        if path.suffix.lower() == ".zst":
            raise Mistake(f"{path.name}: text is written plain, or packed as .gz or .bz2.")


class TableWriter:
    """Writes chunks to a draft beside the file, which takes the file's place at the end; "-" writes CSV to stdout."""

    def __init__(self, path: Path, what: str) -> None:
        self._path, self._what = path, what
        self._stack = ExitStack()
        self._writer: Any = None
        self._file: Any = None

    def __enter__(self) -> Self:
        if self._path != STDOUT:
            self._file = self._stack.enter_context(draft_of(self._what, self._path))
        return self

    def __exit__(self, *error: Any) -> bool | None:
        return self._stack.__exit__(*error)

    def write(self, chunk: pa.Table) -> None:
        """Append rows; all chunks have the same columns."""
        if self._writer is None:
            self._writer = self._open(chunk.schema)
        self._writer.write_table(chunk)
        if self._path == STDOUT:
            sys.stdout.buffer.flush()

    def _open(self, schema: pa.Schema) -> Any:
        import pyarrow as pa
        from pyarrow import csv, ipc, parquet

        if self._path == STDOUT:
            sink = pa.PythonFile(_Unclosed(sys.stdout.buffer), mode="w")
            return self._stack.enter_context(csv.CSVWriter(sink, schema))
        kind = format_of(self._path)
        if kind == "parquet":
            return self._stack.enter_context(parquet.ParquetWriter(str(self._file), schema))
        packing = {".gz": "gzip", ".bz2": "bz2"}.get(self._path.suffix.lower())
        sink = self._stack.enter_context(pa.output_stream(str(self._file), compression=packing))
        if kind == "feather":
            return self._stack.enter_context(ipc.new_file(sink, schema))
        options = csv.WriteOptions(delimiter=default_separator(self._path), quoting_style="needed")
        return self._stack.enter_context(csv.CSVWriter(sink, schema, write_options=options))


class _Unclosed:
    """Stdout, which is not ours to close."""

    closed = False

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, data: Any) -> int:
        n: int = self._file.write(data)
        return n

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.flush()
