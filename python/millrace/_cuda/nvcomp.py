"""nvCOMP: many compressed streams on the device, decompressed at once, each to its place.

Its functions have changed from one major version to the next; those of 4, 5 and 6 are known, from their
headers:

    4   …DecompressGetTempSizeEx(n, largest, *temp, total)
    5   …DecompressGetTempSizeAsync(n, largest, options, *temp, total)
    6   …DecompressGetTempSize(n, largest, options, *temp, total, stream)
    all …DecompressAsync(streams, sizes, rooms, *actual, n, temp, its size, outputs, [options,] *statuses,
        stream)

Options (since 5) are 64 bytes, passed by value: the back end and zeros. We ask for the CUDA one: the engines
of newer GPUs want memory of a special kind, and say nothing of damaged data.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char, c_int, c_size_t, c_uint32, c_void_p, sizeof
from typing import Any, Dict, NamedTuple, Optional

from .._generated.cuda import (
    NVCOMP_BACKEND_CUDA,
    NVCOMP_CODECS,
    NVCOMP_MAJORS,
    NVCOMP_OPTIONS_BYTES,
    NVCOMP_STATUSES,
)
from ..errors import MissingError
from . import libraries
from .errors import CudaError


def status_name(status: int) -> str:
    """As nvCOMP's headers have it."""
    return NVCOMP_STATUSES.get(status, f"nvCOMP status {status}")


class Options(ctypes.Structure):
    """nvcompBatched…DecompressOpts_t: 64 bytes, equal for all codecs as far as we fill it in."""

    _fields_ = [("backend", c_int), ("reserved", c_char * (NVCOMP_OPTIONS_BYTES - sizeof(c_int)))]


OPTIONS = Options(backend=NVCOMP_BACKEND_CUDA)
SIZE_TYPES = (c_size_t, c_size_t, Options, POINTER(c_size_t), c_size_t)


class Streams(NamedTuple):
    """Addresses, on the device, of arrays with an entry for each of so many streams."""

    number: int
    #: uint64: where the streams are, how many bytes they have, and how many their outputs have room for.
    streams: int
    sizes: int
    rooms: int
    #: uint64: where the outputs are.
    outputs: int
    #: Filled in: uint64, bytes that came out; int32, a status.
    actual: int
    statuses: int


class Nvcomp:
    """The library. ``library`` is libnvcomp, or in tests what stands for it."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self.version = version_of(library)
        self._major = self.version // 1000
        if self._major not in NVCOMP_MAJORS:
            raise MissingError(
                f"nvCOMP {version_text(self.version)} is installed, and only versions 4, 5 and 6 are known: "
                "pip install 'nvidia-libnvcomp-cu13<7', or leave it out: the CPU decompresses then"
            )
        self._calls: Dict[str, Any] = {}

    def temp_bytes(self, codec: str, count: int, largest: int, total: int, stream: int) -> int:
        """Memory that it needs besides, for outputs of ``largest`` bytes at most and ``total`` together."""
        temp = c_size_t()
        if self._major == 4:
            call = self._call(codec, "GetTempSizeEx", c_size_t, c_size_t, POINTER(c_size_t), c_size_t)
            call(count, largest, byref(temp), total)
        elif self._major == 5:
            call = self._call(codec, "GetTempSizeAsync", *SIZE_TYPES)
            call(count, largest, OPTIONS, byref(temp), total)
        else:
            call = self._call(codec, "GetTempSize", *SIZE_TYPES, c_void_p)
            call(count, largest, OPTIONS, byref(temp), total, stream)
        return temp.value

    def decompress(self, codec: str, some: Streams, temp: int, temp_bytes: int, stream: int) -> None:
        """Puts it on the stream. What became of each is in ``actual`` and ``statuses`` afterwards."""
        number, streams, sizes, rooms, outputs, actual, statuses = some
        types = (*[c_void_p] * 4, c_size_t, c_void_p, c_size_t, c_void_p)
        arguments = (streams, sizes, rooms, actual, number, temp, temp_bytes, outputs)
        options = () if self._major == 4 else (OPTIONS,)
        call = self._call(codec, "Async", *types, *map(type, options), c_void_p, c_void_p)
        call(*arguments, *options, statuses, stream)

    def _call(self, codec: str, what: str, *types: Any) -> Any:
        name = f"nvcompBatched{NVCOMP_CODECS[codec]}Decompress{what}"
        if name not in self._calls:
            call = getattr(self._library, name)
            call.argtypes, call.restype = types, c_int
            self._calls[name] = call

        def checked(*arguments: Any) -> None:
            status = self._calls[name](*arguments)
            if status:
                raise CudaError(status_name(status), name)

        return checked


def version_of(library: Any) -> int:
    """1000 · major + 100 · minor + patch."""
    properties = (c_uint32 * 2)()
    call = library.nvcompGetProperties
    call.argtypes, call.restype = (c_void_p,), c_int
    status = call(properties)
    if status:
        raise CudaError(status_name(status), "nvcompGetProperties")
    return int(properties[0])


def version_text(version: int) -> str:
    """6.0.1"""
    return f"{version // 1000}.{version // 100 % 10}.{version % 100}"


def load(driver: Optional[int] = None) -> Nvcomp:
    """The installed nvCOMP. ``driver`` is the major version of CUDA that the driver has."""
    return Nvcomp(libraries.load("nvcomp", driver))


def missing(driver: Optional[int] = None) -> Optional[str]:
    """Why arrays can't be decompressed on the device; None when they can."""
    try:
        load(driver)
    except (MissingError, CudaError) as error:
        return str(error)
    return None
