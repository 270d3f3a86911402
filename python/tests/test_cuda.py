"""Copies to a GPU: in order on a device that runs as late as it can, and on a real one where there is one."""

from __future__ import annotations

import ctypes
import gc
import os
import random
import time
import weakref
from collections import deque
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import wait_until
from test_gpu_ends import in_fork

import millrace
from millrace._gpu.errors import CudaError
from millrace._on_gpu import OnGpu
from millrace._pins import driver_pins
from millrace._staging import Staging
from millrace.views import Staged

torch = pytest.importorskip("torch")


class FakeStream:
    """A queue of work that nobody does until somebody must."""

    def __init__(self, device=None):
        self.work = deque()

    def wait_event(self, event):
        self.work.append(event)

    def step(self):
        """Does the next piece of work, if it may be done already."""
        if not self.work:
            return False
        if isinstance(self.work[0], FakeEvent):
            if not self.work[0].come:
                return False
            self.work.popleft()
        else:
            self.work.popleft()()
        return True


class FakeEvent:
    def __init__(self, enable_timing=False, blocking=False):
        self.come = False

    def elapsed_time(self, other):
        if not (self.come and other.come):
            raise RuntimeError("CUDA error: device not ready")
        return 1.0

    def record(self, stream):
        self.stream = stream
        stream.work.append(lambda: setattr(self, "come", True))

    def query(self):
        return self.come

    def synchronize(self):
        while not self.come:
            assert self.stream.step()


