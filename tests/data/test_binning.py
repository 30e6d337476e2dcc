"""Binning, told from the outside: what a code means, how bins are cut, and that every matrix is read as it is."""

import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from frugalforest.data import MISSING, Bins
from frugalforest.data.binning import draw_rows, take_columns


def naive_codes(bins, matrix):
    """code = number of edges < x, 255 where missing or where the feature has no bins: one value at a time."""
    codes = np.empty(matrix.shape[::-1], dtype=np.uint8)
    for f in range(matrix.shape[1]):
        edges = bins.edges[bins.edge_offsets[f] : bins.edge_offsets[f + 1]]
        for row, x in enumerate(matrix[:, f].tolist()):
            missing = x != x or bins.n_bins[f] == 0
            codes[f, row] = MISSING if missing else sum(edge < x for edge in edges.tolist())
    return codes


def values_of(column):
    """The distinct values as the core sees them, in float64, without NaN."""
    column = column.astype(np.float64)
    return np.unique(column[~np.isnan(column)])


def check_promises(bins, matrix, max_bins):
    codes = bins.transform(matrix).codes
    np.testing.assert_array_equal(codes, naive_codes(bins, matrix))
    for f in range(matrix.shape[1]):
        column, n_bins, values = matrix[:, f].astype(np.float64), bins.n_bins[f], values_of(matrix[:, f])
        assert n_bins <= max_bins
        assert n_bins == len(values) if len(values) <= max_bins else n_bins >= 2
        present = codes[f] != MISSING
        np.testing.assert_array_equal(present, ~np.isnan(column))
        np.testing.assert_array_equal(np.unique(codes[f][present]), np.arange(n_bins))  # every edge separates values
        for code in range(n_bins):
            at_most = column[present] <= bins.threshold(f, code)
            np.testing.assert_array_equal(at_most, codes[f][present] <= code)
            inside = column[codes[f] == code]
            assert inside.min() == bins.bin_min[bins.bin_offsets[f] + code]
            assert inside.max() == bins.bin_max[bins.bin_offsets[f] + code]


def test_a_small_matrix_by_hand():
    matrix = np.array([[1.0, 5.0], [2.0, np.nan], [4.0, 5.0]])
    bins = Bins.learn(matrix)
    assert bins.n_bins.tolist() == [3, 1]
    assert bins.edges.tolist() == [1.5, 3.0]
    assert bins.edge_offsets.tolist() == [0, 2, 2]
    assert bins.bin_offsets.tolist() == [0, 3, 4]
    assert bins.bin_min.tolist() == bins.bin_max.tolist() == [1, 2, 4, 5]
    data = bins.transform(matrix)
    assert data.codes.tolist() == [[0, 1, 2], [0, MISSING, 0]]
    assert (data.n_features, data.n_rows, data.bins) == (2, 3, bins)
    assert [bins.threshold(0, code) for code in range(3)] == [1.5, 3.0, np.inf]


NUMBER_TYPES = st.sampled_from(["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"])
EXTREMES = [0.0, -0.0, 5e-324, -5e-324, 1e-323, 1e300, -1e300, np.finfo(float).max, -np.finfo(float).max, np.nan]
SMALL_EXTREMES = [0.0, -0.0, 1e-45, 3e-45, 1.0, np.nextafter(np.float32(1), np.float32(2)), 3.4e38, -3.4e38, np.nan]


