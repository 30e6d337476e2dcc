"""Draws the pictures of the documentation, from data that comes with scikit-learn: python docs/make_pictures.py

curve.png: 50 random splits of the breast cancer data (369 rows to learn, 200 to test, seeds 100 to 149), illustrative
prices. Which forest a budget buys is chosen on rows set aside from the 369. The options were tried out on other splits,
seeds 0 to 19, so these test rows have chosen nothing.
"""

import warnings
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.model_selection import train_test_split

import frugalforest as ff

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.ticker import PercentFormatter

IMAGES = Path(__file__).parent / "images"
SEEDS = range(100, 150)
GREEN, GREY = "#0b6e4f", "#777777"
N_TREES = (1, 2, 3, 5, 8, 12, 20, 35, 60, 100)


def measure(seeds: range) -> tuple[np.ndarray, np.ndarray, ff.FeatureCosts, float]:
    """Mean (bill, error) over the splits, of budget forests (n_budgets, 2) and of standard ones (n_sizes, 2)."""
    data = ff.datasets.load_breast_cancer()
    costs = data.feature_costs
    budgets = np.geomspace(1.5, 30, 24)
    frugal, standard = np.zeros((len(budgets), 2)), np.zeros((len(N_TREES), 2))
    for seed in seeds:
        X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=200, stratify=data.y, random_state=seed)
        options = {"feature_costs": costs, "random_state": seed}
        forest = ff.BudgetForestClassifier(price_power=[1, 0], **options).fit(X, y)
        with warnings.catch_warnings(action="ignore"):  # no tree at all within the least budgets: free, and counted so
            smaller = [forest.at_budget(budget) for budget in budgets]
        frugal += [bill_and_error(model, X_test, y_test) for model in smaller]
        curve = ff.evaluation.cost_curve(ff.StandardForestClassifier(**options).fit(X, y), X_test, y_test)
        standard += np.stack([curve.cost, curve.error], axis=1)[np.array(N_TREES) - 1]
    return frugal / len(seeds), standard / len(seeds), costs, float(min(np.bincount(data.y)) / len(data.y))


def bill_and_error(model: ff.BudgetForestClassifier, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Average bill and error on rows."""
    label, bill = model.predict_with_cost(X)
    return bill.mean(), np.mean(label != y)


def draw_readme_curve(path: Path) -> None:
    """Error against bill: trees that know the prices, and trees that do not."""
    frugal, standard, costs, free_error = measure(SEEDS)
    figure, ax = pyplot.subplots(figsize=(7.2, 3.7), layout="constrained")
    ax.plot([0, frugal[0, 0]], [free_error, frugal[0, 1]], color=GREEN, linestyle=":")
    ax.plot(*frugal.T, color=GREEN, marker="o", markersize=3.5)
    ax.plot(*standard.T, color=GREY, marker="o", markersize=3.5)
    ax.axvline(costs.total, color=GREY, linewidth=1, linestyle=":")
    ax.text(1.6, 0.115, f"from {free_error:.0%}, the most frequent class, for nothing", color=GREEN, va="center")
    ax.text(2.4, 0.059, "budget forest, by budget", color=GREEN, weight="bold")
    ax.text(18.6, 0.0715, "standard forest, 1 to 100 trees", color=GREY, weight="bold")
    ax.text(costs.total - 0.4, 0.115, f"everything: {costs.total:.2f}", color=GREY, ha="right", va="center")
    ax.set(xlim=(0, 35), ylim=(0, 0.12), xlabel="average bill per prediction", ylabel="test error")
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    pyplot.rcParams.update({"font.size": 10, "axes.axisbelow": True, "lines.linewidth": 2})
    draw_readme_curve(IMAGES / "curve.png")
