"""Fingerprints: short texts that tell models apart, the same before and after a model is saved and loaded.

Only what a model was given and has learned counts, by value. What it keeps to be quicker the next time does not: cached
properties come and go with use, layouts of memory and identities of objects with pickling.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, fields, is_dataclass
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

LENGTH = 32  # hexadecimal digits
PLAIN = (Number, str, bytes, bytearray, datetime.date, datetime.time, datetime.timedelta)  # said in full by their repr
WITHOUT_EFFECT = {"n_jobs", "verbose", "_sklearn_version"}  # attributes of estimators that change no answer


def fingerprint_of(*parts: Any) -> str:
    """A short text that tells these parts from others: numbers, text, arrays, dataclasses, estimators, lists of them.

    1, 1.0, "1" and True are different; a number of numpy is the number of Python.
    """
    digest = hashlib.sha256()
    for piece in _pieces(parts, ()):
        digest.update(len(piece).to_bytes(8, "little"))  # so that no two lists of pieces run into the same bytes
        digest.update(piece)
    return digest.hexdigest()[:LENGTH]


def _pieces(value: Any, above: tuple[int, ...]) -> Iterator[bytes | memoryview]:
    """A value as bytes, piece by piece; above: the objects that hold it, since objects may hold each other."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, PLAIN):
        yield repr(value).encode("utf-8", "surrogatepass")
    elif isinstance(value, np.ndarray):
        yield from _pieces_of_array(value, above)
    elif isinstance(value, Mapping | AbstractSet | list | tuple):
        yield from _pieces_of_many(value, above)
    elif id(value) not in above:
        yield from _pieces_of_object(value, (*above, id(value)))


def _pieces_of_array(array: NDArray[Any], above: tuple[int, ...]) -> Iterator[bytes | memoryview]:
    is_objects = array.dtype.kind in "OUT"  # text is text, however it is stored
    yield repr((array.shape, "O" if is_objects else array.dtype.kind)).encode()
    if array.dtype.names is not None:  # bytes between the fields of a record are whatever they are
        for name in array.dtype.names:
            yield from _pieces_of_array(array[name], above)
    elif is_objects:
        yield from _pieces(array.tolist(), above)
    else:
        native = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
        yield memoryview(native.reshape(-1).view(np.uint8))


def _pieces_of_many(
    values: Mapping[Any, Any] | AbstractSet[Any] | list[Any] | tuple[Any, ...], above: tuple[int, ...]
) -> Iterator[bytes | memoryview]:
    if isinstance(values, Mapping):
        marked = sorted((fingerprint_of(key), value) for key, value in values.items())
        yield b"mapping"
        for key, value in marked:
            yield key.encode()
            yield from _pieces(value, above)
    elif isinstance(values, AbstractSet):
        yield from (b"set", *sorted(fingerprint_of(value).encode() for value in values))
    else:
        yield repr(("list", len(values))).encode()
        for value in values:
            yield from _pieces(value, above)


def _pieces_of_object(value: Any, above: tuple[int, ...]) -> Iterator[bytes | memoryview]:
    yield getattr(value, "__qualname__", type(value).__qualname__).encode()  # of functions and classes their own
    for name, part in sorted(_parts(value).items()):
        yield name.encode()
        yield from _pieces(part, above)


def _parts(value: Any) -> dict[str, Any]:
    """What an object was given and has learned; nothing for functions, generators of random numbers, and the like."""
    if isinstance(value, type | np.random.RandomState | np.random.Generator):
        return {}
    if is_dataclass(value):
        # A field at its default is left out: one that is added later leaves the fingerprints of old models as they are.
        public = (f for f in fields(value) if not f.name.startswith("_"))
        return {f.name: part for f in public if not _is_default(part := getattr(value, f.name), f.default)}
    state = getattr(value, "__dict__", {})
    if _defines(type(value), "__getstate__"):  # such as boosters, which live outside of Python
        state = value.__getstate__()
    if not isinstance(state, dict):  # of search trees, with counters of how often they were asked
        return {}
    return {name: part for name, part in state.items() if isinstance(name, str) and name not in WITHOUT_EFFECT}


def _defines(kind: type, method: str) -> bool:
    return getattr(kind, method) is not getattr(object, method)


def _is_default(part: Any, default: Any) -> bool:
    return default is not MISSING and type(part) is type(default) and bool(part == default)
