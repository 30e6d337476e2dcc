"""The worked examples, the guarantee, and admissibility: what was computed, and verdicts."""

from __future__ import annotations

from studies.findings import Finding, verdict_of
from studies.nan2015.examples import ALL_IMPURITIES, ALPHAS, FIGURE_1_IMPURITIES, SMALL_IMPURITIES
from studies.nan2015.rows import NOT_RUN, markdown_table

ROUNDING = 1e-9


def records(rows: list[dict], name: str, settings: dict) -> dict[str, dict]:
    """Numbers by setting, in the order of the settings; none unless all are there."""
    found = {row["method"]: row for row in rows if row["task"] == f"examples {name}"}
    return {setting: found[setting] for setting in settings} if set(settings) <= set(found) else {}


def findings(rows: list[dict]) -> list[Finding]:
    found = []
    if figure := records(rows, "figure 1", FIGURE_1_IMPURITIES):
        found += figure_1_findings(figure)
    if patterns := records(rows, "patterns", ALPHAS):
        found += pattern_findings(patterns)
    if small := records(rows, "guarantee", SMALL_IMPURITIES):
        found.append(guarantee_finding(small))
    if every := records(rows, "admissible", ALL_IMPURITIES):
        found += admissible_findings(every)
    return found


def risks(row: dict) -> str:
    one, two = row["one_over_risk"]
    return f"1/{one:g} and 1/{two:g}, t{row['chosen']} is taken"


def figure_1_findings(rows: dict[str, dict]) -> list[Finding]:
    """The risks of t1 and t2 as the earlier version computes them."""
    zero, with_it, without = rows.values()
    printed = without["one_over_risk"] == [440, 435]
    same = with_it["one_over_risk"] == [440, 435]
    return [
        Finding(
            "Earlier version, Figure 1: with alpha 0 the risks are 1/600 and 1/675, and t2 is taken",
            risks(zero),
            verdict_of([zero["one_over_risk"] == [600, 675] and zero["chosen"] == 2]),
        ),
        Finding(
            "Earlier version, Figure 1: with alpha 8 they are 1/440 and 1/435, and t1 is taken",
            f"without the offset of eq. (11) {risks(without)}; with it {risks(with_it)}",
            "confirmed" if printed and same else "confirmed without the offset" if printed else "refuted",
            "" if same else "the paper's computation leaves out the - alpha^2 of its eq. (11); with it the two tie",
        ),
    ]


def pattern_findings(rows: dict[str, dict]) -> list[Finding]:
    zero, *others = rows.values()
    words = "; ".join(f"{setting}: {row['max_cost']:g}, {row['n_wrong']}/1024" for setting, row in rows.items())
    return [
        Finding(
            "1024 patterns: without an error the dearest path has to read 10 features, and alpha 0 does",
            f"{zero['max_cost']:g} features, {zero['n_wrong']}/1024 wrong",
            verdict_of([(zero["max_cost"], zero["n_wrong"]) == (10, 0)]),
        ),
        Finding(
            "1024 patterns: a tree that stops early (alpha 1 or more) reads 2 features and errs on 4 of 1024",
            words,
            verdict_of([(row["max_cost"], row["n_wrong"]) == (2, 4) for row in others]),
        ),
    ]


def guarantee_finding(rows: dict[str, dict]) -> Finding:
    total, dearer = (sum(row[column] for row in rows.values()) for column in ("n_sets", "n_dearer"))
    ratio, share = (max(row[c] for row in rows.values()) for c in ("largest_ratio", "largest_share_of_bound"))
    ours = f"dearer than OPT on {dearer} of {total} sets, at most {ratio:.2f} times; at most {share:.2f} of the bound"
    kept = [row["largest_share_of_bound"] <= 1 + ROUNDING for row in rows.values()]
    claim = (
        "Theorem 2.2: the dearest path costs at most OPT (log F(S) + 1) (small random sets, OPT by trying all trees)"
    )
    return Finding(claim, ours, verdict_of(kept), "" if all(kept) else "the bound is exceeded")


def admissible_findings(rows: dict[str, dict]) -> list[Finding]:
    ours = {name: row for name, row in rows.items() if name not in ("Gini", "entropy")}
    others = {name: row for name, row in rows.items() if name in ("Gini", "entropy")}
    return [
        Finding(
            "Threshold-Pairs and Powers are admissible",
            f"no counterexample among sampled sets: {'; '.join(n for n, row in ours.items() if row['admissible'])}",
            verdict_of([row["admissible"] for row in ours.values()]),
        ),
        Finding(
            "Gini and entropy are not: they are not monotone",
            "; ".join(f"{name}: {row['shown']}" for name, row in others.items()),
            verdict_of(["monotonicity" in row["violated"] for row in others.values()]),
        ),
    ]


def table(rows: list[dict]) -> str:
    """The small sets, by impurity."""
    small = records(rows, "guarantee", SMALL_IMPURITIES)
    if not small:
        return NOT_RUN
    head = ("impurity", "sets", "dearer than the best tree", "times dearer, at most", "share of the bound, at most")
    return markdown_table(
        head,
        (
            (
                name,
                str(row["n_sets"]),
                str(row["n_dearer"]),
                f"{row['largest_ratio']:.2f}",
                f"{row['largest_share_of_bound']:.2f}",
            )
            for name, row in small.items()
        ),
    )
