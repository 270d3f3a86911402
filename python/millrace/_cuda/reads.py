"""Host memory that the device still reads: it is let go of when the event of its copy has come.

Threads. The trainer's thread and the stage's add and let go. A garbage collection may close a loop in any
thread, also in the middle of one of these calls, and that loop lets go as well. So there is no lock: a deque
is changed by single calls of C code, and an entry that is gone already is no error. No call here waits under
a lock, so one thread that waits for the GPU keeps no other from going on.

Fork: the child has no CUDA; its views and stages call nothing here.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import Any, Deque, Protocol


class Moment(Protocol):
    """An event: ours, or PyTorch's."""

    def query(self) -> bool: ...

    def synchronize(self) -> None: ...


class _Read:
    """Without ``__eq__``: entries are compared by identity, which runs no code of Python's."""

    __slots__ = ("event", "memory")

    def __init__(self, event: Moment, memory: Any) -> None:
        self.event = event
        self.memory = memory


class Reads:
    """What the device reads, oldest first. The device comes to the end of them in that order."""

    def __init__(self) -> None:
        self._under_way: Deque[_Read] = deque()

    def __len__(self) -> int:
        return len(self._under_way)

    def add(self, event: Moment, memory: Any) -> None:
        """Keeps ``memory`` until ``event`` has come and is looked at."""
        self._under_way.append(_Read(event, memory))

    def let_go(self) -> int:
        """Lets go of all that was read. How many are left."""
        while True:
            oldest = self._oldest()
            if oldest is None:
                return 0
            if not oldest.event.query():
                return len(self)
            self._drop(oldest)

    def wait_for_oldest(self) -> bool:
        """Waits until the oldest was read, and lets go of it. False when there is none."""
        oldest = self._oldest()
        if oldest is None:
            return False
        # ``oldest`` keeps the memory while we wait, whatever other threads do.
        oldest.event.synchronize()
        self._drop(oldest)
        return True

    def clear(self) -> None:
        """Lets go of everything: the device is known to read nothing any more."""
        self._under_way.clear()

    def _oldest(self) -> "_Read | None":
        with suppress(IndexError):
            return self._under_way[0]
        return None

    def _drop(self, read: _Read) -> None:
        with suppress(ValueError):  # it was let go of meanwhile
            self._under_way.remove(read)
