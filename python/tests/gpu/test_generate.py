"""Batches that are made on a device, without one: what is launched, and what that would make."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
from conftest import ROOT
from generators import told

import millrace
from millrace._cuda.kernels import argument_types
from millrace._generated.device import BATCH_BYTES, BatchAt
from millrace._gpu import generate
from millrace._gpu.generate import Batch, KernelGenerator, Made, SyntheticGenerator
from millrace._gpu.keyed import Random
from millrace.batch import about_of
from millrace.feed import run_of

CUDA = ROOT / "packages" / "pixels" / "transform" / "kernels" / "cuda"
EXAMPLE = ROOT / "examples" / "generate"


# ---------------------------------------------------------------- random numbers

#: From packages/core/basics/random.ts: (seed, epoch, key),
#: then of each row int(4096), bits(), int(1000) after next().
ROWS = [0, 1, 2, 4095, 123456789, 4294967295, 4294967296, 2**52 + 12345]
GOLDEN = [
    (
        (0, 0, 1),
        [932, 1871, 1903, 109, 870, 1096, 945, 3183],
        [977882757, 1961955648, 1996227811, 115059465, 912622066, 1150181780, 991317234, 3338281363],
        [813, 779, 225, 567, 722, 272, 293, 750],
    ),
    (
        (9, 0, 1),
        [1951, 2964, 3320, 2004, 1176, 492, 2143, 3341],
        [2046442492, 3108582040, 3481477620, 2102239356, 1233916293, 516185610, 2247628729, 3504188654],
        [732, 891, 689, 398, 944, 392, 315, 394],
    ),
    (
        (21474836487, 3, 2596069104),
        [2897, 3625, 3959, 3428, 744, 56, 2942, 1553],
        [3037804593, 3802029771, 4151950412, 3594798443, 781144316, 59590577, 3084999455, 1629087820],
        [290, 484, 636, 622, 962, 731, 391, 504],
    ),
]


@pytest.mark.parametrize("key, ints, bits, later", GOLDEN)
@pytest.mark.filterwarnings("error")
def test_random_numbers_are_those_of_typescript(key, ints, bits, later):
    def stream() -> Random:
        return Random(key[0], key[1], ROWS, key[2])

    assert stream().int(4096).tolist() == ints
    assert stream().bits().tolist() == bits
    after = stream()
    after.next()
    assert after.int(1000).tolist() == later


# ---------------------------------------------------------------- launches


class FakeEvent:
    def synchronize(self) -> None:
        """It has come."""


class FakeTools:
    """Stands for a device: remembers what it is told, and where numbers were copied to."""

    def __init__(self) -> None:
        self.work = 77
        self.blocks = 16
        self.launched: List[Tuple[int, Tuple[int, int], int, List[Any], int]] = []
        self.copies: List[Tuple[int, bytes]] = []
        self.compiled: List[Tuple[str, str, Dict[str, str]]] = []
        self.functions: Dict[str, int] = {"draw": 5}
        self._next = 1 << 20
        self._kept: List[Any] = []
        self.driver = self
        self.pool = SimpleNamespace(take=lambda size: SimpleNamespace(address=self.alloc(size)))
        self.kernels = SimpleNamespace(
            headers={"millrace.cuh": "ours", "random.cuh": "not for users"},
            load=self._load,
            kernel=self._kernel,
        )

    def alloc(self, size: int) -> int:
        self._next += (size + 4095) // 4096 * 4096
        return self._next - (size + 4095) // 4096 * 4096

    def alloc_host(self, size: int) -> int:
        self._kept.append(ctypes.create_string_buffer(size))
        return ctypes.addressof(self._kept[-1])

    def free(self, address: int) -> None:
        """Nothing was taken."""

    free_host = free

    def between(self, size: int) -> int:
        return self.alloc(size)

    def copy_in(self, device: int, host: int, size: int, stream: int) -> None:
        assert stream == self.work
        self.copies.append((device, ctypes.string_at(host, size)))

    def synchronize_stream(self, stream: int) -> None:
        assert stream == self.work

    def worked(self) -> FakeEvent:
        return FakeEvent()

    def _load(self, name: str, source: str, headers: Dict[str, str]) -> int:
        self.compiled.append((name, source, headers))
        return 3

    def function(self, module: int, name: str) -> int:
        if name not in self.functions:
            raise generate.CudaError("CUDA_ERROR_NOT_FOUND", "cuModuleGetFunction")
        return self.functions[name]

    def launch(self, function: int, blocks: Any, threads: int, arguments: Any, stream: int) -> None:
        self.launched.append((function, blocks, threads, list(arguments), stream))

    def _kernel(self, name: str) -> Any:
        def launch(blocks: int, threads: int, values: Any, stream: int) -> None:
            assert len(values) == len(argument_types(name))
            self.launched.append((name, (blocks, 1), threads, list(values), stream))

        return SimpleNamespace(launch=launch)


def batch_of(count: int, epoch: int = 4) -> Made:
    return Made(epoch, np.arange(100, 100 + count), np.arange(count)[::-1] * 7)


def test_the_batch_lies_as_in_c():
    places = {name.upper(): getattr(Batch, name).offset for name, _ in Batch._fields_}
    assert places == {name: value for name, value in vars(BatchAt).items() if name.isupper()}
    assert ctypes.sizeof(Batch) == BATCH_BYTES == 40


def test_a_kernel_is_launched_with_a_thread_an_element_and_a_block_a_row():
    tools = FakeTools()
    generator = KernelGenerator(tools, told())
    assert tools.compiled == [("gen.cu", "…", {"random.cuh": "the user's", "millrace.cuh": "ours"})]
    assert [(one.name, one.kind, one.shape) for one in generator.outputs] == [
        ("picture", "f32", (3, 4)),
        ("label", "i64", ()),
    ]
    generator.make(batch_of(6), {"picture": 1000, "label": 2000})
    ((function, blocks, threads, arguments, stream),) = tools.launched
    assert (function, blocks, threads, stream) == (5, (2, 6), 256, 77)
    head, image, spare, label = arguments
    assert (head.seed, head.epoch, head.count) == (2**40 + 1, 4, 6)
    assert (image.value, label.value) == (1000, 2000) and spare.value not in (0, 1000, 2000)
    ((place, numbers),) = tools.copies
    assert (head.positions, head.rows) == (place, place + 48)
    assert np.frombuffer(numbers, np.int64).tolist() == [*range(100, 106), *(i * 7 for i in range(5, -1, -1))]


def test_numbers_on_their_way_are_left_alone_by_the_next_batches():
    tools = FakeTools()
    generator = KernelGenerator(tools, told())
    for epoch in range(generate.TURNS + 1):
        generator.make(batch_of(6, epoch), {"picture": 1000, "label": 2000})
    places = [place for place, _ in tools.copies]
    assert len(set(places)) == generate.TURNS and places[0] == places[-1]


def test_more_rows_than_a_grid_has_are_made_in_several_launches():
    tools = FakeTools()
    count = generate.GENERATE_ROWS + 10
    generator = KernelGenerator(tools, told())
    generator.make(batch_of(count), {"picture": 1 << 40, "label": 1 << 41})
    assert [blocks for _, blocks, *_ in tools.launched] == [(2, generate.GENERATE_ROWS), (2, 10)]
    first, second = (arguments for *_, arguments, _ in tools.launched)
    done = generate.GENERATE_ROWS
    assert (second[0].positions, second[0].rows) == (first[0].positions + 8 * done, first[0].rows + 8 * done)
    moved = [there.value - here.value for here, there in zip(first[1:], second[1:])]
    assert moved == [48 * done, 5 * done, 8 * done]


def test_a_batch_of_no_rows_is_no_launch():
    tools = FakeTools()
    KernelGenerator(tools, told()).make(batch_of(0), {})
    assert tools.launched == tools.copies == []


def test_a_kernel_that_is_not_there_is_named():
    tools = FakeTools()
    tools.functions.clear()
    with pytest.raises(millrace.DefinitionError, match=r'/data/gen\.cu has no kernel \'draw\'.*extern "C"'):
        KernelGenerator(tools, told())


# ---------------------------------------------------------------- synthetic rows


def made_by_kernel(arguments: List[Any], tools: FakeTools, dtype: Any) -> Any:
    """What `synthetic` makes of its arguments, in NumPy."""
    copies = dict(tools.copies)
    pool_at, starts_at, firsts_at, count, elements, _, _ = arguments
    numbers = copies[firsts_at]
    assert starts_at == firsts_at + 8 * count
    firsts = np.frombuffer(numbers, np.int64, count)
    starts = np.frombuffer(numbers, np.uint32, count, 8 * count)
    pool = np.frombuffer(copies[pool_at], dtype)
    rows = np.stack([pool[start : start + elements] for start in starts.astype(int)])
    rows[:, 0] = firsts.astype(dtype)
    return rows


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("kind", ["u8", "i16", "u32", "i64", "f16", "f32", "f64", "bool"])
def test_synthetic_rows_are_those_of_the_cpu(kind):
    feed = {
        "source": {"synthetic": {"count": 300, "seed": 9, "tensors": {"shape": [4, 5], "dtype": kind}}},
        "order": {"shuffle": "global", "seed": 3},
        "fields": {"x": {"from": "data", "as": "npy", "dtype": kind, "shape": [4, 5]}},
        "batch": {"size": 64, "last": "keep"},
    }
    with millrace.Feed(feed, workers=1) as here, millrace.Feed(feed, workers=1) as there:
        run_of(there).stream.decode_on("gpu", None)
        tools = FakeTools()
        generator = SyntheticGenerator(tools, run_of(there).stream.opened.generator)
        (output,) = generator.outputs
        assert (output.name, output.kind, output.shape) == ("x", kind, (4, 5))
        for expected in here:
            taken = run_of(there).stream.take(True)
            about = about_of(taken.batch)
            tools.launched.clear()
            generator.make(Made(about.epoch, about.positions, about.rows), {"x": 123})
            ((file, _, _, arguments, stream),) = tools.launched
            assert (file, stream, arguments[-1]) == ("synthetic", 77, 123)
            rows = made_by_kernel(arguments, tools, expected["x"].dtype)
            assert rows.tobytes() == expected["x"].tobytes()


# ---------------------------------------------------------------- with the engine


@pytest.mark.usefixtures("engine")
def test_what_the_engine_tells_of_a_kernel_can_be_launched():
    with millrace.Feed(EXAMPLE / "stripes.json", workers=1, allow_code=True) as feed:
        opened = run_of(feed).stream.opened
        assert (opened.decode, opened.length) == ("gpu", 1_000_000)
        assert "image f32[256, 3, 224, 224]" in repr(feed)
        tools = FakeTools()
        generator = KernelGenerator(tools, opened.generator)
        assert tools.compiled[0][1] == (EXAMPLE / "gen.cu").read_text()
        taken = run_of(feed).stream.take(True)
        assert list(taken.batch) == []
        about = about_of(taken.batch)
        assert about.positions.tolist() == list(range(256))
        assert sorted(about.ids(), key=int) == sorted(map(str, about.rows), key=int)
        generator.make(Made(about.epoch, about.positions, about.rows), {"image": 1, "label": 2})
        ((_, blocks, _, arguments, _),) = tools.launched
        assert blocks == (196, 256) and arguments[0].seed == 7


@pytest.mark.usefixtures("engine")
def test_on_the_host_it_is_refused_in_one_sentence():
    said = r'image, label are generated on the GPU: open it with device="cuda"'
    with millrace.Feed(EXAMPLE / "stripes.json", workers=1, allow_code=True) as feed:
        for view in (feed, feed.numpy()):
            with pytest.raises(millrace.DefinitionError, match=said):
                next(iter(view))
        assert run_of(feed).stream.opened.decode == "gpu", "it can still be opened where there is one"
        torch = pytest.importorskip("torch")
        with pytest.raises(millrace.DefinitionError, match=said):
            next(iter(feed.torch()))
        if not torch.cuda.is_available():
            with pytest.raises(millrace.MissingError, match="finds no GPU"):
                feed.torch(device="cuda")


# ---------------------------------------------------------------- the example, compiled


@pytest.fixture(scope="module")
def compiler() -> Any:
    from millrace._cuda.nvrtc import Nvrtc

    try:
        return Nvrtc()
    except millrace.MissingError as error:
        pytest.skip(str(error))


def compile_for_users(compiler: Any, name: str, source: str) -> bytes:
    from millrace._cuda.nvrtc import options

    headers = {generate.GENERATE_HEADER: Path(CUDA / generate.GENERATE_HEADER).read_text()}
    return bytes(compiler.compile(name, source, headers, options("sm_90")))


def test_the_example_compiles(compiler):
    assert compile_for_users(compiler, "gen.cu", (EXAMPLE / "gen.cu").read_text())[:4] == b"\x7fELF"


def test_the_kernel_of_the_guide_compiles(compiler):
    guide = (ROOT / "docs" / "gpu.md").read_text("utf8")
    (kernel,) = re.findall(r"^```cuda\n(.*?)^```", guide, re.M | re.S)
    assert compile_for_users(compiler, "guide.cu", kernel)[:4] == b"\x7fELF"


def test_what_does_not_compile_is_said_with_file_and_line(compiler):
    tools = FakeTools()
    tools.kernels.load = lambda name, source, headers: compile_for_users(compiler, name, source)
    source = '#include "millrace.cuh"\nextern "C" __global__ void draw(millrace::Batch batch) { nonsense }\n'
    with pytest.raises(millrace.DefinitionError, match=r"/data/gen\.cu: .*gen\.cu\(2\): error.*nonsense"):
        KernelGenerator(tools, told(source=source))
