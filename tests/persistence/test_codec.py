"""Values as JSON and arrays: everything comes back with its type, and what cannot is refused, both ways."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from frugalforest import FeatureCosts, Group
from frugalforest.persistence import ModelFileError, register
from frugalforest.persistence.archive import Contents
from frugalforest.persistence.arrays import ArrayReader, ArrayWriter
from frugalforest.persistence.codec import MAX_DEPTH, decode, encode
from frugalforest.persistence.hints import fits


def equal(a: Any, b: Any) -> bool:
    """Equal, and of the same types all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict):
        return equal(list(a.items()), list(b.items()))
    if isinstance(a, np.ndarray):
        if (a.dtype.newbyteorder("="), a.shape) != (b.dtype, b.shape):
            return False
        return equal(a.tolist(), b.tolist()) if a.dtype == object else a.astype(b.dtype).tobytes() == b.tobytes()
    if isinstance(a, np.generic):
        return a.tobytes() == b.tobytes()
    if isinstance(a, float):
        is_nan = a != a and b != b  # whose sign says nothing
        return is_nan or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return a == b


# ---- there and back

KEYS = st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.floats(allow_nan=False))
DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(),
    hnp.unsigned_integer_dtypes(),
    hnp.floating_dtypes(sizes=(16, 32, 64)),
    hnp.unicode_string_dtypes(max_len=5),
    hnp.datetime64_dtypes(max_period="D", min_period="s"),
)
ARRAYS = hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
SCALARS = ARRAYS.filter(lambda array: array.size).map(lambda array: array.ravel()[0])
LEAVES = st.one_of(KEYS, st.floats(), ARRAYS, SCALARS, st.frozensets(st.integers()), st.sets(st.text()))
VALUES = st.recursive(
    LEAVES,
    lambda values: st.one_of(
        st.lists(values, max_size=3), st.lists(values, max_size=3).map(tuple), st.dictionaries(KEYS, values, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES)
@example(-math.nan)
def test_values_come_back(value):
    assert equal(value, decode(encode(value)))


@given(st.lists(ARRAYS, max_size=6), st.data())
def test_arrays_that_share_memory_come_back(arrays, data):
    views = [array[: data.draw(st.integers(0, 4))] for array in arrays if array.ndim]
    turned = [array.T for array in arrays] + [array[::-1] for array in arrays if array.ndim]
    everything = arrays + views + turned
    assert equal(everything, decode(encode(everything)))


SPECIAL = [
    (2**4095, 2**4095),
    (True, True),
    (-0.0, -0.0),
    ("\ud800 \0 ä", "\ud800 \0 ä"),
    (np.array(["a", 1, 2.5, None, True, np.float32(1)], dtype=object).reshape(2, 3), None),
    (np.array([[1, 2], [3, 4]], order="F"), None),
    (np.arange(5)[::-2], None),
    (np.array(3.5), None),
    (range(3), [0, 1, 2]),
    (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    (MappingProxyType({"a": (1,)}), {"a": (1,)}),
    (np.random, None),
]


@pytest.mark.parametrize(("value", "expected"), SPECIAL, ids=range(len(SPECIAL)))
def test_special_values(value, expected):
    expected = value if isinstance(value, np.ndarray) else expected
    assert equal(expected, decode(encode(value)))


def test_random_states_go_on_where_they_were():
    random = np.random.RandomState(7)
    random.normal()  # a second one is kept for later
    back = decode(encode(random))
    assert np.array_equal(random.normal(size=2000), back.normal(size=2000))


def test_price_lists():
    for costs in (
        FeatureCosts([0.1, 2, 0]),
        FeatureCosts({"a": 1e-9, "b": 1e9}, groups={"g": Group(("b",), 0.3), "h": Group(("a", "b"), 0)}),
        FeatureCosts([1 / 3, 2**60, 5e-324]),
    ):
        back = decode(encode(costs))
        assert back == costs
        assert back.total == costs.total


# ---- what cannot be stored

NOT_STORED = {
    "complex": (1j, "of the class complex"),
    "bytes": (b"x", "of the class bytes"),
    "a function": (len, "the function len"),
    "a class": (dict, "the function dict"),
    "an object": (object(), "of the class object"),
    "a huge number": (2**5000, "of the class int"),
    "complex array": (np.zeros(2, complex), "an array of type complex128"),
    "long doubles": (np.zeros(2, np.longdouble), "an array of type float"),
    "records": (np.zeros(2, [("a", "i4")]), r"an array of type \[\('a'"),
    "bytes in an array": (np.zeros(2, "S3"), "an array of type"),
    "objects in an array": (np.array([object()]), "of the class object"),
    "a number of numpy": (np.complex64(1), "an array of type complex64"),
    "deep inside": ({"a": [1, (2, object())]}, r"dict\['a'\]\[1\]\[1\]\[1\] is of the class object"),
}


@pytest.mark.parametrize(("value", "what"), NOT_STORED.values(), ids=NOT_STORED)
def test_what_cannot_be_stored(value, what):
    with pytest.raises(TypeError, match=f"is {what}|^{what}.*, which a model file cannot hold"):
        encode(value)


def test_depth():
    value: Any = 1
    for _ in range(MAX_DEPTH):
        value = [value]
    assert equal(value, decode(encode(value)))
    with pytest.raises(TypeError, match="nested too deeply"):
        encode([value])


# ---- what cannot be read


def decoded(model: Any, arrays: Any = (), content: bytes = b"", room: float = math.inf) -> Any:
    document = {"arrays": list(arrays), "model": model}
    return decode(Contents(json.dumps(document).encode(), [memoryview(content)], room=room))


NOT_READ = {
    "two kinds": ({"tuple": [], "set": []}, "of no kind, or of two"),
    "no kind": ({}, "of no kind, or of two"),
    "another kind": ({"code": "1"}, "the kind 'code', or a newer frugalforest wrote it"),
    "another class": ({"object": ["subprocess.Popen", {}]}, "it holds a 'subprocess.Popen', or a newer"),
    "a name that is none": ({"object": [["Gini"], {}]}, "an object has no name, or no parts"),
    "parts that are none": ({"object": ["Gini", []]}, "an object has no name, or no parts"),
    "half an object": ({"object": ["Gini"]}, "something else than a list, or one of another length"),
    "a tuple that is none": ({"tuple": {}}, "something else than a list"),
    "a dict that is none": ({"dict": {"a": 1}}, "something else than a list"),
    "a dict of triples": ({"dict": [[1, 2, 3]]}, "something else than a list, or one of another length"),
    "a key twice": ({"dict": [[1, 2], [1.0, 3]]}, "a dict has a key twice"),
    "a key that is none": ({"dict": [[[], 2]]}, "unhashable"),
    "a member that is none": ({"set": [[]]}, "unhashable"),
    "a float that is none": ({"float": "1e9"}, "'1e9' is not a number"),
    "a float that is a list": ({"float": []}, r"\[\] is not a number"),
    "an array of another shape": ({"objects": [[3], [1, 2]]}, "another shape than it says"),
    "an array of a negative shape": ({"objects": [[-1, -2], [1, 2]]}, "another shape than it says"),
    "no array": ({"array": 0}, "there is no array 0"),
    "a negative array": ({"array": -1}, "there is no array -1"),
    "an array by name": ({"array": "0"}, "there is no array '0'"),
    "too deep": (json.loads("[" * 70 + "]" * 70), "it is nested too deeply"),
    "a group without cost": ({"object": ["Group", {"members": {"tuple": [1]}}]}, "a Group has no cost"),
    "a group of text": ({"object": ["Group", {"members": "ab", "cost": 1}]}, "members of a Group is a str"),
    "a group and more": ({"object": ["Group", {"cost": 1, "x": 1}]}, "a Group has a part 'x', or a newer"),
    "an impurity of its own": ({"object": ["Powers", {"power": 1}]}, "power is 1; expected an integer >= 2"),
    "costs without groups": (
        {"object": ["FeatureCosts", {"costs": [1], "feature_names": None}]},
        "there is no 'groups'",
    ),
    "negative costs": (
        {"object": ["FeatureCosts", {"costs": [-1], "feature_names": None, "groups": {"dict": []}}]},
        "feature costs must be finite and >= 0",
    ),
    "costs and more": (
        {"object": ["FeatureCosts", {"costs": [1], "feature_names": None, "groups": {"dict": []}, "run": 1}]},
        "unexpected keyword argument 'run'",
    ),
}


@pytest.mark.parametrize(("model", "what"), NOT_READ.values(), ids=NOT_READ)
def test_what_cannot_be_read(model, what):
    with pytest.raises(ModelFileError, match=f"it is damaged: .*{what}.* Get another copy"):
        decoded(model)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"", "model.json is not JSON"),
        (b"{", "model.json is not JSON"),
        (b'{"arrays": [], "model": NaN}', "NaN is not a number"),
        (b'{"arrays": [], "model": -Infinity}', "-Infinity is not a number"),
        (b'{"arrays": [], "model": 1, "model": 2}', "a name comes twice"),
        (b'{"arrays": [], "model": "\xc3\xa4"}', "model.json is not JSON"),
        (b'{"arrays": [], "model": ' + b"9" * 5000 + b"}", "model.json is not JSON"),
        (b"[" * 10**5, "model.json is not JSON"),
        (b'{"model": 1}', "model.json does not hold arrays and a model"),
        (b'{"arrays": [], "model": 1, "code": 2}', "model.json does not hold arrays and a model"),
        (b"[]", "model.json does not hold arrays and a model"),
        (b'{"arrays": {}, "model": 1}', "the table of arrays is not a list"),
    ],
)
def test_what_is_not_our_json(text, what):
    with pytest.raises(ModelFileError, match=what):
        decode(Contents(text, [memoryview(b"")]))


