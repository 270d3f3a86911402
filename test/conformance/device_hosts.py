"""Python's host of the device stage, on a device that is memory of this process: what batches it gives.

Asked by device-hosts.test.ts. Reads from standard input {"feeds": [{"definition", "share", "channelsLast",
"scratch"}], "kernels", "turbojpeg"}: the last two are libraries, of our own kernels compiled for the CPU and
of the engine's own JPEG decoder. Writes, for each feed, its batches as they were seen there.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import sys
from ctypes import c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path

import numpy as np

PYTHON = Path(__file__).resolve().parents[2] / "python"
sys.path[:0] = [str(PYTHON), str(PYTHON / "tests")]

import millrace  # noqa: E402
from fake_cuda import FakeDriver, FakeKernels, memory_at  # noqa: E402
from millrace._cuda.arrays import DeviceArray, compact  # noqa: E402
from millrace._cuda.nvjpeg import Jpegs  # noqa: E402
from millrace._gpu.stage import DeviceStage  # noqa: E402
from millrace._generated.device import DEVICE_BYTES  # noqa: E402
from millrace._gpu.tools import Tools  # noqa: E402
from millrace._view.bad_rows import without_bad  # noqa: E402
from millrace._view.carrier import Carrier, Staged  # noqa: E402
from millrace._view.staging import Staging  # noqa: E402
from millrace.batch import Ragged  # noqa: E402
from millrace.feed import run_of  # noqa: E402
from millrace.views import View  # noqa: E402

#: Numbers of the kernels in the library (bench/gpu/launch.mjs).
KERNELS = {"picture": 0, "mix": 1}
#: nvJPEG's word for what it can't do, and for what is damaged.
NOT_SUPPORTED, BAD_JPEG = 4, 3


class Driver(FakeDriver):
    """Its kernels are the real ones."""

    def __init__(self, library):
        super().__init__()
        self._launch = ctypes.CDLL(library).launch
        self._launch.argtypes = [c_uint, c_uint, c_uint, ctypes.POINTER(c_uint64)]
        self._launch.restype = None

    def function(self, module, name):
        def kernel(driver, blocks, *values):
            # A block of one thread has nobody to wait for: any number gives the same.
            self._launch(KERNELS[name], blocks, 1, (c_uint64 * len(values))(*values))

        kernel.__name__ = name
        handle = self._handle()
        self.functions[handle] = kernel
        return handle


class Turbo:
    """The decoder of the engine, so that pixels are the CPU's."""

    RGB, WIDTH, HEIGHT, DECOMPRESS = 0, 5, 6, 1

    def __init__(self, library):
        turbo = ctypes.CDLL(library)
        turbo.tj3Init.restype = c_void_p
        turbo.tj3Destroy.argtypes = [c_void_p]
        turbo.tj3Get.argtypes = [c_void_p, c_int]
        turbo.tj3DecompressHeader.argtypes = [c_void_p, c_char_p, c_size_t]
        turbo.tj3Decompress8.argtypes = [c_void_p, c_char_p, c_size_t, c_void_p, c_int, c_int]
        self._turbo = turbo

    def decode(self, jpeg):
        """The pixels, uint8[height, width, 3]. The engine, too, lives with its warnings."""
        turbo = self._turbo
        handle = turbo.tj3Init(self.DECOMPRESS)
        turbo.tj3DecompressHeader(handle, jpeg, len(jpeg))
        width, height = turbo.tj3Get(handle, self.WIDTH), turbo.tj3Get(handle, self.HEIGHT)
        pixels = np.zeros((height, width, 3), np.uint8)
        turbo.tj3Decompress8(handle, jpeg, len(jpeg), pixels.ctypes.data, width * 3, self.RGB)
        turbo.tj3Destroy(handle)
        return pixels


class Decoder:
    """nvJPEG: reads the data at once, writes pixels when the stream comes to it."""

    def __init__(self, driver, turbo, decoded):
        self._driver = driver
        self._turbo = turbo
        self._decoded = decoded

    def decode(self, batch, stream):
        assert len(set(batch.sampling.tolist())) == 1
        work = []
        for data, length, image in zip(batch.data, batch.lengths, batch.images):
            jpeg = memory_at(int(data), int(length)).tobytes()
            status = refused(jpeg)
            if status:
                return status
            self._decoded.add(digest(jpeg))
            pixels = self._turbo.decode(jpeg)
            assert int(image[4]) == pixels.shape[1] * 3
            self._driver.check(int(image[0]), pixels.size)
            work.append((int(image[0]), pixels))

        def write():
            for address, pixels in work:
                memory_at(address, pixels.size)[:] = pixels.ravel()

        self._driver.put(stream, write)
        return 0

    def close(self):
        pass


