"""Libraries that are only needed by those who export to them."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any


def load(name: str) -> Any:
    """The module of this name; if it is not installed, how to install it."""
    try:
        with warnings.catch_warnings():
            # What a library does while it is imported (SHAP sets up its colours) is not for its users to change.
            warnings.simplefilter("ignore")
            return import_module(name)
    except ImportError as error:
        library = name.partition(".")[0]
        raise ImportError(
            f'this export needs {library}, which cannot be imported; run: pip install "frugalforest[export]".'
        ) from error
