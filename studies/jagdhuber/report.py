"""The report of the study, written from the stored rows alone: tables, figures, and a verdict on every finding."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from studies.findings import findings_table
from studies.intervals import Interval
from studies.jagdhuber.frames import ENOUGH, PATH, STRATEGIES, as_frame, means
from studies.jagdhuber.pictures import draw_paths, draw_ranks, draw_settings
from studies.jagdhuber.rank_verdicts import n_splits, tuned_and_agnostic
from studies.jagdhuber.tasks import METHODS, REAL, SETTINGS, VARIANTS, methods_of
from studies.jagdhuber.verdicts import findings

__all__ = ["as_frame", "findings", "means", "write_report"]
NO_ROWS = "No rows yet."

# ---- tables


def error_table(cells: pd.DataFrame, names: Sequence[str], kinds: Sequence[str], strategies=STRATEGIES) -> str:
    """One line per data set and budget, one column per method and strategy."""
    cells = cells[cells["name"].isin(names) & cells["kind"].isin(kinds) & cells["strategy"].isin(strategies)]
    if len(cells) == 0:
        return NO_ROWS
    there = set(zip(cells["kind"], cells["strategy"], strict=True))
    columns = [(kind, strategy) for kind in kinds for strategy in strategies if (kind, strategy) in there]
    lines = ["| | budget | " + " | ".join(f"{k} {s}" for k, s in columns) + " |", "|---" * (len(columns) + 2) + "|"]
    for name in names:
        for budget, line in cells[cells["name"] == name].groupby("budget"):
            texts = _texts(line.set_index(["kind", "strategy"]), columns)
            lines.append(f"| {name} | {budget:g} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def _texts(line: pd.DataFrame, columns: list[tuple[str, str]]) -> list[str]:
    """The cells of a line. Bold is the least of those with the most repetitions, if these are enough; others say n."""
    most = line["n"].max()
    least = line.loc[line["n"] == most, "error"].min() if most >= ENOUGH else None
    texts = []
    for column in columns:
        if column not in line.index:
            texts.append("-")
            continue
        error, half, n = line.loc[column, ["error", "half", "n"]]
        text = Interval(error, half).text(4)
        if n < most:
            text += f" (n = {n:g})"
        texts.append(f"**{text}**" if n == most and error == least else text)
    return texts


# ---- what was run


def repetitions_of(frame: pd.DataFrame) -> pd.Series:
    """How many repetitions every (method, task) has at all of its budgets."""
    tuned = frame[frame["strategy"] == "tuned"]
    return tuned.groupby(["kind", "name", "budget"])["seed"].nunique().groupby(["kind", "name"]).min()


def repetitions_text(counts: pd.Series) -> str:
    """Like "STS 20; FS 20 (A, B), 5 (ada)"."""
    texts = []
    for kind in (*METHODS, *VARIANTS):
        if kind not in counts.index.get_level_values("kind"):
            continue
        mine = counts[kind]
        sizes = sorted(mine.unique(), reverse=True)
        where = {n: ", ".join(name for name in (*SETTINGS, *REAL) if mine.get(name) == n) for n in sizes}
        told = [f"{n} ({names})" for n, names in where.items()] if len(sizes) > 1 else [str(sizes[0])]
        texts.append(f"{kind} {', '.join(told)}")
    return "; ".join(texts) or "none"


def missing_text(counts: pd.Series) -> str:
    """Tasks without rows, and methods without rows on a task that has some."""
    there = set(counts.index)
    names = (*SETTINGS, *REAL)
    absent = [name for name in names if not any(name == task for _, task in there)]
    lacking = [
        f"{kind} on {name}"
        for name in names
        if name not in absent
        for kind in methods_of(name)
        if (kind, name) not in there
    ]
    missing = [*absent, *lacking]
    return f"Not run: {', '.join(missing)}." if missing else "Every method was run on every task."


# ---- the page


def pictures(frame: pd.DataFrame, cells: pd.DataFrame, folder: Path) -> dict[str, str]:
    """Draw what there are rows for; a link to each picture by its place in the page."""
    links = dict.fromkeys(("settings", "paths", "ranks"), NO_ROWS)
    if cells["name"].isin(SETTINGS).any():
        draw_settings(cells, folder / "settings.png")
        links["settings"] = "![Test error against budget](settings.png)"
    if (frame["strategy"] == PATH).any():
        draw_paths(frame, folder / "paths.png")
        links["paths"] = "![Error against xi](paths.png)"
    ranks = tuned_and_agnostic(frame)
    if len(ranks):
        draw_ranks(ranks, folder / "ranks.png")
        splits = n_splits(frame, [method.removesuffix(" tuned") for method in ranks if method.endswith(" tuned")])
        links["ranks"] = f"From {splits} of each.\n\n![Mean ranks on the real data sets](ranks.png)"
    return links


def write_report(rows: list[dict], folder: Path) -> None:
    """report.md and its figures in a folder."""
    folder.mkdir(exist_ok=True)
    frame = as_frame(rows)
    cells, counts = means(frame), repetitions_of(frame)
    found = findings(frame, cells)
    paths = frame[frame["strategy"] == PATH]
    text = (Path(__file__).parent / "report.template.md").read_text().format(
        repetitions=repetitions_text(counts),
        missing=missing_text(counts),
        enough=ENOUGH,
        findings=findings_table(found) if found else NO_ROWS,
        n_paths=paths["seed"].nunique(),
        simulated=error_table(cells, SETTINGS, METHODS),
        variants=error_table(cells, SETTINGS, ("STS", *VARIANTS), ("xi 1", "tuned")),
        real=error_table(cells, REAL, METHODS),
        **{f"{name}_picture": link for name, link in pictures(frame, cells, folder).items()},
    )  # fmt: skip
    (folder / "report.md").write_text(text)
