"""The spans of this process: one memfd, made when the first feed is opened, for as long as the process lives.

Threads: lanes and rings are given out under a lock. A lane is written by one thread. Fork: the child has a
file of its own, made when it first needs one; what it still has of its parent's lanes writes nowhere.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import threading
import time
from typing import Dict, Optional, Set

from .._generated.span_words import (
    COUNTER_BYTES,
    COUNTERS_AT,
    LANE_BYTES,
    LANES_AT,
    OWN_BYTES,
    RECORD_BYTES,
    RECORDS,
    RECORDS_AT,
    RING_BYTES,
    RINGS,
    RINGS_AT,
    SPANS_MAGIC,
    SPANS_NAME,
    SPANS_VERSION,
    SUM_BYTES,
    SUMS,
    HeadAt,
    LaneAt,
    RingAt,
    SpanLevel,
)
from .lane import SpanLane

#: Lanes of a file here: there are no workers in this process.
LANES = 64
_LANE_RECORDS = RECORDS * RECORD_BYTES
_BYTES = RECORDS_AT + LANES * _LANE_RECORDS
#: fcntl's numbers, which not every Python has. The last is of Linux 5.1: no new mapping may be written.
_F_ADD_SEALS, _SEAL_SIZE, _SEAL_FUTURE_WRITE = 1033, 2 | 4, 16
#: Turns spans off, to measure what they cost.
_SWITCH = "MILLRACE_SPANS"


class SpanFile:
    """Its descriptor, its tables, and the lanes that threads write."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fd = os.memfd_create(SPANS_NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self._fd, _BYTES)
            os.posix_fallocate(self._fd, 0, COUNTERS_AT)
            self.memory = mmap.mmap(self._fd, _BYTES)
        except BaseException:
            os.close(self._fd)
            raise
        head = (SPANS_VERSION, RECORD_BYTES, RECORDS, RECORDS_AT, LANES, LANES_AT, LANE_BYTES)
        struct.pack_into("<11I", self.memory, 8, *head, RINGS, RINGS_AT, RING_BYTES, os.getpid())
        struct.pack_into("<d", self.memory, HeadAt.BEGUN, time.monotonic() * 1000)
        counters = (COUNTERS_AT, COUNTER_BYTES, OWN_BYTES, SUM_BYTES, SUMS)
        struct.pack_into("<5I", self.memory, HeadAt.COUNTERS_AT, *counters)
        self.memory[:8] = SPANS_MAGIC.encode()
        for seals in (_SEAL_SIZE, _SEAL_FUTURE_WRITE):
            try:
                fcntl.fcntl(self._fd, _F_ADD_SEALS, seals)
            except OSError:
                pass  # a system that knows no such seals goes without them
        #: Kinds of the lanes that were ever used, and those that are written at present.
        self._kinds: Dict[int, int] = {}
        self._taken: Set[int] = set()
        self._rings = 0

    @property
    def path(self) -> str:
        """By which other processes open it."""
        return f"/proc/{os.getpid()}/fd/{self._fd}"

    def take(self, kind: int, word: str) -> Optional[SpanLane]:
        """A lane for the calling thread; None where all are taken. It must be given back."""
        with self._lock:
            number = 0
            for lane in range(LANES):
                was = self._kinds.get(lane)
                if was == kind and lane in self._taken:
                    number += 1
                elif was is None or was == kind:
                    return self._open(lane, kind, number, f"{word} {number}")
        return None

    def give(self, lane: SpanLane) -> None:
        """No thread writes the lane any more."""
        with self._lock:
            self._taken.discard(lane.lane)
            struct.pack_into("<I", self.memory, LANES_AT + lane.lane * LANE_BYTES + LaneAt.OPEN, 0)

    def open_ring(
        self,
        name: str,
        rank: int,
        world: int,
        engine: int,
        engine_ring: int,
        level: int = SpanLevel.SPANS,
    ) -> int:
        """Names a ring that the workers of another process fill; its number here."""
        with self._lock:
            ring = self._rings = self._free_ring()
            at = _ring_at(ring)
            # A reader takes an entry for whole when both ids are equal.
            self.memory[at : at + 4] = self.memory[at + RingAt.AGAIN : at + RING_BYTES] = bytes(4)
            struct.pack_into("<5Id", self.memory, at + 4, rank, world, 1, engine, engine_ring, _now())
            # How it is filled, the engine says.
            self.memory[at + RingAt.WORKERS : at + RingAt.NAME] = bytes(RingAt.NAME - RingAt.WORKERS)
            struct.pack_into("<I", self.memory, at + RingAt.LEVEL, level)
            self._write_text(at + RingAt.NAME, at + RingAt.AGAIN, name)
            for place in (RingAt.AGAIN, RingAt.ID):
                struct.pack_into("<I", self.memory, at + place, ring)
            return ring

    def _free_ring(self) -> int:
        """The next number whose place in the table is not that of an open ring; where all are, the next."""
        following = self._rings + 1
        for ring in range(following, following + RINGS):
            if struct.unpack_from("<I", self.memory, _ring_at(ring) + RingAt.OPEN)[0] == 0:
                return ring
        return following

    def close_ring(self, ring: int) -> None:
        """The ring is gone."""
        with self._lock:
            if struct.unpack_from("<I", self.memory, _ring_at(ring))[0] == ring:
                struct.pack_into("<I", self.memory, _ring_at(ring) + RingAt.OPEN, 0)

    def _open(self, lane: int, kind: int, number: int, name: str) -> Optional[SpanLane]:
        at, records = LANES_AT + lane * LANE_BYTES, RECORDS_AT + lane * _LANE_RECORDS
        counters = COUNTERS_AT + lane * COUNTER_BYTES
        try:
            os.posix_fallocate(self._fd, counters, COUNTER_BYTES)
            os.posix_fallocate(self._fd, records, _LANE_RECORDS)
        except OSError:
            return None  # no memory: the thread works without spans
        self._kinds[lane] = kind
        self._taken.add(lane)
        self._write_text(at + LaneAt.NAME, at + LANE_BYTES, name)
        struct.pack_into("<2I", self.memory, at + LaneAt.NUMBER, number, 1)
        struct.pack_into("<I", self.memory, at + LaneAt.KIND, kind)
        return SpanLane(self.memory, lane, at, counters, records)

    def _write_text(self, start: int, end: int, text: str) -> None:
        """Cut where it is too long, not within a character."""
        cut = text.encode("utf8", "replace")[: end - start].decode("utf8", "ignore").encode()
        self.memory[start:end] = cut.ljust(end - start, b"\0")


def _now() -> float:
    return time.monotonic() * 1000


def _ring_at(ring: int) -> int:
    return RINGS_AT + (ring - 1) % RINGS * RING_BYTES


_lock = threading.Lock()
_made = False
_shared: Optional[SpanFile] = None


def shared() -> Optional[SpanFile]:
    """That of this process. None: spans are turned off, or there is no memory for them."""
    global _made, _shared
    with _lock:
        if not _made:
            _made = True
            try:
                _shared = None if os.environ.get(_SWITCH) == "0" else SpanFile()
            except (OSError, AttributeError, ValueError):
                _shared = None  # a limit on memory, or a system without memfd
        return _shared


def _in_child() -> None:
    """After a fork: the memory belongs to the parent."""
    global _lock, _made, _shared
    SpanLane.forked()
    _lock, _made, _shared = threading.Lock(), False, None


os.register_at_fork(after_in_child=_in_child)
