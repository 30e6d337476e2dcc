"""The table over everything, and the page of curves: what is committed is what the stored rows give."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.quality import report as quality
from benchmarks.quality.__main__ import RESULTS, VERSION, measure, run
from benchmarks.quality.data import load_task
from benchmarks.quality.methods import METHODS, NEW, PAPERS, PEERS
from studies.grand.report import write_report
from studies.store import ResultStore

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def rows():
    return ResultStore(RESULTS, VERSION).rows()


def test_the_report_is_that_of_the_stored_rows(rows, tmp_path):
    write_report(rows, tmp_path)
    assert (tmp_path / "report.md").read_text() == (ROOT / "studies" / "grand" / "report.md").read_text()


def test_the_page_is_that_of_the_stored_rows(rows, tmp_path):
    quality.write_report(rows, tmp_path)
    assert (tmp_path / "quality.md").read_text() == (ROOT / "docs" / "quality.md").read_text()


def test_a_report_of_no_rows_says_so(tmp_path, capsys):
    write_report([], tmp_path)
    assert "No data set" in capsys.readouterr().out
    assert not (tmp_path / "report.md").exists()


def test_every_method_is_on_one_side():
    assert not NEW.keys() & PAPERS.keys()
    assert not PEERS.keys() & (NEW.keys() | PAPERS.keys())
    assert METHODS.keys() == NEW.keys() | PAPERS.keys() | PEERS.keys()


@pytest.mark.usefixtures("data_dir")
@pytest.mark.parametrize("method", ["boosting", "BudgetForest"])
def test_a_stored_row_computed_again(rows, method):
    again = {name: numbers for _, name, _, numbers in measure(load_task("bupa", 0), method, METHODS[method], 0)}
    for name, numbers in again.items():
        (row,) = [row for row in rows if (row["task"], row["method"], row["seed"]) == ("bupa", name, 0)]
        assert numbers["error"] == pytest.approx(row["error"])
        assert numbers["bill"] == pytest.approx(row["bill"])


def test_a_data_set_that_cannot_be_had_is_said_and_skipped(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FRUGALFOREST_DATA", str(tmp_path))
    run(ResultStore(tmp_path / "rows.sqlite", "1"), ["sensorless"], {"BudgetForest": METHODS["BudgetForest"]}, range(1))
    assert "sensorless: skipped" in capsys.readouterr().out
