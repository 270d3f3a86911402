"""The device stage: leased batches in, finished arrays on the device out. It runs in a thread of its own.

    trainer's thread    submit ──► ticket ………… wait ──► arrays      never waits for the GPU
                          │                      ▲
    stage's thread        └─► copies, decoding, kernels put on streams

A ticket is complete when everything is *on the streams*. The arrays are what they should be after
``ticket.event``, for which the consumer's stream waits; the slot is needed until ``ticket.copied``.
"""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Callable, Collection, Deque, Dict, Hashable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..errors import MillraceError
from .events import Event
from .fields import DeviceField, device_fields
from .generate import Made, generator_of
from .memory import Memory, PoolMemory
from .picture import Redo
from .tools import GIB, Tools, open_tools


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

    @property
    def done(self) -> bool:
        """Whether ``wait`` returns, or raises, at once."""
        return self._done.is_set()

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

    def _complete(self, error: Optional[BaseException] = None) -> None:
        self._error = error
        self._done.set()


class DeviceStage:
    """Stages batches of one feed, in order.

    ``pictures``: fields that are finished here, as told; ``generator``: what makes others out of nothing.
    """

    def __init__(
        self,
        make_tools: Callable[[], Tools],
        pictures: Mapping[str, Mapping[str, Any]],
        memory: Optional[Callable[[Tools], Memory]] = None,
        generator: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self._jobs: "SimpleQueue[Optional[Tuple[HostBatch, Ticket]]]" = SimpleQueue()
        #: Batches whose slot is still read, oldest first.
        self._held: Deque[Tuple[Event, HostBatch]] = deque()
        self._reaping = threading.Lock()
        self._closed = False
        self._gone = threading.Event()
        opened = Ticket()
        arguments = (make_tools, pictures, memory or _pool_memory, generator, opened)
        self._thread = threading.Thread(target=self._run, args=arguments, name="millrace-device", daemon=True)
        self._thread.start()
        opened.wait()

    # ------------------------------------------------------------ the consumer's side

    def submit(self, batch: HostBatch) -> Ticket:
        """Puts a batch in line."""
        if self._closed:
            raise MillraceError("this device stage is closed")
        ticket = Ticket()
        self._jobs.put((batch, ticket))
        return ticket

    def reap(self, wait: bool = False) -> int:
        """Lets go of the slots that are not needed any more; with ``wait``, waits for the oldest one first.

        How many are still needed, of the batches that the stage has come to.
        """
        with self._reaping:
            if wait and self._held:
                self._held[0][0].synchronize()
            while self._held and self._held[0][0].query():
                self._held.popleft()
            return len(self._held)

    def close(self) -> None:
        """Finishes what is in line, waits for the device, gives its memory back. Arrays in use stay."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
        self._gone.wait()
        with self._reaping:
            self._held.clear()

    def __enter__(self) -> "DeviceStage":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ------------------------------------------------------------ the stage's thread

    def _run(
        self,
        make_tools: Callable[[], Tools],
        pictures: Mapping[str, Mapping[str, Any]],
        make_memory: Callable[[Tools], Memory],
        generator: Optional[Mapping[str, Any]],
        opened: Ticket,
    ) -> None:
        try:
            tools = make_tools()
            memory = make_memory(tools)
            fields = device_fields(tools, pictures)
            maker = None if generator is None else generator_of(tools, generator)
        except BaseException as error:
            opened._complete(error)
            return
        opened._complete()
        del opened
        while True:
            job = self._jobs.get()
            if job is None:
                break
            batch, ticket = job
            try:
                self._stage(tools, memory, fields, maker, batch, ticket)
            except BaseException as error:
                ticket._complete(error)
            # Nothing here refers to a batch while the thread waits for the next one.
            del job, batch, ticket
        fields.clear()
        if maker is not None:
            maker.close()
        memory.close()
        try:
            tools.close()
        finally:
            self._gone.set()
        tools.pool.linger()

    def _stage(
        self,
        tools: Tools,
        memory: Memory,
        fields: Mapping[Hashable, DeviceField],
        maker: Any,
        batch: HostBatch,
        ticket: Ticket,
    ) -> None:
        try:
            if maker is not None and batch.made is not None:
                addresses: Dict[str, int] = {}
                for name, kind, shape in maker.outputs:
                    whole = (batch.made.count, *shape)
                    addresses[name], ticket.arrays[name] = memory.array(whole, kind, tools.work)
                maker.make(batch.made, addresses)
            # Small things first: they come in while pictures are decoded.
            for name, values, kind in batch.arrays:
                if name not in fields:
                    address, ticket.arrays[name] = memory.array(values.shape, kind, tools.feed)
                    copy_in(tools, address, values)
            for name, values, _ in batch.arrays:
                field = fields.get(name)
                if field is not None:
                    shape = (len(values), *field.shape)
                    address, ticket.arrays[name] = memory.array(shape, field.kind, field.stream)
                    bad = field.make(values, address, batch.redo)
                    if bad:
                        ticket.bad[name] = bad
        finally:
            # Also after an error: what was put on the stream until then reads the slot.
            ticket.copied = tools.fed()
            with self._reaping:
                self._held.append((ticket.copied, batch))
            ticket.event = tools.worked()
            memory.finish(list(ticket.arrays.values()), ticket.event)
        ticket._complete()


def copy_in(tools: Tools, address: int, values: Any) -> None:
    """An array to the device; its rows may lie apart from each other."""
    if values.size == 0:
        return
    host, size = values.ctypes.data, values.nbytes
    if values.flags.c_contiguous:
        tools.driver.copy_in(address, host, size, tools.feed)
        return
    if not values[0].flags.c_contiguous:
        raise ValueError("rows of a field must be without gaps")
    width = size // len(values)
    tools.driver.copy_rows_in(address, width, host, values.strides[0], width, len(values), tools.feed)


def _pool_memory(tools: Tools) -> Memory:
    return PoolMemory(tools.driver, tools.pool)


def open_stage(
    pictures: Mapping[str, Mapping[str, Any]],
    folder: Path,
    device: int = 0,
    memory: Optional[Callable[[Tools], Memory]] = None,
    blocks: Optional[int] = None,
    budget: int = GIB,
    generator: Optional[Mapping[str, Any]] = None,
) -> DeviceStage:
    """A stage on a CUDA device. ``folder`` holds the .cu files; ``blocks`` caps its share of the GPU."""
    return DeviceStage(open_tools(device, folder, blocks, budget), pictures, memory, generator)
