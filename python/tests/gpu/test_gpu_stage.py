"""The device stage on a device that runs as late as it may: order, reuse, sub-batches, refused rows."""

from __future__ import annotations

import random
import weakref

import numpy as np
import pytest
from fake_cuda import (
    FakeDecoder,
    FakeDriver,
    FakeKernels,
    given_back,
    mixed,
    read,
)  # fmt: skip
from patience import PATIENCE, wait_until
from picture_slots import Slot, field, some_slot

from millrace._cuda.errors import CudaError
from millrace._cuda.nvjpeg import HARDWARE, HYBRID, Jpegs
from millrace._generated.parameter_words import Form
from millrace._gpu import plan
from millrace._gpu.stage import DeviceStage
from millrace._gpu.ticket import HostArray, HostBatch, Ticket
from millrace._gpu.tools import Tools
from millrace._spans.attach import spans


@pytest.fixture
def opened():
    """Makes a stage on a fake device; at the end nothing may be left on that."""

    def make(pictures, seed=0, blocks=None, budget=1 << 30, memory=None, engines=True):
        driver = FakeDriver(seed)

        def decoder(_library, backend):
            if backend == HARDWARE and not engines:
                raise CudaError("NVJPEG_STATUS_ARCH_MISMATCH", "nvjpegCreateEx")
            return FakeDecoder(driver, backend)

        def tools():
            driver.bind()
            jpegs = lambda: Jpegs(None, driver.synchronize_stream, decoder)  # noqa: E731
            return Tools(driver, FakeKernels(driver), jpegs, blocks, budget)

        stage = DeviceStage(tools, pictures, memory)
        stages.append((stage, driver))
        return stage, driver

    with given_back() as stages:
        yield make


def decodes(driver):
    return [(call[1], call[2]) for call in driver.log if call[0] == "decode"]


@pytest.mark.parametrize(("dtype", "layout"), [("f32", "chw"), ("u8", "hwc")])
def test_a_batch_of_everything(opened, dtype, layout):
    stage, driver = opened({"image": field(dtype, layout)})
    slot = Slot(5)
    slot.fill(0, Form.JPEG, 30, 20, 1)
    slot.fill(1, Form.PIXELS, 20, 16, 2)
    slot.fill(2, Form.NOTHING)
    slot.fill(3, Form.JPEG, 8, 9, 3)
    slot.fill(4, Form.JPEG, 21, 17, 4)
    labels = np.arange(5, dtype=np.int64)
    ticket = stage.submit(
        HostBatch([HostArray("image", slot.values, "u8"), HostArray("label", labels, "i64")])
    )
    ticket.wait(PATIENCE)
    image, label = ticket.arrays["image"], ticket.arrays["label"]
    assert image.shape == (5, *field(dtype, layout)["shape"]) and image.kind == dtype
    assert np.array_equal(label.copy_to_host(), labels)
    expected = slot.expected({"f32": np.float32, "u8": np.uint8}[dtype], layout == "hwc")
    assert np.array_equal(image.copy_to_host(), expected)
    assert ticket.bad == {}
    assert decodes(driver) == [(HARDWARE, 1), (HARDWARE, 2)]  # one of 4:4:4, two of 4:2:0
    launches = [call for call in driver.log if call[0] == "launch"]
    assert len(launches) == 1 and launches[0][2:4] == ((5, 1), 512)


def leased(values):
    """A view that is a lease: when nobody has it, somebody else writes there."""
    view = values[:]
    weakref.finalize(view, values.fill, 99)
    return view


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("budget", [1 << 30, 20_000])
def test_late_work_and_early_reuse(opened, seed, budget):
    """Slots are overwritten as soon as they are let go, arrays dropped as soon as their use is queued."""
    chance = random.Random(seed)
    stage, driver = opened({"image": field()}, seed, budget=budget)
    mine = driver.stream()
    checked = []
    under_way = []

    def consume(step):
        ticket, expected, number = under_way.pop(0)
        ticket.wait(PATIENCE)
        for array in ticket.arrays.values():
            array.use_on(mine)
        image, label = ticket.arrays["image"], ticket.arrays["label"]
        addresses = image.address, label.address

        def use():
            assert np.array_equal(read(addresses[0], np.float32, expected.size), expected.ravel())
            assert read(addresses[1], np.int64, 1)[0] == number
            checked.append(step)

        driver.put(mine, use)

    for step in range(25):
        slot = some_slot(chance)
        label = np.array([step], np.int64)
        arrays = [HostArray("image", leased(slot.values), "u8"), HostArray("label", leased(label), "i64")]
        under_way.append((stage.submit(HostBatch(arrays)), slot.expected(), step))
        del arrays
        stage.reap(wait=chance.random() < 0.3)
        while len(under_way) > chance.randrange(4):
            consume(step)
    while under_way:
        consume(99)
    driver.finish()
    assert len(checked) == 25
    pool = [call for call in driver.log if call[0] == "alloc"]
    assert len(pool) < 60  # buffers and areas are used again


