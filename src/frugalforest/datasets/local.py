"""Data sets from a folder: `<name>.npz` with X, y and feature_names, and `<name>.costs.csv` beside it."""

from __future__ import annotations

import os
import re
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts, resolve_costs
from frugalforest.datasets.dataset import Dataset

VARIABLE = "FRUGALFOREST_DATA"
MAX_BYTES = 4 * 2**30  # a file that would unpack to more than 4 GiB is refused before anything is unpacked

PathLike = str | os.PathLike[str]


def load(name: str, data_dir: PathLike | None = None, *, as_frame: bool = False) -> Dataset:
    """Load a data set by name from `data_dir`, else from FRUGALFOREST_DATA, else from the user's cache folder.

    `<name>.npz` has X (n_rows, n_features) and y (n_rows,), usually feature_names and class_names; further arrays
    become `extras`. The prices in `<name>.costs.csv`, if it is there, are put in the order of the columns.
    Pickles, and files that unpack to more than 4 GiB, are refused.
    """
    arrays = _read_arrays(_find(name, ".npz", data_dir))
    X, y = arrays.pop("X"), arrays.pop("y")
    feature_names, class_names = (_as_names(arrays.pop(key, None)) for key in ("feature_names", "class_names"))
    _check_shapes(name, X, y, feature_names)
    costs = None
    if (data_folder(data_dir) / f"{name}.costs.csv").is_file():
        costs = resolve_costs(load_costs(name, data_dir), X.shape[1], feature_names)
    dataset = Dataset(name, X, y, feature_names, class_names, costs, arrays)
    return dataset.as_frame() if as_frame else dataset


def load_costs(name: str, data_dir: PathLike | None = None) -> FeatureCosts:
    """The price list `<name>.costs.csv` alone: for data without its own copy here, or another view of its costs."""
    return FeatureCosts.from_csv(_find(name, ".costs.csv", data_dir))


def available(data_dir: PathLike | None = None) -> list[str]:
    """Names of the data sets in the folder that `load` can read, sorted; empty if there is no folder."""
    folder = data_folder(data_dir)
    return sorted(path.stem for path in folder.glob("*.npz") if {"X.npy", "y.npy"} <= _members(path).keys())


def data_folder(data_dir: PathLike | None = None) -> Path:
    """Where data sets are looked for: `data_dir`, else FRUGALFOREST_DATA, else the user's cache folder."""
    if data_dir is not None:
        return Path(data_dir).expanduser()
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE]).expanduser()
    return _cache_folder()


def _cache_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "frugalforest" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "frugalforest"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "frugalforest"


def _find(name: str, suffix: str, data_dir: PathLike | None) -> Path:
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise ValueError(f"{name!r} is no name of a data set; give the name alone, and the folder as data_dir.")
    folder = data_folder(data_dir)
    path = folder / f"{name}{suffix}"
    if path.is_file():
        return path
    there = sorted(other.name.removesuffix(suffix) for other in folder.glob(f"*{suffix}"))
    raise FileNotFoundError(
        f"there is no {path.name} in {folder}. Put it there, or name another folder by data_dir or by the environment "
        f"variable {VARIABLE}. Found there: {', '.join(there) or 'nothing'}. "
        f"frugalforest.datasets.load_breast_cancer() needs no file."
    )


def _members(path: Path) -> dict[str, int]:
    """Names and unpacked sizes from the directory of the archive; nothing for what is no archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {member.filename: member.file_size for member in archive.infolist()}
    except zipfile.BadZipFile:
        return {}


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    members = _members(path)
    if not {"X.npy", "y.npy"} <= members.keys():
        held = ", ".join(name.removesuffix(".npy") for name in members) or "nothing that can be read"
        raise ValueError(f"{path} must hold the arrays X and y, as numpy.savez writes them; it holds {held}.")
    if sum(members.values()) > MAX_BYTES:
        raise ValueError(f"{path} unpacks to {sum(members.values())} bytes, more than the limit of {MAX_BYTES}.")
    try:
        with np.load(path, allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(f"{path} is damaged ({error}); copy it again.") from error


def _as_names(names: NDArray[Any] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(map(str, names.tolist()))


def _check_shapes(name: str, X: NDArray[Any], y: NDArray[Any], feature_names: tuple[str, ...] | None) -> None:
    n_names = X.shape[-1:] if feature_names is None else (len(feature_names),)
    if X.ndim != 2 or y.shape != X.shape[:1] or X.shape[1:] != n_names:
        raise ValueError(f"{name}: X {X.shape}, y {y.shape} and {n_names} feature names do not fit together.")
