"""nvJPEG: many JPEGs of the host decoded at once to interleaved RGB on the device.

Two back ends: the GPU's own JPEG engines (baseline files), and a hybrid of CUDA cores and CPU, slower, which
takes progressive ones as well. A call that fails doesn't say for which picture: halves are tried until the
refused ones are alone. nvJPEG never declares a sample bad; what it refuses goes to the CPU.

It is called alone, and with nothing left on its stream. It has 14 streams of its own for each decoder, which
wait for ours; where they share CUDA's queues with it, and it has work left, they may come to wait for each
other for ever. On an H200, beside a trainer and with 8 queues, one call in 120 did not return, while all
streams but nvJPEG's own were done.
"""

from __future__ import annotations

import threading
from ctypes import POINTER, byref, c_int, c_uint, c_void_p
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from . import libraries
from .errors import CudaError

HYBRID, HARDWARE = 2, 3
RGB_INTERLEAVED = 5
#: Chroma is interpolated as libjpeg-turbo does it: results differ by 1e-4 of a level.
INTERPOLATED_CHROMA = 32

NAMES = (
    "SUCCESS", "NOT_INITIALIZED", "INVALID_PARAMETER", "BAD_JPEG", "JPEG_NOT_SUPPORTED", "ALLOCATOR_FAILURE",
    "EXECUTION_FAILED", "ARCH_MISMATCH", "INTERNAL_ERROR", "IMPLEMENTATION_NOT_SUPPORTED",
    "INCOMPLETE_BITSTREAM",
)  # fmt: skip
#: What nvJPEG says of a picture, rather than of itself: such rows go another way.
REFUSALS = (3, 4, 6, 8, 9, 10)
#: After these a decoder may be left in the middle of something: it is made anew.
BROKEN = (6, 8)
#: What is said where there are no JPEG engines.
NO_ENGINES = ("NVJPEG_STATUS_ARCH_MISMATCH", "NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED")

SIGNATURES: Dict[str, Tuple[Any, ...]] = {
    "nvjpegGetProperty": (c_int, POINTER(c_int)),
    "nvjpegCreateEx": (c_int, c_void_p, c_void_p, c_uint, POINTER(c_void_p)),
    "nvjpegDestroy": (c_void_p,),
    "nvjpegJpegStateCreate": (c_void_p, POINTER(c_void_p)),
    "nvjpegJpegStateDestroy": (c_void_p,),
    "nvjpegDecodeBatchedInitialize": (c_void_p, c_void_p, c_int, c_int, c_int),
    "nvjpegDecodeBatched": (c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p),
}


class Bitstreams(NamedTuple):
    """JPEGs and where their pixels go, as nvJPEG's arguments lie in memory."""

    #: Addresses in the host's memory, and lengths in bytes: uint64[n].
    data: "np.ndarray[Any, Any]"
    lengths: "np.ndarray[Any, Any]"
    #: nvjpegImage_t: four addresses on the device, four pitches in bytes: uint64[n, 8].
    images: "np.ndarray[Any, Any]"

    def only(self, rows: "np.ndarray[Any, Any]") -> "Bitstreams":
        """Some of them."""
        return Bitstreams(self.data[rows], self.lengths[rows], self.images[rows])


def status_name(status: int) -> str:
    """The name of a status, as the manual has it."""
    return f"NVJPEG_STATUS_{NAMES[status]}" if 0 <= status < len(NAMES) else f"nvJPEG status {status}"


def load(driver: Optional[int] = None, library: Optional[Any] = None) -> Any:
    """libnvjpeg, typed. ``driver`` is the major version of CUDA that the driver has."""
    library = libraries.load("nvjpeg", driver) if library is None else library
    for name, arguments in SIGNATURES.items():
        call = getattr(library, name)
        call.argtypes, call.restype = arguments, c_int
    return library


#: Two calls at once, each with a handle and a state of its own, once waited for each other for ever.
#: The hardware is shared anyway: one call at a time, whoever calls.
_ALONE = threading.Lock()