def test_decoding_overlaps_the_kernel_before_it(opened):
    """The second batch is decoded while the first one's kernel is still to come; the third waits for it."""
    stage, driver = opened({"image": field()})
    driver.stir = lambda most=3: None  # nothing happens by itself
    slot = Slot(4)
    for row in range(4):
        slot.fill(row, Form.JPEG, 20, 16, row)

    def submit():
        return stage.submit(HostBatch([HostArray("image", slot.values, "u8")])).wait(PATIENCE)

    first = submit()
    second = submit()
    assert not driver.events[first.event.handle][0] and not driver.events[second.event.handle][0]
    assert not [call for call in driver.log if call[0] == "synchronize"]
    third = submit()
    assert [call[0] for call in driver.log].count("synchronize") == 1
    assert not driver.events[third.event.handle][0]
    decoded = {call[3] for call in driver.log if call[0] == "decode"}
    launched = {call[5] for call in driver.log if call[0] == "launch"}
    assert len(decoded) == len(launched) == 1 and decoded != launched
    for ticket in (first, second, third):
        assert np.array_equal(ticket.arrays["image"].copy_to_host(), slot.expected())


def test_a_batch_larger_than_the_area_is_made_in_turns(opened):
    picture = plan.aligned(40 * 30 * 3)
    stage, driver = opened({"image": field()}, budget=2 * 3 * picture)
    slot = Slot(8)
    for row in range(8):
        slot.fill(row, Form.JPEG, 40, 30, row)
    ticket = stage.submit(HostBatch([HostArray("image", slot.values, "u8")])).wait(PATIENCE)
    assert np.array_equal(ticket.arrays["image"].copy_to_host(), slot.expected())
    assert decodes(driver) == [(HARDWARE, 3), (HARDWARE, 3), (HARDWARE, 2)]


