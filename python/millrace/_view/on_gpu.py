"""What carriers to a GPU have in common: the device stage, page-locked slots, and who decodes images.

Used by the thread that loops. ``leave`` may come from the garbage collector, in any thread, the stage's own
included: there it waits for nothing. In a forked child it waits for nothing either.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Deque, Dict, Optional

from .._client.say import say
from .._cuda import queues
from .._generated.decoder import SHARES
from .._stream.loop import Loop
from .._stream.reading import Taken
from .._stream.run import Run
from ..batch import Batch, about_of
from ..errors import EngineDied, MissingError
from .bad_rows import Beside, without_bad
from .carrier import Staged
from .decide import Decision
from .meter import Meter
from .pins import Pins
from .staging import Staging, impossible


def decide(run: Run, asked: str, device: int) -> Decision:
    """Who decodes, or that the tuner is to find out."""
    opened = run.stream.opened
    if opened.generator is not None:
        return Decision("gpu")
    reason = impossible(run, device) if asked != "cpu" else None
    if asked == "gpu" and reason is not None:
        raise MissingError(f'decode="gpu": {reason}')
    if asked == "auto" and opened.generates and reason is None:
        asked = "gpu"  # it costs next to nothing there
    return Decision(asked, reason, run.cpu_share)


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
    """The ticket of a batch that the stage did not take: waiting for it raises why."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def comes(self, seconds: float) -> bool:
        """At once."""
        return True

    def wait(self) -> Any:
        """Raises what went wrong."""
        raise self._error


class OnGpu:
    """The way of batches through a device stage. ``beside`` makes an array of numbers beside another one."""

    def __init__(
        self, run: Run, staging: Staging, pins: Pins, decision: Decision, meter: Meter, beside: Beside
    ) -> None:
        self._run = run
        self._staging = staging
        self._pins = pins
        self._decision = decision
        self._meter = meter
        self._beside = beside
        if decision.open:
            cant = run.stream.decide(True)
            if cant is not None:
                decision.settle(cant)
        if decision.open:
            staging.compile_ahead()
        # Without this object: the two would refer to each other until a garbage collection, which may come in
        # a fork, where nothing of CUDA can be given back.
        run.stats.device = partial(report, decision, meter)

    # ------------------------------------------------------------ who decodes

    def enter(self) -> None:
        """A loop is about to begin."""
        self._meter.restart()
        if self._decision.open and self._run.cpu_share is not None:  # a state was loaded
            self._decision.adopt(self._run.cpu_share)
            self._run.stream.decide(False)
        self._decode(None)

    def step(self, loop: Loop) -> None:
        """The user comes for a batch: the tuner may want another to decode from the next one on."""
        decision, stream = self._decision, self._run.stream
        asked = stream.client.memory.decoder if decision.open else None
        if asked is None:
            return
        twentieths, found = asked
        if twentieths != decision.twentieths:
            self._try(twentieths, loop.limit)
            return
        if found:
            decision.settle(stream.why_decoded())
            self._run.cpu_share = twentieths / SHARES
            stream.decide(False)
            self._decode(loop.limit)

    def _try(self, twentieths: int, limit: Optional[int]) -> None:
        """Another decodes, on a ring of its own. Where that can't be opened, all goes on as it is."""
        decision = self._decision
        before, decision.twentieths = decision.twentieths, twentieths
        try:
            self._decode(limit)
        except EngineDied:
            raise
        except Exception as error:
            decision.twentieths = before
            decision.settle(f"no other decoder could be tried: {error}")
            self._run.cpu_share = before / SHARES
            self._run.stream.decide(False)
            say(f"{self._run.name}: {decision.news or error}")

    def _decode(self, limit: Optional[int]) -> None:
        decision = self._decision
        self._run.stream.decode_on(decision.where, limit, decision.cpu_share)
        news = decision.news
        if news is not None:
            say(f"{self._run.name}: {news}")
        if decision.where == "gpu" and queues.late:
            queues.late = False  # once
            say("CUDA was in use before millrace was imported: import it first, and the GPU decodes faster")

    # ------------------------------------------------------------ on the way

    def pin(self) -> None:
        """Page-locks the slots of the present ring."""
        self._pins.lock(self._run.stream.client.memory)

    def load(self, taken: Taken) -> Staged:
        """Hands a batch to the stage."""
        self.pin()
        try:
            ticket: Any = self._staging.submit(taken)
        except Exception as error:
            if not self._decision.open:
                raise
            ticket = Failed(error)
        return Staged(taken, taken.batch, ticket, on_stage=True)

    def arrives(self, loop: Loop, staged: Deque[Staged]) -> bool:
        """Whether the first batch is on the streams. False: all of them were put back.

        An engine that died before it had redone what the GPU refused: the batches are made again. While the
        GPU is only tried, its errors (out of memory, mostly) end the trial, and the CPU decodes.
        """
        if not staged[0].on_stage:
            return True
        try:
            self.wait(staged[0])
            return True
        except EngineDied:
            pass  # also said of a ring that was replaced
        except Exception as error:
            if not self._decision.open:
                raise
            self._decision.refuse(f"the GPU could not do it: {error}")
            self._run.cpu_share = 1.0
            self._run.stream.decide(False)
        loop.put_back(len(staged))
        self.leave(staged)
        self._decode(loop.limit)
        return False

    def wait(self, staged: Staged) -> Any:
        """Waits until a batch is on the streams; its ticket."""
        return self._staging.wait(staged.ticket)

    def finished(self, staged: Staged, make: Callable[[Any], Any]) -> Batch:
        """What the stage has made of a batch. Rows that turned out to be bad are judged here, in turn."""
        ticket, batch, stream = staged.ticket, staged.taken.batch, self._run.stream
        self._staging.fill(batch, ticket, make)
        # A sample is bad once, however many of its fields are.
        bad = {int(one["row"]): one for found in reversed(ticket.bad.values()) for one in found}
        rows = sorted(bad)
        for row in rows:
            if not about_of(batch).fillers[row]:  # its sample was judged where it came first in the epoch
                stream.judge(bad[row])
        if bad:
            batch = staged.taken.batch = without_bad(batch, rows, stream.opened.policy, self._beside)
        return batch

    # ------------------------------------------------------------ slots

    def release(self) -> None:
        """Gives back the slots that the device has read."""
        self._staging.room(wait=False)

    def make_room(self) -> None:
        """Where no slot is free, waits for the slot of a batch that is on its way."""
        if not self._run.stream.room:
            self._staging.room(wait=True)

    def leave(self, staged: Deque[Staged]) -> None:
        """These batches are not handed out: waits until the device reads none of them."""
        if not self._run.stream.foreign:  # a fork has neither CUDA nor the stage's thread
            self._staging.drain(one.ticket for one in staged if one.on_stage)
        staged.clear()

    @property
    def given_up(self) -> bool:
        """Whether the GPU stands still: nothing waits for it any more."""
        return self._staging.given_up