NO_ARRAYS = [
    ([], "not .type, shape, offset"),
    (3, "not .type, shape, offset"),
    (["|O", [2], 0], "the type '|O'"),
    ([">i4", [2], 0], "the type '>i4'"),
    (["<c16", [1], 0], "the type '<c16'"),
    (["<V8", [1], 0], "the type '<V8'"),
    (["<U0", [1], 0], "the type '<U0'"),
    (["<U9999999", [1], 0], "the type '<U9999999'"),
    (["|b1,|O", [1], 0], "the type"),
    ([None, [1], 0], "the type None"),
    (["<i4", 2, 0], "the shape 2"),
    (["<i4", [-1], 0], r"the shape \[-1\]"),
    (["<i4", [True], 0], r"the shape \[True\]"),
    (["<i4", [2.0], 0], r"the shape \[2.0\]"),
    (["<i4", [2**41, 0], 0], "the shape"),
    (["<i4", [1] * 5, 0], "the shape"),
    (["<i4", [1], -8], "the offset -8"),
    (["<i4", [1], 4], "the offset 4"),
    (["<i4", [1], True], "the offset True"),
    (["<i4", [17], 0], "lies beyond the end"),
    (["<i4", [2**40, 2**40], 0], "lies beyond the end"),
    (["<i4", [1], 64], "lies beyond the end"),
    (["|b1", [64], 0], "something else than true and false"),
    (["<U4", [2], 32], "something else than text"),
]


