"""Files of every version that ever was are read, and say what they said when they were written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import frugalforest as ff
from frugalforest.persistence import load, save
from frugalforest.persistence.archive import VERSION, read_archive
from persistence.models import answers

FILES = sorted((Path(__file__).parent / "files").glob("*.ff"))


def test_there_are_files_of_every_version():
    names = [path.stem for path in FILES]
    wanted = [f"version_{version}_{name}" for version in range(1, VERSION + 1) for name in ("budget", "standard")]
    assert names == wanted
    assert all(path.stat().st_size < 8000 for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_stored_models_say_what_they_said(path):
    stored = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    X = np.array(stored["rows"])
    if stored["columns"] is not None:
        X = pd.DataFrame(stored["rows"], columns=stored["columns"])
    for now, then in zip(answers(load(path), X), stored["answers"], strict=True):
        assert np.array_equal(now, np.array(then, dtype=now.dtype))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_stored_models_can_be_saved_again(path, tmp_path):
    save(load(path), tmp_path / "again.ff")
    assert read_archive(tmp_path / "again.ff").version == VERSION


def test_a_stored_budget_forest_is_complete():
    model = load(next(path for path in FILES if path.stem == "version_1_budget"))
    assert isinstance(model, ff.BudgetForestClassifier)
    assert model.get_params()["alpha"] == [0, 6]
    assert model.feature_costs.of(["age", "smoker"]) == 1.85
    cheap = model.at_budget(1.5)
    assert cheap.validation_cost_ <= 1.5 < model.validation_cost_
    assert cheap.curve_.error_at(4.0) == model.validation_error_
    assert model.feature_importances_.sum() == pytest.approx(1)
