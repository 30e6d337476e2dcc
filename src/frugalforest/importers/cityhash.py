"""CityHash64, version 1 (Pike and Alakuijala 2011): the hash by which CatBoost remembers categories."""

from __future__ import annotations

MASK = 2**64 - 1
K0, K1, K2, K3 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
K_MUL = 0x9DDFEA08EB382D69


def city_hash_64(text: bytes) -> int:
    """The hash of a string of bytes, 0 .. 2^64 - 1."""
    n = len(text)
    if n <= 16:
        return _up_to_16(text)
    if n <= 32:
        return _up_to_32(text)
    return _up_to_64(text) if n <= 64 else _longer(text)


def _word(text: bytes, at: int, size: int = 8) -> int:
    """The number in `size` bytes from `at` on, the lowest byte first; a negative `at` counts from the end."""
    at += len(text) if at < 0 else 0
    return int.from_bytes(text[at : at + size], "little")


def _rotate(number: int, by: int) -> int:
    number &= MASK
    return (number >> by | number << (64 - by)) & MASK


def _fold(number: int) -> int:
    number &= MASK
    return number ^ number >> 47


def _mix(one: int, two: int) -> int:
    """128 bits to 64."""
    one, two = one & MASK, two & MASK
    first = _fold((one ^ two) * K_MUL)
    return _fold((two ^ first) * K_MUL) * K_MUL & MASK


def _up_to_16(text: bytes) -> int:
    n = len(text)
    if n > 8:
        last = _word(text, -8)
        return _mix(_word(text, 0), _rotate(last + n, n)) ^ last
    if n >= 4:
        return _mix(n + (_word(text, 0, 4) << 3), _word(text, -4, 4))
    if n == 0:
        return K2
    low = text[0] + (text[n // 2] << 8)
    high = n + (text[-1] << 2)
    return _fold(low * K2 ^ high * K3) * K2 & MASK


def _up_to_32(text: bytes) -> int:
    n = len(text)
    first, second = _word(text, 0) * K1, _word(text, 8)
    last, before = _word(text, -8) * K2, _word(text, -16) * K0
    return _mix(_rotate(first - second, 43) + _rotate(last, 30) + before, first + _rotate(second ^ K3, 20) - last + n)


def _half(words: tuple[int, int, int, int], seed: int) -> tuple[int, int]:
    """A pair of sums of four words; for strings of 33 to 64 bytes."""
    w0, w1, w2, w3 = words
    total = w0 + seed
    low = _rotate(total + w3, 52)
    high = _rotate(total, 37)
    total += w1
    high += _rotate(total, 7)
    total += w2
    return total + w3, low + _rotate(total, 31) + high


def _up_to_64(text: bytes) -> int:
    n = len(text)
    head = (_word(text, 0), _word(text, 8), _word(text, 16), _word(text, 24))
    tail = (_word(text, -32), _word(text, -24), _word(text, -16), _word(text, -8))
    head_sum, head_mix = _half(head, (n + tail[2]) * K0)
    tail_sum, tail_mix = _half(tail, head[2])
    mixed = _fold((head_sum + tail_mix) * K2 + (tail_sum + head_mix) * K0)
    return _fold(mixed * K0 + head_mix) * K2 & MASK


def _weak(text: bytes, at: int, one: int, two: int) -> tuple[int, int]:
    """32 bytes and two seeds to a pair."""
    w0, w1, w2, w3 = (_word(text, at + 8 * i) for i in range(4))
    one += w0
    two = _rotate(two + one + w3, 21)
    start = one
    one += w1 + w2
    two += _rotate(one, 44)
    return (one + w3) & MASK, (two + start) & MASK


def _longer(text: bytes) -> int:
    n = len(text)
    x, y, z = _word(text, 0), _word(text, -16) ^ K1, _word(text, -56) ^ K0
    v = _weak(text, n - 64, n, y)
    w = _weak(text, n - 32, n * K1, K0)
    z += _fold(v[1]) * K1
    x = _rotate(z + x, 39) * K1
    y = _rotate(y, 33) * K1
    for at in range(0, (n - 1) // 64 * 64, 64):
        x = _rotate(x + y + v[0] + _word(text, at + 16), 37) * K1 & MASK
        y = _rotate(y + v[1] + _word(text, at + 48), 42) * K1 & MASK
        x ^= w[1]
        y ^= v[0]
        z = _rotate(z & MASK ^ w[0], 33)
        v = _weak(text, at, v[1] * K1, x + w[0])
        w = _weak(text, at + 32, z + w[1], y)
        z, x = x, z
    return _mix(_mix(v[0], w[0]) + _fold(y) * K1 + z, _mix(v[1], w[1]) + x)
