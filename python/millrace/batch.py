"""A batch: a dict of its fields, whose arrays lie in shared memory, and what is known about it besides."""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

import numpy as np


class Ragged(NamedTuple):
    """Rows of varying length, one after the other: row i is ``values[offsets[i]:offsets[i + 1]]``."""

    values: Any
    offsets: Any

    def row(self, i: int) -> Any:
        """One row."""
        return self.values[int(self.offsets[i]) : int(self.offsets[i + 1])]

    @property
    def lengths(self) -> Any:
        """Length of each row."""
        return self.offsets[1:] - self.offsets[:-1]


class About:
    """What is known of a batch besides its fields."""

    __slots__ = (
        "count",
        "epoch",
        "fillers",
        "lengths",
        "name",
        "names",
        "pointers",
        "position",
        "positions",
        "rows",
        "step",
        "valid",
    )

    def __init__(self, name: Callable[[int, List[int]], List[str]]) -> None:
        self.name = name
        self.names: Optional[List[str]] = None
        self.count = 0
        self.epoch = 0
        self.step = 0
        self.position = 0
        self.positions: Any = None
        #: Numbers of the rows in their source; only where a device makes fields of them.
        self.rows: Any = None
        self.valid: Any = None
        self.fillers: Any = None
        self.lengths: Dict[str, Any] = {}
        self.pointers: Dict[str, int] = {}

    def ids(self) -> List[str]:
        """Names of the samples: asked of the engine when they are first looked at."""
        if self.names is None:
            self.names = self.name(self.epoch, [int(p) for p in self.positions[~self.fillers]])
        return self.names


#: What ``batch["…"]`` knows besides the fields. Not among the keys: ``model(**batch)`` gets the fields alone.
ABOUT = ("ids", "positions", "count", "epoch", "step", "position", "valid")


