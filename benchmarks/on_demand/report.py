"""docs/savings.md and its picture from the results of the on-demand benchmarks; run it after them.

python -m benchmarks.on_demand.report
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent.parent
RESULTS = ROOT / "benchmarks" / "results"
MODEL_COLOURS = {
    "RandomForest": "#4c72b0",
    "BudgetForest": "#dd8452",
    "LightGBM": "#55a868",
    "LightGBM CEGB lazy": "#c44e52",
    "XGBoost": "#8172b3",
}


def read(name: str) -> list[dict]:
    with (RESULTS / name).open(newline="") as file:
        return list(csv.DictReader(file))


def mean(rows: list[dict], column: str) -> float:
    return float(np.mean([float(row[column]) for row in rows]))


def savings_table(rows: list[dict]) -> str:
    lines = [
        "| data | model | error | features read | basic order | on demand | saved |",
        "|---|---|---|---|---|---|---|",
    ]
    for data in dict.fromkeys(row["data"] for row in rows):
        for model in MODEL_COLOURS:
            some = [row for row in rows if (row["data"], row["model"]) == (data, model)]
            if not some:
                continue
            everything, basic, ours = (mean(some, c) for c in ("read_all", "basic", "on_demand"))
            lines.append(
                f"| {data} ({some[0]['n_features']}) | {model} | {mean(some, 'error'):.4f} | {everything:.2f} | "
                f"{basic:.2f} | **{ours:.2f}** | {100 * (1 - ours / everything):.0f} % |"
            )
    return "\n".join(lines)


def budgets_table(rows: list[dict]) -> str:
    lines = [
        "| data | budget | all: error | bill | trees | label: error | bill | trees |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for data, budget in dict.fromkeys((row["data"], row["budget"]) for row in rows):
        cells = []
        for stop in ("all", "label"):
            some = [row for row in rows if (row["data"], row["budget"], row["stop"]) == (data, budget, stop)]
            cells.append(f"{mean(some, 'error'):.4f} | {mean(some, 'bill'):.2f} | {mean(some, 'trees'):.1f}")
        lines.append(f"| {data} | {budget} | {' | '.join(cells)} |")
    return "\n".join(lines)


def speed_table(rows: list[dict]) -> str:
    lines = [
        "| data | model | full | on demand | times | bill | hasty: times | bill | others, full |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        seconds = {name: f"{float(row[f'{name}_seconds']):.2f} s" for name in ("full", "on_demand", "peer")}
        ours = f"{float(row['ratio']):.1f} | {float(row['on_demand']):.2f}"
        hasty = f"{float(row['hasty_ratio']):.1f} | {float(row['hasty']):.2f}"
        cells = (row["data"], row["model"], seconds["full"], seconds["on_demand"], ours, hasty, seconds["peer"])
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(rows: list[dict], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    data_sets = list(dict.fromkeys(row["data"] for row in rows))
    figure, axes = plt.subplots(figsize=(9, 0.62 * len(data_sets) + 1.4), layout="constrained")
    height = 0.8 / len(MODEL_COLOURS)
    for m, (model, colour) in enumerate(MODEL_COLOURS.items()):
        for d, data in enumerate(data_sets):
            some = [row for row in rows if (row["data"], row["model"]) == (data, model)]
            if not some:
                continue
            n_features = float(some[0]["n_features"])
            y = d - 0.4 + (m + 0.5) * height
            axes.barh(y, 100 * mean(some, "read_all") / n_features, height * 0.85, color=colour, alpha=0.3)
            label = model if d == 0 else None
            axes.barh(y, 100 * mean(some, "on_demand") / n_features, height * 0.85, color=colour, label=label)
    axes.set_yticks(range(len(data_sets)), data_sets)
    axes.invert_yaxis()
    axes.set_xlabel("features read, % of all: by reading every tree (pale), on demand (full colour); same labels")
    axes.set_xlim(0, 100)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=len(MODEL_COLOURS), frameon=False)
    figure.savefig(path, dpi=110)


def main() -> None:
    rows = read("on_demand.csv")
    draw(rows, ROOT / "docs" / "images" / "savings.png")
    template = (Path(__file__).parent / "savings.template.md").read_text(encoding="utf-8")
    n_rows = 2000
    text = template.format(
        savings=savings_table(rows),
        budgets=budgets_table(read("on_demand_budgets.csv")),
        speed=speed_table(read("on_demand_speed.csv")),
        differing=sum(int(row["differing"]) for row in rows),
        cases=len(rows),
        n_rows=n_rows,
        seeds=len({row["seed"] for row in rows}),
    )
    (ROOT / "docs" / "savings.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
