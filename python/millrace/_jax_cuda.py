"""JAX arrays on one GPU: what the device stage has made, taken over by JAX without a copy (DLPack).

JAX's stream waits for a batch to be finished, the host does not. Memory is used again when JAX has dropped
the array and its stream has come to that point.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Deque, Dict, Optional, Sequence

import numpy as np

from ._decide import Decision
from ._jax import JaxView
from ._pins import Pins
from ._reading import Taken
from ._staging import Staging, impossible, without_bad
from ._stats import say
from .batch import Batch
from .errors import MissingError
from .views import Staged

if TYPE_CHECKING:
    from ._loop import Loop
    from .feed import Feed

#: What JAX makes of 64 bits where it is not told to keep them (jax_enable_x64).
NARROW = {"i64": ("i32", np.int32), "f64": ("f32", np.float32)}


class JaxCudaView(JaxView):
    """Arrays on a GPU, ``prefetch`` batches ahead of the user."""

    def __init__(
        self, feed: "Feed", device: Any, names: Optional[Sequence[str]], prefetch: int, decode: str
    ) -> None:
        super().__init__(feed, device, names, prefetch)
        from ._gpu.driver import driver_of

        index = int(getattr(device, "local_hardware_id", None) or 0)
        self._pins = driver_pins(driver_of(index))
        narrow = {} if self._jax.config.jax_enable_x64 else NARROW
        self._staging = Staging(feed, index, narrow=narrow)
        self._decision = self._decide(decode, index)
        if self._decision.open:
            self._staging.compile_ahead()
        #: When the user last came, and how long that one had to wait.
        self._came = 0.0
        self._waited = 0.0
        self._sums = [0.0, 0.0]
        feed._stats.device = self._report

    def _decide(self, asked: str, index: int) -> Decision:
        opened = self.feed._stream.opened
        if opened.generator is not None:
            return Decision("gpu")
        reason = impossible(self.feed, index) if asked != "cpu" else None
        if asked == "gpu" and reason is not None:
            raise MissingError(f'decode="gpu": {reason}')
        if asked == "auto" and opened.generates and reason is None:
            asked = "gpu"  # it costs next to nothing there
        return Decision(asked, reason)

    def _report(self) -> Dict[str, Any]:
        decision = self._decision
        seconds, waited = self._sums
        return {
            "decode": decision.who,
            "cpuShare": decision.cpu_share,
            "deciding": decision.open,
            "why": decision.why,
            "waitMs": waited * 1000,
            "ms": seconds * 1000,
        }

    def _enter(self) -> None:
        self._came = 0.0
        self.feed._stream.decode_on(self._decision.where, None, self._decision.cpu_share)
        self._tell()

    def _ask(self, loop: "Loop") -> None:
        """JAX's own stream can't be asked: here the host's waiting counts."""
        now = time.perf_counter()
        if self._came:
            seconds, waited = now - self._came, self._waited
            self._sums[0] += seconds
            self._sums[1] += waited
            if self._decision.step(loop.samples, seconds, waited):
                left = loop.left if loop.limited else None
                self.feed._stream.decode_on(self._decision.where, left, self._decision.cpu_share)
                self._tell()
        self._came, self._waited = time.perf_counter(), 0.0

    def _tell(self) -> None:
        news = self._decision.news
        if news is not None:
            say(f"{self.feed.name}: {news}")

    def _prepare(self, taken: Taken) -> Staged:
        self._pins.lock(self.feed._stream.client.memory)
        ticket = self._staging.submit(taken)
        return Staged(taken, taken.batch, ticket, on_stage=True)

    def _deliver(self, staged: Staged) -> Batch:
        ticket = staged.ticket.wait()
        batch = staged.taken.batch
        self._staging.fill(batch, ticket, self._jax.dlpack.from_dlpack)
        stream = self.feed._stream
        bad = [one for found in ticket.bad.values() for one in found]
        for one in bad:
            stream._judge(one, stream.opened)
        if bad:
            rows = sorted({int(one["row"]) for one in bad})
            batch = staged.taken.batch = without_bad(batch, rows, stream.opened.policy, self._beside)
        self._staging.room(wait=False)
        self._waited = time.perf_counter() - self._came
        return batch

    def _beside(self, numbers: Any, array: Any) -> Any:
        return self._jax.device_put(numbers, self._where)

    def _make_room(self, staged: Deque[Staged]) -> bool:
        stream = self.feed._stream
        self._staging.room(wait=False)
        if not staged:
            if not stream.room:
                self._staging.room(wait=True)
            return True
        return bool(stream.room)

    def _finish(self, staged: Deque[Staged]) -> None:
        self._staging.drain(one.ticket for one in staged)
        staged.clear()


def driver_pins(driver: Any) -> Pins:
    """Page-locking by CUDA's driver."""
    from ._gpu.errors import CudaError

    def lock(address: int, size: int) -> Optional[str]:
        try:
            with driver.current():
                driver.register(address, size)
        except CudaError as error:
            return str(error)
        return None

    def unlock(address: int) -> None:
        with driver.current():
            driver.unregister(address)

    return Pins(lock, unlock)
