"""What a view does with its device stage: channels last, bad rows, another ring, errors, ends."""

from __future__ import annotations

import os
import signal
import time
from types import SimpleNamespace

import numpy as np
import pytest

import millrace
from millrace._view.bad_rows import without_bad
from millrace._view.carrier import Carrier, Staged
from millrace._view.staging import Staging
from millrace.batch import About, Batch, Ragged, about_of
from millrace.errors import EngineDied
from millrace.feed import run_of
from millrace.views import View


class Stage:
    """Stands for a device stage: takes rows as they are, and says which rows are bad."""

    here = False

    def __init__(self, told, bad=()):
        self.told = told
        self.bad = bad
        self.batches = []
        self.submitted = 0
        self.closed = False

    def submit(self, batch):
        self.batches.append(batch)
        self.submitted += 1
        arrays = {one.name: Array(np.array(one.values), self.told.get(one.name)) for one in batch.arrays}
        told = {"ok": False, "stage": "decode"}
        names = {row: f"row {row} of batch {self.submitted}" for row in self.bad}
        bad = {
            "image": [{"row": row, "id": names[row], "message": f"row {row} is bad", **told} for row in names]
        }
        bad = bad if self.bad else {}
        return SimpleNamespace(arrays=arrays, bad=bad, turned=(), comes=lambda _: True, wait=lambda: None)

    def reap(self, wait=False):
        self.batches.clear()
        return 0

    def end(self):
        pass

    def close(self):
        self.closed = True


class Array:
    """An array on the device; of a picture its shape alone is of interest."""

    def __init__(self, values, told):
        self.values = values
        self.shape = (len(values), *told["shape"]) if told else values.shape
        self.address = id(self)

    def permuted(self, *axes):
        self.shape = tuple(self.shape[axis] for axis in axes)
        return self


class GpuCarrier(Carrier):
    """Brings batches through such stages; goes back to the CPU after some, if that is asked for."""

    prefetch = 2

    def __init__(self, run, channels_last=False, bad=(), go_back_after=None):
        super().__init__(run)
        self.stages, self.handed, self.go_back_after = [], 0, go_back_after

        def opened(told, folder, device, memory):
            assert (folder / "picture.cu").exists()
            self.stages.append(Stage(told, bad))
            return self.stages[-1]

        self.staging = Staging(run, 0, channels_last=channels_last, open_stage=opened)

    def enter(self):
        self.run.stream.decode_on("gpu", None)

    def asked(self, loop):
        stream = self.run.stream
        if self.go_back_after is not None and self.handed == self.go_back_after - 1:
            # The next ones are made: they will be taken ahead.
            ahead = stream.number + 1
            while stream.client.memory.ready(ahead) is None:
                time.sleep(0.005)
        if self.handed == self.go_back_after:
            stream.decode_on("cpu", None)
        self.handed += 1

    def load(self, taken):
        if self.run.stream.opened.decode == "cpu":
            return Staged(taken, taken.batch)
        ticket = self.staging.submit(taken)
        return Staged(taken, taken.batch, ticket, on_stage=True)

    def unload(self, staged):
        if not staged.on_stage:
            return staged.fields
        batch, stream = staged.taken.batch, self.run.stream
        self.staging.fill(batch, staged.ticket, lambda array: array)
        bad = [one for found in staged.ticket.bad.values() for one in found]
        for one in bad:
            stream.judge(one)
        return batch

    def has_room(self, staged):
        self.staging.room(wait=not staged)
        return super().has_room(staged)


class GpuView(View):
    """A view whose device is that."""

    def __init__(self, feed, **options):
        carrier = GpuCarrier(run_of(feed), **options)
        super().__init__(run_of(feed), carrier)
        self.stages = carrier.stages


def definition(**rest):
    return {
        "source": {"synthetic": {"count": 64, "images": {"width": 40, "height": 32, "classes": 7}}},
        "order": {"shuffle": "global", "seed": 5},
        "fields": {
            "image": {"from": "jpg", "as": "image", "apply": [{"randomResizedCrop": [20, 24]}]},
            "label": {"from": "cls", "as": "int"},
        },
        "batch": {"size": 8, "last": "keep"},
        **rest,
    }


def test_one_stage_takes_all_epochs_and_ends_with_the_feed(engine):
    feed = millrace.Feed(definition())
    view = GpuView(feed)
    shapes = {batch["image"].shape for batch in view}
    assert shapes == {(8, 3, 20, 24)}
    assert all(batch.device_pointers.keys() == {"image", "label"} for batch in view)  # another epoch
    (stage,) = view.stages
    assert not stage.closed
    feed.close()
    assert stage.closed


def test_channels_last_is_made_and_shown(engine):
    with millrace.Feed(definition()) as feed:
        view = GpuView(feed, channels_last=True)
        assert {batch["image"].shape for batch in view} == {(8, 3, 20, 24)}
        (told,) = view.stages[0].told.values()
        assert told["layout"] == "hwc" and told["shape"] == [20, 24, 3]


