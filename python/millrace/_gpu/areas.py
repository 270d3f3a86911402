"""Memory that the stage works in: it grows to what the largest batch needs, and stays."""

from __future__ import annotations

import ctypes
from typing import Any, Optional

import numpy as np

from .._cuda.events import Event
from .._cuda.memory import rounded


class Stretch:
    """A stretch of the device's memory that can grow. Growing forgets what was in it."""

    def __init__(self, driver: Any, most: Optional[int] = None) -> None:
        self._driver = driver
        self._most = most
        self.address = 0
        self.size = 0

    def grows(self, size: int) -> bool:
        """Whether ``reserve`` would move it: then the device must be done with it."""
        return size > self.size

    def reserve(self, size: int) -> int:
        """Its address, with at least so many bytes behind it."""
        if self.grows(size):
            self.close()
            # A little more than needed: batches differ, and growing waits for the whole device.
            wanted = size + size // 8
            wanted = rounded(max(size, wanted if self._most is None else min(wanted, self._most)))
            self.address = self._driver.alloc(wanted)
            self.size = wanted
        return self.address

    def close(self) -> None:
        """Gives it back."""
        if self.size:
            self._driver.free(self.address)
        self.address = self.size = 0


class Numbers:
    """Page-locked numbers of the host, uint64: their copies run beside everything else."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self._count = 0
        self.address = 0

    def reserve(self, count: int) -> "np.ndarray[Any, Any]":
        """So many of them; what they are is undefined. They stay until the next ones are asked for."""
        if count > self._count:
            self.close()
            size = rounded(count * 8)
            self.address, self._count = self._driver.alloc_host(size), size // 8
        memory: Any = (ctypes.c_uint64 * count).from_address(self.address)
        numbers: np.ndarray[Any, Any] = np.ndarray(count, np.uint64, memory)
        return numbers

    def put(self, numbers: "np.ndarray[Any, Any]") -> int:
        """Takes numbers over; the address at which they lie now."""
        self.reserve(len(numbers))[:] = numbers
        return self.address

    def close(self) -> None:
        """Gives them back."""
        if self._count:
            self._driver.free_host(self.address)
        self.address = self._count = 0


class Area:
    """Where the pictures of one turn are decoded, with their parameter rows and addresses.

    There are two of them: while the kernel reads one, the next pictures are decoded into the other.
    """

    def __init__(self, driver: Any, capacity: int) -> None:
        self.pixels = Stretch(driver, capacity)
        self.rows = Stretch(driver)
        self.pointers = Stretch(driver)
        self.numbers = Numbers(driver)
        self._left: Optional[Event] = None

    def enter(self) -> "Area":
        """Waits until the device is done with the last turn."""
        if self._left is not None:
            self._left.synchronize()
            self._left = None
        return self

    def leave(self, event: Event) -> None:
        """The turn is over when the event has come."""
        self._left = event

    def close(self) -> None:
        """Gives its memory back."""
        self.enter()
        for part in (self.pixels, self.rows, self.pointers, self.numbers):
            part.close()
