"""The documentation tells the truth: its code runs, its results are what is printed, its links lead somewhere."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")

every_document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())


def run_code(code: str, path: Path, line: int, names: dict) -> None:
    exec(compile("\n" * line + code, str(path), "exec"), names)  # so that a traceback shows the line of the document


def run_session(session: str, path: Path, line: int, names: dict) -> None:
    test = doctest.DocTestParser().get_doctest(session, names, path.name, str(path), line)
    test.globs = names  # what it defines is there for the blocks that follow
    report: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.DocTestRunner(optionflags=flags).run(test, out=report.append, clear_globs=False)
    assert not failed, "".join(report)


@every_document
def test_code_blocks_run_one_after_the_other(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    text, names = path.read_text(encoding="utf-8"), {"__name__": "document"}
    for block in BLOCK.finditer(text):
        run = run_code if block[1] == "python" else run_session
        run(block[2], path, text[: block.start(2)].count("\n"), names)


@every_document
def test_links_lead_to_files(path):
    missing = [link for link in LINK.findall(path.read_text(encoding="utf-8")) if not (path.parent / link).exists()]
    assert missing == []


def test_the_readme_shows_what_the_example_prints():
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "breast_cancer.py")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed in (ROOT / "README.md").read_text(encoding="utf-8")