@st.composite
def matrices(draw):
    dtype = np.dtype(draw(NUMBER_TYPES))
    shape = draw(st.tuples(st.integers(1, 40), st.integers(1, 4)))
    elements = None
    if dtype.kind == "f":
        any_number = st.floats(allow_infinity=False, width=8 * dtype.itemsize)
        elements = any_number | st.sampled_from(EXTREMES if dtype.itemsize == 8 else SMALL_EXTREMES).map(dtype.type)
    elif dtype.kind in "iu":
        elements = st.integers(0, 9) | hnp.from_dtype(dtype)
    matrix = draw(hnp.arrays(dtype, shape, elements=elements))
    reshape = draw(st.sampled_from(["C", "F", "every second row", "backwards", "read only", "one value repeated"]))
    if reshape == "every second row":
        return np.repeat(matrix, 2, axis=0)[::2]
    if reshape == "one value repeated":
        return np.broadcast_to(matrix[:1], (7, shape[1]))
    matrix = np.array(matrix, order="F" if reshape == "F" else "C")
    matrix.flags.writeable = reshape != "read only"
    return matrix[::-1, ::-1] if reshape == "backwards" else matrix


@settings(deadline=None, max_examples=300)
@given(matrices(), st.integers(2, 255))
@example(np.array([[1e300], [-1e300], [np.finfo(float).max], [-np.finfo(float).max]]), 2)
@example(np.array([[0.0], [5e-324], [1e-323], [-5e-324], [-0.0]]), 255)
@example(np.array([[1.0], [1.0000001]], dtype=np.float32), 255)
@example(np.array([[2**63], [2**63 + 1], [2**64 - 1]], dtype=np.uint64), 255)
def test_any_matrix_keeps_the_promises(matrix, max_bins):
    check_promises(Bins.learn(matrix, max_bins=max_bins), matrix, max_bins)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
@pytest.mark.parametrize("max_bins", [2, 16, 255])
def test_many_values_with_ties_keep_the_promises(dtype, max_bins):
    rng = np.random.default_rng(3)
    matrix = (rng.standard_normal((3000, 3)) * [1, 100, 10_000]).astype(dtype)
    if matrix.dtype.kind == "f":
        matrix[rng.random(matrix.shape) < 0.1] = np.nan
    check_promises(Bins.learn(matrix, max_bins=max_bins), matrix, max_bins)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]))
def test_neighbouring_floats_are_told_apart(bits, dtype):
    x = np.array([bits], dtype=np.uint32).view(np.float32)[0]
    if not np.isfinite(x):
        return
    x = dtype(x)
    matrix = np.array([[np.nextafter(x, dtype(-np.inf))], [x], [np.nextafter(x, dtype(np.inf))]])
    if np.isfinite(matrix).all():
        check_promises(Bins.learn(matrix), matrix, 255)


def test_a_column_that_is_mostly_zero_keeps_its_bins_for_the_rest():
    rng = np.random.default_rng(0)
    column = np.where(rng.random(100_000) < 0.8, 0.0, rng.lognormal(sigma=3, size=100_000))
    bins = Bins.learn(column[:, None])
    assert bins.n_bins[0] >= 250
    counts = np.bincount(bins.transform(column[:, None]).codes[0])
    assert counts[0] == (column == 0).sum()
    assert counts[1:].max() < 3 * counts[1:].mean()


def test_a_column_without_values_has_no_bins_and_stays_missing():
    bins = Bins.learn(np.array([[np.nan, 1.0], [np.nan, 2.0]]))
    assert bins.n_bins.tolist() == [0, 2]
    assert bins.transform(np.array([[7.0, 7.0]])).codes.tolist() == [[MISSING], [1]]


def test_a_category_is_its_own_bin():
    matrix = np.array([[2.0, 0.1], [0.0, 0.2], [np.nan, 0.3], [254.0, 0.4]])
    bins = Bins.learn(matrix, np.array([True, False]), max_bins=2)
    assert bins.n_bins.tolist() == [255, 2]
    assert bins.edge_offsets.tolist() == [0, 0, 1]
    np.testing.assert_array_equal(bins.bin_min[:255], np.arange(255))
    assert bins.transform(matrix).codes[0].tolist() == [2, 0, MISSING, 254]
    with pytest.raises(ValueError, match="categorical"):
        bins.threshold(0, 1)


