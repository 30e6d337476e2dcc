"""Two thousand model files with faults; tests/slow/test_fuzz_model_file.py tries a hundred thousand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="limits the memory of a process as Unix does")

FUZZ = Path(__file__).parent / "fuzz.py"
N_FILES = 2000


def test_model_files_with_faults():
    done = subprocess.run([sys.executable, str(FUZZ), "0", str(N_FILES)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    del found["peak memory, MB"]
    assert sum(found.values()) == N_FILES
    # Nearly all are refused, and each end is reached: faults are neither too large nor too small to find anything.
    assert found["bytes: refused"] > 800
    assert found["contents: refused"] > 700
    assert min(found["bytes: the same model"], found["contents: another model"]) > 30
