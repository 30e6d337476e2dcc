"""Other ways to store a model that users of scikit-learn know: pickle, joblib, skops."""

from __future__ import annotations

import copy
import pickle

import joblib
import numpy as np
import pytest

from frugalforest.persistence import load, save
from frugalforest.persistence.archive import read_archive
from persistence.models import CASES, answers, case, same

every_case = pytest.mark.parametrize("name", CASES)


def assert_the_same_model(model, back, X, tmp_path):
    """The same answers, and the same model file."""
    assert same(answers(model, X), answers(back, X))
    save(model, tmp_path / "model.ff")
    save(back, tmp_path / "back.ff")
    assert read_archive(tmp_path / "model.ff").checksum() == read_archive(tmp_path / "back.ff").checksum()


@every_case
def test_pickle_and_copies(name, tmp_path):
    model, X = case(name)
    for back in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert_the_same_model(model, back, X, tmp_path)


@every_case
@pytest.mark.parametrize("options", [{}, {"mmap_mode": "r"}], ids=["in memory", "on disk"])
def test_joblib(name, options, tmp_path):
    model, X = case(name)
    joblib.dump(model, tmp_path / "model.joblib")
    assert_the_same_model(model, joblib.load(tmp_path / "model.joblib", **options), X, tmp_path)


@every_case
def test_a_loaded_model_can_be_pickled(name, tmp_path):
    model, X = case(name)
    save(model, tmp_path / "loaded.ff")
    loaded = load(tmp_path / "loaded.ff")
    data = pickle.dumps(loaded)
    # Views are pickled as what they show, not as what they are part of; what a model shares, a file holds twice.
    assert len(data) < 3 * len(pickle.dumps(model))
    assert_the_same_model(model, pickle.loads(data), X, tmp_path)


@every_case
def test_skops(name, tmp_path):
    skops = pytest.importorskip("skops.io")
    model, X = case(name)
    data = skops.dumps(model)
    types = skops.get_untrusted_types(data=data)
    assert all(type_.startswith(("frugalforest.", "persistence.models.")) for type_ in types)
    assert_the_same_model(model, skops.loads(data, trusted=types), X, tmp_path)


def test_skops_trusts_nothing_of_ours_by_itself():
    skops = pytest.importorskip("skops.io")
    with pytest.raises(skops.exceptions.UntrustedTypesFoundException):
        skops.loads(skops.dumps(case("standard").model))


def test_skops_keeps_prices(tmp_path):
    skops = pytest.importorskip("skops.io")
    model = case("budget").model
    data = skops.dumps(model)
    back = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    assert back.feature_costs_ == model.feature_costs_
    assert np.array_equal(back.at_budget(2.0).predict(case("budget").X), model.at_budget(2.0).predict(case("budget").X))
