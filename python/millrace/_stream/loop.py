"""One ``for``: which batches belong to it, and where the run stands when it is over."""

from __future__ import annotations

from operator import index
from typing import Any, Mapping, Optional, Sequence, SupportsIndex, Union

from .._client.client import Opened, Place
from ..errors import DefinitionError, MillraceError
from .epoch_line import EpochLine
from .reading import Taken
from .stats import Stats
from .stream import Stream

#: Of an iterator that another one has taken the place of.
OVER = "another loop over this feed has begun: this one is over"


class Once:
    """The default of ``epochs``: None means that a loop never ends."""

    def __repr__(self) -> str:
        return "1"


ONCE = Once()


def check_limits(epochs: object, steps: object, tokens: object) -> None:
    """Refuses what is no number of epochs, steps or tokens."""
    for name, given, least in (("epochs", epochs, 0), ("steps", steps, 0), ("tokens", tokens, 1)):
        if given is None or isinstance(given, Once):
            continue
        if isinstance(given, bool) or not isinstance(given, SupportsIndex) or index(given) < least:
            raise DefinitionError(f"{name}: expected a whole number from {least}, not {given!r}")


class Limits:
    """How much one loop covers: ``epochs`` (None: no end) and at most ``steps``. By default one epoch."""

    @staticmethod
    def of(
        epochs: Union[int, None, Once], steps: Optional[int], tokens: Optional[int], opened: Opened, rows: int
    ) -> "Limits":
        """What the options say for this feed. Loops over shuffled tokens go on through epochs; Megatron's
        order has one."""
        row_tokens = opened.row_tokens
        if tokens is not None:
            a_batch = None if row_tokens is None else row_tokens * rows
            if opened.bins is not None:
                a_batch = opened.bins  # which is full, or nearly so
            if a_batch is None:
                raise DefinitionError("tokens: only a feed of tokens ends after tokens: give steps")
            enough = -(-tokens // (a_batch * opened.world))
            steps = enough if steps is None else min(steps, enough)
        if opened.once:
            if isinstance(epochs, int) and epochs > 1:
                raise DefinitionError("epochs: Megatron's order goes once through the samples of its run")
            return Limits(epochs if isinstance(epochs, int) else 1, steps, False)
        endless = epochs is None or (isinstance(epochs, Once) and opened.endless)
        return Limits(None if isinstance(epochs, Once) else epochs, steps, endless)

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
        return self.least(first + (self.epochs - 1) * opened.steps if self.epochs > 0 else 0)

    def least(self, total: int) -> int:
        """Steps of a loop whose epochs have so many together."""
        return total if self.steps is None else min(total, self.steps)


class Standing:
    """Where a run stands. The run and its present loop share it."""

    def __init__(self, place: Place) -> None:
        #: After the batches in the user's hands: what the state says.
        self.place = place
        #: Where the next loop begins, when that is not where the stream stands.
        self.move_to: Optional[Place] = None
        #: Where a loop was left that counts as an epoch, until the next one begins.
        self.left: Optional[Place] = None
        #: Whether batches were handed out that count: not those of the first look.
        self.counts = False


class Loop:
    """One ``for`` over a feed. Batches are taken, possibly ahead, then handed to the user: only that counts.

    Used by the thread that loops; ``leave`` may come from any thread, by the garbage collector (see run.py).
    """

    def __init__(
        self,
        stream: Stream,
        stats: Stats,
        standing: Standing,
        epoch_line: Optional[EpochLine],
        total: Optional[int],
        limited: bool,
    ) -> None:
        self._stream = stream
        self._stats = stats
        self._standing = standing
        self._epoch_line = epoch_line
        #: Batches that are still to be taken; None: without end.
        self.left = total
        #: Whether the workers stop at its end, or go on with the next epoch.
        self.limited = limited
        #: Rows of the latest batch in the user's hands.
        self.samples = 0
        #: Where it began, whether it is the run's first, and how many batches it has handed out.
        self._began = stream.ahead
        self._first = stats.batches == 0
        self._handed = 0
        #: Whether it has ended, was left, or another one has begun.
        self.over = False
        #: Epoch of the latest batch in the user's hands.
        self._epoch = stream.ahead.epoch
        self._ended_epoch: Optional[int] = None
        #: What was dropped or masked in it.
        self._bad_line: Optional[str] = None
        #: Whether an exception or a Ctrl-C left the stream at a place that nothing tells of.
        self._failed = False

    @property
    def limit(self) -> Optional[int]:
        """How many more batches the workers are to make; None: they go on with the next epoch."""
        return self.left if self.limited else None

    def take(self, block: bool = True) -> Optional[Taken]:
        """The next batch; None after the last one, or, without ``block``, when it is not ready."""
        if self.left == 0:
            return None
        try:
            taken = self._stream.take(block)
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
        self._stream.go(self._standing.place, self.limit)
        self._failed = False

    def judge(self, bad: Sequence[Mapping[str, Any]]) -> None:
        """The user's turn has come to a batch: its bad samples count, and may end the run.

        Not given the batch itself: an error that the user keeps would keep it, and its slot.
        """
        try:
            for one in bad:
                self._stream.judge(one)
        except BaseException:
            self._failed = True
            raise

    def hand(self, taken: Taken) -> None:
        """From here on the state counts this batch."""
        try:
            self._bad_line = self._stream.judge_batch(taken)
        except BaseException:
            self._failed = True
            raise
        self._epoch = taken.epoch
        self._standing.place = taken.after
        self.samples = taken.rows
        self._handed += 1
        self._stats.handed(self.samples)
        if taken.after.epoch > taken.epoch:
            self._ended_epoch = taken.epoch

    def between(self) -> None:
        """The user asks for more: an epoch that ended with the last batch is summed up."""
        if self.over:  # batches that were taken ahead are of no use any more, either
            raise MillraceError(OVER)
        epoch, self._ended_epoch = self._ended_epoch, None
        if epoch is not None and self._epoch_line is not None:
            self._epoch_line.say(epoch, self._bad_line)

    def leave(self, finished: bool) -> None:
        """The loop is over: by its end, by ``break``, or by an exception.

        One that is left counts as an epoch, but for the run's first after one batch: everybody takes a look.
        """
        if self.over:
            return
        standing = self._standing
        look = self._first and self._handed == 1 and not (finished or self._failed)
        following = self._began if look else Place(self._epoch + 1, 0)
        moves = not finished and (self._failed or self._stream.ahead != following)
        # A state that was loaded meanwhile goes before that.
        if moves and standing.move_to is None:
            standing.move_to = following
            standing.left = None if look or standing.place == following else standing.place
        standing.counts = standing.counts or not look
        self.over = True  # last: a Ctrl-C may come in between
