"""CUDA's driver, as much of it as the stage needs: typed, every call checked, handles and addresses as ints.

The context is the device's primary one, which PyTorch and JAX use as well: memory, streams and events mean
the same thing to all of them. ``bind`` makes it the calling thread's own; anywhere else, calls go between
the two ends of ``current``, which leaves the thread's context as it was.

Threads: any. The libraries lock for themselves; here only the note which threads are bound is a thread's own.
ctypes lets go of the GIL for the time of a call.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from contextlib import contextmanager
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple

from .._generated.cuda import (
    EVENT_FLAGS,
    HOST_PORTABLE,
    STREAM_NON_BLOCKING,
    CudaStatus,
    DeviceAttribute,
    MemoryType,
)
from . import bindings as at
from . import libraries
from .bindings import Copy2D
from .errors import CudaError


@functools.lru_cache(maxsize=None)
def driver_of(device: int = 0) -> "Driver":
    """The driver for a device, one for the process: its primary context is kept until the process ends."""
    return Driver(device)


class Driver:
    """One device. ``library`` is libcuda, or in tests what stands for it."""

    def __init__(self, device: int = 0, library: Optional[Any] = None) -> None:
        self._library = libraries.load("cuda") if library is None else library
        self._calls: Dict[str, Any] = {}
        for name, arguments in at.SIGNATURES.items():
            call = getattr(self._library, name)
            call.argtypes, call.restype = arguments, c_int
            self._calls[name] = call
        self._bound = threading.local()
        self.device = device
        self._call("cuInit", 0)
        self.version: int = self._int("cuDriverGetVersion")
        self._handle: int = self._int("cuDeviceGet", device)
        self.multiprocessors = self.attribute(DeviceAttribute.MULTIPROCESSORS)
        #: As NVRTC calls it: sm_90.
        major, minor = DeviceAttribute.CAPABILITY_MAJOR, DeviceAttribute.CAPABILITY_MINOR
        self.architecture = f"sm_{self.attribute(major)}{self.attribute(minor)}"
        self._context = self._pointer("cuDevicePrimaryCtxRetain", self._handle)

    @property
    def name(self) -> str:
        """The device's name, such as NVIDIA H200."""
        text = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", text, 256, self._handle)
        return text.value.decode("utf8", "replace")

    def attribute(self, which: int) -> int:
        """A CU_DEVICE_ATTRIBUTE_…"""
        return self._int("cuDeviceGetAttribute", which, self._handle)

    # ------------------------------------------------------------ calling

    def _call(self, name: str, *arguments: Any) -> None:
        code = self._calls[name](*arguments)
        if code:
            raise CudaError(self._error_name(code), name)

    def _error_name(self, code: int) -> str:
        text = c_char_p()
        known = self._calls["cuGetErrorName"](code, byref(text)) == 0
        return text.value.decode() if known and text.value else f"CUDA error {code}"

    def _int(self, name: str, *arguments: Any) -> int:
        value = c_int()
        self._call(name, byref(value), *arguments)
        return value.value

    def _pointer(self, name: str, *arguments: Any) -> int:
        value = c_void_p()
        self._call(name, byref(value), *arguments)
        return value.value or 0

    # ------------------------------------------------------------ threads

    def bind(self) -> None:
        """The calling thread is ours: the context stays with it.

        What it does is allowed while another thread captures a CUDA graph: it never touches that stream.
        """
        self._call("cuCtxSetCurrent", self._context)
        self._call("cuThreadExchangeStreamCaptureMode", byref(c_int(at.CAPTURE_RELAXED)))
        self._bound.here = True

    @contextmanager
    def current(self) -> Iterator[None]:
        """For threads that are not ours: the context is current within the ``with`` alone."""
        if getattr(self._bound, "here", False):
            yield
            return
        self._call("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            self._call("cuCtxPopCurrent_v2", byref(c_void_p()))

    # ------------------------------------------------------------ streams and events

    def stream(self) -> int:
        """A stream of the highest priority, which does not wait for the default one."""
        lowest, highest = c_int(), c_int()
        self._call("cuCtxGetStreamPriorityRange", byref(lowest), byref(highest))
        return self._pointer("cuStreamCreateWithPriority", STREAM_NON_BLOCKING, highest.value)

    def destroy_stream(self, stream: int) -> None:
        self._call("cuStreamDestroy_v2", stream)

    def synchronize_stream(self, stream: int) -> None:
        self._call("cuStreamSynchronize", stream)

    def wait_event(self, stream: int, event: int) -> None:
        """What is put on the stream from now on begins after the event. The host goes on."""
        self._call("cuStreamWaitEvent", stream, event, 0)

    def capturing(self, stream: int) -> bool:
        """Whether work on this stream goes into a CUDA graph at the moment, instead of to the device."""
        status = c_int()
        return self._calls["cuStreamIsCapturing"](stream, byref(status)) != 0 or status.value != 0

    def event(self) -> int:
        return self._pointer("cuEventCreate", EVENT_FLAGS)

    def destroy_event(self, event: int) -> None:
        self._call("cuEventDestroy_v2", event)

    def record(self, event: int, stream: int) -> None:
        self._call("cuEventRecord", event, stream)

    def query(self, event: int) -> bool:
        """Whether all that was before the event is done."""
        code = self._calls["cuEventQuery"](event)
        if code not in (0, CudaStatus.NOT_READY):
            raise CudaError(self._error_name(code), "cuEventQuery")
        return bool(code == 0)

    def synchronize(self, event: int) -> None:
        """Waits for the event, on the host."""
        self._call("cuEventSynchronize", event)

    # ------------------------------------------------------------ memory

    def free_memory(self) -> Tuple[int, int]:
        """Bytes of the device that are free, and that it has."""
        free, total = c_size_t(), c_size_t()
        self._call("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value, total.value

    def alloc(self, size: int) -> int:
        address = c_uint64()
        self._call("cuMemAlloc_v2", byref(address), size)
        return address.value

    def free(self, address: int) -> None:
        self._call("cuMemFree_v2", address)

    def alloc_host(self, size: int) -> int:
        """Page-locked memory of the host."""
        return self._pointer("cuMemHostAlloc", size, HOST_PORTABLE)

    def free_host(self, address: int) -> None:
        self._call("cuMemFreeHost", address)

    def register(self, address: int, size: int) -> None:
        """Page-locks memory that is there already."""
        self._call("cuMemHostRegister_v2", address, size, HOST_PORTABLE)

    def unregister(self, address: int) -> None:
        self._call("cuMemHostUnregister", address)

    def copy_in(self, device: int, host: int, size: int, stream: int) -> None:
        self._call("cuMemcpyHtoDAsync_v2", device, host, size, stream)

    def copy_out(self, host: int, device: int, size: int, stream: int) -> None:
        self._call("cuMemcpyDtoHAsync_v2", host, device, size, stream)

    def copy_rows_in(
        self, device: int, device_pitch: int, host: int, host_pitch: int, width: int, rows: int, stream: int
    ) -> None:
        """``width`` bytes of each of ``rows`` rows, which lie a pitch apart."""
        copy = Copy2D(
            srcMemoryType=MemoryType.HOST, srcHost=host, srcPitch=host_pitch, dstMemoryType=MemoryType.DEVICE,
            dstDevice=device, dstPitch=device_pitch, WidthInBytes=width, Height=rows,
        )  # fmt: skip
        self._call("cuMemcpy2DAsync_v2", byref(copy), stream)

    def zero(self, device: int, size: int, stream: int) -> None:
        self._call("cuMemsetD8Async", device, 0, size, stream)

    # ------------------------------------------------------------ kernels

    def module(self, cubin: bytes) -> int:
        return self._pointer("cuModuleLoadData", cubin)

    def unload(self, module: int) -> None:
        self._call("cuModuleUnload", module)

    def function(self, module: int, name: str) -> int:
        return self._pointer("cuModuleGetFunction", module, name.encode())

    def launch(
        self, function: int, blocks: Tuple[int, int], threads: int, arguments: Sequence[Any], stream: int
    ) -> None:
        """``arguments`` are ctypes values of exactly the kernel's types."""
        places = (c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        self._call("cuLaunchKernel", function, *blocks, 1, threads, 1, 1, 0, stream, places, None)
