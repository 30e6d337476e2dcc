"""Draws the pictures of the documentation, from data that comes with scikit-learn: python docs/make_pictures.py

curve.png: 30 random splits of the breast cancer data (369 rows to learn, 200 to test, seeds 100 to 129), illustrative
prices. Which model a budget buys is chosen on rows set aside from the 369. The options were tried out on other splits,
seeds 0 to 19, so these test rows have chosen nothing.
"""

import warnings
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from sklearn.model_selection import train_test_split

import frugalforest as ff

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.ticker import PercentFormatter

IMAGES = Path(__file__).parent / "images"
SEEDS = range(100, 130)
BUDGETS = np.geomspace(1.5, 30, 24)
N_TREES = (1, 2, 3, 5, 8, 12, 20, 35, 60, 100)
COLOURS = {
    "frugal boosting, by budget": "#0b6e4f",
    "budget forest, by budget": "#c77700",
    "standard forest, 1 to 100 trees": "#777777",
}
PLACES = {  # of the names in the picture
    "frugal boosting, by budget": (1.2, 0.0395),
    "budget forest, by budget": (6.6, 0.0605),
    "standard forest, 1 to 100 trees": (18.6, 0.0715),
}
ON_DEMAND = "on demand"


def curves_of_split(data: ff.datasets.Dataset, seed: int) -> dict[str, np.ndarray]:
    """Pairs (bill, error) on the test rows of one split, by name of the curve."""
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=200, stratify=data.y, random_state=seed)
    options = {"feature_costs": data.feature_costs, "random_state": seed}
    boosters = ff.FrugalBoostingClassifier(stop="confidence", **options).path(X, y)
    forests = ff.BudgetForestClassifier(price_power=[1, 0], **options).fit(X, y)
    standard = [ff.StandardForestClassifier(n_trees, **options).fit(X, y) for n_trees in N_TREES]
    with warnings.catch_warnings(action="ignore"):  # nothing at all within the least budgets: free, and counted so
        frugal, cheap = ([model.at_budget(budget) for budget in BUDGETS] for model in (boosters, forests))
    models = dict(zip(COLOURS, (frugal, cheap, standard), strict=True))
    models[ON_DEMAND] = [ff.OnDemand(standard[-1], feature_costs=data.feature_costs)]
    return {name: np.array([bill_and_error(m, X_test, y_test) for m in some]) for name, some in models.items()}


def bill_and_error(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Average bill and error on rows."""
    label, bill = model.predict_with_cost(X)
    return bill.mean(), np.mean(label != y)


def draw_readme_curve(path: Path) -> None:
    """Error against bill: models that know the prices, and forests that do not."""
    data = ff.datasets.load_breast_cancer()
    splits = [curves_of_split(data, seed) for seed in SEEDS]
    figure, ax = pyplot.subplots(figsize=(7.2, 3.9), layout="constrained")
    for name, colour in COLOURS.items():
        curve = np.mean([split[name] for split in splits], axis=0)
        ax.plot(*curve.T, color=colour, marker="o", markersize=3.5)
        ax.text(*PLACES[name], name, color=colour, weight="bold")
    draw_arrow(ax, curve[-1], np.mean([split[ON_DEMAND][0] for split in splits], axis=0))
    total = data.feature_costs.total
    ax.axvline(total, color="#777777", linewidth=1, linestyle=":")
    ax.text(total - 0.4, 0.115, f"everything: {total:.2f}", color="#777777", ha="right", va="center")
    ax.set(xlim=(0, 35), ylim=(0, 0.12), xlabel="average bill per prediction", ylabel="test error")
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    figure.savefig(path, dpi=150)


def draw_arrow(ax: Any, everything: np.ndarray, on_demand: np.ndarray) -> None:
    """From the bill of a whole forest to what the same answers cost one feature at a time."""
    ax.annotate("", on_demand, everything, arrowprops={"arrowstyle": "-|>", "color": "#2a5db0", "linewidth": 2})
    ax.text(
        24.6, on_demand[1] - 0.003, "the same answers, on demand", color="#2a5db0", weight="bold", ha="center", va="top"
    )


if __name__ == "__main__":
    pyplot.rcParams.update({"font.size": 10, "axes.axisbelow": True, "lines.linewidth": 2})
    draw_readme_curve(IMAGES / "curve.png")
