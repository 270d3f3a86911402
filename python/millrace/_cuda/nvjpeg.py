"""nvJPEG: many JPEGs of the host decoded at once to interleaved RGB on the device.

Baseline files are decoded by the GPU's own JPEG engines, or, where it has none, by its cores. A call that
fails doesn't say for which picture: halves are tried until the refused ones are alone. nvJPEG never declares
a sample bad; what it refuses goes to the CPU.

Each sampling of chroma has a state of its own, and calls of its own. A state that meets another sampling than
the picture before sets itself up anew: 0.9 ms each time on an H200, so that 10 pictures of 4:4:4 among 246 of
4:2:0 took 20.3 ms, and 12.7 ms with two states.

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

from .._generated.cuda import NVJPEG_INTERPOLATE_CHROMA, NVJPEG_OUTPUT_RGBI, NvjpegBackend
from .._generated.nvjpeg_status import NVJPEG_STATUSES, NvjpegStatus
from . import libraries
from .errors import CudaError

HYBRID, HARDWARE = NvjpegBackend.HYBRID, NvjpegBackend.HARDWARE
_STATUSES = {one.status: one for one in NVJPEG_STATUSES}

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
    #: How chroma is sampled, as parameter rows have it: [n].
    sampling: "np.ndarray[Any, Any]"

    def only(self, rows: "np.ndarray[Any, Any]") -> "Bitstreams":
        """Some of them."""
        return Bitstreams(*(part[rows] for part in self))


def status_of(status: int) -> NvjpegStatus:
    """What is known of a status. One that is not in the table is about a picture."""
    return _STATUSES.get(status) or NvjpegStatus(status, "", "redo", "fatal")


def status_name(status: int) -> str:
    """The name of a status, as the manual has it."""
    name = status_of(status).name
    return f"NVJPEG_STATUS_{name}" if name else f"nvJPEG status {status}"


#: What is said where there are no JPEG engines.
NO_ENGINES = [status_name(one.status) for one in NVJPEG_STATUSES if one.opening == "cores"]


def load(driver: Optional[int] = None, library: Optional[Any] = None) -> Any:
    """libnvjpeg, typed. ``driver`` is the major version of CUDA that the driver has."""
    library = libraries.load("nvjpeg", driver) if library is None else library
    for name, arguments in SIGNATURES.items():
        call = getattr(library, name)
        call.argtypes, call.restype = arguments, c_int
    return library


#: Held during a call: two calls at once, each with a handle and a state of its own, once waited for each
#: other for ever. The hardware is shared anyway. Only threads of device stages take it, under no other lock.
_ALONE = threading.Lock()


class Decoder:
    """nvJPEG's handle of one back end, and a state for each sampling.

    Calls belong to one thread, whose context is the device's.
    """

    def __init__(self, library: Any, backend: int) -> None:
        self._library = library
        self._backend = backend
        self._handle = c_void_p()
        #: sampling: the state, and the number of pictures that it is set up for.
        self._states: Dict[int, Tuple[c_void_p, int]] = {}
        self._open()

    def _open(self) -> None:
        self._call(
            "nvjpegCreateEx", self._backend, None, None, NVJPEG_INTERPOLATE_CHROMA, byref(self._handle)
        )

    def decode(self, batch: Bitstreams, stream: int) -> int:
        """Decodes pictures of one sampling, or says why not.

        The data was read when this returns; pixels come on the stream. The engines don't wait for the stream,
        as others report of the H100: when this is called, no earlier work may still need what is where the
        pixels go.
        """
        sampling = int(batch.sampling[0])
        state = self._state(sampling, len(batch.data))
        data, lengths, images = (part.ctypes.data for part in batch[:3])
        with _ALONE:
            status: int = self._library.nvjpegDecodeBatched(
                self._handle, state, data, lengths, images, stream
            )
        if status_of(status).decoding == "fatal":
            raise CudaError(status_name(status), "nvjpegDecodeBatched")
        if status:
            self._states[sampling] = state, 0
        return status

    def reopen(self) -> None:
        """Opens it anew: it may have been left in the middle of something."""
        self.close()
        self._open()

    def _state(self, sampling: int, count: int) -> c_void_p:
        """The state of a sampling, set up for so many pictures."""
        if sampling not in self._states:
            made = c_void_p()
            self._call("nvjpegJpegStateCreate", self._handle, byref(made))
            self._states[sampling] = made, 0
        state, size = self._states[sampling]
        if size != count:
            self._states[sampling] = state, 0
            self._call("nvjpegDecodeBatchedInitialize", self._handle, state, count, 1, NVJPEG_OUTPUT_RGBI)
            self._states[sampling] = state, count
        return state

    def close(self) -> None:
        """Gives its memory back. What nvJPEG says to that is of no use: it is not used again."""
        with _ALONE:
            for state, _ in self._states.values():
                self._library.nvjpegJpegStateDestroy(state)
            self._states.clear()
            if self._handle:
                self._library.nvjpegDestroy(self._handle)
            self._handle = c_void_p()

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
    """The JPEG engines, or the GPU's cores where there are none.

    ``settle`` waits until nothing is left on a stream.
    """

    def __init__(
        self, library: Any, settle: Callable[[int], None], make: Callable[[Any, int], Any] = Decoder
    ) -> None:
        self._settle = settle
        #: Whether this GPU has JPEG engines.
        self.hardware = True
        try:
            self._decoder = make(library, HARDWARE)
        except CudaError as error:
            if error.name not in NO_ENGINES:
                raise
            self.hardware = False
            self._decoder = make(library, HYBRID)

    def decode(self, batch: Bitstreams, stream: int) -> List[Tuple[int, str]]:
        """Decodes, one sampling after the other. The rows that were refused, with the reason."""

        def decode(rows: "np.ndarray[Any, Any]") -> int:
            # All of them are in order already.
            part = batch if len(rows) == len(batch.data) else batch.only(rows)
            self._settle(stream)
            status = int(self._decoder.decode(part, stream))
            if status_of(status).decoding == "reopen":
                # Where the context was harmed, this raises: then it was no fault of a picture.
                self._settle(stream)
                self._decoder.reopen()
            return status

        found: List[Tuple[int, int]] = []
        for sampling in np.unique(batch.sampling):
            found += refused(decode, np.flatnonzero(batch.sampling == sampling))
        return [(row, status_name(status)) for row, status in sorted(found)]

    def close(self) -> None:
        """Gives their memory back."""
        self._decoder.close()
