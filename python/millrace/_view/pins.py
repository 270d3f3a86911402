"""Page-locks slots, once each: copies from them run beside everything else, at the speed of the bus.

The thread that loops locks. Slots are unlocked when their mapping goes, in any thread (a finalizer), but not
in a forked child, which has the memory and no CUDA."""

from __future__ import annotations

import logging
import os
import weakref
from contextlib import suppress
from typing import Any, Callable, List, Optional

from .._client.memory import Memory

log = logging.getLogger("millrace")

LOCKED_ALREADY = "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"

#: Locks (address, bytes); what is wrong, if it can't be done.
Lock = Callable[[int, int], Optional[str]]


class Pins:
    """The locks of one view. They go with the mapping, which goes with its last batch."""

    def __init__(self, lock: Lock, unlock: Callable[[int], None]) -> None:
        self._lock = lock
        self._unlock = unlock
        self._memory: Optional["weakref.ref[Memory]"] = None
        self._locked: List[int] = []
        self._refused = False

    def lock(self, memory: Memory) -> None:
        """Locks the slots in use. Those beyond the depth have no memory yet."""
        if self._memory is None or self._memory() is not memory:
            self._memory, self._locked = weakref.ref(memory), []
            # Runs before the memory is unmapped, which happens when its last batch is dropped.
            weakref.finalize(memory, _unlock, self._unlock, self._locked, os.getpid())
        while len(self._locked) < memory.used and not self._refused:
            address, size = memory.fields(len(self._locked))
            problem = self._lock(address, size) if size > 0 else None
            if problem is None:
                self._locked.append(address)
                continue
            self._refused = True
            log.warning("slots can't be page-locked (%s): copies to the GPU are slower", problem)


def driver_pins(device: int, driver: Any = None) -> Pins:
    """Page-locking by CUDA's driver: what that refuses leaves no error behind for PyTorch to come upon."""
    from .._cuda.driver import driver_of
    from .._cuda.errors import CudaError

    driver = driver or driver_of(device)

    def lock(address: int, size: int) -> Optional[str]:
        try:
            with driver.current():
                driver.register(address, size)
        except CudaError as error:
            # Another view of the feed may have locked it: that lasts as long as the mapping, too.
            return None if error.name == LOCKED_ALREADY else str(error)
        return None

    def unlock(address: int) -> None:
        with suppress(CudaError), driver.current():  # a GPU that is lost has let go of it
            driver.unregister(address)

    return Pins(lock, unlock)


def _unlock(unlock: Callable[[int], None], addresses: List[int], pid: int) -> None:
    if os.getpid() != pid:
        return  # a fork has the memory, but neither the locks nor CUDA
    for address in addresses:
        unlock(address)
