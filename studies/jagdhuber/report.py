"""The report of the study, written from the stored rows alone: tables, figures, and a verdict on every finding."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from studies.findings import Finding, findings_table
from studies.jagdhuber.tasks import BUDGETS, REAL, SETTINGS

from frugalforest.evaluation.resampling import monte_carlo_interval

METHODS = ("STS", "AUC", "pFI", "FS")  # of the paper
SHOWN = ("STS", "STS features", "AUC", "pFI", "FS")  # in tables
ENOUGH = 5  # repetitions, for a place in a ranking
STRATEGIES = ("xi 0", "xi 1", "tuned")
COLOURS = {"STS": "#0072b2", "AUC": "#d55e00", "pFI": "#009e73", "FS": "#777777"}


def as_frame(rows: list[dict]) -> pd.DataFrame:
    frame = pd.DataFrame(rows)
    frame[["name", "budget"]] = frame["task"].str.rsplit(" ", n=1, expand=True)
    frame["budget"] = frame["budget"].astype(float)
    parts = frame["method"].str.extract(r"^(?P<kind>.*) (?P<strategy>xi 0|xi 1|tuned)$")
    return frame.assign(**parts)


def paired(frame: pd.DataFrame, kinds: Sequence[str]) -> pd.DataFrame:
    """The rows of some methods, of those repetitions in which all of them have run."""
    part = frame[frame["kind"].isin(kinds)]
    n_kinds = part.groupby(["name", "budget", "seed"])["kind"].transform("nunique")
    return part[n_kinds == len(kinds)]


def means(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean test error, half of its interval and the number of repetitions of every cell that has two at least."""
    cells = []
    for key, part in frame.groupby(["name", "budget", "kind", "strategy"]):
        if len(part) < 2:
            continue
        mean, half = monte_carlo_interval(part["error"].to_numpy())
        cells.append((*key, mean, half, len(part), part["cost"].mean(), part["n_features"].mean(), part["xi"].mean()))
    columns = ["name", "budget", "kind", "strategy", "error", "half", "n", "cost", "n_features", "xi"]
    return pd.DataFrame(cells, columns=columns)


def error_table(cells: pd.DataFrame, names) -> list[str]:
    """One line per data set and budget, one column per method and strategy."""
    found = cells.set_index(["name", "budget", "kind", "strategy"])
    columns = [(k, s) for k in SHOWN for s in STRATEGIES if ((cells["kind"] == k) & (cells["strategy"] == s)).any()]
    lines = ["| | budget | " + " | ".join(f"{k} {s}" for k, s in columns) + " |", "|---" * (len(columns) + 2) + "|"]
    for name in names:
        for budget in sorted(cells.loc[cells["name"] == name, "budget"].unique()):
            texts = [_cell(found, (name, budget, *column)) for column in columns]
            lines.append(f"| {name} | {budget:g} | " + " | ".join(texts) + " |")
    return lines


def _cell(found: pd.DataFrame, key) -> str:
    if key not in found.index:
        return "-"
    row = found.loc[key]
    rivals = found.xs(key[:2], level=("name", "budget"))
    rivals = rivals[rivals.index.get_level_values("kind").isin(SHOWN)]
    text = f"{row['error']:.4f} ± {row['half']:.4f}"
    return f"**{text}**" if row["error"] == rivals["error"].min() else text


# ---- findings


def tuning_finding(cells: pd.DataFrame) -> Finding:
    wide = cells[cells["kind"].isin(METHODS)].pivot_table(
        index=["name", "budget", "kind"], columns="strategy", values="error"
    )
    wide = wide.dropna()
    beats_0, beats_1 = (wide["tuned"] <= wide["xi 0"]).mean(), (wide["tuned"] <= wide["xi 1"]).mean()
    both = ((wide["tuned"] <= wide["xi 0"]) & (wide["tuned"] <= wide["xi 1"])).mean()
    ours = (
        f"tuned is at most xi = 0 in {beats_0:.0%}, xi = 1 in {beats_1:.0%}, both in {both:.0%} of {len(wide)} cells; "
        f"mean error {wide['xi 0'].mean():.4f} (0), {wide['xi 1'].mean():.4f} (1), {wide['tuned'].mean():.4f} (tuned)"
    )
    verdict = "confirmed" if min(beats_0, beats_1) >= 0.75 else "partly" if min(beats_0, beats_1) >= 0.5 else "refuted"
    return Finding("Tuned xi beats xi = 0 and xi = 1 nearly everywhere (settings A to D)", ours, verdict)