@pytest.mark.parametrize(("row", "what"), NO_ARRAYS)
def test_arrays_that_are_none(row, what):
    content = bytes(range(32)) + b"\xff" * 32
    with pytest.raises(ModelFileError, match=what):
        decoded({"array": 0}, [row], content)


def test_arrays_that_are_as_large_as_can_be():
    content = bytes(range(64))
    assert decoded({"array": 0}, [["<i4", [8], 32]], content).tolist() == np.frombuffer(content, "<i4")[8:].tolist()
    assert decoded({"array": 0}, [["<f8", [0, 2**40], 64]], content).shape == (0, 2**40)
    assert decoded({"scalar": 0}, [["|u1", [], 8]], content) == 8
    with pytest.raises(ModelFileError, match="a number is an array"):
        decoded({"scalar": 0}, [["|u1", [1], 8]], content)
    with pytest.raises(ModelFileError, match="its arrays are unusually large"):
        decoded([{"array": 0}, {"array": 0}], [["<i4", [16], 0]], content, room=100)


def test_numbers_that_hash_alike_are_limited():
    alike = [i * (2**61 - 1) for i in range(1, 10_002)]
    assert len({hash(number) for number in alike}) == 1
    for model in ({"set": alike}, {"dict": [[number, 0] for number in alike]}):
        with pytest.raises(ModelFileError, match="too many keys or categories that are neither text nor small"):
            decoded(model)
    assert len(decoded({"set": list(range(20_000))})) == 20_000


def test_random_states_that_are_none():
    writer = ArrayWriter()
    writer.add(np.random.RandomState(0).get_state()[1])
    table, parts = writer.finish()
    content = b"".join(parts)

    def state(arrays=table, content=content, **changes):
        parts = {"key": {"array": 0}, "pos": 3, "has_gauss": 0, "gauss": 0.0, **changes}
        return decoded({"object": ["RandomState", parts]}, arrays, content)

    assert 0 <= state().random_sample() < 1
    assert 0 <= state(pos=624).random_sample() < 1
    for wrong in ({"pos": 625}, {"pos": -1}, {"pos": 10**9}, {"pos": 1.0}, {"pos": True}, {"key": [1] * 624}):
        with pytest.raises(ModelFileError, match="a random state that is none"):
            state(**wrong)
    for arrays in ([["<u4", [623], 0]], [["<i4", [624], 0]], [["<u4", [312, 2], 0]]):
        with pytest.raises(ModelFileError, match="a random state that is none"):
            state(arrays)
    with pytest.raises(ModelFileError, match="a random state that is none"):
        state(content=bytes(624 * 4))


