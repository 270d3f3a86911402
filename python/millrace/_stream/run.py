"""One run of a feed: where it stands, which loop is on, how it goes on after a state or a break.

    Feed, View ──► Run ──► Loop ──► Stream ──► Client ──► the engine
                     └──────┴─► Standing

Threads. All of it belongs to the thread that loops over the feed, and has no lock. One exception: the garbage
collector may close a loop that was abandoned, in any thread. That calls ``Loop.leave`` alone, which writes
each attribute once, last the one that says that the loop is over.

Ctrl-C may come between any two lines. So a place is noted before the stream is moved, and the note is removed
after that: the next loop begins where the note says.
"""

from __future__ import annotations

import logging
import time
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from .._client.client import Opened, Place, needed_changes
from .._client.layout import Field
from .._client.say import say
from .._generated.span_words import SpanLevel
from .._open.ranks import Seat
from ..errors import MillraceError, StateError
from .account import Account
from .consumer import Consumer
from .epoch_line import EpochLine
from .loop import OVER, Limits, Loop, Standing
from .stats import Stats
from .stream import Stream

log = logging.getLogger("millrace")


def share_of(state: Mapping[str, Any]) -> Optional[float]:
    """The share of images that the CPU decodes, by a state; None: it says nothing of it."""
    share = state.get("cpuShare")
    if share is None or (isinstance(share, (int, float)) and 0 <= share <= 1):
        return share
    raise StateError(f'the state\'s "cpuShare" should be a number from 0 to 1, not {share!r}')


