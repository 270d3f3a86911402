"""How long tests wait for what must come."""

from __future__ import annotations

import time
from typing import Callable

#: Seconds. Only what hangs takes longer, on any machine: no test depends on being quick.
PATIENCE = 300.0


def wait_until(what: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    """Whether something becomes true."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.01)
    return what()
