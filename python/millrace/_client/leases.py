"""Which slots are still in use. A slot goes back to the engine when nothing refers to its memory any more.

A lease is one object that exports the bytes of a slot (a ctypes array on the mapping). NumPy arrays made on
it have it as their base, tensors made of those arrays keep the arrays: so the lease lives exactly as long as
anything refers to the batch's memory, and its death gives the slot back.

Threads. A lease may die in any thread, in the middle of a garbage collection or of a send. All that happens
there is one call of C code, ``SimpleQueue.put``, which may be called while it is running already; no signal
can interrupt it, and no Ctrl-C gets lost in a destructor. A thread of its own ("millrace-leases") takes slots
from that queue and tells the engine.

Locks. None of its own. A slot leaves ``_held`` inside ``Wire.send``, under the wire's lock, together with the
message that gives it back. So a ``move``, which is made under the same lock, names exactly the slots that the
engine has not been told of.

Ctrl-C may come between any two lines. A lease is entered by one assignment. Of one that was not entered
the engine is not told: the next move frees its slot.

Fork: the child has no such thread, and tells nothing. The engine's death: what can't be told is dropped.
"""

from __future__ import annotations

import threading
import weakref
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Dict, Optional, Set

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
        #: By slot: leased, and not yet given back to the engine.
        self._held: Dict[int, _Lent] = {}
        self._dropped: "SimpleQueue[Any]" = SimpleQueue()
        args = (wire, self._dropped, self._held)
        threading.Thread(target=_tell, args=args, name="millrace-leases", daemon=True).start()

    def add(self, slot: int, lease: Any) -> None:
        """Watches a lease from now on."""
        ref = _Lent(lease, self._dropped.put)
        ref.slot = slot
        self._held[slot] = ref

    def forget(self, slot: int) -> None:
        """A batch that was interrupted while it was read is never handed out: its slot is free with the next
        move, though the frames of a traceback may refer to its memory for long."""
        self._held.pop(slot, None)

    def __len__(self) -> int:
        return len(self._held)

    def held(self) -> Set[int]:
        """The slots that the engine must leave alone. Exact within ``Wire.send``."""
        return set(self._held)

    def settle(self) -> None:
        """Waits until the engine has been told of everything that was dropped so far."""
        told: "SimpleQueue[None]" = (
            SimpleQueue()
        )  # not an Event: Ctrl-C in its `wait` may become a RuntimeError
        self._dropped.put(told)
        try:
            told.get(timeout=SETTLING)
        except Empty:
            pass

    def close(self) -> None:
        """Ends the thread."""
        self._dropped.put(None)


def _tell(wire: Wire, dropped: "SimpleQueue[Any]", held: Dict[int, _Lent]) -> None:
    while True:
        one = dropped.get()
        if one is None:
            return
        if isinstance(one, SimpleQueue):
            one.put(None)
            continue
        try:
            wire.send(partial(_release, held, one))
        except OSError:
            pass  # the engine is gone, and the slots with it
        del one


def _release(held: Dict[int, _Lent], lent: _Lent) -> Optional[Dict[str, int]]:
    """The message that gives a slot back. None for a lease that was never entered: a Ctrl-C may have come
    before it knew its slot, or that slot may have been lent anew."""
    slot: int = getattr(lent, "slot", -1)
    if held.get(slot) is not lent:
        return None
    del held[slot]
    return {"release": slot}
