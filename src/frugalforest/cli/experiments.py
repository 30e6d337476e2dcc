"""Methods at several budgets, on rows that none of them has seen: what `curve` and `compare` measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold

from frugalforest.cli.errors import Mistake
from frugalforest.cli.methods import AUTO, Method, Settings
from frugalforest.cli.training import TrainingData
from frugalforest.costs import FeatureCosts
from frugalforest.evaluation.resampling import corrected_interval

N_BUDGETS = 8


@dataclass(frozen=True)
class Outcome:
    """One method at one budget on one split: what it cost and how often it was wrong, on the rows left out."""

    method: str
    budget: float
    split: int
    cost: float
    error: float


@dataclass(frozen=True)
class Summary:
    """One method at one budget over all splits."""

    method: str
    budget: float
    cost: float
    error: float
    half: float  # half the width of the 95% interval of the error; NaN for one split
    is_best: bool  # least error of those whose bill is within the budget

    @property
    def is_within(self) -> bool:
        """Whether the average bill is within the budget, give or take a tenth."""
        return self.cost <= 1.1 * self.budget


OnStep = Callable[[int, str], None]


def parse_budgets(text: str | None, costs: FeatureCosts) -> list[float]:
    """Budgets from "5,10,20"; without any, a few from the cheapest feature to everything."""
    if text is None:
        return spread_budgets(costs)
    try:
        budgets = sorted({float(part) for part in text.split(",")})
    except ValueError:
        budgets = []
    if not budgets or not all(0 < budget < np.inf for budget in budgets):
        raise Mistake(f"--budgets is {text!r}; give amounts above 0, such as 5,10,20.")
    return budgets


def spread_budgets(costs: FeatureCosts, n: int = N_BUDGETS) -> list[float]:
    """Budgets evenly spread on a logarithmic scale, rounded to two digits."""
    priced = costs.alone[costs.alone > 0]
    if len(priced) == 0:
        raise Mistake("every feature is free, so there is nothing to save; give a price list with prices above 0.")
    spread = np.geomspace(priced.min(), costs.total, n)
    return sorted({float(f"{budget:.2g}") for budget in spread[:-1]} | {float(costs.total)})


def measure(
    methods: Sequence[Method],
    learn: TrainingData,
    test: TrainingData,
    budgets: Sequence[float],
    settings: Settings,
    *,
    split: int = 0,
    on_step: OnStep = lambda done, now: None,
) -> list[Outcome]:
    """Fit each method for all budgets on some rows, and measure it on others; what it chooses, it chooses inside."""
    outcomes = []
    for place, method in enumerate(methods):
        on_step(place, f"{method.name}, split {split + 1}")
        judged: dict[int, tuple[float, float]] = {}
        models = method.fit_for(budgets, settings, learn.X, learn.y)
        for budget, model in zip(budgets, models, strict=True):
            if id(model) not in judged:
                label, bill = model.predict_with_cost(test.X)
                judged[id(model)] = float(bill.mean()), float(np.mean(label != test.y))
            outcomes.append(Outcome(method.name, budget, split, *judged[id(model)]))
    return outcomes


def resample(
    methods: Sequence[Method],
    data: TrainingData,
    budgets: Sequence[float],
    settings: Settings,
    n_splits: int,
    n_repeats: int,
    *,
    with_auto: bool,
    on_step: OnStep,
) -> list[Outcome]:
    """Repeated stratified cross-validation; "auto" chooses inside the training rows of each split."""
    fewest = int(np.unique(data.y, return_counts=True)[1].min())
    if fewest < n_splits:
        raise Mistake(
            f"the rarest class has {fewest} rows, so {n_splits} splits are too many; give a smaller --splits."
        )
    splitter = RepeatedStratifiedKFold(n_splits=n_splits, n_repeats=n_repeats, random_state=settings.seed)
    outcomes: list[Outcome] = []
    n_steps = len(methods) * (2 if with_auto else 1)
    for split, (train, test) in enumerate(splitter.split(data.y, data.y)):
        before = split * n_steps
        learn, left_out = data.take(train), data.take(test)

        def tell(done: int, now: str, before: int = before) -> None:
            on_step(before + done, now)

        of_split = measure(methods, learn, left_out, budgets, settings, split=split, on_step=tell)
        outcomes += of_split
        if with_auto:
            tell(len(methods), f"{AUTO}, split {split + 1}")
            outcomes += _auto(methods, learn, of_split, budgets, settings, split)
    return outcomes


def _auto(
    methods: Sequence[Method],
    learn: TrainingData,
    outcomes: list[Outcome],
    budgets: Sequence[float],
    settings: Settings,
    split: int,
) -> list[Outcome]:
    """What choosing would have got: the method of least error on a quarter of the training rows, per budget."""
    inner, validate = learn.split(0.25, settings.seed + 1)
    trials = measure(methods, inner, validate, budgets, settings)
    picks = []
    for budget in budgets:
        here = [trial for trial in trials if trial.budget == budget]
        within = [trial for trial in here if trial.cost <= 1.1 * budget] or [min(here, key=lambda trial: trial.cost)]
        best = min(within, key=lambda trial: (trial.error, trial.cost)).method
        found = next(o for o in outcomes if (o.method, o.budget) == (best, budget))
        picks.append(Outcome(AUTO, budget, split, found.cost, found.error))
    return picks


def summarise(outcomes: Sequence[Outcome], n_splits: int) -> list[Summary]:
    """Means and intervals per budget and method, in the order of the methods."""
    methods = list(dict.fromkeys(outcome.method for outcome in outcomes))
    summaries = []
    for budget in sorted({outcome.budget for outcome in outcomes}):
        lines = [_summary(outcomes, method, budget, n_splits) for method in methods]
        within = [line for line in lines if line.is_within and line.method != AUTO]
        best = min(within, key=lambda line: (line.error, line.cost), default=None)
        summaries += [Summary(**{**vars(line), "is_best": line is best}) for line in lines]
    return summaries


def _summary(outcomes: Sequence[Outcome], method: str, budget: float, n_splits: int) -> Summary:
    found = [outcome for outcome in outcomes if (outcome.method, outcome.budget) == (method, budget)]
    errors = np.array([outcome.error for outcome in found])
    mean, half = corrected_interval(errors, 1 / max(1, n_splits - 1))
    return Summary(method, budget, float(np.mean([outcome.cost for outcome in found])), mean, half, False)
