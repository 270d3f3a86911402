"""nvCOMP: its calls in each version, byte by byte; compressed fields on a device that runs late."""

from __future__ import annotations

import ctypes
import random
import zlib

import numpy as np
import pytest
from fake_cuda import FakeDriver, FakeKernels, given_back, memory_at
from patience import PATIENCE

from millrace import MissingError
from millrace._cuda import nvcomp
from millrace._cuda.errors import CudaError
from millrace._cuda.nvcomp import Nvcomp, Options, Streams
from millrace._generated.array_words import ArrayForm
from millrace._gpu.stage import DeviceStage
from millrace._gpu.ticket import HostArray, HostBatch
from millrace._gpu.tools import Tools

NOTHING, COMPRESSED, RAW = ArrayForm.NOTHING, ArrayForm.COMPRESSED, ArrayForm.RAW

# ---------------------------------------------------------------- the library

SOME = Streams(3, 0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000)
POINTER_TYPES = (ctypes.c_void_p, ctypes.c_size_t)


class FakeLibrary:
    """Notes calls, with the values that C would see."""

    def __init__(self, version=6000, status=0):
        self.version = version
        self.status = status
        self.calls = []

    def __getattr__(self, name):
        def call(*arguments):
            assert len(arguments) == len(call.argtypes) and call.restype is ctypes.c_int
            seen = []
            for argument, kind in zip(arguments, call.argtypes):
                if name == "nvcompGetProperties":
                    argument[0], argument[1] = self.version, 13000
                    return 0
                if kind is Options:
                    seen.append(bytes(argument))
                elif kind in POINTER_TYPES:
                    seen.append(kind(argument).value)
                else:
                    argument._obj.value = 4096  # where the size of the temporary memory goes
                    seen.append("temp")
            self.calls.append((name, *seen))
            return self.status

        setattr(self, name, call)
        return call


#: nvcompBatched…DecompressOpts_t: the back end, CUDA, and zeros.
OPTIONS = bytes([2]) + bytes(63)


def test_options_are_64_bytes():
    assert ctypes.sizeof(Options) == 64 and bytes(nvcomp.OPTIONS) == OPTIONS


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (4200, ("nvcompBatchedZstdDecompressGetTempSizeEx", 3, 100, "temp", 300)),
        (5300, ("nvcompBatchedZstdDecompressGetTempSizeAsync", 3, 100, OPTIONS, "temp", 300)),
        (6000, ("nvcompBatchedZstdDecompressGetTempSize", 3, 100, OPTIONS, "temp", 300, 77)),
    ],
)
def test_temporary_memory(version, expected):
    library = FakeLibrary(version)
    assert Nvcomp(library).temp_bytes("zstd", 3, 100, 300, 77) == 4096
    assert library.calls == [expected]


@pytest.mark.parametrize("version", [4000, 5000, 6001])
@pytest.mark.parametrize(("codec", "name"), [("zstd", "Zstd"), ("lz4", "LZ4"), ("deflate", "Deflate")])
def test_decompressing(version, codec, name):
    library = FakeLibrary(version)
    Nvcomp(library).decompress(codec, SOME, 0x9000, 512, 77)
    options = [] if version < 5000 else [OPTIONS]
    head = [0x1000, 0x2000, 0x3000, 0x5000, 3, 0x9000, 512, 0x4000]
    assert library.calls == [(f"nvcompBatched{name}DecompressAsync", *head, *options, 0x6000, 77)]


def test_an_unknown_version_is_named():
    with pytest.raises(MissingError, match=r"nvCOMP 7\.1\.2 is installed, and only versions 4, 5 and 6"):
        Nvcomp(FakeLibrary(7102))
    with pytest.raises(MissingError, match=r"nvCOMP 3\.0\.6"):
        Nvcomp(FakeLibrary(3006))


def test_what_is_refused_has_its_name():
    with pytest.raises(CudaError, match="nvcompBatchedLZ4DecompressAsync: nvcompErrorNotSupported"):
        Nvcomp(FakeLibrary(status=11)).decompress("lz4", SOME, 0, 0, 7)
    assert nvcomp.status_name(4711) == "nvCOMP status 4711"


