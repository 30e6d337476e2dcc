"""Table 1: ours beside the printed numbers, a verdict on every printed row, and what bootstrap and thresholds do."""

from __future__ import annotations

import numpy as np
import pandas as pd
from studies.findings import Finding, verdict_of
from studies.intervals import Interval
from studies.nan2015.forests import MODELS, PAPER, TREES, paper_row
from studies.nan2015.rows import differences, has, markdown_table, means, names_of
from studies.nan2015.tasks import SIZES

NEAR_PERCENT, NEAR_ERROR = 1.5, 0.005  # distances to a printed number that count as equal
BOOTSTRAP, NO_BOOTSTRAP, ALL_THRESHOLDS, GINI, ENTROPY = MODELS
PRINTED = (BOOTSTRAP, NO_BOOTSTRAP, GINI, ENTROPY)  # what a printed row can be compared with
SAME_DATA = ("covertype", "cifar")
SAMPLES = ("miniboone_tiny", "miniboone_sub5044")
# The most that errors of the three methods differ by in the paper's own table, which it calls "quite close".
CLOSE = max(
    float(np.ptp([PAPER[data, model][1] for model in ("BudgetRF", GINI, ENTROPY)], axis=0).max())
    for data in ("miniboone", *SAME_DATA)
)
WHY_NOT_PRINTED = {
    ("covertype", BOOTSTRAP): "a bootstrap leaves 37 % of the rows out of each tree; without it both agree",
    (
        "covertype",
        GINI,
    ): "ours reads more with a single tree, and errs less with many; the paper's draw of rows is not published",
    ("covertype", ENTROPY): "as with Gini",
    (
        "cifar",
        NO_BOOTSTRAP,
    ): "Algorithm 1 has a bootstrap, and with it both agree; our features of the images are not the paper's",
}


def table(rows: pd.DataFrame) -> str:
    lines = []
    for name in names_of(rows, SIZES):
        for model in [m for m in MODELS if has(rows, name, m)]:
            lines += _lines(rows, name, model)
    return markdown_table(("data", "model", "trees", "features read, %", "paper", "test error", "paper"), lines)


def _lines(rows: pd.DataFrame, name: str, model: str) -> list[list[str]]:
    percent, error = means(rows, name, model, "percent"), means(rows, name, model, "error")
    shares, errors = ["-"] * len(TREES), ["-"] * len(TREES)
    if not name.endswith("classes"):
        shares = [f"{share:.2f}" for share in paper_row(name, model)[0]]
        errors = [f"{value:.4f}" for value in paper_row(name, model)[1]]
    return [
        [name, model, str(trees), percent[i].text(2), shares[i], error[i].text(4), errors[i]]
        for i, trees in enumerate(TREES)
    ]


# ---- findings


def findings(rows: pd.DataFrame) -> list[Finding]:
    names = [n for n in names_of(rows, SIZES) if has(rows, n, BOOTSTRAP, GINI, ENTROPY)]
    found = [cheaper_finding(rows, names)] if names else []
    of_paper = [name for name in names if not name.endswith("classes")]
    found += [close_finding(rows, of_paper)] if of_paper else []
    if has(rows, "covertype", GINI, BOOTSTRAP, NO_BOOTSTRAP):
        found.append(slightly_better_finding(rows))
    for name in SAME_DATA:
        found += [printed_finding(rows, name, model) for model in PRINTED if has(rows, name, model)]
    return found + samples_findings(rows)


def cheaper_finding(rows: pd.DataFrame, names: list[str]) -> Finding:
    """Fewer features than both standard forests, at every number of trees."""
    kept, parts = [], []
    for name in names:
        gaps = {rival: differences(rows, name, BOOTSTRAP, rival, "percent") for rival in (GINI, ENTROPY)}
        kept.append(all(gap.is_below() for some in gaps.values() for gap in some))
        parts.append(f"{name} {gaps[GINI][-1].text(1, sign=True)} and {gaps[ENTROPY][-1].text(1, sign=True)}")
    claim = (
        "BudgetRF reads fewer features than RF with Gini and with entropy, at 1, 10, 20 and 40 trees, on all data "
        "(points of percent at 40 trees, BudgetRF - RF)"
    )
    return Finding(claim, "; ".join(parts), verdict_of(kept), "" if all(kept) else "too few seeds, or other data")


def largest_gap(rows: pd.DataFrame, name: str, forest: str) -> tuple[str, Interval]:
    """The two of the three methods whose errors with 40 trees differ most."""
    pairs = ((forest, GINI), (forest, ENTROPY), (GINI, ENTROPY))
    gaps = {f"{a.split(',')[0]} - {b}": differences(rows, name, a, b, "error")[-1] for a, b in pairs}
    return max(gaps.items(), key=lambda item: abs(item[1].mean))


def close_finding(rows: pd.DataFrame, names: list[str]) -> Finding:
    kept, parts = [], []
    for name in names:
        words, gap = largest_gap(rows, name, BOOTSTRAP)
        kept.append(abs(gap.mean) <= CLOSE)
        parts.append(f"{name}: {words} {gap.text(4, sign=True)}")
    why = ""
    if not all(kept) and has(rows, "covertype", NO_BOOTSTRAP):
        without = largest_gap(rows, "covertype", NO_BOOTSTRAP)[1]
        why = f"a bootstrap costs BudgetRF more on covertype; without it {without.text(4, sign=True)}"
    claim = (
        "The test errors of the three methods are quite close with more trees (the two that differ most, 40 trees; "
        f"close: within {CLOSE:.4f}, the most in the paper's table)"
    )
    return Finding(claim, "; ".join(parts), verdict_of(kept), why)


