"""From a slot to a batch: arrays on the slot itself, or copies where slots are short."""

from __future__ import annotations

from typing import Any, Callable, List, Mapping, Optional, Sequence

import numpy as np

from .._client.client import Client, Place
from .._client.layout import Field
from .._generated.slot_words import Header, RowStatus, Stamp
from ..batch import About, Batch, Ragged, about_of, decode


class Taken:
    """A batch that has left the ring, and where a run goes on after it."""

    __slots__ = ("after", "bad", "batch", "complete", "epoch", "number", "ring", "samples", "slot")

    def __init__(self, batch: Batch, epoch: int, after: Place, slot: Optional[int] = None) -> None:
        self.batch = batch
        self.epoch = epoch
        self.after = after
        #: The slot it lies in; None where it is a copy.
        self.slot = slot
        #: Its bad samples, as the engine told of them.
        self.bad: Sequence[Mapping[str, Any]] = ()
        #: Its number in its ring, and the ring's in the spans of this process.
        self.number, self.ring = -1, 0
        #: Samples planned for it, those included: fillers are none.
        self.samples = 0
        #: When the makers had completed it (seconds of ``time.monotonic``).
        self.complete = 0.0

    @property
    def rows(self) -> int:
        """Rows that are samples."""
        about = about_of(self.batch)
        return int(about.count - about.fillers.sum())


def read(client: Client, slot: int, copy: bool, name: Callable[[int, List[int]], List[str]]) -> Taken:
    """The batch in a slot. From here on the slot is leased, until nothing refers to the arrays any more."""
    memory, layout = client.memory, client.memory.layout
    lease = memory.lease(slot)
    client.leases.add(slot, lease)
    head, stamps, columns = memory.head(slot), memory.stamps(slot), memory.columns(slot)

    about = About(name)
    about.count = count = head[Header.COUNT]
    about.epoch = int(stamps[Stamp.EPOCH])
    about.step = int(stamps[Stamp.STEP])
    about.position = int(stamps[Stamp.POSITION])
    about.positions = np.ndarray((count,), "<f8", columns, layout.position_at).astype(np.int64)
    status: np.ndarray[Any, Any] = np.ndarray((count,), np.uint8, columns, layout.status_at)
    about.valid = status == RowStatus.GOOD
    about.fillers = status == RowStatus.FILLER

    made = layout.generated
    if made:
        about.rows = np.ndarray((count,), "<f8", columns, layout.row_at).astype(np.int64)
    batch = Batch(about=about)
    for field in layout.fields:
        if field.name not in made:
            _add(batch, about, field, head, columns, lease, copy)
    if client.opened.last == "pad" or client.opened.policy == "mask":
        batch.setdefault("valid", about.valid)
    after = Place(int(stamps[Stamp.NEXT_EPOCH]), int(stamps[Stamp.NEXT_POSITION]))
    taken = Taken(batch, about.epoch, after, None if copy else slot)
    taken.complete = float(stamps[Stamp.COMPLETED])
    return taken


def _add(
    batch: Batch, about: About, field: Field, head: Any, columns: memoryview, lease: Any, copy: bool
) -> None:
    def array(shape: Any, dtype: Any, offset: int) -> Any:
        view: np.ndarray[Any, Any] = np.ndarray(shape, dtype, lease, offset)
        return view.copy() if copy else view

    name, count = field.name, about.count
    if field.form == "dense":
        shape = (count * field.shape[0],) if field.flat else (count, *field.shape)
        batch[name] = array(shape, field.dtype, field.at)
        return
    length = head[Header.CURSOR + field.index]
    if field.form == "padded":
        batch[name] = array((count, length, *field.shape), field.dtype, field.at)
        about.lengths[name] = np.ndarray((count,), "<i4", columns, field.length_at).copy()
        return
    values = array((length, *field.shape), field.dtype, field.at)
    # A copy: the memory can't be written, and tensors on it could.
    offsets: np.ndarray[Any, Any] = np.ndarray((count + 1,), "<i4", columns, field.offsets_at).copy()
    if field.form == "text":
        batch.later(name, lambda: decode(values, offsets))
    else:
        batch[name] = Ragged(values, offsets)
