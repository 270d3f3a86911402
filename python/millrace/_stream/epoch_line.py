"""The line that is logged at the end of an epoch: its speed, what was lost and why, what was bad."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from .._client.say import say
from .._generated.protocol import LEAST_PART
from .._open.ranks import Seat
from ..errors import MillraceError
from .account import Account
from .stats import Stats, percent
from .stream import Stream

#: So the engine's sentence begins, with the number that the line has already.
LOSES = "Your trainer loses "
#: What the parts of a step are called here.
PARTS = {
    "slowed": "training that the workers slow down",
    "handOver": "taking finished batches",
    "transfer": "copying batches to the device",
    "running": "waiting for workers that are busy with a batch",
    "queued": "waiting for workers that wait for a core",
    "blocked": "waiting for workers that wait for storage or a function",
    "noSlot": "waiting for workers that have no free slot",
}
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
            known = self._account.sums("epoch", revive=False)
            why, certain = told(known), is_certain(known)
        except (MillraceError, KeyError):
            pass
        parts = [f"{name}, {speed}", why or waited]
        if bad is not None:
            parts.append(bad)
        if not certain and not self._hinted:
            self._hinted = True
            parts.append(HINT)
        say("; ".join(parts))


def is_certain(known: Mapping[str, Any]) -> bool:
    """Whether nothing was lost, or it is known why. After few steps it is not."""
    account = known["account"]
    if account["steps"] == 0 or account["lost"] < LEAST_PART:
        return True
    return bool(known["diagnosis"]["verdict"] != "inconclusive")


def told(known: Mapping[str, Any]) -> Optional[str]:
    """What was lost, and to what; None where too little was seen."""
    account, diagnosis = known["account"], known["diagnosis"]
    if account["steps"] == 0:
        return None
    lost = account["lost"]
    if lost < LEAST_PART:
        return f"compute-bound ({percent(lost)} lost)"
    parts = {name: account["parts"][name] for name in PARTS}
    most = max(parts, key=lambda name: parts[name])
    line = f"lost {percent(lost)}, mostly to {PARTS[most]}"
    if diagnosis["verdict"] == "inconclusive":
        # Of a short loop, the rest of the workers between its steps looks like that.
        unseen = diagnosis["second"] is None or most == "noSlot"
        return f"lost {percent(lost)}: too little was seen to say why" if unseen else line
    sentence = str(known["sentence"]).rstrip(".")
    head, colon, why = sentence.partition(": ")
    return f"{line}: {why if colon and head.startswith(LOSES) else sentence}"