def slightly_better_finding(rows: pd.DataFrame) -> Finding:
    gaps = [differences(rows, "covertype", model, GINI, "error")[-1] for model in (BOOTSTRAP, NO_BOOTSTRAP)]
    errors = [means(rows, "covertype", model, "error")[-1].mean for model in (BOOTSTRAP, NO_BOOTSTRAP, GINI)]
    ours = (
        f"{errors[0]:.4f} with bootstrap, {errors[1]:.4f} without, against {errors[2]:.4f}; BudgetRF - RF Gini "
        f"{gaps[0].text(4, sign=True)} and {gaps[1].text(4, sign=True)}"
    )
    verdict, why = "not decided", "the intervals include 0"
    if any(gap.is_below() for gap in gaps):
        verdict, why = "confirmed", ""
    elif all(gap.is_above() for gap in gaps):
        verdict, why = "refuted", "our standard forest is better than the printed one, and than either BudgetRF"
    return Finding(
        "On Forest, with 40 trees, BudgetRF (0.1156) errs slightly less than RF Gini (0.1196)", ours, verdict, why
    )


def distances(rows: pd.DataFrame, name: str, model: str) -> tuple[str, float, float]:
    """How far from a printed row, in words with the place that is farthest, and as numbers."""
    words, farthest = [], []
    for column, printed, digits, unit in zip(
        ("percent", "error"), paper_row(name, model), (2, 4), (" points", ""), strict=True
    ):
        ours = means(rows, name, model, column)
        away = np.abs([found.mean - value for found, value in zip(ours, printed, strict=True)])
        i = int(away.argmax())
        place = f"{TREES[i]} tree{'s' if TREES[i] > 1 else ''}"
        words.append(f"{away[i]:.{digits}f}{unit} ({place}: {ours[i].text(digits)} against {printed[i]:.{digits}f})")
        farthest.append(float(away[i]))
    return f"at most {words[0]} and {words[1]} away", farthest[0], farthest[1]


def printed_finding(rows: pd.DataFrame, name: str, model: str) -> Finding:
    ours, percent, error = distances(rows, name, model)
    near = percent <= NEAR_PERCENT, error <= NEAR_ERROR
    verdict = {
        (True, True): "confirmed",
        (True, False): "shares confirmed, errors not",
        (False, True): "errors confirmed, shares not",
        (False, False): "not confirmed",
    }[near]
    why = "" if all(near) else WHY_NOT_PRINTED.get((name, model), "the paper's draw of rows is not published")
    return Finding(f"Table 1, {name}: {model}", ours, verdict, why)


def samples_findings(rows: pd.DataFrame) -> list[Finding]:
    """MiniBooNE's printed rows, beside samples of a twenty-fifth of its rows."""
    found = []
    for model in (BOOTSTRAP, GINI, ENTROPY):
        names = [name for name in SAMPLES if has(rows, name, model)]
        ours = "; ".join(f"{name}: {distances(rows, name, model)[0]}" for name in names)
        if names:
            why = "only samples of 5,000 and 5,044 rows of MiniBooNE are available; the paper trained on 45,523"
            found.append(Finding(f"Table 1, MiniBooNE: {model}", ours, "not tested: other data", why))
    return found


# ---- what the rows say beside the table


def notes(rows: pd.DataFrame) -> str:
    """Sentences whose numbers are those of the rows that are there."""
    lines = []
    if has(rows, "covertype", *PRINTED):
        lines += [_bootstrap_note(rows)]
    if has(rows, "cifar", BOOTSTRAP, NO_BOOTSTRAP):
        with_it, without = (distances(rows, "cifar", model) for model in (BOOTSTRAP, NO_BOOTSTRAP))
        lines.append(
            "* On the images, where features and so errors are not quite the paper's, errors are at most\n"
            f"  {with_it[2]:.4f} from the printed ones with bootstrap, and {without[2]:.4f} without."
        )
    for name in [n for n in ("covertype", "cifar") if has(rows, n, ALL_THRESHOLDS, BOOTSTRAP)]:
        lines.append(_thresholds_note(rows, name))
    return "\n".join(lines)


def _bootstrap_note(rows: pd.DataFrame) -> str:
    """Ours - printed error of 40 trees with and without, and of the standard forests, which bootstrap in both."""
    gaps = {}
    for model in PRINTED:
        ours = means(rows, "covertype", model, "error")[-1]
        gaps[model] = Interval(ours.mean - paper_row("covertype", model)[1][-1], ours.half).text(4, sign=True)
    return f"""\
* **Bootstrap** on covertype: with a bootstrap sample per tree, as Algorithm 1 of the paper has it, the error of 40
  trees is {gaps[BOOTSTRAP]} from the printed one; grown on all training rows, with the random thresholds as the
  only source of difference between trees, {gaps[NO_BOOTSTRAP]}. Whether the authors left the bootstrap out cannot be
  told: our standard forests, which have one, are {gaps[GINI]} (Gini) and {gaps[ENTROPY]} (entropy) from the
  printed ones, so the draws of rows may differ, too."""


def _thresholds_note(rows: pd.DataFrame, name: str) -> str:
    every, random = (means(rows, name, model, "percent")[-1].mean for model in (ALL_THRESHOLDS, BOOTSTRAP))
    error = differences(rows, name, ALL_THRESHOLDS, BOOTSTRAP, "error")[-1]
    fewer = 100 * (1 - every / random)
    share = f"{abs(fewer):.0f} % {'fewer' if fewer > 0 else 'more'}"
    return (
        f"* Searching all thresholds of {name} instead of random ones reads {share} features with 40 trees, at an\n"
        f"  error that differs by {error.text(4, sign=True)}."
    )
