"""JAX arrays on one GPU: what the device stage has made, taken over by JAX without a copy (DLPack).

JAX's stream waits for a batch to be finished, the host does not. Memory is used again when JAX has dropped
the array and its stream has come to that point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence

import numpy as np

from ._jax import JaxView
from ._meter import HostMeter
from ._on_gpu import OnGpu, decide
from ._pins import driver_pins
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

    #: JAX's own stream can't be asked: here the host's waiting counts.
    _meter: HostMeter

    def __init__(
        self, feed: "Feed", device: Any, names: Optional[Sequence[str]], prefetch: int, decode: str
    ) -> None:
        super().__init__(feed, device, names, prefetch)
        index = int(getattr(device, "local_hardware_id", None) or 0)
        narrow = {} if self._jax.config.jax_enable_x64 else NARROW
        staging, decision = Staging(feed, index, narrow=narrow), decide(feed, decode, index)
        self._open(staging, driver_pins(index), decision, HostMeter())

    def _ask(self, loop: "Loop") -> None:
        step = self._meter.ask(loop.samples)
        if step is not None:
            self._step(loop, *step)

    def _deliver(self, staged: Staged) -> Batch:
        self._staging.wait(staged.ticket)
        batch = self._arrived(staged, self._jax.dlpack.from_dlpack)
        self._release()
        self._meter.there()
        return batch

    def _beside(self, numbers: Any, array: Any) -> Any:
        return self._jax.device_put(numbers, self._where)
