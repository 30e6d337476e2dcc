"""The appendix: training error by largest bill for both families of impurities, the picture, and verdicts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from studies.findings import Finding, verdict_of
from studies.nan2015.max_costs import IMPURITIES
from studies.nan2015.rows import markdown_table, names_of
from studies.nan2015.tasks import UCI

POWERS = tuple(name for name in IMPURITIES if name.startswith("Powers"))
PAIRS = tuple(name for name in IMPURITIES if name.startswith("Pairs") and name != "Pairs 0")  # that stop early
# Powers 2 = n^2 - sum n_i^2 = sum over i != j of n_i n_j = Pairs with alpha 0: one column, one line.
TITLES = {"Powers 2": "Powers 2 = Pairs 0"}
LITTLE = 0.02  # mean distance of two curves
STYLES = {  # colour and line of what is drawn
    "Powers 2": ("#7f2704", "-"),
    "Powers 3": ("#d94801", "--"),
    "Powers 4": ("#fd8d3c", "-."),
    "Powers 5": ("#b8860b", ":"),
    "Pairs 1": ("#08306b", "-"),
    "Pairs 4": ("#2171b5", "--"),
    "Pairs 16": ("#6baed6", "-."),
}


def finished(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of data sets that have every impurity."""
    if len(rows) == 0:
        return rows
    return rows[rows.groupby("name")["method"].transform("nunique") == len(IMPURITIES)]


def curves_of(rows: pd.DataFrame, name: str) -> dict[str, NDArray[np.float64]]:
    """Error at each largest bill, of every impurity; a tree that has ended stays at its last error."""
    of = {row["method"]: row["error"] for row in rows[rows["name"] == name].to_dict("records")}
    length = max(map(len, of.values()))
    return {m: np.array([*of[m], *[of[m][-1]] * (length - len(of[m]))]) for m in IMPURITIES}


def table(rows: pd.DataFrame) -> str:
    columns = (*POWERS, *PAIRS)
    lines = []
    for name in names_of(rows, UCI):
        curves = curves_of(rows, name)
        for bill in _shown(len(curves["Pairs 0"])):
            lines.append([name, str(bill), *(f"{curves[m][bill]:.4f}" for m in columns)])
    return markdown_table(("data", "largest bill", *(TITLES.get(m, m) for m in columns)), lines)


def _shown(length: int) -> list[int]:
    """Largest bills that a table shows: 1, 2, 3, and a few up to the whole tree."""
    return sorted({1, 2, 3, *np.linspace(3, length - 1, 4).astype(int).tolist()} & set(range(length)))


# ---- findings


def findings(rows: pd.DataFrame) -> list[Finding]:
    names = names_of(rows, UCI)
    if not names:
        return []
    curves = {name: curves_of(rows, name) for name in names}
    return [
        half_finding(
            curves,
            "lower",
            "Appendix: at small largest bills Pairs with its early stopping errs less than Powers",
            "the paper does not say which alpha; a large one stops too early",
        ),
        half_finding(curves, "upper", "Appendix: at larger ones Powers errs less than Pairs that stop early", ""),
        same_finding(curves),
        little_finding(curves),
    ]


def leads(curves: dict[str, dict[str, NDArray[np.float64]]], half: str) -> dict[str, list[float]]:
    """Mean error of the four Powers - error of Pairs with one alpha, over half of the bills; a number per data set."""
    found = {pairs: [] for pairs in PAIRS}
    for of in curves.values():
        powers = np.mean([of[m] for m in POWERS], axis=0)
        middle = (len(powers) + 1) // 2
        part = slice(1, max(middle, 2)) if half == "lower" else slice(middle, None)
        for pairs in PAIRS:
            found[pairs].append(float((powers - of[pairs])[part].mean()))
    return found


def half_finding(curves: dict, half: str, claim: str, why: str) -> Finding:
    """One alpha at a time, on every data set: who has the lower mean error in half of the bills."""
    found = leads(curves, half)
    is_ahead = {pairs: [lead > 0 if half == "lower" else lead < 0 for lead in some] for pairs, some in found.items()}
    ours = ", ".join(
        f"alpha {pairs.split()[1]}: {sum(ahead)} of {len(ahead)} ({np.mean(found[pairs]):+.3f})"
        for pairs, ahead in is_ahead.items()
    )
    kept = [one for ahead in is_ahead.values() for one in ahead]
    words = f"{claim} (data sets where so; in brackets the mean of Powers - Pairs; {half} half of the bills)"
    return Finding(words, ours, verdict_of(kept), "" if all(kept) else why)


def same_finding(curves: dict) -> Finding:
    """Powers 2 and Pairs with alpha 0."""
    kept = [bool(np.array_equal(of["Powers 2"], of["Pairs 0"])) for of in curves.values()]
    claim = "Appendix: with alpha 0, Pairs and Powers differ little: Powers 2"
    why = "more than the paper says: n^2 - sum n_i^2 = sum over i != j of n_i n_j, they are the same function"
    return Finding(claim, f"the same errors on {sum(kept)} of {len(kept)} data sets", verdict_of(kept), why)


def little_finding(curves: dict) -> Finding:
    others = [m for m in POWERS if m != "Powers 2"]
    apart = {
        name: float(np.mean([np.abs(of["Pairs 0"] - of[m])[1:].mean() for m in others])) for name, of in curves.items()
    }
    kept = [distance < LITTLE for distance in apart.values()]
    claim = (
        "Appendix: with alpha 0, Pairs and Powers differ little: Powers 3 to 5 (mean distance of the errors; "
        f"little: below {LITTLE:g})"
    )
    ours = ", ".join(f"{name} {distance:.3f}" for name, distance in apart.items())
    why = "" if all(kept) else "the paper does not say what small is; our stumps have two outcomes, its tests up to ten"
    return Finding(claim, ours, verdict_of(kept), why)


# ---- the picture


def draw(rows: pd.DataFrame, path: Path) -> None:
    """Error against the largest bill, a panel for each data set."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(3, 3, figsize=(10.5, 8.8), layout="constrained")
    names = names_of(rows, UCI)
    for ax in axes.flat[len(names) :]:
        ax.set_axis_off()
    for ax, name in zip(axes.flat, names, strict=False):
        curves = curves_of(rows, name)
        for method, (colour, line) in STYLES.items():
            label = TITLES.get(method, method.replace("Pairs", "Pairs, alpha"))
            ax.plot(curves[method], line, color=colour, linewidth=1.5, label=label)
        ax.set(title=name, xlabel="largest bill", ylim=(0, None))
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel("training error")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=7, frameon=False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
