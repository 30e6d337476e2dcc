"""What a run takes for a value: one of its kind, said once; and what it remembers of it."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import frugalforest as ff
from frugalforest.acquisition.run_json import MAX_JSON, MAX_NOTE, MAX_TEXT
from frugalforest.selection import FixedSelector

DAYS = pd.to_datetime(["2020-01-01 00:00", "2021-02-03 12:30", "2021-02-04 00:00"])


def visits(n=120):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"colour": random.choice(["red", "green"], n), "size": random.normal(size=n)})
    X["day"] = pd.Categorical(random.choice(DAYS, n))
    return X, np.where((X["colour"] == "red") ^ (X["size"] > 0) ^ (X["day"] == DAYS[0]), "ill", "well")


def forest():
    return ff.StandardForestClassifier(5, stop="all", random_state=0)


def panel():
    return ff.PanelClassifier(FixedSelector(["colour", "size", "day"]), forest())


@pytest.fixture(params=[forest, panel], ids=["one by one", "in stages"])
def model(request):
    return request.param().fit(*visits())


# ---- said once


@pytest.mark.parametrize("first", ["Red", None, "red"])
def test_values_that_are_read_alike_are_still_different(model, first):
    run = model.start()
    run.provide("colour", first)
    run.provide("colour", first)
    before = run.to_json()
    for other in {"Red", "GREEN", None} - {first}:
        with pytest.raises(ValueError, match=rf"'colour' is known already: {first!r}, now {other!r}\. A run takes"):
            run.provide("colour", other)
    with pytest.raises(ValueError, match=rf"'colour' is known already: {first!r}, so it cannot be refused now"):
        run.refuse("colour")
    assert run.to_json() == before


def test_other_categories_are_different_categories():
    names = np.array([f"c{i:03d}" for i in range(300)])
    X = pd.DataFrame({"town": np.tile(names, 2), "size": np.arange(600.0)})
    with pytest.warns(UserWarning, match="300 categories"):
        model = forest().fit(X, np.arange(600) % 7 > 3)
    run = model.start()
    run.provide("town", "c299")
    assert run.receipt()[0].note == 'read as "other"'
    run.provide("town", "c299")
    with pytest.raises(ValueError, match="is known already: 'c299', now 'c298'"):
        run.provide("town", "c298")


def test_a_number_in_another_dress_is_the_same(model):
    run = model.start()
    run.provide("size", 1)
    for same in (1.0, np.float32(1), True, Decimal(1), Fraction(1), np.array(1.0)):
        run.provide("size", same)
    assert len(run.receipt()) == 1


def test_a_number_that_stands_for_a_missing_value():
    lightgbm = pytest.importorskip("lightgbm")
    X = np.random.default_rng(0).normal(size=(200, 2))
    grown = lightgbm.LGBMClassifier(n_estimators=3, zero_as_missing=True, verbose=-1).fit(X, X[:, 0] > X[:, 1])
    run = ff.OnDemand(grown).start()
    run.provide(0, 0)
    assert run.receipt()[0].note == "read as missing"
    run.provide(0, 0.0)
    with pytest.raises(ValueError, match="is known already: 0, now None"):
        run.provide(0, None)


# ---- categories


def test_the_receipt_says_that_a_category_is_unknown(model):
    run = model.start()
    run.provide("colour", "violet")
    run.provide("day", DAYS[0])
    unknown, known = run.receipt()
    assert (unknown.value, unknown.note, known.note) == ("violet", "unknown category, read as missing", None)
    assert "(unknown category, read as missing)" in str(run.receipt())
    assert model.resume(run.to_json()).receipt() == run.receipt()


@pytest.mark.parametrize("value", [b"red", object(), print, str, 1j], ids=lambda value: type(value).__name__)
def test_what_cannot_be_a_category_is_refused(model, value):
    run = model.start()
    kind = type(value).__name__
    with pytest.raises(TypeError, match=rf"'colour' is categorical, but holds something of type {kind}; expected text"):
        run.provide("colour", value)
    assert len(run.receipt()) == 0
    X, _ = visits()
    X["colour"] = [value if i == 0 else colour for i, colour in enumerate(X["colour"])]
    with pytest.raises(TypeError, match="'colour' is categorical, but holds something of type"):
        model.predict(X)


@pytest.mark.parametrize("number", [1, True, 1.5, np.int64(1)])
def test_numbers_are_no_text(model, number):
    with pytest.raises(ValueError, match="'colour' held text when fitted"):
        model.start().provide("colour", number)


SAME_DAY = [
    DAYS[0],
    np.datetime64("2020-01-01"),
    np.datetime64("2020-01-01", "ns"),
    np.datetime64("2020-01", "M"),
    np.array("2020-01-01", dtype="datetime64[s]"),
    datetime.date(2020, 1, 1),
    datetime.datetime(2020, 1, 1),
]


@pytest.mark.parametrize("day", SAME_DAY, ids=repr)
def test_a_date_of_any_type_is_the_same_date(model, day):
    run, same = model.start(), model.start()
    run.provide("day", day)
    same.provide("day", DAYS[0])
    assert run.receipt() == same.receipt()
    assert run.receipt()[0].note is None
    assert model.resume(run.to_json()).receipt() == run.receipt()
    run.provide("day", DAYS[0])


def test_dates_without_a_time_are_midnights():
    X, y = visits()
    X["day"] = pd.Categorical([day.date() for day in X["day"]])
    model = forest().fit(X, y)
    assert "2020-01-01" in model.encoder_.categories[2]
    for day in SAME_DAY:
        run = model.start()
        run.provide("day", day)
        assert (run.receipt()[0].value, run.receipt()[0].note) == ("2020-01-01", None)
        assert model.resume(run.to_json()).receipt() == run.receipt()


@pytest.mark.parametrize(
    ("day", "text"),
    [
        (np.datetime64("2020-01-01T00:00:00.000000001"), "2020-01-01 00:00:00.000000001"),
        (np.datetime64("2020-01-01T10:00"), "2020-01-01 10:00:00"),
        (np.datetime64(-(10**6), "Y"), "-998030"),
        (np.timedelta64(3), "3 generic time units"),
        (datetime.timedelta(3), "3 days, 0:00:00"),
    ],
)
def test_other_times_are_unknown(model, day, text):
    run = model.start()
    run.provide("day", day)
    assert (run.receipt()[0].value, run.receipt()[0].note) == (text, "unknown category, read as missing")
    assert model.resume(run.to_json()).receipt() == run.receipt()


@pytest.mark.parametrize("nothing", [pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT"), pd.NA, np.nan, None])
def test_no_date_is_missing(model, nothing):
    run = model.start()
    for feature in ("day", "size"):
        run.provide(feature, nothing)
    assert [(step.value, step.note) for step in run.receipt()] == [(None, None)] * 2


# ---- numbers


@pytest.mark.parametrize("value", [np.timedelta64(3), np.datetime64(3, "D"), DAYS[0], datetime.timedelta(3), b"1.5"])
def test_dates_and_bytes_are_no_numbers(model, value):
    with pytest.raises(TypeError, match="'size' is a number, but got "):
        model.start().provide("size", value)


@pytest.mark.parametrize("value", [[1.0], (1.0,), {}, {"size": 1}, np.array([1.0]), pd.Series([1.0]), {1}, range(1)])
def test_several_values_are_not_one(model, value):
    for feature in ("size", "colour"):
        with pytest.raises(TypeError, match=f"'{feature}' takes one value, but got a {type(value).__name__}: .* Give"):
            model.start().provide(feature, value)


def test_numbers_too_large_for_the_model_name_their_feature(model):
    with pytest.raises(ValueError, match="'size' got a whole number beyond 1e308"):
        model.start().provide("size", 10**400)
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["size", "age"])
    other = ff.OnDemand(RandomForestClassifier(3, random_state=0).fit(X, X["size"] > 0))
    with pytest.raises(ValueError, match=r"Feature 'size' is 1e\+39, too large for float32, .* Give at most 1e38"):
        other.start().provide("size", 1e39)


def test_numbers_of_other_libraries_are_kept_as_numbers(model):
    class Scalar:
        def __float__(self):
            return 0.25

    run = model.start()
    run.provide("size", Scalar())
    assert json.loads(run.to_json())["steps"][0]["value"] == 0.25


# ---- notes and long texts


@pytest.mark.parametrize("note", [object(), 5, b"closed", ["closed"]])
def test_notes_are_text(model, note):
    run = model.start()
    with pytest.raises(TypeError, match=r"note is .*; expected text that says why, or None"):
        run.refuse("size", note=note)
    assert len(run.receipt()) == 0


def test_long_notes_are_cut_so_that_the_text_can_be_read(model):
    run = model.start()
    run.refuse("size", note="\N{SNOWMAN}" * MAX_JSON)
    note = run.receipt()[0].note
    assert (len(note), note[-4:]) == (MAX_NOTE, "\N{SNOWMAN}...")
    assert model.resume(run.to_json()).receipt() == run.receipt()


def test_a_text_without_end_is_no_category(model):
    with pytest.raises(ValueError, match=rf"'colour' got a text of {MAX_TEXT + 1:,} characters, which is no category"):
        model.start().provide("colour", "x" * (MAX_TEXT + 1))


# ---- receipts


def test_the_receipt_of_a_fresh_run_has_its_columns(model):
    columns = ["feature", "how", "value", "cost", "note", "P(ill)", "P(well)"]
    run = model.start()
    assert list(run.receipt().to_frame().columns) == columns
    run.provide("size", 0.5)
    frame = run.receipt().to_frame()
    assert list(frame.columns) == columns
    assert frame.iloc[0, -2:].tolist() == run.probabilities.tolist()


def test_the_receipt_of_a_regressor_has_no_probabilities():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 2)), columns=["a", "b"])
    run = ff.SubmodularTreeRegressor(20, depth=1).fit(X, X["a"] - X["b"]).start()
    columns = ["feature", "how", "value", "cost", "note"]
    assert list(run.receipt().to_frame().columns) == columns
    run.provide("a", 1)
    assert list(run.receipt().to_frame().columns) == columns
