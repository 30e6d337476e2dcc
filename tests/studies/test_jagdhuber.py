"""The study of Jagdhuber et al.: its committed report, one of its paths computed again, and reports of few rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from studies.intervals import interval_of
from studies.jagdhuber import report, run
from studies.jagdhuber.frames import as_frame, gap, set_ranks, well_repeated
from studies.jagdhuber.path_verdicts import falls_then_rises
from studies.jagdhuber.tasks import load_task, methods_of
from studies.jagdhuber.verdicts import tuning_finding
from studies.jagdhuber.words import place_of
from studies.progress import Countdown
from studies.store import ResultStore

STORED = run.HERE / "results.sqlite"


@pytest.fixture(scope="module")
def rows():
    return ResultStore(STORED, run.VERSION).rows()


def made_up(name, budget, method, seed, error):
    numbers = {"error": error, "cost": 1.0, "n_features": 2, "xi": 0.5, "oob_error": error, "seconds": 0.1}
    return {"task": f"{name} {budget:g}", "method": method, "seed": seed, **numbers}


def test_the_committed_report_is_that_of_the_stored_rows(rows, tmp_path):
    report.write_report(rows, tmp_path)
    assert (tmp_path / "report.md").read_text() == (run.HERE / "report.md").read_text()
    linked = {
        line.split("(")[-1].rstrip(")") for line in (tmp_path / "report.md").read_text().splitlines() if "![" in line
    }
    assert linked == {"settings.png", "paths.png", "ranks.png"} == {path.name for path in tmp_path.glob("*.png")}


def test_a_path_computed_again(rows):
    (row,) = [row for row in rows if (row["task"], row["method"], row["seed"]) == ("C 2", "STS path", 0)]
    task = load_task("C", 0)
    selector, judge = run.selectors(task.costs, 0, 1, 1000)["STS"], run.Judge(task, 0, 1, 1000)
    *names, numbers = run.path_row(task, "STS", selector, judge, 0, 2.0)
    assert names == ["C 2", "STS path", 0]
    for name in ("grid", "errors", "oob_errors", "costs"):
        assert numbers[name] == pytest.approx(row[name])


def test_paths_agree_with_the_rows_of_single_strategies(rows):
    errors = {(row["task"], row["method"], row["seed"]): row.get("error") for row in rows}
    paths = [row for row in rows if row["method"].endswith(" path")]
    assert paths
    for path in paths:
        kind = path["method"].removesuffix(" path")
        for xi, strategy in ((0.0, "xi 0"), (1.0, "xi 1")):
            error = path["errors"][path["grid"].index(xi)]
            assert error == pytest.approx(errors[path["task"], f"{kind} {strategy}", path["seed"]])


def test_the_report_of_no_rows(tmp_path):
    report.write_report([], tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "Repetitions: none" in text
    assert "Not run: A, B, C, D, ada" in text
    assert "No rows yet." in text
    assert list(tmp_path.glob("*.png")) == []
    assert report.findings(report.as_frame([]), report.means(report.as_frame([]))) == []


def test_a_method_that_was_not_run_on_a_task_is_named(rows, tmp_path):
    some = [row for row in rows if not (row["task"].startswith("qsar ") and row["method"].startswith("FS "))]
    report.write_report(some, tmp_path)
    assert "Not run: FS on qsar." in (tmp_path / "report.md").read_text()


def test_variants_are_part_of_a_default_run_on_the_settings():
    assert set(methods_of("A")) == set(run.METHODS)
    assert set(methods_of("ada")) == {"STS", "AUC", "pFI", "FS"}


def test_few_repetitions_are_neither_bold_nor_ranked():
    rows = [made_up("A", 1, "STS tuned", seed, 0.3 + 0.01 * seed) for seed in range(6)]
    rows += [made_up("A", 1, "FS tuned", seed, 0.1 + 0.01 * seed) for seed in range(3)]
    frame = as_frame(rows)
    line = report.error_table(report.means(frame), ["A"], ["STS", "FS"]).splitlines()[-1]
    assert "**0.3250" in line
    assert "| 0.1100 ± 0.0248 (n = 3) |" in line
    assert well_repeated(frame, ["STS", "FS"]) == ["STS"]


def test_tuning_is_judged_seed_by_seed():
    rows = []
    for seed in range(6):
        for strategy, error in (("xi 0", 0.30), ("xi 1", 0.20), ("tuned", 0.25)):
            rows.append(made_up("A", 1, f"STS {strategy}", seed, error + 0.01 * seed + 0.001 * (seed % 2)))
    found = tuning_finding(as_frame(rows))
    assert "at most xi = 0 in 1 of 1 cells (seed by seed better beyond the interval in 1, worse in 0)" in found.ours
    assert "at most xi = 1 in 0 of 1 cells (seed by seed better beyond the interval in 0, worse in 1)" in found.ours
    assert found.verdict.startswith("refuted")


def test_ranks_are_means_over_data_sets_whatever_the_number_of_splits():
    rows = [made_up("ada", 1, f"{kind} tuned", 0, error) for kind, error in (("STS", 0.1), ("AUC", 0.2))]
    for seed in range(3):
        rows += [made_up("spam", 1, f"{kind} tuned", seed, error) for kind, error in (("STS", 0.2), ("AUC", 0.1))]
    ranks = set_ranks(as_frame(rows))
    assert ranks.mean().to_dict() == {"AUC tuned": 1.5, "STS tuned": 1.5}
    assert np.isfinite(interval_of(ranks["STS tuned"]).half)


def test_a_gap_is_that_of_seeds_that_have_every_cell():
    rows = []
    for seed in range(6):
        for budget, by in ((1, 0.1), (2, 0.3)):
            rows.append(made_up("A", budget, "AUC tuned", seed, 0.2 + by))
            if (budget, seed) != (2, 5):
                rows.append(made_up("A", budget, "pFI tuned", seed, 0.2))
    found = gap(as_frame(rows), "AUC tuned", "pFI tuned")
    assert found.mean == pytest.approx(0.2)
    assert found.half == pytest.approx(0)


def test_places_and_shapes_in_words():
    ranks = pd.Series({"FS tuned": 1.7, "pFI tuned": 1.8, "STS tuned": 3.1, "AUC tuned": 3.4})
    assert place_of(ranks, "STS tuned") == "third of four"
    assert place_of(ranks, "AUC tuned") == "last of four"
    assert falls_then_rises(np.array([3.0, 2.0, 1.0, 4.0]))
    assert not falls_then_rises(np.array([1.0, 2.0, 3.0, 4.0]))


def test_an_unknown_method_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["run", "--methods", "STSS"])
    with pytest.raises(SystemExit):
        run.main()
    assert "invalid choice: 'STSS'" in capsys.readouterr().err


def test_a_missing_data_set_is_not_counted_as_work(tmp_path, monkeypatch, capsys):
    def missing(name, seed):
        raise FileNotFoundError(f"{name} is not there")

    skipped = []
    monkeypatch.setattr(run, "load_task", missing)
    monkeypatch.setattr(Countdown, "skip", lambda self: skipped.append(1))
    run.run(ResultStore(tmp_path / "rows.sqlite", "1"), ["wdbc"], ["STS", "AUC"], range(2), 1, 10, np.inf)
    assert len(skipped) == 4
    assert "wdbc: skipped" in capsys.readouterr().out
