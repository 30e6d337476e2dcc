"""Wrote the stored files of version 1. Files of a version that is out are never written again: they are the promise.

For a new version: raise VERSION in frugalforest/persistence/archive.py, run `python tests/persistence/make_files.py`,
and keep the older files.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))

from frugalforest.persistence import save
from frugalforest.persistence.archive import VERSION
from persistence.models import answers, budget_case, standard_case

FILES = Path(__file__).parent / "files"
N_ROWS = 12


def main() -> None:
    for name, make in (("budget", budget_case), ("standard", standard_case)):
        model, X = make()
        rows = X[:N_ROWS]
        stored = {
            "rows": [list(row) for row in (rows.to_numpy() if isinstance(rows, pd.DataFrame) else rows.tolist())],
            "columns": list(rows.columns) if isinstance(rows, pd.DataFrame) else None,
            "answers": [np.asarray(answer).tolist() for answer in answers(model, rows)],
        }
        save(model, FILES / f"version_{VERSION}_{name}.ff")
        (FILES / f"version_{VERSION}_{name}.json").write_text(json.dumps(stored) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
