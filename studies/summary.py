"""docs/results.md: what all studies found, from their stored rows: python -m studies.summary"""

from __future__ import annotations

from pathlib import Path

from benchmarks.quality.__main__ import RESULTS
from benchmarks.quality.__main__ import VERSION as QUALITY_VERSION
from benchmarks.quality.report import curves as quality_curves

from studies.findings import findings_table
from studies.grand.report import advice, areas, finished, read_most_frugally
from studies.jagdhuber import report as jagdhuber
from studies.kusner2014 import report as kusner
from studies.nan2015 import report as nan
from studies.store import ResultStore
from studies.thomas import report as thomas

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "results.md"
VERSION = "1"


def rows_of(study: str) -> list[dict]:
    return ResultStore(HERE / study / "results.sqlite", VERSION).rows()


def jagdhuber_findings() -> str:
    frame = jagdhuber.as_frame(rows_of("jagdhuber"))
    return findings_table(jagdhuber.findings(frame, jagdhuber.means(frame)))


def kusner_findings() -> str:
    return findings_table(kusner.findings(rows_of("kusner2014")))


def thomas_findings() -> str:
    curves, groups = thomas.finished_curves(rows_of("thomas"))
    if curves is None:
        return "No rows yet."
    return "\n".join([thomas.claims_table(curves), thomas.complementary_claim(curves), thomas.scene_claim(groups)])


def which_method() -> str:
    rows = ResultStore(RESULTS, QUALITY_VERSION).rows()
    if not rows:
        return "No rows yet."
    frame = read_most_frugally(finished(quality_curves(rows)))
    return advice(frame, areas(frame))


def main() -> None:
    text = (HERE / "summary.template.md").read_text().format(
        which_method=which_method(),
        nan2015=findings_table(nan.findings(rows_of("nan2015"))),
        jagdhuber=jagdhuber_findings(),
        thomas=thomas_findings(),
        kusner2014=kusner_findings(),
    )  # fmt: skip
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
