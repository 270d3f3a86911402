"""The driver's bindings: each call by its name, with its arguments as they lie in memory, checked."""

from __future__ import annotations

import ctypes
import threading

import pytest

from millrace._cuda import bindings
from millrace._cuda.driver import Driver
from millrace._cuda.errors import CudaError


class FakeLibrary:
    """Functions that note how they were called. ``give``: values for the pointers among the arguments."""

    def __init__(self):
        self.calls = []
        self.fail = {}
        self.give = {
            "cuDriverGetVersion": [13000],
            "cuDeviceGet": [0],
            "cuDeviceGetAttribute": {16: 132, 75: 9, 76: 0},
            "cuDevicePrimaryCtxRetain": [0xC0],
            "cuCtxGetStreamPriorityRange": [5, -5],
            "cuStreamCreateWithPriority": [0x51],
            "cuEventCreate": [0xE1],
            "cuMemAlloc_v2": [0x7F00_0000_0000],
            "cuMemGetInfo_v2": [7, 9],
            "cuModuleLoadData": [0x40],
            "cuModuleGetFunction": [0x41],
        }

    def __getattr__(self, name):
        def call(*arguments):
            assert len(arguments) == len(bindings.SIGNATURES[name])
            # What the loader would do: refuse what doesn't fit.
            for argument, kind in zip(arguments, call.argtypes):
                kind.from_param(argument)
            if name == "cuGetErrorName":
                arguments[1]._obj.value = {2: b"CUDA_ERROR_OUT_OF_MEMORY"}.get(arguments[0])
                return 0 if arguments[1]._obj.value else 1
            given = self.give.get(name, [])
            if isinstance(given, dict):
                given = [given[arguments[1]]]
            outs = [one._obj for one in arguments if type(one).__name__ == "CArgObject"]
            for out, value in zip(outs, given):
                out.value = value
            shown = [bytes(one._obj) if type(one).__name__ == "CArgObject" else one for one in arguments]
            self.calls.append((name, *shown, threading.get_ident()))
            return self.fail.get(name, 0)

        setattr(self, name, call)
        return call

    def named(self, name):
        return [call[1:-1] for call in self.calls if call[0] == name]


@pytest.fixture
def library():
    return FakeLibrary()


@pytest.fixture
def driver(library):
    return Driver(0, library)


def test_opening(driver, library):
    assert (driver.version, driver.architecture, driver.multiprocessors) == (13000, "sm_90", 132)
    assert [call[0] for call in library.calls][0] == "cuInit"
    assert library.named("cuDevicePrimaryCtxRetain")[0][1] == 0


def test_streams_do_not_wait_for_the_default_one_and_have_the_highest_priority(driver, library):
    assert driver.stream() == 0x51
    ((_, flags, priority),) = library.named("cuStreamCreateWithPriority")
    assert flags == 1 and priority < 5


def test_events_are_not_timed(driver, library):
    assert driver.event() == 0xE1
    assert library.named("cuEventCreate")[0][1] & 2
    driver.record(0xE1, 0x51)
    driver.wait_event(0x51, 0xE1)
    assert library.named("cuEventRecord") == [(0xE1, 0x51)]
    assert library.named("cuStreamWaitEvent") == [(0x51, 0xE1, 0)]


def test_query(driver, library):
    assert driver.query(0xE1) is True
    library.fail["cuEventQuery"] = 600
    assert driver.query(0xE1) is False
    library.fail["cuEventQuery"] = 2
    with pytest.raises(CudaError, match="cuEventQuery: CUDA_ERROR_OUT_OF_MEMORY"):
        driver.query(0xE1)


def test_every_call_is_checked(driver, library):
    library.fail = {name: 999 for name in bindings.SIGNATURES if name != "cuGetErrorName"}
    calls = {
        "alloc": (1,), "free": (1,), "alloc_host": (1,), "free_host": (1,), "register": (1, 2),
        "unregister": (1,), "copy_in": (1, 2, 3, 4), "copy_out": (1, 2, 3, 4),
        "copy_rows_in": (1, 2, 3, 4, 5, 6, 7), "module": (b"x",), "unload": (1,), "function": (1, "f"),
        "launch": (1, (2, 1), 3, [], 4),
        "bind": (), "stream": (), "destroy_stream": (1,), "synchronize_stream": (1,), "wait_event": (1, 2),
        "event": (), "destroy_event": (1,), "record": (1, 2), "query": (1,), "synchronize": (1,),
        "free_memory": (), "attribute": (16,),
    }  # fmt: skip
    for name, arguments in calls.items():
        with pytest.raises(CudaError, match="CUDA error 999"):
            getattr(driver, name)(*arguments)


def test_copies(driver, library):
    driver.copy_in(0x7F00_0000_0000, 0x5500_0000_0000, 1 << 33, 0x51)
    assert library.named("cuMemcpyHtoDAsync_v2") == [(0x7F00_0000_0000, 0x5500_0000_0000, 1 << 33, 0x51)]
    driver.copy_rows_in(0x7F00, 192, 0x5500, 30_000, 192, 256, 0x51)
    ((copy, stream),) = library.named("cuMemcpy2DAsync_v2")
    numbers = [int.from_bytes(copy[at : at + 8], "little") for at in range(0, 128, 8)]
    # srcX srcY srcType srcHost srcDevice srcArray srcPitch, the same for dst, width, height
    assert numbers == [0, 0, 1, 0x5500, 0, 0, 30_000, 0, 0, 2, 0, 0x7F00, 0, 192, 192, 256]
    assert stream == 0x51 and ctypes.sizeof(bindings.Copy2D) == 128


def test_a_launch_hands_over_addresses_of_its_arguments(library):
    seen = {}

    def launch(*arguments):
        places = arguments[9]
        seen["values"] = [
            ctypes.c_uint64.from_address(places[0]).value, ctypes.c_int.from_address(places[1]).value
        ]  # fmt: skip
        seen["rest"] = arguments[:9]
        return 0

    library.cuLaunchKernel = launch
    Driver(0, library).launch(0x41, (16, 3), 512, [ctypes.c_uint64(1 << 40), ctypes.c_int(-5)], 0x51)
    assert seen == {"values": [1 << 40, -5], "rest": (0x41, 16, 3, 1, 512, 1, 1, 0, 0x51)}


def test_other_threads_get_their_context_back(driver, library):
    with driver.current():
        driver.alloc(10)
    names = [call[0] for call in library.calls][-3:]
    assert names == ["cuCtxPushCurrent_v2", "cuMemAlloc_v2", "cuCtxPopCurrent_v2"]
    with pytest.raises(ZeroDivisionError), driver.current():
        raise ZeroDivisionError
    assert library.calls[-1][0] == "cuCtxPopCurrent_v2"
    driver.bind()
    with driver.current():
        pass
    assert [call[0] for call in library.calls][-2:] == [
        "cuCtxSetCurrent",
        "cuThreadExchangeStreamCaptureMode",
    ]

    def elsewhere():
        with driver.current():
            pass

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    # Bound is the thread, not the driver.
    assert [call[0] for call in library.calls][-2:] == ["cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2"]


def test_the_real_library_has_these_functions():
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        pytest.skip("no driver here")
    for name in bindings.SIGNATURES:
        assert getattr(cuda, name)
