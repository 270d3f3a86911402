"""The line that is logged at the end of an epoch: its speed, what was lost and why, what was bad."""

from __future__ import annotations

from typing import Optional

from .._client.say import say
from .._open.ranks import Seat
from ..errors import MillraceError
from .account import Account
from .stats import Stats
from .stream import Stream

#: How to learn more, where the engine is not certain of a cause.
HINT = "loader.diagnose() looks closer at why"


class EpochLine:
    """Rank 0 says all of it; other ranks only what was bad in their part."""

    def __init__(self, stream: Stream, stats: Stats, account: Account, seat: Seat) -> None:
        self._stream = stream
        self._stats = stats
        self._account = account
        self._seat = seat
        #: Whether the hint was given: once in a run is enough.
        self._hinted = False

    def say(self, epoch: int, bad: Optional[str]) -> None:
        """The epoch is over. ``bad``: which samples were dropped or masked in it."""
        name = self._stream.name
        rank = self._seat.now.rank
        if rank != 0:
            if bad is not None:
                say(f"{name}, rank {rank}, epoch {epoch}: {bad}")
            return
        speed, waited = self._stats.epoch_line(epoch)
        why, certain = None, True
        try:
            found = self._account.sums("epoch", revive=False)["lines"]["epoch"]
            why, certain = found["line"], found["certain"]
        except (MillraceError, KeyError):
            pass
        parts = [f"{name}, {speed}", why or waited]
        if bad is not None:
            parts.append(bad)
        if not certain and not self._hinted:
            self._hinted = True
            parts.append(HINT)
        say("; ".join(parts))
