"""FetchError: a source that gave nothing usable, and all that was bought before."""

from __future__ import annotations

import pickle
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from frugalforest.data.columns import Label

if TYPE_CHECKING:
    from frugalforest.acquisition.run import Acquisition


class FetchError(RuntimeError):
    """A source gave no usable value. Nothing that was bought is lost: it is in `run`, which can go on from there."""

    feature: Label | None  # None: what was said to be known of the row cannot be used
    cause: Exception  # of the last attempt
    run: Acquisition
    delivered: dict[Any, Any]  # values that came with others, and were not asked for yet
    row: Any  # of several rows, the one that failed
    others: tuple[tuple[Any, Acquisition], ...]  # the rows taken after it, each with its run as far as it came

    def __init__(self, message: str, feature: Label | None, cause: Exception, run: Acquisition) -> None:
        super().__init__(message)
        self.feature, self.cause, self.run = feature, cause, run
        self.delivered, self.row, self.others = {}, None, ()
        self.__cause__ = cause

    def __reduce__(self) -> tuple[Any, ...]:
        """For processes that hand errors to each other, with the run and all that was bought."""
        cause = _that_travels(self.cause)
        return type(self), (str(self), self.feature, cause, self.run), vars(self) | {"cause": cause}


def described(error: Exception) -> str:
    """An error as part of a sentence."""
    said = str(error).rstrip(".")
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _that_travels(error: Exception) -> Exception:
    """The error if it comes out of a pickle as it went in; many with arguments of their own do not. Else its text."""
    with suppress(Exception):
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    return RuntimeError(described(error))
