"""How batches get from their slots into the user's hands. A view has one carrier, for one library and device.

    ring ──take──► load ──► Staged … Staged ──► arrives ──► unload ──► the user
                      at most `prefetch` ahead

Threads: a carrier is used by the thread that loops. ``leave`` may also be called by the garbage collector, in
any thread and in the middle of another call, and in a forked child.
"""

from __future__ import annotations

from typing import Any, Callable, Deque, Dict, Set

from .._stream.loop import Loop
from .._stream.reading import Taken
from .._stream.run import Run
from ..batch import Batch


class Staged:
    """A batch on its way to the user: as it left the ring, and what becomes of it."""

    __slots__ = ("fields", "on_stage", "taken", "ticket")

    def __init__(self, taken: Taken, fields: Batch, ticket: Any = None, on_stage: bool = False) -> None:
        self.taken = taken
        self.fields = fields
        #: By which a copy to a device is known to be done: an event, or a ticket of the device stage.
        self.ticket = ticket
        self.on_stage = on_stage


class Carrier:
    """The carrier of NumPy: arrays stay where they are, in the slot. Others override what differs."""

    #: Batches that are prepared beyond the one handed out.
    prefetch = 0
    #: Whether batches go to a device: what is waited for after they were taken is the transfer.
    to_device = False
    #: Whether events on the trainer's stream tell how long steps take, not the host's clock.
    by_events = False

    def __init__(self, run: Run) -> None:
        self.run = run

    def enter(self) -> None:
        """A loop is about to begin. Here everything is made by the engine, which says so if it can't."""
        self.run.stream.decode_on("cpu", None)

    def asked(self, loop: Loop) -> None:
        """The user comes for the next batch."""

    def load(self, taken: Taken) -> Staged:
        """Makes a batch of the library's arrays, or begins to."""
        return Staged(taken, taken.batch)

    def arrives(self, loop: Loop, staged: Deque[Staged]) -> bool:
        """Whether the first of them can be handed out. False: all of them were put back, to be made anew."""
        return True

    def unload(self, staged: Staged) -> Batch:
        """The batch, as the user may use it from now on."""
        return staged.fields

    def record_end(self) -> None:
        """With ``by_events``: the user says that a step is over."""

    def has_room(self, staged: Deque[Staged]) -> bool:
        """Whether another batch may be taken ahead."""
        return not staged or self.run.stream.room

    def leave(self, staged: Deque[Staged]) -> None:
        """The loop is over; these were never handed out."""
        staged.clear()


class Mapped(Carrier):
    """Each array becomes one of another library, on the same memory."""

    def __init__(self, run: Run, make: Callable[[str, Any], Any]) -> None:
        super().__init__(run)
        self._make = make

    def load(self, taken: Taken) -> Staged:
        return Staged(taken, taken.batch.mapped(self._make))


class Copied(Mapped):
    """Each array becomes one on a device. When it is made, nothing refers to the slot any more."""

    to_device = True

    def load(self, taken: Taken) -> Staged:
        return Staged(taken, taken.batch)

    def unload(self, staged: Staged) -> Batch:
        staged.fields = staged.taken.batch = staged.taken.batch.settled().mapped(self._make)
        return staged.fields


def kinds_of(run: Run) -> Dict[str, str]:
    """Element types by field, as the definition calls them."""
    return {field.name: field.device["dtype"] if field.device else field.kind for field in run.fields}


def images_of(run: Run) -> Set[str]:
    """Names of the fields that are images."""
    return {field.name for field in run.fields if field.layout or field.device}
