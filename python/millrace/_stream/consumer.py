"""The spans of a loop: how long it waited for each batch, and for what, and how long its steps took.

On the host's clock, by the loop itself. Where batches go to a stream of CUDA's, what counts is when that
stream waited and worked: the carrier measures it by events and tells it some steps later (``measured``).
Records of it are written over after a while; the sums (loop_times.py) are those of the whole run.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from typing import Callable, NamedTuple, Optional

from .._generated.span_words import LaneKind, SpanKind, SpanLevel
from .._spans.file import shared
from .._spans.lane import SpanLane
from ..batch import about_of
from .loop_times import RunTimes
from .pauses import Pauses
from .reading import Taken
from .step_parts import Parts, divide


class About(NamedTuple):
    """A batch, as spans name it, and what the host did for it (seconds of ``time.monotonic``)."""

    ring: int
    batch: int
    #: 1 + its number in its epoch: so the first one of an epoch is known.
    step: int
    rows: int
    #: When the makers had completed it, and when it was taken and on its way to a device.
    complete: float
    sent: float

    @property
    def begins(self) -> bool:
        """Whether it is the first of a run or an epoch: accounts tell it apart, so it is joined with none."""
        return self.step == 1 or self.batch == 0


class Consumer:
    """Used by the thread that loops."""

    def __init__(self, level: int = SpanLevel.SPANS, look: Optional[Callable[[int], None]] = None) -> None:
        self._level = level
        #: Has the engine look at its makers, and keep that under a number.
        self._look = look
        #: All steps so far, as sums.
        self.times = RunTimes()
        self._lane: Optional[SpanLane] = None
        self._opened = False
        #: When the batch was asked for that the loop waits for; None: it waits for none.
        self._asked: Optional[float] = None
        #: When that batch was taken, and when it was on the device.
        self._sent = self._there = 0.0
        #: The batch in the user's hands, and since when.
        self._handed: Optional[About] = None
        self._since = 0.0
        #: When that batch was asked for, and what was waited for.
        self._requested = 0.0
        self._waited = Parts(0.0, 0.0, 0.0)
        #: The user said that the step began, and that it is over.
        self._begun: Optional[float] = None
        self._ended: Optional[float] = None
        #: Where events on a stream tell of the steps: has one recorded where a step is over.
        self._record_end: Optional["weakref.WeakMethod[Callable[[], None]]"] = None
        self._pauses = Pauses()
        #: That of the thread that loops.
        self._thread = 0

    # ------------------------------------------------------------ on the host's clock

    def begin(self, record_end: Optional[Callable[[], None]] = None, asked: Optional[float] = None) -> None:
        """A loop begins, and was asked for some time ago: what lies between two loops is no step."""
        self._handed = self._begun = self._ended = None
        self._asked = asked
        # Not held: carriers refer to the run, and through it to this object.
        self._thread = threading.get_ident()
        self._record_end = None if record_end is None else weakref.WeakMethod(record_end)

    def asked(self) -> None:
        """The user asks for a batch, and is done with the one before it."""
        if self._asked is not None:
            return  # the loop looks again for the same batch
        self._asked = now = time.monotonic()
        self._step_over(now)

    def left(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        """The loop is left by ``break`` or an exception, with a batch in the user's hands: its step is over.

        The garbage collector may leave a loop in any thread: then nothing is known of its last step. Nor can
        anything be written when the program ends.
        """
        if not ending() and self._thread == threading.get_ident():
            self._step_over(time.monotonic())
            self.flush()

    def _step_over(self, now: float) -> None:
        about, self._handed = self._handed, None
        if about is not None and self._record_end is None:
            since, copied = self._since, 0.0
            if self._begun is not None:
                copied = self._begun - since
                self._add(about, SpanKind.COPY, since, copied)
                since = self._begun
            end = now if self._ended is None else self._ended
            self._add(about, SpanKind.STEP, since, end - since)
            self._add(about, SpanKind.IDLE, end, now - end)
            supply, hand, copy = self._waited
            self._over(about, self._requested, supply, hand, copy + copied, end - since)
        self._begun = self._ended = None

    def sent(self) -> None:
        """The batch is taken, and on its way to the device if there is one."""
        self._sent = self._there = time.monotonic()

    def there(self) -> None:
        """The batch is on the device, as far as the host waits for that."""
        self._there = time.monotonic()

    def handed(self, taken: Taken, rows: int) -> None:
        """A batch is handed to the user."""
        if not self._opened:
            self._open()
        asked, self._asked = self._asked, None
        self._since = now = time.monotonic()
        self._handed = about = self.about(taken, rows)
        if about.begins:
            self._has_begun()
        if asked is not None and self._record_end is None:
            supply, hand, copy = divide(asked, taken.complete, self._sent, self._there)
            # What is done after the copy (functions of the user's, counting) is hand-over as well.
            self._requested, self._waited = asked, Parts(supply, hand + now - self._there, copy)
            self._wait(about, asked, self._waited)

    def _has_begun(self) -> None:
        """The batch in the user's hands begins a run or an epoch: what makers did before it counts apart."""
        number = self.times.look()
        if number is not None and self._look is not None:
            self._look(number)

    # ------------------------------------------------------------ on a device's clock

    def about(self, taken: Taken, rows: int) -> About:
        """What spans say of a batch that is about to be handed to the user."""
        step = about_of(taken.batch).step + 1
        return About(taken.ring, taken.number, step, rows, taken.complete, self._sent)

    def measured(self, about: About, asked: float, there: float, end: float, following: float) -> None:
        """A stream came to the end of a step at ``asked``, had the batch ``there``, and worked on it until
        ``end``; ``following``: it asked for the next."""
        parts = divide(asked, about.complete, about.sent, there)
        self._wait(about, asked, parts)
        self._add(about, SpanKind.STEP, there, end - there)
        self._add(about, SpanKind.IDLE, end, following - end)
        self._over(about, asked, *parts, end - there)

    # ------------------------------------------------------------ by the user's word

    def step_begins(self) -> None:
        """From here on it is the step: what came before brought the batch to where it is used."""
        if self._handed is not None:
            self._begun, self._ended = time.monotonic(), None

    def step_ends(self) -> None:
        """The step is over: what comes until the next batch is asked for is no part of it."""
        if self._handed is None:
            return
        self._ended = time.monotonic()
        record = None if self._record_end is None else self._record_end()
        if record is not None:
            record()

    # ------------------------------------------------------------ writing

    def _wait(self, about: About, start: float, parts: Parts) -> None:
        if about.begins:
            self.flush()
        supply, hand, copy = parts
        self._add(about, SpanKind.WAIT, start, supply)
        self._add(about, SpanKind.HAND, start + supply, hand)
        self._add(about, SpanKind.COPY, start + supply + hand, copy)

    def _add(self, about: About, kind: int, start: float, seconds: float) -> None:
        if seconds > 0 and self._lane is not None:
            ring, batch, step, rows = about[:4]
            self._lane.add(ring, kind, start, seconds, batch=batch, first_row=step, rows=rows)

    def _over(
        self, about: About, asked: float, supply: float, hand: float, copy: float, compute: float
    ) -> None:
        gc = 0.0
        if self._pauses.found:
            until = asked + supply + hand + copy
            for start, seconds in self._pauses.take():
                self._add(about, SpanKind.GC, start, seconds)
                gc += max(0.0, min(start + seconds, until) - max(start, asked))
        self.times.add(about.step == 1, asked, supply, hand, copy, compute, about.rows, gc)
        if about.begins:
            self.flush()

    def publish(self) -> None:
        """Has what waits to be joined written now: by the thread that loops, which alone may."""
        if self._thread == threading.get_ident():
            self.flush()

    def flush(self) -> None:
        """A loop is over: what is written by now may be all there is for a while."""
        if self._lane is not None:
            self._lane.flush()

    def _open(self) -> None:
        self._opened = True
        self._pauses.watch()
        own = shared()
        lane = None if own is None else own.take(LaneKind.CONSUMER, "trainer")
        if own is not None and lane is not None:
            lane.level = self._level
            self._lane = lane
            self._end = weakref.finalize(self, own.give, lane)

    def close(self) -> None:
        """The feed is closed."""
        self._pauses.close()
        self.flush()
        if self._lane is not None:
            self._end()
        self._lane, self._opened = None, True


class StepMark:
    """What ``feed.step()`` gives. Called, it marks the end of a step; as a context it is around one."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        consumer.step_ends()

    def __enter__(self) -> "StepMark":
        self._consumer.step_begins()
        return self

    def __exit__(self, *exception: object) -> None:
        self._consumer.step_ends()
