"""Reads spans: of this process or of another, which may be alive or dead.

A reader says where it has come to (the cursor), gets what was written since then, and learns how many records
it was too late for. It uses ``pread`` alone: it changes nothing, and needs no mapping.
"""

from __future__ import annotations

import os
import stat
import struct
import weakref
import zlib
from typing import Any, List, Optional, Sequence

from .._generated.span_words import (
    COUNTER_BYTES,
    COUNTERS_AT,
    LANE_BYTES,
    LANE_NAMES,
    LANES,
    LANES_AT,
    LEVEL_NAMES,
    OWN_BYTES,
    RECORD_BYTES,
    RECORDS,
    RECORDS_AT,
    RING_BYTES,
    RINGS,
    RINGS_AT,
    SPAN_NAMES,
    SPANS_MAGIC,
    SPANS_VERSION,
    SUM_BYTES,
    SUMS,
    HeadAt,
    LaneAt,
    RecordAt,
    RingAt,
)
from ..errors import MillraceError
from .counters import OWN_BODY, SUM_BODY, SUMS_IN_LANE, latest_copy
from .records import Lane, LaneCounters, Ring, RingCounters, SpanRead, SpanRecord

#: A record, as RecordAt of the generated table has it.
RECORD = struct.Struct("<4d2f6I")

#: An entry in the table of rings, up to its name, as RingAt has it.
_RING = struct.Struct("<6Id5I4x2d")

#: Sizes in the head, what they are at least and at most: files differ in the number of lanes.
_SIZES = (
    (HeadAt.RECORD_BYTES, RECORD_BYTES, RECORD_BYTES),
    (HeadAt.RECORDS, RECORDS, RECORDS),
    (HeadAt.RECORDS_AT, RECORDS_AT, RECORDS_AT),
    (HeadAt.LANES, 1, LANES),
    (HeadAt.LANES_AT, LANES_AT, LANES_AT),
    (HeadAt.LANE_BYTES, LANE_BYTES, LANE_BYTES),
    (HeadAt.RINGS, RINGS, RINGS),
    (HeadAt.RINGS_AT, RINGS_AT, RINGS_AT),
    (HeadAt.RING_BYTES, RING_BYTES, RING_BYTES),
    (HeadAt.COUNTERS_AT, COUNTERS_AT, COUNTERS_AT),
    (HeadAt.COUNTER_BYTES, COUNTER_BYTES, COUNTER_BYTES),
    (HeadAt.OWN_BYTES, OWN_BYTES, OWN_BYTES),
    (HeadAt.SUM_BYTES, SUM_BYTES, SUM_BYTES),
    (HeadAt.SUMS, SUMS, SUMS),
)


