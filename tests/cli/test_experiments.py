"""frugalforest curve, compare and select."""

import csv
import json
import sys
import time

import numpy as np
import pytest

from frugalforest.cli import choosing, experiments
from frugalforest.cli.experiments import Outcome, parse_budgets, spread_budgets, summarise
from frugalforest.costs import FeatureCosts


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_a_curve_as_csv(run, place, fit_options):
    more = ("-m", "budget-forest", "-m", "panel", "-m", "standard-forest", "--budgets", "1.5,8.6", "-o", "curve.csv")
    result = run("curve", "people.csv", *fit_options, *more, "--json")
    assert result.exit_code == 0, result.stderr
    points = json.loads(result.stdout)["points"]
    assert {(p["method"], p["budget"]) for p in points} == {
        (method, budget) for method in ("budget-forest", "panel", "standard-forest") for budget in (1.5, 8.6)
    }
    by = {(p["method"], p["budget"]): p for p in points}
    assert by["panel", 1.5]["average_bill"] <= 1.5
    assert by["standard-forest", 1.5] == by["standard-forest", 8.6] | {"budget": 1.5}
    assert by["panel", 8.6]["error"] < by["panel", 1.5]["error"]
    assert [float(row["error"]) for row in rows_of("curve.csv")] == [p["error"] for p in points]


@pytest.mark.parametrize(
    ("name", "start"), [("curve.png", b"\x89PNG"), ("curve.svg", b"<?xml"), ("curve.pdf", b"%PDF")]
)
def test_a_curve_as_a_picture(run, place, fit_options, name, start):
    pytest.importorskip("matplotlib")
    assert run("curve", "people.csv", *fit_options, "--budgets", "2", "-o", name).exit_code == 0
    assert (place / name).read_bytes().startswith(start)


def test_without_matplotlib_there_is_csv(run, place, fit_options, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("curve", "people.csv", *fit_options, "--budgets", "2", "-o", "curve.png")
    assert result.exit_code == 2
    assert 'pip install "frugalforest[plot]". Or write .csv' in result.stderr
    assert run("curve", "people.csv", *fit_options, "--budgets", "2", "-o", "curve.csv").exit_code == 0


def test_a_picture_of_an_unknown_kind(run, place, fit_options):
    result = run("curve", "people.csv", *fit_options, "-o", "curve.gif")
    assert (result.exit_code, "ends in .png, .svg, .pdf, .csv" in result.stderr) == (2, True)


def test_compare(run, place, fit_options):
    more = ("-m", "auto", "-m", "budget-forest", "-m", "panel", "--budgets", "2,8.6", "--splits", "3", "-o", "c.csv")
    result = run("compare", "people.csv", *fit_options, *more, "--report", "page.html", "--json")
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)["summary"]
    assert len(summary) == 6
    assert len(rows_of("c.csv")) == 18
    for line in summary:
        errors = [
            float(row["error"])
            for row in rows_of("c.csv")
            if (row["method"], float(row["budget"])) == (line["method"], line["budget"])
        ]
        assert np.mean(errors) == pytest.approx(line["error"])
        assert line["half"] >= 0
    best = [line["method"] for line in summary if line["is_best"]]
    assert len(best) == 2
    assert "auto" not in best
    page = (place / "page.html").read_text()
    assert "<svg" in page
    assert "Budget 8.60" in page


def test_compare_for_people(run, place, fit_options):
    shown = run(
        "compare", "people.csv", *fit_options, "-m", "standard-forest", "--budgets", "2", "--splits", "2"
    ).stdout
    assert "2-fold cross-validation" in shown
    assert "above the budget" in shown


def test_auto_takes_what_validation_prefers_not_what_the_test_does(monkeypatch):
    from frugalforest.cli.methods import METHODS

    methods = [METHODS["budget-forest"], METHODS["panel"]]
    on_test = [Outcome("budget-forest", 5.0, 0, 1.0, 0.1), Outcome("panel", 5.0, 0, 2.0, 0.4)]
    on_validation = [Outcome("budget-forest", 5.0, 0, 1.0, 0.3), Outcome("panel", 5.0, 0, 2.0, 0.2)]
    monkeypatch.setattr(experiments, "measure", lambda *a: on_validation)

    class Rows:
        def split(self, share, seed):
            return None, None

    class Settings:
        seed = 0

    assert experiments._auto(methods, Rows(), on_test, [5.0], Settings(), 0) == [Outcome("auto", 5.0, 0, 2.0, 0.4)]


def test_the_best_of_a_budget_keeps_the_budget():
    outcomes = [Outcome("dear", 5.0, split, 90.0, 0.0) for split in range(3)]
    outcomes += [Outcome("cheap", 5.0, split, 5.2, 0.1 * split) for split in range(3)]
    dear, cheap = summarise(outcomes, 3)
    assert (dear.is_best, cheap.is_best, cheap.is_within, dear.is_within) == (False, True, True, False)
    assert cheap.half > 0


def test_budgets():
    costs = FeatureCosts([0.0, 1.0, 9.0])
    spread = spread_budgets(costs)
    assert (spread[0], spread[-1]) == (1.0, 10.0)
    assert spread == sorted(spread)
    assert parse_budgets("5,2,5", costs) == [2.0, 5.0]
    for wrong in ("", "a", "0", "1,-1", "nan"):
        with pytest.raises(Exception, match="give amounts above 0"):
            parse_budgets(wrong, costs)
    with pytest.raises(Exception, match="every feature is free"):
        spread_budgets(FeatureCosts([0.0, 0.0]))


def test_select(run, place, fit_options):
    found = json.loads(
        run("select", "people.csv", *fit_options, "--budgets", "1,2,8.6", "-o", "p.csv", "--json").stdout
    )
    panels = found["panels"]
    assert [len(panel["features"]) for panel in panels] == sorted(len(panel["features"]) for panel in panels)
    assert all(panel["cost"] <= panel["budget"] for panel in panels)
    assert [row["features"].split() for row in rows_of("p.csv")] == [panel["features"] for panel in panels]
    shown = run("select", "people.csv", *fit_options, "--budget", "2", "--selector", "auc").stdout
    assert "age, smoker" in shown


def test_select_compares(run, place, fit_options):
    shown = run("select", "people.csv", *fit_options, "--budget", "2", "--compare", "--splits", "2").stdout
    for name in ("shallow-trees", "auc", "permutation", "forward", "pick"):
        assert name in shown
    assert run("select", "people.csv", *fit_options, "--selector", "luck").exit_code == 2


# ---- choosing


def test_out_of_time():
    with pytest.raises(choosing.OutOfTime), choosing.at_most(0.01):
        time.sleep(60)
    with choosing.at_most(60):
        pass


def test_a_bill_above_the_budget_by_chance_is_no_excess():
    bills = np.array([0.0, 10.0] * 20)
    assert not choosing.exceeds(bills, 4.9)
    assert choosing.exceeds(bills, 3.0)
    assert not choosing.exceeds(bills, None)
    assert choosing.exceeds(np.full(5, 2.0), 1.99)