@pytest.mark.parametrize("dtype", [np.float64, np.int8])
def test_the_number_of_categories_can_be_given(dtype):
    matrix = np.array([[2], [0]], dtype=dtype)
    assert Bins.learn(matrix, np.array([True])).n_bins.tolist() == [3]
    assert Bins.learn(matrix, np.array([True]), n_categories=np.array([7], np.int32)).n_bins.tolist() == [7]


def test_a_categorical_column_without_values_has_no_bins():
    matrix = np.array([[np.nan], [np.nan]])
    bins = Bins.learn(matrix, np.array([True]))
    assert bins.n_bins.tolist() == [0]
    assert bins.transform(matrix).codes.tolist() == [[MISSING, MISSING]]


@pytest.mark.parametrize("max_bins", [-1, 1, 256])
def test_max_bins_must_fit_a_byte(max_bins):
    with pytest.raises(ValueError, match=f"max_bins is {max_bins}; expected 2 to 255"):
        Bins.learn(np.ones((3, 1)), max_bins=max_bins)


def test_sample_rows_must_be_positive():
    with pytest.raises(ValueError, match="sample_rows is 0"):
        Bins.learn(np.ones((3, 1)), sample_rows=0)


def test_rows_are_drawn_once_each_in_order_and_by_seed():
    rows = draw_rows(10_000, 500, 0)
    assert len(rows) == len(np.unique(rows)) == 500
    assert (np.diff(rows) > 0).all()
    assert rows[0] >= 0
    assert rows[-1] < 10_000
    np.testing.assert_array_equal(rows, draw_rows(10_000, 500, np.random.SeedSequence(0)))
    assert not np.array_equal(rows, draw_rows(10_000, 500, 1))
    np.testing.assert_array_equal(draw_rows(5, 5, 0), np.arange(5))
    assert draw_rows(1_000_000, 3, 0).tolist() == [78538, 150050, 238149]  # the same on every machine


def test_a_sample_gives_nearly_the_bins_of_the_whole():
    matrix = np.random.default_rng(0).standard_normal((60_000, 1))
    bins = Bins.learn(matrix, sample_rows=20_000)
    counts = np.bincount(bins.transform(matrix).codes[0])
    assert bins.n_bins[0] == 255
    assert counts.min() > 0.4 * counts.mean()
    assert counts.max() < 3 * counts.mean()


@pytest.mark.parametrize("n_features", [1, 3, 130])
def test_memory_order_and_threads_change_nothing(n_features):
    matrix = np.random.default_rng(1).standard_normal((2100, n_features)).astype(np.float32)
    expected = Bins.learn(matrix, sample_rows=1500)
    codes = expected.transform(matrix).codes
    for other in [np.asfortranarray(matrix), np.repeat(matrix, 2, axis=1)[:, ::2], matrix.astype(np.float64)]:
        bins = Bins.learn(other, sample_rows=1500, n_threads=3)
        np.testing.assert_array_equal(bins.edges, expected.edges)
        np.testing.assert_array_equal(bins.bin_max, expected.bin_max)
        np.testing.assert_array_equal(bins.transform(other, n_threads=3).codes, codes)


@pytest.mark.parametrize("order", ["C", "F"])
def test_taking_columns_leaves_the_matrix_alone(order):
    matrix = np.array(np.random.default_rng(0).integers(0, 100, (1300, 5)), order=order)
    rows = np.flatnonzero(np.arange(1300) % 2)
    columns = take_columns(matrix, rows)
    np.testing.assert_array_equal(columns, matrix[rows].T)
    assert columns.flags.c_contiguous
    assert not np.shares_memory(columns, matrix)


def test_learning_does_not_change_the_matrix():
    matrix = np.array([[3.0], [1.0], [2.0]])
    Bins.learn(matrix)
    assert matrix.ravel().tolist() == [3, 1, 2]


def test_bins_can_be_pickled():
    matrix = np.random.default_rng(1).standard_normal((50, 3))
    bins = Bins.learn(matrix)
    again = pickle.loads(pickle.dumps(bins))
    np.testing.assert_array_equal(again.transform(matrix).codes, bins.transform(matrix).codes)