class Run:
    """What a feed and all its views share."""

    def __init__(
        self,
        stream: Stream,
        stats: Stats,
        limits: Callable[[Opened, int], Limits],
        seat: Seat,
        *,
        timeout: float = 60,
        shared: bool = False,
        batch_map: Optional[Callable[[Any], Any]] = None,
        level: int = SpanLevel.SPANS,
        quiet: bool = False,
    ) -> None:
        self.stream = stream
        self.stats = stats
        #: Which rank this is.
        self.seat = seat
        #: Seconds that a batch may take on a device.
        self.timeout = timeout
        #: Whether several processes take part in this rank and see its batches.
        self.shared = shared
        #: Applied to every finished batch.
        self.batch_map = batch_map
        #: The share of images that the CPU decodes, where the tuner has found out, or a state says so.
        self.cpu_share: Optional[float] = None
        self._limits_of = limits
        self._limits = limits(stream.opened, self.rows)
        self._level = level
        self._standing = Standing(stream.ahead)
        #: Writes what the loop waits for.
        self.consumer = Consumer(level, stream.look)
        #: Where the time of steps went.
        self.account = Account(stream, stats, self.consumer)
        #: None: nothing is said of epochs.
        self._epoch_line = None if quiet else EpochLine(stream, stats, self.account, seat)
        self._loop: Optional[Loop] = None
        #: The number of the latest iterator: the others are over.
        self._turn = 0
        #: Whether it was said that a loop that is left counts.
        self._said = False
        #: Batches that were handed out before it.
        self._begun = 0
        #: The epoch of the state that was loaded, if no step of it was left.
        self._over: Optional[int] = None
        #: The epoch that the next loop is over, by the user's word.
        self._named: Optional[int] = None
        #: What ends with the run: device stages of views.
        self._closers: List["weakref.WeakMethod[Callable[[], None]]"] = []

    # ------------------------------------------------------------ what is known

    @property
    def name(self) -> str:
        """By which it is called in what is logged."""
        return self.stream.name

    @property
    def fields(self) -> Sequence[Field]:
        """The fields of a batch, as they lie in a slot."""
        return self.stream.client.memory.layout.fields

    @property
    def rows(self) -> int:
        """Rows of a batch."""
        return self.stream.client.memory.layout.rows

    @property
    def following(self) -> Place:
        """Where the next loop begins."""
        move_to = self._standing.move_to
        return self.stream.ahead if move_to is None else move_to

    @property
    def epoch(self) -> int:
        """The epoch that a loop is in, or that the next one begins with."""
        return self._standing.place.epoch if self.looping else self.following.epoch

    @property
    def looping(self) -> bool:
        """Whether a loop is on."""
        return self._loop is not None and not self._loop.over

    @property
    def progress(self) -> Tuple[Optional[int], Optional[int]]:
        """Steps of the present loop that are done, and all of them where it ends. None: no loop is on."""
        loop = self._loop
        if loop is None or loop.over:
            return None, None
        done = self.stats.batches - self._begun
        return done, None if loop.left is None else done + loop.left

    def steps(self, place: Optional[Place] = None) -> Optional[int]:
        """Steps of a loop that begins at a place, or with an epoch; None when it never ends."""
        if place is None:
            self.join()
        opened = self.stream.opened
        if opened.bins is not None and self._limits.epochs is not None:
            return self._limits.least(self._bins(place or Place(self.epoch, 0), self._limits.epochs)["total"])
        return self._limits.total(opened, self.rows, place or Place(0, 0))

    def _bins(self, place: Place, epochs: int) -> Mapping[str, Any]:
        """Batches by tokens: steps of so many epochs from a place on, and the place where they begin."""
        found: Mapping[str, Any] = self.stream.ask({"steps": {**place._asdict(), "epochs": epochs}})["steps"]
        return found

    def _settled(self, place: Place) -> Place:
        """The same place; where no step of its epoch is left, the beginning of the next one."""
        if self.stream.opened.bins is not None:
            return Place(**self._bins(place, 0)["place"])
        return self.stream.opened.settled(place, self.rows)

    # ------------------------------------------------------------ the rank

    def join(self) -> None:
        """Takes the rank that the process group has by now, where none was given and nothing counts yet."""
        if self.looping or self.stream.closed:
            return
        found, before = self.seat.another(), self.seat.now
        if found is None:
            return
        stream, standing, asked = self.stream, self._standing, self.following
        if standing.counts:
            raise MillraceError(
                f"{self.name} has given batches as rank {before.rank} of {before.world} ({before.source}), "
                f"and this process is rank {found.rank} of {found.world} by now ({found.source}): open the "
                "feed after the process group is made, or give rank and world"
            )
        # The ring of that rank begins where this run would have.
        stream.rejoin(*self.seat.ask(found), asked)
        self.seat.take(found)
        standing.place, standing.move_to = stream.ahead, None
        if stream.ahead.epoch != asked.epoch:
            self._over = asked.epoch
        self._limits = self._limits_of(stream.opened, self.rows)
        log.info("%s: rank %d of %d (%s)", self.name, *found)

    # ------------------------------------------------------------ loops

    def set_epoch(self, epoch: int) -> None:
        """The next loop is over this epoch, or over what is left of it after the state that was loaded."""
        self._named, self._standing.left = epoch, None
        if epoch not in (self.following.epoch, self._over):
            self._standing.move_to = Place(epoch, 0)

    def turn(self) -> int:
        """An iterator is made: the one before it is over."""
        if self._loop is not None:
            self._loop.leave(finished=False)
        self.join()
        self._turn += 1
        return self._turn

    def begin(self, turn: int, record_end: Optional[Callable[[], None]] = None) -> Loop:
        """Begins the loop of an iterator.

        ``record_end``: where events on a stream tell of the steps (consumer.py).
        """
        if turn != self._turn:
            raise MillraceError(OVER)
        # Moving the ring is waited for, too: it counts to the first batch.
        asked = time.monotonic()
        stream, standing = self.stream, self._standing
        empty = self._named is not None and self._named == self._over
        self._named = self._over = None
        self._tell_left()
        if self.stream.opened.once and self.following.epoch > 0:
            raise StateError(
                "Megatron's order ends here: it goes once through the samples of its run. A longer run has "
                "another order from its first sample on: open the feed with another order, without the state"
            )
        total = 0 if empty else self.steps(self.following)
        if not empty:
            limit = None if self._limits.plain else total
            if standing.move_to is not None:
                stream.go(standing.move_to, limit)
                standing.move_to = None
            elif not self._limits.plain:
                stream.limit(limit)
            standing.place = stream.ahead
            self.stats.mark()
        self.consumer.begin(record_end, asked)
        loop = Loop(stream, self.stats, standing, self._epoch_line, total, limited=not self._limits.plain)
        self._begun = self.stats.batches
        self._loop = loop
        return loop

    def _tell_left(self) -> None:
        """Says, once, that the loop before counts as an epoch though it was left."""
        left, self._standing.left = self._standing.left, None
        if left is None or self._said or self._epoch_line is None or self.seat.now.rank != 0:
            return
        self._said = True
        say(
            f"{self.name}: a loop was left at position {left.position} of epoch {left.epoch}, and counts as "
            f"an epoch: this one begins with epoch {self.following.epoch}. set_epoch({left.epoch}) goes "
            "through that epoch again, load_state_dict(state) goes on where a state was taken"
        )

    # ------------------------------------------------------------ state

    def began_with(self, state: Mapping[str, Any]) -> None:
        """The stream was opened with this state."""
        self.cpu_share = share_of(state)
        self._note_over(state.get("epoch"))

    def _note_over(self, saved: Any) -> None:
        """If no step was left in the epoch of the state, the run stands at the next one."""
        self._over = None if saved == self._standing.place.epoch else saved

    def state(self) -> Dict[str, Any]:
        """Where the run stands: after the batches in the user's hands."""
        base, place = self.stream.opened.state, self._standing.place
        state: Dict[str, Any] = {name: base[name] for name in ("version", "order", "content")}
        state.update(epoch=place.epoch, position=place.position, describe=dict(base["describe"]))
        changes = needed_changes(self.stream.changes or [], place, self.stream.opened)
        if changes:
            state["changes"] = changes
        if self.cpu_share is not None:
            state["cpuShare"] = self.cpu_share
        return state

    def load(self, state: Mapping[str, Any]) -> None:
        """Goes on from a saved state, with the next loop."""
        stream, base = self.stream, self.stream.opened.state
        try:
            place = Place(int(state["epoch"]), int(state["position"]))
            known = state["version"], state["order"]
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"this is no state of a feed: {error!r}") from error
        if known != (base["version"], base["order"]) or place.position > stream.opened.length:
            stream.connect(state)  # the engine says what is different
        share = share_of(state)
        self.cpu_share = self.cpu_share if share is None else share
        if state.get("content") != base["content"]:
            log.warning("%s: fields, functions or onError have changed since the state was saved", self.name)
        if state.get("changes") or stream.changes:
            stream.changes = list(state.get("changes", []))
        self._standing.move_to = self._standing.place = self._settled(place)
        self._standing.left = self._named = None
        self._note_over(place.epoch)

    def set_weights(self, weights: Union[Sequence[float], Mapping[str, float]]) -> None:
        """Changes the weights of a blend from the next batch on that was not taken yet."""
        stream, standing, place = self.stream, self._standing, self.following
        asked = dict(weights) if isinstance(weights, Mapping) else list(weights)
        before = {} if stream.changes is None else {"changes": stream.changes}
        changes = list(stream.ask({"weights": asked, "place": place._asdict(), **before})["changes"])
        if changes == (stream.changes or []):
            return
        stream.changes = changes
        if standing.move_to is None:
            left = self._loop.left if self._loop is not None and self.looping else None
            standing.move_to = place
            stream.go(place, None if self._limits.plain else left)
            standing.move_to = None

    # ------------------------------------------------------------ trying

    def beside(self) -> "Run":
        """A run of its own from where this one stands: nothing of it counts here, or is logged."""
        stats = Stats()
        stream = self.stream.beside(self.following, stats)
        stats.opened()
        return Run(
            stream,
            stats,
            self._limits_of,
            Seat(self.seat.now, True, self.seat.ask),
            timeout=self.timeout,
            batch_map=self.batch_map,
            level=self._level,
            quiet=True,
        )

    # ------------------------------------------------------------ ending

    def on_close(self, end: Callable[[], None]) -> None:
        """Has a method called when the run is closed, if its object is still there."""
        alive = [closer for closer in self._closers if closer() is not None]
        self._closers = [*alive, weakref.WeakMethod(end)]

    def close(self) -> None:
        """Ends it: the loop, the device stages, then the ring. Batches still referred to stay readable."""
        if self._loop is not None:
            self._loop.over = True
        try:
            if not self.stream.closed:
                self.account.close()
        finally:
            self._end()

    def _end(self) -> None:
        for closer in self._closers:
            end = closer()
            if end is not None:
                end()
        self.consumer.close()
        self.stream.close()