def test_batches_under_way_are_finished_after_the_ring_has_changed(engine):
    with millrace.Feed(definition()) as feed:
        expected = [batch.ids for batch in feed.numpy()]
    with millrace.Feed(definition()) as feed:
        found, kinds = [], []
        for batch in GpuView(feed, channels_last=True, go_back_after=2):
            found.append(batch.ids)
            kinds.append(type(batch["image"]).__name__)
            assert batch["image"].shape == (8, 3, 20, 24)
    assert found == expected
    assert kinds == ["Array"] * kinds.count("Array") + ["ndarray"] * kinds.count("ndarray")
    assert kinds.count("Array") > 2 and kinds.count("ndarray") > 0


def test_a_row_that_nobody_can_decode_is_an_error_by_default(engine):
    with millrace.Feed(definition()) as feed, pytest.raises(millrace.SampleError, match="row 3 is bad"):
        list(GpuView(feed, bad=(3,)))


def batch_of(count):
    about = About(lambda epoch, positions: [f"{epoch}/{p}" for p in positions])
    about.count, about.positions = count, np.arange(100, 100 + count)
    about.valid, about.fillers = np.ones(count, bool), np.zeros(count, bool)
    ragged = Ragged(np.arange(10), np.array([0, 3, 3, 7, 10], np.int32))
    fields = {"image": np.arange(count)[:, None] * 2, "words": list("abcd"), "parts": ragged}
    return Batch(fields, about=about)


def beside(numbers, array):
    return numbers


def test_bad_rows_are_dropped_from_all_fields():
    kept = without_bad(batch_of(4), [1, 2], "drop", beside)
    assert kept.count == 2 and kept.positions.tolist() == [100, 103] and kept.ids == ["0/100", "0/103"]
    assert kept["image"].tolist() == [[0], [6]] and kept["words"] == ["a", "d"]
    assert kept["parts"].offsets.tolist() == [0, 3, 6] and kept["parts"].values.tolist() == [0, 1, 2, 7, 8, 9]


def test_bad_rows_are_masked():
    batch = batch_of(4)
    batch["valid"] = batch.valid.copy()
    kept = without_bad(batch, [2], "mask", beside)
    assert kept.count == 4 and kept.valid.tolist() == [True, True, False, True]
    assert kept["valid"].tolist() == [True, True, False, True]
    assert kept["image"].tolist() == [[0], [2], [0], [6]]


def test_a_batch_with_fillers_keeps_its_size():
    batch = batch_of(4)
    batch["valid"] = batch.valid.copy()
    about_of(batch).valid[3], about_of(batch).fillers[3] = False, True
    kept = without_bad(batch, [1, 3], "drop", beside)
    assert kept.count == 4 and kept.positions.tolist() == [100, 102, 103, 101]
    assert kept.ids == ["0/100", "0/102"]
    assert kept["valid"].tolist() == kept.valid.tolist() == [True, True, False, False]
    assert kept["image"].tolist() == [[0], [4], [0], [0]]


@pytest.mark.parametrize("policy", ["fail", "mask", "drop"])
def test_a_bad_filler_is_blank(policy):
    batch = batch_of(4)
    about_of(batch).valid[3], about_of(batch).fillers[3] = False, True
    kept = without_bad(batch, [3], policy, beside)
    assert kept.count == 4 and kept["image"].tolist() == [[0], [2], [4], [0]]
    assert kept.ids == ["0/100", "0/101", "0/102"]


def test_one_slot_is_too_few_for_a_gpu(engine):
    with millrace.Feed(definition(), depth=1) as feed:
        expected = [batch.ids for batch in feed.numpy()]
        assert run_of(feed).stream.opened.depth == 1
    with millrace.Feed(definition(), depth=1) as feed:
        view = GpuView(feed)
        assert [batch.ids for batch in view] == expected
        assert run_of(feed).stream.opened.depth == 2 and feed.stats()["copies"] == 0
        assert feed.tune(depth=1)["depth"] == 2


def test_an_engine_that_dies_as_its_ring_is_replaced_is_replaced_itself(engine, runtime_folder, monkeypatch):
    with millrace.Feed(definition()) as feed:
        expected = [batch.ids for batch in feed.numpy()]
    with millrace.Feed(definition()) as feed:

        def dying(*arguments):
            monkeypatch.undo()
            engine = run_of(feed).stream.client.engine
            os.kill(engine.pid, signal.SIGKILL)
            raise EngineDied(f"the engine closed the connection (process {engine.pid})")

        found = []
        for batch in feed:
            found.append(batch.ids)
            if len(found) == 3:
                monkeypatch.setattr("millrace._stream.stream.Client", dying)
                run_of(feed).stream.decode_on("gpu", None)
                assert run_of(feed).stream.opened.decode == "gpu" and feed.stats()["restarts"] == 1
        assert found == expected
