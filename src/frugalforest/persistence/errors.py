"""What goes wrong with a model file."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A file that is no model file, is damaged, or was written by a newer frugalforest."""


def damaged(what: str) -> ModelFileError:
    """The error for a file that began as a model file."""
    return ModelFileError(f"it is damaged: {what}. Get another copy, or save the model again.")


def not_ours() -> ModelFileError:
    """The error for a file that never was a model file."""
    return ModelFileError("it is not a model file of frugalforest; those are written by model.save(path).")