class Spans:
    """The spans of one process. They stay readable after its death, until ``close``."""

    def __init__(self, path: str) -> None:
        try:
            # Without O_NONBLOCK a named pipe would make us wait.
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise MillraceError(f"can't open the spans at {path}: {error.strerror}") from None
        self._close = weakref.finalize(self, os.close, self._fd)
        regular = stat.S_ISREG(os.fstat(self._fd).st_mode)
        self._head = (os.pread(self._fd, LANES_AT, 0) if regular else b"").ljust(LANES_AT, b"\0")
        if self._head[:8] != SPANS_MAGIC.encode():
            self.close()
            raise MillraceError(f"{path} holds no spans of Millrace")
        version = self._u32(HeadAt.VERSION)
        if version != SPANS_VERSION:
            self.close()
            raise MillraceError(
                f"{path} has spans of version {version}, this Millrace reads version {SPANS_VERSION}: "
                "use the same Millrace on both sides"
            )
        if any(not least <= self._u32(at) <= most for at, least, most in _SIZES):
            self.close()
            raise MillraceError(f"{path} is damaged: its head says sizes that spans don't have")
        #: The process that writes.
        self.pid = self._u32(HeadAt.PID)

    def lanes(self) -> List[Lane]:
        """The lanes that have ever been used."""
        size, count = self._u32(HeadAt.LANE_BYTES), self._u32(HeadAt.LANES)
        table = os.pread(self._fd, size * count, self._u32(HeadAt.LANES_AT))
        found = []
        for lane in range(count):
            entry = table[lane * size : (lane + 1) * size]
            (written,) = struct.unpack_from("<q", entry, LaneAt.WRITTEN)
            kind, number, is_open = struct.unpack_from("<3I", entry, LaneAt.KIND)
            if kind:
                name = _text(entry[LaneAt.NAME :])
                found.append(Lane(lane, LANE_NAMES[kind], number, name, is_open == 1, written))
        return found

    def rings(self) -> List[Ring]:
        """The latest rings, the open ones among them."""
        size, count = self._u32(HeadAt.RING_BYTES), self._u32(HeadAt.RINGS)
        table = os.pread(self._fd, size * count, self._u32(HeadAt.RINGS_AT))
        found = []
        for at in range(0, len(table), size):
            entry = table[at : at + size]
            ring, rank, world, is_open, engine, engine_ring, begun = _RING.unpack_from(entry)[:7]
            if ring == 0 or struct.unpack_from("<I", entry, RingAt.AGAIN)[0] != ring:
                continue  # none, or it is being written
            name = _text(entry[RingAt.NAME : RingAt.AGAIN])
            *facts, level, slot_bytes, steps = _RING.unpack_from(entry)[7:]
            facts = [*facts, int(slot_bytes), int(steps), LEVEL_NAMES[level] or "spans"]
            found.append(Ring(ring, name, rank, world, is_open == 1, engine, engine_ring, begun, *facts))
        return sorted(found)

    def counters(self, ring: Optional[int] = None) -> List[LaneCounters]:
        """Sums since the beginning, of all lanes; with a ring, of the lanes that worked for it."""
        found = []
        for lane in self.lanes():
            part = os.pread(self._fd, COUNTER_BYTES, COUNTERS_AT + lane.lane * COUNTER_BYTES)
            counters = _counters(lane, part.ljust(COUNTER_BYTES, b"\0"))
            if ring is not None:
                counters = counters._replace(rings=[one for one in counters.rings if one.ring == ring])
            if ring is None or counters.rings:
                found.append(counters)
        return found

    def read_since(self, cursor: Optional[Sequence[int]] = None, ring: Optional[int] = None) -> SpanRead:
        """What was written since the cursor, all of it or that of one ring.

        Without a cursor: everything that is still there.
        """
        records: List[SpanRecord] = []
        reached = list(cursor or ())
        lost = 0
        for lane in self.lanes():
            kept = max(0, lane.written - self._u32(HeadAt.RECORDS))
            known = cursor is not None and lane.lane < len(reached)
            start = reached[lane.lane] if known else kept if cursor is None else 0
            lost += max(0, kept - start) + self._read_lane(lane, max(start, kept), ring, records)
            reached += [0] * (lane.lane + 1 - len(reached))
            reached[lane.lane] = max(start, lane.written)
        return SpanRead(records, reached, lost)

    def close(self) -> None:
        """Lets go of the memory."""
        self._close()

    def __enter__(self) -> "Spans":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _read_lane(self, lane: Lane, start: int, ring: Optional[int], out: List[SpanRecord]) -> int:
        """Appends records of a lane; how many are not whole."""
        records, size = self._u32(HeadAt.RECORDS), self._u32(HeadAt.RECORD_BYTES)
        at = self._u32(HeadAt.RECORDS_AT) + lane.lane * records * size
        broken = 0
        while start < lane.written:
            # Up to the end of the lane's memory; what is left begins at its start.
            count = min(lane.written - start, records - start % records)
            part = os.pread(self._fd, count * size, at + start % records * size)
            for i in range(count):
                record = part[i * size : (i + 1) * size]
                values = RECORD.unpack_from(record)
                number = (start + i + 1) & 0xFFFFFFFF
                if values[10] != number or values[11] != zlib.crc32(record[: RecordAt.CHECK]):
                    broken += 1
                elif ring is None or values[8] >> 8 == ring:
                    out.append(_record(lane, start + i, values))
            start += count
        return broken

    def _u32(self, at: int) -> int:
        found: int = struct.unpack_from("<I", self._head, at)[0]
        return found


def _counters(lane: Lane, part: bytes) -> LaneCounters:
    """One of two copies is whole, unless both were written while we read: the next look sees it."""
    own = latest_copy(part, 0, OWN_BYTES)
    cpu, delay, gc, at = OWN_BODY.unpack_from(own)[1:] if own else (0.0, 0.0, 0.0, 0.0)
    rings = []
    for place in range(SUMS):
        copy = latest_copy(part, SUMS_IN_LANE + place * 2 * SUM_BYTES, SUM_BYTES)
        if copy is not None:
            _, ring, *sums = SUM_BODY.unpack_from(copy)
            ms = dict(zip(SPAN_NAMES[1:], sums))
            size, rows, claims, reads, opens, upto = sums[15:]
            rings.append(RingCounters(ring, ms, size, int(rows), int(claims), int(reads), int(opens), upto))
    return LaneCounters(lane, cpu, delay, gc, at, rings)


def _record(lane: Lane, number: int, values: Sequence[Any]) -> SpanRecord:
    start, duration, size, batch, cpu, delay, first, rows, kind_ring, joined = values[:10]
    kind, ring = SPAN_NAMES[kind_ring & 255], kind_ring >> 8
    return SpanRecord(
        lane, kind, ring, start, duration, size, int(batch), first, rows, cpu, delay, joined, number
    )


def _text(entry: bytes) -> str:
    return entry.split(b"\0", 1)[0].decode("utf8", "replace")
