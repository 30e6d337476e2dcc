"""Receipt: what a run took, in order, what each step cost, and what it made of the answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from frugalforest.data.columns import Label

if TYPE_CHECKING:
    import pandas as pd

How = Literal["bought", "free", "refused"]


@dataclass(frozen=True)
class Step:
    """One feature: how it came, what it cost, and the probabilities after it (estimates while the run is open)."""

    feature: Label
    how: How
    value: Any  # None where missing or refused
    cost: float
    probabilities: dict[Any, float]  # by class
    note: str | None = None  # why it was refused, where that was said; or that a value is read as missing


@dataclass(frozen=True)
class Receipt:
    """The steps of a run in order, and their sum."""

    steps: tuple[Step, ...]
    total: float
    classes: tuple[Any, ...] = ()  # none if a number is predicted

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, i: int) -> Step:
        return self.steps[i]

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame: one row for each step, one column for the probability of each class."""
        import pandas as pd

        rows = [
            (step.feature, step.how, step.value, step.cost, step.note, *step.probabilities.values())
            for step in self.steps
        ]
        odds = [f"P({label})" for label in self.classes]
        return pd.DataFrame(rows, columns=["feature", "how", "value", "cost", "note", *odds])

    def __str__(self) -> str:
        lines = [f"{'feature':24} {'how':8} {'cost':>10}  probabilities"]
        for step in self.steps:
            odds = ", ".join(f"{label}: {p:.3f}" for label, p in step.probabilities.items())
            note = f"  ({step.note})" if step.note else ""
            lines.append(f"{step.feature!s:24.24} {step.how:8} {step.cost:10.2f}  {odds}{note}")
        return "\n".join([*lines, f"{'total':33} {self.total:10.2f}"])
