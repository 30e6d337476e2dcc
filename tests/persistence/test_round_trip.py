"""A model that was saved and loaded is the same model; and a file is either written completely or not at all."""

from __future__ import annotations

import copy
import os
import pickle
import stat
from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError

import frugalforest as ff
from frugalforest.ensemble import Ensemble
from frugalforest.impurities import Entropy, Gini, Impurity
from frugalforest.persistence import archive, load, save
from frugalforest.persistence.archive import read_archive
from persistence.models import CASES, ScoreClassifier, answers, buy, case, patients, same

every_case = pytest.mark.parametrize("name", CASES)


def through_file(model, path):
    save(model, path)
    return load(path)


def assert_equal(first, second, where="model"):
    """Equal in type and content, all the way down."""
    assert type(first) is type(second), where
    if isinstance(first, np.ndarray):
        assert first.dtype == second.dtype, where
        assert np.array_equal(first, second, equal_nan=first.dtype.kind == "f"), where
    elif isinstance(first, tuple | list):
        assert len(first) == len(second), where
        for i, (a, b) in enumerate(zip(first, second, strict=True)):
            assert_equal(a, b, f"{where}[{i}]")
    elif isinstance(first, dict):
        assert list(first) == list(second), where
        for key in first:
            assert_equal(first[key], second[key], f"{where}[{key!r}]")
    elif is_dataclass(first):
        for f in fields(first):
            if not f.name.startswith("_"):
                assert_equal(getattr(first, f.name), getattr(second, f.name), f"{where}.{f.name}")
    elif isinstance(first, np.random.RandomState):
        assert_equal(first.get_state(), second.get_state(), where)
    elif hasattr(first, "get_params"):
        own, others = ({k: v for k, v in vars(m).items() if not k.startswith("_")} for m in (first, second))
        assert own.keys() == others.keys()
        for name in own:
            assert_equal(own[name], others[name], f"{where}.{name}")
    else:
        assert first == second or first != first, where


# ---- the same model


@every_case
def test_everything_comes_back(name, tmp_path):
    model, X = case(name)
    back = through_file(model, tmp_path / "model.ff")
    assert_equal(model, back)
    assert same(answers(model, X), answers(back, X))


@every_case
def test_the_same_model_gives_the_same_bytes(name, tmp_path):
    model, _ = case(name)
    save(model, tmp_path / "first.ff")
    save(load(tmp_path / "first.ff"), tmp_path / "second.ff")
    save(pickle.loads(pickle.dumps(model)), tmp_path / "third.ff")
    first = (tmp_path / "first.ff").read_bytes()
    assert first == (tmp_path / "second.ff").read_bytes()
    assert first == (tmp_path / "third.ff").read_bytes()


def test_what_can_be_asked_of_a_loaded_budget_forest(tmp_path):
    model, X = case("budget")
    back = through_file(model, tmp_path / "model.ff")
    assert np.array_equal(back.feature_importances_, model.feature_importances_)
    assert np.array_equal(back.importances_per_cost_, model.importances_per_cost_)
    assert np.array_equal(back.ranking_confidence(X), model.ranking_confidence(X))
    assert back.curve_.to_frame().equals(model.curve_.to_frame())
    for budget in (model.validation_cost_, 2.0, 1.2):
        assert_equal(model.at_budget(budget), back.at_budget(budget))
    _, y = patients()
    on_rows, on_rows_again = (ff.evaluation.cost_curve(m, X, y) for m in (model, back))
    assert_equal(on_rows, on_rows_again)
    assert_equal(clone(model).fit(X, y), clone(back).fit(X, y))


def test_a_model_at_another_budget_is_saved_as_it_is(tmp_path):
    model = case("budget").model.at_budget(2.0)
    assert_equal(model, through_file(model, tmp_path / "model.ff"))


def test_a_model_without_trees(tmp_path):
    X, y = patients()
    with pytest.warns(UserWarning, match="no tree fits"):
        model = ff.BudgetForestClassifier(0.01, n_estimators=2, alpha=0, random_state=0).fit(X, y)
    back = through_file(model, tmp_path / "model.ff")
    assert_equal(model, back)
    assert same(answers(model, X), answers(back, X))


