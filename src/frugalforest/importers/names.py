"""Names that LightGBM has changed: it puts underscores for blanks, and does not keep what the columns were called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from frugalforest.data.tables import as_frame, column_names


def as_spelled(names: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """The names, each in the spelling of that one of the others which differs from it in blanks only, if there is."""
    known, counts = set(others), Counter(map(_underscored, others))
    spelled = {_underscored(other): other for other in others if counts[_underscored(other)] == 1}
    return tuple(name if name in known else spelled.get(_underscored(name), name) for name in names)


def respelled(X: Any, names: Sequence[str]) -> Any:
    """A frame whose columns have these names where theirs differ in blanks only; anything else as it is."""
    frame = as_frame(X)
    columns = None if frame is None else column_names(frame)
    if frame is None or columns is None:
        return X
    changed = {theirs: name for theirs, name in zip(as_spelled(names, columns), names, strict=True) if theirs != name}
    return frame.rename(changed).to_native() if changed else X


def _underscored(name: str) -> str:
    return name.replace(" ", "_")
