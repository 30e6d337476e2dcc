"""Tables in files: CSV, TSV, Parquet, Feather, and compressed text. One reader for all of them: Apache Arrow."""

from frugalforest.cli.tables.formats import TextFormat, format_of
from frugalforest.cli.tables.reading import TableFile
from frugalforest.cli.tables.writing import TableWriter, require_writable_format

__all__ = ["TableFile", "TableWriter", "TextFormat", "format_of", "require_writable_format"]
