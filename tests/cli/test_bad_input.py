"""Mistakes: a sentence that names them, exit code 2 or 3, no traceback, and nothing written."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import pytest

import frugalforest as ff
from frugalforest.persistence import archive


@pytest.fixture
def refuse(run, place, fit_options):
    """Run fit -> the one line of its error; checks that nothing was written."""

    def check(*more, data="people.csv", options=fit_options, exit_code=2):
        before = sorted(place.iterdir())
        result = run("fit", data, *options, "-m", "standard-forest", *more)
        assert result.exit_code == exit_code, result.stdout + result.stderr
        assert "Traceback" not in result.stderr
        assert sorted(place.iterdir()) == before
        return result.stderr

    return check


def test_a_missing_file(refuse):
    assert "there is no file peple.csv (a table). Is it people.csv?" in refuse(data="peple.csv")
    assert "There is not even a folder nowhere" in refuse(data="nowhere/people.csv")


def test_a_missing_price_list(refuse):
    assert "there is no file price.csv (the price list). Is it prices.csv?" in refuse("--costs", "price.csv")


def test_a_folder(refuse, place):
    (place / "folder.csv").mkdir()
    assert "folder.csv is a folder" in refuse(data="folder.csv")


def test_a_wrong_separator(refuse, place):
    said = refuse("--separator", ";")
    assert "has one column only if split at ';'" in said
    assert "separated by commas; leave --separator out" in said
    (place / "spaces.csv").write_text((place / "people.csv").read_text().replace(",", " "))
    said = refuse(data="spaces.csv")
    assert "has a single column, 'age glucose insulin smoker ill'" in said
    assert "Give --separator ' ' if it is a space" in said
    assert "give one character" in refuse("--separator", ";;")


def test_an_unknown_format(refuse, place):
    (place / "people.xlsx").write_bytes(b"PK")
    assert "Tables are .csv, .tsv" in refuse(data="people.xlsx")


def test_a_target_that_is_not_there(refuse):
    said = refuse("--target", "sick")
    assert (
        "--target names 'sick', but people.csv has no such column. It has age, glucose, insulin, smoker, ill." in said
    )


def test_costs_and_columns_that_do_not_fit_are_all_named_at_once(refuse, place):
    (place / "prices.csv").write_text("feature,cost\nage,1\nsmoker,1\nct_scan,250\nmri,900\n")
    said = refuse()
    assert "Columns without a cost: glucose, insulin. Costs without a column: ct_scan, mri." in said
    assert "--drop glucose" in said


def test_a_cost_for_the_target_is_no_mistake(run, place, fit_options):
    (place / "prices.csv").write_text((place / "prices.csv").read_text() + "ill,1,,\n")
    assert run("fit", "people.csv", *fit_options, "-m", "standard-forest").exit_code == 0


def test_dropped_columns_need_no_cost_and_may_have_one(run, place, fit_options):
    (place / "people.csv").write_text((place / "people.csv").read_text().replace("age,", "id,", 1))
    prices = (place / "prices.csv").read_text()
    (place / "prices.csv").write_text(prices.replace("age,1,,\n", ""))
    assert run("fit", "people.csv", *fit_options, "-m", "standard-forest", "--drop", "id").exit_code == 0
    assert (
        run("fit", "people.csv", *fit_options, "-m", "standard-forest", "--drop", "id", "--drop", "glucose").exit_code
        == 0
    )
    result = run(
        "fit", "people.csv", *fit_options, *(f"--drop={name}" for name in ("id", "glucose", "insulin", "smoker"))
    )
    assert "no column besides 'ill' and those dropped" in result.stderr


def test_prices_that_are_no_prices(refuse, place):
    (place / "prices.csv").write_text("feature,cost\nage,1\nglucose,cheap\ninsulin,1\nsmoker,1\n")
    assert "prices.csv: line 3: cost must be a finite number >= 0, got 'cheap'" in refuse()
    (place / "prices.csv").write_text("name,price\nage,1\n")
    assert "the first line must name the columns feature,cost" in refuse()


def test_text_where_a_number_is_expected(refuse, place):
    lines = (place / "people.csv").read_text().splitlines()
    cells = lines[17].split(",")
    lines[17] = ",".join([cells[0], "high", *cells[2:]])
    (place / "people.csv").write_text("\n".join(lines))
    said = refuse()
    assert "column 'glucose' has the text 'high' in line 18, where a number is expected" in said
    assert "--missing 'high'" in said
    assert "--categorical glucose" in said


def test_text_that_means_missing(run, place, fit_options):
    text = (place / "people.csv").read_text()
    (place / "people.csv").write_text(text.replace(",,", ",?,"))
    assert run("fit", "people.csv", *fit_options, "-m", "standard-forest").exit_code == 2
    assert run("fit", "people.csv", *fit_options, "-m", "standard-forest", "--missing", "?").exit_code == 0


def test_rows_of_different_lengths(refuse, place):
    (place / "people.csv").write_text((place / "people.csv").read_text() + "1,2,3\n")
    said = refuse()
    assert "names 5 columns, but there are 3 in line 242: '1,2,3'" in said


def test_duplicate_columns(refuse, place):
    text = (place / "people.csv").read_text()
    (place / "people.csv").write_text(text.replace("insulin", "glucose", 1))
    assert "has several columns called 'glucose'" in refuse()


def test_a_column_without_a_name(refuse, place):
    text = (place / "people.csv").read_text()
    (place / "people.csv").write_text(text.replace("insulin", "", 1))
    assert "column 3 has no name in the first line" in refuse()


@pytest.mark.parametrize("text", ["", "\n", "\n\n"])
def test_an_empty_file(refuse, place, text):
    (place / "people.csv").write_text(text)
    assert "people.csv is empty" in refuse()


def test_no_rows_and_few_rows(refuse, place):
    lines = (place / "people.csv").read_text().splitlines()
    (place / "people.csv").write_text(lines[0] + "\n")
    assert "has no rows below its first line" in refuse()
    (place / "people.csv").write_text("\n".join([lines[0], "30,100,80,no,well", "60,100,80,yes,ill"]))
    assert "has 2 rows with a ill; 10 are the least" in refuse()


def test_a_target_with_one_value(refuse, place):
    (place / "people.csv").write_text(
        (place / "people.csv").read_text().replace(",ill\n", ",well\n").replace("smoker,well", "smoker,ill")
    )
    assert "the target 'ill' has only the value 'well'; there is nothing to tell apart" in refuse()


def test_a_target_of_amounts(refuse, place):
    (place / "prices.csv").write_text("feature,cost\nage,1\ninsulin,1\nsmoker,1\nill,1\n")
    assert "expected classes, at most 100" in refuse("--target", "glucose")


@pytest.mark.parametrize("budget", ["0", "-1", "nan", "inf"])
def test_a_budget_that_buys_nothing(refuse, budget):
    assert "give an amount above 0, or leave it out for no limit" in refuse("--budget", budget)


def test_an_unknown_method(refuse):
    assert "there is no method 'magic'; there are budget-forest" in refuse("-m", "magic")


def test_dates(refuse, place):
    text = (place / "people.csv").read_text().replace("no,", "2020-01-01,").replace("yes,", "2020-01-02,")
    (place / "people.csv").write_text(text.replace("formerly,", "2020-01-03,"))
    assert "smoker holds dates or times" in refuse()


def test_text_in_another_encoding(refuse, place):
    text = (place / "people.csv").read_text().replace("formerly", "früher")
    (place / "people.csv").write_bytes(text.encode("latin-1"))
    assert "is not text in UTF-8 (column smoker)" in refuse()


def test_infinite_values(refuse, place):
    (place / "people.csv").write_text((place / "people.csv").read_text() + "inf,1,1,no,ill\n")
    assert "contains infinity" in refuse()


@pytest.mark.parametrize("name", ["people.parquet", "people.feather", "people.csv.gz"])
def test_a_damaged_file(refuse, place, name):
    (place / name).write_bytes(b"not what the name says")
    assert f"{name} cannot be read" in refuse(data=name)


def test_a_file_that_unpacks_to_too_much(refuse, place, monkeypatch):
    import gzip

    from frugalforest.cli.tables import base

    monkeypatch.setattr(base, "MAX_BYTES", 5000)
    (place / "people.csv.gz").write_bytes(gzip.compress((place / "people.csv").read_bytes()))
    assert "learn from a sample" in refuse(data="people.csv.gz")
    assert "learn from a sample" in refuse()


def test_names_do_not_command_the_terminal(run, place, fit_options):
    evil = "\x1b]0;owned\x07[bold]"
    for name in ("people.csv", "prices.csv"):
        (place / name).write_text((place / name).read_text().replace("glucose", evil))
    result = run("fit", "people.csv", *fit_options, "-m", "standard-forest")
    assert result.exit_code == 0
    assert "\x1b]" not in result.stdout
    assert "[bold]" in result.stdout
    typed = "unknown\n" * 4
    assert "\x1b]" not in run("acquire", "model.ff", "--stop", "all", input=typed).stdout
    result = run("fit", "people.csv", *fit_options, "--target", "\x1b[31m")
    assert (result.exit_code, "\x1b[" in result.stderr) == (2, False)


def test_usage_mistakes_have_code_2_as_well(run, place):
    assert run("fit", "people.csv").exit_code == 2
    assert run("fit", "people.csv", "--no-such-option").exit_code == 2
    assert run("no-such-command").exit_code == 2


def test_mistakes_as_json(run, place, fit_options):
    result = run("fit", "nothing.csv", *fit_options, "--json")
    assert json.loads(result.stdout) == {"error": result.stderr.removeprefix("error: ").strip(), "exit_code": 2}


def test_debug_shows_where(run, place, fit_options):
    result = run("fit", "people.csv", *fit_options, "--target", "sick", "--debug")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr


def test_faults_of_our_own_have_code_1(run, place, fit_options, monkeypatch):
    monkeypatch.setattr(ff.StandardForestClassifier, "predict", lambda self, X: 1 / 0)
    result = run("fit", "people.csv", *fit_options, "-m", "standard-forest")
    assert result.exit_code == 1
    assert "unexpected error, which is a fault of frugalforest. ZeroDivisionError" in result.stderr
    assert "Traceback" not in result.stderr


# ---- model files


@pytest.mark.parametrize("command", ["predict", "inspect", "acquire"])
def test_a_model_file_from_elsewhere(run, place, command):
    (place / "model.ff").write_bytes(b"\x80\x04pickle")
    data = ["people.csv", "-o", "out.csv"] if command == "predict" else []
    result = run(command, "model.ff", *data)
    assert result.exit_code == 2
    assert "'model.ff' cannot be loaded: it is not a model file of frugalforest" in result.stderr
    assert not (place / "out.csv").exists()
    assert "there is no file other.ff (a model file)" in run(command, "other.ff", *data).stderr


# ---- writing


def test_no_permission(refuse, place, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    assert "no permission to write the model to model.ff" in refuse(exit_code=3)
    assert "there is no folder nowhere for the model" in refuse("-o", "nowhere/model.ff", exit_code=3)


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs users")
def test_no_permission_for_real(shell, place, fit_options, model):
    before = model.read_bytes()
    place.chmod(0o555)
    # Root may write anywhere, so it becomes nobody, who may not even read the libraries: they are loaded before.
    nobody = """
