"""Breast cancer with a price on every measurement: how good a diagnosis does how much money buy?

Run it: python examples/breast_cancer.py [--plot curve.png]
"""

import argparse

import numpy as np
from sklearn.model_selection import train_test_split

import frugalforest as ff

SEEDS = range(100, 130)  # of the random splits; the options below were tried out on seeds 0 to 19, which flatter them
N_TEST = 200
BUDGETS = (2, 4, 8)

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--plot", metavar="FILE", help="also draw error against cost (needs matplotlib)")
arguments = parser.parse_args()

data = ff.datasets.load_breast_cancer()
costs = data.feature_costs  # 30 features: 10 measurements, each paid once, times 3 cheap statistics
results = {}  # who -> a list of (error, average bill), one of each split
spent_on = {measurement: [] for measurement in costs.group_names}

for seed in SEEDS:
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=N_TEST, stratify=data.y, random_state=seed)
    options = {"feature_costs": costs, "random_state": seed}
    # One path of boosters has a model for every budget; a row buys one feature after another until it is sure enough.
    boosters = ff.FrugalBoostingClassifier(stop="confidence", **options).path(X, y)
    models = {f"frugal boosting, budget {budget}": boosters.at_budget(budget) for budget in BUDGETS}
    models["standard forest"] = ff.StandardForestClassifier(**options).fit(X, y)
    models["the same, on demand"] = ff.OnDemand(models["standard forest"], feature_costs=costs)

    results.setdefault("most frequent class", []).append((np.mean(y_test != np.bincount(y).argmax()), 0.0))
    for name, model in models.items():
        label, bill = model.predict_with_cost(X_test)
        results.setdefault(name, []).append((np.mean(label != y_test), bill.mean()))
    bought = boosters.at_budget(max(BUDGETS)).acquisition_mask(X_test)
    for measurement, members in zip(costs.group_names, costs.membership, strict=True):
        spent_on[measurement].append(costs.of_rows(bought & members).mean())

print(f"{data.X.shape[0]} cases, {len(costs)} features; reading all of them costs {costs.total:.2f} (made-up prices).")
print(f"Means over {len(SEEDS)} random splits, seeds {SEEDS[0]} to {SEEDS[-1]}: {len(X)} to learn, {N_TEST} to test.\n")
print(f"{'':28}{'error':>9}{'bill':>9}{'saved':>9}")
for name, pairs in results.items():
    error, bill = np.mean(pairs, axis=0)
    print(f"{name:28}{error:9.1%}{bill:9.2f}{1 - bill / costs.total:9.0%}")

print(f"\nWhere the money goes, with a budget of {max(BUDGETS)}:")
for measurement in sorted(spent_on, key=lambda name: -np.mean(spent_on[name]))[:5]:
    print(f"{measurement:28}{np.mean(spent_on[measurement]):18.2f}")

if arguments.plot:
    display = ff.CostCurveDisplay.from_estimator(boosters, X_test, y_test)
    display.figure_.savefig(arguments.plot)
    print(f"\nerror against cost of the last split: {arguments.plot}")