LABELS = {
    "bool": np.array([False, True]),
    "int8": np.array([-1, 5], np.int8),
    "uint64": np.array([3, 2**64 - 1], np.uint64),
    "float": np.array([0.0, 2.0]),
    "float16": np.array([0, 1], np.float16),
    "big-endian": np.array([7, 9], ">i4"),
    "text": np.array(["", "ä 𝄞"]),
    "object": np.array(["yes", "no"], dtype=object),
    "dates": np.array(["2020-01-01", "2021-01-01"], "M8[D]"),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_any_type(labels, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = ff.StandardForestClassifier(n_estimators=3, random_state=0).fit(X, labels[(X[:, 0] > 0).astype(int)])
    back = through_file(model, tmp_path / "model.ff")
    assert back.classes_.dtype == model.classes_.dtype.newbyteorder("=")
    assert np.array_equal(back.predict(X), model.predict(X))


def my_impurity(counts):
    return counts[:, 0] * counts[:, 1]


PARAMETERS = {
    "costs by dict": {"feature_costs": {"a": 1, "b": np.float64(2.5), "c": 3}},
    "costs by array": {"feature_costs": np.array([1, 2, 3], np.int16)},
    "costs by list": {"feature_costs": [1, 2.5, 3]},
    "costs and groups": {"feature_costs": ff.FeatureCosts([1, 2, 3], groups={"g": ff.Group((0, 2), 0.1)})},
    "impurity": {"impurity": ff.Powers(3)},
    "impurities": {"impurity": [Gini(), Entropy(), ff.ThresholdPairs(2, offset=False)]},
    "polynomial": {"impurity": ff.Polynomial([(1.5, (1, 2)), (0, (1, 1))])},
    "alphas": {"alpha": (0, 2.5)},
    "alphas by array": {"alpha": np.array([0, 4])},
    "categorical by name": {"categorical_features": ["c"]},
    "categorical by mask": {"categorical_features": np.array([False, False, True])},
    "class weights": {"class_weight": {True: 2, np.False_: 0.5}},
    "numbers of numpy": {"n_estimators": np.int32(3), "budget": np.float32(4), "bootstrap": np.False_},
    "text of numpy": {"voting": np.str_("soft"), "class_weight": "balanced"},
    "random state": {"random_state": np.random.RandomState(5)},
}


def frame():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=80), "b": random.normal(size=80), "c": random.integers(0, 4, 80)})
    return X, ((X["a"] > 0) & (X["c"] != 2)).to_numpy()


@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)
def test_parameters_come_back_as_they_were(parameters, tmp_path):
    X, y = frame()
    usual = {"alpha": 0, "n_estimators": 3, "random_state": 1}
    model = ff.BudgetForestClassifier(**{**usual, **parameters}).fit(X, y)
    back = through_file(model, tmp_path / "model.ff")
    assert_equal(model, back)
    assert_equal(clone(model).fit(X, y), clone(back).fit(X, y))


TRANSLATED = {
    "costs by Series": (
        "feature_costs",
        pd.Series({"c": 3, "a": 1, "b": 2}),
        ff.FeatureCosts({"c": 3, "a": 1, "b": 2}),
    ),
    "costs by counted Series": ("feature_costs", pd.Series([1, 2, 3]), ff.FeatureCosts([1, 2, 3])),
    "costs by polars": ("feature_costs", pl.Series([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])),
    "categorical by Series": (
        "categorical_features",
        pd.Series([False, False, True], index=["a", "b", "c"]),
        np.array([False, False, True]),
    ),
    "categorical by Index": ("categorical_features", pd.Index(["c"]), np.array(["c"], dtype=object)),
    "categorical by set": ("categorical_features", {"c"}, {"c"}),
    "alphas by range": ("alpha", range(2), [0, 1]),
    "the common random state": ("random_state", np.random, None),
}


@pytest.mark.parametrize(("name", "given", "expected"), TRANSLATED.values(), ids=TRANSLATED)
def test_parameters_that_come_back_as_something_of_the_same_meaning(name, given, expected, tmp_path):
    X, y = frame()
    model = ff.BudgetForestClassifier(**{"alpha": 0, "n_estimators": 2, "random_state": 0, name: given}).fit(X, y)
    back = through_file(model, tmp_path / "model.ff")
    assert_equal(expected, back.get_params()[name])
    assert same(answers(model, X), answers(back, X))
    if name != "random_state":
        assert_equal(clone(model).fit(X, y).forest_, clone(back).fit(X, y).forest_)


def test_categories_of_every_kind(tmp_path):
    random = np.random.default_rng(0)
    columns = (["", "ä", "\ud800", "x"], ["a", 1, 2.5, True, None], [f"c{i}" for i in range(9)])
    X = np.column_stack([random.choice(np.array(column, dtype=object), 90) for column in columns])
    y = X[:, 2] < "c5"
    model = ff.StandardForestClassifier(n_estimators=3, random_state=0).fit(X, y)
    back = through_file(model, tmp_path / "model.ff")
    assert_equal(model, back)
    assert same(answers(model, X), answers(back, X))


def test_a_model_within_a_model(tmp_path):
    model = case("scores").model
    back = through_file(model, tmp_path / "model.ff")
    assert isinstance(back.grower, ff.StandardForestClassifier)
    assert_equal(model.grower.forest_, back.grower.forest_)


