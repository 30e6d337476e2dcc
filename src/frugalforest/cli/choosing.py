"""--method auto: try the methods on rows set aside, within a time limit, and take the best."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from frugalforest.cli.errors import Mistake
from frugalforest.cli.methods import Method, Settings
from frugalforest.cli.training import TrainingData

Part = tuple[TrainingData, TrainingData]

N_PARTS = 4
LARGE = 4000  # rows: from here on one quarter tells the methods apart well enough


@dataclass(frozen=True)
class Trial:
    """How one method did on the validation rows; NaN if it was not tried to the end."""

    method: str
    error: float
    cost: float
    seconds: float
    note: str  # why it is out, or ""

    @property
    def is_in(self) -> bool:
        """Whether it may be chosen."""
        return not self.note


@dataclass(frozen=True)
class Choice:
    """The trials in order, and the method that was chosen."""

    trials: tuple[Trial, ...]
    method: Method
    n_validation: int

    @property
    def reason(self) -> str:
        """Why this one."""
        chosen = next(trial for trial in self.trials if trial.method == self.method.name)
        rivals = [trial for trial in self.trials if trial.is_in and trial is not chosen]
        if not rivals:
            return "the only one that was tried to the end within budget and time"
        if any(trial.error == chosen.error for trial in rivals):
            return "the cheapest of those with the least error on the validation rows"
        return "the least error on the validation rows"


def choose(
    methods: Sequence[Method],
    data: TrainingData,
    settings: Settings,
    time_limit: float,
    on_trial: Callable[[int, str], None],
) -> Choice:
    """Fit each method on three quarters of the rows, measure it on the rest, and take the least error in budget.

    Of few rows every quarter is the rest once, so that all of them have a say.
    """
    parts = _parts(data, settings.seed)
    end = time.monotonic() + time_limit
    trials: list[Trial] = []
    for place, method in enumerate(methods):
        on_trial(place, f"trying {method.name}")
        trials.append(_try(method, parts, settings, end, is_first=not any(trial.is_in for trial in trials)))
    best = min((t for t in trials if t.is_in), key=lambda trial: (trial.error, trial.cost), default=None)
    if best is None:
        found = "; ".join(f"{trial.method}: {trial.note}" for trial in trials)
        raise Mistake(f"no method came out ({found}). Give a larger --budget or --time-limit, or name a --method.")
    method = next(method for method in methods if method.name == best.method)
    return Choice(tuple(trials), method, sum(len(validate) for _, validate in parts))


def _parts(data: TrainingData, seed: int) -> list[Part]:
    """Pairs of rows to learn from and rows to validate with."""
    if len(data) >= LARGE or np.unique(data.y, return_counts=True)[1].min() < N_PARTS:
        return [data.split(1 / N_PARTS, seed + 1)]
    splitter = StratifiedKFold(N_PARTS, shuffle=True, random_state=seed)
    return [(data.take(learn), data.take(validate)) for learn, validate in splitter.split(data.y, data.y)]


def _try(method: Method, parts: list[Part], settings: Settings, end: float, *, is_first: bool) -> Trial:
    """One method; the first one that works may take as long as it needs."""
    left = end - time.monotonic()
    if settings.budget is not None and not method.keeps_budget:
        return Trial(method.name, np.nan, np.nan, 0.0, "knows no budget")
    if left <= 0 and not is_first:
        return Trial(method.name, np.nan, np.nan, 0.0, "no time left")
    start = time.monotonic()
    try:
        with at_most(None if is_first else left):
            wrong, bill = zip(*(_judge(method, settings, *part) for part in parts), strict=True)
    except OutOfTime:
        return Trial(method.name, np.nan, np.nan, time.monotonic() - start, "took too long")
    seconds = time.monotonic() - start
    bills = np.concatenate(bill)
    note = "above the budget" if exceeds(bills, settings.budget) else ""
    return Trial(method.name, float(np.concatenate(wrong).mean()), float(bills.mean()), seconds, note)


def _judge(
    method: Method, settings: Settings, learn: TrainingData, validate: TrainingData
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which of the validation rows the method gets wrong, and what each costs."""
    label, bill = method.fit(settings, learn.X, learn.y).predict_with_cost(validate.X)
    return label != validate.y, bill


def exceeds(bill: NDArray[np.float64], budget: float | None) -> bool:
    """Whether the average bill is above the budget by more than chance: by more than two standard errors."""
    if budget is None:
        return False
    return float(bill.mean()) - 2 * float(bill.std()) / np.sqrt(len(bill)) > budget


class OutOfTime(Exception):
    """The time limit is reached."""


@contextmanager
def at_most(seconds: float | None) -> Iterator[None]:
    """Raise OutOfTime when this takes longer; where there are no alarms (Windows, other threads) it does not."""
    on_main = threading.current_thread() is threading.main_thread()
    if seconds is None or not hasattr(signal, "SIGALRM") or not on_main:
        yield
        return

    def ring(number: int, frame: Any) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
