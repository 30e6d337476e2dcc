"""Stored rows of the studies, one of each, computed again: the reports are written from rows like these."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.quality.data import load_task as load_quality_task
from studies.grand import run as grand
from studies.jagdhuber import run as jagdhuber
from studies.jagdhuber.tasks import load_task as load_jagdhuber_task
from studies.kusner2014 import run as kusner
from studies.kusner2014.tasks import load_task as load_kusner_task
from studies.nan2015 import forests, max_costs, tasks
from studies.nan2015 import run as nan2015
from studies.progress import Countdown
from studies.store import ResultStore
from studies.thomas import run as thomas

STUDIES = Path(__file__).parents[1] / "studies"
pytestmark = pytest.mark.usefixtures("data_dir")


def stored(path, task, method, seed, version="1"):
    if not path.exists():
        pytest.skip(f"no stored rows: {path.name} of {path.parent.name} is not there")
    rows = ResultStore(path, version).rows()
    (row,) = [row for row in rows if (row["task"], row["method"], row["seed"]) == (task, method, seed)]
    return row


def test_nan2015_appendix():
    row = stored(STUDIES / "nan2015" / "results.sqlite", "appendix wdbc", "Pairs 0", 0)
    again = max_costs.measure("Pairs 0", *tasks.load_complete("wdbc"))
    assert again["error"] == pytest.approx(row["error"])


def test_nan2015_table():
    model = "BudgetRF, random thresholds, bootstrap"
    row = stored(STUDIES / "nan2015" / "results.sqlite", "table miniboone_tiny", model, 0)
    again = forests.measure(model, tasks.load_task("miniboone_tiny", 0), 0, n_jobs=2)
    assert again["error"] == pytest.approx(row["error"])
    assert again["percent"] == pytest.approx(row["percent"])


def test_jagdhuber():
    row = stored(STUDIES / "jagdhuber" / "results.sqlite", "A 1", "AUC tuned", 0)
    task = load_jagdhuber_task("A", 0)
    selector = jagdhuber.selectors(task.costs, 0, 2, 1000)["AUC"]
    judge = jagdhuber.Judge(task, 0, 2, 1000)
    (rows,) = jagdhuber.run_method(task, "AUC", selector, judge, 0, [1.0])
    numbers = {method: numbers for _, method, _, numbers in rows}["AUC tuned"]
    assert {name: numbers[name] for name in ("error", "cost", "n_features", "xi")} == pytest.approx(
        {name: row[name] for name in ("error", "cost", "n_features", "xi")}
    )


def test_thomas():
    task = {"data": "pima", "method": "FFS", "rule": "paper", "tradeoff": 0.03, "seed": 0}
    row = stored(STUDIES / "thomas" / "results.sqlite", "curves pima", thomas.settings(task), 0)
    again = thomas.run_curve(task, n_jobs=2)
    assert [m["accuracy"] for m in again] == pytest.approx([m["accuracy"] for m in row["measured"]], abs=1e-6)
    assert [m["set_cost"] for m in again] == pytest.approx([m["set_cost"] for m in row["measured"]])


def test_kusner2014():
    row = stored(STUDIES / "kusner2014" / "results.sqlite", "miniboone 4", "l1", 0)
    found = {task: numbers for task, _, _, numbers in kusner.run_method(load_kusner_task("miniboone", 0), "l1", 0)}
    assert found["miniboone 4"]["loss"] == pytest.approx(row["loss"], abs=2e-3)  # two of 2000 rows: BLAS may differ
    assert found["miniboone 4"]["cost"] == pytest.approx(row["cost"])


def test_quality():
    from benchmarks.quality.__main__ import RESULTS, VERSION, measure
    from benchmarks.quality.methods import METHODS

    row = stored(RESULTS, "bupa", "BudgetForest, on demand", 0, VERSION)
    rows = measure(load_quality_task("bupa", 0), "BudgetForest", METHODS["BudgetForest"], 0)
    numbers = {method: numbers for _, method, _, numbers in rows}["BudgetForest, on demand"]
    assert numbers["error"] == pytest.approx(row["error"])
    assert numbers["bill"] == pytest.approx(row["bill"])


def test_rows_of_an_interrupted_run_are_kept_and_not_computed_again(tmp_path):
    store = ResultStore(tmp_path / "rows.sqlite", "1")
    store.add([("task", "method", 0, {"error": 0.25})])
    again = ResultStore(tmp_path / "rows.sqlite", "1")
    assert again.has("task", "method", 0)
    assert not again.has("task", "method", 1)
    assert not ResultStore(tmp_path / "rows.sqlite", "2").has("task", "method", 0)
    assert again.rows() == [{"task": "task", "method": "method", "seed": 0, "error": 0.25}]


def test_a_run_that_is_killed_and_started_again_ends_with_the_rows_of_a_whole_one(tmp_path, monkeypatch):
    methods, seeds = ["l1", "BudgetRF"], range(1)
    whole, killed = (ResultStore(tmp_path / f"{name}.sqlite", kusner.VERSION) for name in ("whole", "killed"))
    kusner.run(whole, ["spambase"], methods, seeds)
    compute, computed = kusner.run_method, []

    def killed_at_the_second(task, method, seed):
        computed.append(method)
        if computed == methods:
            raise KeyboardInterrupt
        return compute(task, method, seed)

    monkeypatch.setattr(kusner, "run_method", killed_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        kusner.run(killed, ["spambase"], methods, seeds)
    kusner.run(killed, ["spambase"], methods, seeds)
    assert computed == ["l1", "BudgetRF", "BudgetRF"]  # the first method was not computed again
    for one, other in zip(whole.rows(), killed.rows(), strict=True):
        assert one | {"seconds": None} == other | {"seconds": None}


def test_countdown_says_what_is_left(capsys):
    countdown = Countdown(2)
    countdown.done("first")
    assert "first: 1 of 2, 0 seconds left" in capsys.readouterr().out


def test_countdown_does_not_count_what_is_skipped(capsys):
    countdown = Countdown(3)
    countdown.skip()
    countdown.done("first")
    assert "first: 1 of 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("study", "missing", "name"),
    [
        (nan2015, "covertype", "covertype"),
        (jagdhuber, "wdbc", "wdbc"),
        (thomas, "spambase", "spam"),
        (kusner, "spambase", "spambase"),
        (grand, "pima", "pima"),
    ],
    ids=["nan2015", "jagdhuber", "thomas", "kusner2014", "grand"],
)
def test_a_missing_data_set_is_named_in_the_report(study, missing, name, tmp_path):
    path = getattr(study, "RESULTS", study.HERE / "results.sqlite")
    rows = [row for row in ResultStore(path, study.VERSION).rows() if missing not in row["task"]]
    study.write_report(rows, tmp_path)
    head = (tmp_path / "report.md").read_text().split("##")[0]
    not_run = head[head.lower().index("not run") :].splitlines()[0]
    assert name in not_run


@pytest.mark.parametrize(
    ("study", "part", "cut_short"),
    [
        (nan2015, "appendix sonar", "sonar"),
        (jagdhuber, "A 5", None),
        (thomas, "curves spambase", "spam"),
        (kusner, "spambase 4", None),
        (grand, "pima", "pima"),
    ],
    ids=["nan2015", "jagdhuber", "thomas", "kusner2014", "grand"],
)
def test_the_report_of_a_run_that_was_cut_short(study, part, cut_short, tmp_path):
    path = getattr(study, "RESULTS", study.HERE / "results.sqlite")
    rows = ResultStore(path, study.VERSION).rows()
    of_part = [row for row in rows if row["task"] == part]
    assert len(of_part) > 3
    study.write_report([row for row in rows if row["task"] != part or row in of_part[:3]], tmp_path)
    head = (tmp_path / "report.md").read_text().split("##")[0]
    assert cut_short is None or cut_short in head[head.lower().index("not run") :].splitlines()[0]
