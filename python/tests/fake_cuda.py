"""A device that is nothing but memory of this process, and that runs as late as it may.

Streams are queues of work. Nobody does it until somebody must (or until chance wants it), so whatever is
reused, freed or overwritten too early shows in the results. Freed memory is filled with rubbish.
"""

from __future__ import annotations

import ctypes
import gc
import random
import struct
import threading
from collections import deque
from contextlib import contextmanager

import numpy as np
from patience import wait_until

from millrace._cuda.errors import CudaError

RUBBISH = 0xDD


def memory_at(address, size):
    """Bytes at an address, as an array."""
    return np.ndarray(size, np.uint8, (ctypes.c_ubyte * size).from_address(address))


class FakeDriver:
    """Stands for driver.Driver. ``log`` holds (call, …) in the order in which they were made."""

    device = 0
    version = 13000
    architecture = "sm_90"
    multiprocessors = 132

    def __init__(self, seed=0, memory=1 << 30):
        self.chance = random.Random(seed)
        self.lock = threading.RLock()
        self.log = []
        self.left = memory
        self.allocated = {}  # address → (array that keeps it, size)
        self._graves = []
        self.streams = {1: deque()}
        self.events = {}  # handle → the latest record: [come]
        self.functions = {}
        self.registered = {}
        self.captured = set()
        self._next = 100

    def _handle(self):
        self._next += 1
        return self._next

    # ------------------------------------------------------------ time

    def step(self, stream):
        """Does the next piece of work of a stream, if it may be done already."""
        with self.lock:
            queue = self.streams[stream]
            if not queue:
                return False
            work = queue[0]
            if isinstance(work, list):
                if not work[0]:
                    return False
                queue.popleft()
            else:
                queue.popleft()
                work()
            return True

    def stir(self, most=3):
        """Lets chance do some of the work."""
        with self.lock:
            for _ in range(self.chance.randrange(most + 1)):
                self.step(self.chance.choice(list(self.streams)))

    def run_until(self, done):
        with self.lock:
            while not done():
                order = list(self.streams)
                self.chance.shuffle(order)
                assert any(self.step(stream) for stream in order), "the device is waiting for ever"

    def finish(self):
        with self.lock:
            self.run_until(lambda: not any(self.streams.values()))

    def put(self, stream, work):
        with self.lock:
            self.streams[stream].append(work)
            self.stir()

    # ------------------------------------------------------------ threads, streams, events

    def bind(self):
        self.log.append(("bind",))

    @contextmanager
    def current(self):
        yield

    def stream(self):
        with self.lock:
            handle = self._handle()
            self.streams[handle] = deque()
            return handle

    def destroy_stream(self, stream):
        with self.lock:
            assert not self.streams.pop(stream), "a stream was destroyed with work on it"

    def synchronize_stream(self, stream):
        self.log.append(("synchronize_stream", stream))
        self.run_until(lambda: not self.streams[stream])

    def wait_event(self, stream, event):
        with self.lock:
            self.put(stream or 1, self.events[event])

    def capturing(self, stream):
        return stream in self.captured

    def event(self):
        with self.lock:
            handle = self._handle()
            self.events[handle] = [True]
            return handle

    def destroy_event(self, event):
        with self.lock:
            del self.events[event]

    def record(self, event, stream):
        with self.lock:
            assert stream not in self.captured
            record = self.events[event] = [False]
            self.log.append(("record", event, stream))
            self.put(stream or 1, lambda: record.__setitem__(0, True))

    def query(self, event):
        with self.lock:
            self.stir()
            return self.events[event][0]

    def synchronize(self, event):
        record = self.events[event]
        self.log.append(("synchronize", event))
        self.run_until(lambda: record[0])

    # ------------------------------------------------------------ memory

    def alloc(self, size):
        with self.lock:
            if size > self.left:
                raise CudaError("CUDA_ERROR_OUT_OF_MEMORY", "cuMemAlloc_v2")
            self.left -= size
            keeper = np.full(size + 512, 0xCC, np.uint8)
            address = (keeper.ctypes.data + 511) // 512 * 512
            self.allocated[address] = (keeper, size)
            self.log.append(("alloc", address, size))
            return address

    def free(self, address):
        with self.lock:
            keeper, size = self.allocated.pop(address)
            keeper[:] = RUBBISH
            self._graves.append(keeper)
            self.left += size
            self.log.append(("free", address, size))

    alloc_host = alloc
    free_host = free

    def register(self, address, size):
        self.registered[address] = size

    def unregister(self, address):
        del self.registered[address]

    def check(self, address, size):
        """It must lie within memory of the device."""
        for start, (_, length) in self.allocated.items():
            if start <= address and address + size <= start + length:
                return
        raise AssertionError(f"{size} bytes at {address} are nobody's")

    def copy_in(self, device, host, size, stream):
        self.log.append(("copy_in", device, host, size, stream))
        self.check(device, size)
        self.put(stream, lambda: ctypes.memmove(device, host, size))

    def copy_out(self, host, device, size, stream):
        self.check(device, size)
        self.put(stream, lambda: ctypes.memmove(host, device, size))

    def copy_rows_in(self, device, device_pitch, host, host_pitch, width, rows, stream):
        self.log.append(("copy_rows_in", device, host, width, rows, stream))
        self.check(device, device_pitch * (rows - 1) + width)

        def copy():
            for row in range(rows):
                ctypes.memmove(device + row * device_pitch, host + row * host_pitch, width)

        self.put(stream, copy)

    # ------------------------------------------------------------ kernels

    def module(self, cubin):
        if not cubin.startswith(b"\x7fELF"):
            raise CudaError("CUDA_ERROR_INVALID_IMAGE", "cuModuleLoadData")
        return self._handle()

    def unload(self, module):
        pass

    def function(self, module, name):
        handle = self._handle()
        self.functions[handle] = KERNELS[name]
        return handle

    def launch(self, function, blocks, threads, arguments, stream):
        values = [argument.value for argument in arguments]
        self.log.append(("launch", self.functions[function].__name__, blocks, threads, values, stream))
        self.put(stream, lambda: self.functions[function](self, blocks[0], *values))


