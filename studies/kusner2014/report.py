"""The report of the study, written from the stored rows alone: tables, a figure, and a verdict on every sentence."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t as student_t
from studies.findings import Finding, findings_table, verdict_of
from studies.kusner2014.tasks import BUDGETS, CLASSIFICATION, RANKING, TASKS

METHODS = ("ASTC", "ASTC soft", "CSTC", "l1", "GreedyMiser", "BudgetRF")
COLOURS = dict(zip(METHODS, ("#0072b2", "#56b4e9", "#d55e00", "#777777", "#cc79a7", "#009e73"), strict=True))
NEEDED = ("ASTC", "ASTC soft", "CSTC", "l1", "BudgetRF")  # a task without one of them is not judged
MATCH = 0.005  # mean losses that differ by less are equal
RACE = "race"


def losses_of(rows: list[dict]) -> pd.DataFrame:
    """One line per (task, budget, method, seed)."""
    frame = pd.DataFrame([row for row in rows if row["method"] != RACE])
    frame[["name", "budget"]] = frame["task"].str.rsplit(" ", n=1, expand=True)
    frame["budget"] = frame["budget"].astype(float)
    return frame


def curves_of(rows: list[dict]) -> pd.DataFrame:
    """One line per (task, budget, method): mean test loss and bill over seeds, and the spread of the loss."""
    by = losses_of(rows).groupby(["name", "budget", "method"])
    return by.agg(
        loss=("loss", "mean"),
        spread=("loss", "std"),
        cost=("cost", "mean"),
        seconds=("seconds", "mean"),
        n=("loss", "size"),
    ).reset_index()


def races_of(rows: list[dict]) -> pd.DataFrame:
    """One line per task and bill: the training times."""
    frame = pd.DataFrame([row for row in rows if row["method"] == RACE])
    return frame if len(frame) == 0 else frame.sort_values(["name", "cstc_bill"])


def wide_of(curves: pd.DataFrame, name: str) -> pd.DataFrame:
    """Mean losses of a task, one line per budget, one column per method."""
    return curves[curves["name"] == name].pivot_table(index="budget", columns="method", values="loss")


# ---- tables


def loss_table(curves: pd.DataFrame, names) -> list[str]:
    """Error, or precision@5, of every method at every budget; the best of a line is bold."""
    methods = [m for m in METHODS if (curves["method"] == m).any()]
    lines = ["| | budget | " + " | ".join(methods) + " |", "|---" * (len(methods) + 2) + "|"]
    for name in names:
        cells = curves[curves["name"] == name].set_index(["budget", "method"])
        for budget in sorted({b for b, _ in cells.index}):
            best = cells.loc[budget]["loss"].min()
            texts = [_cell(cells, (budget, m), best, name) for m in methods]
            lines.append(f"| {name} | {budget:g} | " + " | ".join(texts) + " |")
    return lines


def _cell(cells: pd.DataFrame, key, best: float, name: str) -> str:
    if key not in cells.index:
        return "-"
    row = cells.loc[key]
    value = 1 - row["loss"] if name in RANKING else row["loss"]
    spread = "" if np.isnan(row["spread"]) else f" ± {row['spread']:.3f}"
    text = f"{value:.3f}{spread} ({row['cost']:.3g})"
    return f"**{text}**" if row["loss"] == best else text


def race_table(races: pd.DataFrame) -> list[str]:
    head = (
        "| | rows x columns | bill CSTC / ASTC / soft | error CSTC / ASTC / soft | CSTC, CPU s | ASTC: times faster | "
    )
    lines = [head + "soft: times faster |", "|---" * 7 + "|"]
    for row in races.to_dict("records"):
        bills = " / ".join(f"{row[f'{m}_bill']:.3g}" for m in ("cstc", "astc", "astc_soft"))
        errors = " / ".join(f"{row[f'{m}_error']:.3f}" for m in ("cstc", "astc", "astc_soft"))
        ratios = f"{row['astc_ratio']:.1f} | {row['astc_soft_ratio']:.1f}"
        size = f"{row['rows']} x {row['columns']}"
        lines.append(f"| {row['name']} | {size} | {bills} | {errors} | {row['cstc_seconds']:.2f} | {ratios} |")
    return lines


def tuning_table(curves: pd.DataFrame) -> list[str]:
    """CPU seconds of all fits that a method chooses from."""
    methods = [m for m in METHODS if (curves["method"] == m).any()]
    lines = ["| | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    seconds = curves.groupby(["name", "method"])["seconds"].first()
    for name in [n for n in TASKS if (curves["name"] == n).any()]:
        texts = [f"{seconds[name, m]:.0f}" if (name, m) in seconds.index else "-" for m in methods]
        lines.append(f"| {name} | " + " | ".join(texts) + " |")
    return lines


# ---- findings


class Gap(NamedTuple):
    """Mean over budgets and seeds of loss(one) - loss(other), and half of its 95 % interval; NaN for a single seed."""

    mean: float
    half: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f}" if np.isnan(self.half) else f"{self.mean:+.3f} ± {self.half:.3f}"


def gap(losses: pd.DataFrame, name: str, one: str, other: str) -> Gap:
    """Both methods on the same rows, seed by seed: Student's t, over the seeds that have both."""
    some = losses[losses["name"] == name].pivot_table(index="seed", columns=["method", "budget"], values="loss")
    by_seed = (some[one] - some[other]).mean(axis=1).dropna()
    n = len(by_seed)
    half = student_t.ppf(0.975, n - 1) * by_seed.std() / np.sqrt(n) if n > 1 else np.nan
    return Gap(float(by_seed.mean()), float(half))


