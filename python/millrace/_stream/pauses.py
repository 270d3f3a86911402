"""Garbage collections of this process that are long enough to hold up a trainer.

Python collects in whichever thread makes an object at that moment, and holds the GIL meanwhile: all threads
stand still. The collection notes itself; the thread that loops writes it down.
"""

from __future__ import annotations

import gc
import time
import weakref
from collections import deque
from typing import Any, Deque, List, Mapping, Optional, Tuple

#: In seconds: shorter ones are nothing to a trainer, and come many times a second.
LONG = 0.0005
#: So many are kept until they are taken.
MOST = 256


class Pauses:
    """When they began, and how long they took."""

    def __init__(self) -> None:
        self.found: Deque[Tuple[float, float]] = deque(maxlen=MOST)
        self._begun = 0.0
        self._end: Optional[weakref.finalize[Any, Any]] = None

    def watch(self) -> None:
        """From now on, until ``close`` or the end of this object."""
        if self._end is None:
            note = _noting(weakref.ref(self))
            gc.callbacks.append(note)
            self._end = weakref.finalize(self, _remove, note)

    def note(self, phase: str) -> None:
        """Called by the garbage collector."""
        now = time.monotonic()
        if phase == "start":
            self._begun = now
        elif self._begun and now - self._begun >= LONG:
            self.found.append((self._begun, now - self._begun))

    def take(self) -> List[Tuple[float, float]]:
        """Those since this was last asked: start and duration, in seconds."""
        taken = []
        while self.found:
            taken.append(self.found.popleft())
        return taken

    def close(self) -> None:
        """No more of them."""
        if self._end is not None:
            self._end()


def _noting(pauses: "weakref.ref[Pauses]") -> Any:
    def note(phase: str, info: Mapping[str, Any]) -> None:
        known = pauses()
        if known is not None:
            known.note(phase)

    return note


def _remove(note: Any) -> None:
    try:
        gc.callbacks.remove(note)
    except ValueError:
        pass
