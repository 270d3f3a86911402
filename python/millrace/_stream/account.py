"""Where the time of every step went, and why: the engine computes it, out of its spans and this process's.

Of a run or an epoch it is told the sums that the loop has kept. Of the last seconds it reads the spans of
this process by itself (/proc/PID/fd); where it may not, it says so, and is told what the loop did.
"""

from __future__ import annotations

import logging
import time
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._spans.attach import spans
from ..errors import MillraceError
from .consumer import Consumer
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

    def __init__(self, stream: Stream, stats: Stats, consumer: Consumer) -> None:
        self._stream = stream
        self._stats = stats
        self._consumer = consumer
        #: What was answered, and when.
        self._known: Dict[str, Tuple[float, Mapping[str, Any]]] = {}
        self._blind = False
        #: What ``stats()`` says after the end.
        self._end: Optional[Dict[str, Any]] = None

    def report(self) -> Dict[str, Any]:
        """What ``stats()`` says. Of a feed that is closed: as it was at its end."""
        if self._end is not None:
            return dict(self._end)
        report = self._stats.report(self._stream.ask({"stats": True})["stats"])
        try:
            report["account"] = self.latest("run")["account"]
            report["epoch"] = self.latest("epoch")["account"]
        except MillraceError as error:
            log.debug("%s: %s", self._stream.name, error)
            report["account"] = report["epoch"] = None
        return report

    def close(self) -> None:
        """The feed is about to be closed: asks for all figures once more, if the engine lives."""
        report = self._stats.report({})
        report["account"] = report["epoch"] = None
        try:
            report.update(self._stream.client.ask({"stats": True})["stats"])
            for of, name in (("run", "account"), ("epoch", "epoch")):
                known = self.sums(of, revive=False)
                self._known[of] = time.monotonic(), known
                report[name] = known["account"]
        except MillraceError as error:
            log.debug("%s: %s", self._stream.name, error)
        self._end = report

    def latest(self, of: str = "run") -> Mapping[str, Any]:
        """The account of the ``run`` so far, or of its latest ``epoch``: anew once a second at most."""
        at, known = self._known.get(of, (0.0, {}))
        if known and self._end is not None:
            return known
        if not known or time.monotonic() - at > FRESH:
            known = self.sums(of)
            self._known[of] = time.monotonic(), known
        return known

    def sums(self, of: str, revive: bool = True) -> Mapping[str, Any]:
        """The account of all steps of the ``run`` or its latest ``epoch``, however long that is."""
        times = self._consumer.times
        window = times.epoch if of == "epoch" else times.run
        told = {"from": 0, "look": 0, "steps": [], "waits": []} if window is None else window.told()
        request = {"sums": {**told, "begun": self._stats.begun * 1000}}
        return self._told(self._ask(request, revive)["known"])

    def _ask(self, request: Mapping[str, Any], revive: bool = True) -> Mapping[str, Any]:
        """``revive``: an engine that died is replaced, and asked."""
        ask = self._stream.ask if revive else self._stream.client.ask
        return ask({"account": {**request, **self._device()}})

    def ask(self, revive: bool = True, **request: Any) -> Mapping[str, Any]:
        """``seconds`` or ``since`` (ms of CLOCK_MONOTONIC) say the window. Raises where nothing is known.

        ``revive``: an engine that died is replaced, and asked.
        """
        self._consumer.publish()
        known: Mapping[str, Any] = {} if self._blind else self._ask(request, revive)["known"]
        if "account" not in known:
            if not self._blind:
                self._blind = True
                log.info("%s: the engine is told what the loop does: %s", self._stream.name, known["unknown"])
            known = self._ask({**request, "records": self._records()}, revive)["known"]
        return self._told(known)

    @staticmethod
    def _told(known: Mapping[str, Any]) -> Mapping[str, Any]:
        if "account" not in known:
            raise MillraceError(f"nothing is known of where the time went: {known['unknown']}")
        return known

    def diagnosis(self, **request: Any) -> Optional[Diagnosis]:
        """Why steps take longer than they must; None where no step was seen."""
        known = self.ask(**request)
        if known["account"]["steps"] == 0:
            return None
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
