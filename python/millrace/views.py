"""A view of a feed: the same batches, as arrays of one library, on one device.

Usable wherever a loader is.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Deque, Dict, Iterator, Mapping, Optional, Sequence

from ._open.open_feeds import Opened
from ._stream.reading import Taken
from .batch import Batch
from .errors import DefinitionError, MillraceError

if TYPE_CHECKING:
    from ._stream.loop import Loop
    from .feed import Feed


class Staged:
    """A batch on its way to the user: as it left the ring, and what becomes of it."""

    __slots__ = ("fields", "on_stage", "taken", "ticket")

    def __init__(self, taken: Taken, fields: Batch, ticket: Any = None, on_stage: bool = False) -> None:
        self.taken = taken
        self.fields = fields
        #: By which a copy to a device is known to be done: an event, or a ticket of the device stage.
        self.ticket = ticket
        self.on_stage = on_stage


class View(Opened):
    """An iterable of batches with a length and a state; one ``for`` is one epoch."""

    #: Batches that are prepared beyond the one handed out.
    prefetch = 0

    def __init__(self, feed: "Feed", names: Optional[Sequence[str]]) -> None:
        self.feed = feed
        self._names = names
        layout = feed._stream.client.memory.layout
        known = [field.name for field in layout.fields]
        missing = [name for name in names or () if name not in (*known, "valid", "ids", "positions")]
        if missing:
            raise DefinitionError(f"tuple: this feed has no field {missing[0]!r}; it has {', '.join(known)}")
        #: Element types by field, as the definition calls them.
        self._kinds = {
            field.name: field.device["dtype"] if field.device else field.kind for field in layout.fields
        }
        #: Names of the fields that are images.
        self._images = {field.name for field in layout.fields if field.layout or field.device}

    # ------------------------------------------------------------ what a library adds

    def _enter(self) -> None:
        """A loop is about to begin. Here everything is made by the engine, which says so if it can't."""
        self.feed._stream.decode_on("cpu", None)

    def _ask(self, loop: "Loop") -> None:
        """The user comes for the next batch."""

    def _prepare(self, taken: Taken) -> Staged:
        """Makes a batch of the library's arrays, or begins to."""
        return Staged(taken, taken.batch)

    def _arrives(self, loop: "Loop", staged: Deque[Staged]) -> bool:
        """Whether the first of them can be handed out. False: all of them were put back, to be made anew."""
        return True

    def _deliver(self, staged: Staged) -> Batch:
        """The batch, as the user may use it from now on."""
        return staged.fields

    def _make_room(self, staged: Deque[Staged]) -> bool:
        """Whether another batch may be taken ahead."""
        return not staged or self.feed._stream.room

    def _finish(self, staged: Deque[Staged]) -> None:
        """The loop is over; these were never handed out."""
        staged.clear()

    # ------------------------------------------------------------ iterating

    def __iter__(self) -> Iterator[Any]:
        self._enter()
        loop = self.feed._begin()
        staged: Deque[Staged] = deque()
        failure: Optional[MillraceError] = None
        finished = False
        try:
            while True:
                loop.between()
                self._ask(loop)
                while self._wants(staged) and failure is None and self._make_room(staged):
                    try:
                        taken = loop.take(block=not staged)
                    except MillraceError as error:
                        failure = error  # raised in its turn, after the batches before it
                        break
                    if taken is None:
                        break
                    spoilt = self.feed._stream.spoilt(taken)
                    staged.append(Staged(taken, taken.batch) if spoilt else self._prepare(taken))
                    del taken
                if not staged:
                    if failure is not None:
                        raise failure
                    break
                if not self._arrives(loop, staged):
                    failure = None
                    continue
                # No name here refers to the batch while the user has it: dropping it there is enough.
                yield self._hand(loop, staged)
            finished = True
        finally:
            failure = None  # its traceback refers to what is here, slots among it
            try:
                self._finish(staged)
            finally:
                loop.leave(finished)

    def _wants(self, staged: Deque[Staged]) -> bool:
        """Whether more are to be taken ahead; nothing comes after a batch that ends the run."""
        if staged and self.feed._stream.spoilt(staged[-1].taken):
            return False
        return len(staged) <= self.prefetch

    def _hand(self, loop: "Loop", staged: Deque[Staged]) -> Any:
        loop.judge(staged[0].taken.bad)
        one = staged.popleft()
        batch: Any = self._deliver(one)
        if self.feed.batch_map is not None:
            batch = self.feed.batch_map(batch)
        if self._names is not None:
            batch = tuple(batch[name] for name in self._names)
        loop.hand(one.taken)
        return batch

    # ------------------------------------------------------------ as a loader

    def __len__(self) -> int:
        """Steps of a loop over whole epochs."""
        return len(self.feed)

    def state_dict(self) -> Dict[str, Any]:
        """The feed's state."""
        return self.feed.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a saved state, with the next loop."""
        self.feed.load_state_dict(state)

    def set_epoch(self, epoch: int) -> None:
        """The next loop is over this epoch."""
        self.feed.set_epoch(epoch)

    def close(self) -> None:
        """Closes the feed."""
        self.feed.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.feed!r}>"


class NumpyView(View):
    """NumPy arrays: views of the slot, writable."""
