"""A user's dataset in a Python process of the engine: by row, or by passing through an iterable. Imported by
worker.py as a neighbour, like worker_values.py.
"""

from __future__ import annotations

from worker_random import Seeds, generator
from worker_values import pack_columns

TYPE_CHECKING = False  # typing's own, without the time that it takes to load typing
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, Optional, Sequence

    from numpy.random import Generator
    from worker_values import Room, WireValue

    Function = Callable[[Any, Generator], Any]
    Ask = Dict[str, Any]


class Dataset:
    """A dataset of the user's, by row. ``count`` is given for iterables only."""

    def __init__(
        self,
        dataset: Any,
        names: Optional[Sequence[str]],
        function: Optional[Function],
        count: Optional[int],
    ) -> None:
        self._dataset = dataset
        self._names = names
        self._function = function
        self._count = count
        self._seeds = Seeds(dataset, function)
        self._epoch: Optional[int] = None
        self._passes: Dict[int, _Pass] = {}

    def columns(self, ask: Ask, room: Room) -> Dict[str, WireValue]:
        """The columns of the row that is asked for."""
        row, epoch = ask["row"], ask["epoch"]
        key = int(ask["key"], 16)
        if epoch != self._epoch and hasattr(self._dataset, "set_epoch"):
            self._dataset.set_epoch(epoch)
            self._seeds.stale = True
        self._epoch = epoch
        if self._count is not None:
            sample = self._changed(self._pass(ask["stream"], epoch, row).go(row), key)
        else:
            sample = self._seeds.run(key, lambda: self._changed(self._dataset[row], key))
        return pack_columns(sample, ask["columns"], room, self._names)

    def _changed(self, sample: Any, key: int) -> Any:
        return sample if self._function is None else self._function(sample, generator(key))

    def _pass(self, stream: int, epoch: int, row: int) -> _Pass:
        """The pass that leads to a row: a new one when the row is behind, or the epoch another one."""
        going = self._passes.get(stream)
        if going is None or going.epoch != epoch or row < going.row:
            going = self._passes[stream] = _Pass(self._dataset, self._count, epoch, self._seeds)
        return going


class _Pass:
    """One way through an iterable, from its beginning."""

    def __init__(self, dataset: Any, count: Optional[int], epoch: int, seeds: Seeds) -> None:
        self.epoch = epoch
        self.row = 0
        self._count = count
        self._seeds = seeds
        seeds(epoch + 1)
        self._iterator: Iterator[Any] = iter(dataset if hasattr(dataset, "__iter__") else dataset())

    def go(self, row: int) -> Any:
        """The sample of a row that is not behind."""
        while True:
            # Rows that are passed over draw the same random numbers as those that are wanted.
            self._seeds(((self.epoch + 1) << 64) + self.row)
            self.row += 1
            try:
                sample = next(self._iterator)
            except StopIteration:
                passed, self.row = self.row - 1, row + 1
                self._iterator = iter(())  # what comes after fails at once
                raise ValueError(
                    f"the iterable ended after {passed} samples, but {self._count} were announced; "
                    "a generator also ends at its first error"
                ) from None
            except Exception:
                if self.row > row:
                    raise
                continue  # it was the error of a row that this process was not asked for
            if self.row > row:
                return sample
