"""How a device stage ends: with its GPU lost, half opened, forgotten, forked, with the process."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import HERE
from fake_cuda import FakeDecoder, FakeDriver, FakeKernels
from forked import in_fork
from patience import PATIENCE, wait_until
from picture_slots import Slot, field

import millrace
from millrace._cuda.errors import CudaError
from millrace._cuda.memory import TorchMemory
from millrace._cuda.nvjpeg import Jpegs
from millrace._generated.parameter_words import Form
from millrace._gpu.stage import DeviceStage
from millrace._gpu.ticket import HostArray, HostBatch
from millrace._gpu.tools import Tools
from millrace._view.carrier import Carrier
from millrace._view.pins import Pins
from millrace._view.staging import Staging, impossible
from millrace.feed import run_of
from millrace.views import View


class LosableDriver(FakeDriver):
    """Once it is lost, every call that touches the device says so, each in its own name."""

    breaks = lost = False

    def _check(self, call):
        if self.lost:
            raise CudaError("CUDA_ERROR_ILLEGAL_ADDRESS", call)

    def launch(self, *arguments):
        self.lost = self.breaks
        self._check("cuLaunchKernel")
        super().launch(*arguments)

    def record(self, event, stream):
        self._check("cuEventRecord")
        super().record(event, stream)

    def synchronize(self, event):
        self._check("cuEventSynchronize")
        super().synchronize(event)

    def synchronize_stream(self, stream):
        self._check("cuStreamSynchronize")
        super().synchronize_stream(stream)


def open_stage(pictures, driver, generator=None):
    def tools():
        make = lambda _library, backend: FakeDecoder(driver, backend)  # noqa: E731
        return Tools(driver, FakeKernels(driver), lambda: Jpegs(None, driver.synchronize_stream, make))

    return DeviceStage(tools, pictures, generator=generator)


def pictures():
    slot = Slot(3)
    for row in range(3):
        slot.fill(row, Form.JPEG, 20, 16, row)
    return HostBatch([HostArray("image", slot.values, "u8")])


def ends(what, seconds=PATIENCE):
    """Whether something comes to its end, done in a thread that may be left behind."""
    thread = threading.Thread(target=what, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


def test_a_lost_gpu_is_told_with_the_batch_that_lost_it_and_closing_ends():
    driver = LosableDriver()
    stage = open_stage({"image": field()}, driver)
    stage.submit(pictures()).wait(PATIENCE)
    driver.breaks = True
    with pytest.raises(CudaError, match="^cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS"):
        stage.submit(pictures()).wait(PATIENCE)
    assert ends(stage.close)
    with pytest.raises(millrace.MillraceError, match="closed"):
        stage.submit(pictures())
    stage.close()  # again


def test_a_generator_that_can_not_be_closed_keeps_nobody_waiting(monkeypatch):
    class Maker:
        outputs = ()

        def close(self):
            raise CudaError("CUDA_ERROR_LAUNCH_FAILED", "cuStreamSynchronize")

    monkeypatch.setattr("millrace._gpu.stage.generator_of", lambda tools, told: Maker())
    driver = FakeDriver()
    assert ends(open_stage({}, driver, generator={"kind": "kernel"}).close)
    assert wait_until(lambda: not driver.allocated and len(driver.streams) == 1), (
        "the rest is closed all the same"
    )


def test_what_is_opened_by_half_is_given_back():
    driver = FakeDriver()
    told = field()
    with pytest.raises(ValueError, match="a table of"):
        open_stage({"image": told, "other": {**told, "lookup": "AAAA"}}, driver)
    gc.collect()  # the error's traceback referred to the first field
    assert wait_until(lambda: not driver.allocated and len(driver.streams) == 1)


def test_garbage_may_be_collected_in_the_stages_own_thread():
    stage = open_stage({"image": field()}, FakeDriver())
    slot = Slot(1)
    slot.fill(0, Form.JPEG, 20, 16, 1, b"c")

    class Owner:
        pass

    owner = Owner()
    weakref.finalize(owner, stage.end)
    holder = [owner]
    del owner

    def redo(_name, rows):
        holder.clear()  # the last reference: the finalizer runs here
        return [{"row": row, "ok": False} for row in rows]

    assert stage.submit(HostBatch([HostArray("image", slot.values, "u8")], redo)).wait(PATIENCE).bad
    assert ends(stage.close)


def test_waiting_for_a_slot_does_not_stop_the_stage():
    driver = FakeDriver()
    driver.stir = lambda most=3: None
    stage = open_stage({"image": field()}, driver)
    stage.submit(pictures()).wait(PATIENCE)
    waiting, go_on = threading.Event(), threading.Event()
    synchronize = driver.synchronize

    def slowly(event):
        if threading.current_thread().name == "reaper":
            waiting.set()
            go_on.wait(PATIENCE)
        synchronize(event)

    driver.synchronize = slowly
    reaper = threading.Thread(target=stage.reap, args=(True,), name="reaper")
    reaper.start()
    assert waiting.wait(PATIENCE)
    stage.submit(pictures()).wait(PATIENCE)
    go_on.set()
    reaper.join(PATIENCE)
    stage.close()


def test_a_loop_that_is_collected_in_the_stages_own_thread_does_not_wait_for_itself(fake):
    stage = open_stage({"image": field()}, FakeDriver())
    slot = Slot(1)
    slot.fill(0, Form.JPEG, 20, 16, 1, b"c")
    with millrace.Feed(fake(8), timeout=60) as feed:
        staging = Staging(run_of(feed), 0)
        staging.adopt(stage)
        tickets = []

        def redo(_name, rows):
            tickets.append(stage.submit(pictures()))  # in line behind this one
            staging.drain(tickets)
            return [{"row": row, "ok": False} for row in rows]

        assert stage.submit(HostBatch([HostArray("image", slot.values, "u8")], redo)).wait(PATIENCE).bad
        assert not staging.given_up and tickets[0].wait(PATIENCE).arrays
    assert stage.ended(0)


def test_the_slot_of_a_batch_that_failed_is_not_left_to_the_garbage_collector():
    driver = FakeDriver()
    stage = open_stage({"image": field()}, driver)
    slot = Slot(1)
    slot.fill(0, Form.JPEG, 20, 16, 1, b"c")

    def redo(_name, _rows):
        raise millrace.EngineDied("the engine died")

    values = slot.values[:]
    lease = weakref.ref(values)
    gc.collect()
    gc.disable()
    try:
        ticket = stage.submit(HostBatch([HostArray("image", values, "u8")], redo))
        del values
        try:
            ticket.wait(PATIENCE)
        except millrace.EngineDied:
            del ticket
        driver.finish()
        assert stage.reap() == 0
        assert wait_until(lambda: lease() is None)
    finally:
        gc.enable()
    stage.close()


@pytest.mark.parametrize("seed", range(8))
def test_what_a_failed_batch_left_on_the_streams_harms_no_other(seed):
    driver = FakeDriver(seed)
    stage = open_stage({"image": field()}, driver)

    def batch(number, form, kind=b"b"):
        slot = Slot(3)
        for row in range(3):
            slot.fill(row, form, 20, 16, 10 * number + row)
        if kind == b"c":
            slot.fill(2, Form.JPEG, 20, 16, 10 * number + 2, kind)
        return slot

    def redo(_name, _rows):
        raise millrace.EngineDied("the engine died")

    def submitted(slot):
        return stage.submit(HostBatch([HostArray("image", slot.values, "u8")], redo))

    for number in range(2):  # all memory is there from now on
        submitted(batch(number, Form.JPEG)).wait(PATIENCE)
    driver.finish()
    driver.stir = lambda most=3: None  # nothing is done before it must
    with pytest.raises(millrace.EngineDied):
        submitted(batch(2, Form.PIXELS, b"c")).wait(PATIENCE)
    slots = [batch(number, Form.JPEG) for number in range(3, 7)]
    tickets = [submitted(slot).wait(PATIENCE) for slot in slots]
    for slot, ticket in zip(slots, tickets):
        assert np.array_equal(ticket.arrays["image"].copy_to_host(), slot.expected())
    stage.close()


def test_a_fork_has_no_stages_and_waits_for_none():
    stage = open_stage({"image": field()}, FakeDriver())
    ticket = stage.submit(pictures()).wait(PATIENCE)
    assert in_fork(stage.close) == 7
    assert ticket.arrays["image"].shape[0] == 3
    stage.close()


def test_a_fork_unlocks_nothing():
    class Memory:
        used = 2

        def fields(self, slot):
            return 1000 + slot, 100

    unlocked = []
    pins = Pins(lambda address, size: None, unlocked.append)
    memories = [Memory()]
    pins.lock(memories[0])

    def drop():
        memories.clear()
        assert not unlocked

    assert in_fork(drop) == 7
    memories.clear()
    assert unlocked == [1000, 1001]


def test_the_process_ends_with_batches_under_way():
    program = f"""