def order_finding(frame: pd.DataFrame, settings, claim: str, expected: list[str]) -> Finding:
    """Ranks of means over the repetitions that all methods have; a method with a few only is left out."""
    part = frame[frame["name"].isin(settings) & (frame["strategy"] == "tuned") & frame["kind"].isin(METHODS)]
    n_seeds = part.groupby("kind")["seed"].nunique()
    cells = means(paired(part, n_seeds.index[n_seeds >= min(ENOUGH, n_seeds.max())]))
    wide = cells.pivot_table(index=["name", "budget"], columns="kind", values="error")
    ranks = wide.rank(axis=1).mean().sort_values()
    ours = ", ".join(f"{kind} {rank:.2f}" for kind, rank in ranks.items()) + f" (mean rank over {len(wide)} cells)"
    present = [kind for kind in expected if kind in ranks.index]
    order = [kind for kind in ranks.index if kind in present]
    agreeing = sum(order.index(a) < order.index(b) for i, a in enumerate(present) for b in present[i + 1 :])
    pairs = len(present) * (len(present) - 1) // 2
    verdict = "confirmed" if order == present else f"partly: {agreeing} of {pairs} pairs in that order"
    return Finding(claim, ours, verdict if agreeing else "refuted")


def rank_finding(frame: pd.DataFrame) -> Finding:
    part = frame[frame["name"].isin(REAL) & frame["kind"].isin(METHODS) & frame["strategy"].isin(["tuned", "xi 0"])]
    ranks = mean_ranks(part)
    tuned = {m: r for m, r in ranks.items() if m.endswith("tuned")}
    agnostic = {m: r for m, r in ranks.items() if m.endswith("xi 0")}
    ahead = sum(t < a for t in tuned.values() for a in agnostic.values())
    ours = ", ".join(f"{method} {rank:.2f}" for method, rank in sorted(ranks.items(), key=lambda item: item[1]))
    pairs = len(tuned) * len(agnostic)
    verdict = "confirmed" if ahead == pairs else f"partly: {ahead} of {pairs} pairs" if ahead else "refuted"
    return Finding("Real sets: every tuned method ranks above every cost-agnostic one", ours, verdict)


def lead_finding(frame: pd.DataFrame) -> Finding:
    part = frame[frame["name"].isin(REAL) & frame["kind"].isin(METHODS) & (frame["strategy"] == "tuned")]
    ranks = mean_ranks(part)
    leaders = [ranks[m] for m in ("STS tuned", "pFI tuned")]
    others = [rank for method, rank in ranks.items() if method not in ("STS tuned", "pFI tuned")]
    lead = min(others) - max(leaders)
    ours = ", ".join(f"{m} {r:.2f}" for m, r in sorted(ranks.items(), key=lambda item: item[1])) + f"; lead {lead:+.2f}"
    verdict = "confirmed" if lead > 0.75 else "partly: they lead, by less" if lead > 0 else "refuted"
    return Finding("Real sets: STS and pFI lead by almost a full rank", ours, verdict)


def mean_ranks(part: pd.DataFrame) -> dict[str, float]:
    """Mean over data sets, budgets and splits of the rank of each method; only where all have run."""
    wide = part.pivot_table(index=["name", "budget", "seed"], columns="method", values="error").dropna()
    return wide.rank(axis=1).mean().to_dict()


def readings_finding(cells: pd.DataFrame) -> Finding:
    part = cells[cells["strategy"].isin(["xi 1", "tuned"])]
    wide = part.pivot_table(index=["name", "budget", "strategy"], columns="kind", values="error")
    wide = wide[["STS", "STS paper"]].dropna()
    by = wide.groupby("strategy").mean()
    ours = "; ".join(f"{s}: signed {r['STS']:.4f}, as printed {r['STS paper']:.4f}" for s, r in by.iterrows())
    better = (wide["STS"] <= wide["STS paper"]).mean()
    claim = "STS where no candidate lowers the error: rise times cost^xi (ours) against rise over cost^xi (printed)"
    return Finding(claim, f"{ours}; ours at most the printed one in {better:.0%} of {len(wide)} cells", "measured")


