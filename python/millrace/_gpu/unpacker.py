"""nvCOMP at work: tables of streams for the device, memory to work in, and what came of each stream."""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np

from .._cuda.nvcomp import Nvcomp, Streams
from .areas import Numbers, Stretch

Array = Any


class Unpacker:
    """nvCOMP with the memory that it works in; one for all fields of a stage, and used by one at a time."""

    def __init__(self, driver: Any, nvcomp: Nvcomp) -> None:
        self._driver = driver
        self._nvcomp = nvcomp
        self._streams = Stretch(driver)
        self._temp = Stretch(driver)
        self._table = Stretch(driver)
        self._numbers = Numbers(driver)

    def room(self, size: int) -> int:
        """Where streams can be copied to. What was there before has been used."""
        return self._streams.reserve(size)

    def decompress(
        self, codec: str, streams: Array, sizes: Array, outputs: Array, room: int, stream: int
    ) -> Tuple[Array, Array]:
        """Waits for what nvCOMP says of each: (bytes that came out, status). Addresses are the device's.

        The table, on both sides: uint64[5, n], streams, sizes, rooms, outputs and what came out; then
        int32[n], statuses.
        """
        driver, count = self._driver, len(streams)
        host = self._numbers.reserve(5 * count + (count + 1) // 2)
        host[: 4 * count] = np.concatenate([streams, sizes, np.full(count, room), outputs]).astype(np.uint64)
        at = self._table.reserve(len(host) * 8)
        driver.copy_in(at, self._numbers.address, 4 * count * 8, stream)
        column = count * 8
        some = Streams(count, *(at + part * column for part in range(6)))
        temp_bytes = self._nvcomp.temp_bytes(codec, count, room, room * count, stream)
        temp = self._temp.reserve(temp_bytes) if temp_bytes else 0
        self._nvcomp.decompress(codec, some, temp, temp_bytes, stream)
        answers = len(host) * 8 - 4 * column
        driver.copy_out(self._numbers.address + 4 * column, at + 4 * column, answers, stream)
        driver.synchronize_stream(stream)
        return host[4 * count : 5 * count].copy(), host[5 * count :].view(np.int32)[:count].copy()

    def close(self) -> None:
        """Gives its memory back."""
        for part in (self._streams, self._temp, self._table, self._numbers):
            part.close()
