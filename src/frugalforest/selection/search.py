"""What a search for a panel leaves behind: the chosen features, the steps that led to them, and why it ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts

if TYPE_CHECKING:
    import pandas as pd

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]

NOTHING_LEFT = "nothing is left to add"
NOTHING_FITS = "nothing that is left fits the budget"


@dataclass(frozen=True)
class Step:
    """One step of a search. Features go by name where X had names, else by position."""

    added: tuple[Any, ...]
    cost: float  # what the step added to the bill
    spent: float  # the bill after it
    value: float  # of the criterion that chose it; NaN for what is free
    error: float  # after it; NaN where it was not measured


@dataclass(frozen=True)
class SearchPath:
    """The steps of a search in order; `ended` says why there is no further one."""

    steps: tuple[Step, ...]
    ended: str

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __getitem__(self, step: int) -> Step:
        return self.steps[step]

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame, one row per step."""
        import pandas as pd

        columns = ["added", "cost", "spent", "value", "error"]
        rows = [(", ".join(map(str, s.added)), s.cost, s.spent, s.value, s.error) for s in self.steps]
        return pd.DataFrame(rows, columns=columns, index=pd.RangeIndex(1, len(rows) + 1, name="step"))

    def __str__(self) -> str:
        lines = [
            f"{number:3}. {', '.join(map(str, s.added))}: {s.cost:g}, spent {s.spent:g}, error {s.error:.4f}"
            for number, s in enumerate(self.steps, start=1)
        ]
        return "\n".join([*lines, f"ended: {self.ended}"])


@dataclass(frozen=True, eq=False)
class Panel:
    """A set of features as a search found it: positions by step, what each step was worth, and why it ended."""

    costs: FeatureCosts
    added: tuple[tuple[int, ...], ...]  # positions, by step
    values: tuple[float, ...]
    errors: tuple[float, ...]
    ended: str

    @property
    def support_mask(self) -> Mask:
        """(n_features,): the features of all steps."""
        return self.masks[-1] if self.added else np.zeros(self.costs.n_features, dtype=bool)

    @property
    def masks(self) -> NDArray[np.bool_]:
        """(n_steps, n_features): the features chosen after each step."""
        masks = np.zeros((len(self.added), self.costs.n_features), dtype=bool)
        for row, positions in zip(masks, self.added, strict=True):
            row[list(positions)] = True
        return np.logical_or.accumulate(masks, axis=0)

    @property
    def cost(self) -> float:
        """The bill of the panel."""
        return self.costs.of(self.support_mask)

    def with_errors(self, errors: Floats) -> Panel:
        """The same panel with these errors, one for each step."""
        return replace(self, errors=tuple(map(float, errors)))

    def path(self, label: Any) -> SearchPath:
        """The steps for reading; label(position) names a feature."""
        spent = self.costs.of_rows(self.masks) if self.added else np.zeros(0)
        cost = np.diff(spent, prepend=0.0)
        rows = zip(self.added, cost.tolist(), spent.tolist(), self.values, self.errors, strict=True)
        steps = (Step(tuple(map(label, added)), c, s, value, error) for added, c, s, value, error in rows)
        return SearchPath(tuple(steps), self.ended)


class Basket:
    """The features chosen so far, and what candidates would add to their bill under a budget."""

    def __init__(self, costs: FeatureCosts, budget: float | None) -> None:
        self.costs = costs
        self.limit = costs.total if budget is None else min(float(budget), costs.total)
        self.mask = np.zeros(costs.n_features, dtype=bool)
        self.added: list[tuple[int, ...]] = []
        self.values: list[float] = []
        self.errors: list[float] = []

    def add(self, mask: Mask, value: float = np.nan, error: float = np.nan) -> None:
        """Take the features of a mask (those it does not have yet) as one step."""
        self.added.append(tuple(np.flatnonzero(mask & ~self.mask).tolist()))
        self.mask |= mask
        self.values.append(float(value))
        self.errors.append(float(error))

    def add_free(self, error: float = np.nan) -> None:
        """Take everything that costs nothing now, as one step, if there is any."""
        free = (self.marginal() == 0) & ~self.mask
        if free.any():
            self.add(free, error=error)

    def marginal(self) -> Floats:
        """(n_features,): what each further feature would cost now; 0 where it is in."""
        return self.costs.marginal(self.mask)

    def bill_with(self, masks: Mask) -> Floats:
        """(n_candidates,): the bill with the features of each candidate added; masks: (n_candidates, n_features)."""
        return self.costs.of_rows(masks | self.mask)

    def fits(self) -> Mask:
        """(n_features,): which features are not in and can still be paid."""
        return self.costs.affordable(self.mask, self.limit) & ~self.mask

    def panel(self) -> Panel:
        """What has been chosen, with the reason why nothing more is."""
        ended = NOTHING_LEFT if self.mask.all() else NOTHING_FITS
        return Panel(self.costs, tuple(self.added), tuple(self.values), tuple(self.errors), ended)
