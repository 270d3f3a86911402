"""Our kernels: the package's .cu files, compiled once for an architecture and kept on disk.

    <cache>/kernels/<sha256 of options and sources, 32 hex>-sm_90.cubin

Files appear by rename, so several processes may compile the same at once. One that the driver refuses is
compiled again.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from ctypes import c_int, c_uint64
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Sequence

from .._generated.device import MIX_ARGUMENTS, PICTURE_ARGUMENTS, SYNTHETIC_ARGUMENTS
from ..errors import MissingError
from .errors import CudaError
from .nvrtc import Nvrtc, options

#: The types of arguments, as the generated tables call them.
_TYPES = {"address": c_uint64, "u64": c_uint64, "i32": c_int}
#: Arguments of each kernel, as its .cu file declares them.
ARGUMENTS = {"picture": PICTURE_ARGUMENTS, "mix": MIX_ARGUMENTS, "synthetic": SYNTHETIC_ARGUMENTS}


def argument_types(name: str) -> Sequence[Any]:
    """The types of a kernel's arguments."""
    return [_TYPES[kind] for kind in ARGUMENTS[name]]


class Sources:
    """A folder of .cu files and the headers that they may include."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.headers = {path.name: path.read_text() for path in sorted(folder.glob("*.cuh"))}
        operators = folder.parents[2] / "operators"
        for path in sorted(operators.glob("*/step.cuh")):
            self.headers[f"{path.parent.name}/{path.name}"] = path.read_text()

    def text(self, name: str) -> str:
        """The source of a kernel."""
        path = self.folder / f"{name}.cu"
        try:
            return path.read_text()
        except FileNotFoundError as error:
            raise MissingError(f"{path} is not there: install millrace again") from error


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where compiled kernels are kept."""
    if environ.get("MILLRACE_CACHE"):
        return Path(environ["MILLRACE_CACHE"], "kernels")
    base = environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base, "millrace", "kernels")


def cache_name(flags: Sequence[str], source: str, headers: Mapping[str, str], architecture: str) -> str:
    """The file of a compiled kernel: another source, header or option is another file."""
    digest = hashlib.sha256()
    for part in (*flags, source, *(text for pair in sorted(headers.items()) for text in pair)):
        digest.update(part.encode())
        digest.update(b"\0")
    return f"{digest.hexdigest()[:32]}-{architecture}.cubin"


def keep(path: Path, cubin: bytes) -> None:
    """Writes a file that is either whole or not there. A cache that can't be written is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(cubin)
        os.replace(part, path)
    except OSError:
        os.unlink(part)


class Kernel:
    """A function on the device that knows the types of its arguments."""

    def __init__(self, driver: Any, function: int, types: Sequence[Any]) -> None:
        self._driver = driver
        self._function = function
        self._types = types

    def launch(self, blocks: int, threads: int, values: Sequence[int], stream: int) -> None:
        """Puts it on a stream."""
        if len(values) != len(self._types):
            raise TypeError(f"{len(values)} arguments for a kernel of {len(self._types)}")
        arguments = [kind(value) for kind, value in zip(self._types, values)]
        self._driver.launch(self._function, (blocks, 1), threads, arguments, stream)


class Kernels:
    """Kernels of one folder on one device. ``compiler`` is made when something must be compiled."""

    def __init__(self, driver: Any, folder: Path, cache: Optional[Path] = None, compiler: Any = None) -> None:
        self._driver = driver
        self._sources = Sources(Path(folder))
        self._cache = cache_folder(os.environ) if cache is None else cache
        self._compiler = compiler
        self._modules: Dict[str, int] = {}

    def kernel(self, name: str) -> Kernel:
        """The kernel ``name`` of ``name``.cu."""
        module = self.load(f"{name}.cu", self._sources.text(name), self.headers)
        return Kernel(self._driver, self._driver.function(module, name), argument_types(name))

    @property
    def headers(self) -> Mapping[str, str]:
        """Our headers by name."""
        return self._sources.headers

    def load(self, file: str, source: str, headers: Mapping[str, str]) -> int:
        """The module of a source, compiled if need be. ``file`` is its name in the compiler's messages."""
        architecture = self._driver.architecture
        flags = options(architecture)
        name = cache_name(flags, source, headers, architecture)
        if name not in self._modules:
            self._modules[name] = self._cached(self._cache / name) or self._compile(
                self._cache / name, file, source, headers, flags
            )
        return self._modules[name]

    def _cached(self, path: Path) -> int:
        """The module in a file; 0 if it is not there, or damaged."""
        try:
            return int(self._driver.module(path.read_bytes()))
        except (OSError, CudaError):
            return 0

    def _compile(
        self, path: Path, file: str, source: str, headers: Mapping[str, str], flags: Sequence[str]
    ) -> int:
        if self._compiler is None:
            self._compiler = Nvrtc(self._driver.version // 1000)
        cubin = self._compiler.compile(file, source, headers, flags)
        keep(path, cubin)
        return int(self._driver.module(cubin))

    def close(self) -> None:
        """Unloads them."""
        for module in self._modules.values():
            self._driver.unload(module)
        self._modules.clear()