import sys, time
sys.path[:0] = [{str(HERE / "gpu")!r}, {str(HERE)!r}, {str(HERE.parent)!r}]
from test_gpu_ends import FakeDriver, open_stage, pictures
from picture_slots import field
driver = FakeDriver()
stage = open_stage({{"image": field()}}, driver)
launch = driver.launch
def slowly(*arguments):
    time.sleep(0.05)
    launch(*arguments)
driver.launch = slowly
held = [stage.submit(pictures()) for _ in range(5)]
held[0].wait({PATIENCE})
print("over", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "over\n", "")


def test_an_element_type_that_this_torch_lacks_is_no_other():
    torch = SimpleNamespace(__version__="2.0.1", device=lambda name: name)
    for name in "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 bool".split():
        setattr(torch, name, name)
    with pytest.raises(millrace.MissingError, match="PyTorch 2.0.1 has no type for u16"):
        TorchMemory(torch, "cuda:0").array((3,), "u16", 1)


@pytest.mark.parametrize(
    ("picture", "generates", "wanted"),
    [(True, False, ["nvjpeg", "nvrtc"]), (False, True, ["nvrtc"])],
)
def test_only_what_is_needed_is_looked_for_and_it_suits_the_driver(monkeypatch, picture, generates, wanted):
    asked = []
    monkeypatch.setattr("millrace._cuda.libraries.load", lambda *one: asked.append(one))
    monkeypatch.setattr("millrace._cuda.driver.driver_of", lambda device: SimpleNamespace(version=12080))
    fields = [SimpleNamespace(layout="chw" if picture else None, device=None)]
    stream = SimpleNamespace(opened=SimpleNamespace(generates=generates, compressed=[]))
    assert impossible(SimpleNamespace(stream=stream, fields=fields, shared=False), 0) is None
    assert asked == [(name, 12) for name in wanted]


