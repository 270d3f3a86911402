"""A user's own dataset as a source: ``millrace.dataset(obj)``.

    train = millrace.dataset(torchvision.datasets.CIFAR10(root, transform=augment))
    for x, y in train.shuffle(seed=7).batch(256).open().torch(tuple=("x", "y")):
        ...

It runs in Python processes of the engine, one for each worker. Before every sample the generators that it
draws from are seeded from the feed's seed, the epoch and the sample's position, so that a sample is the same
in every process, and another one in the next epoch.
"""

from __future__ import annotations

import mmap
import time
import warnings
from typing import Any, Callable, Dict, Mapping, Optional, Sequence

from .._data.payload import write_payload
from .._data.worker_random import Seeds, generator
from .._data.worker_values import Room, as_array, pack
from .._generated.dtypes import NUMPY
from .._open.open_feeds import Opened
from .feed import Builder

#: Element types of the engine, by NumPy's names for them. Elements of bf16 come as others.
_DTYPES = {name.lstrip("<"): kind for kind, name in NUMPY.items() if kind not in ("bf16", "bool")}
_DTYPES["b1"] = "bool"
#: The first sample is made twice, for comparison, where that takes less than this (seconds).
_COMPARED_WITHIN = 1.0


class DatasetBuilder(Builder):
    """A feed whose source is a dataset in Python. Without fields of its own it has those of the first
    sample."""

    _dataset: "_Dataset"

    def json(self) -> Dict[str, Any]:
        if "fields" in self._parts:
            return super().json()
        return self._with(fields=self._dataset.guess()).json()


def dataset(
    obj: Any,
    *,
    name: Optional[str] = None,
    columns: Optional[Sequence[str]] = None,
    count: Optional[int] = None,
    map: Optional[Callable[[Any, Any], Any]] = None,
) -> DatasetBuilder:
    """Any dataset as a source.

    ``obj`` has ``__len__`` and ``__getitem__``; or it is an iterable, which is gone through in its own order,
    from the beginning again when a run is resumed, and which says its length or is given a ``count``; or it
    is a function that returns such an iterable. A sample is a dict of columns; or a tuple, whose columns are
    called "0", "1", … or as ``columns`` says; or a single value. Values are numbers, text, bytes, arrays,
    tensors and pictures.

    ``map(sample, rng)`` is applied to every sample where it is made. ``name`` and the number of samples are
    all that tells this dataset from others when a state is loaded.
    """
    wrapped = _Dataset(obj, columns, count, map)
    path, hash = write_payload("dataset", wrapped.payload(), name or type(obj).__name__)
    wrapped.compare()
    source = {
        "payload": path,
        "hash": hash,
        "count": wrapped.count,
        "name": name or type(obj).__qualname__,
        "columns": list(wrapped.columns()),
        "iterable": wrapped.iterable or None,
    }
    builder = DatasetBuilder({"source": {"python": {key: v for key, v in source.items() if v is not None}}})
    builder._dataset = wrapped
    return builder


class _Dataset:
    """A dataset, and what its first sample shows of it."""

    def __init__(self, obj: Any, columns: Optional[Sequence[str]], count: Optional[int], map: Any) -> None:
        self.obj = obj
        self.names = list(columns) if columns is not None else None
        self.map = map
        self.iterable = not _map_style(obj)
        self.count = _count(obj, count, self.iterable)
        self._seeds = Seeds(obj, map)
        self._first: Optional[Mapping[str, Any]] = None

    def payload(self) -> Dict[str, Any]:
        count = self.count if self.iterable else None
        return {"dataset": self.obj, "columns": self.names, "map": self.map, "count": count}

    def columns(self) -> Sequence[str]:
        # The names of a dict's columns are its keys.
        if self.names is not None and self.map is None:
            return self.names
        return list(self.first())

    def first(self) -> Mapping[str, Any]:
        """The first sample, as columns."""
        if self._first is None:
            with self._seeds.kept():
                self._first = self._make()
        return self._first

    def compare(self) -> None:
        """Makes the first sample twice with the same seeds, and warns if it differs."""
        begun = time.monotonic()
        try:
            with self._seeds.kept():
                first = self._first = self._make()
                again = self._make() if time.monotonic() - begun < _COMPARED_WITHIN else first
            differ = [name for name in {**first, **again} if _bytes(first, name) != _bytes(again, name)]
        except Exception:
            return  # the run says it, unless its on_error leaves the sample out
        if differ:
            warnings.warn(
                f"{type(self.obj).__name__}: sample 0 was made twice with the same seeds, and its "
                f"{differ[0]!r} differs: batches will depend on the number of workers, and change after a "
                "resume. It draws from what Millrace can't seed, such as the clock, os.urandom or a "
                "generator within a library. docs/start.md says what is seeded, and how to seed "
                "other generators",
                stacklevel=3,
            )

    def _make(self) -> Mapping[str, Any]:
        def make() -> Any:
            if self.iterable:
                sample = next(iter(self.obj if hasattr(self.obj, "__iter__") else self.obj()))
            else:
                sample = self.obj[0]
            return sample if self.map is None else self.map(sample, generator(0))

        return _columns(self._seeds.run(0, make), self.names)

    def guess(self) -> Dict[str, Any]:
        """Fields for all columns, by what the first sample has in them."""
        first = self.first()
        if self.names is None and list(first) == ["0"]:
            called = ["x"]
        elif self.names is None and list(first) == ["0", "1"]:
            called = ["x", "y"]
        else:
            called = [name if name[:1].isalpha() else f"x{name}" for name in first]
        return {field: _field(column, first[column]) for field, column in zip(called, first)}


