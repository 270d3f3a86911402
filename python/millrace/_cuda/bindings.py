"""libcuda's functions by name with the types of their arguments, its numbers, and its one struct."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any, Dict, Tuple

#: Streams that stand for themselves: the legacy default one, and the calling thread's.
LEGACY, PER_THREAD = 1, 2

CAPTURE_RELAXED = 2


class Copy2D(ctypes.Structure):
    """CUDA_MEMCPY2D_v2: 128 bytes."""

    _fields_ = [
        (end + name, kind)
        for end in ("src", "dst")
        for name, kind in (
            ("XInBytes", c_size_t),
            ("Y", c_size_t),
            ("MemoryType", c_uint),
            ("Host", c_void_p),
            ("Device", c_uint64),
            ("Array", c_void_p),
            ("Pitch", c_size_t),
        )
    ] + [("WidthInBytes", c_size_t), ("Height", c_size_t)]


_INT, _PTR, _U64 = POINTER(c_int), POINTER(c_void_p), POINTER(c_uint64)

SIGNATURES: Dict[str, Tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (_INT,),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuDeviceGetCount": (_INT,),
    "cuDeviceGet": (_INT, c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceGetAttribute": (_INT, c_int, c_int),
    "cuDevicePrimaryCtxRetain": (_PTR, c_int),
    "cuCtxSetCurrent": (c_void_p,),
    "cuCtxPushCurrent_v2": (c_void_p,),
    "cuCtxPopCurrent_v2": (_PTR,),
    "cuCtxGetStreamPriorityRange": (_INT, _INT),
    "cuThreadExchangeStreamCaptureMode": (_INT,),
    "cuStreamCreateWithPriority": (_PTR, c_uint, c_int),
    "cuStreamDestroy_v2": (c_void_p,),
    "cuStreamSynchronize": (c_void_p,),
    "cuStreamWaitEvent": (c_void_p, c_void_p, c_uint),
    "cuStreamIsCapturing": (c_void_p, _INT),
    "cuEventCreate": (_PTR, c_uint),
    "cuEventDestroy_v2": (c_void_p,),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventQuery": (c_void_p,),
    "cuEventSynchronize": (c_void_p,),
    "cuMemGetInfo_v2": (POINTER(c_size_t), POINTER(c_size_t)),
    "cuMemAlloc_v2": (_U64, c_size_t),
    "cuMemFree_v2": (c_uint64,),
    "cuMemHostAlloc": (_PTR, c_size_t, c_uint),
    "cuMemFreeHost": (c_void_p,),
    "cuMemHostRegister_v2": (c_void_p, c_size_t, c_uint),
    "cuMemHostUnregister": (c_void_p,),
    "cuMemcpyHtoDAsync_v2": (c_uint64, c_void_p, c_size_t, c_void_p),
    "cuMemcpyDtoHAsync_v2": (c_void_p, c_uint64, c_size_t, c_void_p),
    "cuMemcpy2DAsync_v2": (POINTER(Copy2D), c_void_p),
    "cuMemsetD8Async": (c_uint64, ctypes.c_ubyte, c_size_t, c_void_p),
    "cuModuleLoadData": (_PTR, c_char_p),
    "cuModuleUnload": (c_void_p,),
    "cuModuleGetFunction": (_PTR, c_void_p, c_char_p),
    "cuLaunchKernel": (c_void_p, *(c_uint,) * 7, c_void_p, POINTER(c_void_p), c_void_p),
}
