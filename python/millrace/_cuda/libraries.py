"""Finding NVIDIA's libraries: where they may lie, in which order, and what to say when they don't.

1. the folders of ``$MILLRACE_CUDA_PATH``, if it is set
2. the loader's own path (ldconfig, LD_LIBRARY_PATH), and what the process has loaded already
3. CUDA's folders, ``/usr/local/cuda*``, the newest first
4. what pip installed for this Python: ``nvidia/*/lib``, and the copies inside torch and torchvision
"""

from __future__ import annotations

import ctypes
import glob
import os
import platform
import re
import sys
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

from ..errors import MissingError

#: Major versions of CUDA that we know, the newest first.
MAJORS = (13, 12, 11)


class Library(NamedTuple):
    """A library: its file names, ``{}`` being CUDA's major version, and how one gets it."""

    files: Sequence[str]
    install: str


LIBRARIES: Dict[str, Library] = {
    "cuda": Library(
        ("libcuda.so.1",),
        "it comes with NVIDIA's driver: on a machine with a GPU install that; in a container start it with "
        "--gpus all",
    ),
    "nvrtc": Library(
        ("libnvrtc.so.{}", "libnvrtc.so.{}.*"), "pip install nvidia-cuda-nvrtc, or install the CUDA toolkit"
    ),
    "nvjpeg": Library(
        ("libnvjpeg.so.{}", "libnvjpeg.so.{}.*"), "pip install nvidia-nvjpeg, or install the CUDA toolkit"
    ),
    "nvml": Library(("libnvidia-ml.so.1",), "it comes with NVIDIA's driver"),
    "nvcomp": Library(
        ("libnvcomp.so.6", "libnvcomp.so.5", "libnvcomp.so.4", "libnvcomp.so"),
        "pip install nvidia-libnvcomp-cu{}",
    ),
}

#: Folders of a CUDA installation that hold libraries, and the name of this machine in them.
TARGET = {"aarch64": "sbsa"}.get(platform.machine(), platform.machine()) + "-linux"
PARTS = ("", "lib64", "lib", f"targets/{TARGET}/lib")

#: Folders of NVIDIA's own packages: of most, of nvCOMP, and of nvCOMP before 5.1.
WHEEL = ("lib", "lib64", "")

#: Folders of packages that bring libraries of their own.
OWN = ("torchvision.libs", "torch/lib")


def majors(driver: Optional[int]) -> List[int]:
    """Major versions in the order in which they are tried: the driver's own first, then older ones.

    Newer ones come last: only some of them run on an older driver.
    """
    if driver is None:
        return list(MAJORS)
    known = sorted({driver, *MAJORS}, reverse=True)
    return [one for one in known if one <= driver] + [one for one in reversed(known) if one > driver]


def candidates(
    kind: str,
    driver: Optional[int] = None,
    environ: Optional[Mapping[str, str]] = None,
    path: Optional[Sequence[str]] = None,
    find: Callable[[str], List[str]] = glob.glob,
) -> List[str]:
    """What is to be tried for a library, in order: names for the loader, and paths of files that exist."""
    environ = os.environ if environ is None else environ
    named = [folder for folder in environ.get("MILLRACE_CUDA_PATH", "").split(os.pathsep) if folder]
    installed = sorted(find("/usr/local/cuda*"), key=_version, reverse=True)
    python = sys.path if path is None else path
    files = _files(kind, driver)

    def within(folders: Sequence[str], files: Sequence[str] = files) -> List[str]:
        patterns = [os.path.join(folder, file) for file in files for folder in folders]
        return [one for pattern in patterns for one in sorted(find(pattern))]

    found = within([os.path.join(folder, part) for folder in named for part in PARTS])
    found += [file for file in files if "*" not in file]
    found += within([os.path.join(folder, part) for folder in installed for part in PARTS[1:]])
    found += within([os.path.join(entry, "nvidia", "*", part) for entry in python if entry for part in WHEEL])
    # Wheels that carry a library of their own name it with a digest: libnvjpeg.4a0b5c81.so.13.
    stems = [re.sub(r"^(lib[a-z-]+)\.so", r"\1[.-]*.so", file) for file in files]
    own = [os.path.join(entry, part) for entry in python if entry for part in OWN]
    found += within(own, [*stems, *files])
    return list(dict.fromkeys(found))


def _files(kind: str, driver: Optional[int]) -> List[str]:
    files = LIBRARIES[kind].files
    if not any("{}" in file for file in files):
        return list(files)
    return [file.format(major) for major in majors(driver) for file in files]


def _version(folder: str) -> List[int]:
    return [int(part) for part in re.findall(r"\d+", os.path.basename(folder))]


_loaded: Dict[str, Any] = {}


def load(kind: str, driver: Optional[int] = None) -> Any:
    """The library, loaded once for the process. ``driver``: the major version of CUDA that the driver has."""
    if kind not in _loaded:
        _loaded[kind] = open_first(kind, candidates(kind, driver), driver)
    return _loaded[kind]


def open_first(
    kind: str, tries: Sequence[str], driver: Optional[int] = None, opening: Callable[[str], Any] = ctypes.CDLL
) -> Any:
    """The first that can be opened; otherwise what was looked for, where, and what to install."""
    refused = []
    for one in tries:
        try:
            return opening(one)
        except OSError as error:
            # Of names that the loader doesn't know it says just that; a file that is there is worth a word.
            if os.path.isabs(one):
                refused.append(str(error))
    library = LIBRARIES[kind]
    names = ", ".join(file for file in _files(kind, driver) if "*" not in file)
    said = f" Found, but not usable: {'; '.join(refused)}." if refused else ""
    named = os.environ.get("MILLRACE_CUDA_PATH") or "not set"
    raise MissingError(
        f"{names}: not found in $MILLRACE_CUDA_PATH ({named}), the loader's path, /usr/local/cuda*, or the "
        f"nvidia folders of this Python.{said} "
        f"To get it: {library.install.format(driver or MAJORS[0])}"
    )
