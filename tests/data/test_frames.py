"""Whatever the user hands in becomes one matrix: arrays, frames, categories; and what is said when that fails."""

import datetime as dt
import decimal
import json
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import _NotAnArray

from frugalforest.data import FeatureEncoder

nan = np.nan


def encoded(X, **how):
    return FeatureEncoder.learn(X, **how)[1]


def same(matrix, expected):
    np.testing.assert_array_equal(np.asarray(matrix, dtype=float), np.asarray(expected, dtype=float))


def frames(columns):
    """The same columns as a pandas, a polars and an Arrow frame."""
    return [pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)]


# ---- numbers are passed on as they are


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_of_numbers_is_not_copied(dtype, order):
    X = np.array(np.arange(12).reshape(4, 3), dtype=dtype, order=order)
    encoder, matrix = FeatureEncoder.learn(X)
    assert matrix.dtype == X.dtype
    assert np.shares_memory(matrix, X)
    assert np.shares_memory(encoder.encode(X), X)
    assert np.shares_memory(encoder.encode(X[::2]), X)


@pytest.mark.parametrize("dtype", [bool, np.int32, np.int64, np.float32, np.float64])
def test_a_pandas_frame_in_one_block_is_not_copied(dtype):
    X = pd.DataFrame(np.ones((4, 2), dtype=dtype), columns=["a", "b"])
    encoder, matrix = FeatureEncoder.learn(X)
    assert np.shares_memory(matrix, X.to_numpy())
    assert np.shares_memory(encoder.encode(X), X.to_numpy())


@pytest.mark.parametrize(
    ("dtype", "becomes"), [("f2", "f4"), (np.longdouble, "f8"), (object, "f8"), (">f8", "f8"), (">i4", "i4")]
)
def test_other_numbers_are_converted(dtype, becomes):
    matrix = encoded(np.array([[1, 2], [3, 4]], dtype=dtype))
    assert matrix.dtype == np.dtype(becomes)
    assert matrix.dtype.isnative
    same(matrix, [[1, 2], [3, 4]])


def test_fields_of_packed_records_are_copied_to_even_addresses():
    records = np.zeros(3, dtype=[("a", "i1"), ("x", "f8", 2)])
    records["x"] = [[1, 2], [3, 4], [5, 6]]
    assert not records["x"].flags.aligned
    matrix = encoded(records["x"])
    assert matrix.flags.aligned
    same(matrix, [[1, 2], [3, 4], [5, 6]])


@pytest.mark.parametrize("X", [[[1, 2.5], [3, 4]], _NotAnArray([[1, 2.5], [3, 4]]), np.array([[1, 2.5], [3, 4]])])
def test_array_likes_are_read(X):
    same(encoded(X), [[1, 2.5], [3, 4]])


def test_missing_values_are_nan_however_they_are_written():
    same(encoded(np.array([[None, 1], [2, pd.NA], [nan, True]], dtype=object)), [[nan, 1], [2, nan], [nan, 1]])


@pytest.mark.parametrize("X", frames({"i": [1, None], "f": [0.5, None], "b": [True, None], "none": [None, None]}))
def test_nulls_of_frames_become_nan(X):
    encoder, matrix = FeatureEncoder.learn(X)
    same(matrix, [[1, 0.5, 1, nan], [nan] * 4])
    assert encoder.feature_names == ("i", "f", "b", "none")


@pytest.mark.parametrize("dtype", ["Int8", "Int64", "UInt32", "Float32", "Float64", "boolean", "int64[pyarrow]"])
def test_nullable_pandas_types_become_nan(dtype):
    X = pd.DataFrame({"a": pd.array([1, None], dtype=dtype), "b": pd.array([1, 0], dtype=dtype)})
    same(encoded(X), [[1, 1], [nan, 0]])
    same(encoded(X[["a"]]), [[1], [nan]])


