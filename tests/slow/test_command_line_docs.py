"""docs/command_line.md shows what the commands print."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def without_measurements(page):
    """Seconds, rates and sizes of files differ from run to run."""
    page = re.sub(r"(?<![\d.])\d+\.\d(?![\d%])", "#", page)
    page = re.sub(r"[\d,]+ (kB|bytes|per second)|[\d.]+ s of processor time", "#", page)
    return [re.sub(r"\s+", " ", line).strip() for line in page.splitlines()]


def test_the_page_is_what_is_printed_now(data_dir, tmp_path):
    pytest.importorskip("pexpect")
    pytest.importorskip("matplotlib")
    spec = importlib.util.spec_from_file_location("make", DOCS / "command_line" / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    page = (DOCS / "command_line.md").read_text(encoding="utf-8")
    assert without_measurements(make.make(tmp_path)) == without_measurements(page)
