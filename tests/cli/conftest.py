"""A small table with its prices, and a way to run commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
PRICES = "feature,cost,group,group_cost\nage,1,,\nglucose,2.5,blood,1.1\ninsulin,3,blood,1.1\nsmoker,1,,\n"


def people(n_rows=240, seed=0):
    """Columns age, glucose, insulin (some missing), smoker (text), ill (text)."""
    random = np.random.default_rng(seed)
    age, glucose = random.integers(20, 80, n_rows), random.normal(100, 20, n_rows).round(1)
    insulin = random.normal(80, 15, n_rows).round(1)
    smoker = random.choice(["no", "yes", "formerly"], n_rows)
    ill = np.where((age > 50) & (smoker != "no") | (glucose > 130), "ill", "well")
    columns = {"age": age.tolist(), "glucose": glucose.tolist(), "insulin": insulin.tolist(), "smoker": smoker.tolist()}
    columns["insulin"][::9] = [None] * len(columns["insulin"][::9])
    return columns | {"ill": ill.tolist()}


def as_csv(columns, separator=","):
    """The text of a CSV file."""
    rows = zip(*columns.values(), strict=True)
    lines = [separator.join("" if value is None else str(value) for value in row) for row in rows]
    return "\n".join([separator.join(columns), *lines, ""])


@pytest.fixture
def run(monkeypatch):
    """run("fit", ...) -> exit_code, stdout, stderr; an unexpected exception is raised."""
    from frugalforest.cli.app import app

    monkeypatch.setenv("COLUMNS", "120")

    def invoke(*arguments, input=None):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=input, catch_exceptions=False)
        return SimpleNamespace(exit_code=result.exit_code, stdout=result.stdout, stderr=result.stderr)

    return invoke


@pytest.fixture
def shell():
    """A command in a process of its own, as a user runs it."""

    def start(*arguments, prelude="", check=False, **options):
        code = f"import sys; {prelude}\nfrom frugalforest.cli import main\nmain()"
        command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        return subprocess.run(command, capture_output=True, text=True, check=check, env=environment, **options)

    return start


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with people.csv and prices.csv, where commands are run."""
    (tmp_path / "people.csv").write_text(as_csv(people()))
    (tmp_path / "prices.csv").write_text(PRICES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def model_bytes(tmp_path_factory):
    """A model file for people.csv."""
    import pyarrow as pa

    import frugalforest as ff

    folder = tmp_path_factory.mktemp("model")
    (folder / "prices.csv").write_text(PRICES)
    columns = people()
    y = np.array(columns.pop("ill"))
    costs = ff.FeatureCosts.from_csv(folder / "prices.csv")
    X = pa.table(
        {name: pa.array(values, None if name == "smoker" else pa.float64()) for name, values in columns.items()}
    )
    ff.BudgetForestClassifier(4.0, feature_costs=costs, n_estimators=8, random_state=0).fit(X, y).save(folder / "m.ff")
    return (folder / "m.ff").read_bytes()


@pytest.fixture
def model(place, model_bytes):
    """model.ff in the folder."""
    (place / "model.ff").write_bytes(model_bytes)
    return place / "model.ff"


FIT = ("--target", "ill", "--costs", "prices.csv", "--trees", "6", "--jobs", "1")


@pytest.fixture
def fit_options():
    """What fit, curve, compare and select need."""
    return FIT