def test_a_polars_frame_with_nulls_of_one_type():
    same(encoded(pl.DataFrame({"a": [1, None], "b": [3, 4]})), [[1, 3], [nan, 4]])
    same(encoded(pl.DataFrame({"a": [True, None], "b": [True, False]})), [[1, 1], [nan, 0]])


@pytest.mark.parametrize(
    ("types", "becomes"),
    [
        ("f4 f4", "f4"),
        ("f4 i2", "f4"),
        ("f4 f8", "f8"),
        ("i8 f4", "f8"),
        ("? u1", "u1"),
        ("i4 i8", "i8"),
        ("f2 f2", "f4"),
    ],
)
def test_mixed_types_get_the_smallest_common_type(types, becomes):
    X = pd.DataFrame({name: np.ones(3, dtype=kind) for name, kind in zip("ab", types.split(), strict=True)})
    assert encoded(X).dtype == np.dtype(becomes)
    assert encoded(X).flags.f_contiguous


def test_wide_numbers_and_decimals_become_float64():
    same(encoded(pl.DataFrame({"a": pl.Series([1, None], dtype=pl.Int128), "b": [decimal.Decimal("1.5"), None]})),
         [[1, 1.5], [nan, nan]])  # fmt: skip
    same(encoded(pa.table({"b": [decimal.Decimal("1.5"), None]})), [[1.5], [nan]])
    same(encoded(pd.DataFrame({"a": [decimal.Decimal("1.5"), None]})), [[1.5], [nan]])


def test_sparse_pandas_columns_become_dense():
    same(encoded(pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.0]), "b": [1, 2]})), [[0, 1], [1, 2]])


# ---- names


def test_names_follow_scikit_learn():
    X = np.ones((2, 2))
    assert FeatureEncoder.learn(X)[0].feature_names is None
    assert FeatureEncoder.learn(pd.DataFrame(X))[0].feature_names is None
    assert FeatureEncoder.learn(pd.DataFrame(X, columns=["a", "b"]))[0].feature_names == ("a", "b")
    with pytest.raises(TypeError, match="Feature names are only supported if all input features have string names"):
        FeatureEncoder.learn(pd.DataFrame(X, columns=["a", 1]))


def test_features_are_called_by_name_or_position():
    assert FeatureEncoder.learn(pd.DataFrame({"age": [1]}))[0].feature_label(0) == "age"
    assert FeatureEncoder.learn([[1]])[0].feature_label(0) == 0


def test_columns_of_the_same_name_are_refused():
    with pytest.raises(ValueError, match="several columns of the same name"):
        FeatureEncoder.learn(pd.DataFrame(np.ones((2, 2)), columns=["a", "a"]))


@pytest.mark.parametrize("i", range(3))
def test_columns_are_found_by_name(i):
    encoder, matrix = FeatureEncoder.learn(frames({"a": [1, 2], "b": ["x", "y"]})[i])
    other = frames({"date": [dt.date(2020, 1, 1)] * 2, "b": ["x", "y"], "note": ["?", "?"], "a": [1, 2]})[i]
    same(encoder.encode(other), matrix)


def test_missing_columns_are_all_listed():
    encoder, _ = FeatureEncoder.learn(pd.DataFrame({"a": [1], "b": [2], "c": [3]}))
    with pytest.raises(ValueError, match=r"X lacks 2 of the 3 columns that Forest was fitted with: a, c\. Add them"):
        encoder.encode(pd.DataFrame({"b": [2]}), estimator_name="Forest")


def test_without_names_columns_go_by_position():
    named = pd.DataFrame({"a": [1.0], "b": [2.0]})
    same(FeatureEncoder.learn([[5, 6]])[0].encode(named), [[1, 2]])
    same(FeatureEncoder.learn(named)[0].encode(np.array([[5, 6]])), [[5, 6]])
    same(FeatureEncoder.learn(named)[0].encode(pd.DataFrame([[5, 6]])), [[5, 6]])