def match_finding(losses: pd.DataFrame, names) -> Finding:
    gaps = {name: min(gap(losses, name, method, "CSTC") for method in ("ASTC", "ASTC soft")) for name in names}
    claim = "ASTC (the better of both kinds) matches CSTC or is better: mean over budgets of ASTC - CSTC"
    return Finding(claim, in_words(gaps), verdict_of([found.mean <= MATCH for found in gaps.values()]))


def beats_finding(losses: pd.DataFrame, names, method: str) -> Finding:
    gaps = {name: gap(losses, name, method, "l1") for name in names}
    claim = f"{method} beats the single l1 classifier: mean over budgets of {method} - l1"
    return Finding(claim, in_words(gaps), verdict_of([found.mean < 0 for found in gaps.values()]))


def in_words(gaps: dict[str, Gap]) -> str:
    return ", ".join(f"{name} {found}" for name, found in gaps.items())


def forest_finding(curves: pd.DataFrame, name: str) -> Finding:
    wide = wide_of(curves, name)
    rivals = wide[["ASTC", "ASTC soft", "CSTC"]].min(axis=1)
    ahead = wide["BudgetRF"] <= rivals
    where = ", ".join(f"{b:g}" for b in wide.index[ahead]) or "none"
    ours = f"ahead of the best of them at budgets {where} of {', '.join(f'{b:g}' for b in wide.index)}"
    return Finding(f"BudgetRF beats ASTC and CSTC on {name} (Nan et al. 2015)", ours, verdict_of(list(ahead)))


def six_features_finding(curves: pd.DataFrame) -> Finding:
    wide = wide_of(curves, "miniboone")
    forest, rivals = wide.loc[6, "BudgetRF"], wide[["ASTC", "ASTC soft", "CSTC"]].min().min()
    claim = "miniboone: BudgetRF with about 6 features is below ASTC and CSTC with any number (Nan et al. 2015)"
    return Finding(claim, f"{forest:.3f} against {rivals:.3f}", "confirmed" if forest < rivals else "refuted")


