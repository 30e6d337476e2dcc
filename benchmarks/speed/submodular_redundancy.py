"""Error of a forest on panels of the same price, chosen by SubmodularSelector with and without redundancy; a CSV.

    FRUGALFOREST_DATA=folder python -m benchmarks.speed.submodular_redundancy [--splits 5]

Every feature costs 1, forests have 100 trees; mean test error over random splits of the sizes in Thomas' paper.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

import frugalforest as ff
from frugalforest.selection.submodular import SubmodularSelector

RESULTS = Path(__file__).parent.parent / "results" / "submodular_redundancy.csv"
FIELDS = ["data", "budget", "redundancy", "n_splits", "error", "standard_error", "features"]
TRAINING_ROWS = {"spambase": 2000, "mfeat_pix": 1000, "qsar_biodeg": 700, "dna": 2000, "wdbc": 380}
BUDGETS = (3, 5, 8, 12, 20, 35)
REDUNDANCIES = (0.0, 0.1, 0.3, 1.0)


def test_error(data: ff.datasets.Dataset, budget: int, redundancy: float, seed: int) -> tuple[float, int]:
    """Test error of a forest on the panel, and the size of the panel."""
    rows = np.random.default_rng(seed).permutation(len(data.X))
    train, test = np.split(rows, [TRAINING_ROWS[data.name]])
    selector = SubmodularSelector(budget=budget, redundancy=redundancy).fit(data.X[train], data.y[train])
    forest = ff.StandardForestClassifier(100, random_state=seed)
    forest.fit(selector.transform(data.X[train]), data.y[train])
    return 1 - forest.score(selector.transform(data.X[test]), data.y[test]), int(selector.support_.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    n_splits = parser.parse_args().splits
    found = []
    for name in TRAINING_ROWS:
        data = ff.datasets.load(name)
        for budget in [b for b in BUDGETS if b < data.X.shape[1]]:
            for redundancy in REDUNDANCIES:
                runs = np.array([test_error(data, budget, redundancy, seed) for seed in range(n_splits)])
                error, size = runs.mean(axis=0)
                spread = runs[:, 0].std(ddof=1) / np.sqrt(n_splits)
                values = [name, budget, redundancy, n_splits, round(error, 5), round(spread, 5), round(size, 2)]
                found.append(dict(zip(FIELDS, values, strict=True)))
                print(*values, flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(found)


if __name__ == "__main__":
    main()
