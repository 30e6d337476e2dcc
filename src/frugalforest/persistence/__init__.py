"""Model files: a fitted model as one file that holds no code, and loads to the very same model or not at all.

docs/model_file.md describes the format, its limits, and what is not stored.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from frugalforest.persistence import classes  # noqa: F401  (registers them)
from frugalforest.persistence.archive import read_archive, replacing, write_archive
from frugalforest.persistence.codec import decode, encode
from frugalforest.persistence.errors import ModelFileError
from frugalforest.persistence.registry import name_of, register

__all__ = ["ModelFileError", "load", "register", "save"]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file, which is read back before it takes the place of an earlier one.

    Whatever goes wrong, an interruption included, the earlier file stays as it was. TypeError if the model holds
    something that cannot be stored, such as an impurity of one's own; then nothing is written.
    """
    if not isinstance(model, BaseEstimator) or name_of(type(model)) is None:
        raise TypeError(
            f"a model file holds the classifiers of frugalforest, not a {type(model).__qualname__}; "
            "store it with joblib instead."
        )
    check_is_fitted(model)
    contents = encode(model)
    with replacing(Path(path)) as draft:
        write_archive(draft, contents)
        try:
            decode(read_archive(draft, max_bytes=float("inf")))
        except ModelFileError as error:
            raise ValueError(f"the model is not saved, since it could not be loaded again: {error}") from error


def load(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Any:
    """The model that was saved to this file: same predictions, masks, bills, parameters.

    No code from the file is run, and everything in it is checked. ModelFileError if it is not a model file, damaged,
    or from a newer frugalforest. `max_bytes` is what the model may take when unpacked; by default 200 times the file
    and 64 MB, but not more than 4 GB.
    """
    try:
        model = decode(read_archive(Path(path), max_bytes))
        if not isinstance(model, BaseEstimator):
            raise ModelFileError(f"it holds a {type(model).__name__}, which is not a model.")
        check_is_fitted(model)
    except NotFittedError:
        raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded: its model is not fitted.") from None
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded: {error}") from error
    return model