@pytest.mark.parametrize("X", [np.ones((2, 1)), pd.DataFrame(np.ones((2, 1))), [["a"]]])
@pytest.mark.parametrize("learned", [np.ones((2, 3)), pd.DataFrame(np.ones((2, 3)), columns=list("abc"))])
def test_another_number_of_columns_is_refused_as_in_scikit_learn(X, learned):
    encoder, _ = FeatureEncoder.learn(learned)
    with pytest.raises(ValueError, match="X has 1 features, but Forest is expecting 3 features as input"):
        encoder.encode(X, estimator_name="Forest")


# ---- categories


@pytest.mark.parametrize(
    "X",
    [
        *frames({"a": ["y", "x", None, "y"]}),
        pd.DataFrame({"a": pd.Categorical(["y", "x", None, "y"], categories=["z", "y", "x"])}),
        pd.DataFrame({"a": pd.Categorical(["y", "x", None, "y"], ordered=True)}),
        pd.DataFrame({"a": pd.Series(["y", "x", nan, "y"], dtype=object)}),
        pd.DataFrame({"a": pd.array(["y", "x", None, "y"], dtype="string[pyarrow]")}),
        pl.DataFrame({"a": pl.Series(["y", "x", None, "y"], dtype=pl.Categorical)}),
        pl.DataFrame({"a": pl.Series(["y", "x", None, "y"], dtype=pl.Enum(["z", "y", "x"]))}),
        pa.table({"a": pa.array(["y", "x", None, "y"]).dictionary_encode()}),
        pa.table({"a": pa.array(["y", "x", None, "y"], pa.large_string())}),
        np.array([["y"], ["x"], [None], ["y"]], dtype=object),
        np.array([["y"], ["x"], [pd.NA], ["y"]], dtype=object),
    ],
)
def test_text_is_categorical_and_numbered_alike_however_it_is_stored(X):
    encoder, matrix = FeatureEncoder.learn(X)
    assert encoder.categories == {0: ("x", "y")}
    assert encoder.is_categorical.tolist() == [True]
    assert encoder.n_categories.tolist() == [2]
    assert encoder.has_other.tolist() == [False]
    same(matrix, [[1], [0], [nan], [1]])
    same(encoder.encode(X), matrix)


def test_a_column_of_text_stays_categorical_when_it_is_all_missing():
    X = pl.DataFrame({"a": pl.Series([None, None], dtype=pl.String)})
    encoder, matrix = FeatureEncoder.learn(X)
    assert encoder.categories == {0: ()}
    same(matrix, [[nan], [nan]])


def test_numbers_among_text_are_categories_and_come_first():
    encoder, matrix = FeatureEncoder.learn(np.array([["b", 1], [2, 2], [1.5, 3]], dtype=object))
    assert encoder.categories == {0: (1.5, 2, "b")}
    same(matrix, [[2, 1], [1, 2], [0, 3]])


def test_text_that_looks_like_a_number_is_text():
    encoder, _ = FeatureEncoder.learn(pd.DataFrame({"a": ["3.5", "10"]}))
    assert encoder.categories == {0: ("10", "3.5")}


def test_rows_of_text_and_numbers_keep_their_numbers():
    encoder, matrix = FeatureEncoder.learn([["a", 1.5], ["b", 2]])
    assert encoder.categories == {0: ("a", "b")}
    same(matrix, [[0, 1.5], [1, 2]])


def test_an_array_of_text_is_categorical():
    same(encoded(np.array([["a", "1"], ["b", "2"]])), [[0, 0], [1, 1]])


def test_category_types_of_numbers_dates_and_intervals():
    X = pd.DataFrame({"a": pd.Categorical([30, 10, 30]), "d": pd.Categorical(pd.to_datetime(["2021", "2020", "2021"]))})
    encoder, matrix = FeatureEncoder.learn(X)
    assert encoder.categories[0] == (10, 30)
    same(matrix, [[1, 1], [0, 0], [1, 1]])
    same(encoder.encode(X), matrix)
    same(encoded(pd.DataFrame({"i": pd.cut([1, 5], [0, 2, 9])})), [[0], [1]])
    same(encoded(pa.table({"a": pa.array([30, 10, None]).dictionary_encode()})), [[1], [0], [nan]])