@pytest.mark.parametrize("name", ["budget", "standard", "label", "on demand"])
def test_runs_of_a_loaded_model_buy_the_same(name, tmp_path):
    model, X = case(name)
    back = through_file(model, tmp_path / "model.ff")
    rows = X[:20].to_dict("records") if isinstance(X, pd.DataFrame) else X[:20]
    for row in rows:
        assert buy(model.start(), row) == buy(back.start(), row)
    begun = model.start()
    feature = begun.next_feature()
    begun.provide(feature, rows[0][feature])
    assert buy(back.resume(begun.to_json()), rows[0]) == buy(begun, rows[0])


# ---- models of other libraries


PEERS = {
    "forest": ("sklearn.ensemble", "RandomForestClassifier", {"n_estimators": 5, "random_state": 0}),
    "histogram boosting": ("sklearn.ensemble", "HistGradientBoostingClassifier", {"max_iter": 4}),
    "a forest of ours": ("frugalforest", "StandardForestClassifier", {"n_estimators": 4}),
    "lightgbm": ("lightgbm", "LGBMClassifier", {"n_estimators": 4, "min_child_samples": 3, "verbose": -1}),
    "xgboost": ("xgboost", "XGBClassifier", {"n_estimators": 4}),
    "catboost": ("catboost", "CatBoostClassifier", {"iterations": 4, "verbose": False, "allow_writing_files": False}),
}


@pytest.mark.parametrize(("module", "name", "parameters"), PEERS.values(), ids=PEERS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_on_demand_keep_the_trees_of_other_libraries(module, name, parameters, n_classes, tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 4))
    y = (X[:, 0] > 0).astype(int) + (n_classes == 3) * (X[:, 1] > 0.5)
    X[::6, 2] = np.nan
    peer = getattr(pytest.importorskip(module), name)(**parameters)
    model = ff.OnDemand(peer.fit(X, y), feature_costs=[1, 2, 3, 4])
    back = through_file(model, tmp_path / "model.ff")
    assert isinstance(back.estimator, Ensemble)
    assert same(answers(model, X), answers(back, X))
    assert back.feature_costs_ == model.feature_costs_
    save(back, tmp_path / "again.ff")
    assert (tmp_path / "again.ff").read_bytes() == (tmp_path / "model.ff").read_bytes()


def test_categories_of_catboost_are_known_by_their_hashes(tmp_path):
    catboost = pytest.importorskip("catboost")
    X, y = patients()
    X["smoker"] = X["smoker"].astype(object)
    options = {"iterations": 4, "one_hot_max_size": 10, "verbose": False, "allow_writing_files": False}
    model = ff.OnDemand(catboost.CatBoostClassifier(cat_features=["smoker"], **options).fit(X, y))
    back = through_file(model, tmp_path / "model.ff")
    assert same(answers(model, X), answers(back, X))


def test_a_model_on_demand_without_calibration_is_calibrated_after_loading(tmp_path):
    X, y = frame()
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(X, y)
    back = through_file(ff.OnDemand(forest, stop="confidence"), tmp_path / "model.ff")
    with pytest.raises(ValueError, match="needs a threshold"):
        back.predict(X)
    assert np.array_equal(back.calibrate(X).predict(X), forest.predict(X))


# ---- what a file is like


def test_trees_that_are_shared_are_stored_once(tmp_path):
    model = case("budget").model
    assert model.n_estimators_ > 0
    save(model, tmp_path / "model.ff")
    back = load(tmp_path / "model.ff")
    assert any(np.shares_memory(back.forest_.threshold, variant.forest.threshold) for variant in back.variants_)
    forests = [variant.forest for variant in model.variants_]
    of_trees = sum(
        getattr(f, x.name).nbytes for f in forests for x in fields(f) if x.name not in ("n_features", "_cache")
    )
    rest = sum(v.nbytes for v in vars(model).values() if isinstance(v, np.ndarray) and v.dtype != object)
    assert len(read_archive(tmp_path / "model.ff").joined_arrays()) < of_trees + rest + 2000


def test_arrays_of_a_loaded_model_are_read_only(tmp_path):
    back = through_file(case("standard").model, tmp_path / "model.ff")
    for array in (back.classes_, back.class_prior_, back.forest_.threshold):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_what_is_not_stored(tmp_path):
    X, y = frame()
    model = ff.StandardForestClassifier(n_estimators=2, random_state=0).fit(X, y)
    model.note = "mine"
    model._scratch = [1]
    back = through_file(model, tmp_path / "model.ff")
    assert vars(model).keys() - vars(back).keys() == {"note", "_scratch"}


# ---- what cannot be saved


class MyImpurity(Impurity):
    def __call__(self, counts, /):
        return my_impurity(np.asarray(counts))


