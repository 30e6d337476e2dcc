"""The report of the study, written from the stored rows alone: claims with verdicts, tables and pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

NAMES = {"pima": "diabetes (pima)", "spambase": "spam", "mfeat_pix": "digits (mfeat-pix)"}
GROUPED = {"cifar10_kmeans400": "images, 4 quadrants", "covtype": "covertype, 12 measurements"}
COLOURS = {"FFS": "#0b6e4f", "RFS": "#c44e52", "FFS + CT": "#4c72b0", "FFS + CT, printed": "#999999"}
N_TREES = 100
RULES = ("paper", "leaf")
PAPER_METHODS = ("FFS", "RFS", "FFS + CT")
ALL_METHODS = (*PAPER_METHODS, "FFS + CT, printed")
GROUP_METHODS = ("FFS", "RFS")
NOT_RUN = "Not run yet."

CLAIMS = [  # data, methods, number of trees, cost reduction, accuracy lost
    ("pima", ("FFS", "FFS + CT"), (100,), 0.23, 0.009),
    ("pima", ("FFS", "FFS + CT"), (100,), 0.51, 0.024),
    ("spambase", ("FFS", "FFS + CT"), (100,), 0.77, 0.036),
    ("mfeat_pix", ("RFS",), (10, 20, 50, 100), 0.558, 0.026),
]


class Paths:
    """Cost and accuracy of one method on one data set, (n_seeds, n_tradeoffs), tradeoffs rising."""

    def __init__(self, rows: pd.DataFrame, data: str, method: str, rule: str = "paper", trees: int = N_TREES) -> None:
        some = rows.query("data == @data and method == @method and rule == @rule and trees == @trees")
        table = some.pivot(index="seed", columns="tradeoff", values=["set_cost", "accuracy", "bill"])
        self.cost, self.accuracy, self.bill = (table[name].to_numpy() for name in ("set_cost", "accuracy", "bill"))
        self.tradeoffs = table["set_cost"].columns.to_numpy()
        self.n_seeds = len(table)

    @property
    def reductions(self) -> np.ndarray:
        """Share of the cost without a penalty that each tradeoff saves, on average, (n_tradeoffs,)."""
        return 1 - self.cost.mean(axis=0) / self.cost[:, 0].mean()

    def change_at(self, reduction: float) -> tuple[float, float] | None:
        """Change of accuracy where the cost is reduced so much, and its standard error; None: nowhere.

        Between two neighbouring tradeoffs both are mixed; which, is decided by cost alone.
        """
        enough = np.flatnonzero(self.reductions >= reduction)
        if len(enough) == 0:
            return None
        i = enough[0]
        before, after = self.reductions[i - 1], self.reductions[i]
        share = (reduction - before) / (after - before)
        mixed = (1 - share) * self.accuracy[:, i - 1] + share * self.accuracy[:, i]
        return mean_and_error(mixed - self.accuracy[:, 0])

    def accuracy_at(self, costs: np.ndarray) -> np.ndarray:
        """Accuracy of each repetition at these costs, straight lines between its points, (n_seeds, n_costs)."""
        rows = []
        for cost, accuracy in zip(self.cost, self.accuracy, strict=True):
            order = np.argsort(cost, kind="stable")
            rows.append(np.interp(costs, cost[order], accuracy[order]))
        return np.array(rows)


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def points(change: tuple[float, float] | None) -> str:
    return "not reached" if change is None else f"{100 * change[0]:+.2f} ± {100 * change[1]:.2f}"


def verdict(change: tuple[float, float] | None, lost: float) -> str:
    if change is None:
        return "not reached"
    mean, error = change
    if mean >= -lost:
        return "confirmed"
    return "within error" if mean + 2 * error >= -lost else "not confirmed"


def present(rows: pd.DataFrame | None, names: dict[str, str]) -> dict[str, str]:
    """The data sets that were measured, with their names; a set that could not be had is none of them."""
    measured = set() if rows is None else set(rows["data"])
    return {data: name for data, name in names.items() if data in measured}


def claims_table(rows: pd.DataFrame) -> str:
    lines = [
        "| data | paper: cost | accuracy | ours, method | accuracy (points) | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for data, methods, sizes, reduction, lost in CLAIMS:
        claim = f"{NAMES[data]} | -{100 * reduction:.3g} % | -{100 * lost:.1f}"
        if data not in present(rows, NAMES):
            lines.append(f"| {claim} | {' and '.join(methods)} | {NOT_RUN} | - |")
            continue
        for method in methods:
            for trees in sizes:
                paths = Paths(rows, data, method, trees=trees)
                change = paths.change_at(reduction)
                shown = points(change) if change else f"at most -{100 * paths.reductions.max():.1f} % cost"
                lines.append(f"| {claim} | {method}, {trees} trees | {shown} | {verdict(change, lost)} |")
    return "\n".join(lines)


def complementary_claim(rows: pd.DataFrame) -> str:
    """The line of the table about complementary training."""
    names = present(rows, NAMES)
    found = {name: difference(Paths(rows, data, "FFS + CT"), Paths(rows, data, "FFS")) for data, name in names.items()}
    shown = ", ".join(f"{name} {points(change)}" for name, change in found.items())
    n_better = sum(mean > 0 for mean, _ in found.values())
    verdict_ = "confirmed" if n_better == 2 else f"better on {n_better} of {len(found)}"
    return f"| all three | equal | CT better on two of three | FFS + CT - FFS, 100 trees | {shown} | {verdict_} |"


def scene_claim(groups: pd.DataFrame | None) -> str:
    """The line about Scene-15, on images with four groups in its place."""
    claim = "images, 4 quadrants, for Scene-15 | -48.5 % | -0.1"
    if "cifar10_kmeans400" not in present(groups, GROUPED):
        return f"| {claim} | FFS | {NOT_RUN} | - |"
    change = Paths(groups, "cifar10_kmeans400", "FFS").change_at(0.485)
    return f"| {claim} | FFS, 100 trees | {points(change)} | {verdict(change, 0.0012)}, on other data |"


def difference(one: Paths, two: Paths) -> tuple[float, float]:
    """Mean difference in accuracy at equal cost, over the costs that both reach, and its standard error."""
    low = max(paths.cost.mean(axis=0).min() for paths in (one, two))
    high = min(paths.cost.mean(axis=0).max() for paths in (one, two))
    costs = np.linspace(low, high, 101)
    n = min(one.n_seeds, two.n_seeds)  # repetitions are run in order, so both have the first n
    return mean_and_error((one.accuracy_at(costs)[:n] - two.accuracy_at(costs)[:n]).mean(axis=1))


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
            free = " | ".join(f"{paths.accuracy[:, 0].mean():.4f}" for paths in (plain, meant, printed))
            cells = " | ".join(
                points(difference(*pair)) for pair in ((meant, plain), (printed, plain), (meant, printed))
            )
            lines.append(f"| {name} | {rule} | {cells} | {free} |")
    return "\n".join(lines)


def curve_table(rows: pd.DataFrame, data: str, methods: tuple[str, ...]) -> str:
    lines = [
        "| method | rule | " + " | ".join(f"{t:g}" for t in Paths(rows, data, methods[0]).tradeoffs) + " |",
        "|---|---|" + "---|" * len(Paths(rows, data, methods[0]).tradeoffs),
    ]
    for method in methods:
        for rule in RULES:
            paths = Paths(rows, data, method, rule)
            cells = zip(paths.cost.mean(axis=0), paths.bill.mean(axis=0), paths.accuracy.mean(axis=0), strict=True)
            lines.append(
                f"| {method} | {rule} | " + " | ".join(f"{c:.1f} / {b:.1f} / {a:.3f}" for c, b, a in cells) + " |"
            )
    return "\n".join(lines)


def rounds_table(rows: pd.DataFrame) -> str:
    lines = [
        "| data | tradeoff | trees per round, at most | cost of the set | bill | accuracy |",
        "|---|---|---|---|---|---|",
    ]
    for (data, tradeoff, rounds), some in rows.groupby(["data", "tradeoff", "rounds"]):
        cost, bill, accuracy = (some[name].mean() for name in ("set_cost", "bill", "accuracy"))
        lines.append(f"| {NAMES[data]} | {tradeoff:g} | {rounds} | {cost:.2f} | {bill:.2f} | {accuracy:.4f} |")
    return "\n".join(lines)


def budgets_table(rows: pd.DataFrame) -> str:
    lines = ["| data | budget, share of everything | model | test error (se) | bill |", "|---|---|---|---|---|"]
    for (data, share, model), some in rows.groupby(["data", "share", "model"]):
        error, spread = mean_and_error(some["error"].to_numpy())
        shown = "-" if model == "standard" else f"{share:g}"
        lines.append(f"| {NAMES[data]} | {shown} | {model} | {error:.4f} ({spread:.4f}) | {some['bill'].mean():.2f} |")
    return "\n".join(lines)


# ---- pictures


def draw_curves(rows: pd.DataFrame, data_sets: dict[str, str], methods: tuple[str, ...], path: Path) -> None:
    """Accuracy against the cost of the forest's features, mean over repetitions; dots are tradeoffs."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    size = (4.2 * len(data_sets), 3.6)
    figure, grid = pyplot.subplots(1, len(data_sets), figsize=size, layout="constrained", squeeze=False)
    axes = grid[0]
    for ax, (data, name) in zip(axes, data_sets.items(), strict=True):
        for method in methods:
            for rule, style in (("paper", "-"), ("leaf", ":")):
                paths = Paths(rows, data, method, rule)
                label = method if rule == "paper" else None
                ax.plot(paths.cost.mean(axis=0), paths.accuracy.mean(axis=0), style, marker="o", markersize=3,
                        linewidth=1.5, color=COLOURS[method], label=label)  # fmt: skip
        lowest = min(Paths(rows, data, method).accuracy.mean(axis=0).min() for method in methods)
        ax.set(title=name, xlabel="cost of the forest's features", ylim=(lowest - 0.02, None), xlim=(0, None))
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes[0].set_ylabel("test accuracy")
    axes[-1].legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=130)


