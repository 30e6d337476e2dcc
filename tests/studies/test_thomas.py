"""The study of Thomas: its committed report, rows of its selection computed again, and reports of few rows."""

from __future__ import annotations

import pandas as pd
import pytest
from studies.store import ResultStore
from studies.thomas import report, run
from studies.thomas.frames import Paths, complete, finished_curves, selection_change

STORED = run.HERE / "results.sqlite"


@pytest.fixture(scope="module")
def rows():
    return ResultStore(STORED, run.VERSION).rows()


def test_the_committed_report_is_that_of_the_stored_rows(rows, tmp_path):
    report.write_report(rows, tmp_path)
    assert (tmp_path / "report.md").read_text() == (run.HERE / "report.md").read_text()
    assert {path.name for path in tmp_path.glob("*.png")} == {"curves.png", "groups.png"}


def test_the_report_of_no_rows(tmp_path):
    report.write_report([], tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "Repetitions finished: none" in text
    assert "Not run: diabetes (pima), spam, digits (mfeat-pix)" in text
    assert list(tmp_path.glob("*.png")) == []
    assert report.findings([]) == []


@pytest.mark.usefixtures("data_dir")
@pytest.mark.parametrize("data", ["covtype", "cifar10_kmeans400"])
def test_a_selection_computed_again(rows, data):
    task = {"data": data, "selector": "minimum cut", "seed": 0}
    (row,) = [r for r in rows if (r["task"], r["seed"]) == (f"selection {data}", 0)]
    assert row["method"] == run.settings(task)
    again = run.run_selection(task, n_jobs=1)
    for name in ("set_cost", "features", "bill", "accuracy"):
        assert [line[name] for line in again] == pytest.approx([line[name] for line in row["measured"]], abs=1e-6)


def test_the_sets_that_are_timed_are_there_again(rows):
    (row,) = [r for r in rows if (r["task"], r["seed"]) == ("seconds simulated scenes", 0)]
    (again,) = run.run_seconds(row["settings"], n_jobs=1)
    assert again["sets"] == row["measured"][0]["sets"] == 9  # eight descriptors, and nothing
    assert again["cut"] < 60  # the paper waited ten minutes


def test_every_claim_has_a_line(rows):
    found = report.findings(rows)
    for words in (
        "-23 %",
        "-51 %",
        "-77 %",
        "-55.8 %",
        "-48.5 %",
        "10 minutes",
        "CT improves",
        "RFS is limited",
        "lose accuracy",
    ):
        assert any(words in finding.claim for finding in found), words
    for finding in found:
        assert finding.verdict == "confirmed" or finding.why, finding.claim


def test_a_curve_that_ends_too_early_tells_where(rows):
    curves, _ = finished_curves(rows)
    paths = Paths(curves, "spambase", "FFS")
    assert paths.change_at(0.77) is None
    reached, change = paths.end()
    assert 0.76 < reached < 0.77
    assert change.is_above(-0.036)
    (finding,) = [f for f in report.findings(rows) if f.claim.startswith("spam")]
    assert "nearly (0.5 points of cost short, less accuracy lost)" in finding.verdict


def test_only_complete_repetitions_count():
    lines = [{"data": "pima", "seed": seed, "rounds": rounds} for seed in range(3) for rounds in (1, 4)]
    left = complete(pd.DataFrame(lines[:-1]))
    assert sorted(left["seed"].unique()) == [0, 1]
    assert complete(None) is None


def test_change_of_a_selection_between_two_sets():
    lines = [("made up", 0, 1.0, 0.5), ("made up", 0, 2.0, 0.7), ("made up", 0, 4.0, 0.8)]
    frame = pd.DataFrame(lines, columns=["data", "seed", "set_cost", "accuracy"])
    assert selection_change(frame, "made up", 0.5).mean == pytest.approx(-0.1)
    assert selection_change(frame, "made up", 0.625).mean == pytest.approx(-0.2)


def test_numbers_of_repetitions_are_counted(rows, tmp_path):
    few = [row for row in rows if row["seed"] < 2]
    report.write_report(few, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "Repetitions finished: diabetes (pima) 2, spam 2, digits (mfeat-pix) 2." in text
    assert "Repetitions: images, 4 quadrants 2, covertype, 12 measurements 2." in text
    assert "20 repetitions" not in text.lower()
