"""Who still holds a batch. A slot goes back to the engine when nothing refers to its memory any more.

A lease is one object that exports the bytes of a slot (a ctypes array on the mapping). NumPy arrays made on it have it
as their base, tensors made of those arrays keep the arrays: so the lease lives exactly as long as anything refers to
the batch's memory, and its death gives the slot back.
"""

from __future__ import annotations

import weakref
from collections import deque
from functools import partial
from typing import Any, Deque, Dict, Set

from ._wire import Wire


class Leases:
    """The slots of one ring that are in the user's hands."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        wire.sent = self._tell
        self._refs: Dict[int, "weakref.ref[Any]"] = {}
        self._dropped: Deque[int] = deque()
        # Leased, and the engine not told otherwise. Slots leave it only under the wire's lock.
        self._held: Set[int] = set()

    def add(self, slot: int, lease: Any) -> None:
        """Watches a lease from now on."""
        self._held.add(slot)
        self._refs[slot] = weakref.ref(lease, partial(self._drop, slot))

    def __len__(self) -> int:
        return len(self._held)

    def held(self) -> Set[int]:
        """The slots that the engine must leave alone. Exact while the wire's lock is held."""
        return set(self._held)

    def _drop(self, slot: int, _: Any) -> None:
        """Called by whichever thread dropped the last reference, possibly in the middle of a garbage collection."""
        self._dropped.append(slot)
        self._tell()

    def _tell(self) -> None:
        """Tells the engine what was dropped. Never blocks or raises."""
        wire = self._wire
        # A destructor can interrupt the very thread that is sending, so nobody waits for the lock here: whoever has
        # it calls this again after giving it back.
        while self._dropped and not wire.closed and wire.sending.acquire(blocking=False):
            try:
                slot = self._dropped.popleft()
                self._held.discard(slot)
                wire.write(b'{"release":%d}\n' % slot)
            except (OSError, IndexError):
                return  # the engine is gone, and the slots with it; or another thread was quicker
            finally:
                wire.sending.release()
