"""Loaders: a folder of .npz files with prices beside them, and the breast cancer data with made-up prices."""

import zipfile

import numpy as np
import pandas as pd
import pytest

from frugalforest import datasets
from frugalforest.costs import FeatureCosts, Group
from frugalforest.datasets import Dataset, available, data_folder, load, load_breast_cancer, load_costs, local


@pytest.fixture
def folder(tmp_path):
    """A folder with one data set, `clinic`, and its prices (in another order than its columns)."""
    arrays = {"X": np.arange(6.0).reshape(3, 2), "y": np.array([0, 1, 1]), "feature_names": np.array(["age", "ldl"])}
    np.savez(tmp_path / "clinic.npz", **arrays, class_names=np.array(["well", "ill"]), visit=np.array([1, 1, 2]))
    (tmp_path / "clinic.costs.csv").write_text("feature,cost\nldl,7.27\nage,1\n")
    return tmp_path


# ---- a folder of your own


def test_a_data_set_comes_with_names_prices_and_extras(folder):
    clinic = load("clinic", folder)
    assert isinstance(clinic, Dataset)
    assert clinic.X.shape == (3, 2)
    assert clinic.y.tolist() == [0, 1, 1]
    assert clinic.feature_names == ("age", "ldl")
    assert clinic.class_names == ("well", "ill")
    assert clinic.feature_costs == FeatureCosts({"age": 1, "ldl": 7.27})
    assert clinic.extras["visit"].tolist() == [1, 1, 2]
    assert repr(clinic) == "Dataset(clinic: 3 rows x 2 features, 2 classes, total cost 8.27, extras: visit)"


def test_costs_names_and_classes_are_optional(folder):
    np.savez(folder / "plain.npz", X=np.ones((2, 3)), y=np.array([0.5, 1.5]))
    plain = load("plain", folder)
    assert (plain.feature_names, plain.class_names, plain.feature_costs, plain.extras) == (None, None, None, {})
    assert repr(plain) == "Dataset(plain: 2 rows x 3 features, y float64, no costs)"
    assert load("plain", folder, as_frame=True).X.columns.tolist() == [0, 1, 2]


def test_as_frame_gives_columns_with_names(folder):
    frame = load("clinic", folder, as_frame=True).X
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == ["age", "ldl"]


def test_a_price_list_can_be_loaded_alone(folder):
    assert load_costs("clinic", folder).of("ldl") == 7.27
    with pytest.raises(FileNotFoundError, match=r"no yahoo\.costs\.csv in .* Found there: clinic\."):
        load_costs("yahoo", folder)


def test_available_lists_what_can_be_loaded(folder):
    np.savez(folder / "pictures.npz", data=np.zeros(3))
    (folder / "broken.npz").write_bytes(b"not an archive")
    assert available(folder) == ["clinic"]
    assert available(folder / "nowhere") == []