# ---- sharing


def test_an_array_that_another_begins_with_takes_no_room():
    whole = np.random.default_rng(0).normal(size=(50, 3))
    writer = ArrayWriter()
    for array in (whole[:20], whole, whole[:49].copy(), whole + 1, whole[1:]):
        writer.add(array)
    table, parts = writer.finish()
    assert sum(map(len, parts)) == whole.nbytes * 2 + whole[1:].nbytes
    assert table[0][2] == table[1][2] == table[2][2]
    reader = ArrayReader([list(row) for row in table], memoryview(b"".join(parts)), math.inf)
    assert np.shares_memory(reader.array(0), reader.array(1))
    assert np.array_equal(reader.array(2), whole[:49])


# ---- registering


@dataclass(frozen=True)
class Point:
    x: int
    label: Literal["a", "b"] | None = None
    _hidden: int = 0


def test_a_class_is_registered_in_one_line_and_once():
    register(Point, name="point on a map")
    assert decode(encode(Point(3, "b", _hidden=5))) == Point(3, "b")
    assert b"point on a map" in encode(Point(3)).model
    assert decoded({"object": ["point on a map", {"x": 4}]}) == Point(4)  # from a file without labels
    with pytest.raises(ModelFileError, match="label of a Point is a str"):
        decoded({"object": ["point on a map", {"x": 4, "label": "c"}]})
    with pytest.raises(ModelFileError, match="part '_hidden'"):
        decoded({"object": ["point on a map", {"x": 4, "_hidden": 1}]})
    with pytest.raises(ValueError, match="Point is registered already"):
        register(Point, name="another point")
    with pytest.raises(ValueError, match="the name 'Gini' is taken"):
        register(type("Gini", (), {}))
    with pytest.raises(TypeError, match="neither a dataclass nor an estimator; give a way to store it"):
        register(type("Odd", (), {}))


class Later(BaseEstimator):
    known_: int

    def __init__(self, size: int = 3, shape: str = "round") -> None:
        self.size = size
        self.shape = shape


def test_estimators_need_hints_for_what_they_learn():
    register(Later)
    model = Later(size=4)
    model.known_ = 5
    assert vars(decode(encode(model))) == {"size": 4, "shape": "round", "known_": 5}
    older = decoded({"object": ["Later", {"size": 1, "known_": 2}]})
    assert vars(older) == {"size": 1, "shape": "round", "known_": 2}
    for wrong, what in (({"known_": "x"}, "known_ of a Later is a str"), ({"other_": 1}, "a part 'other_'")):
        with pytest.raises(ModelFileError, match=what):
            decoded({"object": ["Later", wrong]})
    model.other_ = 6
    with pytest.raises(TypeError, match="Later has no type hints for other_; add them"):
        encode(model)


# ---- hints

FITTING = [
    (3, int, True),
    (np.int8(3), int, True),
    (3.0, int, False),
    ("3", int, False),
    (3, float, True),
    (np.float32(3), float, True),
    (None, float, False),
    (True, bool, True),
    (np.True_, bool, True),
    (1, bool, False),
    ("a", str, True),
    (None, None, True),
    (0, None, False),
    (None, int | None, True),
    ("a", int | None, False),
    ("a", Literal["a", "b"], True),
    ("c", Literal["a", "b"], False),
    (True, Literal[1], False),
    ((1, 2), tuple[int, ...], True),
    ((), tuple[int, ...], True),
    ([1, 2], tuple[int, ...], False),
    ((1, "a"), tuple[int, ...], False),
    ((1, "a"), tuple[int, str], True),
    ((1,), tuple[int, str], False),
    ([1], list[int], True),
    (["a"], list[int], False),
    ({1: "a"}, dict[int, str], True),
    ({"a": 1}, dict[int, str], False),
    ([], dict[int, str], False),
    (np.zeros(2), NDArray[np.float64], True),
    (np.zeros(2, np.float32), NDArray[np.float64], False),
    (np.zeros(2, "U1"), NDArray[Any], True),
    ([0.0], NDArray[np.float64], False),
    (Group((1,), 2), Group, True),
    ((1,), Group, False),
    (object(), Any, True),
]


@pytest.mark.parametrize(("value", "hint", "expected"), FITTING)
def test_hints(value, hint, expected):
    assert fits(value, hint) is expected


def test_hints_that_cannot_be_checked():
    with pytest.raises(TypeError, match=r"the type set\[int\] is not one that model files can check"):
        fits({1}, set[int])
