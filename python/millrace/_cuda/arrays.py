"""An array on the device: no arithmetic of its own, but every library can take it over without a copy."""

from __future__ import annotations

from math import prod
from typing import Any, Dict, Optional, Sequence, Tuple

import numpy as np

from .._client.layout import numpy_dtype
from .._generated.dtypes import BYTES
from . import dlpack
from .bindings import LEGACY, PER_THREAD
from .events import Event


def item_bytes(kind: str) -> int:
    """Bytes of an element."""
    return BYTES[kind]


def compact(shape: Sequence[int]) -> Tuple[int, ...]:
    """Strides, in elements, of an array without gaps."""
    steps = [1]
    for size in reversed(shape[1:]):
        steps.append(steps[-1] * max(1, size))
    return tuple(reversed(steps[: len(shape)]))


class DeviceArray:
    """Shape, strides (in elements), element type, and the buffer that it lies in, which it keeps.

    ``torch.from_dlpack(array)`` and ``jax.dlpack.from_dlpack(array)`` lie in the same memory. Their current
    stream waits for the array to be ready, the host does not. The memory is used again once nothing refers
    to it and the stream that it was handed to has come to that point.
    """

    def __init__(
        self,
        driver: Any,
        owner: Any,
        address: int,
        shape: Tuple[int, ...],
        kind: str,
        strides: Optional[Tuple[int, ...]] = None,
        device_type: int = dlpack.CUDA,
    ) -> None:
        self._driver = driver
        self.owner = owner
        self.address = address
        self.shape = shape
        self.kind = kind
        self.strides = compact(shape) if strides is None else strides
        self._device_type = device_type
        #: After it, the array is what it should be.
        self.ready: Optional[Event] = None

    @property
    def dtype(self) -> "np.dtype[Any]":
        """As NumPy shows it."""
        return numpy_dtype(self.kind)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def permuted(self, *axes: int) -> "DeviceArray":
        """The same memory with its axes in another order: (0, 3, 1, 2) shows hwc as channels_last."""
        shape = tuple(self.shape[axis] for axis in axes)
        strides = tuple(self.strides[axis] for axis in axes)
        view = DeviceArray(
            self._driver, self.owner, self.address, shape, self.kind, strides, self._device_type
        )
        view.ready = self.ready
        return view

    def use_on(self, stream: int) -> None:
        """A consumer's stream will work on it: that waits until it is ready, and reuse waits for that."""
        if self.ready is not None:
            self.ready.before(stream)
        # A thread's own default stream has no name elsewhere; the legacy one waits for it.
        self.owner.streams.add(LEGACY if stream == PER_THREAD else stream)

    # ------------------------------------------------------------ DLPack

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self._device_type, self._driver.device

    def __dlpack__(
        self,
        *,
        stream: Optional[int] = None,
        max_version: Optional[Tuple[int, int]] = None,
        dl_device: Optional[Tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any:
        """A capsule. ``stream``: the consumer's (None or 1: the default one, 2: the thread's), -1: no wait.

        Consumers of any version understand a capsule of the first one, which this is.
        """
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("this array can't be copied, or moved to another device, on the way to DLPack")
        if stream == 0:
            raise ValueError("stream 0 is ambiguous: DLPack wants 1 (legacy default) or 2 (per thread)")
        if stream != -1 and self._device_type == dlpack.CUDA:
            self.use_on(LEGACY if stream is None else int(stream))
        return dlpack.capsule(
            self, self.address, self.kind, self.shape, self.strides, self.__dlpack_device__()
        )

    # ------------------------------------------------------------ the CUDA array interface

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        if self.kind == "bf16":
            raise AttributeError("the CUDA array interface has no bfloat16: use DLPack")
        # It doesn't tell whose stream will work on the array: the default one waits, and is named.
        self.use_on(LEGACY)
        size = item_bytes(self.kind)
        plain = self.strides == compact(self.shape)
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None if plain else tuple(step * size for step in self.strides),
            "stream": LEGACY,
        }

    # ------------------------------------------------------------ without a library

    def copy_to_host(self) -> "np.ndarray[Any, Any]":
        """A copy as a NumPy array. Waits for it."""
        if self.strides != compact(self.shape):
            raise ValueError("only an array without gaps is copied to the host: copy before permuting")
        host = np.empty(self.shape, self.dtype)
        if self.ready is not None:
            self.ready.synchronize()
        with self._driver.current():
            self._driver.copy_out(
                host.ctypes.data, self.address, prod(self.shape) * item_bytes(self.kind), LEGACY
            )
            self._driver.synchronize_stream(LEGACY)
        return host

    def __repr__(self) -> str:
        return f"<{self.kind}{list(self.shape)} on CUDA device {self._driver.device}>"
