"""The line that is logged at the end of an epoch: its speed, what was lost and why, what was bad."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from .._generated.decision import FINE
from ..errors import MillraceError
from .account import Account
from .stats import Stats, say
from .stream import Stream

#: So the engine's sentence begins, with the number that the line has already.
LOSES = "Your trainer loses "
#: What the parts of a step are called here.
PARTS = {
    "slowed": "training that makers slow down",
    "handOver": "hand-over",
    "transfer": "the copy to the device",
    "running": "workers that run",
    "queued": "workers that wait for a core",
    "blocked": "workers that are blocked",
    "noSlot": "workers without a slot",
}


class EpochLine:
    """Rank 0 says all of it; other ranks only what was bad in their part."""

    def __init__(self, stream: Stream, stats: Stats, account: Account, rank: int) -> None:
        self._stream = stream
        self._stats = stats
        self._account = account
        self._rank = rank

    def say(self, epoch: int, bad: Optional[str]) -> None:
        """The epoch is over. ``bad``: which samples were dropped or masked in it."""
        name = self._stream.name
        if self._rank != 0:
            if bad is not None:
                say(f"{name}, rank {self._rank}, epoch {epoch}: {bad}")
            return
        speed, waited = self._stats.epoch_line(epoch)
        try:
            why = told(self._account.sums("epoch", revive=False))
        except (MillraceError, KeyError):
            why = None
        line = f"{name}, {speed}; {why or waited}"
        say(line if bad is None else f"{line}; {bad}")


def told(known: Mapping[str, Any]) -> Optional[str]:
    """What was lost, and to what; None where too little was seen."""
    account, diagnosis = known["account"], known["diagnosis"]
    if account["steps"] == 0:
        return None
    lost = account["lost"]
    if lost < FINE:
        return f"compute-bound ({lost:.1%} lost)"
    parts = {name: account["parts"][name] for name in PARTS}
    line = f"lost {lost:.1%}, mostly to {PARTS[max(parts, key=lambda name: parts[name])]}"
    if diagnosis["verdict"] == "inconclusive":
        return line
    sentence = str(known["sentence"]).rstrip(".")
    head, colon, why = sentence.partition(": ")
    return f"{line}: {why if colon and head.startswith(LOSES) else sentence}"
