"""The report of the study, written from the stored rows alone: claims with verdicts, tables and pictures."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from studies.findings import findings_table
from studies.intervals import interval_of
from studies.thomas.frames import (
    ALL_METHODS,
    GROUP_METHODS,
    GROUPED,
    NAMES,
    PAPER_METHODS,
    RULES,
    Paths,
    complete,
    difference,
    finished_curves,
    points,
    present,
    rows_of,
    seeds_of,
)
from studies.thomas.pictures import draw_curves
from studies.thomas.verdicts import findings

__all__ = ["findings", "write_report"]
NOT_RUN = "Not run yet."
SIMULATED = {"simulated scenes": "800 simulated features"}

# ---- tables


def complementary_table(rows: pd.DataFrame) -> str:
    lines = [
        "| data | rule | CT - FFS | CT in print - FFS | CT - CT in print | no penalty: FFS | CT | in print |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for data, name in present(rows, NAMES).items():
        for rule in RULES:
            plain, meant, printed = (
                Paths(rows, data, method, rule) for method in ("FFS", "FFS + CT", "FFS + CT, printed")
            )
            free = " | ".join(interval_of(paths.accuracy[:, 0]).text(4) for paths in (plain, meant, printed))
            cells = " | ".join(
                points(difference(*pair)) for pair in ((meant, plain), (printed, plain), (meant, printed))
            )
            lines.append(f"| {name} | {rule} | {cells} | {free} |")
    return "\n".join(lines)


def curve_table(rows: pd.DataFrame, data: str, methods: tuple[str, ...]) -> str:
    tradeoffs = Paths(rows, data, methods[0]).tradeoffs
    lines = [
        "| method | rule | " + " | ".join(f"{tradeoff:g}" for tradeoff in tradeoffs) + " |",
        "|---|---|" + "---|" * len(tradeoffs),
    ]
    for method in methods:
        for rule in RULES:
            paths = Paths(rows, data, method, rule)
            cells = zip(paths.cost.mean(axis=0), paths.bill.mean(axis=0), paths.accuracy.mean(axis=0), strict=True)
            lines.append(
                f"| {method} | {rule} | " + " | ".join(f"{c:.1f} / {b:.1f} / {a:.3f}" for c, b, a in cells) + " |"
            )
    return "\n".join(lines)


def selection_table(selection: pd.DataFrame) -> str:
    lines = [
        "| data | cost of the set | features | repetitions | accuracy | against everything (points) |",
        "|---|---|---|---|---|---|",
    ]
    for data, name in present(selection, GROUPED).items():
        mine = selection[selection["data"] == data]
        everything = mine.loc[mine.groupby("seed")["set_cost"].idxmax()].set_index("seed")["accuracy"]
        for cost, some in mine.groupby("set_cost"):
            change = interval_of(some["accuracy"] - everything.loc[some["seed"]].to_numpy())
            accuracy, features = interval_of(some["accuracy"]).text(4), some["features"].mean()
            lines.append(f"| {name} | {cost:g} | {features:.1f} | {len(some)} | {accuracy} | {points(change)} |")
    return "\n".join(lines)


def rounds_table(rows: pd.DataFrame) -> str:
    lines = [
        "| data | tradeoff | trees per round, at most | cost of the set | bill | accuracy |",
        "|---|---|---|---|---|---|",
    ]
    for (data, tradeoff, rounds), some in rows.groupby(["data", "tradeoff", "rounds"]):
        cost, bill = (interval_of(some[name]).text(2) for name in ("set_cost", "bill"))
        accuracy = interval_of(some["accuracy"]).text(4)
        lines.append(f"| {NAMES[data]} | {tradeoff:g} | {rounds} | {cost} | {bill} | {accuracy} |")
    return "\n".join(lines)


def rounds_text(rows: pd.DataFrame) -> str:
    """What the largest rounds change, over data sets and trade-offs."""
    wide = rows.groupby(["data", "tradeoff", "rounds"])[["set_cost", "accuracy"]].mean().unstack()
    most = max(rows["rounds"])
    costs = 100 * (wide["set_cost"][most] / wide["set_cost"][1] - 1)
    accuracies = 100 * (wide["accuracy"][most] - wide["accuracy"][1])
    return (
        f"Repetitions: {seeds_of(rows, NAMES)}. Rounds of up to {most} trees change the cost of the set by "
        f"{costs.min():+.1f} to {costs.max():+.1f} % and accuracy by {accuracies.min():+.2f} to "
        f"{accuracies.max():+.2f} points."
    )


def budgets_table(rows: pd.DataFrame) -> str:
    lines = ["| data | budget, share of everything | model | test error | bill |", "|---|---|---|---|---|"]
    for (data, share, model), some in rows.groupby(["data", "share", "model"]):
        shown = "-" if model == "standard" else f"{share:g}"
        error, bill = interval_of(some["error"]).text(4), interval_of(some["bill"]).text(2)
        lines.append(f"| {NAMES[data]} | {shown} | {model} | {error} | {bill} |")
    return "\n".join(lines)


# ---- sections


def curve_sections(curves: pd.DataFrame | None, folder: Path) -> dict[str, str]:
    """What is said of the paper's own data sets, and their picture."""
    names = present(curves, NAMES)
    tables = {f"curve_{data}": curve_table(curves, data, PAPER_METHODS) if data in names else NOT_RUN for data in NAMES}
    if curves is None:
        return {"complementary": NOT_RUN, "curves_picture": NOT_RUN, **tables}
    draw_curves(curves, names, ALL_METHODS, folder / "curves.png")
    picture = "![Accuracy against cost](curves.png)"
    return {"complementary": complementary_table(curves), "curves_picture": picture, **tables}


