"""Nan, Wang and Saligrama (2015), Feature-Budgeted Random Forest: its examples, Table 1, Figure 3, and its appendix.

    FRUGALFOREST_DATA=folder OMP_NUM_THREADS=1 python -m studies.nan2015.run [--parts examples table ...]
        [--tasks covertype ...] [--methods BudgetRF ...] [--seeds 10] [--quick] [--report]

Every (task, model, seed) is a row of results.sqlite; rows that are there are not computed again. `variants` is what the
paper leaves open. Figure 3 has five seeds, CSTC three where it is slow; --methods are those of Figure 3.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

from studies.nan2015 import examples, figure3, forests, max_costs, variants
from studies.nan2015.report import write_report
from studies.nan2015.tasks import SIZES, UCI, load_complete, load_task
from studies.progress import Countdown
from studies.store import ResultStore, folder_of

HERE = Path(__file__).parent
VERSION = "1"
PARTS = ("examples", "table", "figure3", "variants", "appendix")
Measure = Callable[[], dict]
Job = tuple[str, str, int, Measure]  # task, method, seed, and what computes the row


def example_jobs() -> Iterator[Job]:
    for name, (settings, measure) in examples.EXAMPLES.items():
        for setting in settings:
            yield f"examples {name}", setting, 0, lambda m=measure, s=setting: m(s)


def table_jobs(names: list[str], seeds: range, n_jobs: int) -> Iterator[Job]:
    for name in names:
        for seed in seeds:
            for model in forests.MODELS:
                yield (
                    f"table {name}",
                    model,
                    seed,
                    lambda n=name, m=model, s=seed: forests.measure(m, load_task(n, s), s, n_jobs),
                )


def figure3_jobs(names: list[str], methods: list[str], seeds: range, quick: bool) -> Iterator[Job]:
    """A quick run leaves out what takes minutes."""
    for name in [n for n in names if n in figure3.BUDGETS]:
        for method in [m for m in methods if not (quick and (name, m) in figure3.N_SEEDS_OF_SLOW)]:
            for seed in seeds[: figure3.n_seeds(name, method)]:
                yield f"figure3 {name}", method, seed, lambda m=method, n=name, s=seed: figure3.measure(m, n, s)


def variant_jobs(names: list[str], seeds: range, n_jobs: int) -> Iterator[Job]:
    for name in [n for n in names if n in variants.TASKS]:
        for seed in seeds:
            for variant in variants.VARIANTS:
                yield (
                    f"variants {name}",
                    variant,
                    seed,
                    lambda n=name, v=variant, s=seed: variants.measure(v, load_task(n, s), s, n_jobs),
                )


def appendix_jobs() -> Iterator[Job]:
    for name in UCI:
        for impurity in max_costs.IMPURITIES:
            yield (
                f"appendix {name}",
                impurity,
                0,
                lambda n=name, i=impurity: max_costs.measure(i, *load_complete(n)),
            )


def run(store: ResultStore, jobs: Iterator[Job]) -> None:
    todo = [job for job in jobs if not store.has(*job[:3])]
    countdown = Countdown(len(todo))
    for task, method, seed, measure in todo:
        try:
            store.add([(task, method, seed, measure())])
        except FileNotFoundError as error:
            countdown.skip()
            print(f"{task}: skipped, {error}", flush=True)
        else:
            countdown.done(f"{task}, {method}, seed {seed}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=PARTS)
    parser.add_argument("--tasks", nargs="*", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--methods", nargs="*", default=list(figure3.METHODS), choices=figure3.METHODS)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="2 seeds, without the images, in a folder of its own")
    parser.add_argument("--report", action="store_true", help="only write the report")
    args = parser.parse_args()
    folder = folder_of(HERE, args.quick)
    store = ResultStore(folder / "results.sqlite", VERSION)
    seeds = range(2 if args.quick else args.seeds)
    names = [name for name in args.tasks if not (args.quick and name == "cifar")]
    parts = {
        "examples": example_jobs,
        "table": lambda: table_jobs(names, seeds, args.jobs),
        "figure3": lambda: figure3_jobs(names, args.methods, seeds, args.quick),
        "variants": lambda: variant_jobs(names, seeds, args.jobs),
        "appendix": appendix_jobs,
    }
    for part in [] if args.report else args.parts:
        run(store, parts[part]())
    write_report(store.rows(), folder)


if __name__ == "__main__":
    main()
