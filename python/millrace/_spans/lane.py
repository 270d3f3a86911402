"""One thread's lane of spans: the only writer of its records and counters.

Spans that follow each other within a few milliseconds are joined by ring and kind, so that a lane gets at
most about 1,000 records a second. With counters alone they are joined for a second.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
import time
import zlib
from typing import Dict, List, Set, Tuple

from .._generated.span_words import COUNTERS_JOIN_MS, JOIN_MS, RECORD_BYTES, RECORDS, SpanKind, SpanLevel
from .counters import BYTES, CLAIMS, ROWS, Counters
from .thread_times import ThreadTimes

#: All of a record but its check.
_BODY = struct.Struct("<4d2f5I")
_NAN = math.nan
#: For so long (ms) spans are joined, by level.
_WINDOWS = {SpanLevel.COUNTERS: COUNTERS_JOIN_MS, SpanLevel.SPANS: JOIN_MS}
#: What a loop does between two steps.
_WAITS = (SpanKind.WAIT, SpanKind.HAND, SpanKind.COPY)
#: CPU time is looked up at most this often (seconds).
_TIMES = 0.05


class SpanLane:
    """``start`` and ``duration`` are seconds of ``time.monotonic`` here, and milliseconds in the record."""

    #: The process that may write.
    _pid = os.getpid()

    def __init__(self, memory: mmap.mmap, lane: int, entry: int, counters: int, records: int) -> None:
        self.lane = lane
        #: How much is written: SpanLevel.
        self.level: int = SpanLevel.SPANS
        self._map = memory
        self._entry = entry
        self._records = records
        (self._count,) = struct.unpack_from("<q", memory, entry)
        #: By ring and kind: start, duration, bytes, batch, first row, rows, how many.
        self._waiting: Dict[Tuple[int, int], List[float]] = {}
        self._since = 0.0
        self._joined = False
        self._counters = Counters(memory, counters)
        #: Rings whose sums are not written out yet, and when they last were.
        self._counted: Set[int] = set()
        self._published = -math.inf
        self._times = ThreadTimes()
        self._timed = -math.inf
        #: CPU time and delay that no record tells yet.
        self._cpu = self._delay = _NAN
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
            self._sum(ring, kind, duration, bytes, rows)
        end = start + duration
        # A wait is written with its step: else waits of some steps would be joined with those of one more.
        if kind in _WAITS and (ring, SpanKind.STEP) in waiting:
            return
        if waiting:
            rings = 1 if len(waiting) == 1 else len({key[0] for key in waiting})
            if (end - self._since) * 1000 >= _WINDOWS[self.level] * rings:
                self._write_records(end)
        if self._counted and (end - self._published) * 1000 >= JOIN_MS:
            self._publish(end)

    def flush(self) -> None:
        """Writes what waits."""
        now = time.monotonic()
        if self._waiting:
            self._write_records(now)
        if self._counted:
            self._publish(now)

    def _sum(self, ring: int, kind: int, duration: float, size: float, rows: int) -> None:
        counters = self._counters
        sums = counters.sums(ring)
        sums[kind - 1] += duration * 1000
        sums[BYTES] += size
        if kind == SpanKind.STEP or kind == SpanKind.STAGE:
            sums[CLAIMS] += 1
            sums[ROWS] += rows
        elif kind == SpanKind.GC:
            counters.own[2] += duration * 1000
        self._counted.add(ring)

    def _publish(self, now: float) -> None:
        """Writes the sums out."""
        counted, self._counted = self._counted, set()
        self._published = now
        if self._owner != SpanLane._pid:
            return
        self._look(now)
        for ring in counted:
            self._counters.write(ring, now * 1000)

    def _look(self, now: float) -> None:
        """Looks CPU time up, if that is some time ago."""
        if now - self._timed < _TIMES:
            return
        self._timed = now
        cpu, delay = self._times.since()
        own = self._counters.own
        if not math.isnan(cpu):
            own[0] += cpu
            own[1] += delay
            self._cpu = cpu if math.isnan(self._cpu) else self._cpu + cpu
            self._delay = delay if math.isnan(self._delay) else self._delay + delay
        self._counters.write_own(now * 1000)

    def _write_records(self, now: float) -> None:
        """Joined spans are written one after the other."""
        waiting, self._waiting = self._waiting, {}
        if self._owner != SpanLane._pid:
            return
        self._look(now)
        cpu, delay = self._cpu, self._delay
        self._cpu = self._delay = _NAN
        at = self._since
        for (ring, kind), (start, duration, size, batch, first, rows, count) in waiting.items():
            beside = kind == SpanKind.GC
            body = _BODY.pack(
                (at if self._joined and not beside else start) * 1000,
                duration * 1000,
                size,
                batch,
                cpu,
                delay,
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
            cpu = delay = _NAN
            if not beside:
                at += duration
        self._joined = False
