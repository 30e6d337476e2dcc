"""docs/results.md: written from the stored rows of all studies."""

from __future__ import annotations

import pandas as pd
import pytest
from studies.findings import Finding

from studies import summary


def test_the_page_is_what_the_stored_rows_say(tmp_path):
    summary.write_page(tmp_path / "results.md")
    assert (tmp_path / "results.md").read_text() == summary.PAGE.read_text()


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        ("confirmed", "confirmed"),
        ("confirmed, on other data", "confirmed"),
        ("partly: 3 of 4", "partly"),
        ("refuted", "refuted"),
        ("shares confirmed, errors not", "partly"),
        ("STS best: refuted; AUC last: confirmed", "partly"),
        ("not confirmed", "refuted"),
        ("images: not confirmed", "other"),
        ("open in the paper; the variant is better at 4", "other"),
        ("measured", "other"),
        ("", "other"),
    ],
)
def test_kinds_of_verdicts(verdict, kind):
    assert summary.kind_of(Finding("claim", "ours", verdict)) == kind


def test_verdicts_are_counted_by_paper_and_together():
    yes, no = Finding("a", "b", "confirmed"), Finding("a", "b", "refuted")
    lines = summary.counted({"one": [yes, no, no], "two": [yes]}).splitlines()
    assert lines[2:] == ["| one | 3 | 1 | 0 | 2 | 0 |", "| two | 1 | 1 | 0 | 0 | 0 |", "| all | 4 | 2 | 0 | 2 | 0 |"]


def test_places_of_methods():
    ranks = pd.Series({"cascade, on demand": 1.5, "CEGB, until sure": 2.0, "FrugalClassifier, on demand": 6.0})
    found = summary.Ranking(ranks, n_data=12, difference=2.5, n_alike=2)
    assert found.place("FrugalClassifier") == 3
    assert found.place_of_peers() == 2


def test_methods_that_cannot_be_told_apart_are_counted():
    methods = ["cascade, on demand", "CEGB, until sure", "FrugalClassifier, on demand", "StandardForest, on demand"]
    lines = [
        {"data": data, "method": method, "seed": 0, "area": 0.1 * place}
        for data in range(30)
        for place, method in enumerate(methods)
    ]
    found = summary.ranking_of(pd.DataFrame(lines))
    assert (found.n_data, found.n_alike) == (30, 1)
    assert found.difference < 1
    first, alike, others, frugal = summary.ranking_sentences(found)
    assert "Of 4 ways" in first
    assert "the first 1 methods" in alike
    assert "in place 4" in others
    assert "in place 3, with a mean rank of 3.0" in frugal