import os
from typer.testing import CliRunner
from frugalforest.cli.app import app
CliRunner().invoke(app, ["fit", "nothing.csv", "-t", "ill", "-c", "prices.csv"])
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
"""
    result = shell("fit", "people.csv", *fit_options, "-m", "standard-forest", prelude=nobody, cwd=place)
    place.chmod(0o755)
    assert result.returncode == 3, result.stderr
    assert "no permission to write the model to model.ff" in result.stderr
    assert model.read_bytes() == before


def test_a_full_disk(run, place, fit_options, model, monkeypatch):
    def fail(archive, name, parts):
        archive.fp.write(b"some of it")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("frugalforest.persistence.archive._write_entry", fail)
    before, files = model.read_bytes(), sorted(place.iterdir())
    result = run("fit", "people.csv", *fit_options, "-m", "standard-forest")
    assert result.exit_code == 3
    assert "the model could not be written to model.ff: No space left on device" in result.stderr
    assert "What was there before is unchanged" in result.stderr
    assert model.read_bytes() == before
    assert sorted(place.iterdir()) == files


LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on the size of files")
@pytest.mark.parametrize("output", ["answers.csv", "answers.parquet", "answers.csv.gz"])
def test_a_full_disk_while_predicting(shell, place, model, output):
    (place / output).write_bytes(b"before")
    files = sorted(place.iterdir())
    result = shell("predict", "model.ff", "people.csv", "-o", output, prelude=LIMITED, cwd=place)
    assert result.returncode == 3, result.stderr
    assert f"the answers could not be written to {output}" in result.stderr
    assert (place / output).read_bytes() == b"before"
    assert sorted(place.iterdir()) == files


def test_ctrl_c_while_fitting(run, place, fit_options, model, monkeypatch):
    def interrupt(self, X, y):
        raise KeyboardInterrupt

    monkeypatch.setattr(ff.StandardForestClassifier, "fit", interrupt)
    before, files = model.read_bytes(), sorted(place.iterdir())
    result = run("fit", "people.csv", *fit_options, "-m", "standard-forest", "--report", "page.html")
    assert result.exit_code == 130
    assert model.read_bytes() == before
    assert sorted(place.iterdir()) == files


def test_ctrl_c_while_writing(run, place, fit_options, model, monkeypatch):
    def interrupt(path, contents):
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("frugalforest.persistence.write_archive", interrupt)
    assert archive.write_archive is not interrupt
    before, files = model.read_bytes(), sorted(place.iterdir())
    assert run("fit", "people.csv", *fit_options, "-m", "standard-forest").exit_code == 130
    assert model.read_bytes() == before
    assert sorted(place.iterdir()) == files


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_ctrl_c_for_real(place, fit_options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", "from frugalforest.cli import main; main()", "fit", "people.csv", *fit_options]
    command += ["--trees", "1000000", "-m", "standard-forest"]
    with subprocess.Popen(
        command, cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.read1()  # the table is shown before anything is fitted
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"interrupted; nothing half-written" in said
    assert b"Traceback" not in said
    assert {path.name for path in place.iterdir()} == {"people.csv", "prices.csv"}
