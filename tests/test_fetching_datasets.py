"""Data sets from OpenML: what arrives is checked, converted and kept; OpenML itself is played by a function."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from urllib.error import URLError

import numpy as np
import pytest

from frugalforest.datasets import fetch, fetchable, load, remote

pytest.importorskip("pandas")

ARFF = """@RELATION clinic
@ATTRIBUTE age NUMERIC
@ATTRIBUTE smokes {0, 1}
@ATTRIBUTE state {well, ill}
@DATA
41.5,0,well
?,1,ill
63,1,ill
"""
CLINIC = remote.Source(data_id=4711, n_features=2, class_sizes=(1, 2))


class Answer(io.BytesIO):
    """What urlopen gives back: bytes, and that they are packed."""

    def info(self):
        return {"Content-Encoding": "gzip"}


class OpenML:
    """Answers scikit-learn's questions about one data set, and counts them."""

    def __init__(self, arff=ARFF, checksum=None):
        self.asked = 0
        self.arff = arff
        checksum = checksum or hashlib.md5(arff.encode()).hexdigest()
        about = {"id": "4711", "name": "clinic", "version": "1", "format": "ARFF", "file_id": "7", "status": "active"}
        about |= {"description": "Three visitors."}
        about |= {"url": "https://www.openml.org/data/v1/download/7/clinic.arff", "md5_checksum": checksum}
        self.about = {"data_set_description": about | {"default_target_attribute": "state"}}
        kinds = {"age": "numeric", "smokes": "nominal", "state": "nominal"}
        flags = {"is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
        self.features = [
            {"index": str(i), "name": name, "data_type": kind, "is_target": str(name == "state").lower(), **flags}
            for i, (name, kind) in enumerate(kinds.items())
        ]

    def __call__(self, request, *_, **__):
        self.asked += 1
        url = request if isinstance(request, str) else request.full_url
        if "features" in url:
            text = json.dumps({"data_features": {"feature": self.features}})
        elif "qualities" in url:
            text = json.dumps({"data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "3.0"}]}})
        elif "download" in url:
            text = self.arff
        else:
            text = json.dumps(self.about)
        return Answer(gzip.compress(text.encode()))


@pytest.fixture
def play(monkeypatch):
    """Puts an OpenML in the place of the network, and a data set of three rows among those we know."""
    monkeypatch.setitem(remote.SOURCES, "clinic", CLINIC)

    def start(openml):
        monkeypatch.setattr("sklearn.datasets._openml.urlopen", openml)
        return openml

    return start


def test_a_data_set_is_fetched_once_and_kept(play, tmp_path):
    openml = play(OpenML())
    first = fetch("clinic", tmp_path)
    assert first.feature_names == ("age", "smokes")
    assert first.class_names == ("well", "ill")  # by the sizes we know, not by the alphabet
    assert np.array_equal(first.X, [[41.5, 0], [np.nan, 1], [63, 1]], equal_nan=True)
    assert first.y.tolist() == [0, 1, 1]
    n_asked = openml.asked
    assert n_asked > 0
    assert np.array_equal(fetch("clinic", tmp_path).X, first.X, equal_nan=True)
    assert load("clinic", tmp_path, as_frame=True).X.columns.tolist() == ["age", "smokes"]
    assert openml.asked == n_asked


def test_a_folder_that_is_not_there_is_made(play, tmp_path):
    play(OpenML())
    assert fetch("clinic", tmp_path / "new" / "folder").X.shape == (3, 2)


def test_a_damaged_file_is_refused(play, tmp_path):
    play(OpenML(checksum="0" * 32))
    with pytest.raises(ValueError, match="md5 checksum"):
        fetch("clinic", tmp_path)
    assert not list(tmp_path.glob("*.npz"))


@pytest.mark.parametrize(
    ("arff", "message"),
    [
        (ARFF + "50,0,ill\n", r"classes of \(3, 1\) rows; expected 2 and \(1, 2\): it is another version"),
        (ARFF.replace("{0, 1}", "{no, yes}").replace(",0,", ",no,").replace(",1,", ",yes,"), "not made of numbers"),
    ],
)
def test_another_version_is_refused_and_nothing_is_kept(arff, message, play, tmp_path):
    play(OpenML(arff))
    with pytest.raises(ValueError, match=message):
        fetch("clinic", tmp_path)
    assert not list(tmp_path.glob("*.npz"))


def test_without_a_network_the_way_out_is_named(play, tmp_path):
    def unreachable(*_, **__):
        raise URLError("Name or service not known")

    play(unreachable)
    with pytest.raises(OSError, match=r"clinic \(OpenML 4711\) could not be fetched .* put clinic\.npz there yourself"):
        fetch("clinic", tmp_path)


def test_an_interrupted_write_leaves_nothing(play, tmp_path, monkeypatch):
    play(OpenML())

    def full(*_, **__):
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="No space left"):
        fetch("clinic", tmp_path)
    assert not list(tmp_path.glob("*.npz")) + list(tmp_path.glob(".*.npz"))


def test_unknown_names_list_what_can_be_had(tmp_path):
    with pytest.raises(ValueError, match="'nothing' cannot be fetched; these can: ada_agnostic, "):
        fetch("nothing", tmp_path)
    assert "spambase" in fetchable()


def test_what_is_in_the_folder_is_never_fetched(tmp_path):
    np.savez(tmp_path / "own.npz", X=np.ones((2, 1)), y=np.array([0, 1]))
    assert fetch("own", tmp_path).X.shape == (2, 1)


@pytest.mark.parametrize("name", [name for name in fetchable() if name not in ("miniboone", "ada_agnostic")])
def test_sizes_are_those_of_the_files_at_hand(name, data_dir):
    data, source = load(name, data_dir), remote.SOURCES[name]
    assert data.X.shape == (sum(source.class_sizes), source.n_features)
    assert tuple(np.bincount(data.y)) == source.class_sizes
