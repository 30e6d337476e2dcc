"""Exact sums of money.

Prices are kept as whole numbers of one tick, sums are sums of integers, and a bill is rounded once, at the end. So the
same set of features gives the same float, in whatever order and by whichever method it is added up.
The tick is decimal (15.51 + 20.68 + 2.10 is 38.29) if no price has more than nine digits after the point, else a power
of two; prices below 2^-61 of the total are then rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ticks = NDArray[np.int64]
Money = NDArray[np.float64]

EXACT = 2**53  # float64 holds every whole number up to here
ROOM = 2**62  # the price of everything stays below this, so that no sum of int64 ticks overflows


@dataclass(frozen=True)
class Tick:
    """The smallest coin, worth up / down; one of the two is 1."""

    up: int
    down: int

    def money(self, ticks: Ticks) -> Money:
        """Ticks below 2^62 as float64, rounded once: decimal ticks by the division, binary ones by the conversion."""
        return ticks.astype(np.float64) * float(self.up) / float(self.down)

    def exactly(self, ticks: int) -> float:
        """Any number of ticks as a float, rounded once (Python divides whole numbers correctly, however large)."""
        return ticks * self.up / self.down


def in_ticks(prices: Money) -> tuple[Ticks, Tick]:
    """Prices as whole numbers of a tick: 10^-d if they are decimals with d <= 9 digits, else a power of two.

    Binary ticks round a price to at worst 2^-61 of the total. What is left may be decimal, and has to be treated so:
    the ticks depend on the rounded prices only, so a list that is saved and read again gives the same bills.
    """
    decimal = _decimal_ticks(prices)
    if decimal is None:
        ticks, tick = _binary_ticks(prices)
        decimal = _decimal_ticks(tick.money(ticks))
    return decimal or (ticks, tick)


def _decimal_ticks(prices: Money) -> tuple[Ticks, Tick] | None:
    for digits in range(10):
        with np.errstate(over="ignore"):
            ticks = np.rint(prices * 10.0**digits)
            if ticks.sum() >= EXACT:
                return None
        if np.array_equal(ticks / 10.0**digits, prices):
            return ticks.astype(np.int64), Tick(1, 10**digits)
    return None


def _binary_ticks(prices: Money) -> tuple[Ticks, Tick]:
    needed = max(price.as_integer_ratio()[1].bit_length() - 1 for price in prices.tolist())
    try:
        room = 63 - math.frexp(math.fsum(prices))[1]
    except OverflowError:
        raise ValueError("the costs add up to infinity; give them in a larger unit.") from None
    shift = min(needed, room, 1022)  # past 1022 a tick would be a subnormal float64
    ticks = np.rint(np.ldexp(prices, shift)).astype(np.int64)
    while sum(ticks.tolist()) >= ROOM:
        shift -= 1
        ticks = np.rint(np.ldexp(prices, shift)).astype(np.int64)
    return ticks, Tick(2 ** max(-shift, 0), 2 ** max(shift, 0))


def split(ticks: Ticks, times: int) -> tuple[Money, int]:
    """Ticks (n,) as (n, n_parts) float64, low bits first, and the bits of a part; `times` parts add up exactly."""
    bits = EXACT.bit_length() - 1 - times.bit_length()
    n_parts = max(1, -(-int(ticks.max(initial=0)).bit_length() // bits))
    parts = [ticks >> (bits * i) & (2**bits - 1) for i in range(n_parts)]
    return np.stack(parts, axis=1).astype(np.float64), bits


def join(parts: Money, bits: int, dtype: type = np.int64) -> Any:
    """Undo `split` along the last axis; dtype object (Python's whole numbers) where int64 could overflow."""
    whole: NDArray[Any] = parts.astype(np.int64).astype(dtype)
    return sum(whole[..., i] * 2 ** (bits * i) for i in range(whole.shape[-1]))
