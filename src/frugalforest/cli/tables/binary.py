"""Tables in Parquet and Feather files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from frugalforest.cli.errors import Mistake
from frugalforest.cli.tables import base
from frugalforest.cli.tables.base import Chunk, TableFile, too_large
from frugalforest.cli.tables.mistakes import text_for_number
from frugalforest.cli.tables.values import is_number, plain_text

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

CHUNK_ROWS = 2**16


class BinaryTable(TableFile):
    """A file that knows the types of its columns."""

    def _names(self) -> list[str]:
        with _arrow_errors(self.path):
            return list(self._schema.names)

    def read(self, as_text: Sequence[str] = ()) -> pa.Table:
        """All of it, in the types of the file; who wants a column as text makes it one."""
        import pyarrow as pa

        parts, n_bytes = [], 0
        with _arrow_errors(self.path):
            for part, _ in self._batches(self.columns):
                parts.append(part)
                n_bytes += part.nbytes
                if n_bytes > base.MAX_BYTES:
                    raise too_large(self.path, base.MAX_BYTES)
        return pa.concat_tables(parts) if parts else self._schema.empty_table()

    def chunks(self, columns: Sequence[str], as_text: Sequence[str], as_is: Sequence[str] = ()) -> Iterator[Chunk]:
        """Rows of these columns, some ten thousand at a time."""
        n_before = 0
        with _arrow_errors(self.path):
            for part, share in self._batches([*dict.fromkeys([*columns, *as_is])]):
                yield self._typed(part, as_text, as_is, n_before), share
                n_before += len(part)

    @property
    def _is_parquet(self) -> bool:
        return self.path.suffix.lower() in (".parquet", ".pq")

    @cached_property
    def _schema(self) -> pa.Schema:
        if self._is_parquet:
            from pyarrow import parquet

            return parquet.read_schema(self.path)
        from pyarrow import ipc

        with ipc.open_file(str(self.path)) as file:
            return file.schema

    def _batches(self, columns: list[str]) -> Iterator[Chunk]:
        return self._parquet_batches(columns) if self._is_parquet else self._feather_batches(columns)

    def _parquet_batches(self, columns: list[str]) -> Iterator[Chunk]:
        import pyarrow as pa
        from pyarrow import parquet

        with parquet.ParquetFile(self.path) as file:
            n_rows, n_read = max(1, file.metadata.num_rows), 0
            for batch in file.iter_batches(CHUNK_ROWS, columns=columns, use_threads=True):
                n_read += batch.num_rows
                yield pa.Table.from_batches([batch]), n_read / n_rows

    def _feather_batches(self, columns: list[str]) -> Iterator[Chunk]:
        import pyarrow as pa
        from pyarrow import ipc

        with pa.memory_map(str(self.path)) as source, ipc.open_file(source) as file:
            for place in range(file.num_record_batches):
                part = pa.Table.from_batches([file.get_batch(place)]).select(columns)
                for start in range(0, max(1, len(part)), CHUNK_ROWS):
                    yield part.slice(start, CHUNK_ROWS), (place + 1) / file.num_record_batches

    def _typed(self, part: pa.Table, as_text: Sequence[str], as_is: Sequence[str], n_before: int) -> pa.Table:
        """Columns in the types that are wanted."""
        import pyarrow as pa

        for place, name in enumerate(part.column_names):
            column = part.column(place)
            if name in as_text:
                part = part.set_column(place, name, plain_text(column))
            elif name not in as_is and not pa.types.is_floating(column.type):
                part = part.set_column(place, name, self._as_numbers(name, column, n_before))
        return part

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


@contextmanager
def _arrow_errors(path: Path) -> Iterator[None]:
    """What Arrow says of a broken file, as a mistake."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, EOFError) as error:
        said = str(error).splitlines()[0]
        raise Mistake(f"{path} cannot be read; is it damaged, or of another format? Arrow says: {said}") from error
