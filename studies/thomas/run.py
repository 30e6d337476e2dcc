"""Thomas, Feature Cost Sensitive Random Forest: its three data sets, and two with groups in place of Scene-15.

    FRUGALFOREST_DATA=folder python -m studies.thomas.run [--parts curves groups selection seconds rounds budgets]
        [--seeds 20] [--quick] [--report]

Every fit is a row of results.sqlite, and what is there is not done again: stop it whenever you like. At the end
report.md and its pictures are written from the rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np
from studies.progress import Countdown
from studies.store import ResultStore, folder_of
from studies.thomas.report import write_report

import frugalforest as ff
from frugalforest.selection import SubmodularSelector
from frugalforest.selection.solvers import CutSolver

HERE = Path(__file__).parent
VERSION = "1"
SLOW = "cifar10_kmeans400"  # 400 columns: most of the time of the whole study, so a quick one goes without its curves
TREES = (10, 20, 50, 100)  # a forest of 100 begins with the smaller ones, so one fit measures all


@dataclass(frozen=True)
class Data:
    """Rows drawn anew for each seed."""

    train: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]
    costs: ff.FeatureCosts


@dataclass(frozen=True)
class Source:
    """A data set of the study: how many rows to draw, what features cost, which tradeoffs to try."""

    n_train: int
    n_test: int
    costs: Callable[[ff.datasets.Dataset], ff.FeatureCosts]
    tradeoffs: tuple[float, ...]


def unit_costs(data: ff.datasets.Dataset) -> ff.FeatureCosts:
    return ff.FeatureCosts.unit(data.X.shape[1])


def quadrant_costs(data: ff.datasets.Dataset) -> ff.FeatureCosts:
    """100 features of each quadrant of an image: one of them makes the others free, like a descriptor of Scene-15."""
    groups = {f"quadrant {q}": ff.Group(range(100 * q, 100 * q + 100), 1.0) for q in range(4)}
    return ff.FeatureCosts(np.zeros(400), groups=groups)


PAPER = {
    "pima": Source(
        400,
        368,
        lambda data: ff.FeatureCosts([1, 17.61, 1, 1, 22.78, 1, 1, 1]),  # Table 1 of the paper
        (0, 0.01, 0.02, 0.025, 0.03, 0.035, 0.04, 0.045, 0.05, 0.07, 0.1, 0.3, 1),
    ),
    "spambase": Source(2000, 2601, unit_costs, (0, 0.03, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1)),
    "mfeat_pix": Source(1000, 1000, unit_costs, (0, 0.03, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1, 2)),
}
GROUPED = {
    "cifar10_kmeans400": Source(1500, 2685, quadrant_costs, (0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1)),
    "covtype": Source(
        5000,
        10_000,
        lambda data: ff.datasets.load_costs("covtype_measurements"),
        (0, 0.03, 0.1, 0.2, 0.3, 0.45, 0.6, 0.7, 0.8, 0.9, 1, 2),
    ),
}
SOURCES = PAPER | GROUPED
METHODS = {
    "FFS": {},
    "RFS": {"max_features": "sqrt"},
    "FFS + CT": {"complementary": True},
    "FFS + CT, printed": {"complementary": "printed"},
}
RULES = {"paper": True, "leaf": False}  # what at_a_loss is


@cache
def load(name: str) -> ff.datasets.Dataset:
    return ff.datasets.load(name)


def draw(name: str, seed: int) -> Data:
    """Training and test rows of one repetition."""
    data, source = load(name), SOURCES[name]
    order = np.random.default_rng(seed).permutation(len(data.X))
    if "is_test" in data.extras:  # images of the training and of the test part do not mix
        is_test = data.extras["is_test"].astype(bool)[order]
        order = np.concatenate([order[~is_test][: source.n_train], order[is_test]])
    train, test = order[: source.n_train], order[source.n_train : source.n_train + source.n_test]
    parts = [(data.X[rows].astype(np.float32), data.y[rows]) for rows in (train, test)]
    return Data(*parts, source.costs(data))


# ---- what is measured


def measure(model: ff.PenalizedForestClassifier, data: Data) -> Iterator[dict]:
    """Accuracy, cost of all features of the forest, and mean bill of the test rows, for each number of trees."""
    X, y = data.test
    for trees in TREES:
        forest = model.forest_.first(trees)
        votes, mask = forest.sums(X, forest.leaf_shares, with_mask=True)
        used = np.unique(forest.feature[forest.feature >= 0])
        yield {
            "trees": trees,
            "accuracy": float(np.mean(model.classes_[np.argmax(votes, axis=1)] == y)),
            "set_cost": float(data.costs.of(used)),
            "bill": round(float(data.costs.of_rows(mask).mean()), 4),
            "features": len(used),
        }


def fit_and_measure(name: str, seed: int, n_jobs: int, **options) -> list[dict]:
    data = draw(name, seed)
    model = ff.PenalizedForestClassifier(feature_costs=data.costs, random_state=seed, n_jobs=n_jobs, **options)
    return list(measure(model.fit(*data.train), data))


def curve_tasks(names: list[str], methods: dict, n_seeds: int) -> Iterator[dict]:
    for name in names:
        for seed in range(n_seeds):
            for method in methods:
                for rule in RULES:
                    for tradeoff in SOURCES[name].tradeoffs:
                        yield {"data": name, "method": method, "rule": rule, "tradeoff": tradeoff, "seed": seed}


def run_curve(task: dict, n_jobs: int) -> list[dict]:
    options = METHODS[task["method"]] | {"at_a_loss": RULES[task["rule"]], "tradeoff": task["tradeoff"]}
    return fit_and_measure(task["data"], task["seed"], n_jobs, **options)


def group_tasks(n_seeds: int) -> Iterator[dict]:
    """Images take minutes for each repetition, covertype seconds."""
    methods = {"FFS": {}, "RFS": {}}
    most = {"cifar10_kmeans400": 3, "covtype": 10}
    return chain.from_iterable(curve_tasks([name], methods, min(n_seeds, most[name])) for name in GROUPED)


def selection_tasks(n_seeds: int) -> Iterator[dict]:
    for name in GROUPED:
        for seed in range(n_seeds):
            yield {"data": name, "selector": "minimum cut", "seed": seed}


def run_selection(task: dict, n_jobs: int) -> list[dict]:
    """An ordinary forest on every set of the path but the empty one, and the time that all sets took together."""
    data = draw(task["data"], task["seed"])
    selector = SubmodularSelector(feature_costs=data.costs, n_jobs=n_jobs)
    start = time.process_time()
    path = selector.path(*data.train)
    seconds = time.process_time() - start
    return [
        measure_set(path.mask(i), data, task["seed"], n_jobs) | {"seconds": round(seconds, 5)}
        for i in range(len(path))
        if path.n_selected[i] > 0
    ]


def measure_set(chosen: np.ndarray, data: Data, seed: int, n_jobs: int) -> dict:
    """Accuracy of Breiman's forest on the chosen columns, what they cost, and the mean bill of the test rows."""
    (X, y), (X_test, y_test) = data.train, data.test
    model = ff.StandardForestClassifier(max(TREES), random_state=seed, n_jobs=n_jobs).fit(X[:, chosen], y)
    votes, looked_at = model.forest_.sums(X_test[:, chosen], model.forest_.leaf_shares, with_mask=True)
    mask = np.zeros(X_test.shape, dtype=bool)
    mask[:, chosen] = looked_at
    return {
        "accuracy": float(np.mean(model.classes_[np.argmax(votes, axis=1)] == y_test)),
        "set_cost": float(data.costs.of(np.flatnonzero(chosen))),
        "bill": round(float(data.costs.of_rows(mask).mean()), 4),
        "features": int(chosen.sum()),
    }


