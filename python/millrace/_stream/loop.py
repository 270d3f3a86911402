"""One ``for``: which batches belong to it, and where the run stands when it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence

from .._client.client import Opened, Place
from ..errors import MillraceError

if TYPE_CHECKING:
    from ..feed import Feed
    from .reading import Taken


class Once:
    """The default of ``epochs``: None means that a loop never ends."""

    def __repr__(self) -> str:
        return "1"


ONCE = Once()


class Limits:
    """How much one loop covers: ``epochs`` (None: no end) and at most ``steps``. By default one epoch."""

    def __init__(self, epochs: Optional[int], steps: Optional[int], endless: bool) -> None:
        self.plain = epochs is None and steps is None and not endless
        # Steps alone span as many epochs as they need.
        self.epochs = 1 if self.plain else epochs
        self.steps = steps

    def total(self, opened: Opened, rows: int, place: Place) -> Optional[int]:
        """Steps of a loop that begins at a place; None when it never ends."""
        if opened.length == 0:
            return 0
        size = rows * opened.world
        left = opened.length - place.position
        first = left // size if opened.last == "drop" else -(-left // size)
        if self.epochs is None:
            return self.steps
        total = first + (self.epochs - 1) * opened.steps if self.epochs > 0 else 0
        return total if self.steps is None else min(total, self.steps)


class Loop:
    """A loop over a feed.

    Batches are taken, possibly ahead, and then handed to the user: only that counts.
    """

    def __init__(self, feed: "Feed", total: Optional[int]) -> None:
        self._feed = feed
        #: Batches that are still to be taken; None: without end.
        self.left = total
        #: Whether the makers stop at its end, or go on with the next epoch.
        self.limited = not feed._limits.plain
        #: Rows of the latest batch in the user's hands.
        self.samples = 0
        #: Epoch of the latest batch in the user's hands.
        self._epoch = feed._stream.ahead.epoch
        self._ended_epoch: Optional[int] = None
        #: What was dropped or masked in it.
        self._bad_line: Optional[str] = None
        self._failed = False
        self.superseded = False

    def take(self, block: bool = True) -> "Optional[Taken]":
        """The next batch; None after the last one, or, without ``block``, when it is not ready."""
        if self.left == 0:
            return None
        try:
            taken = self._feed._stream.take(block)
        except BaseException:
            self._failed = True
            raise
        if taken is not None and self.left is not None:
            self.left -= 1
        return taken

    def put_back(self, count: int) -> None:
        """Batches that were taken and can't be handed out: the next ones begin where the user stands."""
        if self.left is not None:
            self.left += count
        self._failed = True  # until that is done: a Ctrl-C may come in between
        self._feed._stream.go(self._feed._place, self.left if self.limited else None)
        self._failed = False

    def judge(self, bad: Sequence[Mapping[str, Any]]) -> None:
        """The user's turn has come to a batch: its bad samples count, and may end the run.

        Not the batch itself: an error that somebody keeps would keep it, and its slot.
        """
        try:
            for one in bad:
                self._feed._stream.judge(one)
        except BaseException:
            self._failed = True
            raise

    def hand(self, taken: "Taken") -> None:
        """From here on the state counts this batch."""
        feed = self._feed
        try:
            self._bad_line = feed._stream.judge_batch(taken)
        except BaseException:
            self._failed = True
            raise
        self._epoch = taken.epoch
        feed._place = taken.after
        feed._stats.batches += 1
        self.samples = taken.rows
        feed._stats.samples += self.samples
        if taken.after.epoch > taken.epoch:
            self._ended_epoch = taken.epoch

    def between(self) -> None:
        """The user asks for more: an epoch that ended with the last batch is summed up."""
        if self.superseded:  # what was taken ahead is of no use to anybody, either
            raise MillraceError("another loop over this feed has begun: this one is over")
        epoch, self._ended_epoch = self._ended_epoch, None
        if epoch is not None:
            self._feed._end_of_epoch(epoch, self._bad_line)

    def leave(self, finished: bool) -> None:
        """The loop is over: by its end, by ``break``, or by an exception."""
        if self.superseded:
            return
        feed = self._feed
        # After a `break` the next `for` begins the next epoch; a state loaded meanwhile goes before that.
        following = Place(self._epoch + 1, 0)
        moves = not finished and (self._failed or feed._stream.ahead != following)
        if moves and feed._move_to is None:
            feed._move_to = following
        self.superseded = True  # not before: a Ctrl-C may come in between
        if feed._loop is self:
            feed._loop = None
