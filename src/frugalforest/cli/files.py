"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from frugalforest.cli.errors import Mistake, NotWritten


def require_file(path: Path, what: str) -> None:
    """Refuse a path where there is no file to read."""
    if path.is_dir():
        raise Mistake(f"{path} is a folder; give the name of {what}.")
    if not path.exists():
        folder = path.parent if path.parent.exists() else None
        near = _similar(path) if folder else []
        hint = f" Is it {' or '.join(near)}?" if near else ""
        place = "" if folder else f" There is not even a folder {path.parent}."
        raise Mistake(f"there is no file {path} ({what}).{hint}{place}")
    if not os.access(path, os.R_OK):
        raise Mistake(f"{path} may not be read ({what}); ask its owner for permission.")


def require_room(path: Path, what: str) -> None:
    """Refuse a place that cannot be written to, before any work is done."""
    if path.is_dir():
        raise NotWritten(f"{path} is a folder; give the name of a file for {what}.")
    if not path.parent.exists():
        raise NotWritten(f"there is no folder {path.parent} for {what}; make it, or give another name.")
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise NotWritten(f"no permission to write {what} to {path}; give another name.")


@contextmanager
def written(what: str, path: Path) -> Iterator[None]:
    """Explain what went wrong while a file is written."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        before = " What was there before is unchanged." if path.exists() else ""
        raise NotWritten(f"{what} could not be written to {path}: {reason}.{before}") from error


@contextmanager
def draft_of(what: str, path: Path) -> Iterator[Path]:
    """A place beside `path` to write to, which takes its place if all goes well, and else is removed again."""
    from frugalforest.persistence.archive import replacing

    with written(what, path), replacing(path) as draft:
        yield draft


def write_text(what: str, path: Path, text: str) -> None:
    """Write a whole text file, or leave what was there."""
    with draft_of(what, path) as draft, draft.open("x", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def size_of(path: Path) -> str:
    """How large a file is, for people."""
    size = path.stat().st_size
    return f"{size:,} bytes" if size < 10_000 else f"{size / 1e3:,.0f} kB" if size < 1e7 else f"{size / 1e6:,.0f} MB"


def _similar(path: Path) -> list[str]:
    from difflib import get_close_matches

    names = [entry.name for entry in path.parent.iterdir() if entry.is_file()][:1000]
    return get_close_matches(path.name, names, n=2, cutoff=0.7)
