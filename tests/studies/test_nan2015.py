"""studies/nan2015: its report is that of its rows, whatever rows there are, and its rows can be computed again."""

from __future__ import annotations

import numpy as np
import pytest
from studies.intervals import Interval
from studies.nan2015 import examples, figure3, figure3_report, run
from studies.nan2015.report import NOT_TESTED, findings, write_report
from studies.store import ResultStore


@pytest.fixture(scope="module")
def rows():
    return ResultStore(run.HERE / "results.sqlite", run.VERSION).rows()


def stored(rows, task, method, seed=0):
    (row,) = [row for row in rows if (row["task"], row["method"], row["seed"]) == (task, method, seed)]
    return row


def report_of(rows, folder):
    write_report(rows, folder)
    return (folder / "report.md").read_text()


# The report.


def test_the_report_is_that_of_the_rows(rows, tmp_path):
    assert report_of(rows, tmp_path) == (run.HERE / "report.md").read_text()
    assert {path.name for path in tmp_path.glob("*.png")} == {path.name for path in run.HERE.glob("*.png")}


def test_a_report_of_no_rows(tmp_path):
    text = report_of([], tmp_path)
    assert "Figure 3: not run." in text
    not_run = next(line for line in text.splitlines() if line.startswith("Not run: "))
    for what in ("Table 1 of covertype", "variants of covertype", "appendix of sonar", "example patterns", "Figure 3"):
        assert what in not_run
    assert {finding.verdict for finding in findings([])} == {NOT_TESTED}  # only what nobody can run has a row
    assert not list(tmp_path.glob("*.png"))


def test_without_rows_of_figure_3_no_others_take_their_place(rows, tmp_path):
    others = [row for row in rows if not row["task"].startswith("figure3")]
    text = report_of(others, tmp_path)
    assert "Figure 3: not run." in text
    assert not (tmp_path / "figure3.png").exists()
    assert not [finding for finding in findings(others) if "ASTC" in finding.claim and finding.verdict != NOT_TESTED]


@pytest.mark.parametrize("part", run.PARTS)
def test_each_part_alone_has_a_report(part, rows, tmp_path):
    assert "Not run: " in report_of([row for row in rows if row["task"].startswith(f"{part} ")], tmp_path)


def test_a_single_seed_decides_nothing(rows):
    # Without an interval no method is better than another.
    of_figure = [row for row in rows if row["task"].startswith("figure3") and row["seed"] == 0]
    assert {finding.verdict.split(":")[0] for finding in findings(of_figure)} == {
        "not decided",
        "not confirmed",
        "not tested",
    }


def test_every_finding_that_is_not_simply_confirmed_says_why(rows):
    assert not [finding.claim for finding in findings(rows) if finding.verdict != "confirmed" and not finding.why]


def test_better_and_worse_need_an_interval_without_0():
    gaps = [Interval(0.02, 0.01), Interval(-0.02, 0.01), Interval(0.02, 0.03), Interval(0.02, float("nan"))]
    assert figure3_report.in_words(gaps, (3, 5, 8, 10)) == "better at 3, worse at 5, no difference at 8 10"


# The rows.


@pytest.mark.usefixtures("data_dir")
def test_a_row_of_figure_3_again(rows):
    row = stored(rows, "figure3 miniboone_sub5044", "BudgetRF", 1)
    again = figure3.measure("BudgetRF", "miniboone_sub5044", 1)
    assert again["error"] == pytest.approx(row["error"])
    assert again["bill"] == pytest.approx(row["bill"])
    assert all(
        bill <= budget * 1.1 for bill, budget in zip(again["bill"], figure3.BUDGETS["miniboone_sub5044"], strict=True)
    )


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_rows_of_examples_again(name, rows):
    settings, measure = examples.EXAMPLES[name]
    row = stored(rows, f"examples {name}", settings[0])
    assert measure(settings[0]) == {key: row[key] for key in row if key not in ("task", "method", "seed")}


def test_the_best_tree_by_hand():
    # Class = first bit and second bit: one path has to read both, whatever is read first.
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    y = np.array([0, 0, 0, 1])
    assert examples.least_max_cost(X, y, [2.0, 3.0], examples.ff.ThresholdPairs(0)) == 5


# Running.


def test_a_missing_data_set_is_not_counted(tmp_path, capsys):
    def missing():
        raise FileNotFoundError("sonar is not there")

    store = ResultStore(tmp_path / "rows.sqlite", run.VERSION)
    run.run(store, iter([("a sonar", "m", 0, missing), ("a wdbc", "m", 0, lambda: {"error": 0})]))
    assert capsys.readouterr().out.splitlines() == [
        "a sonar: skipped, sonar is not there",
        "a wdbc, m, seed 0: 1 of 1, 0 seconds left",
    ]


def test_a_part_that_is_not_one_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["run", "--parts", "tabel"])
    with pytest.raises(SystemExit):
        run.main()
    assert "invalid choice: 'tabel'" in capsys.readouterr().err


def test_a_quick_run_leaves_out_what_takes_minutes():
    jobs = list(run.figure3_jobs(list(figure3.BUDGETS), list(figure3.METHODS), range(10), quick=True))
    assert {(task, method) for task, method, _, _ in jobs}.isdisjoint(
        {(f"figure3 {name}", method) for name, method in figure3.N_SEEDS_OF_SLOW}
    )
    assert max(seed for _, _, seed, _ in jobs) == figure3.N_SEEDS - 1