def _bytes(sample: Mapping[str, Any], name: str) -> Any:
    """A column as the engine gets it."""
    room = Room(mmap.mmap(-1, 1), (0, 0))
    return pack(sample.get(name), room), list(map(bytes, room.buffers))


def _map_style(obj: Any) -> bool:
    kind = type(obj)
    if isinstance(obj, Mapping):
        raise TypeError("a dataset is asked for samples by number, and a dict is not: give list(d.items())")
    if isinstance(obj, (Builder, Opened)):
        raise TypeError("a feed or a view gives batches: millrace.dataset takes what gives samples")
    if kind.__name__ == "DataLoader":
        raise TypeError("give the DataLoader's dataset: batching and shuffling are Millrace's")
    if hasattr(kind, "__next__"):
        raise TypeError(
            f"a {kind.__name__} is used up after one epoch: give an object whose __iter__ begins anew, "
            "or the function that makes it"
        )
    # PyTorch's IterableDataset inherits a __getitem__ that only raises.
    iterable = any(base.__name__ == "IterableDataset" for base in kind.__mro__)
    if hasattr(kind, "__getitem__") and hasattr(kind, "__len__") and not iterable:
        return True
    if hasattr(kind, "__iter__") or callable(obj):
        return False
    raise TypeError(f"a dataset has __len__ and __getitem__, or __iter__; {kind.__name__} has neither")


def _count(obj: Any, count: Optional[int], iterable: bool) -> int:
    if not iterable:
        if count is not None:
            raise TypeError("count is for iterables: this dataset has a length")
        count = len(obj)
    elif count is None:
        try:
            count = len(obj)
        except (TypeError, NotImplementedError):
            raise TypeError(
                f"how many samples has {type(obj).__name__} in an epoch? It has no len(): give count=…"
            ) from None
    if count < 1:
        raise ValueError("the dataset is empty")
    return int(count)


def _columns(sample: Any, names: Optional[Sequence[str]]) -> Dict[str, Any]:
    """As the Python processes do it."""
    if isinstance(sample, Mapping):
        return {str(name): value for name, value in sample.items() if value is not None}
    parts = list(sample) if isinstance(sample, (tuple, list)) else [sample]
    names = names or getattr(sample, "_fields", None) or [str(i) for i in range(len(parts))]
    if len(names) != len(parts):
        raise ValueError(
            f"there are {len(names)} names for the {len(parts)} parts of a sample: {list(names)}"
        )
    return {name: value for name, value in zip(names, parts) if value is not None}


def _field(column: str, value: Any) -> Dict[str, Any]:
    """The field that holds values like this one."""
    import numpy as np

    array = None if isinstance(value, (bool, int, float, str, bytes)) else as_array(value)
    if array is None and isinstance(value, (list, tuple)):
        array = np.asarray(value)
    if array is not None and array.ndim == 0:
        value, array = array.item(), None
    if array is not None and array.dtype.str[1:] in _DTYPES:
        return {
            "from": column,
            "as": "npy",
            "shape": list(array.shape),
            "dtype": _DTYPES[array.dtype.str[1:]],
        }
    if array is None:
        for kind, name in ((bool, "int"), (int, "int"), (float, "float"), (str, "text")):
            if isinstance(value, kind):
                return {"from": column, "as": name}
    raise TypeError(
        f'column "{column}" holds a value of type {type(value).__name__}, for which no field can be guessed: '
        "say what it should be with .fields(...)"
    )
