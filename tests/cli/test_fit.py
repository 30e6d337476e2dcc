"""frugalforest fit: from a table and a price list to a model file."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import frugalforest as ff
from frugalforest.cli.methods import METHODS


def fit(run, options, *more, data="people.csv"):
    result = run("fit", data, *options, *more)
    assert result.exit_code == 0, result.stderr
    return result


def test_prints_what_a_user_wants_to_know(run, place, fit_options):
    shown = fit(run, fit_options, "-m", "budget-forest", "--budget", "4").stdout
    assert "240 rows, 4 features; reading all of them costs 8.60 per row" in shown
    assert "text, 3 values" in shown
    assert "Group blood: 1.10 once for glucose, insulin" in shown
    assert "180 rows to learn from, 60 kept apart for the test" in shown
    for said in ("error", "average bill", "budget 4.00", "reading everything", "Where the money goes", "model.ff"):
        assert said in shown
    model = ff.load("model.ff")
    assert model.budget == 4
    assert model.n_estimators == 6


def test_json_is_what_was_measured(run, place, fit_options):
    found = json.loads(fit(run, fit_options, "-m", "budget-forest", "--json").stdout)
    model = ff.load(found["model"])
    table = csv.read_csv("people.csv")
    label, bill = model.predict_with_cost(table.drop_columns(["ill"]))
    truth = np.array(table["ill"].to_pylist())
    assert found["n_rows"] == found["n_learned_from"] + found["n_test"] == 240
    assert found["error"] <= np.mean(label != truth) * 4 + 1e-9  # the test rows are a quarter of these
    assert found["cost_of_everything"] == pytest.approx(8.6)
    assert sum(feature["spent"] for feature in found["features"]) == pytest.approx(found["average_bill"])
    assert found["average_bill"] <= bill.max()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_fits_saves_and_predicts(run, place, fit_options, method):
    more = ["--drop", "smoker"] if not METHODS[method].reads_text else []
    if more:
        (place / "prices.csv").write_text("feature,cost\nage,1\nglucose,3.6\ninsulin,4.1\n")
    fit(run, fit_options, "-m", method, "--budget", "5", *more)
    assert run("predict", "model.ff", "people.csv", "-o", "answers.csv").exit_code == 0
    assert csv.read_csv("answers.csv").num_rows == 240


def test_auto_says_what_it_chose_and_why(run, place, fit_options):
    found = json.loads(fit(run, fit_options, "--budget", "4", "--json").stdout)
    tried = {trial["method"]: trial for trial in found["trials"]}
    assert "linear" not in tried  # there is a column of text
    assert tried["standard-forest"]["note"] == "knows no budget"
    entries = [trial for trial in tried.values() if not trial["note"]]
    assert tried[found["method"]]["error"] == min(trial["error"] for trial in entries)
    shown = fit(run, fit_options, "--budget", "4").stdout
    assert f"Chosen: {found['method']}" in shown


def test_without_time_the_first_method_is_taken(run, place, fit_options):
    found = json.loads(fit(run, fit_options, "--time-limit", "0", "--json").stdout)
    assert found["method"] == next(iter(METHODS))
    assert {trial["note"] for trial in found["trials"][1:]} == {"no time left"}


def write_as(path, table):
    if ".parquet" in path:
        parquet.write_table(table, path)
    elif ".feather" in path:
        feather.write_feather(table, path)
    else:
        options = csv.WriteOptions(delimiter="\t" if ".tsv" in path else ",")
        with pa.output_stream(path) as file:  # packs by the end of the name
            csv.write_csv(table, file, options)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.tsv.gz", "t.parquet", "t.feather", "t.csv.bz2"])
def test_formats_give_the_same_model(run, place, fit_options, name):
    write_as(name, csv.read_csv("people.csv"))
    fit(run, fit_options, "-m", "standard-forest", "-o", "a.ff")
    fit(run, fit_options, "-m", "standard-forest", "-o", "b.ff", data=name)
    assert (place / "a.ff").read_bytes() == (place / "b.ff").read_bytes()


@pytest.mark.parametrize("separator", [";", "|", "\t"])
def test_the_separator_is_guessed(run, place, fit_options, separator):
    text = (place / "people.csv").read_text()
    (place / "other.csv").write_text(text.replace(",", separator))
    fit(run, fit_options, "-m", "standard-forest", "-o", "a.ff")
    fit(run, fit_options, "-m", "standard-forest", "-o", "b.ff", data="other.csv")
    assert (place / "a.ff").read_bytes() == (place / "b.ff").read_bytes()


def test_seed_and_jobs(run, place, fit_options):
    for name, more in (("a", []), ("b", ["--jobs", "2"]), ("c", ["--seed", "1"])):
        fit(run, fit_options, "-m", "standard-forest", "-o", f"{name}.ff", "--json", *more)
    a, b, c = (ff.load(f"{name}.ff").forest_ for name in "abc")
    assert np.array_equal(a.threshold, b.threshold, equal_nan=True)
    assert not np.array_equal(a.threshold, c.threshold, equal_nan=True)


def test_numbers_that_are_names(run, place, fit_options):
    fit(run, fit_options, "-m", "standard-forest", "--categorical", "age")
    assert ff.load("model.ff").encoder_.categories.keys() == {0, 3}


def test_labels_that_are_numbers_stay_numbers(run, place, fit_options):
    (place / "people.csv").write_text((place / "people.csv").read_text().replace("ill\n", "1\n").replace("well", "0"))
    text = (place / "people.csv").read_text()
    (place / "people.csv").write_text(text.replace("smoker,1\n", "smoker,ill\n", 1))
    fit(run, fit_options, "-m", "standard-forest")
    assert ff.load("model.ff").classes_.tolist() == [0, 1]


def test_rows_without_a_label_are_left_out(run, place, fit_options):
    (place / "people.csv").write_text((place / "people.csv").read_text() + "50,100,80,no,\n51,100,80,no,NA\n")
    assert "2 rows without a ill left out" in fit(run, fit_options, "-m", "standard-forest").stdout


def test_a_report(run, place, fit_options):
    fit(run, fit_options, "-m", "budget-forest", "--budget", "4", "--report", "page.html")
    page = (place / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "ff.load(&#x27;model.ff&#x27;)" in page


def test_a_budget_below_every_feature_is_told(run, place, fit_options):
    result = fit(run, fit_options, "-m", "budget-forest", "--budget", "0.5")
    assert "No feature is bought" in result.stdout
    assert result.stderr.startswith("note: no tree fits a budget of 0.5")
