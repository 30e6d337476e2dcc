"""Speed of fitting and predicting, ours and peers, same rows, same run: rows in a CSV, ratios on the screen.

    FRUGALFOREST_DATA=folder python -m benchmarks.speed [--data covertype ...] [--repeats 3] [--quick]

40 trees, two threads, best of 3 (of fewer for whoever needs more than a minute); binning is part of fitting. `--quick`
times whoever would need half an hour on the large simulated set over four trees and multiplies by ten; such rows say so
in `trees_timed`.
"""

from __future__ import annotations

import argparse
import csv
import gc
import json
import platform
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.speed.competitors import COMPETITORS
from benchmarks.speed.data import DATA, covertype

TREES = 40
PREDICT_ROWS = 100_000
ENOUGH_SECONDS = 60
PARTS = [*DATA, "growing", "memory"]
RESULTS = Path(__file__).parent.parent / "results" / "speed.csv"
FIELDS = ["data", "n_rows", "n_features", "task", "competitor", "seconds", "slowest", "trees_timed", "note"]


def best_time(job, repeats: int) -> tuple[float, float]:
    """Fastest and slowest of several runs; whoever needs more than a minute is not asked again."""
    seconds: list[float] = []
    while len(seconds) < repeats and sum(seconds) < ENOUGH_SECONDS:
        gc.collect()
        start = time.perf_counter()
        job()
        seconds.append(time.perf_counter() - start)
    return min(seconds), max(seconds)


def time_competitor(name: str, data: str, X, y, trees: int, repeats: int) -> list[dict]:
    competitor = COMPETITORS[name]
    fitted = {}

    def fit():
        fitted["model"] = competitor.fit(competitor.make(trees), X, y)

    base = {"data": data, "n_rows": len(X), "n_features": X.shape[1], "competitor": name, "trees_timed": trees}
    scale = TREES / trees
    fast, slow = best_time(fit, repeats)
    rows = [base | {"task": "fit", "seconds": fast * scale, "slowest": slow * scale}]
    if trees == TREES:
        asked = X[np.arange(PREDICT_ROWS) % len(X)]
        fast, slow = best_time(lambda: competitor.predict(fitted["model"], asked), max(3, repeats))
        note = "with the bill" if competitor.is_ours else "labels only"
        rows.append(base | {"task": f"predict {PREDICT_ROWS}", "seconds": fast, "slowest": slow, "note": note})
    return rows


def time_growth_in_rows(repeats: int) -> list[dict]:
    """The same forest on 261,456 and on 522,911 rows: twice the rows should take about twice the time."""
    rows = []
    for n in (261_456, 522_911):
        X, y = covertype(n)
        rows += [
            r for r in time_competitor("BudgetForest", "covertype, growing", X, y, TREES, repeats) if r["task"] == "fit"
        ]
    return rows


def peak_memory(data: str, name: str) -> dict:
    """Peak memory of one fit beyond what the process held before it, in another process."""
    code = (
        "import json, resource, numpy as np\n"
        "from benchmarks.speed.competitors import COMPETITORS\n"
        "from benchmarks.speed.data import DATA\n"
        f"X, y = DATA[{data!r}]()\n"
        f"c = COMPETITORS[{name!r}]\n"
        "c.fit(c.make(2), X[:2000], y[:2000])\n"
        "peak = lambda: int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) * 1024\n"
        "open('/proc/self/clear_refs', 'w').write('5')\n"  # forget the peak of loading
        "before = peak()\n"
        f"c.fit(c.make({TREES}), X, y)\n"
        "print(json.dumps({'peak': peak() - before, 'cells': X.size}))\n"
    )
    out = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    allowed = 2 * out["cells"] + 300e6
    note = f"{out['peak'] / 1e6:.0f} MB beyond the input; aim: at most {allowed / 1e6:.0f} MB"
    return {"data": data, "task": "peak memory", "competitor": name, "seconds": float("nan"), "note": note}


def ratios(rows: list[dict]) -> list[tuple[str, float, float]]:
    """(what, measured ratio, aim): peers' seconds over ours, and twice the rows over once."""
    seconds = {(r["data"], r["task"].split()[0], r["competitor"]): r["seconds"] for r in rows}
    growing = [r for r in rows if r["data"] == "covertype, growing"]
    found = []
    aims = [
        ("fit", "scikit-learn all features", "BudgetForest", 15),
        ("fit", "scikit-learn sqrt", "BudgetForest", 4),
        ("fit", "LightGBM rf", "BudgetForest", 10),
        ("fit", "LightGBM rf", "BudgetForest depth 10", 10),
        ("fit", "scikit-learn sqrt", "StandardForest sqrt", 2),
        ("predict", "scikit-learn sqrt", "BudgetForest", 3),
        ("predict", "scikit-learn sqrt", "StandardForest sqrt", 3),
    ]
    for data in dict.fromkeys(r["data"] for r in rows):
        for task, peer, ours, aim in aims:
            if (data, task, peer) in seconds and (data, task, ours) in seconds:
                ratio = seconds[data, task, peer] / seconds[data, task, ours]
                found.append((f"{data}: {task}, {peer} / {ours}", ratio, aim))
    if len(growing) == 2:
        found.append(
            (
                "covertype: fit, 522,911 rows / 261,456 rows (at most)",
                growing[1]["seconds"] / growing[0]["seconds"],
                2.3,
            )
        )
    return found


def store(rows: list[dict]) -> None:
    """Write the rows; those of an earlier run that this one did not repeat stay."""
    key = ("data", "task", "competitor", "n_rows")
    repeated = {tuple(str(row.get(name, "")) for name in key) for row in rows}
    kept = []
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            kept = [row for row in csv.DictReader(file) if tuple(row[name] for name in key) not in repeated]
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(kept + rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--competitors", nargs="*", default=list(COMPETITORS), choices=list(COMPETITORS))
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*valid feature names.*")
    rows: list[dict] = []
    for data in [d for d in args.data if d in DATA]:
        X, y = DATA[data]()
        for name in args.competitors:
            too_slow = args.quick and data == "simulated" and COMPETITORS[name].is_slow
            rows += time_competitor(name, data, X, y, 4 if too_slow else TREES, 1 if too_slow else args.repeats)
            print(
                f"{data:12} {name:28} "
                + "  ".join(
                    f"{r['task']} {r['seconds']:.3f} s" for r in rows if r["data"] == data and r["competitor"] == name
                ),
                flush=True,
            )
        del X, y
    if "growing" in args.data:
        rows += time_growth_in_rows(args.repeats)
    if "memory" in args.data:
        rows += [peak_memory("simulated", name) for name in ("BudgetForest", "StandardForest sqrt")]
    store(rows)
    print(
        f"\n{platform.processor() or platform.machine()}, Python {platform.python_version()}; rows in {RESULTS.name}\n"
    )
    for what, ratio, aim in ratios(rows):
        at_most = "at most" in what
        verdict = "reached" if (ratio <= aim if at_most else ratio >= aim) else "MISSED"
        print(f"{what:70} {ratio:7.2f}   aim {aim:5.1f}   {verdict}")
    for row in rows:
        if row["task"] == "peak memory":
            print(f"{row['competitor']:28} {row['note']}")


if __name__ == "__main__":
    main()
