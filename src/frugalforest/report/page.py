"""The frame of a page: everything in one file, nothing from elsewhere, and no scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

import frugalforest

# No script, font or picture may be loaded or run, whatever a column of the table is called.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def page(title: str, lead: str, numbers: Sequence[tuple[str, str, str]], parts: Iterable[str]) -> str:
    """A whole document; lead and parts are HTML, the rest is text."""
    style = files("frugalforest.report").joinpath("page.css").read_text(encoding="utf-8")
    cards = "".join(
        f"<div><dt>{escape(what)}</dt><dd>{escape(value)}<small>{escape(note)}</small></dd></div>"
        for what, value, note in numbers
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="robots" content="noindex">\n<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f'<header><h1>{escape(title)}</h1><p class="lead">{lead}</p><dl class="numbers">{cards}</dl></header>\n'
        f"<main>\n{chr(10).join(parts)}\n</main>\n"
        f"<footer>Written by frugalforest {frugalforest.__version__}. No network needed, no script run.</footer>\n"
        "</body>\n</html>\n"
    )


def section(heading: str, explanation: str, content: str) -> str:
    """A part of the page: heading and explanation are text, content is HTML."""
    said = f"<p>{escape(explanation)}</p>" if explanation else ""
    return f"<section><h2>{escape(heading)}</h2>{said}{content}</section>"


def pair(first: str, second: str) -> str:
    """Two sections side by side, where there is room."""
    return f'<div class="pair">{first}{second}</div>'


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, best: int | None = None, n_texts: int = 1) -> str:
    """A table of texts; the first `n_texts` columns are names, the others numbers; best: a row to stress."""
    head = "".join(f'<th class="{_kind(i, n_texts)}" scope="col">{escape(c)}</th>' for i, c in enumerate(columns))
    body = []
    for place, row in enumerate(rows):
        cells = "".join(f'<td class="{_kind(i, n_texts)}">{escape(cell)}</td>' for i, cell in enumerate(row))
        body.append(f'<tr class="best">{cells}</tr>' if place == best else f"<tr>{cells}</tr>")
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


def facts(pairs: Mapping[str, str]) -> str:
    """What | how it was."""
    items = "".join(f"<dt>{escape(what)}</dt><dd>{escape(value)}</dd>" for what, value in pairs.items())
    return f'<dl class="facts">{items}</dl>'


def code(text: str) -> str:
    """Lines of code."""
    return f"<pre><code>{escape(text)}</code></pre>"


def key(names: Sequence[str], colours: Sequence[str]) -> str:
    """Which colour is what."""
    items = "".join(
        f'<li><i style="background: var(--{colour})"></i>{escape(name)}</li>'
        for name, colour in zip(names, colours, strict=True)
    )
    return f'<ul class="key">{items}</ul>'


def _kind(place: int, n_texts: int) -> str:
    return "name" if place < n_texts else "n"
