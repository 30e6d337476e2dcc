"""Fingerprints: different for what is different, and the same for what was only stored otherwise."""

from __future__ import annotations

import dataclasses
import pickle
from datetime import date
from decimal import Decimal
from functools import cached_property

import numpy as np
import pytest

from frugalforest.acquisition.fingerprint import fingerprint_of


@dataclasses.dataclass(frozen=True)
class Part:
    size: float
    names: tuple[str, ...] = ()
    _cache: dict = dataclasses.field(default_factory=dict)

    @cached_property
    def double(self):
        return 2 * self.size


class Learner:
    def __init__(self, n_jobs=None):
        self.n_jobs, self.me = n_jobs, self

    def fit(self, number):
        self.coef_ = number
        return self


DIFFERENT = [
    *(0, 1, 1.0, True, "1", b"1", None, "", (), (1,), ((1,),), (1, 1), {}, {1: 2}, {2: 1}, {"1": 2}, set(), {1}),
    *(np.array([1]), np.array([1.0]), np.array([[1]]), np.array([True]), np.array(["1"]), np.array([1, 2])),
    *(
        date(2020, 1, 1),
        date(2020, 1, 2),
        Decimal("1.5"),
        Part(1.0),
        Part(2.0),
        Part(1.0, ("a",)),
        print,
        np.mean,
        Part,
    ),
    *(Learner(), Learner().fit(1), Learner().fit(2), bytearray(b"1"), np.random.RandomState(0)),
    np.array([(1, 2.0)], dtype=[("a", "i1"), ("b", "f8")]),
    np.array([(1, 3.0)], dtype=[("a", "i1"), ("b", "f8")]),
]


def test_different_things_differ():
    marks = [fingerprint_of(thing) for thing in DIFFERENT]
    same = [(DIFFERENT[i], DIFFERENT[j]) for i in range(len(marks)) for j in range(i) if marks[i] == marks[j]]
    assert same == []
    assert fingerprint_of("ab", "c") != fingerprint_of("a", "bc")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.float64(1.5), 1.5),
        (np.str_("a"), "a"),
        (("a", 1), ["a", 1]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (np.ones((2, 3)), np.ones((3, 2)).T),
        (np.arange(3, dtype=">i4"), np.arange(3, dtype="<i4")),
        (np.array(["a", "bc"]), np.array(["a", "bc"], dtype=object)),
        (Part(1.0), Part(1.0, _cache={"a": 1})),
        (Learner(), Learner(n_jobs=2)),
        (np.random.RandomState(0), np.random.RandomState(1)),  # draws nothing any more
    ],
)
def test_the_same_in_another_dress(one, other):
    assert fingerprint_of(one) == fingerprint_of(other)


def test_caches_and_pickles_change_nothing():
    part = Part(3.0, ("a",))
    before = fingerprint_of(part)
    assert part.double == 6
    assert fingerprint_of(part) == fingerprint_of(pickle.loads(pickle.dumps(part))) == before


def test_bytes_between_the_fields_of_a_record_do_not_count():
    records = [np.full(32, fill, dtype=np.uint8).view(np.dtype("i1, f8", align=True))[:1].copy() for fill in (0, 255)]
    for record in records:
        record["f0"], record["f1"] = 1, 2.0
    assert fingerprint_of(records[0]) == fingerprint_of(records[1])


def test_fitted_estimators():
    from sklearn.datasets import load_iris
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    X, y = load_iris(return_X_y=True)
    for estimator in (RandomForestClassifier(3), LogisticRegression(max_iter=500), KNeighborsClassifier(), SVC()):
        mark = fingerprint_of(estimator.fit(X, y))
        estimator.predict(X)
        assert fingerprint_of(estimator) == mark
        assert fingerprint_of(pickle.loads(pickle.dumps(estimator))) == mark
        assert fingerprint_of(estimator.fit(X[::2], y[::2])) != mark