@pytest.mark.parametrize("how", [[1], ["b"], [False, True], np.array([False, True]), np.array([1]), ("b",)])
@pytest.mark.parametrize("i", range(3))
def test_numbers_can_be_marked_as_categorical(how, i):
    X = frames({"a": [5, 6, 7], "b": [30, 10, 30]})[i]
    encoder, matrix = FeatureEncoder.learn(X, categorical_features=how)
    assert encoder.categories == {1: (10, 30)}
    same(matrix, [[5, 1], [6, 0], [7, 1]])
    same(encoder.encode(np.array([[5.0, 30.0], [nan, nan], [1, 11]])), [[5, 1], [nan, nan], [1, nan]])


def test_marking_columns_of_an_array_copies_it_and_leaves_it_alone():
    X = np.array([[7, 1], [3, 2]], dtype=np.int8)
    encoder, matrix = FeatureEncoder.learn(X, categorical_features=[0])
    same(matrix, [[1, 1], [0, 2]])
    assert matrix.dtype == np.float32
    assert X.tolist() == [[7, 1], [3, 2]]
    same(encoder.encode(X), matrix)


@pytest.mark.parametrize("how", [None, "from_dtype", []])
def test_by_default_the_type_of_a_column_decides(how):
    encoder, _ = FeatureEncoder.learn(pd.DataFrame({"a": [1], "b": ["x"], "c": [True]}), how)
    assert encoder.is_categorical.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (["c"], "names 'c', but X has no such column: a, b"),
        ([2], "holds 2; expected column names, positions from 0 to 1"),
        ([-1], "holds -1"),
        ([0.5], "holds 0.5"),
        ([True], "has 1 entries, but X has 2 columns"),
        ("a", r'give \["a"\]'),
    ],
)
def test_marks_that_make_no_sense_are_refused(how, message):
    with pytest.raises(ValueError, match=message):
        FeatureEncoder.learn(pd.DataFrame({"a": [1], "b": [2]}), how)


def test_marks_by_name_need_names():
    with pytest.raises(ValueError, match=r"X has no column names\. Give positions"):
        FeatureEncoder.learn(np.ones((2, 2)), ["a"])


def test_up_to_255_categories_have_their_own_number():
    names = [f"{i:03}" for i in range(255)]
    encoder, matrix = FeatureEncoder.learn(pd.DataFrame({"city": names}))
    assert encoder.categories[0] == tuple(names)
    same(matrix, np.arange(255)[:, None])


def test_with_more_the_rarest_share_the_number_254():
    names = [f"{i:03}" for i in range(300)]
    X = pd.DataFrame({"city": names + names[46:]})  # the first 46 are the rarest
    message = re.escape("'city' has 300 categories, at most 255 are possible: the 254 most frequent keep their own, "
                        "the other 46 (46 of 554 values) share one.")  # fmt: skip
    with pytest.warns(UserWarning, match=message):
        encoder, matrix = FeatureEncoder.learn(X)
    assert encoder.has_other.tolist() == [True]
    assert encoder.n_categories.tolist() == [255]
    assert encoder.categories[0] == tuple(names[46:])
    same(matrix[:47, 0], [254] * 46 + [0])
    same(encoder.encode(pd.DataFrame({"city": ["unseen", "000", "299", None]})), [[254], [254], [253], [nan]])


def test_an_unseen_category_is_missing_where_there_is_no_other():
    encoder, _ = FeatureEncoder.learn(pd.DataFrame({"a": ["x", "y"]}))
    same(encoder.encode(pd.DataFrame({"a": ["z", "y"]})), [[nan], [1]])


