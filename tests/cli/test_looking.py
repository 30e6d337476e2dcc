"""frugalforest inspect, datasets and reproduce."""

import json

import numpy as np
import pytest
from pyarrow import csv

import frugalforest as ff
from frugalforest.cli.purchases import expected_purchases, reached_by_tree


def test_inspect(run, model):
    fitted = ff.load(model)
    shown = run("inspect", model).stdout
    assert "BudgetForestClassifier for ill, well" in shown
    assert f"{fitted.start().next_feature()} ({fitted.start().next_price:.2f})" in shown
    assert "give DATA to count" in shown


def test_purchases_are_counted_on_rows(run, place, model):
    found = json.loads(run("inspect", model, "people.csv", "--json").stdout)
    fitted, table = ff.load(model), csv.read_csv("people.csv").drop_columns(["ill"])
    assert list(found["bought"].values()) == pytest.approx(fitted.acquisition_mask(table).mean(axis=0).tolist())
    assert found["average_bill"] == pytest.approx(fitted.acquisition_cost(table).mean())
    assert found["asks_first"] == fitted.start().next_feature()


def test_what_one_tree_reads_is_known_without_rows():
    """With one tree grown from all rows the estimate is exact."""
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 4)).round(1)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    model = ff.StandardForestClassifier(1, bootstrap=False, max_features=None, max_depth=4, random_state=0).fit(X, y)
    bought = model.acquisition_mask(X).mean(axis=0)
    np.testing.assert_allclose(reached_by_tree(model.forest_)[0], bought, atol=1e-12)
    np.testing.assert_allclose(expected_purchases(model)[0], bought, atol=1e-12)


def test_purchases_of_a_linear_model_and_of_a_panel():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(int)
    linear = ff.CostLassoClassifier(0.05, random_state=0).fit(X, y)
    np.testing.assert_allclose(expected_purchases(linear)[0], linear.acquisition_mask(X).mean(axis=0))
    panel = ff.PanelClassifier(ff.selection.FixedSelector([0, 2]), ff.StandardForestClassifier(3)).fit(X, y)
    assert expected_purchases(panel)[0] == [1, 0, 1]


def test_trees_as_text(run, place, fit_options, model):
    shown = run("inspect", model, "--tree", "0", "--depth", "2").stdout
    assert "Tree 0" in shown
    assert "yes: " in shown
    assert "answers below" in shown or "rows)" in shown
    assert run("inspect", model, "--tree", "999").exit_code == 2
    more = ["--budget", "2", "-m", "panel", "-o", "panel.ff", "--json"]
    run("fit", "people.csv", *fit_options, *more)
    text = json.loads(run("inspect", "panel.ff", "--tree", "0", "--json").stdout)["trees"]["0"]
    assert "smoker in " in text
    assert "age <= " in text
    assert "%" in text


def test_datasets(run, place):
    shown = run("datasets", "--folder", place).stdout
    assert "breast_cancer is always there" in shown
    np.savez("mine.npz", X=np.eye(3), y=[0, 1, 0])
    assert json.loads(run("datasets", "--folder", place, "--json").stdout)["datasets"] == ["breast_cancer", "mine"]
    assert "3 rows x 3 features" in run("datasets", "mine", "--folder", place).stdout
    assert run("datasets", "mine", "--folder", place, "-o", "mine.csv").exit_code == 0
    assert csv.read_csv("mine.csv").column_names == ["x0", "x1", "x2", "target"]
    result = run("datasets", "yours", "--folder", place)
    assert (result.exit_code, "there is no yours.npz" in result.stderr) == (2, True)
    assert run("datasets", "mine", "--folder", place, "-o", "mine.xlsx").exit_code == 2


def test_datasets_that_can_be_fetched(run, place, monkeypatch):
    assert "From OpenML, with --fetch: ada_agnostic, " in run("datasets", "--folder", place).stdout
    np.savez("spambase.npz", X=np.eye(3), y=[0, 1, 0])
    assert "3 rows x 3 features" in run("datasets", "spambase", "--fetch", "--folder", place).stdout  # it is there
    assert "spambase" not in json.loads(run("datasets", "--folder", place, "--json").stdout)["fetchable"]

    def unreachable(*_, **__):
        raise OSError("no network here")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", unreachable)
    for name, message in (("sonar", "no network here"), ("yours", "'yours' cannot be fetched; these can: ")):
        result = run("datasets", name, "--fetch", "--folder", place)
        assert (result.exit_code, message in result.stderr) == (2, True)
    assert "give its name" in run("datasets", "--fetch").stderr


def test_a_written_dataset_can_be_fitted(run, place):
    shown = run("datasets", "breast_cancer", "-o", "cancer.csv").stdout
    assert "frugalforest fit cancer.csv --target target --costs cancer.costs.csv" in shown
    options = (
        "-t",
        "target",
        "-c",
        "cancer.costs.csv",
        "-m",
        "budget-forest",
        "--budget",
        "5",
        "--trees",
        "4",
        "--json",
    )
    found = json.loads(run("fit", "cancer.csv", *options).stdout)
    assert found["cost_of_everything"] == pytest.approx(33.7)
    assert ff.FeatureCosts.from_csv("cancer.costs.csv") == ff.datasets.load_breast_cancer().feature_costs


def test_reproduce_runs_the_study_of_a_checkout(run, place, capfd):
    (place / "studies" / "mini").mkdir(parents=True)
    for folder in ("studies", "studies/mini"):
        (place / folder / "__init__.py").touch()
    (place / "studies" / "mini" / "run.py").write_text("import sys; print('ran', sys.argv[1:]); sys.exit(7)")
    assert json.loads(run("reproduce", "--json").stdout)["studies"] == ["mini"]
    result = run("reproduce", "mini", "--quick")
    assert result.exit_code == 7
    assert "ran ['--quick']" in capfd.readouterr().out
    result = run("reproduce", "other")
    assert (result.exit_code, "there is no study 'other'" in result.stderr) == (2, True)


def test_reproduce_without_a_checkout(run, place, tmp_path_factory):
    empty = tmp_path_factory.mktemp("empty")
    result = run("reproduce", "mini", "--checkout", empty)
    assert result.exit_code == 2
    assert "come with the source of frugalforest" in result.stderr
