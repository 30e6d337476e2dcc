"""The paper's shares of features on covertype, three draws: within 1.5 points, as ten draws are in studies/nan2015."""

import numpy as np
import pytest
from studies.nan2015.forests import measure, paper_row
from studies.nan2015.tasks import load_task


def mean_of(model, column):
    return np.mean([measure(model, load_task("covertype", seed), seed, n_jobs=2)[column] for seed in range(3)], axis=0)


@pytest.mark.usefixtures("data_dir")
@pytest.mark.parametrize(
    "model", ["BudgetRF, random thresholds, bootstrap", "BudgetRF, random thresholds, no bootstrap"]
)
def test_shares_of_features_are_the_papers(model):
    np.testing.assert_allclose(mean_of(model, "percent"), paper_row("covertype", model)[0], atol=1.5)


@pytest.mark.usefixtures("data_dir")
def test_errors_without_bootstrap_are_the_papers():
    model = "BudgetRF, random thresholds, no bootstrap"
    np.testing.assert_allclose(mean_of(model, "error"), paper_row("covertype", model)[1], atol=0.01)