def test_text_in_a_numeric_column_is_refused_by_name():
    encoder, _ = FeatureEncoder.learn(pd.DataFrame({"age": [1, 2], "sex": ["m", "f"]}))
    with pytest.raises(ValueError, match="'age' was numeric when fitted, but now holds text"):
        encoder.encode(pd.DataFrame({"age": [3, "unknown"], "sex": ["m", "f"]}))
    with pytest.raises(ValueError, match="such as 'm'"):
        encoder.encode(np.array([["m", 1]], dtype=object))


def test_numbers_in_a_column_of_text_are_refused_by_name():
    encoder, _ = FeatureEncoder.learn(pd.DataFrame({"zip": ["12345", "20000"]}))
    with pytest.raises(ValueError, match=r"'zip' held text when fitted \(such as '12345'\), but now holds numbers"):
        encoder.encode(pd.DataFrame({"zip": [12345]}))
    same(encoder.encode(np.array([[nan]])), [[nan]])


def test_text_in_a_column_of_numbered_categories_is_refused_by_name():
    encoder, _ = FeatureEncoder.learn(np.array([[1], [2]]), [0])
    with pytest.raises(ValueError, match="Feature 0 held numbers when fitted"):
        encoder.encode(np.array([["1"]], dtype=object))


def test_a_frame_can_be_answered_with_an_array_of_objects():
    encoder, matrix = FeatureEncoder.learn(pd.DataFrame({"age": [1, 2], "sex": ["m", "f"]}))
    same(encoder.encode(np.array([[1, "m"], [2, "f"]], dtype=object)), matrix)


def test_one_value_at_a_time():
    encoder, _ = FeatureEncoder.learn(pd.DataFrame({"age": [1, 2], "sex": ["m", "f"]}))
    assert encoder.encode_value(0, 1.5) == 1.5
    assert encoder.encode_value(0, np.int8(3)) == 3
    assert encoder.encode_value(1, "m") == 1
    assert np.isnan([encoder.encode_value(0, None), encoder.encode_value(1, pd.NA), encoder.encode_value(1, "?")]).all()
    with pytest.raises(ValueError, match="'age' was numeric"):
        encoder.encode_value(0, "old")
    with pytest.raises(ValueError, match="infinity"):
        encoder.encode_value(0, np.inf)


columns_of_anything = st.lists(
    st.none() | st.integers(-3, 3) | st.floats(allow_infinity=False) | st.text(max_size=2), min_size=1, max_size=30
)


@settings(deadline=None)
@given(columns_of_anything)
def test_naive_twin(items):
    column = np.empty((len(items), 1), dtype=object)
    column[:, 0] = items
    encoder, matrix = FeatureEncoder.learn(column)
    known = [item for item in items if item is not None and item == item]
    if any(isinstance(item, str) for item in known):
        numbers = sorted({item for item in known if not isinstance(item, str)})
        ordered = numbers + sorted({item for item in known if isinstance(item, str)})
        same(matrix[:, 0], [ordered.index(item) if item in known else nan for item in items])
    else:
        same(matrix[:, 0], [nan if item is None else item for item in items])
    same(encoder.encode(column), matrix)


