"""frugalforest acquire: a talk about one row."""

import json
import os
import signal
import sys

import pytest

import frugalforest as ff


def answers(*lines):
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture
def forest(place, fit_options, run):
    """A forest that asks for several features."""
    assert run("fit", "people.csv", *fit_options, "-m", "standard-forest", "-o", "forest.ff", "--json").exit_code == 0
    return "forest.ff"


def value_of(feature):
    return {"age": 60, "glucose": 140, "insulin": 75.5, "smoker": "yes"}[feature]


def play(model, stop="label"):
    """The same talk, in Python."""
    run = ff.OnDemand(ff.load(model), stop=stop).start()
    while (feature := run.next_feature()) is not None:
        run.provide(feature, value_of(feature))
    return run


@pytest.mark.parametrize("stop", ["label", "all"])
def test_the_receipt_is_that_of_the_model(run, forest, stop):
    expected = play(forest, stop)
    typed = answers(*(value_of(feature) for feature in expected.acquired))
    found = json.loads(run("acquire", forest, "--stop", stop, "--json", input=typed).stdout)
    assert found["is_over"]
    assert found["prediction"] == expected.prediction
    assert found["spent"] == expected.spent
    assert [step["feature"] for step in found["steps"]] == list(expected.acquired)
    assert [step["cost"] for step in found["steps"]] == [step.cost for step in expected.receipt()]


def test_what_is_shown(run, forest):
    expected = play(forest)
    first = expected.acquired[0]
    shown = run("acquire", forest, input=answers(*(value_of(feature) for feature in expected.acquired))).stdout
    assert f"{first} ({ff.load(forest).start().price(first):.2f}): " in shown
    assert f"Answer: {expected.prediction}" in shown
    assert "█" in shown
    assert "total" in shown
    assert f"spent {expected.spent:.2f}" in shown


def test_stop_and_go_on(run, forest, place):
    expected = play(forest)
    assert len(expected.acquired) >= 2
    first, *others = expected.acquired
    shown = run("acquire", forest, "--run", "run.json", input=answers(value_of(first), "stop")).stdout
    assert "Stopped early; best guess" in shown
    assert "To go on" in shown
    shown = run("acquire", forest, "--run", "run.json", input=answers(*map(value_of, others))).stdout
    assert "Going on with run.json: 1 feature known" in shown
    assert f"Answer: {expected.prediction}" in shown
    again = json.loads(run("acquire", forest, "--run", "run.json", "--json").stdout)
    assert again["spent"] == expected.spent


def test_the_run_is_kept_after_every_step(run, forest, place):
    first = play(forest).acquired[0]
    run("acquire", forest, "--run", "run.json", input=answers(value_of(first)))  # then the input ends
    kept = json.loads((place / "run.json").read_text())
    assert [step["feature"] for step in kept["steps"]] == [first]


def test_skip_and_unknown(run, forest):
    skipped = json.loads(run("acquire", forest, "--json", input=answers("skip", "stop")).stdout)
    assert (skipped["steps"][0]["how"], skipped["spent"]) == ("refused", 0)
    unknown = json.loads(run("acquire", forest, "--json", input=answers("unknown", "stop")).stdout)
    assert (unknown["steps"][0]["how"], unknown["steps"][0]["value"]) == ("bought", None)
    assert unknown["spent"] > 0


def test_known_values_are_free(run, forest):
    known = ("--known", "age=60", "--known", "smoker=yes", "--known", "glucose=140")
    found = json.loads(run("acquire", forest, *known, "--json", input=answers("stop")).stdout)
    assert [step["how"] for step in found["steps"]] == ["free"] * 3
    assert found["spent"] == 0


def test_wrong_answers_are_asked_again(run, forest):
    order = play(forest, "all").acquired
    typed = []
    for feature in order:
        typed += ["", "nonsense", "inf"] if feature != "smoker" else ["?", "pipe"]
        typed.append(value_of(feature))
    shown = run("acquire", forest, "--stop", "all", input=answers(*typed)).stdout
    assert "'nonsense' is not a number" in shown
    assert "'inf' is not a finite number" in shown
    assert "'pipe' is not one of: formerly, no, yes" in shown
    assert "smoker is one of: formerly, no, yes" in shown
    assert "Answer: " in shown


def test_a_decimal_comma(run, forest):
    order = play(forest, "all").acquired
    typed = [str(value_of(feature)).replace(".", ",") for feature in order]
    found = json.loads(run("acquire", forest, "--stop", "all", "--json", input=answers(*typed)).stdout)
    assert {step["value"] for step in found["steps"] if step["feature"] == "insulin"} == {75.5}


def test_mistakes(run, forest, place, model):
    assert "the model knows no feature 'weight'" in run("acquire", forest, "--known", "weight=3").stderr
    assert "give FEATURE=VALUE" in run("acquire", forest, "--known", "age").stderr
    assert "is not a number" in run("acquire", forest, "--known", "age=old").stderr
    assert "expected label or all" in run("acquire", forest, "--stop", "never").stderr
    (place / "run.json").write_text("{}")
    result = run("acquire", forest, "--run", "run.json")
    assert (result.exit_code, "not a run that frugalforest wrote" in result.stderr) == (2, True)
    (place / "run.json").write_bytes(b"\xff\xfe")
    assert "not a run that frugalforest wrote" in run("acquire", forest, "--run", "run.json").stderr
    run("acquire", forest, "--run", "other.json", input=answers("stop"))
    assert "started by another model" in run("acquire", model, "--run", "other.json").stderr


def test_other_models_than_forests(run, place, fit_options):
    assert (
        run("fit", "people.csv", *fit_options, "--budget", "2", "-m", "panel", "-o", "panel.ff", "--json").exit_code
        == 0
    )
    found = json.loads(run("acquire", "panel.ff", "--json", input=answers(60, "yes")).stdout)
    assert (found["is_over"], found["spent"]) == (True, 2.0)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_in_a_terminal(forest, place):
    pexpect = pytest.importorskip("pexpect")
    expected = play(forest)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TERM": "xterm-256color"}
    code = "from frugalforest.cli import main; main()"
    arguments = ["-c", code, "acquire", forest, "--run", "run.json"]
    terminal = pexpect.spawn(
        sys.executable, arguments, cwd=str(place), env=environment, encoding="utf-8", timeout=60, dimensions=(40, 100)
    )
    for feature in expected.acquired:
        terminal.expect(rf"{feature} \([\d.]+\): ")
        terminal.sendline(str(value_of(feature)))
    terminal.expect(f"Answer: {expected.prediction}")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_ctrl_c_in_a_terminal_keeps_the_run(forest, place):
    pexpect = pytest.importorskip("pexpect")
    first, second, *_ = play(forest).acquired
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    arguments = ["-c", "from frugalforest.cli import main; main()", "acquire", forest, "--run", "run.json"]
    terminal = pexpect.spawn(
        sys.executable,
        arguments,
        cwd=str(place),
        env=environment,
        encoding="utf-8",
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background are deaf to Ctrl-C
    )
    terminal.expect(rf"{first} \([\d.]+\): ")
    terminal.sendline(str(value_of(first)))
    terminal.expect(rf"{second} \([\d.]+\): ")
    terminal.sendintr()
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 130
    assert [step["feature"] for step in json.loads((place / "run.json").read_text())["steps"]] == [first]
