"""The line that is logged at the end of an epoch: its speed, how long the trainer waited, what was bad."""

from __future__ import annotations

from typing import Mapping, Optional

from ..errors import MillraceError
from .stats import Stats, say
from .stream import Stream


class EpochLine:
    """Rank 0 says all of it; other ranks only what was bad in their part."""

    def __init__(self, stream: Stream, stats: Stats, rank: int) -> None:
        self._stream = stream
        self._stats = stats
        self._rank = rank
        #: Time of the workers by kind of work, up to the last line.
        self._before: Mapping[str, float] = {}

    def say(self, epoch: int, bad: Optional[str]) -> None:
        """The epoch is over. ``bad``: which samples were dropped or masked in it."""
        name = self._stream.name
        if self._rank != 0:
            if bad is not None:
                say(f"{name}, rank {self._rank}, epoch {epoch}: {bad}")
            return
        try:
            total = self._stream.client.ask({"stats": True})["stats"].get("spans", {})
        except MillraceError:
            total = {}
        # The engine counts from the ring's beginning; another ring counts anew.
        before = self._before if all(total.get(name, 0) >= ms for name, ms in self._before.items()) else {}
        spans = {name: ms - before.get(name, 0) for name, ms in total.items()}
        self._before = total
        line = f"{name}, {self._stats.epoch_line(epoch, spans)}"
        say(line if bad is None else f"{line}; {bad}")
