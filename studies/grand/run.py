"""All methods of the library and its peers, on all data sets, with one bill.

    FRUGALFOREST_DATA=folder python -m studies.grand.run [--data spambase ...] [--methods cascade ...] [--seeds 5]
        [--quick] [--report]

Rows are those of benchmarks.quality and are kept in the same place; what is there is not computed again.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from benchmarks.quality.__main__ import RESULTS, VERSION, is_done, measure
from benchmarks.quality.data import SOURCES, load_task
from studies.grand.methods import ALL, suits
from studies.grand.report import write_report
from studies.progress import Countdown
from studies.store import ResultStore, folder_of

HERE = Path(__file__).parent
QUICK = ("spambase", "heart", "hepatitis", "pima", "bupa")


def run(store: ResultStore, names: list[str], methods: list[str], seeds: range) -> None:
    countdown = Countdown(len(seeds) * len(names) * len(methods))
    for seed in seeds:
        for name in names:
            try:
                task = load_task(name, seed)
            except FileNotFoundError as error:
                print(f"{name}: skipped, {error}", flush=True)
                continue
            for method in methods:
                if is_done(store, name, method, seed) or not suits(method, task):
                    countdown.skip()
                    continue
                store.add(measure(task, method, ALL[method], seed))
                countdown.done(f"{name}, {method}, seed {seed}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=list(SOURCES), choices=list(SOURCES))
    parser.add_argument("--methods", nargs="*", default=list(ALL), choices=list(ALL))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="five data sets, one seed, in a folder of its own")
    parser.add_argument("--report", action="store_true", help="only write the report")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*valid feature names.*|.*the panel is empty.*")
    folder = folder_of(HERE, args.quick)
    store = ResultStore(folder / "results.sqlite" if args.quick else RESULTS, VERSION)
    if not args.report:
        names = [name for name in args.data if not args.quick or name in QUICK]
        run(store, names, args.methods, range(1 if args.quick else args.seeds))
    write_report(store.rows(), folder)


if __name__ == "__main__":
    main()
