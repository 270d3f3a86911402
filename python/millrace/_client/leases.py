"""Who still holds a batch. A slot goes back to the engine when nothing refers to its memory any more.

A lease is one object that exports the bytes of a slot (a ctypes array on the mapping). NumPy arrays made on
it have it as their base, tensors made of those arrays keep the arrays: so the lease lives exactly as long as
anything refers to the batch's memory, and its death gives the slot back.

Its death may come in any thread, in the middle of a garbage collection or of a send. So all that happens
there is one call of C code, ``SimpleQueue.put``, which is made for that; no signal can interrupt it, and no
Ctrl-C gets lost in a destructor. A thread of its own tells the engine.
"""

from __future__ import annotations

import threading
import weakref
from queue import SimpleQueue
from typing import Any, Dict, Set

from .wire import Wire

#: How long the thread may take to tell what was dropped (seconds), before we go on without.
SETTLING = 1.0


class _Lent(weakref.ref):  # type: ignore[type-arg]
    """A weak reference to a lease, which knows its slot."""

    __slots__ = ("slot",)
    slot: int


class Leases:
    """The slots of one ring that are in the user's hands."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._refs: Dict[int, _Lent] = {}
        # Leased, and the engine not told otherwise. Slots leave it only under the wire's lock.
        self._held: Set[int] = set()
        self._dropped: "SimpleQueue[Any]" = SimpleQueue()
        args = (wire, self._dropped, self._held)
        threading.Thread(target=_tell, args=args, name="millrace-leases", daemon=True).start()

    def add(self, slot: int, lease: Any) -> None:
        """Watches a lease from now on."""
        ref = _Lent(lease, self._dropped.put)
        ref.slot = slot
        self._refs[slot] = ref
        self._held.add(slot)

    def __len__(self) -> int:
        return len(self._held)

    def held(self) -> Set[int]:
        """The slots that the engine must leave alone. Exact while the wire's lock is held."""
        return set(self._held)

    def settle(self) -> None:
        """Waits until the engine has been told of everything that was dropped so far."""
        told = threading.Event()
        self._dropped.put(told)
        told.wait(SETTLING)

    def close(self) -> None:
        """Ends the thread."""
        self._dropped.put(None)


def _tell(wire: Wire, dropped: "SimpleQueue[Any]", held: Set[int]) -> None:
    while True:
        one = dropped.get()
        if one is None:
            return
        if isinstance(one, threading.Event):
            one.set()
            continue
        with wire.sending:
            # A lease that was lost before it was booked is not told: the next move frees it.
            if one.slot in held:
                held.discard(one.slot)
                try:
                    wire.write(b'{"release":%d}\n' % one.slot)
                except OSError:
                    pass  # the engine is gone, and the slots with it
        del one
