"""Finding xi: every candidate gives a panel, and the full forest's out-of-bag error judges the panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from frugalforest.selection.forests import ForestJudge
from frugalforest.selection.search import Panel

DEFAULT_GRID = tuple(float(xi) for xi in np.linspace(0, 3, 13))

Search = Callable[[float], Panel]


@dataclass(frozen=True)
class Trial:
    """One xi that was tried: the panel it leads to, and how the full forest does on it."""

    xi: float
    cost: float
    n_features: int
    error: float


@dataclass(frozen=True, eq=False)
class Tuned:
    """The panel of the best trial, and all of them by rising xi."""

    xi: float
    panel: Panel
    error: float
    trials: tuple[Trial, ...]


def tune_on_grid(search: Search, judge: ForestJudge, grid: Sequence[float]) -> Tuned:
    """Try every xi of a grid; panels that several of them share are judged once."""
    panels = {float(xi): search(float(xi)) for xi in sorted(set(grid))}
    errors = judge.errors(np.stack([panel.support_mask for panel in panels.values()]))
    return _best(panels, dict(zip(panels, errors.tolist(), strict=True)))


def tune_with_optuna(search: Search, judge: ForestJudge, *, largest: float, n_trials: int, seed: int) -> Tuned:
    """Let Optuna propose xi between 0 and `largest`; 0 and 1 are always tried."""
    optuna = _import_optuna()
    panels: dict[float, Panel] = {}
    errors: dict[float, float] = {}

    def objective(trial: Any) -> float:
        xi = float(trial.suggest_float("xi", 0.0, largest))
        if xi not in panels:
            panels[xi] = search(xi)
            errors[xi] = judge.error(panels[xi].support_mask)
        return errors[xi]

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed % 2**32))
        for xi in {0.0, min(1.0, largest)}:
            study.enqueue_trial({"xi": xi})
        study.optimize(objective, n_trials=n_trials)
    finally:
        optuna.logging.set_verbosity(verbosity)
    return _best(dict(sorted(panels.items())), errors)


def _best(panels: dict[float, Panel], errors: dict[float, float]) -> Tuned:
    """The smallest error; of equals the cheaper panel, then the smaller xi."""
    trials = tuple(
        Trial(xi, panel.cost, int(panel.support_mask.sum()), float(errors[xi])) for xi, panel in panels.items()
    )
    best = min(trials, key=lambda trial: (trial.error, trial.cost, trial.xi))
    return Tuned(best.xi, panels[best.xi], best.error, trials)


def _import_optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ImportError('tuner="optuna" needs Optuna; install frugalforest[tune], or use tuner="grid".') from None
    return optuna
