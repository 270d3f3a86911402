"""The line that is logged at the end of an epoch: its speed, how long the trainer waited, what was bad."""

from __future__ import annotations

from typing import Optional

from ..errors import MillraceError
from .stats import Stats, say
from .stream import Stream


class EpochLine:
    """Rank 0 says all of it; other ranks only what was bad in their part."""

    def __init__(self, stream: Stream, stats: Stats, rank: int) -> None:
        self._stream = stream
        self._stats = stats
        self._rank = rank

    def say(self, epoch: int, bad: Optional[str]) -> None:
        """The epoch is over. ``bad``: which samples were dropped or masked in it."""
        name = self._stream.name
        if self._rank != 0:
            if bad is not None:
                say(f"{name}, rank {self._rank}, epoch {epoch}: {bad}")
            return
        try:
            spans = self._stream.client.ask({"stats": True})["stats"].get("spans", {})
        except MillraceError:
            spans = {}
        line = f"{name}, {self._stats.epoch_line(epoch, spans)}"
        say(line if bad is None else f"{line}; {bad}")