@pytest.mark.parametrize(
    ("impurity", "what"),
    [
        (my_impurity, r"BudgetForestClassifier\.impurity is the function my_impurity"),
        (lambda counts: my_impurity(counts), r"BudgetForestClassifier\.impurity is the function .*<lambda>"),
        ([Gini(), MyImpurity()], r"BudgetForestClassifier\.impurity\[1\] is of the class MyImpurity"),
    ],
)
def test_code_is_not_saved(impurity, what, tmp_path):
    X, y = frame()
    model = ff.BudgetForestClassifier(impurity=impurity, n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match=f"{what}, which a model file cannot hold: .* joblib"):
        save(model, tmp_path / "model.ff")
    assert os.listdir(tmp_path) == []


def test_only_fitted_models_of_ours_are_saved(tmp_path):
    X, y = frame()
    path = tmp_path / "model.ff"
    with pytest.raises(NotFittedError):
        save(ff.StandardForestClassifier(), path)
    for other in (RandomForestClassifier(n_estimators=2).fit(X, y), ff.FeatureCosts([1]), "model"):
        with pytest.raises(TypeError, match="a model file holds the classifiers of frugalforest, not a"):
            save(other, path)

    class Mine(ff.StandardForestClassifier):
        pass

    with pytest.raises(TypeError, match=r"not a .*Mine; store it with joblib"):
        save(Mine(n_estimators=2).fit(X, y), path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"voting": "loud"}, "voting is 'loud'"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"random_state": -1}, "random_state is -1"),
    ],
)
def test_a_model_that_could_not_be_loaded_is_not_saved(change, what, tmp_path):
    X, y = frame()
    model = ff.StandardForestClassifier(n_estimators=2).fit(X, y).set_params(**change)
    with pytest.raises(ValueError, match=f"not saved, since it could not be loaded again: .*{what}"):
        save(model, tmp_path / "model.ff")
    assert os.listdir(tmp_path) == []


def test_other_generators_than_the_usual_one_are_refused(tmp_path):
    X, y = frame()
    model = ff.StandardForestClassifier(n_estimators=2, random_state=np.random.RandomState(np.random.PCG64(0)))
    with pytest.raises(TypeError, match="random_state draws from PCG64; give one of MT19937, or a number"):
        save(model.fit(X, y), tmp_path / "model.ff")


def test_a_list_that_holds_itself_is_refused(tmp_path):
    X, y = frame()
    endless = []
    endless.append(endless)
    model = ff.StandardForestClassifier(n_estimators=2).fit(X, y).set_params(class_weight=endless)
    with pytest.raises(TypeError, match="nested too deeply"):
        save(model, tmp_path / "model.ff")


# ---- completely or not at all


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["_write_entry", "os.fsync", "os.replace"])
def test_ctrl_c_leaves_the_earlier_file_as_it_was(step, tmp_path, monkeypatch):
    path = tmp_path / "model.ff"
    save(case("standard").model, path)
    before = path.read_bytes()
    monkeypatch.setattr(f"{archive.__name__}.{step}", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(case("budget").model, path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.ff"]


def test_a_full_disk_leaves_the_earlier_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "model.ff"
    save(case("standard").model, path)
    before, n_written = path.read_bytes(), []
    write = archive._write_entry

    def write_some(file, name, parts):
        n_written.append(name)
        if len(n_written) == 3:
            raise OSError("No space left on device")
        write(file, name, parts)

    monkeypatch.setattr(archive, "_write_entry", write_some)
    with pytest.raises(OSError, match="No space"):
        save(case("budget").model, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.ff"]


def test_a_file_is_replaced_with_its_rights_and_through_links(tmp_path):
    path, link = tmp_path / "model.ff", tmp_path / "link.ff"
    save(case("standard").model, path)
    path.chmod(0o640)
    link.symlink_to(path)
    save(case("scores").model, link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert isinstance(load(path), ScoreClassifier)


def test_a_new_file_has_the_usual_rights(tmp_path):
    (tmp_path / "usual").touch()
    save(case("standard").model, tmp_path / "model.ff")
    assert (tmp_path / "model.ff").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_places_that_cannot_be_written_to(tmp_path, monkeypatch):
    model = case("standard").model
    with pytest.raises(IsADirectoryError, match="give the name of a file"):
        save(model, tmp_path)
    with pytest.raises(FileNotFoundError):
        save(model, tmp_path / "no such folder" / "model.ff")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(IsADirectoryError, match="a folder or a device"):
        save(model, tmp_path / "pipe")
    save(model, tmp_path / "model.ff")
    monkeypatch.setattr(os, "access", lambda *_: False)  # a superuser may write anything
    with pytest.raises(PermissionError, match="may not be written; remove it, or give another name"):
        save(model, tmp_path / "model.ff")


def test_saving_does_not_change_the_model(tmp_path):
    model = copy.deepcopy(case("budget").model)
    save(case("budget").model, tmp_path / "model.ff")
    assert_equal(model, case("budget").model)
