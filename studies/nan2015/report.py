"""The report of the study, written from the stored rows alone: tables, figures, and a verdict on every claim."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from studies.findings import Finding, findings_table, verdict_of
from studies.kusner2014.report import (
    cifar_finding,
    curves_of,
    forest_finding,
    gap,
    in_words,
    losses_of,
    six_features_finding,
)
from studies.nan2015 import forests, max_costs, variants
from studies.nan2015.tasks import SIZES, UCI
from studies.store import ResultStore

FIGURE_3 = Path(__file__).parent.parent / "kusner2014" / "results.sqlite"
FIGURE_3_VERSION = "1"
COLOURS = {"Powers": "#d55e00", "Pairs": "#0072b2"}
NEAR_PERCENT, NEAR_ERROR = 1.5, 0.005  # distances to a printed number that count as equal


def part_of(rows: list[dict], part: str) -> pd.DataFrame:
    """Rows of one part of the study; `name` is the data set."""
    mine = [row | {"name": row["task"].split(" ", 1)[1]} for row in rows if row["task"].startswith(f"{part} ")]
    return pd.DataFrame(mine)


def parts_of(rows: list[dict]) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Table 1, what the paper leaves open, and the appendix."""
    return part_of(rows, "table"), part_of(rows, "variants"), finished(part_of(rows, "appendix"))


def names_of(part: pd.DataFrame) -> set[str]:
    return set(part["name"]) if len(part) else set()


def finished(appendix: pd.DataFrame) -> pd.DataFrame:
    """Rows of the appendix, of data sets that have every impurity."""
    if len(appendix) == 0:
        return appendix
    return appendix[appendix.groupby("name")["method"].transform("nunique") == len(max_costs.IMPURITIES)]


# ---- Table 1


