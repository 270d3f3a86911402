"""``progress=True``: a line on stderr with the rate, what is lost and why, and the time that is left.

On a terminal one line is drawn again and again; elsewhere there is a line every few seconds. A thread asks
the engine for it, so the loop never waits for that.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Deque, Optional, Tuple

from ..errors import MillraceError

if TYPE_CHECKING:
    from .run import Run

#: How often the line is drawn on a terminal, and written elsewhere (seconds).
REDRAW = 2.0
WRITE = 10.0
#: Rate and loss are of the same seconds: so many, or those since the loop went on.
WINDOW = 15.0


class ProgressLine:
    """Draws the line until the run is closed, or forgotten."""

    def __init__(self, run: "Run", stream: Any = None) -> None:
        self._run = weakref.ref(run)
        self._stream = sys.stderr if stream is None else stream
        self._terminal = bool(getattr(self._stream, "isatty", lambda: False)())
        self._ended = threading.Event()
        self._drawn = False
        #: When it was looked, and how many samples there were by then: oldest first.
        self._seen: Deque[Tuple[float, int]] = deque([(time.monotonic(), run.stats.samples)])
        self._thread = threading.Thread(target=self._draw, name="millrace-progress", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Takes the line away."""
        self._ended.set()
        self._thread.join(timeout=1)
        if self._drawn and self._terminal:
            print("\r\x1b[K", end="", file=self._stream, flush=True)

    def _draw(self) -> None:
        while not self._ended.wait(REDRAW if self._terminal else WRITE):
            run = self._run()
            if run is None or run.stream.closed or run.seat.now.rank != 0:
                return
            line = self.text(run)
            del run
            if line is None or self._ended.is_set():
                continue
            self._drawn = True
            try:
                if self._terminal:
                    line = line[: shutil.get_terminal_size().columns - 1]
                    print(f"\r\x1b[K{line}", end="", file=self._stream, flush=True)
                else:
                    print(line, file=self._stream, flush=True)
            except (OSError, ValueError):
                return  # there is no stderr any more

    def text(self, run: "Run") -> Optional[str]:
        """None: no loop is on, or the engine is gone."""
        now, samples = time.monotonic(), run.stats.samples
        done, total = run.progress
        if done is None:
            self._seen.clear()
        while len(self._seen) > 1 and now - self._seen[0][0] > WINDOW:
            self._seen.popleft()
        self._seen.append((now, samples))
        if done is None:
            return None
        before, were = self._seen[0]
        seconds = max(now - before, 1e-9)
        rate = (samples - were) / seconds
        try:
            why = run.account.ask(revive=False, seconds=seconds)["lines"]["progress"]
        except (MillraceError, OSError, KeyError):
            why = None
        parts = [f"millrace: {run.name}"]
        if total is None:
            parts.append(f"{done:,} steps")
        else:
            parts.append(f"{100 * done // max(total, 1)} %  {done:,} of {total:,} steps")
        parts.append(f"{rate:,.0f} samples/s")
        if why is not None:
            parts.append(why)
        if total is not None and rate > 0 and run.rows > 0:
            parts.append(f"{duration((total - done) * run.rows / rate)} left")
        return "  ".join(parts)


def duration(seconds: float) -> str:
    """``12 s``, ``1:15``, ``2:00:00``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