def test_whether_it_is_there(monkeypatch):
    monkeypatch.setattr(nvcomp.libraries, "load", lambda kind, driver: FakeLibrary(6000))
    assert nvcomp.missing() is None
    monkeypatch.setattr(nvcomp.libraries, "load", lambda kind, driver: FakeLibrary(9000))
    assert "nvCOMP 9.0.0" in nvcomp.missing()

    def nowhere(kind, driver):
        raise MissingError(f"{kind} is nowhere")

    monkeypatch.setattr(nvcomp.libraries, "load", nowhere)
    assert nvcomp.missing(13) == "nvcomp is nowhere"


# ---------------------------------------------------------------- the stage

SHAPE = (5, 7, 8)
SIZE = 5 * 7 * 8 * 2
HEAD = 64


class Device(FakeDriver):
    """The fake device, which can also be filled with zeros."""

    def zero(self, device, size, stream):
        self.check(device, size)
        self.put(stream, lambda: ctypes.memset(device, 0, size))


class FakeNvcomp:
    """Stands for Nvcomp: deflate by zlib, when the stream comes to it. What begins with 255 it refuses."""

    def __init__(self, driver):
        self.driver = driver
        self.batches = []

    def temp_bytes(self, codec, count, largest, total, stream):
        assert codec == "deflate" and largest == SIZE and total == SIZE * count
        return 3 * total

    def decompress(self, codec, some, temp, temp_bytes, stream):
        self.batches.append(some.number)
        self.driver.check(temp, temp_bytes)
        for table in some[1:6]:
            self.driver.check(table, 8 * some.number)
        self.driver.check(some.statuses, 4 * some.number)

        def work():
            memory_at(temp, temp_bytes)[:] = 0xDD
            streams, sizes, rooms, outputs = (
                memory_at(table, 8 * some.number).view(np.uint64).tolist() for table in some[1:5]
            )
            actual = memory_at(some.actual, 8 * some.number).view(np.uint64)
            statuses = memory_at(some.statuses, 4 * some.number).view(np.int32)
            for i in range(some.number):
                assert streams[i] % 8 == 0 and rooms[i] == SIZE
                self.driver.check(streams[i], sizes[i])
                self.driver.check(outputs[i], rooms[i])
                data = memory_at(streams[i], sizes[i]).tobytes()
                actual[i], statuses[i] = 0, 12
                if data[0] != 255:
                    made = np.frombuffer(zlib.decompress(data, -15), np.uint8)[:SIZE]
                    memory_at(outputs[i], SIZE)[: len(made)] = made
                    actual[i], statuses[i] = len(made), 0

        self.driver.put(stream, work)


def deflate(data):
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


