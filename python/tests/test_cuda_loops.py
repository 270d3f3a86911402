"""Loops over copies to a GPU that end in unusual ways: by others, by the garbage collector, in a fork."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace

import numpy as np
import pytest
from fake_torch import FakeCuda, FakeEvent, FakeStream, FakeTensor, view_of
from patience import wait_until
from test_gpu_ends import in_fork

import millrace
from millrace._view.on_gpu import OnGpu
from millrace._view.pins import driver_pins
from millrace._view.staging import Staging, without_bad
from millrace.batch import About, Batch, Ragged
from millrace.views import Staged

torch = pytest.importorskip("torch")


def test_a_loop_that_is_over_hands_out_nothing_that_it_took_ahead(fake):
    with millrace.Feed(fake(80)) as feed:
        view = view_of(feed, FakeCuda())
        first = iter(view)
        next(first)
        assert wait_until(lambda: feed._stream.client.memory.ready(2) is not None)
        next(first)  # by now others are taken ahead
        second = iter(view)
        assert next(second)["caption"][0] == "sample 1000"
        state = feed.state_dict()
        with pytest.raises(millrace.MillraceError, match="another loop"):
            next(first)
        assert feed.state_dict() == state
        assert next(second)["caption"][0] == "sample 1004"


def test_a_loop_that_is_collected_meanwhile_takes_no_copy_from_another(fake):
    """The garbage collector may close one loop while another waits for a copy, or looks for one."""

    class Event(FakeEvent):
        def synchronize(self):
            super().synchronize()
            collect()

        def query(self):
            collect()
            return super().query()

    abandoned = []

    def collect():
        while abandoned:
            abandoned.pop().close()

    cuda = FakeCuda()
    cuda.Event = Event
    with millrace.Feed(fake(80), depth=3) as feed:
        view = view_of(feed, cuda)
        for i in range(8):
            loop = iter(view)
            next(loop)
            abandoned.append(loop)
            numbers = []
            for k, batch in enumerate(view):
                numbers.append(batch["number"])
                if k == 2:
                    break
            while cuda.mine.step() or view._side.step():
                pass
            first = 1000 * (2 * i + 1)
            assert [int(one.value[0]) for one in numbers] == [first, first + 4, first + 8]


def test_steps_on_streams_of_their_own_are_measured_when_they_are_over(fake):
    cuda = FakeCuda()
    with millrace.Feed(fake(80)) as feed:
        view = view_of(feed, cuda)
        streams, batches = [cuda.mine, FakeStream()], iter(view)
        for i in range(20):
            cuda.now = streams[i % 2]
            next(batches)
            while streams[i % 3 == 0].step():  # the other one is far behind
                pass
        for _ in range(3):
            for stream in (view._side, *streams):
                while stream.step():
                    pass
        assert not list(batches) and view._meter.seconds > 0


def test_a_fork_that_leaves_a_loop_waits_for_nothing_of_cuda(fake):
    class Event(FakeEvent):
        def __init__(self, **options):
            super().__init__(**options)
            self.pid = os.getpid()

        def synchronize(self):
            assert os.getpid() == self.pid, "CUDA error: initialization error"
            super().synchronize()

    cuda = FakeCuda()
    cuda.Event = Event
    with millrace.Feed(fake(80)) as feed:
        batches = iter(view_of(feed, cuda))
        next(batches)
        assert in_fork(batches.close) == 7
        assert len(list(batches)) == 19


def test_a_fork_that_leaves_a_loop_waits_for_no_stage(fake):
    never = SimpleNamespace(comes=lambda seconds: time.sleep(seconds), before=None)

    class View(OnGpu):
        def _enter(self):
            pass

        def _prepare(self, taken):
            return Staged(taken, taken.batch, never, on_stage=True)

        def _arrives(self, loop, staged):
            return True

        def _beside(self, numbers, array):
            return numbers

        def _release(self):
            pass

    with millrace.Feed(fake(80), timeout=0.1) as feed:
        view = View(feed, None)
        view.prefetch, view._staging = 1, Staging(feed, 0)
        view._staging._patience = 30
        batches = iter(view)
        assert wait_until(lambda: feed._stream.client.memory.ready(2) is not None)
        next(batches)
        next(batches)
        assert in_fork(batches.close) == 7
        view._staging._patience = 0.1
        batches.close()


class StageTensor(FakeTensor):
    """What a stage has made, in memory that comes back to the stage's stream unless others are recorded."""

    def data_ptr(self):
        return id(self)

    dtype = torch.uint8

    def new_tensor(self, numbers, dtype):
        return torch.tensor(numbers, dtype=dtype)

    def __getitem__(self, rows):
        assert self.streams, "rows are read on a stream that the memory's owner knows nothing of"
        return FakeTensor()


def test_rows_are_dropped_only_from_tensors_that_wait_for_the_users_stream(engine, monkeypatch):
    from millrace._view.torch_cuda import CudaView

    class Stage:
        here = False

        def __init__(self, told, *_):
            pass

        def submit(self, batch):
            bad = {"image": [{"row": 3, "id": "x", "stage": "decode", "message": "torn"}]}
            arrays = {one.name: StageTensor() for one in batch.arrays}
            ticket = SimpleNamespace(arrays=arrays, bad=bad, comes=lambda _: True, before=lambda _: None)
            ticket.wait = lambda: ticket
            return ticket

        def reap(self, wait=False):
            return 0

        def end(self):
            pass

        close = end

    monkeypatch.setattr("millrace._view.on_gpu.impossible", lambda *_: None)
    cuda = FakeCuda()
    cuda.mine.cuda_stream = 0
    definition = {
        "source": {"synthetic": {"count": 16, "images": {"width": 40, "height": 32, "classes": 7}}},
        "fields": {
            "image": {"from": "jpg", "as": "image", "apply": [{"resize": [20, 24]}]},
            "label": {"from": "cls", "as": "int"},
        },
        "batch": {"size": 8},
        "onError": "drop",
    }
    with millrace.Feed(definition) as feed:
        pins = driver_pins(0, cuda)
        view = CudaView(feed, None, torch.device("cuda"), 0, "gpu", cuda=cuda, open_stage=Stage, pins=pins)
        assert [batch.count for batch in view] == [7, 7]


@pytest.mark.parametrize("dtype", ["bfloat16", "uint8", "bool", "float32"])
def test_rows_are_dropped_or_masked_by_number_whatever_their_type(fake, dtype):
    count, bad = 600, [0, 1, 299]
    about = About(lambda epoch, positions: [])
    about.count, about.positions = count, np.arange(count)
    about.valid, about.fillers = np.ones(count, bool), np.zeros(count, bool)
    image = (torch.arange(count) % 2).to(getattr(torch, dtype))
    offsets = torch.arange(count + 1, dtype=torch.int32)
    batch = Batch(
        {"image": image, "parts": Ragged(image, offsets), "label": torch.arange(count)}, about=about
    )
    with millrace.Feed(fake()) as feed:
        beside = view_of(feed, FakeCuda())._beside
        masked = without_bad(Batch(image=torch.ones_like(image), about=about), bad, "mask", beside)["image"]
        kept = without_bad(batch, bad, "drop", beside)
    assert masked.dtype == image.dtype and (masked == 0).nonzero().flatten().tolist() == bad
    assert kept["label"].tolist() == [row for row in range(count) if row not in bad]
    for found in (kept["image"], kept["parts"].values):
        assert found.dtype == image.dtype and found.tolist() == image[kept["label"]].tolist()
    assert kept["parts"].offsets.dtype == torch.int32 and len(kept["parts"].offsets) == len(kept["label"]) + 1
