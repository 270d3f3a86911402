"""Kernels: compiled once and kept; the launch arguments are what the .cu files declare."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT
from fake_cuda import FakeDriver

from millrace import MissingError
from millrace._cuda import kernels
from millrace._cuda.errors import CudaError
from millrace._cuda.kernels import Kernels, cache_folder, cache_name
from millrace._cuda.nvrtc import Nvrtc, options

SOURCES = ROOT / "packages" / "pixels" / "transform" / "kernels" / "cuda"
WIDTHS = {"u64": 8, "u32": 4, "b64": 8, "b32": 4, "s32": 4, "s64": 8}


@pytest.fixture
def nvrtc():
    try:
        return Nvrtc()
    except MissingError as error:
        pytest.skip(str(error))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cuda").mkdir()
    (tmp_path / "cuda" / "picture.cu").write_text(
        '#include "a.cuh"\nextern "C" __global__ void picture(A a) {}'
    )
    (tmp_path / "cuda" / "a.cuh").write_text("typedef int A;")
    return tmp_path / "cuda"


class FakeCompiler:
    def __init__(self):
        self.compiled = []

    def compile(self, name, source, headers, flags):
        self.compiled.append((name, source, dict(headers), tuple(flags)))
        return b"\x7fELF" + source.encode()


def test_a_kernel_is_compiled_once_and_kept(folder, tmp_path):
    compiler, driver = FakeCompiler(), FakeDriver()
    cache = tmp_path / "cache"
    for _ in range(2):
        some = Kernels(driver, folder, cache, compiler)
        some.kernel("picture")
        some.kernel("picture")
    ((name, source, headers, flags),) = compiler.compiled
    assert name == "picture.cu" and "__global__" in source and headers == {"a.cuh": "typedef int A;"}
    assert flags == ("--gpu-architecture=sm_90", "--fmad=false", "--std=c++17", "-default-device")
    (file,) = cache.iterdir()
    assert re.fullmatch(r"[0-9a-f]{32}-sm_90\.cubin", file.name)
    assert file.read_bytes().startswith(b"\x7fELF")


def test_a_change_of_a_header_compiles_again(folder, tmp_path):
    compiler, driver = FakeCompiler(), FakeDriver()
    Kernels(driver, folder, tmp_path / "c", compiler).kernel("picture")
    (folder / "a.cuh").write_text("typedef float A;")
    Kernels(driver, folder, tmp_path / "c", compiler).kernel("picture")
    assert len(compiler.compiled) == 2 and len(list((tmp_path / "c").iterdir())) == 2


@pytest.mark.parametrize("damage", [b"", b"rubbish"])
def test_a_damaged_file_is_compiled_again(folder, tmp_path, damage):
    compiler, driver = FakeCompiler(), FakeDriver()
    Kernels(driver, folder, tmp_path / "c", compiler).kernel("picture")
    (file,) = (tmp_path / "c").iterdir()
    file.write_bytes(damage)
    Kernels(driver, folder, tmp_path / "c", compiler).kernel("picture")
    assert len(compiler.compiled) == 2 and file.read_bytes().startswith(b"\x7fELF")


def test_a_cache_that_can_not_be_written_is_none(folder, tmp_path):
    compiler, driver = FakeCompiler(), FakeDriver()
    (tmp_path / "file").write_text("in the way")
    Kernels(driver, folder, tmp_path / "file" / "c", compiler).kernel("picture")
    assert len(compiler.compiled) == 1


def test_where_they_are_kept(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert str(cache_folder({"MILLRACE_CACHE": "/c", "XDG_CACHE_HOME": "/x"})) == "/c/kernels"
    assert str(cache_folder({"XDG_CACHE_HOME": "/x"})) == "/x/millrace/kernels"
    assert str(cache_folder({})) == "/home/me/.cache/millrace/kernels"


def test_names_depend_on_everything():
    names = {
        cache_name(flags, source, headers, arch)
        for flags in (("-a",), ("-b",))
        for source in ("x", "y")
        for headers in ({}, {"h": "1"}, {"h": "2"}, {"g": "1"})
        for arch in ("sm_90", "sm_100")
    }
    assert len(names) == 32


def test_a_kernel_that_is_not_there(tmp_path):
    with pytest.raises(MissingError, match="nothing.cu"):
        Kernels(FakeDriver(), tmp_path, tmp_path).kernel("nothing")


def test_arguments_are_counted(folder, tmp_path):
    kernel = Kernels(FakeDriver(), folder, tmp_path, FakeCompiler()).kernel("picture")
    with pytest.raises(TypeError, match="3 arguments for a kernel of 13"):
        kernel.launch(1, 1, [1, 2, 3], 0)


# ---------------------------------------------------------------- with NVRTC


def test_compiling_with_headers_by_name(nvrtc, folder):
    source = (folder / "picture.cu").read_text()
    headers = {"a.cuh": "typedef int A;"}
    assert nvrtc.compile("picture.cu", source, headers, options("sm_90")).startswith(b"\x7fELF")
    with pytest.raises(CudaError) as caught:
        nvrtc.compile("picture.cu", source, {"a.cuh": "typedef nonsense A;"}, options("sm_90"))
    assert "picture.cu" in str(caught.value) and "nonsense" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", kernels.ARGUMENTS)
def test_arguments_are_what_the_kernel_declares(nvrtc, name):
    sources = kernels.Sources(SOURCES)
    text = nvrtc.compile(
        f"{name}.cu", sources.text(name), sources.headers, options("compute_90"), "PTX"
    ).decode()
    declared = re.search(rf"\.entry\s+{name}\(([^)]*)\)", text).group(1)
    widths = [WIDTHS[kind] for kind in re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)", declared)]
    assert widths == [4 if kind == "i32" else 8 for kind in kernels.ARGUMENTS[name]]