SCENES = {"rows": 1500, "classes": 15, "descriptors": 8, "features": 800}  # the sizes of Scene-15 in the paper


def seconds_tasks(n_seeds: int) -> Iterator[dict]:
    for seed in range(n_seeds):
        yield {"data": "simulated scenes", **SCENES, "seed": seed}


def run_seconds(task: dict, n_jobs: int) -> list[dict]:
    """CPU seconds of one minimum cut, of one selection with its mutual information, and of the whole path."""
    X, y, costs = simulated_scenes(task["seed"])
    selector = SubmodularSelector(feature_costs=costs, n_jobs=n_jobs)
    start = time.process_time()
    path = selector.path(X, y)
    after_path = time.process_time()
    tradeoff = float(np.median(path.entry)) * 1.0001  # half of the features are worth it
    selector.set_params(tradeoff=tradeoff).fit(X, y)
    after_fit = time.process_time()
    CutSolver(costs).best_set(selector.information_, tradeoff)
    seconds = {"path": after_path - start, "fit": after_fit - after_path, "cut": time.process_time() - after_fit}
    return [{name: round(value, 6) for name, value in seconds.items()} | {"sets": len(path)}]


def simulated_scenes(seed: int) -> tuple[np.ndarray, np.ndarray, ff.FeatureCosts]:
    """Features that tell more or less about 15 classes, in groups of 100: one of a group makes the others free."""
    random = np.random.default_rng(seed)
    n_rows, n_classes, n_groups, n_features = SCENES.values()
    y = random.integers(0, n_classes, n_rows)
    centres = random.normal(size=(n_classes, n_features)) * random.random(n_features)
    X = (centres[y] + random.normal(size=(n_rows, n_features))).astype(np.float32)
    members = np.array_split(np.arange(n_features), n_groups)
    groups = {f"descriptor {g}": ff.Group(these.tolist(), random.uniform(1, 20)) for g, these in enumerate(members)}
    return X, y, ff.FeatureCosts(np.zeros(n_features), groups=groups)


