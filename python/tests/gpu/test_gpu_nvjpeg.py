"""nvJPEG: its calls, its states, and how refused pictures are found."""

from __future__ import annotations

import ctypes
import threading
import time

import numpy as np
import pytest

from millrace._cuda import nvjpeg
from millrace._cuda.errors import CudaError
from millrace._cuda.nvjpeg import HARDWARE, HYBRID, Bitstreams, Decoder, Jpegs, refused


def some(count, sampling=0x22):
    """Pictures of one sampling, or of a list of them."""
    numbers = np.arange(1, count + 1, dtype=np.uint64)
    return Bitstreams(
        numbers * 1000, numbers, np.stack([numbers] * 8, axis=1), np.zeros(count, int) + sampling
    )


class FakeLibrary:
    """Notes calls; decodes as ``statuses`` say, one after the other."""

    def __init__(self, *statuses):
        self.calls = []
        self.statuses = list(statuses)
        self.create = {}
        self._handle = 100

    def __getattr__(self, name):
        def call(*arguments):
            for argument, kind in zip(arguments, call.argtypes):
                kind.from_param(argument)
            if name == "nvjpegDecodeBatched":
                count = self.size
                data = np.ndarray(count, np.uint64, (ctypes.c_uint64 * count).from_address(arguments[2]))
                images = (ctypes.c_uint64 * (8 * count)).from_address(arguments[4])
                self.calls.append((name, data.tolist(), list(images)[::8], arguments[5]))
                return self.statuses.pop(0) if self.statuses else 0
            if name == "nvjpegDecodeBatchedInitialize":
                self.size = arguments[2]
            if name in ("nvjpegCreateEx", "nvjpegJpegStateCreate"):
                self._handle += 1
                arguments[-1]._obj.value = self._handle
            rest = [one for one in arguments if isinstance(one, int)]
            self.calls.append((name, *rest))
            return self.create.get(arguments[0], 0) if name == "nvjpegCreateEx" else 0

        setattr(self, name, call)
        return call

    def names(self):
        return [call[0][6:] for call in self.calls]


def test_a_decoder_is_set_up_when_the_size_changes():
    library = nvjpeg.load(library=FakeLibrary())
    decoder = Decoder(library, HARDWARE)
    for count in (4, 4, 3):
        assert decoder.decode(some(count), 7) == 0
    decoder.close()
    assert library.names() == [
        "CreateEx", "JpegStateCreate", "DecodeBatchedInitialize", "DecodeBatched", "DecodeBatched",
        "DecodeBatchedInitialize", "DecodeBatched", "JpegStateDestroy", "Destroy",
    ]  # fmt: skip
    assert library.calls[0][1:] == (HARDWARE, 32)  # chroma is interpolated
    assert library.calls[2][1:] == (4, 1, 5)  # one thread, interleaved RGB
    assert library.calls[3][1:] == ([1000, 2000, 3000, 4000], [1, 2, 3, 4], 7)


def test_a_refusal_is_a_status_and_trouble_is_an_error():
    library = nvjpeg.load(library=FakeLibrary(4, 0, 6, 0, 5))
    decoder = Decoder(library, HYBRID)
    assert decoder.decode(some(2), 7) == 4
    assert decoder.decode(some(2), 7) == 0
    assert library.names().count("DecodeBatchedInitialize") == 2  # set up anew after a refusal
    assert decoder.decode(some(2), 7) == 6
    decoder.reopen()
    assert library.names()[-3:] == ["JpegStateDestroy", "Destroy", "CreateEx"]
    assert decoder.decode(some(2), 7) == 0
    with pytest.raises(CudaError, match="NVJPEG_STATUS_ALLOCATOR_FAILURE.*lower the batch size"):
        decoder.decode(some(2), 7)


@pytest.mark.parametrize("bad", [[], [0], [255], [3, 4], [0, 100, 200], list(range(9))])
def test_refused_rows_are_found_in_few_calls(bad):
    calls = []

    def decode(rows):
        calls.append(rows.tolist())
        return 4 if set(rows.tolist()) & set(bad) else 0

    rows = np.arange(256)
    assert refused(decode, rows) == [(row, 4) for row in bad]
    assert len(calls) <= 1 + 2 * 8 * len(bad)
    # Every good row was decoded in a call that succeeded.
    fine = {row for call in calls if not set(call) & set(bad) for row in call}
    assert fine == set(range(256)) - set(bad)


class Pretender:
    """A back end that refuses some of the data."""

    def __init__(self, log, backend, refuses):
        self.log, self.backend, self.refuses = log, backend, refuses

    def decode(self, batch, stream):
        rows = (batch.lengths.astype(int) - 1).tolist()
        self.log.append((self.backend, rows))
        return 4 if set(rows) & self.refuses[self.backend] else 0

    def close(self):
        self.log.append((self.backend, "closed"))


def both(refuses, engines=True):
    log = []

    def make(_library, backend):
        if backend == HARDWARE and not engines:
            raise CudaError("NVJPEG_STATUS_ARCH_MISMATCH", "nvjpegCreateEx")
        return Pretender(log, backend, refuses)

    return Jpegs(None, lambda stream: log.append(("settled", stream)), make), log


