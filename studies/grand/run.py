"""All methods of the library and its peers, on all data sets, with one bill.

    FRUGALFOREST_DATA=folder python -m studies.grand.run [--data spambase ...] [--methods cascade ...] [--seeds 5]
        [--quick] [--report]

Rows are those of benchmarks.quality and are kept in the same place; what is there is not computed again.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from benchmarks.quality.__main__ import RESULTS, VERSION, run
from benchmarks.quality.data import SOURCES
from studies.grand.methods import ALL, suits
from studies.grand.report import write_report
from studies.store import ResultStore, folder_of

HERE = Path(__file__).parent
QUICK = ("spambase", "heart", "hepatitis", "pima", "bupa")


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
        methods = {name: ALL[name] for name in args.methods}
        run(store, names, methods, range(1 if args.quick else args.seeds), suits)
    write_report(store.rows(), folder)


if __name__ == "__main__":
    main()
