"""NVRTC: CUDA C to machine code of one architecture. Needs no GPU."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from .._generated.cuda import COMPILE_OPTIONS
from . import libraries
from .errors import CudaError

_TEXTS = POINTER(c_char_p)

SIGNATURES: Dict[str, Tuple[Any, ...]] = {
    "nvrtcVersion": (POINTER(c_int), POINTER(c_int)),
    "nvrtcCreateProgram": (POINTER(c_void_p), c_char_p, c_char_p, c_int, _TEXTS, _TEXTS),
    "nvrtcCompileProgram": (c_void_p, c_int, _TEXTS),
    "nvrtcGetProgramLogSize": (c_void_p, POINTER(c_size_t)),
    "nvrtcGetProgramLog": (c_void_p, c_char_p),
    "nvrtcGetCUBINSize": (c_void_p, POINTER(c_size_t)),
    "nvrtcGetCUBIN": (c_void_p, c_char_p),
    "nvrtcGetPTXSize": (c_void_p, POINTER(c_size_t)),
    "nvrtcGetPTX": (c_void_p, c_char_p),
    "nvrtcDestroyProgram": (POINTER(c_void_p),),
}


def options(architecture: str) -> Tuple[str, ...]:
    """What our kernels are compiled with: float operations rounded one by one, as on the CPU."""
    return (f"--gpu-architecture={architecture}", *COMPILE_OPTIONS)


class Nvrtc:
    """The compiler. ``driver`` is the major version of CUDA that the driver has."""

    def __init__(self, driver: Optional[int] = None, library: Optional[Any] = None) -> None:
        self._library = libraries.load("nvrtc", driver) if library is None else library
        for name, arguments in SIGNATURES.items():
            call = getattr(self._library, name)
            call.argtypes, call.restype = arguments, c_int
        self._library.nvrtcGetErrorString.restype = c_char_p

    @property
    def version(self) -> Tuple[int, int]:
        """Major and minor."""
        major, minor = c_int(), c_int()
        self._call("nvrtcVersion", byref(major), byref(minor))
        return major.value, minor.value

    def compile(
        self, name: str, source: str, headers: Mapping[str, str], flags: Sequence[str], output: str = "CUBIN"
    ) -> bytes:
        """Machine code (or, with ``output="PTX"``, the text before it). ``headers`` are included by name."""
        program = c_void_p()
        self._call(
            "nvrtcCreateProgram",
            byref(program),
            source.encode(),
            name.encode(),
            len(headers),
            _texts(list(headers.values())),
            _texts(list(headers)),
        )
        try:
            code = self._library.nvrtcCompileProgram(program, len(flags), _texts(flags))
            if code:
                raise CudaError(self._name(code), f"compiling {name}", self._log(program))
            return self._text(f"nvrtcGet{output}", program)
        finally:
            self._call("nvrtcDestroyProgram", byref(program))

    def _log(self, program: c_void_p) -> str:
        return self._text("nvrtcGetProgramLog", program).rstrip(b"\0").decode("utf8", "replace").strip()

    def _text(self, call: str, program: c_void_p) -> bytes:
        size = c_size_t()
        self._call(call + "Size", program, byref(size))
        text = ctypes.create_string_buffer(size.value)
        self._call(call, program, text)
        return text.raw

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code:
            raise CudaError(self._name(code), name)

    def _name(self, code: int) -> str:
        return str(self._library.nvrtcGetErrorString(code).decode())


def _texts(texts: Sequence[str]) -> Any:
    return (c_char_p * len(texts))(*[text.encode() for text in texts])
