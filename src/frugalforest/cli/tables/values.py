"""Values of columns as texts and as numbers."""

from __future__ import annotations

from typing import Any


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
