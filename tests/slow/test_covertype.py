"""The paper's shares of features on covertype, three draws: within 1.5 points, as ten draws are in studies/nan2015."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

STUDY = Path(__file__).parents[2] / "studies" / "nan2015" / "covertype.py"


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("covertype_study", STUDY)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.usefixtures("data_dir")
@pytest.mark.parametrize(
    "name", ["BudgetRF, random thresholds, bootstrap", "BudgetRF, random thresholds, no bootstrap"]
)
def test_shares_of_features_are_the_papers(study, name):
    make, paper = study.MODELS[name]
    shares = np.mean([[percent for percent, _ in study.measure(make(seed), seed)] for seed in range(3)], axis=0)
    np.testing.assert_allclose(shares, study.PAPER[paper][0], atol=1.5)


@pytest.mark.usefixtures("data_dir")
def test_errors_without_bootstrap_are_the_papers(study):
    make, paper = study.MODELS["BudgetRF, random thresholds, no bootstrap"]
    errors = np.mean([[error for _, error in study.measure(make(seed), seed)] for seed in range(3)], axis=0)
    np.testing.assert_allclose(errors, study.PAPER[paper][1], atol=0.01)
