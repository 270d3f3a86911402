"""The socket to the engine: requests and answers as lines of JSON, from any thread.

Threads. A thread of the wire's own ("millrace") reads. So Ctrl-C, which interrupts the main thread, never
loses part of a line, and the engine's death is known at once. Any thread may send, ask and close.

Locks. ``_sending`` is held while a line is made and written. It is the innermost lock: a thread that holds it
takes no other. It is reentrant, because a garbage collection in the middle of a send may end this client,
and that sends ``close``. Answers need no lock: each asker has a queue of its own.

Waiting for a batch: the engine writes a byte into a pipe; the reading thread writes one into another pipe
when the engine fails or is gone. ``wait`` polls both.

Fork: the child closes its descriptors and sends nothing. Garbage collection: the reading thread refers to the
inbox, not to the wire, so a wire that is forgotten can be collected.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import socket
import threading
from queue import Empty, SimpleQueue
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

from ..errors import DefinitionError, MillraceError, from_engine, printable
from .say import say

#: Between two looks at whether waiting still has sense (seconds).
LOOK = 0.25

Message = Mapping[str, Any]


def encode(message: Message) -> bytes:
    """A message as a line."""
    try:
        return json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    except ValueError as error:
        raise DefinitionError(
            f"the engine is told things in JSON, which has no inf and no nan: {error}"
        ) from error


class ConnectionClosed(MillraceError):
    """The engine closed the connection. Client makes an EngineDied of it, with what the process said."""


class _Inbox:
    """What the reading thread has received. All its parts are changed by single calls of C code, no lock."""

    def __init__(self, wake: int) -> None:
        #: A queue for each request that has no answer yet. None in it: the connection has ended.
        self.asked: Dict[int, "SimpleQueue[Optional[Message]]"] = {}
        self.failed: Optional[Message] = None
        self.ended = False
        self._wake = wake

    def put(self, message: Message) -> None:
        if "notice" in message:
            say(printable(str(message["notice"])).replace("\n", "\\n"))
            return
        number = message.get("id")
        if number is None:
            self.failed = message.get("failed") or message.get("error")
            self.ring()
            return
        asker = self.asked.get(number)
        if asker is not None:  # None: the asker was interrupted, by Ctrl-C for instance
            asker.put(message)

    def end(self) -> None:
        # In this order: an asker enters its queue, then looks at `ended`.
        self.ended = True
        self.ring()
        for asker in list(self.asked.values()):
            asker.put(None)

    def ring(self) -> None:
        """Wakes a thread that polls for a batch."""
        try:
            os.write(self._wake, b"\0")
        except OSError:
            pass


def _read(sock: socket.socket, inbox: _Inbox) -> None:
    parts: List[bytes] = []  # of a line that is not complete: joined once, however long it is
    try:
        while True:
            data = sock.recv(65536)
            if not data:
                break
            *lines, rest = data.split(b"\n")
            for line in lines:
                inbox.put(json.loads(b"".join([*parts, line])))
                parts.clear()
            if rest:
                parts.append(rest)
    except (OSError, ValueError):
        pass
    inbox.end()


class Wire:
    """A connection. ``close`` may be called from anywhere, any number of times."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)
        self._inbox = _Inbox(self._waker)
        self._sending = threading.RLock()
        self._numbers = itertools.count(1)
        self.closed = False
        self._thread = threading.Thread(target=_read, args=(sock, self._inbox), name="millrace", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------ sending

    def send(self, message: Union[Message, Callable[[], Optional[Message]]]) -> None:
        """Sends a message. A function is called under the lock: nothing is sent between its answer and the
        sending. It answers None to send nothing."""
        with self._sending:
            told = message() if callable(message) else message
            if told is None:
                return
            if self.closed:
                raise BrokenPipeError("the connection is closed")
            self._sock.sendall(encode(told))

    # ------------------------------------------------------------ asking

    def ask(
        self, message: Union[Message, Callable[[], Message]], check: Callable[[], None] = lambda: None
    ) -> Message:
        """Sends a request and waits for its answer; raises what the engine answers as an error.

        ``check`` is called every LOOK seconds meanwhile, and may raise when no answer can come any more.
        """
        inbox = self._inbox
        number = next(self._numbers)
        answers: "SimpleQueue[Optional[Message]]" = SimpleQueue()
        inbox.asked[number] = answers
        try:
            self.send(lambda: {"id": number, **(message() if callable(message) else message)})
            while True:
                try:
                    # An end that came before the queue was entered puts nothing into it.
                    answer = answers.get(block=not inbox.ended, timeout=LOOK)
                except Empty:
                    if not inbox.ended:
                        check()
                        continue
                    answer = None
                if answer is None:
                    raise ConnectionClosed("the engine closed the connection")
                break
        except OSError as error:
            raise ConnectionClosed(f"the engine can't be reached: {error}") from error
        finally:
            inbox.asked.pop(number, None)
        if "error" in answer:
            raise from_engine(answer["error"])
        return answer

    # ------------------------------------------------------------ waiting

    def wait(self, ready: int, seconds: float) -> None:
        """Waits for a byte through the pipe ``ready``, or something from the socket, or until time is up."""
        poll = select.poll()
        poll.register(ready, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        for fd, _ in poll.poll(seconds * 1000):
            try:
                os.read(fd, 65536)
            except OSError:
                pass  # nothing is there any more, or another thread has closed the connection

    @property
    def ended(self) -> bool:
        """Whether the engine is gone."""
        return self._inbox.ended

    @property
    def failure(self) -> Optional[MillraceError]:
        """Why no more batches will come, if the engine said so."""
        return None if self._inbox.failed is None else from_engine(self._inbox.failed)

    # ------------------------------------------------------------ ending

    def close(self) -> None:
        """Ends the connection; the engine ends the ring."""
        if self.closed:
            return
        self.closed = True
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        # The reader first: once closed, the descriptors' numbers may soon mean other files.
        if self._thread is not threading.current_thread():
            self._thread.join(1)
        if not self._thread.is_alive():
            self._drop()

    def forked(self) -> None:
        """In a forked child: lets go of the descriptors, and of nothing else. The parent goes on."""
        self.closed = True
        self._inbox.ended = True
        self._drop()

    def _drop(self) -> None:
        self._sock.close()
        for fd in (self._woken, self._waker):
            try:
                os.close(fd)
            except OSError:
                pass