class Decoder:
    """One back end. Calls belong to one thread, whose context is the device's."""

    def __init__(self, library: Any, backend: int) -> None:
        self._library = library
        self._backend = backend
        self._handle, self._state = c_void_p(), c_void_p()
        self._size = 0
        self._open()

    def _open(self) -> None:
        self._call("nvjpegCreateEx", self._backend, None, None, INTERPOLATED_CHROMA, byref(self._handle))
        self._call("nvjpegJpegStateCreate", self._handle, byref(self._state))
        self._size = 0

    def decode(self, batch: Bitstreams, stream: int) -> int:
        """Decodes all, or says why not. The data was read when this returns; pixels come on the stream.

        The engines don't wait for the stream, as others report of the H100: when this is called, nobody may
        need what is where the pixels go.
        """
        count = len(batch.data)
        if count != self._size:
            self._size = 0
            self._call("nvjpegDecodeBatchedInitialize", self._handle, self._state, count, 1, RGB_INTERLEAVED)
            self._size = count
        data, lengths, images = (part.ctypes.data for part in (batch.data, batch.lengths, batch.images))
        with _ALONE:
            status: int = self._library.nvjpegDecodeBatched(
                self._handle, self._state, data, lengths, images, stream
            )
        if status and status not in REFUSALS:
            raise CudaError(status_name(status), "nvjpegDecodeBatched")
        if status:
            self._size = 0
        if status in BROKEN:
            self.close()
            self._open()
        return status

    def close(self) -> None:
        """Gives its memory back."""
        if self._state:
            self._call("nvjpegJpegStateDestroy", self._state)
        if self._handle:
            self._call("nvjpegDestroy", self._handle)
        self._handle, self._state = c_void_p(), c_void_p()

    def _call(self, name: str, *arguments: Any) -> None:
        with _ALONE:
            status = getattr(self._library, name)(*arguments)
        if status:
            raise CudaError(status_name(status), name)


def refused(
    decode: Callable[["np.ndarray[Any, Any]"], int], rows: "np.ndarray[Any, Any]"
) -> List[Tuple[int, int]]:
    """Decodes rows, in halves where that fails: the rows that can't be, each with what was said of it."""
    if len(rows) == 0:
        return []
    status = decode(rows)
    if not status:
        return []
    if len(rows) == 1:
        return [(int(rows[0]), status)]
    half = len(rows) // 2
    return refused(decode, rows[:half]) + refused(decode, rows[half:])


class Jpegs:
    """Both back ends, made when they are first needed. Without JPEG engines the hybrid takes everything.

    ``settle`` waits until nothing is left on a stream.
    """

    def __init__(
        self, library: Any, settle: Callable[[int], None], make: Callable[[Any, int], Any] = Decoder
    ) -> None:
        self._library = library
        self._settle = settle
        self._make = make
        self._decoders: Dict[int, Any] = {}
        #: Whether this GPU has JPEG engines.
        self.hardware = self._try_hardware()

    def _try_hardware(self) -> bool:
        try:
            self._decoders[HARDWARE] = self._make(self._library, HARDWARE)
        except CudaError as error:
            if error.name not in NO_ENGINES:
                raise
            return False
        return True

    def decode(
        self, batch: Bitstreams, engines: "np.ndarray[Any, Any]", stream: int
    ) -> List[Tuple[int, str]]:
        """Decodes; ``engines[i]``: row i is for the engines. The rows that were refused, with the reason."""
        first = np.flatnonzero(engines) if self.hardware else np.zeros(0, np.int64)
        again = [row for row, _ in self._decode(HARDWARE, batch, first, stream)]
        rest = np.flatnonzero(~engines) if self.hardware else np.arange(len(engines))
        rows = np.concatenate([rest, np.array(again, np.int64)]) if again else rest
        return [(row, status_name(status)) for row, status in self._decode(HYBRID, batch, rows, stream)]

    def _decode(
        self, backend: int, batch: Bitstreams, rows: "np.ndarray[Any, Any]", stream: int
    ) -> List[Tuple[int, int]]:
        if len(rows) == 0:
            return []
        if backend not in self._decoders:
            self._decoders[backend] = self._make(self._library, backend)
        decoder = self._decoders[backend]

        def decode(some: "np.ndarray[Any, Any]") -> int:
            # All of them are in order already.
            part = batch if len(some) == len(batch.data) else batch.only(some)
            self._settle(stream)
            return int(decoder.decode(part, stream))

        return refused(decode, np.sort(rows))

    def close(self) -> None:
        """Gives their memory back."""
        for decoder in self._decoders.values():
            decoder.close()
        self._decoders.clear()
