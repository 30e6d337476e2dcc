"""Vector drawings for a page: shapes with classes, whose colours are the page's business, and a text for those who
cannot see them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDE, NARROW = 680, 340  # of a figure on a desk, and on a phone: drawn twice, so that letters stay readable
LETTER = 7.0  # average width of a letter of 12 px


class Drawing:
    """Collects shapes; coordinates are pixels from the upper left corner."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._parts: list[str] = []

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """A straight line."""
        self._parts.append(f'<line x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}" class="{kind}"/>')

    def rect(self, x: float, y: float, width: float, height: float, kind: str, tip: str = "") -> None:
        """A rectangle; `tip` shows when the pointer rests on it."""
        place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(max(width, 0))}" height="{_n(max(height, 0))}"'
        self._parts.append(_closed(f'<rect {place} class="{kind}" rx="2"', "rect", tip))

    def circle(self, x: float, y: float, radius: float, kind: str, tip: str = "") -> None:
        """A disc."""
        self._parts.append(_closed(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" class="{kind}"', "circle", tip))

    def path(self, commands: str, kind: str, tip: str = "") -> None:
        """Any line or area, in the commands of SVG; `polyline` and `band` make them."""
        self._parts.append(_closed(f'<path d="{commands}" class="{kind}"', "path", tip))

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        """One line of text, whatever is in it."""
        self._parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" class="{kind}" text-anchor="{anchor}">{escape(text, quote=True)}</text>'
        )

    def svg(self, name: str, title: str, description: str, kind: str) -> str:
        """The element; name: one of its own on the page."""
        head = (
            f'<svg class="{kind}" viewBox="0 0 {_n(self.width)} {_n(self.height)}" width="{_n(self.width)}" '
            f'height="{_n(self.height)}" role="img" aria-labelledby="{name}-title {name}-desc">'
        )
        alt = f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
        return f"{head}{alt}{''.join(self._parts)}</svg>"


def figure(name: str, title: str, description: str, draw: Callable[[float], Drawing], *, half: bool = False) -> str:
    """A drawing for desks and one for phones, of which the page shows the one that fits; half: one for both."""
    if half:
        return draw(NARROW).svg(name, title, description, "both")
    wide = draw(WIDE).svg(f"{name}-wide", title, description, "wide")
    return wide + draw(NARROW).svg(f"{name}-narrow", title, description, "narrow")


def polyline(points: Sequence[tuple[float, float]]) -> str:
    """Commands for straight lines through points."""
    return "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in points)


def band(x1: float, top1: float, x2: float, top2: float, height: float) -> str:
    """Commands for a band of even height that swings from one place to another."""
    middle = (x1 + x2) / 2
    upper = f"M{_n(x1)} {_n(top1)}C{_n(middle)} {_n(top1)} {_n(middle)} {_n(top2)} {_n(x2)} {_n(top2)}"
    low1, low2 = top1 + height, top2 + height
    return f"{upper}L{_n(x2)} {_n(low2)}C{_n(middle)} {_n(low2)} {_n(middle)} {_n(low1)} {_n(x1)} {_n(low1)}Z"


def fitted(text: str, width: float) -> str:
    """A text cut to a width in pixels."""
    most = max(1, int(width / LETTER))
    return text if len(text) <= most else text[: max(1, most - 1)] + "…"


# ---- scales


@dataclass(frozen=True)
class Scale:
    """From amounts to pixels, evenly or by ratios."""

    low: float
    high: float
    start: float
    end: float
    by_ratio: bool = False

    def __call__(self, value: float) -> float:
        """Where an amount lies; what is outside lies at the border."""
        value = min(max(value, self.low), self.high)
        if self.by_ratio:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, n: int = 5) -> list[float]:
        """Round amounts to write at the axis."""
        if not self.by_ratio:
            return round_ticks(self.low, self.high, n)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        steps = (1, 2, 5) if self.high < 300 * self.low else (1,)
        return [s * 10.0**p for p in powers for s in steps if self.low <= s * 10.0**p <= self.high]


class Names:
    """Writes names beside dots, on the side where there is room; not at all where they would cover each other."""

    def __init__(self, drawing: Drawing, x: Scale) -> None:
        self._drawing, self._x = drawing, x
        self._taken: list[tuple[float, float, float]] = []  # left, right, level

    def write(self, name: str, x: float, y: float, gap: float, kind: str = "soft") -> None:
        """A name for the dot at (x, y)."""
        text = fitted(name, 170)
        length = LETTER * len(text)
        for anchor, left in (("start", x + gap), ("end", x - gap - length)):
            inside = left > self._x.start and left + length < self._x.end + 10
            if inside and all(abs(y - level) > 13 or left > r or left + length < b for b, r, level in self._taken):
                self._drawing.text(x + gap if anchor == "start" else x - gap, y + 4, text, kind, anchor)
                self._taken.append((left, left + length, y))
                return


def round_ticks(low: float, high: float, n: int) -> list[float]:
    """About n round amounts from low to high: steps of 1, 2 or 5 times a power of ten."""
    raw = (high - low) / max(1, n)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def short(amount: float) -> str:
    """An amount at an axis."""
    return f"{amount:,.0f}" if abs(amount) >= 1000 else f"{amount:g}"


def _closed(element: str, tag: str, tip: str) -> str:
    return f"{element}><title>{escape(tip)}</title></{tag}>" if tip else f"{element}/>"


def _n(number: float) -> str:
    return f"{number:.1f}".rstrip("0").rstrip(".")
