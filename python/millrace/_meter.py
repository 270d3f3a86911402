"""How long a GPU stands still for want of data, by events on the stream that the trainer uses.

    trainer's stream ──step k──● asked ····(idle)···· ● there ──step k+1──● asked ● there ──…

``asked`` is recorded when the trainer comes for the next batch: the GPU passes it when step k is done.
``there`` is recorded behind the wait for the batch. What lies between is waiting; it is next to nothing when
the batch was there in time. Events are looked at steps later; only ``hold_back`` waits for one.
"""

from __future__ import annotations

from collections import deque
from math import ceil
from typing import Any, Deque, Iterator, NamedTuple, Optional, Tuple


class Step(NamedTuple):
    """One step of the trainer, on the GPU's clock (seconds)."""

    samples: int
    seconds: float
    waited: float


class Meter:
    """Measures the steps of one loop."""

    #: Steps whose events may be outstanding; older ones are let go unmeasured.
    MOST = 64
    #: Work that a GPU has before it when a trainer is held back (seconds), and one step at least.
    QUEUED = 0.02

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self._pending: Deque[Tuple[Any, Any, int]] = deque()
        self._asked: Optional[Any] = None
        #: The latest step (seconds).
        self._latest = 0.0
        #: All steps so far, in seconds.
        self.seconds = 0.0
        self.waited = 0.0

    def hold_back(self) -> None:
        """Waits while the GPU has plenty to do.

        A trainer that runs ahead fills the driver's queue sooner or later. Each launch then waits, with the
        driver locked, until the GPU has done another: nobody else comes through, nvJPEG least of all. An idle
        GPU gains nothing from a longer queue, and a busy one loses what is to be decoded for it meanwhile.
        """
        steps = max(1, ceil(self.QUEUED / self._latest)) if self._latest else 2
        if len(self._pending) >= steps:
            self._pending[-steps][0].synchronize()

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
        while len(self._pending) > 1 and self._pending[1][0].query():
            (asked, there, samples), (following, _, _) = self._pending[0], self._pending[1]
            seconds = asked.elapsed_time(following) / 1000
            waited = asked.elapsed_time(there) / 1000
            self._pending.popleft()
            self._latest = seconds
            self.seconds += seconds
            self.waited += waited
            yield Step(samples, seconds, waited)

    def restart(self) -> None:
        """Another loop begins: what lies between is no step."""
        self._pending.clear()
        self._asked = None

    def _record(self, stream: Any) -> Any:
        event = self._cuda.Event(enable_timing=True, blocking=True)
        event.record(stream)
        return event