def rows_of(part: str, rows: list[dict]) -> pd.DataFrame | None:
    """What was measured in one part of the study, a line for each measurement; None: nothing."""
    mine = [row for row in rows if row["task"].startswith(f"{part} ")]
    lines = [row["settings"] | measured for row in mine for measured in row["measured"]]
    return pd.DataFrame(lines) if lines else None


def finished(rows: pd.DataFrame | None, methods: tuple[str, ...]) -> pd.DataFrame | None:
    """Only repetitions that have every method, by both rules, at every trade-off tried on the data set."""
    if rows is None:
        return None
    n_tradeoffs = rows.groupby("data")["tradeoff"].transform("nunique")
    n_measured = rows[rows["method"].isin(methods)].groupby(["data", "seed"])["method"].transform("size")
    done = rows[n_measured == n_tradeoffs * len(methods) * len(RULES) * rows["trees"].nunique()]
    return done if len(done) else None


def finished_curves(rows: list[dict]) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
    """Measurements of the paper's data sets, and of those with groups, as far as repetitions are finished."""
    return finished(rows_of("curves", rows), ALL_METHODS), finished(rows_of("groups", rows), GROUP_METHODS)


def grouped_sections(groups: pd.DataFrame | None, folder: Path) -> dict[str, str]:
    """Curves of the data sets with groups, and their picture."""
    names = present(groups, GROUPED)
    if groups is None:
        return {"groups": NOT_RUN}
    draw_curves(groups, names, GROUP_METHODS, folder / "groups.png")
    tables = [f"**{name}**\n\n{curve_table(groups, data, GROUP_METHODS)}" for data, name in names.items()]
    return {"groups": "\n\n".join(["![Accuracy against cost with groups](groups.png)", *tables])}