def round_tasks(n_seeds: int) -> Iterator[dict]:
    chosen = {"pima": (0.03,), "spambase": (0.25, 0.7), "mfeat_pix": (0.1, 0.6)}
    for name, tradeoffs in chosen.items():
        for seed in range(n_seeds):
            for tradeoff in tradeoffs:
                for rounds in (1, 4, 16, 64):
                    yield {"data": name, "tradeoff": tradeoff, "rounds": rounds, "seed": seed}


def run_rounds(task: dict, n_jobs: int) -> list[dict]:
    options = {"tradeoff": task["tradeoff"], "rounds": task["rounds"], "at_a_loss": True}
    return [row for row in fit_and_measure(task["data"], task["seed"], n_jobs, **options) if row["trees"] == 100]


SHARES = (0.1, 0.25, 0.5)  # budgets, as shares of the price of everything


def budget_tasks(n_seeds: int) -> Iterator[dict]:
    for name in PAPER:
        for seed in range(n_seeds):
            for model in ("penalized", "BudgetForest", "standard"):
                yield {"data": name, "model": model, "seed": seed}


def run_budgets(task: dict, n_jobs: int) -> list[dict]:
    """One fit, chosen on a quarter of the training rows; then the test rows once for each budget."""
    data = draw(task["data"], task["seed"])
    options = {"feature_costs": data.costs, "random_state": task["seed"], "n_jobs": n_jobs}
    if task["model"] == "standard":
        label, bill = ff.StandardForestClassifier(**options).fit(*data.train).predict_with_cost(data.test[0])
        return [{"share": 1, "error": float(np.mean(label != data.test[1])), "bill": float(bill.mean())}]
    if task["model"] == "BudgetForest":
        model = ff.BudgetForestClassifier(price_power=[1, 0], **options)
    else:
        model = ff.PenalizedForestClassifier("auto", **options)
    model.fit(*data.train)
    rows = []
    for share in SHARES:
        label, bill = model.at_budget(share * data.costs.total).predict_with_cost(data.test[0])
        rows.append({"share": share, "error": float(np.mean(label != data.test[1])), "bill": float(bill.mean())})
    return rows


PARTS = {
    "curves": (lambda n: curve_tasks(list(PAPER), METHODS, n), run_curve),
    "groups": (group_tasks, run_curve),
    "selection": (selection_tasks, run_selection),
    "seconds": (seconds_tasks, run_seconds),
    "rounds": (round_tasks, run_rounds),
    "budgets": (lambda n: budget_tasks(min(n, 10)), run_budgets),
}

# ---- rows


def settings(task: dict) -> str:
    """What tells a fit from the others of the same data and seed."""
    return ", ".join(f"{name} {value}" for name, value in task.items() if name not in ("data", "seed"))


def run(store: ResultStore, part: str, n_seeds: int, n_jobs: int, without: str | None = None) -> None:
    tasks, do = PARTS[part]
    wanted = [task for task in tasks(n_seeds) if task["data"] != without]
    todo = [t for t in wanted if not store.has(f"{part} {t['data']}", settings(t), t["seed"])]
    countdown = Countdown(len(todo))
    for task in todo:
        try:
            numbers = {"settings": task, "measured": do(task, n_jobs)}
        except FileNotFoundError as error:
            print(f"{part} {task['data']}: skipped, {error}", flush=True)
            countdown.skip()
            continue
        store.add([(f"{part} {task['data']}", settings(task), task["seed"], numbers)])
        countdown.done(f"{part} {task['data']}, {settings(task)}, repetition {task['seed']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="2 repetitions, no curves of images, in its own folder")
    parser.add_argument("--report", action="store_true", help="only write the report")
    args = parser.parse_args()
    folder = folder_of(HERE, args.quick)
    store = ResultStore(folder / "results.sqlite", VERSION)
    for part in () if args.report else args.parts:
        without = SLOW if args.quick and part == "groups" else None
        run(store, part, 2 if args.quick else args.seeds, args.jobs, without)
    write_report(store.rows(), folder)


if __name__ == "__main__":
    main()
