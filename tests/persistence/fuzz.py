"""Loads model files with faults, in a process of its own: `python tests/persistence/fuzz.py 0 2000`.

The process dies, and says at which number, if a file makes it crash, hang, take much memory, or raise anything but
ModelFileError. Numbers are seeds: the same number gives the same file.

A file whose bytes were changed loads to the very same model or not at all. One whose contents were changed under a
checksum that fits may load to another model, which then has to answer: no row may make it fail.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import random
import resource
import signal
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

sys.path.insert(0, str(Path(__file__).parents[1]))

from frugalforest.persistence import ModelFileError, load, save
from frugalforest.persistence.archive import Contents, read_archive, write_archive
from persistence.models import CASES, answers, buy, case, same
from persistence.mutations import mutate_bytes, mutate_contents

SECONDS_PER_FILE = 10
MEGABYTES = 400  # beyond what the process has before the first file


class Target:
    """A model and its file."""

    def __init__(self, name: str, folder: Path) -> None:
        self.case = case(name)
        self.path = folder / f"{name}.ff"
        save(self.case.model, self.path)
        self.data = self.path.read_bytes()
        contents = read_archive(self.path)
        self.model, self.arrays = contents.model, bytes(contents.joined_arrays())
        self.checksum = contents.checksum()
        self.answers = answers(self.case.model, self.case.X)


def try_bytes(target: Target, path: Path, rng: random.Random) -> str:
    path.write_bytes(mutate_bytes(target.data, rng))
    try:
        model = load(path)
    except ModelFileError:
        return "bytes: refused"
    save(model, path)
    assert read_archive(path).checksum() == target.checksum
    assert same(answers(model, target.case.X), target.answers)
    return "bytes: the same model"


def try_contents(target: Target, path: Path, rng: random.Random) -> str:
    model_json, arrays = mutate_contents(target.model, target.arrays, rng)
    path.unlink(missing_ok=True)
    write_archive(path, Contents(model_json, [memoryview(arrays)]))
    try:
        model = load(path)
    except ModelFileError:
        return "contents: refused"
    use(model, target.case.X, rng.getrandbits(32))
    save(model, path)
    return "contents: " + ("the same model" if read_archive(path).checksum() == target.checksum else "another model")


def use(model: Any, X: Any, seed: int) -> None:
    """Ask the model whatever can be asked."""
    if hasattr(model, "n_jobs"):
        model.n_jobs = min(model.n_jobs or 1, 2)  # the memory that a file may take is no place for many threads
    rows = np.random.default_rng(seed).choice(
        [np.nan, -1.0, 0.0, 1.0, 2.0, 50.0, 254.0, 1e9], (30, model.n_features_in_)
    )
    scores, mask = model._read(rows, with_mask=True)
    assert scores.shape == (30, len(model.classes_))
    assert np.isfinite(scores).all()
    assert np.isfinite(model.feature_costs_.of_rows(mask)).all()
    model._labels(scores)
    clone(model)
    with contextlib.suppress(ValueError):  # X may lack a column that the model now wants, or hold text in it
        answers(model, X)
    if hasattr(model, "forest_"):
        model.feature_importances_  # noqa: B018
        model.forest_.nodes(0) if model.forest_.n_trees else None
    if hasattr(model, "start"):
        with contextlib.suppress(ValueError):  # a column of text is not for numbers
            buy(
                model.start(), dict.fromkeys([*range(model.n_features_in_), *(model.encoder_.feature_names or ())], 1.5)
            )
    if hasattr(model, "curve_"):
        for budget in (0, 1, getattr(model, "max_budget_", np.inf), None):
            with contextlib.suppress(ValueError):  # out of reach
                model.at_budget(budget)._read(rows, with_mask=True)
        model.curve_.frontier()


def run(first: int, n_files: int) -> Counter[str]:
    """Try the files of these numbers -> how many had which end."""
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        targets = [Target(name, Path(folder)) for name in CASES]
        path = Path(folder) / "mutated.ff"
        limit_memory()
        for number in range(first, first + n_files):
            rng = random.Random(number)
            signal.alarm(SECONDS_PER_FILE)  # nobody handles it: the process ends, wherever it is
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    attempt = rng.choice([try_bytes, try_contents])
                    found[attempt(rng.choice(targets), path, rng)] += 1
            except BaseException:
                print(f"file number {number}:", file=sys.stderr)
                raise
        signal.alarm(0)
    return found


def limit_memory() -> None:
    """From here on the process may have only so much more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEGABYTES * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    faulthandler.enable()
    counts = run(int(sys.argv[1]), int(sys.argv[2]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({**counts, "peak memory, MB": peak}))
