"""CPU time of the calling thread, and how long it waited for a core: Linux tells both in one small file."""

from __future__ import annotations

import math
import threading
from typing import Tuple

_FILE = "/proc/thread-self/schedstat"
_UNKNOWN = (math.nan, math.nan)


class ThreadTimes:
    """From the thread that first asks. After another thread has asked, it begins anew."""

    def __init__(self) -> None:
        self._thread = 0
        self._cpu = self._delay = 0
        self.since()

    def since(self) -> Tuple[float, float]:
        """ms of CPU time, and of waiting for a core, since it was last asked for. NaN: not known."""
        try:
            with open(_FILE, "rb", buffering=0) as file:
                cpu, delay, _ = map(int, file.read(64).split())
        except (OSError, ValueError):
            return _UNKNOWN
        times = (cpu - self._cpu) / 1e6, (delay - self._delay) / 1e6
        same = self._thread == threading.get_ident()
        self._thread, self._cpu, self._delay = threading.get_ident(), cpu, delay
        return times if same else _UNKNOWN
