"""The study of Kusner et al.: its report comes from its rows, verdicts from intervals; a missing set ends nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from studies.intervals import Interval, interval_of
from studies.kusner2014 import claims, race, run
from studies.kusner2014.methods import METHODS, n_seeds
from studies.kusner2014.report import write_report
from studies.kusner2014.rows import curves_of, losses_of, n_seeds_of, races_of
from studies.kusner2014.tasks import BUDGETS, TASKS
from studies.store import ResultStore


@pytest.fixture(scope="module")
def stored():
    path = run.HERE / "results.sqlite"
    assert path.exists()
    return ResultStore(path, run.VERSION).rows()


def loss_rows(name, losses, budget=4):
    """Rows of made-up methods: method -> losses by seed."""
    return [
        {"task": f"{name} {budget}", "method": m, "seed": i, "loss": loss, "cost": 1.0, "seconds": 1.0}
        for m, values in losses.items()
        for i, loss in enumerate(values)
    ]


def race_rows(name, ratios, share=1.0):
    numbers = {"name": name, "rows": 10, "columns": 2, "cstc_seconds": 1.0, "astc_soft_ratio": 2.0}
    numbers |= {f"{racer}_{what}": 1.0 for racer in ("cstc", "astc", "astc_soft") for what in ("bill", "error")}
    task = {"task": f"{name} {share}", "method": race.RACE}
    return [task | numbers | {"seed": i, "astc_ratio": ratio} for i, ratio in enumerate(ratios)]


# ---- the report


def test_the_report_is_what_the_stored_rows_say(stored, tmp_path):
    write_report(stored, tmp_path)
    assert (tmp_path / "report.md").read_bytes() == (run.HERE / "report.md").read_bytes()


def test_the_report_of_no_rows(tmp_path):
    write_report([], tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "Not run: " + ", ".join(TASKS) in text
    assert "No rows yet." in text
    assert not (tmp_path / "curves.png").exists()


def test_a_method_that_one_task_has_not_is_named(stored, tmp_path):
    write_report([r for r in stored if not (r["method"] == "CSTC" and r["task"].startswith("mq2008"))], tmp_path)
    assert "Not run: CSTC on mq2008." in (tmp_path / "report.md").read_text()


def test_seeds_of_the_report_are_those_of_a_run_without_options(stored):
    found = n_seeds_of(curves_of(stored))
    assert found == {name: {method: n_seeds(name, method) for method in METHODS} for name in TASKS}
    timed = races_of(stored).groupby("name")["seed"].nunique().to_dict()
    assert timed == {name: race.n_race_seeds(name) for name in TASKS}


# ---- verdicts


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (Interval(-0.02, 0.01), "better"),
        (Interval(-0.001, 0.005), "matches"),
        (Interval(-0.001, 0.02), "open"),
        (Interval(0.02, 0.01), "worse"),
        (Interval(-0.5, np.nan), "open"),
    ],
)
def test_what_an_interval_is_sure_of(found, state):
    assert claims.state_of(found, 0.005) == state


@pytest.mark.parametrize(
    ("states", "verdict"),
    [
        (["better", "matches"], "confirmed"),
        (["better", "open", "worse"], "partly: 1 of 3, 1 open"),
        (["better", "worse"], "partly: 1 of 2"),
        (["open", "worse"], "open"),
        (["worse", "worse"], "refuted"),
        ([], "open"),
    ],
)
def test_verdicts(states, verdict):
    assert claims.verdict(states) == verdict


def test_gaps_are_taken_seed_by_seed():
    losses = losses_of(loss_rows("cifar", {"ASTC": [0.3, 0.4, 0.5], "CSTC": [0.31, 0.42, 0.52, 0.9]}))
    assert claims.gap(losses, "cifar", "ASTC", "CSTC") == pytest.approx(interval_of([-0.01, -0.02, -0.02]))


def test_sets_that_the_paper_has_not_do_not_decide():
    rows = loss_rows("miniboone", {"ASTC": [0.1, 0.11], "l1": [0.3, 0.31]})
    rows += loss_rows("spambase", {"ASTC": [0.3, 0.31], "l1": [0.1, 0.11]})
    found = claims.loss_finding("Better", losses_of(rows), "ASTC", "l1", 0.0, "")
    assert found.verdict == "confirmed"
    assert "not in the paper: spambase +0.200 ± 0.000 (worse)" in found.ours


def test_a_set_that_the_paper_has_not_says_so_by_itself():
    assert claims.listed({"spambase": "+1"}) == "not in the paper: spambase +1"
    assert claims.listed({"spambase": "+1", "cifar": "-1"}) == "cifar -1; not in the paper: spambase +1"


def test_a_single_seed_confirms_nothing():
    losses = losses_of(loss_rows("cifar", {"ASTC": [0.1], "l1": [0.3]}))
    found = claims.loss_finding("Better", losses, "ASTC", "l1", 0.0, "")
    assert (found.verdict, found.why) == ("open", "cifar: a single seed says nothing")


def test_the_kind_of_astc_is_chosen_on_validation_rows():
    rows = loss_rows("cifar", {"ASTC": [0.1, 0.2], "ASTC soft": [0.3, 0.4]})
    for row, validation_loss in zip(rows, [0.5, 0.1, 0.2, None], strict=True):
        row["validation_loss"] = validation_loss
    either = claims.with_either_kind(losses_of(rows))
    chosen = either[either["method"] == claims.EITHER].sort_values("seed")
    assert chosen["loss"].tolist() == [0.3, 0.2]


def test_times_have_to_be_surely_better_where_there_are_several():
    sure = claims.speed_finding(races_of(race_rows("covertype", [2.0, 2.1, 2.2])), "astc")
    unsure = claims.speed_finding(races_of(race_rows("covertype", [0.9, 2.0, 3.0])), "astc")
    assert (sure.verdict, unsure.verdict) == ("confirmed", "open")
    assert "bills 1 to 1, 3 seeds" in sure.ours


def test_what_was_timed_once_is_named_and_decides_nothing():
    several, once = race_rows("covertype", [2.0, 2.1, 2.2]), race_rows("cifar", [9.0])
    assert claims.speed_finding(races_of(once), "astc").verdict == "open"
    assert claims.speed_finding(races_of(several + once), "astc").verdict == "confirmed (cifar: timed once)"


def test_every_row_that_is_not_confirmed_says_why(stored):
    for found in claims.findings(stored):
        assert found.verdict.startswith("confirmed") or found.why


# ---- the run


def load_without_spambase(name, seed):
    if name == "spambase":
        raise FileNotFoundError("no spambase")
    return name


def test_a_missing_set_is_skipped_in_runs_and_races_and_the_report_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run, "load_task", load_without_spambase)
    run.main(["--tasks", "spambase", "--seeds", "1", "--folder", str(tmp_path / "out")])
    assert capsys.readouterr().out.count("spambase, seed 0: skipped, no spambase") == 2
    assert "Not run: " + ", ".join(TASKS) in (tmp_path / "out" / "report.md").read_text()


def test_a_missing_set_is_not_counted(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run, "load_task", load_without_spambase)
    monkeypatch.setattr(run, "run_method", lambda task, method, seed: [(f"{task} 25", method, seed, {"loss": 0})])
    run.run(ResultStore(tmp_path / "rows.sqlite", "1"), ["spambase", "miniboone"], ["l1", "CSTC"], 1)
    assert "miniboone, CSTC, seed 0: 2 of 2, 0 seconds left" in capsys.readouterr().out


def test_pieces_go_task_by_task_and_seed_by_seed():
    pieces = run.pieces_of(["yahoo-like", "cifar"], ["l1", "CSTC"], None)
    assert pieces[:3] == [("yahoo-like", 0, "l1"), ("yahoo-like", 0, "CSTC"), ("yahoo-like", 1, "l1")]
    assert len(pieces) == 5 + 3 + 5 + 3


def test_races_are_kept_share_by_share(tmp_path, monkeypatch):
    raced = []

    def some_race(task, shares):
        for share in shares:
            raced.append(share)
            yield share, {"name": "cifar"}

    monkeypatch.setattr(run, "load_task", lambda name, seed: name)
    monkeypatch.setattr(run, "race", some_race)
    store = ResultStore(tmp_path / "rows.sqlite", "1")
    store.add([("cifar 0.1", race.RACE, 0, {})])
    run.run_races(store, ["cifar"])
    run.run_races(store, ["cifar"])
    assert raced == [share for share in race.SHARES if share != 0.1]


def test_a_task_that_is_raced():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 4))
    part = run.Part(X, (X[:, 0] + 0.3 * random.normal(size=300) > 0).astype(int))
    task = run.Task("made up", part, part, part, race.ff.FeatureCosts(np.ones(4)), (2,))
    ((share, row),) = race.race(task, [0.3])
    assert share == 0.3
    assert 0 < row["cstc_bill"] <= 4
    assert row["astc_ratio"] == pytest.approx(row["cstc_seconds"] / row["astc_seconds"])


def test_every_budget_has_a_row_in_the_store(stored):
    frame = pd.DataFrame([r for r in stored if r["method"] == "l1"])
    assert set(frame["task"]) == {f"{name} {budget:g}" for name in TASKS for budget in BUDGETS[name]}
