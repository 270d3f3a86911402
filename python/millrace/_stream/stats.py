"""What a run has done so far, and the one line that says whether the trainer had to wait."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from .._generated.protocol import STALL
from .judge import Judge

#: In seconds: a longer wait counts as a stall.
_STALL = STALL / 1000


class Stats:
    """Counters of one feed, in the names of the engine's own."""

    def __init__(self) -> None:
        #: When the feed was opened. On Linux this is CLOCK_MONOTONIC, which spans are on as well.
        self.begun = time.perf_counter()
        self.open_ms = 0.0
        self.first_batch_ms = 0.0
        self.batches = 0
        self.samples = 0
        self.wait = 0.0
        self.waits = 0
        self.copies = 0
        self.restarts = 0
        self.judge = Judge()
        #: What a view on a device adds.
        self.device: Optional[Callable[[], Mapping[str, Any]]] = None
        self.mark()

    def opened(self) -> None:
        """The sources are open."""
        self.open_ms = (time.perf_counter() - self.begun) * 1000

    def waited(self, asked: float) -> None:
        """A batch came that was asked for then. The first one is counted apart."""
        now = time.perf_counter()
        if self.first_batch_ms == 0:
            self.first_batch_ms = (now - self.begun) * 1000
            self.mark()
            return
        self.wait += now - asked
        self.waits += now - asked > _STALL

    def handed(self, samples: int) -> None:
        """A batch of so many samples was handed to the user."""
        self.batches += 1
        self.samples += samples

    def report(self, engine: Mapping[str, Any]) -> Dict[str, Any]:
        """Everything, as plain numbers."""
        return {
            "batches": self.batches,
            "samples": self.samples,
            "firstBatchMs": self.first_batch_ms,
            "openMs": self.open_ms,
            "waitMs": self.wait * 1000,
            "waits": self.waits,
            "copies": self.copies,
            "restarts": self.restarts,
            "bad": {"count": self.judge.count, "samples": list(self.judge.samples)},
            **engine,
            **({} if self.device is None else {"device": self.device()}),
        }

    def mark(self) -> None:
        """An epoch is counted from here."""
        self._since = time.perf_counter()
        self._wait_before = self.wait
        self._batches_before = self.batches
        self._samples_before = self.samples

    def epoch_line(self, epoch: int) -> Tuple[str, str]:
        """How fast the epoch was that ends here, and how long was waited; the next is counted from here."""
        seconds = max(time.perf_counter() - self._since, 1e-9)
        share = (self.wait - self._wait_before) / seconds
        samples = self.samples - self._samples_before
        steps = self.batches - self._batches_before
        self.mark()
        rate = f"{steps} step{'' if steps == 1 else 's'}, {samples / seconds:,.0f} samples/s"
        return f"epoch {epoch}: {rate}", f"the trainer waited {percent(share)} of the time"


def percent(share: float) -> str:
    """As the command line writes it: 99.0 %."""
    return f"{100 * share:.1f} %"
