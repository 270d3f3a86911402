"""The spans of a loop: how long it waited for each batch, and how long its steps took."""

from __future__ import annotations

import time
import weakref
from typing import Optional, Tuple

from .._generated.span_words import LaneKind, SpanKind
from .._spans.file import shared
from .._spans.lane import SpanLane
from .reading import Taken


class Consumer:
    """Used by the thread that loops."""

    def __init__(self) -> None:
        self._lane: Optional[SpanLane] = None
        self._opened = False
        self._asked = time.monotonic()
        #: The batch in the user's hands: since when, its ring, number and rows.
        self._handed: Optional[Tuple[float, int, int, int]] = None

    def begin(self) -> None:
        """A loop begins: what lies between two loops is no step."""
        self._handed = None

    def asked(self) -> None:
        """The user asks for a batch, and is done with the one before it."""
        self._asked = now = time.monotonic()
        if self._handed is not None and self._lane is not None:
            since, ring, batch, rows = self._handed
            self._lane.add(ring, SpanKind.STEP, since, now - since, batch=batch, rows=rows)
        self._handed = None

    def handed(self, taken: Taken, rows: int) -> None:
        """A batch is handed to the user."""
        lane = self._lane or self._open()
        now = time.monotonic()
        if lane is not None:
            waited = now - self._asked
            lane.add(taken.ring, SpanKind.WAIT, self._asked, waited, batch=taken.number, rows=rows)
        self._handed = (now, taken.ring, taken.number, rows)

    def flush(self) -> None:
        """A loop is over: what is written by now may be all there is for a while."""
        if self._lane is not None:
            self._lane.flush()

    def _open(self) -> Optional[SpanLane]:
        if self._opened:
            return None
        self._opened = True
        own = shared()
        lane = None if own is None else own.take(LaneKind.CONSUMER, "trainer")
        if own is not None and lane is not None:
            self._lane = lane
            self._end = weakref.finalize(self, own.give, lane)
        return lane

    def close(self) -> None:
        """The feed is closed."""
        self.flush()
        if self._lane is not None:
            self._end()
        self._lane, self._opened = None, True
