"""Events: moments on a stream, for which other streams or the host can wait. Kept for reuse, never timed.

Any thread may use an event, and it may die in any thread: its destructor puts its handle into a queue, from
which ``Events`` takes it again. There is no lock."""

from __future__ import annotations

from queue import Empty, SimpleQueue
from typing import Any, List


class Event:
    """A moment on a stream. An event that was not recorded yet counts as come."""

    __slots__ = ("_driver", "_spare", "handle")

    def __init__(self, driver: Any, handle: int, spare: "SimpleQueue[int]") -> None:
        self._driver = driver
        self._spare = spare
        self.handle = handle

    def record(self, stream: int) -> "Event":
        """From here on the event stands for all that is on the stream now."""
        with self._driver.current():
            self._driver.record(self.handle, stream)
        return self

    def query(self) -> bool:
        """Whether it has come."""
        with self._driver.current():
            return bool(self._driver.query(self.handle))

    def synchronize(self) -> None:
        """Waits for it, on the host."""
        with self._driver.current():
            self._driver.synchronize(self.handle)

    def before(self, stream: int) -> None:
        """What is put on the stream from now on begins after the event; the host goes on."""
        with self._driver.current():
            self._driver.wait_event(stream, self.handle)

    def __del__(self) -> None:
        # Streams that wait for it have noted the moment already: the handle may be recorded again at once.
        self._spare.put(self.handle)


class Events:
    """Makes events, from the handles of those that were dropped."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self._spare: "SimpleQueue[int]" = SimpleQueue()

    def take(self) -> Event:
        """An event of your own."""
        try:
            handle = self._spare.get_nowait()
        except Empty:
            with self._driver.current():
                handle = self._driver.event()
        return Event(self._driver, handle, self._spare)

    def close(self) -> None:
        """Destroys the handles that are spare; those in use stay."""
        left: List[int] = []
        while not self._spare.empty():
            left.append(self._spare.get())
        with self._driver.current():
            for handle in left:
                self._driver.destroy_event(handle)
