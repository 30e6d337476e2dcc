"""Files that are not model files, or no longer: one clear error, and nothing large is allocated."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import frugalforest as ff
from frugalforest.persistence import ModelFileError, load, save
from frugalforest.persistence.archive import NAMES, VERSION, read_archive
from persistence.models import answers, case, same


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "model.ff"
    save(case("standard").model, path)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.ff"


def entries(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(parts: list[tuple[str | zipfile.ZipInfo, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in parts:
            archive.writestr(name, content, method)
    return buffer.getvalue()


def refused(path: Path, data: bytes, what: str) -> str:
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=what) as caught:
        load(path)
    assert str(caught.value).startswith(f"'{path}' cannot be loaded: ")
    return str(caught.value)


# ---- what a file is


def test_any_zip_tool_can_look_inside(good):
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        assert archive.testzip() is None
        assert tuple(archive.namelist()) == NAMES
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert json.loads(archive.read("model.json")).keys() == {"arrays", "model"}


def test_the_checksum_is_the_documented_one(good):
    parts = entries(good)
    text = b"frugalforest model 1\n"
    for name in NAMES[1:]:
        text += f"{name} {len(parts[name])}\n".encode() + parts[name]
    head = {"format": "frugalforest model", "sha256": hashlib.sha256(text).hexdigest(), "version": 1}
    assert json.loads(parts["format.json"]) == head


def test_an_archive_that_was_packed_again_is_read_if_nothing_changed(good, path):
    path.write_bytes(zipped(list(entries(good).items())))
    assert same(answers(load(path), case("standard").X), answers(*case("standard")))


def test_archives_of_more_than_2_gb_have_a_longer_end(path, monkeypatch):
    X = case("standard").X
    model = ff.StandardForestClassifier(n_estimators=50, random_state=0).fit(X, np.arange(len(X)) % 2)
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 3000)  # as if 2 GB were 3 kB
    save(model, path)
    assert b"PK\6\6" in path.read_bytes()
    assert same(answers(load(path), X), answers(model, X))


# ---- other files


def pickled() -> bytes:
    return pickle.dumps({"a": 1})


def numpy_archive() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, x=np.arange(3))
    return buffer.getvalue()


OTHER_FILES = {
    "empty": b"",
    "one byte": b"P",
    "text": b"feature,cost\nage,1\n" * 20,
    "a pickle": pickled(),
    "a numpy archive": numpy_archive(),
    "an empty zip": zipped([]),
    "another zip": zipped([("format.txt", b"frugalforest model"), ("model.json", b"{}")]),
    "another format.json": zipped([("format.json", b'{"format": "else"}')]),
    "no object in format.json": zipped([("format.json", b"[]")]),
    "no JSON in format.json": zipped([("format.json", b"\xff\xfe{")]),
    "deep JSON in format.json": zipped([("format.json", b"[" * 900)]),
    "zeros": bytes(5000),
}


@pytest.mark.parametrize("data", OTHER_FILES.values(), ids=OTHER_FILES)
def test_other_files_are_told_apart(data, path):
    refused(path, data, r"it is not a model file of frugalforest; those are written by model\.save\(path\)\.")


def test_a_pickle_in_disguise_is_not_run(path, tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "run"),)

    refused(path, pickle.dumps(Evil()), "not a model file")
    refused(path, zipped([("format.json", pickle.dumps(Evil()))]), "not a model file")
    assert not (tmp_path / "run").exists()


def test_places_without_a_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"model\.ff"):
        load(tmp_path / "model.ff")
    with pytest.raises(ModelFileError, match="it is a folder"):
        load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    for endless in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ModelFileError, match="it is a device or a pipe; copy the model into a file first"):
            load(endless)


# ---- damaged files


def test_every_beginning_of_a_file_is_refused(good, path):
    for length in [*range(0, len(good) - 300, 7), *range(len(good) - 300, len(good))]:
        refused(path, good[:length], "it is damaged: .* Get another copy|it is not a model file")


def test_whatever_is_added_is_refused(good, path):
    for more in (b"\0", b"PK\5\6" + bytes(18), good, bytes(10**6)):
        refused(path, good + more, "it has no proper end")


def test_changing_any_byte_changes_nothing_or_is_refused(good, path):
    expected = answers(*case("standard"))
    n_loaded = 0
    for place in range(len(good)):
        data = bytearray(good)
        data[place] ^= 0x55
        path.write_bytes(data)
        try:
            model = load(path)
        except ModelFileError:
            continue
        n_loaded += 1
        assert same(answers(model, case("standard").X), expected)
    assert 50 < n_loaded < 300  # times, checksums and attributes of the zip archive; nothing of the model


def with_head(good: bytes, **changes) -> bytes:
    parts = entries(good)
    parts["format.json"] = json.dumps({**json.loads(parts["format.json"]), **changes}).encode()
    return zipped(list(parts.items()))


def test_files_of_later_versions(good, path):
    message = refused(path, with_head(good, version=VERSION + 1), "a newer frugalforest wrote it")
    assert message.endswith(
        f"its format has version {VERSION + 1}, this one reads up to {VERSION}. Update frugalforest."
    )
    only_head = [("format.json", json.dumps({"format": "frugalforest model", "version": 99}).encode())]
    refused(path, zipped(only_head), "a newer frugalforest wrote it: its format has version 99")


@pytest.mark.parametrize("version", [0, -1, "1", None, 1.0, [], True])
def test_versions_that_are_none(version, good, path):
    refused(path, with_head(good, version=version), "the version of its format is not a number|checksum")


@pytest.mark.parametrize("checksum", ["", "0" * 64, None, 3])
def test_other_checksums(checksum, good, path):
    refused(path, with_head(good, sha256=checksum), "its checksum does not fit its contents")


def archive_with(good: bytes, case_name: str) -> bytes:
    head, model, arrays = entries(good).items()
    link = zipfile.ZipInfo("model.json")
    link.external_attr = 0o120777 << 16
    return {
        "entries in another order": zipped([head, arrays, model]),
        "a missing entry": zipped([head, model]),
        "an entry twice": zipped([head, model, ("model.json", b"{}"), arrays]),
        "the first entry twice": zipped([head, head, model, arrays]),
        "the last entry twice": zipped([head, model, arrays, ("arrays.bin", b"")]),
        "a further entry": zipped([head, model, arrays, ("run.py", b"print(1)")]),
        "a way out of the folder": zipped([head, ("../model.json", model[1]), arrays]),
        "an absolute name": zipped([head, ("/model.json", model[1]), arrays]),
        "a link": zipped([head, (link, b"/etc/passwd"), arrays]),
        "entries that are not packed": zipped([head, model, arrays], zipfile.ZIP_STORED),
        "entries packed otherwise": zipped([head, model, arrays], zipfile.ZIP_BZIP2),
        "another model": zipped([head, ("model.json", model[1].replace(b'"gini"', b'"ginI"')), arrays]),
    }[case_name]


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
@pytest.mark.parametrize(
    ("case_name", "what"),
    [
        ("entries in another order", r"model\.json is not where it should be"),
        ("a missing entry", r"arrays\.bin is not where it should be"),
        ("an entry twice", r"arrays\.bin is not where it should be"),
        ("the first entry twice", r"model\.json is not where it should be"),
        ("the last entry twice", "it has no proper end"),
        ("a further entry", "it has no proper end"),
        ("a way out of the folder", r"model\.json is not where it should be"),
        ("an absolute name", r"model\.json is not where it should be"),
        ("a link", "its checksum does not fit its contents"),
        ("entries that are not packed", r"format\.json is encrypted, or packed in another way"),
        ("entries packed otherwise", r"format\.json is encrypted, or packed in another way"),
        ("another model", "its checksum does not fit its contents"),
    ],
)
def test_other_archives(case_name, what, good, path):
    refused(path, archive_with(good, case_name), f"it is damaged: {what}")


@pytest.mark.parametrize("flags", [0x1, 0x8, 0x20, 0x41, 0x800, 0xFFFF])
def test_flags_such_as_encryption_are_refused(flags, good, path):
    data = bytearray(good)
    struct.pack_into("<H", data, 6, flags)
    refused(path, bytes(data), r"format\.json is encrypted, or packed in another way than by model\.save")


# ---- files that are larger inside


def test_sizes_in_headers_are_not_believed(good, path):
    for size in (0, 1, 2**31, 2**32 - 1):
        data = bytearray(good)
        struct.pack_into("<II", data, 18, size, size)
        path.write_bytes(data)
        assert same(answers(load(path), case("standard").X), answers(*case("standard")))


@pytest.mark.parametrize(
    ("name", "n_bytes", "most_megabytes"),
    [("format.json", 10**7, 1), ("model.json", 2 * 10**7, 12), ("arrays.bin", 10**8, 170)],
)
def test_bombs_are_left_alone(name, n_bytes, most_megabytes, good, path):
    parts = entries(good)
    parts[name] += bytes(n_bytes)
    path.write_bytes(zipped(list(parts.items())))
    assert path.stat().st_size < n_bytes / 500
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=f"{name} has more than [0-9,]+ bytes when unpacked"):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < most_megabytes * 2**20
    finally:
        tracemalloc.stop()


def test_the_limit_can_be_set(good, path):
    path.write_bytes(good)
    contents = read_archive(path)
    size = len(contents.model) + len(contents.joined_arrays())
    with pytest.raises(ModelFileError, match="If you trust it, give load a larger max_bytes"):
        load(path, max_bytes=size - 1)
    assert same(answers(load(path, max_bytes=size), case("standard").X), answers(*case("standard")))


def test_shared_arrays_count_as_often_as_they_are_used(path):
    save(case("budget").model, path)  # whose forest is part of one of its variants
    contents = read_archive(path)
    size = len(contents.model) + len(contents.joined_arrays())
    with pytest.raises(ModelFileError, match=r"its arrays are unusually large .* give load a larger max_bytes"):
        load(path, max_bytes=size)
    load(path, max_bytes=2 * size)
