"""Model files, as commands open them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from frugalforest.cli.errors import Mistake, as_mistake
from frugalforest.cli.files import require_file


def load_model(path: Path, jobs: int = 1) -> Any:
    """A classifier from a model file; nothing in the file is run."""
    require_file(path, "a model file")
    from frugalforest.persistence import load

    with as_mistake():
        model = load(path)
    if not hasattr(model, "predict_with_cost"):
        raise Mistake(f"{path} holds a {type(model).__name__}; the command line works with classifiers.")
    _set_jobs(model, jobs)
    return model


def _set_jobs(model: Any, jobs: int) -> None:
    """Threads for the model, and for those inside it."""
    for part in (model, getattr(model, "estimator_", None)):
        if part is not None and hasattr(part, "n_jobs"):
            part.n_jobs = jobs


def feature_names(model: Any) -> list[str]:
    """What the features are called: names, or positions."""
    return [str(model.encoder_.feature_label(i)) for i in range(model.n_features_in_)]
