"""The socket to the engine: requests and answers as lines of JSON, from any thread.

A thread of its own reads, so that nothing is lost when Ctrl-C interrupts the main thread in the middle of a
line, and so that the engine's death is known at once. Whoever waits for a batch is woken through a pipe.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import select
import socket
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Set, Union

from ..errors import DefinitionError, MillraceError, from_engine, printable

log = logging.getLogger("millrace")

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
    """The other side is gone. Whoever knows the engine's process makes an EngineDied of it."""


class _Inbox:
    """What the reading thread leaves for the others. It knows no Wire, so that a forgotten one can end."""

    def __init__(self, wake: int) -> None:
        self.changed = threading.Condition()
        self.answers: Dict[int, Message] = {}
        self.awaited: Set[int] = set()
        self.failed: Optional[Message] = None
        self.ended = False
        self._wake = wake

    def put(self, message: Message) -> None:
        if "notice" in message:
            log.info("%s", printable(str(message["notice"])))
            return
        with self.changed:
            number = message.get("id")
            if number is None:
                self.failed = message.get("failed") or message.get("error")
                self.ring()
            elif number in self.awaited:
                self.answers[number] = message
            self.changed.notify_all()

    def end(self) -> None:
        with self.changed:
            self.ended = True
            self.ring()
            self.changed.notify_all()

    def ring(self) -> None:
        """Wakes whoever polls for a batch."""
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
        # A garbage collection under it may end the client, which says so.
        self.sending = threading.RLock()
        self._numbers = itertools.count(1)
        self.closed = False
        self._thread = threading.Thread(target=_read, args=(sock, self._inbox), name="millrace", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------ sending

    def send(self, message: Union[Message, Callable[[], Message]]) -> None:
        """Sends a message; a function is called when nothing can come between its answer and the sending."""
        with self.sending:
            self.write(encode(message() if callable(message) else message))

    def write(self, line: bytes) -> None:
        """Writes a line. Only for whoever holds ``sending``."""
        if self.closed:
            raise BrokenPipeError("the connection is closed")
        self._sock.sendall(line)

    # ------------------------------------------------------------ asking

    def ask(
        self, message: Union[Message, Callable[[], Message]], check: Callable[[], None] = lambda: None
    ) -> Message:
        """Sends a request and waits for its answer; raises what the engine answers as an error.

        ``check`` is called now and then meanwhile, and may raise when waiting has no sense any more.
        """
        inbox = self._inbox
        number = next(self._numbers)
        inbox.awaited.add(number)
        try:
            self.send(lambda: {"id": number, **(message() if callable(message) else message)})
            while True:
                with inbox.changed:
                    if number not in inbox.answers and not inbox.ended:
                        inbox.changed.wait(LOOK)
                    if number in inbox.answers:
                        answer = inbox.answers[number]
                        break
                    if inbox.ended:
                        raise ConnectionClosed("the engine closed the connection")
                check()
        except OSError as error:
            raise ConnectionClosed(f"the engine can't be reached: {error}") from error
        finally:
            inbox.awaited.discard(number)
            inbox.answers.pop(number, None)
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
            except BlockingIOError:
                pass

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
        # Not before the reader is done with them: their numbers may soon mean other files.
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
