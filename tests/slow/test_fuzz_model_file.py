"""A hundred thousand model files with faults: `pytest -s tests/slow/test_fuzz_model_file.py` says what became of them.

Faults in bytes: bits, bytes, cuts, splices, repeated and removed pieces, headers of the archive. Faults in contents,
under a checksum that fits: values, parts, tables, numbers in arrays. No file may make the process crash, hang, take
more than 400 MB, or raise anything but ModelFileError. One with faulty bytes loads to the very same model or not at
all; one with faulty contents that loads has to answer. See tests/persistence/fuzz.py, also for how to try one again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FUZZ = Path(__file__).parents[1] / "persistence" / "fuzz.py"
N_FILES, N_FILES_PER_PROCESS = 100_000, 2500


def run(first: int) -> dict[str, int]:
    command = [sys.executable, str(FUZZ), str(first), str(N_FILES_PER_PROCESS)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr}"
    return json.loads(done.stdout)


def test_a_hundred_thousand_model_files_with_faults():
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(run, range(0, N_FILES, N_FILES_PER_PROCESS)))
    peak = max(result.pop("peak memory, MB") for result in results)
    total = sum(map(Counter, results), Counter())
    print(json.dumps({**total, "peak memory, MB": peak}, indent=2))
    assert total.total() == N_FILES
    assert total["bytes: the same model"] > 2000
    assert total["contents: another model"] > 4000