def grouped_sections(groups: pd.DataFrame | None, selection: pd.DataFrame | None, folder: Path) -> dict[str, str]:
    """Selection and penalised splits on the data sets with groups, and their picture."""
    names = {d: n for d, n in GROUPED.items() if d in present(groups, GROUPED) or d in present(selection, GROUPED)}
    if names:
        draw_curves(groups, names, GROUP_METHODS, folder / "groups.png", selection)
    tables = [f"**{n}**\n\n{curve_table(groups, d, GROUP_METHODS)}" for d, n in present(groups, GROUPED).items()]
    return {
        "groups_picture": "![Accuracy against cost with groups](groups.png)" if names else NOT_RUN,
        "groups": "\n\n".join(tables) or NOT_RUN,
        "groups_seeds": seeds_of(groups, GROUPED),
        "selection": NOT_RUN if selection is None else selection_table(selection),
        "selection_seeds": seeds_of(selection, GROUPED),
    }


def missing_text(**parts: tuple[pd.DataFrame | None, dict[str, str]]) -> str:
    """Data sets that a part of the study has no finished repetition of."""
    missing = [
        name if part == "curves" else f"{part} on {name}"
        for part, (rows, names) in parts.items()
        for data, name in names.items()
        if data not in present(rows, names)
    ]
    return f"Not run: {', '.join(missing)}." if missing else "Every part was run on every data set."


def write_report(rows: list[dict], folder: Path) -> None:
    """report.md and its pictures in a folder."""
    folder.mkdir(exist_ok=True)
    curves, groups = finished_curves(rows)
    rounds, budgets, selection = (complete(rows_of(part, rows)) for part in ("rounds", "budgets", "selection"))
    found = findings(rows)
    text = (Path(__file__).parent / "report.template.md").read_text().format(
        seeds=seeds_of(curves, NAMES),
        missing=missing_text(
            curves=(curves, NAMES), groups=(groups, GROUPED), selection=(selection, GROUPED), rounds=(rounds, NAMES),
            budgets=(budgets, NAMES), seconds=(rows_of("seconds", rows), SIMULATED),
        ),
        claims=findings_table(found) if found else NOT_RUN,
        rounds_text=NOT_RUN if rounds is None else rounds_text(rounds),
        rounds="" if rounds is None else rounds_table(rounds),
        budgets_seeds=seeds_of(budgets, NAMES),
        budgets=NOT_RUN if budgets is None else budgets_table(budgets),
        **curve_sections(curves, folder),
        **grouped_sections(groups, selection, folder),
    )  # fmt: skip
    (folder / "report.md").write_text(text)
