"""Data sets from OpenML, fetched once and kept as a file that `load` reads.

scikit-learn fetches, and checks the file against the checksum that OpenML gives for it. What arrives must then have the
rows, features and class sizes that we know: another version of the data under the same number is refused.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.datasets.dataset import Dataset
from frugalforest.datasets.local import VARIABLE, PathLike, data_folder, load


@dataclass(frozen=True)
class Source:
    """A data set at OpenML: its number, and what has to arrive."""

    data_id: int
    n_features: int
    class_sizes: tuple[int, ...]  # rows of class 0, 1, ...


# Sets of numbers only, so that nothing has to be coded. Class sizes are those of UCI, and of the files of the papers.
SOURCES = {
    "ada_agnostic": Source(1043, 48, (3430, 1132)),
    "analcatdata_authorship": Source(458, 70, (317, 296, 55, 173)),
    "covtype": Source(1596, 54, (211840, 283301, 35754, 2747, 9493, 17367, 20510)),
    "ionosphere": Source(59, 34, (126, 225)),
    "mfeat_pix": Source(20, 240, (200,) * 10),
    "miniboone": Source(41150, 50, (36499, 93565)),
    "pima": Source(37, 8, (500, 268)),
    "qsar_biodeg": Source(1494, 41, (699, 356)),
    "sonar": Source(40, 60, (97, 111)),
    "spambase": Source(44, 57, (2788, 1813)),
    "tokyo1": Source(40705, 44, (346, 613)),
    "wdbc": Source(1510, 30, (212, 357)),
}


def fetch(name: str, data_dir: PathLike | None = None, *, as_frame: bool = False) -> Dataset:
    """Load a data set, from OpenML if it is not in the folder yet; `fetchable()` says which ones can be had.

    The folder is that of `load`; the file is written when everything has been checked. Prices do not come along: put
    `<name>.costs.csv` beside the file, or give `feature_costs` to a model.
    """
    folder = data_folder(data_dir)
    path = folder / f"{name}.npz"
    if not path.is_file():
        if name not in SOURCES:
            raise ValueError(f"{name!r} cannot be fetched; these can: {', '.join(SOURCES)}.")
        arrays = _converted(name, SOURCES[name], _download(name, SOURCES[name], folder))
        _write(path, arrays)
    return load(name, data_dir, as_frame=as_frame)


def fetchable() -> list[str]:
    """Names of the data sets that `fetch` knows."""
    return list(SOURCES)


def _download(name: str, source: Source, folder: Path) -> Any:
    from sklearn.datasets import fetch_openml

    # The parser of pandas is faster, but fails on nominal columns of numbers.
    options = {"data_home": str(folder), "as_frame": True, "parser": "liac-arff"}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of every try that failed; the last one is an error
            return fetch_openml(data_id=source.data_id, **options)
    except ImportError as error:
        raise ImportError(f"fetching {name} needs pandas: pip install pandas.") from error
    except OSError as error:  # no network, a server's answer, a folder that cannot be written
        raise OSError(
            f"{name} (OpenML {source.data_id}) could not be fetched into {folder}: {error}. Try again with a network, "
            f"put {name}.npz there yourself, or name another folder by data_dir or by {VARIABLE}."
        ) from error


def _converted(name: str, source: Source, bunch: Any) -> dict[str, NDArray[Any]]:
    """Arrays in the layout of `load`, classes in the order that we know."""
    try:
        X = bunch.data.to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} from OpenML is not made of numbers only: {error}.") from error
    classes, y = np.unique(bunch.target.astype(str).to_numpy().astype(str), return_inverse=True)
    classes, y = _in_order(classes, y, source.class_sizes)
    sizes = tuple(np.bincount(y, minlength=len(classes)).tolist())
    if X.shape[1] != source.n_features or sizes != source.class_sizes:
        raise ValueError(
            f"{name} from OpenML has {X.shape[1]} features and classes of {sizes} rows; expected {source.n_features} "
            f"and {source.class_sizes}: it is another version of the data, and was not kept."
        )
    names = np.array([str(column) for column in bunch.data.columns])
    return {"X": X, "y": y.astype(np.int64), "feature_names": names, "class_names": classes}


def _in_order(classes: NDArray[Any], y: NDArray[Any], sizes: tuple[int, ...]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Classes as they are sorted, numbers as numbers; by their sizes where that is not our order."""
    order = np.argsort(classes.astype(np.float64)) if all(map(_is_number, classes)) else np.arange(len(classes))
    found = np.bincount(y, minlength=len(classes))
    if sorted(found.tolist()) == sorted(sizes) and len(set(sizes)) == len(sizes):
        order = np.argsort(found)[np.argsort(np.argsort(sizes))]
    return classes[order], np.argsort(order)[y]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _write(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """All of the file or nothing."""
    handle, draft = tempfile.mkstemp(suffix=".npz", prefix=f".{path.stem}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # arrays by name
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
