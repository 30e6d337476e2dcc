"""Results of studies as rows in SQLite: what is there is not computed again, and reports are written from it alone."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def folder_of(study: Path, quick: bool) -> Path:
    """Where a study keeps its rows and its report; a quick one has a folder of its own."""
    folder = study / "quick" if quick else study
    folder.mkdir(exist_ok=True)
    return folder


class ResultStore:
    """Rows by (task, method, seed, version); each holds named numbers. One writer at a time, any number of readers."""

    def __init__(self, path: str | Path, version: str) -> None:
        """version: of what is computed; rows of another version are kept and not looked at."""
        self.version = version
        self.connection = sqlite3.connect(path, timeout=60)
        self.connection.execute(
            "CREATE TABLE IF NOT EXISTS results (task TEXT, method TEXT, seed INTEGER, version TEXT, numbers TEXT, "
            "PRIMARY KEY (task, method, seed, version))"
        )

    def has(self, task: str, method: str, seed: int) -> bool:
        where = (task, method, seed, self.version)
        query = "SELECT 1 FROM results WHERE task = ? AND method = ? AND seed = ? AND version = ?"
        return self.connection.execute(query, where).fetchone() is not None

    def add(self, rows: Iterable[tuple[str, str, int, dict[str, Any]]]) -> None:
        """Store rows (task, method, seed, numbers) all at once: after an interruption either all are there or none."""
        values = [(task, method, seed, self.version, json.dumps(numbers)) for task, method, seed, numbers in rows]
        with self.connection:
            self.connection.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?)", values)

    def rows(self) -> list[dict[str, Any]]:
        """All rows of this version, in a fixed order, each as one dict."""
        query = "SELECT task, method, seed, numbers FROM results WHERE version = ? ORDER BY task, method, seed"
        found = self.connection.execute(query, (self.version,))
        return [{"task": t, "method": m, "seed": s, **json.loads(n)} for t, m, s, n in found]
