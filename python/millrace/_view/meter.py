"""How long a GPU stands still for want of data: by events on the trainer's stream, or by the host's clock
where that stream can't be had.

    trainer's stream ──step k──● asked ····(idle)···· ● there ──step k+1──● asked ● there ──…

``asked`` is recorded when the trainer comes for the next batch: the GPU passes it when step k is done.
``there`` is recorded behind the wait for the batch. What lies between is waiting; it is next to nothing when
the batch was there in time. Events are looked at some steps later; the host never waits for them.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Deque, Iterator, NamedTuple, Optional, Protocol


class Step(NamedTuple):
    """One step of the trainer (seconds)."""

    samples: int
    seconds: float
    waited: float


class Meter(Protocol):
    """Measures the steps of loops."""

    #: All steps so far, and how much of them was waited, in seconds.
    seconds: float
    waited: float

    def restart(self) -> None:
        """Another loop begins: what lies between is no step."""


class StreamStep(NamedTuple):
    """One step on a stream (seconds). ``about`` is what was given with it."""

    samples: int
    #: From asking for its batch to asking for the next one.
    seconds: float
    waited: float
    #: When the stream asked (``time.monotonic``); None: the clocks could not be compared.
    asked: Optional[float]
    #: From having the batch until the step was over.
    worked: float
    about: Any


class Anchor(NamedTuple):
    """An event on a stream that has nothing else to do, and the host's time when it was recorded."""

    event: Any
    at: float


class Outstanding:
    """A step whose events the GPU may not have passed yet."""

    __slots__ = ("about", "anchor", "asked", "end", "samples", "there")

    def __init__(self, asked: Any, there: Any, samples: int, about: Any, anchor: Anchor) -> None:
        self.asked = asked
        self.there = there
        self.samples = samples
        self.about = about
        self.anchor = anchor
        #: The user said that the step was over here.
        self.end: Optional[Any] = None


class StreamMeter:
    """On the GPU's clock, whose times are told on the host's. ``still``: a stream that nothing else uses."""

    #: Steps whose events may be outstanding; older ones are let go unmeasured.
    MOST = 64
    #: The clocks are compared again after so many seconds: they drift apart by some microseconds in each.
    ANEW = 10.0

    def __init__(self, cuda: Any, still: Any = None) -> None:
        self._cuda = cuda
        self._still = still
        self._anchor: Optional[Anchor] = None
        self._pending: Deque[Outstanding] = deque()
        self._asked: Optional[Any] = None
        self.seconds = 0.0
        self.waited = 0.0

    def ask(self, stream: Any) -> None:
        """The trainer comes for a batch."""
        if self._anchor is None or time.monotonic() - self._anchor.at > self.ANEW:
            before = time.monotonic()
            event = self._record(self._still)
            self._anchor = Anchor(event, (before + time.monotonic()) / 2)
        self._asked = self._record(stream)

    def there(self, stream: Any, samples: int, about: Any = None) -> None:
        """The stream waits for the batch up to here."""
        if self._asked is not None and self._anchor is not None:
            there = self._record(stream)
            self._pending.append(Outstanding(self._asked, there, samples, about, self._anchor))
            self._asked = None
        if len(self._pending) > self.MOST:
            self._pending.popleft()

    def end(self, stream: Any) -> None:
        """The user says that the step is over here."""
        if self._pending and self._asked is None:
            self._pending[-1].end = self._record(stream)

    def steps(self) -> Iterator[StreamStep]:
        """Steps that the GPU has done since this was last asked."""
        while self._pending:
            one = self._pending[0]
            following = self._pending[1].asked if len(self._pending) > 1 else self._asked
            # All of them: the next step may be on another stream, which does not wait for this one.
            if following is None or not (one.there.query() and following.query()):
                return
            end = following if one.end is None or not one.end.query() else one.end
            seconds = one.asked.elapsed_time(following) / 1000
            waited = one.asked.elapsed_time(one.there) / 1000
            worked = one.there.elapsed_time(end) / 1000
            asked = None
            if one.anchor.event.query():
                asked = one.anchor.at + one.anchor.event.elapsed_time(one.asked) / 1000
            self._pending.popleft()
            self.seconds += seconds
            self.waited += waited
            yield StreamStep(one.samples, seconds, waited, asked, worked, one.about)

    def restart(self) -> None:
        self._pending.clear()
        self._asked = None

    def _record(self, stream: Any) -> Any:
        event = self._cuda.Event(enable_timing=True)
        event.record(stream)
        return event


class HostMeter:
    """On the host's clock: how long the trainer is held up when it comes for a batch."""

    def __init__(self) -> None:
        #: When the trainer last came, and how long it had to wait then.
        self._came = 0.0
        self._held_up = 0.0
        self.seconds = 0.0
        self.waited = 0.0

    def ask(self, samples: int) -> Optional[Step]:
        """The trainer comes for a batch, and has made a step with so many samples; not the first time."""
        now = time.perf_counter()
        step = Step(samples, now - self._came, self._held_up) if self._came else None
        if step is not None:
            self.seconds += step.seconds
            self.waited += step.waited
        self._came, self._held_up = time.perf_counter(), 0.0
        return step

    def there(self) -> None:
        """It has one."""
        self._held_up = time.perf_counter() - self._came

    def restart(self) -> None:
        self._came = 0.0
