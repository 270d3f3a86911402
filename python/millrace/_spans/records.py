"""What a reader of spans gives: records, counters, and who and what they are about."""

from __future__ import annotations

from typing import Dict, List, NamedTuple


class Lane(NamedTuple):
    """A thread that writes spans."""

    #: Its place in the file.
    lane: int
    #: "worker", "reader", "device" or "consumer".
    kind: str
    #: Which one of its kind.
    number: int
    name: str
    #: Whether a thread writes it at present.
    open: bool
    #: How many records were written, since the beginning.
    written: int


class Ring(NamedTuple):
    """What spans are about: one feed and rank."""

    ring: int
    #: The feed's.
    name: str
    rank: int
    world: int
    open: bool
    #: The process whose workers fill the ring, and the ring's number in the spans of that process.
    engine: int
    engine_ring: int
    #: When it was opened (ms of CLOCK_MONOTONIC).
    begun: float
    #: How it is filled, at present. All 0 in the spans of a trainer: those of the engine say it.
    workers: int
    depth: int
    #: Claims that a batch is divided into, its rows, and bytes of its slot.
    claims: int
    rows: int
    slot_bytes: int
    #: Batches of an epoch; 0: not known, or epochs differ.
    steps_in_epoch: int
    #: How much is written of it: "counters" or "spans".
    level: str


class RingCounters(NamedTuple):
    """What a lane has done for a ring, since the beginning."""

    ring: int
    #: Time by kind (ms): all kinds.
    ms: Dict[str, float]
    bytes: float
    #: Rows and claims of a worker; rows and steps of a consumer.
    rows: int
    claims: int
    #: Reads of a store, and files that were opened or looked up.
    reads: int
    opens: int
    #: Up to when this counts (ms of CLOCK_MONOTONIC).
    at: float


class LaneCounters(NamedTuple):
    """What a lane has done since it was first used."""

    lane: Lane
    #: CPU time, and waiting for a core (ms): as of ``at`` (ms of CLOCK_MONOTONIC). NaN: not known.
    cpu: float
    delay: float
    #: Collecting garbage (ms).
    gc: float
    at: float
    #: Of the latest rings that it worked for; 0: of none.
    rings: List[RingCounters]


class SpanRecord(NamedTuple):
    """Something that a thread did, or several small things of a kind, joined."""

    lane: Lane
    #: "read", "decode", "transform", "map", "close" or "open"; "wait", "idle", "stage", "step", "hand",
    #: "copy" or "gc".
    kind: str
    #: The ring that it was done for; 0: for none.
    ring: int
    #: ms of CLOCK_MONOTONIC: ``time.monotonic() * 1000``.
    start: float
    #: ms; of joined spans the sum.
    duration: float
    bytes: float
    #: Number of the batch in its ring, -1: none; of joined spans that of the first, as ``first_row`` is.
    batch: int
    first_row: int
    rows: int
    #: ms of CPU time, and of waiting for a core, since the last record of the lane that has them, or NaN.
    cpu: float
    delay: float
    #: How many spans were joined into this one.
    joined: int
    #: Which one of its lane.
    number: int


class SpanRead(NamedTuple):
    """What was written since a cursor."""

    #: By lane, oldest first.
    records: List[SpanRecord]
    #: Where the reader has come to: how many records of each lane it has passed. Plain JSON.
    cursor: List[int]
    #: Records, of any ring, that were written over before they could be read, or are half written.
    lost: int