# ---- what is refused


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.ones(3), ValueError, "Reshape your data"),
        ([1, 2], ValueError, "Reshape your data"),
        (3.0, ValueError, "Reshape your data"),
        (pd.Series([1.0]), ValueError, "Expected a 2-dimensional container"),
        (pl.Series([1.0]), ValueError, "Expected 2D array|2-dimensional"),
        (np.ones((2, 2, 2)), ValueError, "Found array with dim 3"),
        (np.ones((0, 3)), ValueError, r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required by Forest"),
        (np.ones((3, 0)), ValueError, r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required by Forest"),
        (pd.DataFrame(index=range(3)), ValueError, r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1"),
        (pd.DataFrame({"a": []}), ValueError, r"0 sample\(s\)"),
        (pl.DataFrame(), ValueError, r"0 sample\(s\)"),
        (np.ones((2, 2)) + 1j, ValueError, "Complex data not supported"),
        (pd.DataFrame({"a": [1j]}), ValueError, "Complex data not supported"),
        (scipy.sparse.csr_matrix(np.eye(3)), TypeError, "[Ss]parse"),
        (scipy.sparse.csr_array(np.eye(3)), TypeError, "[Ss]parse"),
        (pl.LazyFrame({"a": [1]}), TypeError, r"collect\(\)"),
        (np.array([[b"a"]]), ValueError, "bytes/strings"),
        (np.array([[{"foo": "bar"}]], dtype=object), TypeError, "argument must be .* string.* number"),
        (np.array([["a"], [{"foo": "bar"}]], dtype=object), TypeError, "Feature 0 is categorical, but holds"),
        (pd.DataFrame({"a": [10**400]}), ValueError, "Feature 'a' holds something"),
        (pd.DataFrame({"a": [dt.date(2020, 1, 1)]}), TypeError, "Feature 'a' .* not 'datetime.date'"),
        (pl.DataFrame({"a": [[1], [2]]}), TypeError, "Feature 'a' is of type List"),
        (pd.DataFrame({"a": [[1], [2]]}), ValueError, "Feature 'a' holds something"),
        (pl.DataFrame({"a": [{"b": 1}, {"b": 2}]}), TypeError, "Feature 'a' is of type Struct"),
    ],
)
def test_what_is_no_table_of_numbers_and_text_is_refused(X, error, message):
    with pytest.raises(error, match=message):
        FeatureEncoder.learn(X, estimator_name="Forest")


@pytest.mark.parametrize("i", range(3))
def test_dates_are_refused_all_at_once_with_a_way_out(i):
    X = frames({"a": [1], "day": [dt.datetime(2020, 1, 1)], "span": [dt.timedelta(1)]})[i]
    with pytest.raises(TypeError, match=r"are in: day, span\. Turn them into numbers first"):
        FeatureEncoder.learn(X)


def test_an_array_of_dates_is_refused():
    with pytest.raises(TypeError, match="are in: 0, 1"):
        FeatureEncoder.learn(np.ones((1, 2), dtype="M8[D]"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_infinity_is_refused_by_name(dtype):
    X = pd.DataFrame({"a": [nan, 1], "b": [1, np.inf], "c": [-np.inf, 1]}, dtype=dtype)
    encoder, _ = FeatureEncoder.learn(X.replace([np.inf, -np.inf], 0))
    for use in (FeatureEncoder.learn, encoder.encode):
        with pytest.raises(ValueError, match=r"Input X contains infinity .* in: b, c\."):
            use(X)
    with pytest.raises(ValueError, match=r"contains infinity .* in: 1, 2"):
        encoder.learn(X.to_numpy())


def test_a_long_double_too_large_is_infinity():
    if np.finfo(np.longdouble).max > np.finfo(float).max:
        with pytest.raises(ValueError, match="infinity"):
            FeatureEncoder.learn(np.array([[np.finfo(np.longdouble).max]]))


# ---- keeping


def test_an_encoder_can_be_pickled_and_holds_what_json_can():
    X = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": pd.Categorical([np.int64(3), None])})
    encoder, matrix = FeatureEncoder.learn(X)
    same(pickle.loads(pickle.dumps(encoder)).encode(X), matrix)
    stored = json.loads(json.dumps([encoder.n_features, encoder.feature_names, encoder.categories]))
    assert stored == [3, ["a", "b", "c"], {"1": ["x", "y"], "2": [3]}]


def test_subset_encodes_some_features_as_the_whole_does():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "c": [5.0, np.nan], "d": ["u", None]})
    encoder, matrix = FeatureEncoder.learn(frame)
    part = encoder.subset([3, 0])
    assert part.feature_names == ("d", "a")
    np.testing.assert_array_equal(part.encode(frame), matrix[:, [3, 0]])
    assert part.is_categorical.tolist() == [True, False]
