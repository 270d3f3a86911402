"""JAX arrays on one GPU: what the device stage has made, taken over by JAX without a copy (DLPack).

JAX's stream waits for a batch to be finished, the host does not. Memory is used again when JAX has dropped
the array and its stream has come to that point.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Optional, Sequence, Tuple

import numpy as np

from ._jax import JaxView
from ._on_gpu import OnGpu, decide
from ._pins import Pins
from ._staging import Staging
from .batch import Batch
from .views import Staged

if TYPE_CHECKING:
    from ._loop import Loop
    from .feed import Feed

#: What JAX makes of 64 bits where it is not told to keep them (jax_enable_x64).
NARROW = {"i64": ("i32", np.int32), "f64": ("f32", np.float32)}


class JaxCudaView(OnGpu, JaxView):
    """Arrays on a GPU, ``prefetch`` batches ahead of the user."""

    def __init__(
        self, feed: "Feed", device: Any, names: Optional[Sequence[str]], prefetch: int, decode: str
    ) -> None:
        super().__init__(feed, device, names, prefetch)
        from ._gpu.driver import driver_of

        index = int(getattr(device, "local_hardware_id", None) or 0)
        #: When the user last came, how long that one had to wait, and the sums of both (seconds).
        self._came = 0.0
        self._waited = 0.0
        self._seconds_in_all = 0.0
        self._waited_in_all = 0.0
        narrow = {} if self._jax.config.jax_enable_x64 else NARROW
        decision = decide(feed, decode, index)
        self._open(Staging(feed, index, narrow=narrow), driver_pins(driver_of(index)), decision)

    def _restart(self) -> None:
        self._came = 0.0

    def _ask(self, loop: "Loop") -> None:
        """JAX's own stream can't be asked: here the host's waiting counts."""
        now = time.perf_counter()
        if self._came:
            seconds, waited = now - self._came, self._waited
            self._seconds_in_all += seconds
            self._waited_in_all += waited
            self._step(loop, loop.samples, seconds, waited)
        self._came, self._waited = time.perf_counter(), 0.0

    def _measured(self) -> Tuple[float, float]:
        return self._seconds_in_all, self._waited_in_all

    def _deliver(self, staged: Staged) -> Batch:
        staged.ticket.wait()
        batch = self._arrived(staged, self._jax.dlpack.from_dlpack)
        self._release()
        self._waited = time.perf_counter() - self._came
        return batch

    def _beside(self, numbers: Any, array: Any) -> Any:
        return self._jax.device_put(numbers, self._where)


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
