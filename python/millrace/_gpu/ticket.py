"""What goes into the device stage (HostBatch), and what its submitter gets for it (Ticket).

The stage's thread fills a ticket and completes it; the submitter reads it after ``wait``. The event inside is
all that the two share."""

from __future__ import annotations

import threading
from typing import Any, Collection, Dict, Hashable, List, Mapping, NamedTuple, Optional, Sequence

from .._cuda.events import Event
from .generate import Made
from .slot import Redo


class HostArray(NamedTuple):
    """A field, or a part of one, in the slot. ``kind`` is its element type as the definition calls it."""

    name: Hashable
    values: Any
    kind: str


class HostBatch(NamedTuple):
    """A leased batch. The stage keeps its arrays until nothing of the slot is needed any more."""

    arrays: Sequence[HostArray]
    #: For rows that the GPU refuses.
    redo: Optional[Redo] = None
    #: For fields that are made out of nothing.
    made: Optional[Made] = None
    #: For the spans: the ring's number in this process, that of the batch, its rows.
    ring: int = 0
    number: int = -1
    rows: int = 0


class Ticket:
    """A batch under way. ``arrays``, ``bad``, ``event`` and ``copied`` are there after ``wait``."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._error: Optional[BaseException] = None
        #: By name: DeviceArrays, or what the memory makes (PyTorch's tensors).
        self.arrays: Dict[Hashable, Any] = {}
        #: By field: rows that neither the GPU nor the CPU could decode, as the engine told. They are zero.
        self.bad: Dict[Hashable, List[Mapping[str, Any]]] = {}
        #: After it the arrays are what they should be.
        self.event: Optional[Event] = None
        #: After it nothing of the slot is needed.
        self.copied: Optional[Event] = None
        #: Names of pictures that were asked for with their channels last: the submitter's note.
        self.turned: Collection[str] = ()

    def comes(self, seconds: float) -> bool:
        """Whether ``wait`` returns, or raises, at once: now, or within so many seconds."""
        return self._done.wait(seconds)

    def wait(self, timeout: Optional[float] = None) -> "Ticket":
        """Waits until everything is on the streams: for the stage's thread, not for the GPU."""
        if not self._done.wait(timeout):
            raise TimeoutError(f"the device stage has not come to this batch within {timeout} s")
        if self._error is not None:
            raise self._error
        return self

    def before(self, stream: int) -> None:
        """What is put on this stream from now on sees the finished arrays."""
        assert self.event is not None, "wait for the ticket first"
        self.event.before(stream)

    def complete(self, error: Optional[BaseException] = None) -> None:
        """Everything is on the streams, or has failed. Called once, by the stage's thread."""
        self._error = error
        if error is not None:
            self.arrays.clear()  # the error's traceback will refer to the ticket, and they to each other
        self._done.set()
