"""One thread's lane of spans: the only writer of its records.

Spans that follow each other within a few milliseconds are joined by ring and kind, so that a lane gets at
most about 1,000 records a second.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
import time
import zlib
from typing import Dict, List, Tuple

from .._generated.span_words import JOIN_MS, RECORD_BYTES, RECORDS

#: All of a record but its check.
_BODY = struct.Struct("<4d2f5I")
_NAN = math.nan


class SpanLane:
    """``start`` and ``duration`` are seconds of ``time.monotonic`` here, and milliseconds in the record."""

    #: The process that may write.
    _pid = os.getpid()

    def __init__(self, memory: mmap.mmap, lane: int, entry: int, records: int) -> None:
        self.lane = lane
        self._map = memory
        self._entry = entry
        self._records = records
        (self._count,) = struct.unpack_from("<q", memory, entry)
        #: By ring and kind: start, duration, bytes, batch, first row, rows, how many.
        self._waiting: Dict[Tuple[int, int], List[float]] = {}
        self._since = 0.0
        self._joined = False
        self._cpu = 0.0
        self._owner = SpanLane._pid

    @classmethod
    def forked(cls) -> None:
        """In a forked child: lanes of the parent write nowhere."""
        cls._pid = os.getpid()

    def add(
        self,
        ring: int,
        kind: int,
        start: float,
        duration: float,
        *,
        bytes: float = 0,
        batch: int = -1,
        first_row: int = 0,
        rows: int = 0,
    ) -> None:
        """A span that has just ended."""
        waiting = self._waiting
        if duration > 0:
            if not waiting:
                self._since = start
            span = waiting.get((ring, kind))
            if span is None:
                waiting[ring, kind] = [start, duration, bytes, batch, first_row, rows, 1]
            else:
                span[1] += duration
                span[2] += bytes
                span[5] += rows
                span[6] += 1
                self._joined = True
        if waiting:
            rings = 1 if len(waiting) == 1 else len({key[0] for key in waiting})
            if (start + duration - self._since) * 1000 >= JOIN_MS * rings:
                self.flush()

    def flush(self) -> None:
        """Writes what waits. Joined spans are written one after the other."""
        waiting, self._waiting = self._waiting, {}
        if not waiting or self._owner != SpanLane._pid:
            return
        cpu = self._thread_time()
        at = self._since
        for (ring, kind), (start, duration, size, batch, first, rows, count) in waiting.items():
            body = _BODY.pack(
                (at if self._joined else start) * 1000,
                duration * 1000,
                size,
                batch,
                cpu,
                _NAN,
                int(first),
                int(rows),
                kind | ring << 8,
                int(count),
                (self._count + 1) & 0xFFFFFFFF,
            )
            place = self._records + self._count % RECORDS * RECORD_BYTES
            self._map[place : place + RECORD_BYTES] = body + struct.pack("<I", zlib.crc32(body))
            self._count += 1
            struct.pack_into("<q", self._map, self._entry, self._count)
            cpu = _NAN
            at += duration
        self._joined = False

    def _thread_time(self) -> float:
        """ms of CPU time of this thread since the last call."""
        now = time.thread_time() * 1000
        used, self._cpu = now - self._cpu, now
        # Not known after the first call, nor when another thread closes the lane.
        return used if 0 <= used < now else _NAN