def test_a_view_that_can_not_finish_still_leaves_its_loop(engine):
    class Unfinished(Carrier):
        def leave(self, staged):
            raise RuntimeError("the device is gone")

    definition = {
        "source": {"synthetic": {"count": 64, "images": {"width": 8, "height": 8, "classes": 3}}},
        "fields": {"label": {"from": "cls", "as": "int"}},
        "batch": {"size": 8},
    }
    with millrace.Feed(definition) as feed:
        with pytest.raises(RuntimeError, match="gone"):
            list(View(run_of(feed), Unfinished(run_of(feed))))
        assert not run_of(feed).looping


def test_nobody_waits_forever_for_a_gpu_that_stands_still(fake, monkeypatch):
    going = threading.Event()
    monkeypatch.setattr(FakeDecoder, "decode", lambda *_: going.wait() and 0)
    with millrace.Feed(fake(8), timeout=0.2) as feed:
        staging, stage = Staging(run_of(feed), 0), open_stage({"image": field()}, FakeDriver())
        staging.adopt(stage)
        ticket = stage.submit(pictures())
        with pytest.raises(millrace.MillraceError, match=r"at one batch for 0\.2 s; .* in wait \(threading"):
            staging.wait(ticket)
        assert ends(lambda: staging.drain([ticket])) and ends(lambda: staging.room(wait=True))
    assert ends(feed.close)
    going.set()
    assert stage.ended(PATIENCE)