class Slot:
    """Rows as a maker writes them, and what should become of them."""

    def __init__(self, count):
        self.values = np.full((count, HEAD + (SIZE + 63) // 64 * 64), 0xEE, np.uint8)
        self.expected = np.zeros((count, *SHAPE), np.int16)

    def fill(self, row, form, seed=0, stream=None):
        data = (np.arange(SIZE // 2) // (seed % 40 + 3) + seed).astype(np.int16)
        held = (
            b"" if form == NOTHING else data.tobytes() if form == RAW else stream or deflate(data.tobytes())
        )
        head = np.zeros(HEAD // 4, np.uint32)
        head[:3] = (0, 0, 0) if form == NOTHING else (form, len(held), SIZE)
        self.values[row, :HEAD] = head.view(np.uint8)
        self.values[row, HEAD : HEAD + len(held)] = np.frombuffer(held, np.uint8)
        self.expected[row] = 0 if form == NOTHING else data.reshape(SHAPE)


TOLD = {
    "kind": "compressed", "codec": "deflate", "dtype": "i16", "dlpack": [0, 16, 1], "shape": list(SHAPE),
    "headBytes": HEAD,
}  # fmt: skip


@pytest.fixture
def opened():
    """Makes a stage on a fake device; at the end nothing may be left on that."""

    def make(seed=0, budget=1 << 30, make_nvcomp=FakeNvcomp):
        driver = Device(seed)
        library = make_nvcomp(driver)

        def tools():
            driver.bind()
            return Tools(driver, FakeKernels(driver), lambda: None, None, budget, lambda: library)

        stage = DeviceStage(tools, {"x": TOLD})
        stages.append((stage, driver))
        return stage, library

    with given_back() as stages:
        yield make


def submit(stage, slot, redo=None):
    labels = np.arange(len(slot.values))
    arrays = [HostArray("x", slot.values, "u8"), HostArray("label", labels, "i64")]
    return stage.submit(HostBatch(arrays, redo))


def test_a_batch_of_everything(opened):
    stage, library = opened()
    slot = Slot(6)
    for row, form in enumerate([COMPRESSED, RAW, COMPRESSED, COMPRESSED, NOTHING, RAW]):
        slot.fill(row, form, row + 1)
    ticket = submit(stage, slot).wait(PATIENCE)
    x = ticket.arrays["x"]
    assert x.shape == (6, *SHAPE) and x.kind == "i16"
    assert np.array_equal(x.copy_to_host(), slot.expected)
    assert np.array_equal(ticket.arrays["label"].copy_to_host(), np.arange(6))
    assert library.batches == [3] and ticket.bad == {}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("budget", "most"), [(1 << 30, 9), (SIZE * 8 * 2, 2)])
def test_late_work_and_early_reuse(opened, seed, budget, most):
    """Slots are overwritten as soon as the stage lets go of them."""
    chance = random.Random(seed)
    stage, library = opened(seed, budget)
    done = []
    for step in range(12):
        slot = Slot(9)
        for row in range(9):
            slot.fill(row, chance.choice([NOTHING, COMPRESSED, COMPRESSED, RAW]), step * 10 + row)
        done.append((submit(stage, slot), slot.expected))
        while chance.random() < 0.5 and done:
            ticket, expected = done.pop(0)
            assert np.array_equal(ticket.wait(PATIENCE).arrays["x"].copy_to_host(), expected)
    for ticket, expected in done:
        assert np.array_equal(ticket.wait(PATIENCE).arrays["x"].copy_to_host(), expected)
    assert max(library.batches) <= most


def test_refused_rows_are_redone_by_the_cpu(opened):
    stage, _ = opened()
    slot = Slot(5)
    for row in range(5):
        # Row 1 is refused; row 3 becomes something shorter; row 4 is refused by the CPU, too.
        short = deflate(bytes(SIZE - 2))
        slot.fill(row, COMPRESSED, row, {1: b"\xff123", 3: short, 4: b"\xff"}.get(row))
    asked = []

    def redo(field, rows):
        asked.append((field, rows))
        for row in (1, 3):
            slot.fill(row, RAW, row)
        slot.values[4] = 0
        return [{"row": 1, "ok": True}, {"row": 3, "ok": True}, {"row": 4, "ok": False, "id": "a:4"}]

    ticket = submit(stage, slot, redo).wait(PATIENCE)
    slot.expected[4] = 0
    assert asked == [("x", [1, 3, 4])]
    assert ticket.bad == {"x": [{"row": 4, "ok": False, "id": "a:4"}]}
    assert np.array_equal(ticket.arrays["x"].copy_to_host(), slot.expected)


def test_without_an_engine_refused_rows_are_bad(opened):
    stage, _ = opened()
    slot = Slot(2)
    slot.fill(0, COMPRESSED, 5)
    slot.fill(1, COMPRESSED, 6, b"\xff")
    ticket = submit(stage, slot).wait(PATIENCE)
    slot.expected[1] = 0
    message = "nvcompErrorCannotDecompress"
    assert ticket.bad == {"x": [{"row": 1, "ok": False, "stage": "decode", "message": message}]}
    assert np.array_equal(ticket.arrays["x"].copy_to_host(), slot.expected)


def test_heads_that_make_no_sense(opened):
    stage, _ = opened()
    for column, value in ((0, 2), (1, 1 << 20), (2, SIZE + 1), (1, 0)):
        slot = Slot(2)
        slot.fill(0, COMPRESSED, 1)
        slot.fill(1, COMPRESSED, 2)
        slot.values[1, :HEAD].view(np.uint32)[column] = value
        with pytest.raises(Exception, match="field 'x', row 1: its head makes no sense"):
            submit(stage, slot).wait(PATIENCE)


def test_an_empty_batch(opened):
    stage, library = opened()
    ticket = submit(stage, Slot(0)).wait(PATIENCE)
    assert ticket.arrays["x"].shape == (0, *SHAPE) and library.batches == []


def test_a_missing_library_is_said_at_once(opened):
    def missing(driver):
        raise MissingError("nvCOMP is not there")

    driver = Device()

    def tools():
        return Tools(driver, FakeKernels(driver), lambda: None, None, 1 << 30, lambda: missing(driver))

    with pytest.raises(MissingError, match="not there"):
        DeviceStage(tools, {"x": TOLD})