# ---------------------------------------------------------------- JPEGs that are none


def fake_jpeg(width, height, value, kind=b"b"):
    """A "JPEG": kind b baseline, c refused, x damaged."""
    return struct.pack("<sBHH", kind, value, width, height) + bytes([value]) * (width * height // 7)


def fake_pixels(width, height, value):
    """What it shows: uint8[height, width, 3]."""
    count = width * height * 3
    return ((np.arange(count) * 7 + value * 31) % 251).astype(np.uint8).reshape(height, width, 3)


class FakeDecoder:
    """Stands for nvjpeg.Decoder: reads the data at once. The real one may hang if the stream has work left.

    The engines may write at once, and as late as when the stream comes to it: here they do this, then that.
    """

    calls = 0

    def __init__(self, driver, backend):
        self.driver = driver
        self.backend = backend

    def decode(self, batch, stream):
        assert not self.driver.streams[stream], "nvJPEG was called with work left on its stream"
        assert len(set(batch.sampling.tolist())) == 1, "pictures of one sampling come together"
        self.driver.log.append(("decode", self.backend, len(batch.data), stream))
        work = []
        for data, length, image in zip(batch.data, batch.lengths, batch.images):
            text = memory_at(int(data), int(length)).tobytes()
            kind, value, width, height = struct.unpack_from("<sBHH", text)
            if kind == b"c":
                return 4
            if kind == b"x":
                return 3
            assert text == fake_jpeg(width, height, value, kind), "the bytes are not those of a row"
            assert int(image[4]) == width * 3 and not image[1:4].any() and not image[5:].any()
            self.driver.check(int(image[0]), width * height * 3)
            work.append((int(image[0]), fake_pixels(width, height, value)))

        def write():
            for address, pixels in work:
                memory_at(address, pixels.size)[:] = pixels.ravel()

        FakeDecoder.calls += 1
        if FakeDecoder.calls % 2:
            self.driver.put(stream, write)
        else:
            write()
        return 0

    def close(self):
        pass


# ---------------------------------------------------------------- kernels that are none


def read(address, dtype, count):
    return memory_at(address, np.dtype(dtype).itemsize * count).view(dtype)


ELEMENTS = {0: np.uint8, 9: np.float32}


def picture(
    driver, blocks, rows, words, count, pictures, scratch, a, b, out, lookup, dtype, hwc, width, height
):
    """Puts the upper left corner through the table: all that the stage has to prove is where things lie."""
    stretch = 2 * a + b
    driver.check(scratch, blocks * stretch)
    memory_at(scratch, blocks * stretch)[:] = RUBBISH
    kind = np.dtype(ELEMENTS[dtype])
    table = read(lookup, kind, 768).reshape(3, 256)
    driver.check(rows, words * 4 * count)
    driver.check(out, count * 3 * width * height * kind.itemsize)
    parameters = read(rows, np.uint32, words * count).reshape(count, words)
    for row, address in enumerate(read(pictures, np.uint64, count)):
        shape = (height, width, 3) if hwc else (3, height, width)
        to = read(out + row * 3 * width * height * kind.itemsize, kind, 3 * width * height).reshape(shape)
        to[:] = 0
        if not address or not parameters[row, 0]:
            continue
        w, h = int(parameters[row, 2]), int(parameters[row, 3])
        driver.check(int(address), w * h * 3)
        made = shown(memory_at(int(address), w * h * 3).reshape(h, w, 3), table, width, height, hwc)
        to[:] = made


def shown(pixels, table, width, height, hwc=False):
    """The finished row of a decoded picture."""
    part = pixels[:height, :width]
    made = np.zeros((height, width, 3), table.dtype)
    for channel in range(3):
        made[: part.shape[0], : part.shape[1], channel] = table[channel][part[..., channel]]
    return made if hwc else made.transpose(2, 0, 1)


def mix(driver, blocks, rows, which, count, source, out, dtype, hwc, width, height):
    """Adds the row before."""
    kind, size = ELEMENTS[dtype], 3 * width * height
    before = read(source, kind, count * size).reshape(count, size)
    read(out, kind, count * size).reshape(count, size)[:] = mixed(before)


def mixed(rows):
    return rows + np.roll(rows, 1, axis=0)


KERNELS = {"picture": picture, "mix": mix}


class FakeKernels:
    """Stands for kernels.Kernels."""

    def __init__(self, driver):
        self.driver = driver

    def kernel(self, name):
        from millrace._cuda.kernels import Kernel, argument_types

        return Kernel(self.driver, self.driver.function(0, name), argument_types(name))

    def close(self):
        pass


@contextmanager
def given_back():
    """A list for (stage, its driver): at the end they are closed, and nothing may be left on the device."""
    stages = []
    yield stages
    for stage, driver in stages:
        stage.close()
        gc.collect()
        assert wait_until(lambda d=driver: not d.allocated), "memory of the device was not given back"
