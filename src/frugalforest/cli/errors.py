"""What a user sees when something goes wrong: one sentence, an exit code, and no traceback unless asked for."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

import typer

UNEXPECTED, MISTAKE, NOT_WRITTEN, INTERRUPTED, PIPE_CLOSED = 1, 2, 3, 130, 141


class Mistake(Exception):
    """Something that the user can put right: a file that is not there, a column that has no price, ..."""

    exit_code = MISTAKE


class NotWritten(Mistake):
    """The answer was found but could not be written: no permission, no room on the disk."""

    exit_code = NOT_WRITTEN


@contextmanager
def as_mistake(prefix: str = "") -> Iterator[None]:
    """Take the library's refusals of what it was given as mistakes of the user."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise Mistake(f"{prefix}{error}") from error


class Switches:
    """What the options that all commands have ask for, set while the command line is parsed."""

    debug = False
    as_json = False


@contextmanager
def explained() -> Iterator[None]:
    """Run a command: errors become sentences and exit codes, warnings notes."""
    with warnings.catch_warnings():
        _show_warnings_as_notes()
        try:
            yield
        except Exception as error:
            if isinstance(error, typer.Exit) or hasattr(error, "format_message"):
                raise  # Typer ends the program, or says itself what is wrong with the options
            raise typer.Exit(_report(error)) from None
        except KeyboardInterrupt:
            _tell("interrupted; nothing half-written is left behind.", INTERRUPTED)
            raise typer.Exit(INTERRUPTED) from None


def _report(error: Exception) -> int:
    """Tell what went wrong -> the exit code."""
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has seen enough. Python would complain again when it flushes stdout at the end.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    if Switches.debug:
        traceback.print_exception(error)
    if isinstance(error, Mistake):
        return _tell(str(error), error.exit_code)
    what = f"{type(error).__name__}: {error}"
    way_out = "" if Switches.debug else " Run it again with --debug to see where."
    return _tell(f"unexpected error, which is a fault of frugalforest. {what}.{way_out}", UNEXPECTED)


def harmless(text: str) -> str:
    """A text without the characters that command a terminal, whatever file it comes from."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\N{REPLACEMENT CHARACTER}", text)


def _tell(message: str, exit_code: int) -> int:
    message = harmless(message)
    print(f"error: {message}" if exit_code != INTERRUPTED else f"\n{message}", file=sys.stderr)
    if Switches.as_json:
        print(json.dumps({"error": message, "exit_code": exit_code}))
    return exit_code


def _show_warnings_as_notes() -> None:
    """Warnings are meant for the user's eyes, but not the line of code they come from; those for programmers go."""
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", UserWarning)

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        print(f"note: {harmless(str(message))}", file=sys.stderr)

    warnings.showwarning = show
