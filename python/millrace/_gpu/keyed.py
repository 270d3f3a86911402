"""Keyed random numbers, as ``packages/core/basics/random.ts`` draws them, for many positions at once."""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np

from .._generated.random_words import (
    KEY_EPOCH,
    KEY_HIGH,
    KEY_KEY,
    KEY_POSITION,
    KEY_SEED,
    MIX_FIRST,
    MIX_SECOND,
    ROUNDS,
)

Words = Any  # np.ndarray of uint32; all arithmetic wraps around, as it does there


def mix32(x: Words) -> Words:
    """Murmur3's finaliser: every input bit reaches every output bit."""
    x = (x ^ (x >> np.uint32(16))) * np.uint32(MIX_FIRST)
    x = (x ^ (x >> np.uint32(13))) * np.uint32(MIX_SECOND)
    return x ^ (x >> np.uint32(16))


def _words(value: Any) -> Words:
    """The lower 32 bits, as an array: scalars of NumPy would warn when they wrap around."""
    return np.atleast_1d(np.asarray(value, np.int64) & 0xFFFFFFFF).astype(np.uint32)


class Random:
    """The streams of (seed, epoch, position, key), one for each position (int64[n])."""

    def __init__(self, seed: int, epoch: int, positions: Any, key: int) -> None:
        positions = np.asarray(positions, np.int64)
        keys, epochs = _words(key), _words(epoch)
        low, high = _words(positions), _words(positions >> 32)
        self._a = mix32(_words(seed ^ KEY_SEED)) ^ mix32(low + np.uint32(KEY_POSITION))
        self._b = mix32((_words(seed >> 32) ^ epochs) + np.uint32(KEY_EPOCH)) ^ mix32(
            keys ^ np.uint32(KEY_KEY)
        )
        self._c = mix32(self._a + keys) ^ mix32(high + epochs + np.uint32(KEY_HIGH))
        self._d = np.ones(1, np.uint32)
        for _ in range(ROUNDS):
            self.bits()

    def bits(self) -> Words:
        """32 random bits each: sfc32."""
        a, b, c, d = self._a, self._b, self._c, self._d
        drawn = a + b + d
        self._a, self._b, self._c, self._d = _next(b, c, drawn, d)
        return drawn

    def next(self) -> Any:
        """Uniform in [0, 1), 53 bits each."""
        high = (self.bits() >> np.uint32(5)).astype(np.float64)
        return (high * 67108864 + (self.bits() >> np.uint32(6))) / 9007199254740992

    def int(self, n: int) -> Any:
        """A whole number in [0, n) each, as int64."""
        return np.floor(self.next() * n).astype(np.int64)


def _next(b: Words, c: Words, drawn: Words, d: Words) -> Tuple[Words, Words, Words, Words]:
    turned = (c << np.uint32(21)) | (c >> np.uint32(11))
    return b ^ (b >> np.uint32(9)), c + (c << np.uint32(3)), turned + drawn, d + np.uint32(1)
