"""A user's dataset in a Python process of the engine: by row, or by passing through an iterable.

Also the seeds that make a sample the same in every process. Imported by worker.py as a neighbour, like
worker_values.py.
"""

from __future__ import annotations

import sys

from worker_values import pack_columns

TYPE_CHECKING = False  # typing's own, without the time that it takes to load typing
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, Optional, Sequence

    from numpy.random import Generator
    from worker_values import Room, WireValue

    Function = Callable[[Any, Generator], Any]
    Ask = Dict[str, Any]


def seed(key: int) -> None:
    """Seeds every global generator that is loaded, so that a sample is the same in every process."""
    if "random" in sys.modules:
        sys.modules["random"].seed(key)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(key & 0xFFFFFFFF)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "default_generator"):
        torch.default_generator.manual_seed(key >> 65)  # 63 bits; torch.manual_seed would bother CUDA as well


def generator(key: int) -> Generator:
    """The generator that a user's function gets."""
    import numpy as np

    return np.random.Generator(np.random.Philox(key=key))


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
        self._epoch: Optional[int] = None
        self._passes: Dict[int, _Pass] = {}

    def columns(self, ask: Ask, room: Room) -> Dict[str, WireValue]:
        """The columns of the row that is asked for."""
        row, epoch = ask["row"], ask["epoch"]
        key = int(ask["key"], 16)
        if epoch != self._epoch and hasattr(self._dataset, "set_epoch"):
            self._dataset.set_epoch(epoch)
        self._epoch = epoch
        if self._count is None:
            seed(key)
            sample = self._dataset[row]
        else:
            sample = self._pass(ask["stream"], epoch, row).go(row)
        if self._function is not None:
            sample = self._function(sample, generator(key))
        return pack_columns(sample, ask["columns"], room, self._names)

    def _pass(self, stream: int, epoch: int, row: int) -> _Pass:
        """The pass that leads to a row: a new one when the row is behind, or the epoch another one."""
        going = self._passes.get(stream)
        if going is None or going.epoch != epoch or row < going.row:
            going = self._passes[stream] = _Pass(self._dataset, self._count, epoch)
        return going


class _Pass:
    """One way through an iterable, from its beginning."""

    def __init__(self, dataset: Any, count: Optional[int], epoch: int) -> None:
        self.epoch = epoch
        self.row = 0
        self._count = count
        seed(epoch + 1)
        self._iterator: Iterator[Any] = iter(dataset if hasattr(dataset, "__iter__") else dataset())

    def go(self, row: int) -> Any:
        """The sample of a row that is not behind."""
        while True:
            # Rows that are passed over draw the same random numbers as those that are wanted.
            seed(((self.epoch + 1) << 64) + self.row)
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
