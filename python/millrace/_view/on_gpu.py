"""What views on a GPU have in common: a device stage, page-locked slots, and who decodes images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Optional

from .._cuda import queues
from .._stream.reading import Taken
from .._stream.stats import say
from ..batch import Batch
from ..errors import EngineDied, MissingError
from ..views import Staged, View
from .decide import Decision
from .meter import Meter
from .pins import Pins
from .staging import Staging, impossible, without_bad

if TYPE_CHECKING:
    from .._stream.loop import Loop
    from ..feed import Feed


def decide(feed: "Feed", asked: str, device: int) -> Decision:
    """Who decodes, or that it is to be measured."""
    opened = feed._stream.opened
    if opened.generator is not None:
        return Decision("gpu")
    reason = impossible(feed, device) if asked != "cpu" else None
    if asked == "gpu" and reason is not None:
        raise MissingError(f'decode="gpu": {reason}')
    if asked == "auto" and opened.generates and reason is None:
        asked = "gpu"  # it costs next to nothing there
    return Decision(asked, reason)


def report(decision: Decision, meter: Meter) -> Dict[str, Any]:
    """What ``stats()`` says of the device."""
    return {
        "decode": decision.who,
        "cpuShare": decision.cpu_share,
        "deciding": decision.open,
        "why": decision.why,
        "waitMs": meter.waited * 1000,
        "ms": meter.seconds * 1000,
    }


class Failed:
    """Stands for the ticket of a batch that no stage would take."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def comes(self, seconds: float) -> bool:
        """It is here."""
        return True

    def wait(self) -> Any:
        """Says so."""
        raise self._error


class OnGpu(View, ABC):
    """Goes before a library's own view among the bases."""

    _staging: Staging
    _pins: Pins
    _decision: Decision
    _meter: Meter

    def _open(self, staging: Staging, pins: Pins, decision: Decision, meter: Meter) -> None:
        self._staging, self._pins, self._decision, self._meter = staging, pins, decision, meter
        if decision.open:
            staging.compile_ahead()
        # Without the view: the two would keep each other until a garbage collection, and that may come in a
        # fork, where nothing of CUDA can be given back.
        self.feed._stats.device = partial(report, decision, meter)

    # ------------------------------------------------------------ what a library adds

    @abstractmethod
    def _beside(self, numbers: Any, array: Any) -> Any:
        """Numbers as an array beside another one."""

    # ------------------------------------------------------------ who decodes

    def _enter(self) -> None:
        self._meter.restart()
        self._decode(None)

    def _step(self, loop: "Loop", samples: int, seconds: float, waited: float) -> None:
        """One step was made: somebody else may decode from the next batch on, or it is known who does."""
        if self._decision.step(samples, seconds, waited):
            self._decode(loop.left if loop.limited else None)

    def _decode(self, limit: Optional[int]) -> None:
        decision = self._decision
        self.feed._stream.decode_on(decision.where, limit, decision.cpu_share)
        news = decision.news
        if news is not None:
            say(f"{self.feed.name}: {news}")
        if decision.where == "gpu" and queues.late:
            queues.late = False  # once
            say("CUDA was in use before millrace was imported: import it first, and the GPU decodes faster")

    # ------------------------------------------------------------ on the way

    def _prepare(self, taken: Taken) -> Staged:
        self._pins.lock(self.feed._stream.client.memory)
        try:
            ticket: Any = self._staging.submit(taken)
        except Exception as error:
            if not self._decision.open:
                raise
            ticket = Failed(error)
        return Staged(taken, taken.batch, ticket, on_stage=True)

    def _arrives(self, loop: "Loop", staged: Deque[Staged]) -> bool:
        """While the GPU is only on trial, what goes wrong with it (memory, mostly) is no reason to stop.

        An engine that could not redo what the GPU refused never is: those batches are made again.
        """
        if not staged[0].on_stage:
            return True
        try:
            self._staging.wait(staged[0].ticket)
            return True
        except EngineDied:
            pass  # so it says, too, where its ring was replaced
        except Exception as error:
            if not self._decision.open:
                raise
            self._decision.refuse(f"the GPU could not do it: {error}")
        loop.put_back(len(staged))
        OnGpu._finish(self, staged)
        self._decode(loop.left if loop.limited else None)
        return False

    def _arrived(self, staged: Staged, make: Callable[[Any], Any]) -> Batch:
        """What the stage has made of a batch. Rows that turned out to be bad are dealt with here, in turn."""
        ticket, batch, stream = staged.ticket, staged.taken.batch, self.feed._stream
        self._staging.fill(batch, ticket, make)
        # A sample is bad once, however many of its fields are.
        bad = {int(one["row"]): one for found in reversed(ticket.bad.values()) for one in found}
        rows = sorted(bad)
        for row in rows:
            if not batch._known.fillers[row]:  # its sample was judged where it came first in the epoch
                stream.judge(bad[row])
        if bad:
            batch = staged.taken.batch = without_bad(batch, rows, stream.opened.policy, self._beside)
        return batch

    def _release(self) -> None:
        """Lets go of the slots that the device has read."""
        self._staging.room(wait=False)

    def _wait_for_room(self) -> None:
        """Waits for the slot of a batch that is on its way."""
        self._staging.room(wait=True)

    def _make_room(self, staged: Deque[Staged]) -> bool:
        self._release()
        if staged:
            return bool(self.feed._stream.room)
        # A batch is needed now: one on its way is soon there, and gives its slot back.
        if not self.feed._stream.room:
            self._wait_for_room()
        return True

    def _finish(self, staged: Deque[Staged]) -> None:
        if not self.feed._stream.foreign:  # a fork has neither CUDA nor the stage's thread
            self._staging.drain(one.ticket for one in staged if one.on_stage)
        staged.clear()