def mean_and_spread(rows: pd.DataFrame, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Over seeds, at each number of trees."""
    values = np.array(rows[column].tolist())
    return values.mean(axis=0), values.std(axis=0, ddof=1) if len(values) > 1 else np.full(values.shape[1], np.nan)


def table_1(rows: pd.DataFrame) -> str:
    lines = [
        "| data | model | trees | features read, % (sd) | paper | test error (sd) | paper |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in [n for n in SIZES if (rows["name"] == n).any()]:
        for model in forests.MODELS:
            mine = rows[(rows["name"] == name) & (rows["method"] == model)]
            if len(mine):
                lines += _table_lines(name, model, mine)
    return "\n".join(lines)


def _table_lines(name: str, model: str, mine: pd.DataFrame) -> list[str]:
    percent, sd_percent = mean_and_spread(mine, "percent")
    error, sd_error = mean_and_spread(mine, "error")
    printed = ("-",) * 4, ("-",) * 4
    if not name.endswith("classes"):
        shares, errors = forests.paper_row(name, model)
        printed = tuple(f"{p:.2f}" for p in shares), tuple(f"{e:.4f}" for e in errors)
    return [
        f"| {name} | {model} | {trees} | {percent[i]:.2f} ({sd_percent[i]:.2f}) | {printed[0][i]} "
        f"| {error[i]:.4f} ({sd_error[i]:.4f}) | {printed[1][i]} |"
        for i, trees in enumerate(forests.TREES)
    ]


def table_findings(rows: pd.DataFrame) -> list[Finding]:
    names = [n for n in SIZES if (rows["name"] == n).any()]
    found = [_cheaper_finding(rows, names)]
    for name in [n for n in names if n in ("covertype", "cifar")]:
        for model in ("BudgetRF, random thresholds, bootstrap", "BudgetRF, random thresholds, no bootstrap"):
            found.append(_printed_finding(rows, name, model))
    return found


def _cheaper_finding(rows: pd.DataFrame, names: list[str]) -> Finding:
    parts, kept = [], []
    for name in names:
        of = rows[rows["name"] == name].set_index("method")
        budget, gini, entropy = (
            mean_and_spread(of.loc[[m]], "percent")[0][-1]
            for m in ("BudgetRF, random thresholds, bootstrap", "RF Gini", "RF entropy")
        )
        kept.append(budget < min(gini, entropy))
        parts.append(f"{name} {budget:.1f} against {gini:.1f} and {entropy:.1f}")
    claim = "At 40 trees BudgetRF reads fewer features than RF with Gini or entropy on every data set (percent)"
    return Finding(claim, "; ".join(parts), verdict_of(kept))


def _printed_finding(rows: pd.DataFrame, name: str, model: str) -> Finding:
    mine = rows[(rows["name"] == name) & (rows["method"] == model)]
    percent, error = mean_and_spread(mine, "percent")[0], mean_and_spread(mine, "error")[0]
    shares, errors = forests.paper_row(name, model)
    distance = np.abs(percent - shares).max(), np.abs(error - errors).max()
    ours = f"at most {distance[0]:.2f} points and {distance[1]:.4f} away, over 1, 10, 20 and 40 trees"
    kept = [bool(distance[0] <= NEAR_PERCENT), bool(distance[1] <= NEAR_ERROR)]
    verdict = {(True, True): "confirmed", (True, False): "shares confirmed, errors not", (False, True): "errors only"}
    return Finding(f"Table 1, {name}: {model}", ours, verdict.get((kept[0], kept[1]), "not confirmed"))


# ---- what the paper leaves open


def variants_table(rows: pd.DataFrame) -> str:
    head = " | ".join(f"{budget:g}" for budget in variants.BUDGETS)
    lines = [f"| data | variant | {head} |", "|---" * (2 + len(variants.BUDGETS)) + "|"]
    for name in [n for n in variants.TASKS if (rows["name"] == n).any()]:
        for variant in variants.VARIANTS:
            mine = rows[(rows["name"] == name) & (rows["method"] == variant)]
            if len(mine):
                error, spread = mean_and_spread(mine, "error")
                cells = " | ".join(f"{e:.4f} ({s:.4f})" for e, s in zip(error, spread, strict=True))
                lines.append(f"| {name} | {variant} | {cells} |")
    return "\n".join(lines)


def alpha_finding(rows: pd.DataFrame) -> Finding:
    """Large alphas for small budgets, small ones for large budgets."""
    parts, kept = [], []
    some = rows[rows["method"] == "minimax, all thresholds, always"]
    for name in [n for n in variants.TASKS if (some["name"] == n).any()]:
        alphas = np.array(some.loc[some["name"] == name, "alpha"].tolist())
        middle = np.array([np.median(column[column >= 0]) if (column >= 0).any() else np.nan for column in alphas.T])
        known = middle[~np.isnan(middle)]
        kept.append(bool(known[0] > known[-1]))
        parts.append(f"{name} " + " / ".join("-" if np.isnan(a) else f"{a:g}" for a in middle))
    budgets = " / ".join(f"{b:g}" for b in variants.BUDGETS)
    claim = f"A high alpha has the lower error at low cost, alpha 0 at high cost (median chosen at budgets {budgets})"
    return Finding(claim, "; ".join(parts), verdict_of(kept))


# ---- appendix


def families(rows: pd.DataFrame, name: str) -> dict[str, np.ndarray]:
    """Error at each largest bill: of every Powers function, of Pairs with alpha 0, and of Pairs with the best alpha."""
    of = {row["method"]: row["error"] for row in rows[rows["name"] == name].to_dict("records")}
    length = max(map(len, of.values()))
    padded = {m: np.array([*errors, *[errors[-1]] * (length - len(errors))]) for m, errors in of.items()}
    pairs = np.min([errors for m, errors in padded.items() if m.startswith("Pairs")], axis=0)
    powers = {m: errors for m, errors in padded.items() if m.startswith("Powers")}
    return powers | {"Pairs, alpha 0": padded["Pairs 0"], "Pairs, best alpha": pairs}


def appendix_table(rows: pd.DataFrame) -> str:
    lines = [
        "| data | largest bill | Powers 2 | Powers 3 | Powers 4 | Powers 5 | Pairs, alpha 0 | Pairs, best alpha |",
        "|---" * 8 + "|",
    ]
    for name in [n for n in UCI if (rows["name"] == n).any()]:
        curves = families(rows, name)
        for cost in _shown(len(next(iter(curves.values())))):
            cells = " | ".join(f"{curves[m][cost]:.4f}" for m in curves)
            lines.append(f"| {name} | {cost} | {cells} |")
    return "\n".join(lines)


def _shown(length: int) -> list[int]:
    """Largest bills that a table shows: 1, 2, 3, and a few up to the whole tree."""
    return sorted({1, 2, 3, *np.linspace(3, length - 1, 4).astype(int).tolist()} & set(range(length)))


def appendix_findings(rows: pd.DataFrame) -> list[Finding]:
    names = [n for n in UCI if (rows["name"] == n).any()]
    apart, small, large = [], [], []
    for name in names:
        curves = families(rows, name)
        powers = np.mean([errors for m, errors in curves.items() if m.startswith("Powers")], axis=0)
        apart.append(float(np.abs(curves["Pairs, alpha 0"] - powers)[1:].mean()))
        half = (len(powers) + 1) // 2
        lead = powers - curves["Pairs, best alpha"]
        small.append(float(lead[1:half].mean()) if half > 1 else 0.0)
        large.append(float((powers - curves["Pairs, alpha 0"])[half:].mean()))
    return [
        Finding(
            "Appendix: with alpha 0, Pairs and Powers differ little (mean distance of the errors)",
            ", ".join(f"{n} {a:.3f}" for n, a in zip(names, apart, strict=True)),
            verdict_of([a < 0.02 for a in apart]),
        ),
        Finding(
            "Appendix: at small largest bills Pairs with its early stopping is ahead of Powers (mean lead, lower half)",
            ", ".join(f"{n} {lead:+.3f}" for n, lead in zip(names, small, strict=True)),
            verdict_of([lead > 0 for lead in small]),
        ),
        Finding(
            "Appendix: at larger ones Powers is ahead (mean lead of Pairs with alpha 0, upper half)",
            ", ".join(f"{n} {lead:+.3f}" for n, lead in zip(names, large, strict=True)),
            verdict_of([lead <= 0 for lead in large]),
        ),
    ]


def draw_appendix(rows: pd.DataFrame, path: Path) -> None:
    """Error against the largest bill, a panel for each data set."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(3, 3, figsize=(10.5, 8.4), layout="constrained")
    for ax, name in zip(axes.flat, [n for n in UCI if (rows["name"] == n).any()], strict=False):
        for method, errors in families(rows, name).items():
            family = method.split()[0].rstrip(",")
            style = ":" if method.endswith("alpha 0") else "-"
            label = (
                None if method in ("Powers 3", "Powers 4", "Powers 5") else method.replace("Powers 2", "Powers 2 to 5")
            )
            ax.plot(np.arange(len(errors)), errors, style, color=COLOURS[family], linewidth=1.2, label=label)
        ax.set(title=name, xlabel="largest bill", ylim=(0, None))
    axes[0, 0].set_ylabel("training error")
    axes[0, 0].legend(frameon=False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


# ---- Figure 3


def figure_3_findings() -> list[Finding]:
    """From the rows of studies/kusner2014; only where every method has run."""
    if not FIGURE_3.exists():
        return []
    rows = ResultStore(FIGURE_3, FIGURE_3_VERSION).rows()
    curves = curves_of(rows)
    needed = {"ASTC", "ASTC soft", "CSTC", "BudgetRF"}
    names = [n for n in curves["name"].unique() if needed <= set(curves.loc[curves["name"] == n, "method"])]
    found = [forest_finding(curves, n) for n in ("miniboone", "covertype", "yahoo-like") if n in names]
    if "miniboone" in names:
        found.append(six_features_finding(curves))
    if "cifar" in names:
        found.append(cifar_finding(curves))
    miser = [n for n in names if (curves.loc[curves["name"] == n, "method"] == "GreedyMiser").any()]
    return [*found, miser_finding(losses_of(rows), miser)] if miser else found


def miser_finding(losses: pd.DataFrame, names: list[str]) -> Finding:
    gaps = {name: gap(losses, name, "GreedyMiser", "BudgetRF") for name in names}
    claim = "BudgetRF is as good as GreedyMiser or better: mean over budgets of GreedyMiser - BudgetRF"
    return Finding(claim, in_words(gaps), verdict_of([found.mean >= 0 for found in gaps.values()]))


# ---- the page


def n_seeds(table: pd.DataFrame, name: str) -> int:
    """Of the model that has fewest."""
    return int(table[table["name"] == name].groupby("method").size().min())


def findings(rows: list[dict]) -> list[Finding]:
    """What the rows say about the paper's sentences."""
    table, open_questions, appendix = parts_of(rows)
    found = table_findings(table) if len(table) else []
    found += figure_3_findings()
    found += [alpha_finding(open_questions)] if len(open_questions) else []
    return found + (appendix_findings(appendix) if len(appendix) else [])


def write_report(rows: list[dict], folder: Path) -> None:
    """report.md and its figure in a folder."""
    table, open_questions, appendix = parts_of(rows)
    if len(appendix):
        draw_appendix(appendix, folder / "appendix.png")
    missing = [name for name in SIZES if name not in names_of(table)]
    missing += [name for name in UCI if name not in names_of(appendix)]
    none = "No rows yet."
    text = (
        (Path(__file__).parent / "report.template.md")
        .read_text()
        .format(
            findings=findings_table(findings(rows)),
            seeds=", ".join(f"{name} {n_seeds(table, name)}" for name in SIZES if name in names_of(table)),
            missing=f"Not run: {', '.join(missing)}." if missing else "Nothing was skipped.",
            table=table_1(table) if len(table) else none,
            variants=variants_table(open_questions) if len(open_questions) else none,
            appendix=appendix_table(appendix) if len(appendix) else none,
        )
    )
    (folder / "report.md").write_text(text)