class Batch(Dict[str, Any]):
    """The fields by name; besides them ``ids``, ``positions``, ``count``, ``epoch``, ``step`` and ``valid``.

    Those are there as ``batch["ids"]`` or ``batch.ids``, but not among the keys, so that what maps over a
    batch or passes it on sees the fields alone. ``valid`` is a field as well where rows can be invalid
    (``last: pad``, ``onError: mask``). Text is decoded, and ``ids`` are asked for, when they are first looked
    at.
    """

    def __init__(self, *fields: Any, about: Optional[About] = None, **more: Any) -> None:
        super().__init__(*fields, **more)
        source = fields[0] if fields else None
        self._about: Optional[About] = about or (source._about if isinstance(source, Batch) else None)
        self._later: Dict[str, Callable[[], Any]] = {}

    def later(self, name: str, make: Callable[[], Any]) -> None:
        """A field that is made when it is first looked at."""
        super().__setitem__(name, None)
        self._later[name] = make

    def mapped(self, make: Callable[[str, Any], Any]) -> "Batch":
        """The same batch with ``make(field, array)`` in the place of every array. Text stays as it is."""
        new = Batch(about=self._about)
        for name in self:
            if name in self._later:
                new.later(name, self._later[name])
                continue
            value = dict.__getitem__(self, name)
            if isinstance(value, Ragged):
                value = Ragged(make(name, value.values), make(name, value.offsets))
            elif hasattr(value, "dtype"):
                value = make(name, value)
            new[name] = value
        return new

    def to(self, *where: Any, **how: Any) -> "Batch":
        """The same batch with its tensors on a device, as ``Tensor.to`` takes it.

        What has no such method stays: text, arrays of NumPy and JAX.
        """
        return self.mapped(lambda _, array: array.to(*where, **how) if hasattr(array, "to") else array)

    def settled(self) -> "Batch":
        """The same batch, with everything made that would be made later: it may leave its slot."""
        self._make()
        return self

    # ------------------------------------------------------------ a dict, with some values made late

    def __getitem__(self, name: str) -> Any:
        if name in self._later:
            super().__setitem__(name, self._later.pop(name)())
        elif name not in self.keys() and name in ABOUT:
            return getattr(self, name)
        return super().__getitem__(name)

    def __missing__(self, name: str) -> Any:
        raise KeyError(f"the batch has no field {name!r}; it has {', '.join(self)}")

    def __setitem__(self, name: str, value: Any) -> None:
        self._later.pop(name, None)
        super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        self._later.pop(name, None)
        super().__delitem__(name)

    def __iter__(self) -> Iterator[str]:
        # Its being here makes dict(batch) and {**batch} go through __getitem__.
        return super().__iter__()

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a field, or what is known under that name."""
        try:
            return self[name]
        except (KeyError, AttributeError):
            return default

    def pop(self, name: str, *default: Any) -> Any:
        """Takes a field out."""
        if name in self._later:
            self[name]
        return super().pop(name, *default)

    def values(self) -> Any:
        """The values of the fields."""
        self._make()
        return super().values()

    def items(self) -> Any:
        """The fields by name."""
        self._make()
        return super().items()

    def copy(self) -> "Batch":
        """A dict of the same values."""
        self._make()
        return Batch(self)

    def __eq__(self, other: object) -> bool:
        self._make()
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __reduce__(self) -> Any:
        return dict, (dict(self.items()),)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {describe(value)}" for name, value in self.items())
        where = "" if self._about is None else f" of epoch {self.epoch}, step {self.step}"
        return f"<Batch{where}: {shown}>"

    def _make(self) -> None:
        for name in list(self._later):
            self[name]

    # ------------------------------------------------------------ about it

    @property
    def ids(self) -> List[str]:
        """Stable names of the samples, fillers left out."""
        return about_of(self).ids()

    @property
    def positions(self) -> Any:
        """Position of each row in the epoch."""
        return about_of(self).positions

    @property
    def valid(self) -> Any:
        """False for fillers (``last: pad``) and masked rows (``onError: mask``)."""
        return about_of(self).valid

    @property
    def count(self) -> int:
        """Rows in this batch."""
        return about_of(self).count

    @property
    def epoch(self) -> int:
        """Epoch that it belongs to."""
        return about_of(self).epoch

    @property
    def step(self) -> int:
        """Step within the epoch: its position by the rows of a step, also where the run was resumed."""
        return about_of(self).step

    @property
    def position(self) -> int:
        """Position in the epoch at which its step begins, over all ranks."""
        return about_of(self).position

    @property
    def device_pointers(self) -> Dict[str, int]:
        """Where the arrays that the device stage made lie on the device."""
        return about_of(self).pointers

    def mask(self, name: str) -> Any:
        """Of a padded field: 1 where a row has a value, 0 where it is filled up: i64 [rows, n]."""
        lengths = about_of(self).lengths.get(name)
        if lengths is None:
            raise KeyError(f"{name} is not padded: only padded fields have a mask")
        value = self[name]
        mask = (np.arange(value.shape[1]) < lengths[:, None]).astype(np.int64)
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            return torch.from_numpy(mask).to(value.device)
        return mask

    def lengths(self, name: str) -> Any:
        """Length of each row of a padded or ragged field."""
        value = dict.__getitem__(self, name)
        return value.lengths if isinstance(value, Ragged) else about_of(self).lengths[name]


def about_of(batch: Batch) -> About:
    """What is known of a batch besides its fields."""
    if batch._about is None:
        raise AttributeError("this is a copy of a batch, which knows only its fields")
    return batch._about


def describe(value: Any) -> str:
    """A value in one word: f32[256, 3, 224, 224]."""
    if isinstance(value, Ragged):
        return f"ragged {describe(value.values)} in {len(value.offsets) - 1} rows"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{value.dtype}{list(value.shape)}"
    return f"{len(value)} × {type(value[0]).__name__}" if isinstance(value, list) and value else repr(value)


def decode(values: "np.ndarray[Any, Any]", offsets: "np.ndarray[Any, Any]") -> List[str]:
    """Strings from UTF-8 bytes, one after the other."""
    bounds = offsets.tolist()
    data = values[: bounds[-1]].tobytes()
    if data.isascii():
        text = data.decode("ascii")
        return [text[a:b] for a, b in zip(bounds, bounds[1:])]
    return [data[a:b].decode("utf8", "replace") for a, b in zip(bounds, bounds[1:])]
