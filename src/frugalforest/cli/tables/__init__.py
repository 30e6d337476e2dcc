"""Tables in files: CSV, TSV, Parquet, Feather, and compressed text. One reader for all of them: Apache Arrow."""

from __future__ import annotations

from pathlib import Path

from frugalforest.cli.tables.base import TableFile
from frugalforest.cli.tables.binary import BinaryTable
from frugalforest.cli.tables.formats import TextFormat, format_of
from frugalforest.cli.tables.text import TextTable
from frugalforest.cli.tables.writing import TableWriter, require_writable_format

__all__ = ["TableFile", "TableWriter", "TextFormat", "open_table", "require_writable_format"]


def open_table(path: Path, text: TextFormat) -> TableFile:
    """The table in a file, by the end of its name; text: how a text file is read."""
    return TextTable(path, text) if format_of(path) == "text" else BinaryTable(path)
