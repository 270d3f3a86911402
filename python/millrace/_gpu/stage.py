"""The device stage: leased batches in, finished arrays on the device out. It runs in a thread of its own.

    trainer's thread    submit ──► ticket ………… wait ──► arrays      never waits for the GPU
                          │                      ▲
    stage's thread        └─► copies, decoding, kernels put on streams

A ticket is complete when everything is *on the streams*. The arrays are what they should be after
``ticket.event``, for which the consumer's stream waits; the slot is needed until ``ticket.copied``.

Whatever goes wrong in the thread, it ends when it is told to: nobody may wait for it forever, least of
all the process's end. A fork has no such thread, and its stages are closed.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import traceback
from collections import deque
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Callable, Deque, Dict, Hashable, Mapping, Optional, Set, Tuple

from .._cuda.errors import CudaError
from .._cuda.events import Event
from .._cuda.memory import Memory, PoolMemory
from .._generated.device import DEVICE_BYTES
from ..errors import MillraceError
from .fields import DeviceField, device_fields
from .generate import generator_of
from .making import Parts, make
from .ticket import HostBatch, Ticket
from .tools import Tools, open_tools

#: How long the process's end waits for a stage (seconds): CUDA should not go down under a thread at work.
ENDING = 5.0


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
        # A garbage collection under it may close a loop, which reaps as well.
        self._reaping = threading.RLock()
        self._closed = False
        self._gone = threading.Event()
        #: Nobody waits for it any more: it is in the middle of something that does not end.
        self._stuck = False
        opened = Ticket()
        arguments = (make_tools, pictures, memory or _pool_memory, generator, opened)
        self._thread = threading.Thread(target=self._run, args=arguments, name="millrace-device", daemon=True)
        _running.add(self)
        self._thread.start()
        try:
            opened.wait()
        except BaseException:  # also Ctrl-C: nobody else knows of the thread
            self.end()
            raise

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
        if self._stuck:
            return 0
        if wait:
            # Not under the lock: the stage's thread would wait as well.
            with self._reaping:
                oldest = self._held[0][0] if self._held else None
            if oldest is not None:
                oldest.synchronize()
        with self._reaping:
            while self._held:
                first = self._held[0]
                if not first[0].query():
                    break
                if self._held and self._held[0] is first:
                    self._held.popleft()
            return len(self._held)

    def end(self) -> None:
        """Nothing more comes: what is in line is finished, then the thread ends. Waits for nothing."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)

    def close(self) -> None:
        """Finishes what is in line, waits for the device, gives its memory back. Arrays in use stay."""
        self.end()
        if self._stuck:
            return
        self._gone.wait()
        with self._reaping:
            self._held.clear()

    @property
    def here(self) -> bool:
        """Whether the calling thread is the stage's own: whoever waits for a batch there waits for itself."""
        return threading.current_thread() is self._thread

    def give_up(self) -> str:
        """A batch has not come in a very long time: nobody waits for this stage any more. What it is at."""
        self._stuck = True
        frame = sys._current_frames().get(self._thread.ident or 0)
        if frame is None:
            return "gone"
        code = frame.f_code
        return f"in {code.co_name} ({Path(code.co_filename).name})"

    def _forked(self) -> None:
        """In a forked child: the thread is not here, and may have held a lock."""
        self._closed = True
        self._reaping = threading.RLock()
        self._gone = threading.Event()
        self._gone.set()

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
        tools: Optional[Tools] = None
        try:
            with ExitStack() as ending:
                tools = make_tools()
                ending.callback(tools.close)
                memory = make_memory(tools)
                ending.callback(memory.close)
                fields: Dict[Hashable, DeviceField] = {}
                ending.callback(fields.clear)
                fields.update(device_fields(tools, pictures))
                maker = None if generator is None else generator_of(tools, generator)
                if maker is not None:
                    ending.callback(maker.close)
                opened._complete()
                self._serve(Parts(tools, memory, fields, maker))
        except BaseException as error:
            # Whoever opens the stage is told. Later it is a GPU that gives nothing back: it is lost, and that
            # was said with the batch that it was lost with.
            opened._complete(error)
        finally:
            _running.discard(self)
            self._gone.set()
        if tools is not None:
            with suppress(Exception):  # the GPU may be lost, or, with the process, the library that used it
                tools.pool.linger()

    def _serve(self, parts: Parts) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            batch, ticket = job
            failure: Optional[BaseException] = None
            try:
                self._stage(parts, batch, ticket)
            except BaseException as error:
                # The ticket keeps the error, and that would keep the batch, and its slot with it.
                traceback.clear_frames(error.__traceback__)
                failure = error
            # Whoever waits for the ticket finds that nothing here refers to the batch any more: its slot is
            # free as soon as the device has read it.
            del job, batch
            ticket._complete(failure)
            del ticket, failure

    def _stage(self, parts: Parts, batch: HostBatch, ticket: Ticket) -> None:
        try:
            make(parts, batch, ticket)
        except BaseException:
            # What was put on the streams until then reads the slot; where the GPU is lost, nothing does.
            with suppress(CudaError):
                self._hold(parts, batch, ticket)
            raise
        self._hold(parts, batch, ticket)

    def _hold(self, parts: Parts, batch: HostBatch, ticket: Ticket) -> None:
        """Everything is on the streams: notes when the slot is free, and when the arrays are finished."""
        ticket.copied = parts.tools.fed()
        with self._reaping:
            self._held.append((ticket.copied, batch))
        ticket.event = parts.tools.worked()
        parts.memory.finish(list(ticket.arrays.values()), ticket.event)


#: Stages whose threads run, in this process.
_running: Set[DeviceStage] = set()


def _at_exit() -> None:
    stages = list(_running)
    for stage in stages:
        stage.end()
    for stage in stages:
        stage._gone.wait(ENDING)


def _in_child() -> None:
    for stage in _running:
        stage._forked()
    _running.clear()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_in_child)


def _pool_memory(tools: Tools) -> Memory:
    return PoolMemory(tools.driver, tools.pool)


def open_stage(
    pictures: Mapping[str, Mapping[str, Any]],
    folder: Path,
    device: int = 0,
    memory: Optional[Callable[[Tools], Memory]] = None,
    blocks: Optional[int] = None,
    budget: int = DEVICE_BYTES,
    generator: Optional[Mapping[str, Any]] = None,
) -> DeviceStage:
    """A stage on a CUDA device. ``folder`` holds the .cu files; ``blocks`` caps its share of the GPU."""
    return DeviceStage(open_tools(device, folder, blocks, budget), pictures, memory, generator)
