"""`frugalforest predict` on files of rising size: rows per second, and that memory does not rise with them.

    python -m benchmarks.speed.predict_file [--rows 50000 5000000] [--formats csv parquet] [--jobs 2]

Simulated rows (11 columns of numbers, 2 of text), a standard forest of 100 trees grown from 20,000 rows. Each file is
predicted by a process of its own; its peak memory is what the system says at its end. Rows are added to
results/predict_file.csv.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet

import frugalforest as ff

RESULTS = Path(__file__).parents[1] / "results" / "predict_file.csv"
COLUMNS = ("format", "n_rows", "file_mb", "seconds", "rows_per_second", "peak_mb", "jobs")
N_NUMBERS, CHUNK = 11, 250_000


def simulate(n_rows: int, seed: int) -> tuple[pa.Table, np.ndarray]:
    random = np.random.default_rng(seed)
    numbers = random.normal(size=(n_rows, N_NUMBERS)).round(3)
    ward, smoker = random.integers(0, 5, n_rows), random.integers(0, 3, n_rows)
    y = (numbers[:, 0] + numbers[:, 1] * (smoker == 1) + 0.5 * (ward == 2) > 0.2).astype(int)
    columns = {f"x{i}": numbers[:, i] for i in range(N_NUMBERS)}
    columns["ward"] = np.array(["north", "south", "east", "west", "tower"])[ward]
    columns["smoker"] = np.array(["no", "yes", "formerly"])[smoker]
    return pa.table(columns), y


def write_file(path: Path, n_rows: int) -> None:
    schema = simulate(1, 0)[0].schema
    kind = parquet.ParquetWriter if path.suffix == ".parquet" else arrow_csv.CSVWriter
    with kind(str(path), schema) as writer:
        for start in range(0, n_rows, CHUNK):
            writer.write_table(simulate(min(CHUNK, n_rows - start), 1 + start)[0])


def fit_model(path: Path) -> None:
    X, y = simulate(20_000, 0)
    costs = ff.FeatureCosts(np.arange(1.0, N_NUMBERS + 3), feature_names=X.column_names)
    ff.StandardForestClassifier(100, feature_costs=costs, random_state=0).fit(X, y).save(path)


def predict(model: Path, data: Path, jobs: int) -> tuple[float, float]:
    """Seconds and peak memory in MB of one process."""
    output = data.with_name("answers" + data.suffix)
    code = "from frugalforest.cli import main; main()"
    arguments = ["-c", code, "predict", str(model), str(data), "-o", str(output), "--jobs", str(jobs)]
    start = time.perf_counter()
    process = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, *arguments])
    _, status, usage = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"predict ended with status {status}")
    return time.perf_counter() - start, usage.ru_maxrss / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", type=int, default=[50_000, 500_000, 5_000_000])
    parser.add_argument("--formats", nargs="+", default=["csv", "parquet"])
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.ff"
        fit_model(model)
        for kind in options.formats:
            for n_rows in options.rows:
                data = Path(folder) / f"rows.{kind}"
                write_file(data, n_rows)
                seconds, peak = predict(model, data, options.jobs)
                size = data.stat().st_size / 1e6
                row = (
                    kind,
                    n_rows,
                    round(size, 1),
                    round(seconds, 2),
                    round(n_rows / seconds),
                    round(peak),
                    options.jobs,
                )
                print(
                    f"{kind:8} {n_rows:>10,} rows {size:8.1f} MB: {n_rows / seconds:10,.0f} rows/s, peak {peak:6.0f} MB"
                )
                _keep(row)


def _keep(row: tuple[object, ...]) -> None:
    is_new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([COLUMNS, row] if is_new else [row])


if __name__ == "__main__":
    main()