@pytest.mark.parametrize("mixes", [1, 2])
@pytest.mark.parametrize("turns", [1, 3])
def test_mixes_come_after_the_last_turn(opened, mixes, turns):
    picture = plan.aligned(20 * 16 * 3)
    stage, driver = opened({"image": field(mixes=mixes)}, budget=2 * (6 // turns) * picture)
    slot = Slot(6)
    for row in range(6):
        slot.fill(row, Form.JPEG, 20, 16, row)
    expected = slot.expected().reshape(6, -1)
    for _ in range(mixes):
        expected = mixed(expected)
    for _ in range(4):
        ticket = stage.submit(HostBatch([HostArray("image", slot.values, "u8")])).wait(PATIENCE)
        assert np.array_equal(ticket.arrays["image"].copy_to_host().reshape(6, -1), expected)
    names = [call[1] for call in driver.log if call[0] == "launch"]
    assert names == (["picture"] * turns + ["mix"] * mixes) * 4


def test_refused_rows_are_redone_by_the_cpu(opened):
    stage, driver = opened({"image": field()}, budget=2 * 4 * plan.aligned(20 * 16 * 3))
    slot = Slot(8)
    kinds = [b"b", b"c", b"p", b"b", b"b", b"c", b"x", b"b"]
    for row, kind in enumerate(kinds):
        slot.fill(row, Form.JPEG, 20, 16, row, kind)
    asked = []

    def redo(name, rows):
        asked.append((name, rows))
        answers = []
        for row in rows:
            if row == 6:
                answers.append({"row": row, "ok": False, "id": "x:6", "stage": "decode", "message": "torn"})
                slot.pixels[row] = None
                continue
            slot.fill(row, Form.PIXELS, 25, 30, row)  # larger than what nvJPEG would have made
            answers.append({"row": row, "ok": True})
        return answers

    ticket = stage.submit(HostBatch([HostArray("image", slot.values, "u8")], redo)).wait(PATIENCE)
    assert np.array_equal(ticket.arrays["image"].copy_to_host(), slot.expected())
    assert asked == [("image", [1]), ("image", [5, 6])]
    assert [bad["row"] for bad in ticket.bad["image"]] == [6] and ticket.bad["image"][0]["message"] == "torn"
    # The next batch is none the worse.
    slot = Slot(3)
    for row in range(3):
        slot.fill(row, Form.JPEG, 20, 16, row)
    ticket = stage.submit(HostBatch([HostArray("image", slot.values, "u8")], redo)).wait(PATIENCE)
    assert np.array_equal(ticket.arrays["image"].copy_to_host(), slot.expected())


@pytest.mark.parametrize("seed", range(6))
def test_redone_rows_of_batches_that_follow_each_other(opened, seed):
    """Nothing happens on the device until both batches are on its streams."""
    stage, driver = opened({"image": field()}, seed)
    driver.stir = lambda most=3: None
    slots, tickets = [], []
    for batch in range(2):
        slot = Slot(5)
        for row in range(5):
            slot.fill(row, Form.JPEG, 20, 16, row, b"c" if row in (1, 2, 4) else b"b")

        def redo(_name, rows, slot=slot, batch=batch):
            for row in rows:
                slot.fill(row, Form.PIXELS, 20 + row, 16, 50 * batch + row)
            return [{"row": row, "ok": True} for row in rows]

        slots.append(slot)
        tickets.append(stage.submit(HostBatch([HostArray("image", slot.values, "u8")], redo)).wait(PATIENCE))
    for slot, ticket in zip(slots, tickets):
        assert np.array_equal(ticket.arrays["image"].copy_to_host(), slot.expected())


def test_scratch_grows_between_batches(opened):
    stage, driver = opened({"image": field(mixes=1)})
    driver.stir = lambda most=3: None
    slots, tickets = [], []
    for count, side in ((2, 10), (6, 40)):
        slot = Slot(count)
        for row in range(count):
            slot.fill(row, Form.JPEG, side, side, row)
        slots.append(slot)
        tickets.append(stage.submit(HostBatch([HostArray("image", slot.values, "u8")])).wait(PATIENCE))
    for slot, ticket in zip(slots, tickets):
        expected = slot.expected()
        expected = mixed(expected.reshape(len(expected), -1)).reshape(expected.shape)
        assert np.array_equal(ticket.arrays["image"].copy_to_host(), expected)


def test_without_an_engine_to_ask_refused_rows_are_zero(opened):
    stage, _ = opened({"image": field()})
    slot = Slot(3)
    for row, kind in enumerate([b"b", b"c", b"b"]):
        slot.fill(row, Form.JPEG, 20, 16, row, kind)
    ticket = stage.submit(HostBatch([HostArray("image", slot.values, "u8")])).wait(PATIENCE)
    slot.pixels[1] = None
    assert np.array_equal(ticket.arrays["image"].copy_to_host(), slot.expected())
    assert ticket.bad["image"][0]["message"] == "NVJPEG_STATUS_JPEG_NOT_SUPPORTED"


def test_a_gpu_without_jpeg_engines(opened):
    stage, driver = opened({"image": field()}, engines=False)
    slot = Slot(4)
    for row in range(4):
        slot.fill(row, Form.JPEG, 20, 16, row)
    ticket = stage.submit(HostBatch([HostArray("image", slot.values, "u8")])).wait(PATIENCE)
    assert np.array_equal(ticket.arrays["image"].copy_to_host(), slot.expected())
    assert decodes(driver) == [(HYBRID, 4)]


def test_plain_fields_of_every_shape(opened):
    stage, driver = opened({})
    wide = np.arange(60, dtype=np.float32).reshape(5, 12)
    arrays = {
        "dense": np.arange(24, dtype=np.int16).reshape(2, 3, 4),
        "apart": wide[:, :7],
        "none": np.zeros((0, 4), np.float32),
        ("ragged", "values"): np.arange(9, dtype=np.uint8),
    }
    kinds = {"dense": "i16", "apart": "f32", "none": "f32", ("ragged", "values"): "u8"}
    ticket = stage.submit(HostBatch([HostArray(key, array, kinds[key]) for key, array in arrays.items()]))
    ticket.wait(PATIENCE)
    for key, array in arrays.items():
        assert np.array_equal(ticket.arrays[key].copy_to_host(), array)
    assert not decodes(driver)


def test_an_error_belongs_to_its_batch(opened):
    stage, _ = opened({"image": field()})
    bad = Slot(2)
    bad.fill(0, Form.JPEG, 20, 16, 1)
    bad.fill(1, 7, 20, 16, 1)
    good = Slot(2)
    for row in range(2):
        good.fill(row, Form.JPEG, 20, 16, row)
    first = stage.submit(HostBatch([HostArray("image", bad.values, "u8")]))
    second = stage.submit(HostBatch([HostArray("image", good.values, "u8")]))
    with pytest.raises(Exception, match="row 1: its parameters make no sense"):
        first.wait(PATIENCE)
    assert np.array_equal(second.wait(PATIENCE).arrays["image"].copy_to_host(), good.expected())


def test_what_can_not_be_opened_is_said_at_once():
    def tools():
        raise CudaError("CUDA_ERROR_NO_DEVICE", "cuInit")

    with pytest.raises(CudaError, match="CUDA_VISIBLE_DEVICES"):
        DeviceStage(tools, {})


def test_arrays_outlive_the_stage(opened):
    stage, driver = opened({})
    ticket = stage.submit(HostBatch([HostArray("x", np.arange(5000), "i64")])).wait(PATIENCE)
    array = ticket.arrays["x"]
    del ticket
    stage.close()
    assert np.array_equal(array.copy_to_host(), np.arange(5000))
    assert len(driver.allocated) == 1
    del array
    assert wait_until(lambda: not driver.allocated)


def test_a_ticket_that_nobody_waits_for_harms_nobody(opened):
    stage, driver = opened({"image": field()}, seed=3)
    slot = Slot(4)
    for row in range(4):
        slot.fill(row, Form.JPEG, 20, 16, row)
    for _ in range(10):
        stage.submit(HostBatch([HostArray("image", slot.values, "u8")]))
    ticket = stage.submit(HostBatch([HostArray("image", slot.values, "u8")])).wait(PATIENCE)
    assert np.array_equal(ticket.arrays["image"].copy_to_host(), slot.expected())
    while stage.reap(wait=True):
        pass


@pytest.mark.parametrize("fails", [False, True])
def test_whoever_has_the_ticket_finds_the_slot_free_once_it_is_read(opened, monkeypatch, fails):
    stage, driver = opened({"image": field()})
    slot = Slot(2)
    for row in range(2):
        slot.fill(row, Form.JPEG, 20, 16, row)
    lease = weakref.ref(slot.values)
    left = []

    def complete(self, error=None):
        # What the stage keeps until the device has read it is let go of; nothing else may refer to it.
        driver.finish()
        stage.reap()
        left.append(lease())
        done(self, error)

    def trouble(*_):
        raise CudaError("NVJPEG_STATUS_ALLOCATOR_FAILURE", "nvjpegDecodeBatched")

    done = Ticket.complete
    monkeypatch.setattr(Ticket, "complete", complete)
    if fails:
        monkeypatch.setattr(FakeDecoder, "decode", trouble)
    batch = HostBatch([HostArray("image", slot.values, "u8")])
    driver.finish()
    with driver.lock:  # the stage comes to it when nobody here refers to it
        ticket = stage.submit(batch)
        del slot, batch
    assert ticket.comes(10)
    driver.finish()
    assert left == [None]


def test_the_stage_writes_spans_of_each_batch(opened):
    with spans() as own:
        before = own.read_since().cursor
        stage, _ = opened({"image": field()})
        slot = some_slot(random.Random(1), 4)
        batch = HostBatch([HostArray("image", slot.values, "u8")], None, None, 5, 17, 4)
        stage.submit(batch).wait(PATIENCE)
        stage.close()
        records = own.read_since(before).records
    kinds = {(one.kind, one.ring, one.batch, one.rows) for one in records if one.lane.kind == "device"}
    assert kinds == {("idle", 0, -1, 0), ("stage", 5, 17, 4)}
    assert [one.bytes for one in records if one.kind == "stage"] == [slot.values.nbytes]