class FakeCuda:
    """PyTorch's streams and events, and the driver's page-locking."""

    Stream, Event = FakeStream, FakeEvent

    def __init__(self, refuse=False):
        self.mine = self.now = FakeStream()
        self.locked = []
        self.refuse = refuse
        self.lost = False

    @contextmanager
    def stream(self, stream):
        before, self.now = self.now, stream
        yield
        self.now = before

    def current_stream(self, device):
        return self.now

    @contextmanager
    def current(self):
        yield

    def register(self, address, size):
        if self.refuse:
            raise CudaError("CUDA_ERROR_OUT_OF_MEMORY", "cuMemHostRegister_v2")
        if address in self.locked:
            raise CudaError("CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "cuMemHostRegister_v2")
        self.locked.append(address)

    def unregister(self, address):
        if address not in self.locked:
            raise CudaError("CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "cuMemHostUnregister")
        self.locked.remove(address)
        if self.lost:
            raise CudaError("CUDA_ERROR_ILLEGAL_ADDRESS", "cuMemHostUnregister")


class FakeTensor:
    def __init__(self):
        self.value = None
        self.streams = []

    def record_stream(self, stream):
        self.streams.append(stream)


def late_read(out, array):
    """The bytes are read when the device gets to it, which keeps nobody from giving the slot back before."""
    if array.base is None:  # ordinary memory: CUDA has read it when the call returns
        return partial(setattr, out, "value", array)
    lease, shape, dtype = weakref.ref(array.base), array.shape, array.dtype
    offset = array.ctypes.data - ctypes.addressof(array.base)

    def read():
        slot = lease()
        assert slot is not None, "the slot was given back before the device had read it"
        out.value = np.ndarray(shape, dtype, slot, offset).copy()

    return read


@pytest.fixture
def view_of(monkeypatch):
    from millrace._cuda import CudaView

    class View(CudaView):
        def _upload(self, name, array):
            out = FakeTensor()
            self._cuda.now.work.append(late_read(out, array))
            return out

    def make(feed, cuda, prefetch=2):
        return View(feed, None, torch.device("cuda"), prefetch, cuda=cuda, pins=driver_pins(0, cuda))

    return make


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("prefetch", "depth"), [(0, 4), (2, 4), (3, 3), (5, 2)])
def test_late_copies_and_late_steps(fake, view_of, seed, prefetch, depth):
    chance = random.Random(seed)
    cuda, checked = FakeCuda(), []
    with millrace.Feed(fake(80), depth=depth) as feed:
        view = view_of(feed, cuda, prefetch)
        for i, batch in enumerate(view):
            assert feed.state_dict()["position"] == (4 * (i + 1)) % 80  # whatever was taken ahead
            assert batch["caption"][0] == f"sample {4 * i}"
            assert cuda.mine in batch["image"].streams

            def step(i=i, batch=batch):
                assert batch["image"].value[:, 0, 0, 0].tolist() == [4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3]
                assert batch["number"].value[0] == 4 * i
                checked.append(i)

            cuda.mine.work.append(step)
            del batch
            for _ in range(chance.randrange(5)):
                chance.choice([cuda.mine, view._side]).step()
        while cuda.mine.step() or view._side.step():
            pass
        assert checked == list(range(20))
        if depth > 2:
            assert feed.stats()["copies"] == 0  # it waits for a copy to the device rather than copying twice


def test_a_break_waits_for_the_copies_under_way(fake, view_of):
    cuda = FakeCuda()
    with millrace.Feed(fake(80)) as feed:
        view = view_of(feed, cuda)
        for _ in view:
            break
        assert not view._copying
        assert next(iter(view))["caption"][0] == "sample 1000"


def test_a_loop_that_is_over_hands_out_nothing_that_it_took_ahead(fake, view_of):
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


def test_a_loop_that_is_collected_meanwhile_takes_no_copy_from_another(fake, view_of):
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


def test_steps_on_streams_of_their_own_are_measured_when_they_are_over(fake, view_of):
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


def test_a_fork_that_leaves_a_loop_waits_for_nothing_of_cuda(fake, view_of):
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

    def new_tensor(self, numbers):
        return torch.tensor(numbers)

    def __getitem__(self, rows):
        assert self.streams, "rows are read on a stream that the memory's owner knows nothing of"
        return FakeTensor()


def test_rows_are_dropped_only_from_tensors_that_wait_for_the_users_stream(engine, monkeypatch):
    from millrace._cuda import CudaView

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

    monkeypatch.setattr("millrace._on_gpu.impossible", lambda *_: None)
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


def test_slots_are_locked_once_and_unlocked(fake, view_of):
    cuda = FakeCuda()
    feed = millrace.Feed(fake(80), depth=3, max_depth=6)
    view = view_of(feed, cuda)
    list(view)
    list(view)
    assert len(cuda.locked) == len(set(cuda.locked)) == 3
    feed.tune(depth=5)
    list(view)
    assert len(cuda.locked) == 5
    feed.close()
    del feed, view
    assert cuda.locked == []


def test_slots_that_another_view_has_locked_are_locked(fake, view_of, caplog):
    cuda = FakeCuda()
    feed = millrace.Feed(fake(80), depth=3, max_depth=6)
    for _ in range(3):
        assert len(list(view_of(feed, cuda))) == 20  # a view of its own each time
    view = view_of(feed, cuda)
    list(view)
    feed.tune(depth=5)
    list(view)
    assert len(cuda.locked) == 5 and "page-locked" not in caplog.text
    feed.close()
    del feed, view
    assert cuda.locked == []


def test_a_gpu_that_is_lost_keeps_no_slots(fake, view_of, capsys):
    cuda = FakeCuda()
    with millrace.Feed(fake(80)) as feed:
        list(view_of(feed, cuda))
        cuda.lost = True
    assert cuda.locked == [] and "Traceback" not in capsys.readouterr().err


def test_nothing_of_cuda_is_left_to_the_garbage_collector(fake, view_of):
    gc.collect()
    gc.disable()
    try:
        feed = millrace.Feed(fake(80))
        view = view_of(feed, FakeCuda())
        assert len(list(view)) == 20
        gone = weakref.ref(feed), weakref.ref(view), weakref.ref(view._meter)
        assert feed.stats()["device"]["decode"] == "cpu"
        feed.close()
        del feed, view
        assert [one() for one in gone] == [None] * 3
    finally:
        gc.enable()


def test_copies_go_on_where_nothing_can_be_locked(fake, view_of, caplog):
    cuda = FakeCuda(refuse=True)
    with millrace.Feed(fake(80)) as feed:
        assert len(list(view_of(feed, cuda))) == 20
    assert caplog.text.count("page-locked") == 1


def test_without_a_gpu_it_says_what_is_missing(fake):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with millrace.Feed(fake()) as feed, pytest.raises(millrace.MissingError, match="finds no GPU"):
        feed.torch(device="cuda")


def test_other_devices_by_torchs_own_copy(fake):
    with millrace.Feed(fake()) as feed:
        for batch in feed.torch(device="meta"):
            assert batch["image"].device.type == "meta"
            feed._stream.client.leases.settle()
            assert len(feed._stream.client.leases) == 0
            assert batch["caption"][0].startswith("sample")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_real_gpu(fake):
    with millrace.Feed(fake(4000), depth=4) as feed:
        total = torch.zeros((), device="cuda")
        expected = 0
        kept = None
        for i, batch in enumerate(feed.torch(device="cuda")):
            assert batch["image"].is_cuda and batch["half"].dtype == torch.bfloat16
            assert batch["parts"].values.is_cuda
            # Work that keeps the user's stream busy: what is read afterwards must still be this batch.
            noise = torch.randn(512, 512, device="cuda")
            for _ in range(3):
                noise = noise @ noise / 512
            total += batch["image"][:, 0, 0, 0].sum() + batch["number"].sum() * 0
            expected += sum(range(4 * i, 4 * i + 4))
            if i == 10:
                kept = batch["number"]
        assert total.item() == pytest.approx(expected, rel=1e-5)
        assert kept.tolist() == [40, 41, 42, 43]
        assert feed.stats()["copies"] == 0
