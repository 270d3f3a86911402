"""nvJPEG by itself: its hardware engine decodes the same JPEGs again and again. The ceiling of GPU decoding.

The bytes lie in page-locked memory, pixels become RGB8, interleaved, with interpolated chroma: just what the
feeds ask of it, and nothing besides.
"""

from __future__ import annotations

import ctypes
import glob
import os
import site
import time
from collections.abc import Iterator, Sequence
from typing import Any

import torch

BACKEND_HARDWARE = 3
#: Forms in which pictures come: nvjpegOutputFormat_t.
OUTPUTS = {"yuv": 1, "y": 2, "rgbi": 5}
UPSAMPLING_WITH_INTERPOLATION = 32


def load() -> ctypes.CDLL:
    """The library, from wherever CUDA's libraries are."""
    tried = list(candidates())
    for name in tried:
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    raise RuntimeError(f"libnvjpeg is not installed; looked for {', '.join(tried)}")


def candidates() -> Iterator[str]:
    """Names and paths, best first."""
    for folder in filter(None, os.environ.get("MILLRACE_CUDA_PATH", "").split(os.pathsep)):
        yield from sorted(glob.glob(f"{folder}/libnvjpeg.so.*"), reverse=True)
    for major in (13, 12):
        yield f"libnvjpeg.so.{major}"
    for folder in ("/usr/local/cuda*/targets/*/lib", "/usr/local/cuda*/lib64"):
        yield from sorted(glob.glob(f"{folder}/libnvjpeg.so.*"), reverse=True)
    for packages in site.getsitepackages():
        yield from sorted(glob.glob(f"{packages}/nvidia/*/lib/libnvjpeg.so.*"), reverse=True)


class Image(ctypes.Structure):
    """nvjpegImage_t: up to four planes; an interleaved picture is the first."""

    _fields_ = [("channel", ctypes.c_void_p * 4), ("pitch", ctypes.c_size_t * 4)]


class Hardware:
    """Decodes batches of ``batch`` pictures of one size, into one of the ``OUTPUTS``."""

    def __init__(
        self, pictures: Sequence[bytes], width: int, height: int, batch: int, output: str = "rgbi"
    ) -> None:
        self._output = output
        self._library = load()
        torch.zeros(1, device="cuda")  # the context that everything here shares
        self._handle, self._state = ctypes.c_void_p(), ctypes.c_void_p()
        flags = UPSAMPLING_WITH_INTERPOLATION
        self._call("nvjpegCreateEx", BACKEND_HARDWARE, None, None, flags, ctypes.byref(self._handle))
        self._call("nvjpegJpegStateCreate", self._handle, ctypes.byref(self._state))
        self._call("nvjpegDecodeBatchedInitialize", self._handle, self._state, batch, 1, OUTPUTS[output])
        self.batch = batch
        self._stream = torch.cuda.Stream()
        self._batches = [
            self._pinned(pictures[at : at + batch]) for at in range(0, len(pictures) - batch + 1, batch)
        ]
        #: Two of them, as if somebody still read the other.
        shape = (batch, height, width, 3)
        self.pixels = [torch.empty(shape, dtype=torch.uint8, device="cuda") for _ in range(2)]
        self._images = [self._destinations(pixels) for pixels in self.pixels]
        torch.cuda.synchronize()

    def _pinned(self, pictures: Sequence[bytes]) -> Any:
        """The pictures' bytes, page-locked; where each lies, and how long it is."""
        room = [(len(picture) + 63) // 64 * 64 for picture in pictures]
        held = torch.empty(sum(room), dtype=torch.uint8, pin_memory=True)
        places = (ctypes.c_void_p * len(pictures))()
        lengths = (ctypes.c_size_t * len(pictures))(*map(len, pictures))
        at = held.data_ptr()
        for i, picture in enumerate(pictures):
            ctypes.memmove(at, picture, len(picture))
            places[i] = at
            at += room[i]
        return held, places, lengths

    def _destinations(self, pixels: torch.Tensor) -> Any:
        images = (Image * self.batch)()
        for image, row in zip(images, pixels):
            height, width, _ = row.shape
            if self._output == "rgbi":
                image.channel[0], image.pitch[0] = row.data_ptr(), row.stride(0)
                continue
            # Planes, each with room for one of full size.
            for plane in range(3):
                image.channel[plane] = row.data_ptr() + plane * width * height
                image.pitch[plane] = width
        return images

    def decode(self, number: int) -> torch.Tensor:
        """Decodes one batch; the call comes back when it is done, or nearly so."""
        _, places, lengths = self._batches[number % len(self._batches)]
        stream = ctypes.c_void_p(self._stream.cuda_stream)
        images = self._images[number % 2]
        self._call("nvjpegDecodeBatched", self._handle, self._state, places, lengths, images, stream)
        return self.pixels[number % 2]

    def rate(self, seconds: float) -> float:
        """Pictures a second."""
        for number in range(5):
            self.decode(number)
        torch.cuda.synchronize()
        begun, number = time.perf_counter(), 0
        while time.perf_counter() - begun < seconds:
            self.decode(number)
            number += 1
        torch.cuda.synchronize()
        return number * self.batch / (time.perf_counter() - begun)

    def close(self) -> None:
        """Gives everything back."""
        torch.cuda.synchronize()
        self._call("nvjpegJpegStateDestroy", self._state)
        self._call("nvjpegDestroy", self._handle)

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} failed with nvJPEG status {status}")