def cifar_finding(curves: pd.DataFrame) -> Finding:
    wide = wide_of(curves, "cifar")
    better = wide[["ASTC", "ASTC soft"]].min(axis=1) < wide["BudgetRF"]
    small, large = better[better.index < 90], better[better.index >= 90]
    ours = "; ".join(
        f"{b:g}: {row[['ASTC', 'ASTC soft']].min():.3f} against {row['BudgetRF']:.3f}" for b, row in wide.iterrows()
    )
    holds = [bool(small.all()), bool((~large).all())]
    claim = "cifar: ASTC is better than BudgetRF at small budgets, worse from about 90 on (Nan et al. 2015)"
    return Finding(claim, ours, "confirmed" if all(holds) else "half" if any(holds) else "refuted")


def speed_finding(races: pd.DataFrame) -> Finding:
    parts = []
    for name, part in races.groupby("name", sort=False):
        parts.append(f"{name} {part['astc_ratio'].min():.1f} to {part['astc_ratio'].max():.1f}")
    faster = list(races["astc_ratio"] > 1)
    claim = "ASTC trains faster than CSTC: 1.4 to 119 times (cifar down to 0.14 times); ours has to at every budget"
    return Finding(claim, ", ".join(parts) + " times faster", verdict_of(faster))


def findings(rows: list[dict]) -> list[Finding]:
    losses, curves, races = losses_of(rows), curves_of(rows), races_of(rows)
    names = [n for n in TASKS if set(NEEDED) <= set(curves.loc[curves["name"] == n, "method"])]
    if not names:
        return []
    found = [match_finding(losses, names)]
    found += [beats_finding(losses, names, method) for method in ("ASTC", "ASTC soft", "CSTC")]
    if "miniboone" in names:
        found += [forest_finding(curves, "miniboone"), six_features_finding(curves)]
    found += [forest_finding(curves, name) for name in ("covertype", "yahoo-like") if name in names]
    if "cifar" in names:
        found.append(cifar_finding(curves))
    return found if len(races) == 0 else [*found, speed_finding(races)]


# ---- the figure and the page


def draw(curves: pd.DataFrame, path: Path) -> None:
    """Test error (precision@5 for ranking) against the average bill of the test rows."""
    from matplotlib import pyplot

    names = [n for n in TASKS if (curves["name"] == n).any()]
    figure, axes = pyplot.subplots(2, 3, figsize=(11, 6.4), layout="constrained")
    for ax in axes.flat[len(names) :]:
        ax.set_axis_off()
    for ax, name in zip(axes.flat, names, strict=False):
        for method in METHODS:
            part = curves[(curves["name"] == name) & (curves["method"] == method) & (curves["cost"] > 0)]
            values = 1 - part["loss"] if name in RANKING else part["loss"]
            ax.plot(
                part["cost"], values, "o-", markersize=3, color=COLOURS[method], label=method if len(part) else None
            )
        label = "precision@5" if name in RANKING else "test error"
        ax.set(title=name, xlabel="average bill", ylabel=label, xscale="log")
        ax.set_xticks(BUDGETS[name], [f"{budget:g}" for budget in BUDGETS[name]])
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def write_report(rows: list[dict], folder: Path) -> None:
    """report.md and its figure in a folder."""
    folder.mkdir(exist_ok=True)
    curves, races = curves_of(rows), races_of(rows)
    draw(curves, folder / "curves.png")
    present = {n: int(curves.loc[curves["name"] == n, "n"].max()) for n in TASKS if (curves["name"] == n).any()}
    missing = [n for n in TASKS if n not in present]
    missing += [m for m in METHODS if not (curves["method"] == m).any()]
    template = (Path(__file__).parent / "report.template.md").read_text()
    text = template.format(
        findings=findings_table(findings(rows)),
        seeds=", ".join(f"{name} {n}" for name, n in present.items()),
        missing=f"Not run: {', '.join(missing)}." if missing else "Nothing was skipped.",
        classification="\n".join(loss_table(curves, [n for n in CLASSIFICATION if n in present])),
        ranking="\n".join(loss_table(curves, [n for n in RANKING if n in present])),
        races="\n".join(race_table(races)) if len(races) else "No rows yet.",
        tuning="\n".join(tuning_table(curves)),
    )
    (folder / "report.md").write_text(text)
