"""What the rows say about the curves of error against xi."""

from __future__ import annotations

import numpy as np
import pandas as pd
from studies.findings import Finding, verdict_of
from studies.intervals import Interval, interval_of
from studies.jagdhuber.frames import PATH


def falls_then_rises(errors: np.ndarray) -> bool:
    """Least inside the grid: falling before, rising after."""
    least = int(np.argmin(errors))
    steps = np.diff(errors)
    return 0 < least < len(errors) - 1 and bool((steps[:least] <= 0).all() and (steps[least:] >= 0).all())


def path_findings(frame: pd.DataFrame) -> list[Finding]:
    """The shape of the curves over xi in the cells of Figure 2, and in the two that the paper excepts."""
    paths = frame[frame["strategy"] == PATH]
    curves = {
        (kind, name, budget): part.pivot(index="seed", columns="xi", values="error")
        for (name, budget, kind), part in paths.groupby(["name", "budget", "kind"])
    }
    if not curves:
        return []
    rule = {key: errors for key, errors in curves.items() if key[1] == "D"}
    exceptions = {key: errors for key, errors in curves.items() if key[1] == "C"}
    found = [shape_finding(rule)] if rule else []
    found += [exception_finding(exceptions)] if exceptions else []
    return [*found, below_finding(frame, curves)]


def least(errors: pd.DataFrame) -> tuple[float, Interval]:
    """The xi with the least mean error, and what that gains against xi = 0, seed by seed."""
    best = float(errors.mean().idxmin())
    return best, interval_of(errors[best] - errors[0.0])


def least_in_words(key: tuple[str, str, float], errors: pd.DataFrame) -> str:
    (kind, name, budget), (best, gain) = key, least(errors)
    against = f", {gain.text(4, sign=True)} against xi = 0" if best > 0 else ""
    return f"{kind} in {name} at {budget:g}: least at xi = {best:g}{against}"


def shape_finding(curves: dict) -> Finding:
    claim = "Error against xi falls, then rises (Figure 2: setting D, budget 10)"
    kept = [falls_then_rises(errors.mean().to_numpy()) for errors in curves.values()]
    ours = "; ".join(least_in_words(key, errors) for key, errors in curves.items())
    step = min(float(errors.columns[1]) for errors in curves.values())
    why = "" if all(kept) else f"the others are least at 0, or before {step:g}, the first step of our grid"
    return Finding(claim, ours, verdict_of(kept), why)


def exception_finding(curves: dict) -> Finding:
    claim = "Exceptions are STS in C at budgets 2 and 5: least at xi = 0"
    verdicts = []
    for (_, _, budget), errors in curves.items():
        best, gain = least(errors)
        told = "confirmed" if best == 0 else "refuted" if gain.is_below() else "not decided"
        verdicts.append(f"at {budget:g}: {told}")
    ours = "; ".join(least_in_words(key, errors) for key, errors in curves.items())
    why = "" if all(told.endswith("confirmed") for told in verdicts) else "the population of C is another draw"
    return Finding(claim, ours, "; ".join(verdicts), why)


def below_finding(frame: pd.DataFrame, curves: dict) -> Finding:
    """Tuning, which takes another xi in every repetition, against the best single xi of all."""
    ours, changes = [], []
    for (kind, name, budget), errors in curves.items():
        same = frame[(frame["method"] == f"{kind} tuned") & (frame["name"] == name) & (frame["budget"] == budget)]
        tuned = same.set_index("seed")["error"].reindex(errors.index).dropna()
        best, _ = least(errors)
        change = interval_of(tuned - errors.loc[tuned.index, best]) if len(tuned) else Interval(np.nan, np.nan)
        ours.append(f"{kind} in {name} at {budget:g} {change.text(4, sign=True)}")
        changes.append(change)
    claim = "Tuned xi has a lower mean error than any point of the curve: tuned - least"
    n_below, n_sure = sum(change.mean < 0 for change in changes), sum(change.is_below() for change in changes)
    if n_sure == len(changes):
        return Finding(claim, "; ".join(ours), "confirmed")
    verdict = f"in the means of {n_below} of {len(changes)}, beyond the intervals of {n_sure}"
    return Finding(claim, "; ".join(ours), verdict, "little is to be gained where one xi is best in most repetitions")
