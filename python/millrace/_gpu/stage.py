"""The device stage: leased batches in, finished arrays on the device out. It runs in a thread of its own.

    trainer's thread    submit ──► ticket ………… wait ──► arrays      never waits for the GPU
                          │                      ▲
    stage's thread        └─► copies, decoding, kernels put on streams

A ticket is complete when everything is *on the streams*. The arrays are what they should be after
``ticket.event``, for which the consumer's stream waits; the slot is needed until ``ticket.copied``.

Threads. ``submit``, ``wait`` and ``reap`` are called by the trainer's thread, ``end`` by any: by a garbage
collection too, in the stage's own thread at times. Jobs go through a ``SimpleQueue``; a ticket's event tells
that its job is done; slots that are still read lie in ``Reads``. There is no lock.

Ends. Whatever goes wrong in the thread, it ends when it is told to: ``close`` and the end of the process
(``atexit``) wait for it, the latter ENDING seconds at most. After ``give_up`` nothing waits for it any more.
Ctrl-C while the stage opens ends the thread. Fork: the child has no such thread, and its stages are closed.
Garbage collection: the thread refers to the stage, so its owner (``Staging``) has a finalizer that calls
``end``, which waits for nothing.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import traceback
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Callable, Dict, Hashable, Mapping, Optional, Set, Tuple

from .._cuda.errors import CudaError
from .._cuda.memory import Memory, PoolMemory
from .._cuda.reads import Reads
from .._generated.device import DEVICE_BYTES
from ..errors import MillraceError
from .fields import DeviceField, device_fields
from .generate import generator_of
from .making import Parts, make
from .stage_spans import StageSpans
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
        #: Batches whose slots the device still reads.
        self._reads = Reads()
        self._closed = False
        self._gone = threading.Event()
        #: Whether it was given up: it is in the middle of something that does not end.
        self._stuck = False
        opened = Ticket()
        arguments = (make_tools, pictures, memory or _pool_memory, generator, opened)
        self._thread = threading.Thread(target=self._run, args=arguments, name="millrace-device", daemon=True)
        _running.add(self)
        self._thread.start()
        try:
            opened.wait()
        except BaseException:  # also Ctrl-C: no caller knows of the thread yet
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
            self._reads.wait_for_oldest()
        return self._reads.let_go()

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
        self._reads.clear()

    def ended(self, seconds: Optional[float] = None) -> bool:
        """Whether the thread is done with everything; waits that long for it."""
        return self._gone.wait(seconds)

    @property
    def here(self) -> bool:
        """Whether the calling thread is the stage's own: it would wait for itself."""
        return threading.current_thread() is self._thread

    def give_up(self) -> str:
        """A batch has not come in a very long time: from now on no call waits. Says what the thread is at."""
        self._stuck = True
        frame = sys._current_frames().get(self._thread.ident or 0)
        if frame is None:
            return "gone"
        code = frame.f_code
        return f"in {code.co_name} ({Path(code.co_filename).name})"

    def _forked(self) -> None:
        """In a forked child: the thread is not here."""
        self._closed = True
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
                made_by = None if generator is None else generator_of(tools, generator)
                if made_by is not None:
                    ending.callback(made_by.close)
                opened.complete()
                self._serve(Parts(tools, memory, fields, made_by))
        except BaseException as error:
            # While the stage opens, its constructor raises this. Later it comes from giving things back to a
            # GPU that is lost; the batch that it was lost with has raised that already.
            opened.complete(error)
        finally:
            _running.discard(self)
            self._gone.set()
        if tools is not None:
            with suppress(Exception):  # the GPU may be lost, or, with the process, the library that used it
                tools.pool.linger()

    def _serve(self, parts: Parts) -> None:
        spans = StageSpans()
        try:
            self._serve_all(parts, spans)
        finally:
            spans.close()

    def _serve_all(self, parts: Parts, spans: StageSpans) -> None:
        while True:
            job = self._jobs.get()
            spans.begin()
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
            spans.staged(batch)
            # Before the ticket is complete, nothing here refers to the batch any more: its slot is free as
            # soon as the device has read it.
            del job, batch
            ticket.complete(failure)
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
        self._reads.add(ticket.copied, batch)
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
