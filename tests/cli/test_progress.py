"""A bar for what takes long, and nothing where nobody looks."""

import time

from frugalforest.cli import progress


def test_a_bar_in_a_terminal(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.progress("growing [bold]trees", 10) as advance:
        time.sleep(0.3)
        advance(5, "growing more")
        time.sleep(0.3)
    shown = capsys.readouterr()
    assert "growing [bold]trees" in shown.err  # names are no markup
    assert "growing more" in shown.err
    assert "50%" in shown.err
    assert shown.out == ""


def test_no_bar_for_short_work(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress.progress("growing") as advance:
        advance(1, "more")
    assert "growing" not in capsys.readouterr().err


def test_no_bar_without_a_terminal(monkeypatch, capsys):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.progress("growing") as advance:
        advance(1, "more")
        time.sleep(0.05)
    assert capsys.readouterr().err == ""
