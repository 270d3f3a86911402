"""The spans of a ring: its names here and in the engine, and the engine's spans, kept beyond its death."""

from __future__ import annotations

import weakref
from typing import Any, Mapping, Optional, Sequence

from .._spans.file import shared
from .._spans.reader import Spans
from .._spans.records import SpanRead
from ..errors import MillraceError


class RingSpans:
    """Made when a ring is opened. ``told``: what the engine said."""

    def __init__(self, told: Mapping[str, Any], name: str, level: int) -> None:
        where = told.get("spans") or {}
        engine: int = told["engine"]["pid"] if "engine" in told else 0
        self._engine_ring: int = where.get("ring", 0)
        self._engine: Optional[Spans] = None
        if where:
            try:
                self._engine = Spans(where["path"])
            except MillraceError:
                pass  # it died after it had answered: that is noticed elsewhere
        #: Its number in the spans of this process; 0: there are none.
        self.ring = 0
        own = shared()
        if own is not None:
            rank, world = told["rank"], told["world"]
            self.ring = own.open_ring(name, rank, world, engine, self._engine_ring, level=level)
            self._close = weakref.finalize(self, own.close_ring, self.ring)

    def read_since(self, cursor: Optional[Sequence[int]]) -> SpanRead:
        """What the engine has done for this ring since the cursor."""
        if self._engine is None:
            return SpanRead([], [], 0)
        return self._engine.read_since(cursor, self._engine_ring)

    def close(self) -> None:
        """The ring is gone. The engine's spans stay readable as long as this object."""
        if self.ring:
            self._close()
