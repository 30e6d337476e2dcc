"""Values as JSON, and back.

Text, numbers, true, false, null and lists are what they are in JSON. Everything else is an object with one key, which
says what it is:

{"float": "nan"}                     also "inf" and "-inf"
{"tuple": [...]}                     also "set" and "frozenset", in a fixed order
{"dict": [[key, value], ...]}        in its own order
{"array": 3}                         array number 3 of the table, see arrays.py; "scalar" for a number of numpy
{"objects": [shape, [...]]}          an array of objects
{"object": [name, {part: value}]}    one of the registered classes, see registry.py
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from frugalforest.persistence.archive import Contents
from frugalforest.persistence.arrays import ArrayReader, ArrayWriter, is_size
from frugalforest.persistence.errors import ModelFileError, damaged
from frugalforest.persistence.keys import refuse_slow_keys
from frugalforest.persistence.registry import Parts, name_of, way_of

MAX_DEPTH = 60  # of values within values
_MAX_BITS = 4096  # of a whole number
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def encode(model: Any) -> Contents:
    """A registered object as JSON and arrays. TypeError for anything that cannot be stored."""
    encoder = _Encoder()
    value = encoder.encode(model, type(model).__name__, 0)
    table, parts = encoder.arrays.finish()
    document = {"arrays": table, "model": value}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return Contents(text.encode("ascii"), parts)


def decode(contents: Contents) -> Any:
    """The object that was encoded. ModelFileError unless every part of it is sound."""
    document = _parse(contents.model)
    if not isinstance(document, dict) or document.keys() != {"arrays", "model"}:
        raise damaged("model.json does not hold arrays and a model")
    arrays = ArrayReader(document["arrays"], contents.joined_arrays(), contents.room)
    try:
        return _Decoder(arrays).decode(document["model"], 0)
    except ModelFileError:
        raise
    except KeyError as error:
        raise damaged(f"there is no {error!s:.300}") from error
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError) as error:
        # Classes check their own parts when they are made, each in its own words; of many lines the first will do.
        first_line = str(error).partition("\n")[0]
        raise damaged(f"{first_line:.300}".rstrip(".")) from error


class _Encoder:
    def __init__(self) -> None:
        self.arrays = ArrayWriter()

    def encode(self, value: Any, where: str, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise TypeError(f"{where:.200} is nested too deeply for a model file.")
        if isinstance(value, np.generic):  # before Python's own: a np.float64 is a float, too
            return {"scalar": self._array(np.asarray(value), where)}
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, int) and value.bit_length() <= _MAX_BITS:
            return int(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"float": str(float(value))}
        if isinstance(value, np.ndarray) and value.dtype != object:
            return {"array": self._array(value, where)}
        return self._encode_composite(value, where, depth + 1)

    def _encode_composite(self, value: Any, where: str, depth: int) -> Any:
        if isinstance(value, np.ndarray):
            return {"objects": [list(value.shape), self._list(value.ravel(), where, depth)]}
        if isinstance(value, list | range):
            return self._list(value, where, depth)
        if type(value) is tuple:  # named tuples are objects
            return {"tuple": self._list(value, where, depth)}
        if isinstance(value, set | frozenset):
            ordered = sorted(value, key=lambda item: (type(item).__name__, repr(item)))
            return {type(value).__name__: self._list(ordered, where, depth)}
        if isinstance(value, Mapping):
            return {"dict": [self._list(pair, f"{where}[{pair[0]!r}]", depth + 1) for pair in value.items()]}
        if (name := name_of(type(value))) is not None:
            return {"object": [name, self._parts(way_of(name).take_apart(value), where, depth)]}
        if value is np.random:  # as a random_state it means the same as None
            return None
        if hasattr(value, "to_numpy"):  # columns of pandas and polars
            return self.encode(value.to_numpy(), where, depth)
        raise _cannot_hold(value, where)

    def _list(self, items: Iterable[Any], where: str, depth: int) -> list[Any]:
        return [self.encode(item, f"{where}[{i}]", depth) for i, item in enumerate(items)]

    def _parts(self, parts: Parts, where: str, depth: int) -> Parts:
        # In a fixed order, so that arrays get the same numbers in whatever order attributes were set; parameters first,
        # so that they are named where something in them cannot be stored.
        names = sorted(parts, key=lambda name: (name.endswith("_"), name))
        return {name: self.encode(parts[name], f"{where}.{name}", depth) for name in names}

    def _array(self, array: np.ndarray[Any, Any], where: str) -> int:
        try:
            return self.arrays.add(array)
        except TypeError:
            raise _cannot_hold(array, where) from None


def _cannot_hold(value: Any, where: str) -> TypeError:
    if isinstance(value, np.ndarray):
        what = f"an array of type {value.dtype}"
    elif callable(value) and hasattr(value, "__qualname__"):
        what = f"the function {value.__qualname__}"
    else:
        what = f"of the class {type(value).__qualname__}"
    return TypeError(
        f"{where:.200} is {what}, which a model file cannot hold: it has no code in it, only numbers, text, lists, "
        "dicts, arrays and the classes of frugalforest. Change that and fit again, or store the model with joblib."
    )


class _Decoder:
    def __init__(self, arrays: ArrayReader) -> None:
        self._arrays = arrays
        self._by_kind: dict[str, Callable[[Any, int], Any]] = {
            "float": lambda content, _: _not_finite(content),
            "tuple": lambda content, depth: tuple(self._list(content, depth)),
            "set": self._set,
            "frozenset": lambda content, depth: frozenset(self._set(content, depth)),
            "dict": self._dict,
            "array": lambda content, _: self._arrays.array(content),
            "scalar": lambda content, _: self._scalar(content),
            "objects": self._objects,
            "object": self._object,
        }

    def decode(self, value: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise damaged("it is nested too deeply")
        if isinstance(value, list):
            return self._list(value, depth + 1)
        if not isinstance(value, dict):
            return value
        if len(value) != 1:
            raise damaged("a value is of no kind, or of two")
        ((kind, content),) = value.items()
        if kind not in self._by_kind:
            raise damaged(f"a value is of the kind {kind!r:.20}, or a newer frugalforest wrote it")
        return self._by_kind[kind](content, depth + 1)

    def _list(self, items: Any, depth: int) -> list[Any]:
        return [self.decode(item, depth) for item in _as_list(items)]

    def _dict(self, pairs: Any, depth: int) -> dict[Any, Any]:
        items = [self._list(_as_list(pair, 2), depth + 1) for pair in _as_list(pairs)]
        refuse_slow_keys([key for key, _ in items])
        found: dict[Any, Any] = dict(items)
        if len(found) < len(items):
            raise damaged("a dict has a key twice")
        return found

    def _set(self, items: Any, depth: int) -> set[Any]:
        decoded = self._list(items, depth)
        refuse_slow_keys(decoded)
        return set(decoded)

    def _scalar(self, number: Any) -> Any:
        array = self._arrays.array(number)
        if array.shape != ():
            raise damaged("a number is an array")
        return array[()]

    def _objects(self, content: Any, depth: int) -> Any:
        shape, items = _as_list(content, 2)
        decoded = self._list(items, depth)
        if not all(is_size(size) for size in _as_list(shape)) or math.prod(shape) != len(decoded):
            raise damaged("an array of objects has another shape than it says")
        array = np.empty(len(decoded), dtype=object)
        for i, item in enumerate(decoded):
            array[i] = item
        return array.reshape(shape)

    def _object(self, content: Any, depth: int) -> Any:
        name, parts = _as_list(content, 2)
        if not isinstance(name, str) or not isinstance(parts, dict):
            raise damaged("an object has no name, or no parts")
        return way_of(name).put_together({part: self.decode(value, depth) for part, value in parts.items()})


def _parse(text: bytes) -> Any:
    try:
        return json.loads(text.decode("ascii"), object_pairs_hook=_distinct, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise damaged(f"model.json is not JSON ({error})") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name comes twice")
    return found


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def _as_list(items: Any, length: int | None = None) -> list[Any]:
    if not isinstance(items, list) or length not in (None, len(items)):
        raise damaged("something else than a list, or one of another length, where one is expected")
    return items


def _not_finite(text: Any) -> float:
    if not isinstance(text, str) or text not in _FLOATS:
        raise damaged(f"{text!r:.20} is not a number")
    return _FLOATS[text]