def refused(jpeg):
    """What nvJPEG won't decode here, as device-hosts.test.ts has it."""
    if jpeg[-2:] != b"\xff\xd9":
        return BAD_JPEG
    if len(jpeg) % 5 == 0:
        return NOT_SUPPORTED
    return 0


class Device(Carrier):
    """Batches through the device stage, ahead of the user, and back to the host."""

    prefetch = 2

    def __init__(self, run, driver, turbo, share, channels_last, scratch):
        super().__init__(run)
        self._share = share
        #: Hashes of the JPEGs that the device has decoded.
        self.decoded = set()

        def decoder(_library, _backend):
            return Decoder(driver, turbo, self.decoded)

        def open_stage(pictures, folder, device, memory):
            def tools():
                jpegs = lambda: Jpegs(None, driver.synchronize_stream, decoder)  # noqa: E731
                return Tools(driver, FakeKernels(driver), jpegs, budget=scratch or DEVICE_BYTES)

            return DeviceStage(tools, pictures, memory)

        self._staging = Staging(run, 0, None, channels_last, open_stage)

    def enter(self):
        self.run.stream.decode_on("gpu", None, self._share)

    def load(self, taken):
        return Staged(taken, taken.batch, self._staging.submit(taken), on_stage=True)

    def unload(self, staged):
        ticket, batch = staged.ticket.wait(), staged.taken.batch
        self._staging.fill(batch, ticket, lambda array: array)
        for name, value in batch.items():
            batch[name] = to_host(value)
        stream = self.run.stream
        bad = [one for found in ticket.bad.values() for one in found]
        for one in bad:
            stream.judge(one)
        rows = sorted({int(one["row"]) for one in bad})
        return without_bad(batch, rows, stream.opened.policy, lambda numbers, _: numbers) if rows else batch

    def has_room(self, staged):
        self._staging.room(wait=not staged and not self.run.stream.room)
        return not staged or bool(self.run.stream.room)

    def leave(self, staged):
        self._staging.drain(one.ticket for one in staged if one.on_stage)
        staged.clear()


def to_host(value):
    """A copy, with its memory as it is on the device."""
    if isinstance(value, Ragged):
        return Ragged(to_host(value.values), to_host(value.offsets))
    if not isinstance(value, DeviceArray):
        return value
    if value.strides == compact(value.shape):
        return value.copy_to_host()
    return value.permuted(0, 2, 3, 1).copy_to_host()


def seen(batch):
    """A batch as the test compares it: every row of every field by a hash."""
    fields = {}
    for name, value in batch.items():
        if isinstance(value, list):
            fields[name] = value
        elif isinstance(value, Ragged):
            bounds = value.offsets.tolist()
            fields[name] = [digest(value.values[a:b]) for a, b in zip(bounds, bounds[1:])]
        elif name != "valid":
            fields[name] = [digest(row) for row in value]
    return {
        "ids": batch.ids,
        "epoch": batch.epoch,
        "position": batch.position,
        "positions": np.asarray(batch.positions).tolist(),
        "valid": np.asarray(batch.valid).astype(int).tolist(),
        "fields": fields,
    }


def digest(row):
    return hashlib.sha256(row if isinstance(row, bytes) else row.tobytes()).hexdigest()[:16]


def main():
    asked = json.load(sys.stdin)
    driver, turbo = Driver(asked["kernels"]), Turbo(asked["turbojpeg"])
    answers = []
    for one in asked["feeds"]:
        with millrace.Feed(one["definition"], workers=1) as feed:
            run = run_of(feed)
            device = Device(run, driver, turbo, one["share"], one["channelsLast"], one["scratch"])
            batches = [seen(batch) for batch in View(run, device)]
            bad = sorted(sample["id"] for sample in feed.stats()["bad"]["samples"])
            answers.append({"batches": batches, "bad": bad, "decoded": sorted(device.decoded)})
    json.dump(answers, sys.stdout)


main()