def test_the_folder_is_the_argument_then_the_variable_then_the_cache(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("FRUGALFOREST_DATA", str(folder))
    assert load("clinic").y.tolist() == [0, 1, 1]
    assert data_folder("elsewhere").name == "elsewhere"
    monkeypatch.setenv("FRUGALFOREST_DATA", "")
    monkeypatch.setattr(local.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_folder() == tmp_path / "frugalforest"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_folder().parts[-2:] == (".cache", "frugalforest")
    monkeypatch.setattr(local.sys, "platform", "darwin")
    assert data_folder().parts[-3:] == ("Library", "Caches", "frugalforest")
    monkeypatch.setattr(local.sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert data_folder() == tmp_path / "frugalforest" / "Cache"


def test_a_missing_data_set_says_where_it_looked_and_what_is_there(folder):
    message = r"no covtype\.npz in .*data_dir or by .* FRUGALFOREST_DATA\. Found there: clinic\..*load_breast_cancer"
    with pytest.raises(FileNotFoundError, match=message):
        load("covtype", folder)
    with pytest.raises(FileNotFoundError, match="Found there: nothing"):
        load("covtype", folder / "nowhere")


@pytest.mark.parametrize("name", ["../clinic", "a/b", "", ".hidden", "a\\b"])
def test_a_name_is_not_a_path(folder, name):
    with pytest.raises(ValueError, match="give the name alone"):
        load(name, folder)


# ---- files that are not to be trusted


def test_a_file_that_unpacks_to_too_much_is_refused_unread(folder, monkeypatch):
    with zipfile.ZipFile(folder / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", b"\0" * 10**6)
        archive.writestr("y.npy", b"")
    monkeypatch.setattr(local, "MAX_BYTES", 10**5)
    with pytest.raises(ValueError, match="unpacks to 1000000 bytes, more than the limit of 100000"):
        load("bomb", folder)


def test_pickles_are_refused(folder):
    np.savez(folder / "sly.npz", X=np.array([[print]], dtype=object), y=np.zeros(1))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        load("sly", folder)


def test_other_files_are_refused(folder):
    np.savez(folder / "pictures.npz", data=np.zeros(3), offset=np.zeros(2))
    with pytest.raises(ValueError, match=r"must hold the arrays X and y.* it holds data, offset"):
        load("pictures", folder)
    (folder / "broken.npz").write_bytes(b"not an archive")
    with pytest.raises(ValueError, match="it holds nothing that can be read"):
        load("broken", folder)
    damaged = bytearray((folder / "clinic.npz").read_bytes())
    damaged[150] ^= 0xFF  # in the values of X
    (folder / "damaged.npz").write_bytes(damaged)
    with pytest.raises(ValueError, match=r"damaged\.npz is damaged .* copy it again"):
        load("damaged", folder)


@pytest.mark.parametrize(
    "arrays",
    [
        {"X": np.zeros(3), "y": np.zeros(3)},
        {"X": np.zeros((3, 2)), "y": np.zeros(2)},
        {"X": np.zeros((3, 2)), "y": np.zeros(3), "feature_names": np.array(["a"])},
    ],
)
def test_shapes_must_fit(folder, arrays):
    np.savez(folder / "odd.npz", **arrays)
    with pytest.raises(ValueError, match="do not fit together"):
        load("odd", folder)


# ---- real data


def test_real_data_sets(data_dir):
    names = available(data_dir)
    assert {"pima", "covtype", "wdbc"} <= set(names)
    pima = load("pima", data_dir)
    assert pima.X.shape == (768, 8)
    assert pima.feature_costs.of(["glucose_tol", "insulin"]) == 38.29
    assert load("mq2008", data_dir).extras["qid"].shape == (15211,)
    assert load("wdbc", data_dir).feature_costs is None
    for name in ("bupa", "heart_cleveland", "hepatitis"):
        assert load(name, data_dir).feature_costs.feature_names == load(name, data_dir).feature_names


# ---- always there


def test_breast_cancer_prices_share_each_measurement():
    cancer = load_breast_cancer()
    costs = cancer.feature_costs
    assert cancer.X.shape == (569, 30)
    assert np.bincount(cancer.y).tolist() == [212, 357]
    assert cancer.class_names == ("malignant", "benign")
    assert costs.feature_names == cancer.feature_names
    assert costs.groups["radius"] == Group(("mean_radius", "radius_error", "worst_radius"), 1.0)
    assert all(len(group.members) == 3 for group in costs.groups.values())
    assert len(costs.groups) == 10
    assert costs.of("mean_radius") == 1.1
    assert costs.of(["mean_radius", "worst_radius"]) == 1.25
    assert costs.of("concave_points_error") == 3.75
    assert costs.total == 33.7


def test_breast_cancer_as_a_frame():
    frame = load_breast_cancer(as_frame=True).X
    assert frame.columns[0] == "mean_radius"
    assert "worst_fractal_dimension" in frame


def test_everything_public_is_exported():
    assert all(hasattr(datasets, name) for name in datasets.__all__)


# ---- simulated settings


@pytest.mark.parametrize("setting", ["A", "B", "C", "D"])
def test_simulated_settings_have_the_population_they_say(setting):
    from frugalforest.datasets.simulated import jagdhuber_population

    X, y, costs = datasets.make_jagdhuber(setting, 20_000, random_state=0)
    population = jagdhuber_population(setting, 0)
    assert X.shape == (20_000, 200)
    assert costs == population.costs
    assert costs.own.min() >= 0.1
    assert costs.own.max() <= 1
    assert np.abs(population.effects).max() <= 1
    assert np.count_nonzero(population.effects) == 100
    assert 0.38 < population.effects[:100].std() < 0.5  # 0.5, cut off at 1: 0.44
    difference = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    np.testing.assert_allclose(difference, population.effects, atol=0.07)
    correlation = np.corrcoef(X[y == 0], rowvar=False)
    expected = np.eye(200) if population.root is None else population.root @ population.root.T
    np.testing.assert_allclose(correlation, expected, atol=0.06)
    assert (np.count_nonzero(expected, axis=1) == (1 if setting in "AB" else 10)).all()
    follows = np.corrcoef(costs.own, np.abs(population.effects))[0, 1]
    assert (follows > 0.6) == (setting in "BD")


def test_simulated_rows_of_two_seeds_share_a_population():
    X, y, costs = datasets.make_jagdhuber("D", 50, random_state=1)
    other, _, same_costs = datasets.make_jagdhuber("D", 50, random_state=2)
    again, y_again, _ = datasets.make_jagdhuber("D", 50, random_state=1)
    assert np.array_equal(X, again)
    assert np.array_equal(y, y_again)
    assert not np.array_equal(X, other)
    assert costs == same_costs != datasets.make_jagdhuber("D", 5, design_seed=1)[2]
    with pytest.raises(ValueError, match="setting is 'E'"):
        datasets.make_jagdhuber("E")