def decoded(log):
    """Calls of a back end; each of them finds its stream settled."""
    for before, call in zip([None, *log], log):
        assert call[0] == "settled" or call[1] == "closed" or before == ("settled", 7)
    return [call for call in log if call[0] != "settled"]


def test_each_sampling_is_decoded_by_itself():
    jpegs, log = both({HARDWARE: {2, 3}})
    assert jpegs.decode(some(5, [0x22, 0x11, 0x22, 0x11, 0]), 7) == [
        (2, "NVJPEG_STATUS_JPEG_NOT_SUPPORTED"),
        (3, "NVJPEG_STATUS_JPEG_NOT_SUPPORTED"),
    ]
    assert decoded(log) == [(HARDWARE, rows) for rows in ([4], [1, 3], [1], [3], [0, 2], [0], [2])]


def test_a_state_for_each_sampling_keeps_its_size():
    library = nvjpeg.load(library=FakeLibrary())
    jpegs = Jpegs(library, lambda stream: None)
    for _ in range(3):
        assert jpegs.decode(some(5, [0x22, 0x11, 0x22, 0x22, 0x11]), 7) == []
    assert library.names().count("CreateEx") == 1
    assert library.names().count("JpegStateCreate") == 2
    assert library.names().count("DecodeBatchedInitialize") == 2
    jpegs.close()
    assert library.names()[-3:] == ["JpegStateDestroy", "JpegStateDestroy", "Destroy"]


@pytest.mark.parametrize("status", [2, 3, 4, 6, 8, 9, 10])
def test_what_is_said_of_a_picture_refuses_that_picture(status):
    library = nvjpeg.load(library=FakeLibrary(status, 0, status))
    jpegs = Jpegs(library, lambda stream: None)
    assert jpegs.decode(some(2), 7) == [(1, nvjpeg.status_name(status))]


@pytest.mark.parametrize("status", [6, 8])
def test_what_may_be_in_the_middle_of_something_is_opened_anew(status):
    library = nvjpeg.load(library=FakeLibrary(status, 0, status))
    log = []
    jpegs = Jpegs(library, lambda stream: log.append(len(library.calls)))
    assert jpegs.decode(some(2), 7) == [(1, nvjpeg.status_name(status))]
    assert library.names().count("CreateEx") == 1 + 2
    # Before it is closed, nothing is left on the stream.
    for number, name in enumerate(library.names()):
        assert name != "JpegStateDestroy" or number in log
    assert jpegs.decode(some(2), 7) == []


@pytest.mark.parametrize("status", [6, 8])
def test_a_failed_execution_is_a_picture_only_while_the_context_is_alive(status):
    library = nvjpeg.load(library=FakeLibrary(status))

    def settle(stream):
        if "DecodeBatched" in library.names():
            raise CudaError("CUDA_ERROR_ILLEGAL_ADDRESS", "cuStreamSynchronize")

    jpegs = Jpegs(library, settle)
    with pytest.raises(CudaError, match="ILLEGAL_ADDRESS"):
        jpegs.decode(some(1), 7)


def test_a_decoder_that_cannot_be_closed_is_opened_anew_all_the_same():
    library = nvjpeg.load(library=FakeLibrary(6))
    library.nvjpegJpegStateDestroy = lambda *_: 6
    jpegs = Jpegs(library, lambda stream: None)
    assert jpegs.decode(some(1), 7) == [(0, "NVJPEG_STATUS_EXECUTION_FAILED")]
    assert jpegs.decode(some(1), 7) == []


def test_without_engines_the_cores_take_all():
    jpegs, log = both({HYBRID: set()}, engines=False)
    assert not jpegs.hardware
    jpegs.decode(some(3), 7)
    jpegs.close()
    assert decoded(log) == [(HYBRID, [0, 1, 2]), (HYBRID, "closed")]


def test_other_trouble_with_the_engines_is_no_secret():
    library = FakeLibrary()
    library.create = {HARDWARE: 5}
    with pytest.raises(CudaError, match="ALLOCATOR_FAILURE"):
        Jpegs(nvjpeg.load(library=library), lambda stream: None)


def test_names():
    assert nvjpeg.status_name(10) == "NVJPEG_STATUS_INCOMPLETE_BITSTREAM"
    assert nvjpeg.status_name(77) == "nvJPEG status 77"


def test_nvjpeg_is_called_by_one_thread_at_a_time():
    inside, most = [], []

    class Library:
        def __getattr__(self, name):
            def call(*_):
                inside.append(name)
                most.append(len(inside))
                time.sleep(0.002)
                inside.pop()
                return 0

            return call

    def work():
        decoder = Decoder(Library(), HARDWARE)
        rows = np.zeros(4, np.uint64)
        for _ in range(5):
            decoder.decode(Bitstreams(rows, rows, np.zeros((4, 8), np.uint64), rows), 0)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) > 20 and max(most) == 1
