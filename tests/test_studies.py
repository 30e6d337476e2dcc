"""Stored rows of the studies, one of each, computed again: the reports are written from rows like these."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
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

ROOT = Path(__file__).parents[1]
STUDIES = ROOT / "studies"
needs_data = pytest.mark.usefixtures("data_dir")


def rows_at(path, version="1"):
    assert path.exists(), f"the rows of {path.parent.name} are part of the project: {path} is not there"
    return ResultStore(path, version).rows()


def rows_of(study):
    return rows_at(getattr(study, "RESULTS", study.HERE / "results.sqlite"), study.VERSION)


def stored(path, task, method, seed, version="1"):
    rows = rows_at(path, version)
    (row,) = [row for row in rows if (row["task"], row["method"], row["seed"]) == (task, method, seed)]
    return row


@needs_data
def test_nan2015_appendix():
    row = stored(STUDIES / "nan2015" / "results.sqlite", "appendix wdbc", "Pairs 0", 0)
    again = max_costs.measure("Pairs 0", *tasks.load_complete("wdbc"))
    assert again["error"] == pytest.approx(row["error"])


@needs_data
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


@needs_data
def test_thomas():
    task = {"data": "pima", "method": "FFS", "rule": "paper", "tradeoff": 0.03, "seed": 0}
    row = stored(STUDIES / "thomas" / "results.sqlite", "curves pima", thomas.settings(task), 0)
    again = thomas.run_curve(task, n_jobs=2)
    assert [m["accuracy"] for m in again] == pytest.approx([m["accuracy"] for m in row["measured"]], abs=1e-6)
    assert [m["set_cost"] for m in again] == pytest.approx([m["set_cost"] for m in row["measured"]])


@needs_data
def test_kusner2014():
    row = stored(STUDIES / "kusner2014" / "results.sqlite", "miniboone 4", "l1", 0)
    found = {task: numbers for task, _, _, numbers in kusner.run_method(load_kusner_task("miniboone", 0), "l1", 0)}
    assert found["miniboone 4"]["loss"] == pytest.approx(row["loss"], abs=2e-3)  # two of 2000 rows: BLAS may differ
    assert found["miniboone 4"]["cost"] == pytest.approx(row["cost"])


@needs_data
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


TINY = ["--tasks", "spambase", "--methods", "l1", "ASTC", "BudgetRF", "--seeds", "1", "--without-times"]


def command(folder):
    """A run of a study that takes seconds, in a process of its own."""
    return [sys.executable, "-m", "studies.kusner2014.run", *TINY, "--folder", str(folder)]


def n_rows(path):
    """As another process sees them; 0 while there is no table yet."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT count(*) FROM results").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def without_times(rows):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


@needs_data
def test_a_run_that_is_killed_and_started_again_ends_as_a_whole_one(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    kusner.main([*TINY, "--folder", str(whole)])
    with subprocess.Popen(command(killed), cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        while n_rows(killed / "results.sqlite") == 0 and process.poll() is None:
            time.sleep(0.005)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    n_whole, n_killed = n_rows(whole / "results.sqlite"), n_rows(killed / "results.sqlite")
    assert 0 < n_killed < n_whole
    assert not (killed / "report.md").exists()

    again = subprocess.run(command(killed), cwd=ROOT, check=True, capture_output=True, text=True)
    assert "l1, seed 0" not in again.stdout  # what was stored is not computed again
    assert "BudgetRF, seed 0" in again.stdout
    one, other = (rows_at(folder / "results.sqlite", kusner.VERSION) for folder in (whole, killed))
    assert without_times(one) == without_times(other)
    one, other = ((folder / "report.md").read_text().split("## Training time")[0] for folder in (whole, killed))
    assert one == other


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
    rows = [row for row in rows_of(study) if missing not in row["task"]]
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
    rows = rows_of(study)
    of_part = [row for row in rows if row["task"] == part]
    assert len(of_part) > 3
    study.write_report([row for row in rows if row["task"] != part or row in of_part[:3]], tmp_path)
    head = (tmp_path / "report.md").read_text().split("##")[0]
    assert cut_short is None or cut_short in head[head.lower().index("not run") :].splitlines()[0]
