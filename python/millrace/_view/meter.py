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
from typing import Any, Deque, Iterator, NamedTuple, Optional, Protocol, Tuple


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


class StreamMeter:
    """On the GPU's clock."""

    #: Steps whose events may be outstanding; older ones are let go unmeasured.
    MOST = 64

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self._pending: Deque[Tuple[Any, Any, int]] = deque()
        self._asked: Optional[Any] = None
        self.seconds = 0.0
        self.waited = 0.0

    def ask(self, stream: Any) -> None:
        """The trainer comes for a batch."""
        self._asked = self._record(stream)

    def there(self, stream: Any, samples: int) -> None:
        """The stream waits for the batch up to here."""
        if self._asked is not None:
            self._pending.append((self._asked, self._record(stream), samples))
            self._asked = None
        if len(self._pending) > self.MOST:
            self._pending.popleft()

    def steps(self) -> Iterator[Step]:
        """Steps that the GPU has done since this was last asked."""
        while len(self._pending) > 1:
            (asked, there, samples), (following, _, _) = self._pending[0], self._pending[1]
            # Both: the next step may be on another stream, which does not wait for this one.
            if not (there.query() and following.query()):
                return
            seconds = asked.elapsed_time(following) / 1000
            waited = asked.elapsed_time(there) / 1000
            self._pending.popleft()
            self.seconds += seconds
            self.waited += waited
            yield Step(samples, seconds, waited)

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
