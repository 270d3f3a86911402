"""Finding NVIDIA's libraries: what is tried, in which order, and what is said in the end."""

from __future__ import annotations

import fnmatch

import pytest

from millrace import MissingError
from millrace._cuda import libraries
from millrace._cuda.errors import CudaError

FILES = [
    "/opt/cu/lib64/libnvrtc.so.12",
    "/usr/local/cuda-12.4",
    "/usr/local/cuda-12.4/lib64/libnvrtc.so.12",
    "/usr/local/cuda-13.1",
    f"/usr/local/cuda-13.1/targets/{libraries.TARGET}/lib/libnvrtc.so.13",
    f"/usr/local/cuda-13.1/targets/{libraries.TARGET}/lib/libnvrtc.so.13.1.20",
    "/usr/local/cuda-9.2",
    "/site/nvidia/cu13/lib/libnvrtc.so.13",
    "/site/nvidia/nvjpeg/lib/libnvjpeg.so.12",
    "/site/torchvision.libs/libnvjpeg.4a0b5c81.so.13",
    "/site/torch/lib/libnvrtc-672ee683.so.11.2",
]


def find(pattern):
    # Unlike glob, fnmatch lets * reach over folders: count them.
    return [
        file for file in FILES if fnmatch.fnmatchcase(file, pattern) and file.count("/") == pattern.count("/")
    ]


def candidates(kind, driver=None, environ=None, path=("/site", "")):
    return libraries.candidates(kind, driver, environ or {}, path, find)


def test_the_drivers_own_version_goes_first():
    assert libraries.majors(None) == [13, 12, 11]
    assert libraries.majors(13) == [13, 12, 11]
    assert libraries.majors(12) == [12, 11, 13]
    assert libraries.majors(14) == [14, 13, 12, 11]


def test_all_places_in_order():
    tried = candidates("nvrtc", 13, {"MILLRACE_CUDA_PATH": "/opt/cu:/nowhere"})
    assert tried[0] == "/opt/cu/lib64/libnvrtc.so.12"
    assert tried[1:4] == ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11"]
    assert tried[4] == f"/usr/local/cuda-13.1/targets/{libraries.TARGET}/lib/libnvrtc.so.13"
    assert tried[5].endswith("libnvrtc.so.13.1.20")
    assert tried[6] == "/usr/local/cuda-12.4/lib64/libnvrtc.so.12"
    assert tried[7] == "/site/nvidia/cu13/lib/libnvrtc.so.13"
    assert len(tried) == len(set(tried))


def test_an_older_driver_takes_the_older_library():
    tried = candidates("nvrtc", 12)
    assert tried[0] == "libnvrtc.so.12"
    folders = [one for one in tried if one.startswith("/usr")]
    assert folders[0].startswith("/usr/local/cuda-12.4")


def test_what_wheels_carry_themselves_is_found():
    assert candidates("nvjpeg", 13)[-2:] == [
        "/site/nvidia/nvjpeg/lib/libnvjpeg.so.12",
        "/site/torchvision.libs/libnvjpeg.4a0b5c81.so.13",
    ]


def test_the_driver_has_one_name():
    assert candidates("cuda") == ["libcuda.so.1"]
    assert candidates("nvml") == ["libnvidia-ml.so.1"]


def test_the_first_that_opens_is_taken():
    def opening(name):
        if name != "/b":
            raise OSError(f"{name}: wrong ELF class")
        return f"library {name}"

    assert libraries.open_first("nvjpeg", ["libnvjpeg.so.13", "/a", "/b", "/c"], 13, opening) == "library /b"
    with pytest.raises(MissingError) as caught:
        libraries.open_first("nvjpeg", ["libnvjpeg.so.13", "/a"], 13, opening)
    said = str(caught.value)
    assert "libnvjpeg.so.13" in said and "pip install nvidia-nvjpeg" in said and "MILLRACE_CUDA_PATH" in said
    assert "/a: wrong ELF class" in said
    with pytest.raises(MissingError, match="NVIDIA's driver"):
        libraries.open_first("cuda", ["libcuda.so.1"], None, opening)


def test_a_library_is_loaded_once(monkeypatch):
    opened = []
    monkeypatch.setattr(libraries, "_loaded", {})
    monkeypatch.setattr(libraries, "open_first", lambda *a: opened.append(a) or len(opened))
    assert libraries.load("nvml") == libraries.load("nvml") == 1


def test_errors_say_what_to_do():
    error = CudaError("CUDA_ERROR_OUT_OF_MEMORY", "cuMemAlloc_v2")
    assert error.name == "CUDA_ERROR_OUT_OF_MEMORY" and error.call == "cuMemAlloc_v2"
    assert "lower the batch size" in str(error)
    assert str(CudaError("CUDA_ERROR_X", "cuX", "why")) == "cuX: CUDA_ERROR_X (why)"
