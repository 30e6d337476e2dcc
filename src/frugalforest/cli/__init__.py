"""The command line: one file per command, which parses, calls and prints.

Nothing heavy is imported before a command runs, so that `frugalforest --help` answers at once.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """The `frugalforest` command."""
    from frugalforest.cli.app import app

    app(prog_name="frugalforest")
