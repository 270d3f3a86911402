"""Where the time of every step went, and why: the engine computes it, out of its spans and this process's.

The engine reads the spans of this process by itself (/proc/PID/fd). Where it may not, it says so, and is told
what the loop did.
"""

from __future__ import annotations

import logging
import time
from typing import Any, Callable, Dict, List, Mapping, Optional

from .._spans.attach import spans
from ..errors import MillraceError
from .stats import Stats
from .stream import Stream

log = logging.getLogger("millrace")

#: An answer is used again for so long (seconds): programs ask for several figures at once, or in each step.
FRESH = 1.0
#: Records that are sent at most, where the engine can't read them.
MOST = 8192


class Diagnosis(Dict[str, Any]):
    """What ``millrace diagnose --json`` prints, as a dict; ``print`` shows it in words."""

    def __init__(self, told: Mapping[str, Any], sentence: str, text: str) -> None:
        super().__init__(told)
        #: Why and what to do, in one line.
        self.sentence = sentence
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Diagnosis {self.get('verdict')}: {self.sentence}>"


class Account:
    """Asks the engine. Any thread may."""

    def __init__(self, stream: Stream, stats: Stats, flush: Callable[[], None]) -> None:
        self._stream = stream
        self._stats = stats
        self._flush = flush
        self._known: Optional[Mapping[str, Any]] = None
        self._at = 0.0
        self._blind = False

    def latest(self) -> Mapping[str, Any]:
        """The account of what is still known of the run: computed anew once a second at most."""
        if self._known is None or time.monotonic() - self._at > FRESH:
            self._known = self.ask()
            self._at = time.monotonic()
        return self._known

    def ask(self, revive: bool = True, **request: Any) -> Mapping[str, Any]:
        """``seconds`` or ``since`` (ms of CLOCK_MONOTONIC) say the window. Raises where nothing is known.

        ``revive``: an engine that died is replaced, and asked.
        """
        ask = self._stream.ask if revive else self._stream.client.ask
        self._flush()
        asked = {"account": {**request, **self._device()}}
        known: Mapping[str, Any] = {} if self._blind else ask(asked)["known"]
        if "account" not in known:
            if not self._blind:
                self._blind = True
                log.info("%s: the engine is told what the loop does: %s", self._stream.name, known["unknown"])
            asked["account"]["records"] = self._records()
            known = ask(asked)["known"]
        if "account" not in known:
            raise MillraceError(f"nothing is known of where the time went: {known['unknown']}")
        return known

    def diagnosis(self, **request: Any) -> Diagnosis:
        """Why steps take longer than they must."""
        known = self.ask(**request)
        return Diagnosis(known["diagnosis"], known["sentence"], known["text"])

    def _device(self) -> Dict[str, Any]:
        if self._stats.device is None:
            return {}
        told = self._stats.device()
        return {"device": {"name": str(told.get("name", "device")), "decode": told["decode"]}}

    def _records(self) -> List[List[Any]]:
        """What the loop did, the latest of it."""
        ring = self._stream.client.spans.ring
        try:
            with spans() as own:
                found = own.read_since(ring=ring).records
        except MillraceError:
            return []
        return [
            [one.kind, one.start, one.duration, one.batch, one.first_row, one.rows, one.joined]
            for one in found[-MOST:]
            if one.lane.kind == "consumer"
        ]
