"""Loops over copies to a GPU that end in unusual ways: by others, by the garbage collector, in a fork."""

from __future__ import annotations

import os
import time
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from fake_torch import FakeCuda, FakeEvent, FakeStream, FakeTensor, view_of
from forked import in_fork
from patience import wait_until

import millrace
from millrace._view import torch_cuda
from millrace._view.bad_rows import without_bad
from millrace._view.carrier import Carrier, Staged
from millrace._view.decide import Decision
from millrace._view.meter import HostMeter
from millrace._view.on_gpu import OnGpu
from millrace._view.pins import driver_pins
from millrace._view.staging import Staging
from millrace._view.torch_cuda import TorchCuda
from millrace.batch import About, Batch, Ragged
from millrace.feed import run_of
from millrace.views import View

torch = pytest.importorskip("torch")


def test_a_loop_that_is_over_hands_out_nothing_that_it_took_ahead(fake):
    with millrace.Feed(fake(80)) as feed:
        view, _ = view_of(feed, FakeCuda())
        first = iter(view)
        next(first)
        assert wait_until(lambda: run_of(feed).stream.client.memory.ready(2) is not None)
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
        view, carrier = view_of(feed, cuda)
        for i in range(8):
            loop = iter(view)
            next(loop)
            abandoned.append(loop)
            numbers = []
            for k, batch in enumerate(view):
                numbers.append(batch["number"])
                if k == 2:
                    break
            while cuda.mine.step() or carrier.side.step():
                pass
            first = 1000 * (2 * i + 1)
            assert [int(one.value[0]) for one in numbers] == [first, first + 4, first + 8]


def test_steps_on_streams_of_their_own_are_measured_when_they_are_over(fake):
    cuda = FakeCuda()
    with millrace.Feed(fake(80)) as feed:
        view, carrier = view_of(feed, cuda)
        streams, batches = [cuda.mine, FakeStream()], iter(view)
        for i in range(20):
            cuda.now = streams[i % 2]
            next(batches)
            while streams[i % 3 == 0].step():  # the other one is far behind
                pass
        for _ in range(3):
            for stream in (carrier.side, *streams):
                while stream.step():
                    pass
        assert not list(batches) and carrier.meter.seconds > 0


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
        batches = iter(view_of(feed, cuda)[0])
        next(batches)
        assert in_fork(batches.close) == 7
        assert len(list(batches)) == 19


def test_a_fork_that_leaves_a_loop_waits_for_no_stage(fake):
    never = SimpleNamespace(comes=lambda seconds: time.sleep(seconds), before=None)

    class Never(Carrier):
        prefetch = 1

        def load(self, taken):
            return Staged(taken, taken.batch, never, on_stage=True)

    with millrace.Feed(fake(80), timeout=0.1) as feed:
        run = run_of(feed)
        carrier, pins = Never(run), SimpleNamespace(lock=lambda memory: None)
        gpu = OnGpu(run, Staging(run, 0), pins, Decision("gpu"), HostMeter(), None)
        carrier.leave = gpu.leave
        batches = iter(View(run, carrier))
        assert wait_until(lambda: run.stream.client.memory.ready(2) is not None)
        next(batches)
        next(batches)
        run.timeout = 30
        assert in_fork(batches.close) == 7
        run.timeout = 0.1
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
        run, device, pins = run_of(feed), torch.device("cuda"), driver_pins(0, cuda)
        carrier = TorchCuda(run, device, 0, "gpu", cuda=cuda, open_stage=Stage, pins=pins)
        assert [batch.count for batch in View(run, carrier)] == [7, 7]


@pytest.mark.parametrize("dtype", ["bfloat16", "uint8", "bool", "float32"])
def test_rows_are_dropped_or_masked_by_number_whatever_their_type(dtype):
    count, bad = 600, [0, 1, 299]
    about = About(lambda epoch, positions: [])
    about.count, about.positions = count, np.arange(count)
    about.valid, about.fillers = np.ones(count, bool), np.zeros(count, bool)
    image = (torch.arange(count) % 2).to(getattr(torch, dtype))
    offsets = torch.arange(count + 1, dtype=torch.int32)
    batch = Batch(
        {"image": image, "parts": Ragged(image, offsets), "label": torch.arange(count)}, about=about
    )
    beside = partial(torch_cuda.beside, torch)
    masked = without_bad(Batch(image=torch.ones_like(image), about=about), bad, "mask", beside)["image"]
    kept = without_bad(batch, bad, "drop", beside)
    assert masked.dtype == image.dtype and (masked == 0).nonzero().flatten().tolist() == bad
    assert kept["label"].tolist() == [row for row in range(count) if row not in bad]
    for found in (kept["image"], kept["parts"].values):
        assert found.dtype == image.dtype and found.tolist() == image[kept["label"]].tolist()
    assert kept["parts"].offsets.dtype == torch.int32 and len(kept["parts"].offsets) == len(kept["label"]) + 1
