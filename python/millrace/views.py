"""A view of a feed: the same batches, as arrays of one library, on one device.

Usable wherever a loader is. One loop at a time, in one thread; a loop that begins ends the one before it.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Deque, Dict, Iterator, Mapping, Optional, Sequence

from ._open.open_feeds import Opened, check_state
from ._stream.loop import Loop
from ._stream.run import Run
from ._view.carrier import Carrier, Staged
from .errors import DefinitionError, MillraceError


class View(Opened):
    """An iterable of batches with a length and a state; one ``for`` is one epoch."""

    def __init__(
        self, run: Run, carrier: Carrier, names: Optional[Sequence[str]] = None, feed: Any = None
    ) -> None:
        #: The feed that it is a view of, for ``stats()``, ``tune()`` and the like.
        self.feed = feed
        self._run = run
        self._carrier = carrier
        self._names = names
        #: Batches that are prepared beyond the one handed out.
        self.prefetch = carrier.prefetch
        known = [field.name for field in run.fields]
        missing = [name for name in names or () if name not in (*known, "valid", "ids", "positions")]
        if missing:
            raise DefinitionError(f"tuple: this feed has no field {missing[0]!r}; it has {', '.join(known)}")

    # ------------------------------------------------------------ iterating

    def __iter__(self) -> Iterator[Any]:
        return self._batches(self._run.turn())

    def _batches(self, turn: int) -> Iterator[Any]:
        carrier = self._carrier
        carrier.enter()
        consumer = self._run.consumer
        loop = self._run.begin(turn, carrier.record_end if carrier.by_events else None)
        staged: Deque[Staged] = deque()
        failure: Optional[MillraceError] = None
        finished = False
        try:
            while True:
                consumer.asked()
                loop.between()
                carrier.asked(loop)
                while failure is None and self._wants(staged) and carrier.has_room(staged):
                    try:
                        taken = loop.take(block=not staged)
                    except MillraceError as error:
                        failure = error  # raised in its turn, after the batches before it
                        break
                    if taken is None:
                        break
                    spoilt = self._run.stream.spoilt(taken)
                    staged.append(Staged(taken, taken.batch) if spoilt else carrier.load(taken))
                    del taken
                if not staged:
                    if failure is not None:
                        raise failure
                    break
                consumer.sent()
                if not carrier.arrives(loop, staged):
                    failure = None
                    continue
                # No name here refers to the batch while the user has it: dropping it there is enough.
                yield self._hand(loop, staged)
            finished = True
        finally:
            failure = None  # its traceback refers to what is here, slots among it
            if not loop.over:
                consumer.left()
            try:
                carrier.leave(staged)
            finally:
                loop.leave(finished)

    def _wants(self, staged: Deque[Staged]) -> bool:
        """Whether more are to be taken ahead; nothing comes after a batch that ends the run."""
        if staged and self._run.stream.spoilt(staged[-1].taken):
            return False
        return len(staged) <= self.prefetch

    def _hand(self, loop: Loop, staged: Deque[Staged]) -> Any:
        loop.judge(staged[0].taken.bad)
        one = staged.popleft()
        batch: Any = self._carrier.unload(one)
        if self._carrier.to_device:
            self._run.consumer.there()
        if self._run.batch_map is not None:
            batch = self._run.batch_map(batch)
        if self._names is not None:
            batch = tuple(batch[name] for name in self._names)
        loop.hand(one.taken)
        self._run.consumer.handed(one.taken, loop.samples)
        return batch

    # ------------------------------------------------------------ as a loader

    def __len__(self) -> int:
        """Steps of a loop over whole epochs."""
        return length(self._run)

    @property
    def dataset(self) -> Samples:
        """``len(loader.dataset)``: samples of an epoch, of all ranks together."""
        return Samples(self._run)

    @property
    def batch_size(self) -> int:
        """Rows of a batch on this rank; of batches by tokens, at most."""
        self._run.join()
        return self._run.rows

    def state_dict(self) -> Dict[str, Any]:
        """The feed's state."""
        return self._run.state()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a saved state, with the next loop."""
        check_state(state)
        self._run.load(state)

    def set_epoch(self, epoch: int) -> None:
        """The next loop is over this epoch."""
        self._run.set_epoch(epoch)

    def close(self) -> None:
        """Closes the feed."""
        self._run.close()

    def __repr__(self) -> str:
        return f"<View of {self.feed!r}>"


def length(run: Run) -> int:
    """Steps of a loop over whole epochs."""
    total = run.steps()
    if total is None:
        raise TypeError(
            "this feed never ends: it has no length. Loops over shuffled tokens go on through epochs: "
            "open(epochs=1) ends after one, and so does .sequential(), open(steps=N) after N steps"
        )
    return total


class Samples(Opened):
    """``loader.dataset``, for code that asks how many samples there are."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __len__(self) -> int:
        """Samples of an epoch, of all ranks together."""
        return self._run.stream.opened.length
