"""docs/results.md: what all studies found, from their stored rows: python -m studies.summary"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from benchmarks.quality.__main__ import RESULTS
from benchmarks.quality.__main__ import VERSION as QUALITY_VERSION
from benchmarks.quality.methods import PEERS
from benchmarks.quality.report import base_name
from benchmarks.quality.report import curves as quality_curves

from frugalforest.cli.methods import METHODS as AUTO_METHODS
from frugalforest.estimators.candidates import METHODS as FRUGAL_METHODS
from studies.findings import Finding, findings_table
from studies.grand.report import (
    advice,
    areas,
    cannot_be_told_apart,
    critical_difference,
    everywhere,
    finished,
    mean_ranks,
    read_most_frugally,
)
from studies.jagdhuber import report as jagdhuber
from studies.kusner2014.claims import findings as kusner_findings
from studies.nan2015.report import findings as nan_findings
from studies.store import ResultStore
from studies.thomas.report import findings as thomas_findings

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "results.md"
VERSION = "1"
NONE = "No rows yet."
VERDICTS = ("confirmed", "partly", "refuted")  # that are counted; all others together


# ---- the papers


def jagdhuber_findings(rows: list[dict]) -> list[Finding]:
    return jagdhuber.findings(jagdhuber.as_frame(rows))


FINDINGS: dict[str, Callable[[list[dict]], list[Finding]]] = {
    "nan2015": nan_findings,
    "jagdhuber": jagdhuber_findings,
    "thomas": thomas_findings,
    "kusner2014": kusner_findings,
}


def found_by(study: str) -> list[Finding]:
    rows = ResultStore(HERE / study / "results.sqlite", VERSION).rows()
    return FINDINGS[study](rows) if rows else []


def kind_of(found: Finding) -> str:
    """One of VERDICTS, or "other": open, not tested, measured only."""
    verdict = found.verdict
    if verdict.startswith(("refuted", "not confirmed")):
        return "refuted"
    if verdict.startswith("confirmed"):
        return "confirmed"
    if verdict.startswith("partly") or re.search("(?<!not )confirmed", verdict):
        return "partly"
    return "other"


def counted(found: dict[str, list[Finding]]) -> str:
    """How many sentences of each paper hold."""
    lines = ["| study | sentences | " + " | ".join(VERDICTS) + " | other |", "|---" * 6 + "|"]
    for study, of_study in (found | {"all": list(chain(*found.values()))}).items():
        kinds = Counter(map(kind_of, of_study))
        numbers = [len(of_study), *(kinds[kind] for kind in (*VERDICTS, "other"))]
        lines.append(f"| {study} | " + " | ".join(map(str, numbers)) + " |")
    return "\n".join(lines)


def papers_sentence(found: dict[str, list[Finding]]) -> str:
    kinds = Counter(kind_of(sentence) for of_study in found.values() for sentence in of_study)
    return (
        f"Of {kinds.total()} sentences of {len(found)} papers, measured again, {kinds['confirmed']} are confirmed, "
        f"{kinds['partly']} hold in part, {kinds['refuted']} are not what we find, and {kinds['other']} have no such "
        "verdict: they are open, or data or printed numbers are not to be had."
    )


# ---- all methods


PLAIN = {  # methods that may come first, in words of everyday
    "cascade": "a cascade (nested sets of features, of which a row buys the next one while its label is not clear)",
    "boosting": "boosting in which every row pays for what it reads",
    "CEGB": "LightGBM's boosting with prices",
    "CEGB, mean of 3": "LightGBM's boosting with prices, three models averaged",
}


def plain(method: str) -> str:
    return PLAIN.get(base_name(method), f"*{method}*")


class Ranking(NamedTuple):
    """Methods by mean rank, how far ranks have to be apart, and how many are not."""

    ranks: pd.Series
    n_data: int
    difference: float
    n_alike: int

    def place(self, base: str) -> int:
        """Of a method, however its models are read; 1 is the best."""
        return [base_name(method) for method in self.ranks.index].index(base) + 1

    def place_of_peers(self) -> int:
        return min(self.place(peer) for peer in PEERS if peer in map(base_name, self.ranks.index))


def grand_frame() -> pd.DataFrame | None:
    """The rows of the study over everything; nothing before they are there."""
    rows = ResultStore(RESULTS, QUALITY_VERSION).rows()
    frame = finished(quality_curves(rows)) if rows else []
    return read_most_frugally(frame) if len(frame) else None


def ranking_of(frame: pd.DataFrame) -> Ranking:
    table = everywhere(areas(frame))
    n_data, n_methods = table.shape
    n_alike = len(cannot_be_told_apart(table))
    return Ranking(mean_ranks(table), n_data, critical_difference(n_methods, n_data), n_alike)


def ranking_sentences(found: Ranking) -> list[str]:
    """What the ranks say, in plain words."""
    ranks, n = found.ranks, len(found.ranks)
    peer, frugal, forest = found.place_of_peers(), found.place("FrugalClassifier"), found.place("StandardForest")
    return [
        f"Of {n} ways to predict within a budget, compared on {found.n_data} data sets by one and the same bill, "
        f"{plain(ranks.index[0])} errs least: its mean rank is {ranks.iloc[0]:.1f} (1: first everywhere).",
        f"So few data sets do not settle the order: the first {found.n_alike} methods cannot be told apart "
        f"statistically (their mean ranks are less than {found.difference:.1f} from the best, Nemenyi's test at 95 %).",
        f"The best method of another library is {plain(ranks.index[peer - 1])}, in place {peer}; an ordinary random "
        f"forest, which cannot keep to a budget, is in place {forest} even if it reads no more than settles its label.",
        f"Who does not want to choose takes `FrugalClassifier`, which tries {len(FRUGAL_METHODS)} methods on rows set "
        f"aside: it is in place {frugal}, with a mean rank of {ranks.iloc[frugal - 1]:.1f}.",
    ]


def chosen_among() -> str:
    """What the library itself chooses from."""
    more = [name for name in AUTO_METHODS if name not in FRUGAL_METHODS]
    return (
        f"`FrugalClassifier` chooses among {', '.join(FRUGAL_METHODS)}; `--method auto` of the command line among "
        f"these and {', '.join(more)}."
    )


# ---- the page


def write_page(path: Path = PAGE) -> None:
    """docs/results.md, or another file of that text."""
    found = {study: found_by(study) for study in FINDINGS}
    frame = grand_frame()
    sentences = [papers_sentence(found), *(ranking_sentences(ranking_of(frame)) if frame is not None else [])]
    tables = {study: findings_table(of_study) if of_study else NONE for study, of_study in found.items()}
    text = (HERE / "summary.template.md").read_text().format(
        sentences="\n".join(f"{i}. {sentence}" for i, sentence in enumerate(sentences, 1)),
        counts=counted(found),
        advice=advice(frame, areas(frame)) if frame is not None else NONE,
        chosen_among=chosen_among(),
        **tables,
    )  # fmt: skip
    path.write_text(text)


if __name__ == "__main__":
    write_page()