def write_report(rows: list[dict], folder: Path) -> None:
    """report.md and its pictures in a folder."""
    curves, groups = finished_curves(rows)
    rounds, budgets = rows_of("rounds", rows), rows_of("budgets", rows)
    if curves is None:
        print("No data set has a finished repetition yet: run the part 'curves' first.")
        return
    names = present(curves, NAMES)
    draw_curves(curves, names, ALL_METHODS, folder / "curves.png")
    seeds = {name: Paths(curves, data, "FFS").n_seeds for data, name in names.items()}
    missing = [name for data, name in NAMES.items() if data not in names]
    missing += [name for data, name in GROUPED.items() if data not in present(groups, GROUPED)]
    parts = {
        "seeds": ", ".join(f"{name} {n}" for name, n in seeds.items()),
        "missing": f"Not run: {', '.join(missing)}." if missing else "Nothing was skipped.",
        "claims": "\n".join([claims_table(curves), complementary_claim(curves), scene_claim(groups)]),
        "complementary": complementary_table(curves),
        "rounds": NOT_RUN if rounds is None else rounds_table(rounds),
        "budgets": NOT_RUN if budgets is None else budgets_table(budgets),
        **{f"curve_{data}": curve_table(curves, data, PAPER_METHODS) if data in names else NOT_RUN for data in NAMES},
        **grouped_sections(groups, folder),
    }
    text = (Path(__file__).parent / "report.template.md").read_text().format(**parts)
    (folder / "report.md").write_text(text)
