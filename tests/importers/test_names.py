"""Names of columns: those that differ in blanks only, and what is said when some or all are not there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier

import frugalforest as ff
from frugalforest.importers.names import as_spelled, respelled
from importers.cases import numbers


def test_names_are_spelled_as_others_spell_them():
    assert as_spelled(["a_b", "c"], ["c", "a b", "d e"]) == ("a b", "c")
    assert as_spelled(["a b"], ["a_b"]) == ("a_b",)
    assert as_spelled(["a_b"], ["a b", "a_b"]) == ("a_b",)
    assert as_spelled(["a_b_c"], ["a b_c", "a_b c"]) == ("a_b_c",)  # nobody knows which
    assert as_spelled(["a_b"], []) == ("a_b",)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_are_renamed_and_stay_what_they_are(make):
    frame = make({"a b": [1, 2], "other thing": [3, 4], "c": [5, 6]})
    renamed = respelled(frame, ["c", "a_b"])
    assert isinstance(renamed, make)
    assert list(renamed.columns) == ["a_b", "other thing", "c"]
    assert "a b" in frame.columns
    assert respelled(frame, ["c", "a b"]) is frame


def test_what_has_no_names_is_left_alone():
    array, unnamed = np.ones((2, 2)), pd.DataFrame(np.ones((2, 2)))
    assert respelled(array, ["a", "b"]) is array
    assert respelled(unnamed, ["a", "b"]) is unnamed


@pytest.fixture(scope="module")
def model():
    X, y = numbers(0)
    return ff.OnDemand(RandomForestClassifier(3, random_state=0).fit(pd.DataFrame(X, columns=list("vwxyz")), y))


def test_none_of_the_names(model):
    X = pd.DataFrame(np.ones((2, 5)), columns=list("VWXYZ"))
    message = r"X has none of the 5 columns .* called v, w, x, y, z, and those of X V, W, X, Y, Z\. Rename"
    with pytest.raises(ValueError, match=message) as caught:
        model.predict(X)
    assert "NaN" not in str(caught.value)


def test_missing_values_are_advised_for_a_few_columns_only(model):
    X = pd.DataFrame(np.ones((2, 5)), columns=list("vwxyz"))
    with pytest.raises(ValueError, match=r"X lacks 1 of the 5 columns .*: w\. Add it; .* NaN or null stands for it"):
        model.predict(X.drop(columns="w"))
    with pytest.raises(ValueError, match=r"X lacks 3 of the 5 columns .*: v, w, x\. Add them\.$"):
        model.predict(X[["y", "z"]])
