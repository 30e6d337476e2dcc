"""Precision until the first miss, against hand-worked examples and against trying every order of ties."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frugalforest.evaluation.ranking import precision_until_first_miss


def ranked(relevance: str, k: int = 5) -> float:
    """The measure of one query whose documents are already in order, 1 for relevant."""
    y = [int(digit) for digit in relevance]
    return precision_until_first_miss(y, -np.arange(len(y)), np.zeros(len(y)), k=k)


@pytest.mark.parametrize(
    ("relevance", "expected"),
    [("11111", 1), ("111110", 1), ("11110", 0.8), ("1101111", 0.4), ("011111", 0), ("00000", 0), ("20111", 0.2)],
)
def test_what_comes_before_the_first_miss_counts(relevance, expected):
    assert ranked(relevance) == expected


def test_a_short_query_is_judged_on_all_it_has():
    assert ranked("111") == 1
    assert ranked("110") == pytest.approx(2 / 3)
    assert ranked("1") == 1
    assert ranked("0") == 0


def test_k_is_how_far_down_to_look():
    assert ranked("1101", k=1) == 1
    assert ranked("1101", k=2) == 1
    assert ranked("1101", k=4) == 0.5
    assert ranked("1" * 9 + "0", k=10) == 0.9


def test_the_mean_is_over_queries_not_documents():
    y = [1, 0, 1, 1, 1, 1, 1, 1]
    scores = [2, 1, 8, 7, 6, 5, 4, 3]
    queries = ["a", "a", "b", "b", "b", "b", "b", "b"]
    assert precision_until_first_miss(y, scores, queries) == (0.5 + 1) / 2
    mixed = [5, 0, 3, 1, 7, 2, 6, 4]  # rows of a query need not be neighbours
    assert precision_until_first_miss(*(np.array(v)[mixed] for v in (y, scores, queries))) == 0.75


def test_a_tie_counts_what_it_gives_on_average():
    # One relevant, one not, same score: half of the time the relevant one comes first.
    assert precision_until_first_miss([1, 0], [3, 3], [0, 0]) == 0.5 * (1 / 2)
    # 2 of 3 tied are relevant: a miss at place 1, 2 or 3 with chance 1/3 each.
    assert precision_until_first_miss([1, 0, 1], [3, 3, 3], [0, 0, 0]) == pytest.approx((0 + 1 / 3 + 2 / 3) / 3)
    # A tie after a clear winner; k = 2 sees only its first place.
    assert precision_until_first_miss([1, 1, 0], [9, 3, 3], [0, 0, 0], k=2) == 0.75
    # Ties do not reach over the border of a query.
    assert precision_until_first_miss([1, 0], [3, 3], [0, 1]) == 0.5


def every_order(y, scores, k):
    """Slow twin: the mean over all orders that sort the scores."""
    values = []
    for order in itertools.permutations(range(len(y))):
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order)):
            top = [y[i] > 0 for i in order][:k]
            values.append([*top, False].index(False) / len(top))
    return np.mean(values)


documents = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=6)


@settings(deadline=None, max_examples=60)
@given(st.lists(documents, min_size=1, max_size=3), st.integers(1, 7), st.randoms())
def test_equals_the_slow_twin_in_any_order_of_rows(collection, k, random):
    rows = [(y, score, query) for query, docs in enumerate(collection) for y, score in docs]
    random.shuffle(rows)
    expected = np.mean([every_order(*zip(*docs, strict=True), k) for docs in collection])
    assert precision_until_first_miss(*zip(*rows, strict=True), k=k) == pytest.approx(expected)


def test_a_hundred_thousand_rows_are_no_trouble():
    rng = np.random.default_rng(0)
    queries, y = rng.integers(0, 5000, 100_000), rng.random(100_000) < 0.5
    assert precision_until_first_miss(y, y + rng.random(100_000), queries) > 0.9
    # Chance level: sum over positions of 1/2^p, over 5.
    assert precision_until_first_miss(y, rng.random(100_000), queries) == pytest.approx(0.19375, abs=0.02)


def test_infinite_scores_have_a_place():
    assert precision_until_first_miss([1, 0, 1], [np.inf, -np.inf, 0], [0, 0, 0]) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("one entry per document", ([1, 0], [1.0], [0, 0])),
        ("one entry per document", ([], [], [])),
        ("one entry per document", ([[1, 0]], [[1, 0]], [[0, 0]])),
        ("scores has 1 NaN", ([1, 0], [1, np.nan], [0, 0])),
        ("k must be a whole number >= 1", ([1], [1], [0], 0)),
        ("k must be a whole number >= 1", ([1], [1], [0], 2.5)),
    ],
)
def test_bad_input_is_refused(message, arguments):
    with pytest.raises(ValueError, match=message):
        precision_until_first_miss(*arguments)
