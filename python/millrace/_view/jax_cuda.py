"""JAX arrays on one GPU: what the device stage has made, taken over by JAX without a copy (DLPack).

A stream of JAX's waits for a batch to be finished, the host does not. But that is not the stream on which it
computes, which it names to nobody; and JAX drops an array as soon as nobody has it, whether computations that
read it are over or not. So its memory is used again when a computation that was begun after that is done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence

import numpy as np

from ..batch import Batch
from ..views import Staged
from .jax import JaxView
from .meter import HostMeter
from .on_gpu import OnGpu, decide
from .pins import driver_pins
from .staging import Staging

if TYPE_CHECKING:
    from .._stream.loop import Loop
    from ..feed import Feed

#: What JAX makes of 64 bits where it is not told to keep them (jax_enable_x64).
NARROW = {"i64": ("i32", np.int32), "f64": ("f32", np.float32)}


class Fence:
    """A moment on the stream on which JAX computes: all that it was given before goes first."""

    def __init__(self, moment: Any) -> None:
        self._moment = moment

    def query(self) -> bool:
        """Whether it has come."""
        return bool(self._moment.is_ready())

    def synchronize(self) -> None:
        """Waits for it, on the host."""
        self._moment.block_until_ready()


def fenced_memory(jax: Any, device: Any) -> Callable[[Any], Any]:
    """Memory whose reuse waits for JAX's computations."""

    def make(tools: Any) -> Any:
        from .._cuda.memory import PoolMemory

        step, begin = jax.jit(lambda number: number + 1), jax.device_put(np.float32(0), device)
        step(begin).block_until_ready()  # compiled here, not in the middle of an epoch
        tools.pool.fence = lambda: Fence(step(begin))
        return PoolMemory(tools.driver, tools.pool)

    return make


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
        staging = Staging(feed, index, fenced_memory(self._jax, device), narrow=narrow)
        decision = decide(feed, decode, index)
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
