"""What the paper leaves open: test error at a budget by variant, and differences seed by seed."""

from __future__ import annotations

import numpy as np
import pandas as pd
from studies.findings import Finding, verdict_of
from studies.intervals import Interval
from studies.nan2015.rows import by_seed, differences, has, markdown_table, means, names_of
from studies.nan2015.variants import BUDGETS, TASKS, VARIANTS

RANDOM, ALL, EXPECTED, PATH, FOREST = VARIANTS
QUESTIONS = {  # one - other, what the paper says, and what may be behind it
    "expected - minimax": (
        EXPECTED,
        ALL,
        "Splits are judged by the worse child (minimax); expected splits are left to future work",
        "the paper gives no figures",
    ),
    "all - random thresholds": (
        ALL,
        RANDOM,
        "20 to 80 random thresholds per feature stand for all of them",
        "the paper gives no figures; a random threshold can miss the best one",
    ),
    "path - always": (
        PATH,
        ALL,
        "A feature is charged at every node, though a repeat is free: here half the price if the path has paid",
        "a repeat at half the price is enough for trees to go on with the few features they have",
    ),
    "forest - always": (
        FOREST,
        ALL,
        "The same: half the price if earlier trees have paid for the rows of the node",
        "the paper gives no figures",
    ),
}


def table(rows: pd.DataFrame) -> str:
    lines = [
        [name, variant, *(error.text(4) for error in means(rows, name, variant, "error"))]
        for name in names_of(rows, TASKS)
        for variant in VARIANTS
        if has(rows, name, variant)
    ]
    return markdown_table(("data", "variant", *(f"{budget:g}" for budget in BUDGETS)), lines)


def gaps_of(rows: pd.DataFrame, one: str, other: str) -> dict[str, list[Interval]]:
    """Differences in error by data set, at each budget."""
    names = [name for name in names_of(rows, TASKS) if has(rows, name, one, other)]
    return {name: differences(rows, name, one, other, "error") for name in names}


def gaps_table(rows: pd.DataFrame) -> str:
    """Differences seed by seed; bold where the interval excludes 0."""
    lines = [
        [name, question, *(_bold(gap) for gap in gaps)]
        for question, (one, other, _, _) in QUESTIONS.items()
        for name, gaps in gaps_of(rows, one, other).items()
    ]
    return markdown_table(("data", "difference", *(f"{budget:g}" for budget in BUDGETS)), lines)


def _bold(gap: Interval) -> str:
    text = gap.text(4, sign=True)
    return f"**{text}**" if gap.is_above() or gap.is_below() else text


# ---- findings


def findings(rows: pd.DataFrame) -> list[Finding]:
    found = [question_finding(rows, question) for question in QUESTIONS if gaps_of(rows, *QUESTIONS[question][:2])]
    names = [name for name in names_of(rows, TASKS) if has(rows, name, ALL)]
    return [*found, alpha_finding(rows, names)] if names else found


def question_finding(rows: pd.DataFrame, question: str) -> Finding:
    """Where the variant errs less and where more, of all data sets and budgets."""
    one, other, claim, why = QUESTIONS[question]
    gaps = gaps_of(rows, one, other)
    every = [gap for some in gaps.values() for gap in some]
    better, worse = sum(gap.is_below() for gap in every), sum(gap.is_above() for gap in every)
    ours = f"{question}: " + "; ".join(f"{name} {_places(some)}" for name, some in gaps.items())
    verdict = f"open in the paper; the variant is better at {better}, worse at {worse} of {len(every)}"
    return Finding(claim, ours, verdict, why if better or worse else "")


def _places(gaps: list[Interval]) -> str:
    """Differences whose interval excludes 0, by budget."""
    apart = [
        f"{gap.text(4, sign=True)} at {budget:g}"
        for gap, budget in zip(gaps, BUDGETS, strict=True)
        if gap.is_above() or gap.is_below()
    ]
    return ", ".join(apart) if apart else "no difference"


def alpha_finding(rows: pd.DataFrame, names: list[str]) -> Finding:
    """Large alphas for small budgets, and 0 for the largest: two conditions for each data set."""
    parts, kept = [], []
    for name in names:
        alphas = np.array(list(by_seed(rows, name, ALL, "alpha").values()))
        middle = [float(np.median(column[column >= 0])) if (column >= 0).any() else np.nan for column in alphas.T]
        known = [alpha for alpha in middle if not np.isnan(alpha)]
        kept += [known[0] > known[-1], known[-1] == 0]
        parts.append(f"{name} " + " / ".join("-" if np.isnan(alpha) else f"{alpha:g}" for alpha in middle))
    budgets = " / ".join(f"{budget:g}" for budget in BUDGETS)
    claim = (
        "A higher alpha errs less at low cost, alpha 0 at high cost (median of the alphas chosen at budgets "
        f"{budgets}; for each data set: falls, and ends at 0)"
    )
    why = (
        "" if all(kept) else f"a budget of {BUDGETS[-1]:g} is not yet high on MiniBooNE: a forest of alpha 0 reads more"
    )
    return Finding(claim, "; ".join(parts), verdict_of(kept), why)