def limits_finding(cells: pd.DataFrame) -> Finding:
    part = cells[cells["strategy"] == "tuned"]
    wide = part.pivot_table(index=["name", "budget"], columns="kind", values="error").dropna()
    better = (wide["STS features"] <= wide["STS"]).mean()
    means_ = f"depth {wide['STS'].mean():.4f}, distinct features {wide['STS features'].mean():.4f}"
    claim = "Outlook: base trees of STS limited by distinct features instead of depth"
    return Finding(claim, f"{means_} (tuned); features at most depth in {better:.0%} of {len(wide)} cells", "measured")


def findings(frame: pd.DataFrame, cells: pd.DataFrame) -> list[Finding]:
    simulated = frame[frame["name"].isin(SETTINGS)]
    found = []
    if len(simulated):
        found.append(tuning_finding(cells[cells["name"].isin(SETTINGS)]))
        claims = {
            "A and B: AUC best, then pFI, then STS, then FS": (("A", "B"), ["AUC", "pFI", "STS", "FS"]),
            "C and D: STS best, pFI second, AUC last": (("C", "D"), ["STS", "pFI", "AUC"]),
        }
        found += [order_finding(simulated, s, claim, order) for claim, (s, order) in claims.items()]
        for variant, finding in (("STS features", limits_finding), ("STS paper", readings_finding)):
            compared = means(paired(simulated, ["STS", variant]))
            if len(compared):
                found.append(finding(compared))
    if frame["name"].isin(REAL).any():
        found += [rank_finding(frame), lead_finding(frame)]
    return found


# ---- figures


def draw_settings(cells: pd.DataFrame, path: Path) -> None:
    """Test error against budget, tuned, one panel for each setting."""
    from matplotlib import pyplot

    names = [name for name in SETTINGS if (cells["name"] == name).any()]
    figure, axes = pyplot.subplots(1, len(names), figsize=(3.2 * len(names), 3), sharey=True, layout="constrained")
    for ax, name in zip(np.atleast_1d(axes), names, strict=True):
        for kind in METHODS:
            for strategy, style in (("tuned", "-"), ("xi 0", ":")):
                part = cells[(cells["name"] == name) & (cells["kind"] == kind) & (cells["strategy"] == strategy)]
                if len(part) == 0:
                    continue
                part = part.sort_values("budget")
                label = kind if strategy == "tuned" else None
                ax.errorbar(
                    part["budget"], part["error"], part["half"], color=COLOURS[kind], linestyle=style, label=label
                )
        ax.set(title=f"setting {name}", xlabel="budget", xscale="log")
        ax.set_xticks(BUDGETS, [f"{b:g}" for b in BUDGETS])
        ax.minorticks_off()
    np.atleast_1d(axes)[0].set_ylabel("test error (lines: tuned, dots: xi = 0)")
    np.atleast_1d(axes)[0].legend(frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


# ---- the page


def write_report(rows: list[dict], folder: Path) -> None:
    """report.md and its figure in a folder."""
    folder.mkdir(exist_ok=True)
    frame = as_frame(rows)
    cells = means(frame)
    template = (Path(__file__).parent / "report.template.md").read_text()
    sizes = cells.groupby(["name", "kind"])["n"].agg(["min", "max"]).groupby("kind").agg({"min": "min", "max": "max"})
    counted = ", ".join(
        f"{kind} {row['min']}" + (f" to {row['max']}" if row["max"] > row["min"] else "")
        for kind, row in sizes.iterrows()
    )
    present = set(cells["name"])
    skipped = [name for name in (*SETTINGS, *REAL) if name not in present]
    if present & set(SETTINGS):
        draw_settings(cells, folder / "settings.png")
    text = template.format(
        findings=findings_table(findings(frame, cells)),
        simulated="\n".join(error_table(cells, [n for n in SETTINGS if n in present])),
        real="\n".join(error_table(cells, [n for n in REAL if n in present]))
        if present & set(REAL)
        else "No rows yet.",
        repetitions=counted,
        skipped=f"Not run: {', '.join(skipped)}." if skipped else "Nothing was skipped.",
    )
    (folder / "report.md").write_text(text)
