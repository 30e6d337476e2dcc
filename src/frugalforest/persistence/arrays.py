"""Arrays as bytes, one behind the other, and a table that says what each of them is: type, shape, offset."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.persistence.errors import ModelFileError, damaged

Row = tuple[str, list[int], int]  # type, shape, offset of an array

# Booleans, whole numbers, floats, text and dates; little-endian. Nothing here holds a pointer.
_DTYPE = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<U[1-9][0-9]{0,5}|<M8\[(Y|M|W|D|h|m|s|ms|us|ns)\]")
_ALIGNMENT = 8
_MAX_DIMENSIONS = 4
_LARGEST_SIZE = 2**40  # of one dimension, also where another one is 0
_LAST_CHARACTER = 0x10FFFF
_HEAD = 64  # bytes that tell most arrays apart


class ArrayWriter:
    """Collects arrays. One that another begins with, such as the first trees of a larger forest, takes no room."""

    def __init__(self) -> None:
        self._arrays: list[NDArray[Any]] = []

    def add(self, array: NDArray[Any]) -> int:
        """Keep an array -> its number. TypeError if its type cannot be written."""
        dtype = array.dtype.newbyteorder("<")
        if not _DTYPE.fullmatch(dtype.str):
            raise TypeError(f"an array of type {array.dtype}")
        self._arrays.append(np.ascontiguousarray(array, dtype=dtype).reshape(array.shape))  # 0-d arrays stay 0-d
        return len(self._arrays) - 1

    def finish(self) -> tuple[list[Row], list[memoryview]]:
        """The table, and the bytes it describes."""
        contents = [array.reshape(-1).view(np.uint8) for array in self._arrays]
        owners = _owners(contents)
        offsets: dict[int, int] = {}
        parts: list[memoryview] = []
        end = 0
        for number in sorted(set(owners)):
            offsets[number] = end
            padding = -len(contents[number]) % _ALIGNMENT
            parts += [memoryview(contents[number]), memoryview(bytes(padding))]
            end += len(contents[number]) + padding
        table = [
            (array.dtype.str, list(array.shape), offsets[owner])
            for array, owner in zip(self._arrays, owners, strict=True)
        ]
        return table, parts


def _owners(contents: Sequence[NDArray[np.uint8]]) -> list[int]:
    """For each array of bytes the number of one that begins with it, itself if there is no other."""
    owners = list(range(len(contents)))
    longer: dict[bytes, list[int]] = {}
    for number in sorted(owners, key=lambda i: -len(contents[i])):
        content = contents[number]
        others = longer.setdefault(content[:_HEAD].tobytes(), [])
        found = (other for other in others if np.array_equal(contents[other][: len(content)], content))
        owners[number] = next(found, number)
        if owners[number] == number:
            others.append(number)
    return owners


class ArrayReader:
    """Gives out the arrays of a table as views of its bytes: read-only, and checked to be what the table says."""

    def __init__(self, table: Any, content: memoryview, max_bytes: float) -> None:
        if not isinstance(table, list):
            raise damaged("the table of arrays is not a list")
        self._table = table
        self._content = content
        self._room = max_bytes  # each array counts, also if it shares its bytes: so much has to be looked at

    def array(self, number: Any) -> NDArray[Any]:
        """The array of this number."""
        if type(number) is not int or not 0 <= number < len(self._table):
            raise damaged(f"there is no array {number!r:.20}")
        dtype, shape, offset = _check_row(self._table[number])
        size = math.prod(shape)
        if offset + size * dtype.itemsize > len(self._content):
            raise damaged(f"array {number} lies beyond the end")
        self._room -= size * dtype.itemsize
        if self._room < 0:
            raise ModelFileError(
                "its arrays are unusually large for a file of this size. If you trust it, give load a larger max_bytes."
            )
        array = np.frombuffer(self._content, dtype, size, offset) if size else np.zeros(0, dtype)
        _check_content(array, number)
        array = array.astype(dtype.newbyteorder("="), copy=False).reshape(shape)
        array.flags.writeable = False
        return array


def _check_row(row: Any) -> tuple[np.dtype[Any], list[int], int]:
    if not isinstance(row, list) or len(row) != 3:
        raise damaged("the table of arrays has a row that is not [type, shape, offset]")
    dtype, shape, offset = row
    if not isinstance(dtype, str) or not _DTYPE.fullmatch(dtype):
        raise damaged(f"an array has the type {dtype!r:.20}")
    if not isinstance(shape, list) or len(shape) > _MAX_DIMENSIONS or not all(map(is_size, shape)):
        raise damaged(f"an array has the shape {shape!r:.40}")
    if not is_size(offset) or offset % _ALIGNMENT:
        raise damaged(f"an array has the offset {offset!r:.20}")
    return np.dtype(dtype), shape, offset


def is_size(number: Any) -> bool:
    """Whether a decoded number can be the length of something."""
    return type(number) is int and 0 <= number <= _LARGEST_SIZE


def _check_content(array: NDArray[Any], number: int) -> None:
    """Not every byte is a boolean, nor any four bytes a character."""
    if array.dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
        raise damaged(f"array {number} holds something else than true and false")
    if array.dtype.kind == "U" and array.view("<u4").max(initial=0) > _LAST_CHARACTER:
        raise damaged(f"array {number} holds something else than text")
