"""The report of the study, written from the stored rows alone: tables, figures, and a verdict on every claim."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from studies.findings import Finding, findings_table
from studies.nan2015 import appendix_report, examples_report, figure3, figure3_report, table_report, variants_report
from studies.nan2015.examples import EXAMPLES
from studies.nan2015.forests import MODELS
from studies.nan2015.rows import NOT_RUN, has, n_seeds, names_of, part_of
from studies.nan2015.tasks import SIZES, UCI
from studies.nan2015.variants import TASKS, VARIANTS

NOT_TESTED = "not tested: the data are not to be had"
YAHOO_CLAIMS = (
    "Yahoo! ranking: BudgetRF at an average cost of 70 is above what ASTC and CSTC reach at 450 and more",
    "Yahoo! ranking: GreedyMiser has the higher precision at first, and rises more slowly than BudgetRF",
    "Yahoo! ranking: standard forests do even worse, since they read the dear features like the others",
)


def findings(rows: list[dict]) -> list[Finding]:
    """What the rows say about the paper's sentences."""
    return [
        *examples_report.findings(rows),
        *table_report.findings(part_of(rows, "table")),
        *figure3_report.findings(part_of(rows, "figure3")),
        *yahoo_findings(),
        *variants_report.findings(part_of(rows, "variants")),
        *appendix_report.findings(appendix_report.finished(part_of(rows, "appendix"))),
    ]


def yahoo_findings() -> list[Finding]:
    why = "the data set is not public; the simulated ranking of studies/kusner2014 decides nothing here"
    return [Finding(claim, "-", NOT_TESTED, why) for claim in YAHOO_CLAIMS]


# ---- the page


def seeds_of(part: pd.DataFrame, known, methods) -> str:
    """Like "covertype 5 (CSTC 3); cifar 5": of most methods, and of those that have another number."""
    parts = []
    for name in names_of(part, known):
        counts = {method: n_seeds(part, name, method) for method in methods if has(part, name, method)}
        most = max(counts.values())
        others = ", ".join(f"{method} {n}" for method, n in counts.items() if n != most)
        parts.append(f"{name} {most}" + (f" ({others})" if others else ""))
    return "; ".join(parts) or "none"


def missing_of(rows: list[dict]) -> list[str]:
    """What has no rows, part by part; a data set of the appendix needs every impurity."""
    table, variants = part_of(rows, "table"), part_of(rows, "variants")
    examples, figure = part_of(rows, "examples"), part_of(rows, "figure3")
    appendix = appendix_report.finished(part_of(rows, "appendix"))
    missing = [f"Table 1 of {name}" for name in SIZES if name not in names_of(table, SIZES)]
    missing += [f"variants of {name}" for name in TASKS if name not in names_of(variants, TASKS)]
    missing += [f"appendix of {name}" for name in UCI if name not in names_of(appendix, UCI)]
    missing += [f"example {name}" for name in EXAMPLES if name not in names_of(examples, EXAMPLES)]
    if len(figure) == 0:
        return [*missing, "Figure 3"]
    return missing + [
        f"Figure 3, {method} of {name}"
        for name in figure3.BUDGETS
        for method in figure3.METHODS
        if not has(figure, name, method)
    ]


def write_report(rows: list[dict], folder: Path) -> None:
    """report.md and its figures in a folder."""
    table, variants = part_of(rows, "table"), part_of(rows, "variants")
    figure, appendix = part_of(rows, "figure3"), appendix_report.finished(part_of(rows, "appendix"))
    missing = missing_of(rows)
    text = (Path(__file__).parent / "report.template.md").read_text()
    text = text.format(
        findings=findings_table(findings(rows)),
        table_seeds=seeds_of(table, SIZES, MODELS),
        figure3_seeds=seeds_of(figure, figure3.BUDGETS, figure3.METHODS),
        variants_seeds=seeds_of(variants, TASKS, VARIANTS),
        missing=f"Not run: {'; '.join(missing)}." if missing else "Nothing was skipped.",
        near_percent=table_report.NEAR_PERCENT,
        near_error=table_report.NEAR_ERROR,
        examples=examples_report.table(rows),
        table=table_report.table(table) if len(table) else NOT_RUN,
        table_notes=table_report.notes(table),
        n_misers=len(figure3.WIDE_MISER_TRADEOFFS) * len(figure3.WIDE_MISER_TREES),
        n_mixed_norms=len(figure3.WIDE_CSTC_TRADEOFFS),
        figure3=figure3_section(figure, folder),
        variants=variants_report.table(variants) if len(variants) else NOT_RUN,
        variant_gaps=variants_report.gaps_table(variants) if len(variants) else NOT_RUN,
        appendix=appendix_section(appendix, folder),
    )
    (folder / "report.md").write_text(text)


def figure3_section(rows: pd.DataFrame, folder: Path) -> str:
    """The picture and the tables."""
    if len(rows) == 0:
        return figure3_report.NOT_RUN
    figure3_report.draw(rows, folder / "figure3.png")
    picture = "![Test error against the average bill, five methods](figure3.png)"
    return "\n\n".join(
        [
            picture,
            "Sizes, seeds, and in brackets the CPU seconds of all fits that a method chooses from:",
            figure3_report.settings_table(rows),
            "Test error, and in brackets the average bill of the test rows:",
            figure3_report.table(rows),
            "Error of each competitor - error of BudgetRF, seed by seed: above 0 where BudgetRF is better, bold where\n"
            "the interval excludes 0:",
            figure3_report.gaps_table(rows),
        ]
    )


def appendix_section(rows: pd.DataFrame, folder: Path) -> str:
    if len(rows) == 0:
        return NOT_RUN
    appendix_report.draw(rows, folder / "appendix.png")
    picture = "![Training error against the largest bill on nine data sets](appendix.png)"
    return f"{appendix_report.table(rows)}\n\n{picture}"
