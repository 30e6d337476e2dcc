"""The first thing a user sees: --help, at once, with examples."""

import subprocess
import sys

import pytest

from frugalforest import __version__
from frugalforest.cli.app import app

COMMANDS = ["fit", "curve", "compare", "select", "predict", "acquire", "inspect", "datasets", "reproduce"]


def test_help_lists_the_commands_and_exit_codes(run):
    shown = run("--help").stdout
    assert all(f" {command} " in shown for command in COMMANDS)
    assert "130 interrupted" in shown
    assert run().stdout.split() == shown.split()


def test_every_command_is_known_here():
    assert [command.callback.__name__ for command in app.registered_commands] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(run, command):
    shown = run(command, "--help").stdout
    assert "Examples" in shown
    assert shown.count(f"$ frugalforest {command}") >= 2
    assert "--json" in shown
    assert "--debug" in shown


def test_version(run):
    assert run("--version").stdout == f"frugalforest {__version__}\n"


@pytest.mark.parametrize("arguments", ["['--help']", "['fit', '--help']", "['--version']"])
def test_help_loads_nothing_heavy(arguments):
    """What takes long is numpy, scikit-learn and Arrow; the time itself is in docs/command_line.md."""
    code = f"""
import sys
sys.argv[1:] = {arguments}
from frugalforest.cli import main
try:
    main()
except SystemExit:
    pass
sys.exit(any(name in sys.modules for name in ("numpy", "sklearn", "scipy", "pyarrow", "matplotlib", "joblib")))
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True)
