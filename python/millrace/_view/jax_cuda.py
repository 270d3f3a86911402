"""JAX arrays on one GPU: what the device stage has made, taken over by JAX without a copy (DLPack).

A stream of JAX's waits for a batch to be finished, the host does not. That is not the stream on which JAX
computes, which it doesn't tell; and JAX drops an array as soon as nothing refers to it, whether computations
that read it are over or not. So when an array is dropped, we start a small computation of JAX's, and use the
array's memory again when that is done.
"""

from __future__ import annotations

from typing import Any, Callable, Deque, Optional

import numpy as np

from .._stream.loop import Loop
from .._stream.reading import Taken
from .._stream.run import Run
from ..batch import Batch
from .carrier import Carrier, Staged
from .jax import load_jax
from .meter import HostMeter
from .on_gpu import OnGpu, decide
from .pins import Pins, driver_pins
from .staging import Staging

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


class JaxCuda(Carrier):
    """Arrays on a GPU, ``prefetch`` batches ahead of the user.

    All batches go through the device stage. JAX's own stream can't be asked: how long the host waits counts.
    The last parameters are for tests of the order of things, without a GPU.
    """

    to_device = True

    def __init__(
        self,
        run: Run,
        device: Any,
        prefetch: int,
        decode: str,
        jax: Any = None,
        open_stage: Optional[Callable[..., Any]] = None,
        pins: Optional[Pins] = None,
    ) -> None:
        super().__init__(run)
        self.prefetch = max(0, prefetch)
        self._jax = jax = jax or load_jax()
        index = int(getattr(device, "local_hardware_id", None) or 0)
        narrow = {} if jax.config.jax_enable_x64 else NARROW
        staging = Staging(run, index, fenced_memory(jax, device), open_stage=open_stage, narrow=narrow)
        self._meter = HostMeter()

        def beside(numbers: Any, array: Any) -> Any:
            return jax.device_put(numbers, device)

        decision, pins = decide(run, decode, index), pins or driver_pins(index)
        self._gpu = OnGpu(run, staging, pins, decision, self._meter, beside)

    def enter(self) -> None:
        self._gpu.enter()

    def asked(self, loop: Loop) -> None:
        self._meter.ask(loop.samples)
        self._gpu.step(loop)

    def load(self, taken: Taken) -> Staged:
        return self._gpu.load(taken)

    def arrives(self, loop: Loop, staged: Deque[Staged]) -> bool:
        return self._gpu.arrives(loop, staged)

    def unload(self, staged: Staged) -> Batch:
        self._gpu.wait(staged)
        batch = self._gpu.finished(staged, self._jax.dlpack.from_dlpack)
        self._gpu.release()
        self._meter.there()
        return batch

    def has_room(self, staged: Deque[Staged]) -> bool:
        self._gpu.release()
        if staged:
            return self.run.stream.room
        self._gpu.make_room()
        return True

    def leave(self, staged: Deque[Staged]) -> None:
        self._gpu.leave(staged)
