"""The spans of a device stage's thread: batches that it stages, and the time in which there are none."""

from __future__ import annotations

import time
from typing import Optional

from .._generated.span_words import LaneKind, SpanKind
from .._spans.file import shared
from .._spans.lane import SpanLane
from .ticket import HostBatch


class StageSpans:
    """Made and used by the stage's thread."""

    def __init__(self) -> None:
        self._file = shared()
        self._lane: Optional[SpanLane] = None
        if self._file is not None:
            self._lane = self._file.take(LaneKind.DEVICE, "device")
        self._last = time.monotonic()

    def begin(self) -> None:
        """A batch has come, or the end."""
        self._mark(0, SpanKind.IDLE)

    def staged(self, batch: HostBatch) -> None:
        """A batch is on the streams, or has failed."""
        size = sum(getattr(array.values, "nbytes", 0) for array in batch.arrays)
        self._mark(batch.ring, SpanKind.STAGE, size, batch.number, batch.rows)

    def close(self) -> None:
        """The thread ends."""
        if self._lane is not None and self._file is not None:
            self._lane.flush()
            self._file.give(self._lane)

    def _mark(self, ring: int, kind: int, size: int = 0, number: int = -1, rows: int = 0) -> None:
        last, self._last = self._last, time.monotonic()
        if self._lane is not None:
            self._lane.add(ring, kind, last, self._last - last, bytes=size, batch=number, rows=rows)
