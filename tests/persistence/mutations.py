"""Model files with faults: in their bytes, or in what they say, under a checksum that fits."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

import numpy as np

# ---- bytes: the checksum does not know of them


def flip_bits(data: bytearray, random: Random) -> None:
    for _ in range(random.choice([1, 1, 1, 2, 8])):
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def edit_bytes(data: bytearray, random: Random) -> None:
    for _ in range(random.choice([1, 1, 2, 16])):
        data[random.randrange(len(data))] = random.choice([0, 1, 255, random.randrange(256)])


def truncate(data: bytearray, random: Random) -> None:
    del data[random.randrange(len(data)) :]


def remove_chunk(data: bytearray, random: Random) -> None:
    start = random.randrange(len(data))
    del data[start : start + random.choice([1, 2, 4, 64, 1000])]


def repeat_chunk(data: bytearray, random: Random) -> None:
    start = random.randrange(len(data))
    data[start:start] = data[start : start + random.choice([1, 2, 4, 64, 1000])]


def splice(data: bytearray, random: Random) -> None:
    """Copy a piece over another place."""
    source, target = random.randrange(len(data)), random.randrange(len(data))
    piece = data[source : source + random.choice([1, 4, 30, 200])]
    data[target : target + len(piece)] = piece


def insert_noise(data: bytearray, random: Random) -> None:
    start = random.randrange(len(data) + 1)
    data[start:start] = random.randbytes(random.choice([1, 2, 22, 300]))


def edit_headers(data: bytearray, random: Random) -> None:
    """Change what stands in the headers of the zip archive."""
    found = [i for i in range(len(data) - 4) if data[i : i + 2] == b"PK" and data[i + 2] in (1, 3, 5)]
    place = random.choice(found or [0]) + random.randrange(46)
    size = random.choice([1, 2, 4])
    value = random.choice([0, 1, 8, 2**31, 2**32 - 1, random.getrandbits(32)]) % 2 ** (8 * size)
    data[place : place + size] = value.to_bytes(size, "little")


OF_BYTES = [flip_bits, edit_bytes, truncate, remove_chunk, repeat_chunk, splice, insert_noise, edit_headers]


def mutate_bytes(data: bytes, random: Random) -> bytes:
    """The file with one to three faults in its bytes."""
    mutated = bytearray(data)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        if mutated:
            random.choice(OF_BYTES)(mutated, random)
    return bytes(mutated)


# ---- contents: the checksum is computed again

NUMBERS = [
    0,
    1,
    -1,
    2,
    3,
    255,
    256,
    2**16,
    2**20,
    2**31 - 1,
    2**31,
    2**40,
    2**63 - 1,
    2**63,
    2**64,
    10**30,
    0.5,
    -0.0,
    1e308,
]
VALUES = [
    None,
    True,
    False,
    "",
    "age",
    "a" * 300,
    "\ud800",
    [],
    [[]],
    {},
    {"a": 1, "b": 2},
    {"float": "nan"},
    {"float": "inf"},
    {"float": "x"},
    {"tuple": []},
    {"tuple": 3},
    {"dict": []},
    {"dict": [[1]]},
    {"set": [1, 2]},
    {"array": 10**9},
    {"object": ["Gini", {}]},
    {"object": ["Powers", {"power": 1}]},
    {"object": ["os.system", {"command": "true"}]},
    {"object": []},
    {"objects": [[2], [1, 2]]},
    {"objects": [[-1], [1, 2]]},
]
DTYPES = [
    "|b1",
    "|i1",
    "|u1",
    "<i2",
    "<i4",
    "<i8",
    "<u8",
    "<f4",
    "<f8",
    "<U1",
    "<U9",
    "<M8[D]",
    "|O",
    "<c16",
    ">i8",
    "<V8",
    "x",
]


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a JSON document."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        container = waiting.pop()
        keys = list(container) if isinstance(container, dict) else range(len(container))
        found += [(container, key) for key in keys]
        waiting += [container[key] for key in keys if isinstance(container[key], dict | list)]
    return found


def change_value(document: Any, random: Random) -> None:
    container, key = random.choice(_places(document))
    old = container[key]
    if isinstance(old, int | float) and not isinstance(old, bool) and random.random() < 0.7:
        container[key] = random.choice([old + 1, old - 1, -old, 2 * old, random.choice(NUMBERS)])
    else:
        container[key] = copy.deepcopy(random.choice(VALUES + NUMBERS))


def remove_value(document: Any, random: Random) -> None:
    container, key = random.choice(_places(document))
    del container[key]


def repeat_value(document: Any, random: Random) -> None:
    container, key = random.choice(_places(document))
    if isinstance(container, list):
        container.insert(key, copy.deepcopy(container[key]))
    else:
        container[random.choice(["other", "other_", "classes_", "__class__", "_cache"])] = copy.deepcopy(container[key])


def move_value(document: Any, random: Random) -> None:
    places = _places(document)
    (container, key), (source, source_key) = random.choice(places), random.choice(places)
    container[key] = copy.deepcopy(source[source_key])


def swap_arrays(document: Any, random: Random) -> None:
    numbers = [(container, key) for container, key in _places(document) if key in ("array", "scalar")]
    if numbers:
        container, key = random.choice(numbers)
        container[key] = random.randrange(60)


def change_table(document: Any, random: Random) -> None:
    table = document.get("arrays")
    if not isinstance(table, list) or not table:
        return
    row = random.choice(table)
    if not isinstance(row, list) or len(row) != 3:
        return
    match random.randrange(4):
        case 0:
            row[0] = random.choice(DTYPES)
        case 1:
            row[1] = random.choice([[], [0], [1], [2, 2], [-1], [2**40, 0], [10**9], [3, 0], [1] * 30])
        case 2:
            row[2] = random.choice([0, 8, 4, -8, 2**40, row[2] + 8 if isinstance(row[2], int) else 0])
        case _ if isinstance(row[1], list) and row[1]:
            sizes = [size for size in row[1] if isinstance(size, int)]
            row[1] = random.choice([row[1][::-1], [*row[1], 1], [size + random.choice([-1, 1]) for size in sizes]])


OF_DOCUMENTS = [change_value, change_value, remove_value, repeat_value, move_value, swap_arrays, change_table]


def change_elements(document: Any, arrays: bytearray, random: Random) -> None:
    """Other numbers in one of the arrays: neighbours, extremes, noise."""
    table = document.get("arrays")
    row = random.choice(table) if isinstance(table, list) and table else None
    try:
        kind, shape, offset = row
        array = np.frombuffer(arrays, np.dtype(kind), int(np.prod(shape)), offset)
    except (TypeError, ValueError, OverflowError):
        return
    if array.size == 0 or array.dtype.kind not in "biuf":
        return
    for _ in range(random.choice([1, 1, 2, 5])):
        i = random.randrange(array.size)
        with np.errstate(all="ignore"):
            value = random.choice(
                [array[i] + 1, array[i] - 1, array[random.randrange(array.size)], *NUMBERS, np.nan, np.inf]
            )
            array[i] = np.array([value], dtype=np.float64).astype(array.dtype)[0]


def mutate_contents(model: bytes, arrays: bytes, random: Random) -> tuple[bytes, bytes]:
    """model.json and arrays.bin with one to three faults in what they say."""
    changed = bytearray(arrays)
    if random.random() < 0.1:
        text = bytearray(model)
        random.choice(OF_BYTES[:-1])(text, random)
        return bytes(text), arrays
    if random.random() < 0.15:
        random.choice(OF_BYTES[:-1])(changed, random)
        return model, bytes(changed)
    document = json.loads(model)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        if random.random() < 0.4:
            change_elements(document, changed, random)
        elif _places(document):
            random.choice(OF_DOCUMENTS)(document, random)
    return json.dumps(document).encode(), bytes(changed)
