"""A device stage that fails, hangs, or finds samples bad: no batch is lost, and none counts twice."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace

import pytest
from test_staging import Stage, definition

import millrace
from millrace._cuda.errors import CudaError
from millrace._view.decide import Decision
from millrace._view.meter import HostMeter
from millrace._view.on_gpu import OnGpu
from millrace._view.staging import Staging
from millrace.views import Staged


class OnTrial(OnGpu):
    """A view whose GPU is being tried, and fails with the second batch, or when it is asked for at all."""

    prefetch = 2

    def __init__(self, feed, fails, who="gpu"):
        super().__init__(feed, None)
        decision = Decision("auto")
        decision.who = who

        def opened(told, folder, device, memory):
            if fails == "opening":
                raise CudaError("CUDA_ERROR_OUT_OF_MEMORY", "cuMemAlloc_v2")
            return Failing(told) if fails == "later" else Hanging(told)

        self._staging, self._decision = Staging(feed, 0, open_stage=opened), decision
        self._pins, self._meter = SimpleNamespace(lock=lambda memory: None), HostMeter()

    def _beside(self, numbers, array):
        return numbers

    def _prepare(self, taken):
        on_gpu = self.feed._stream.opened.decode == "gpu"
        return super()._prepare(taken) if on_gpu else Staged(taken, taken.batch)

    def _deliver(self, staged):
        if not staged.on_stage:
            return staged.fields
        self._staging.wait(staged.ticket)
        return self._arrived(staged, lambda array: array)


class Failing(Stage):
    """Fails with the second batch, and with all that follow, whichever stage has them."""

    made = 0

    def fails(self, number):
        return number >= 2

    def submit(self, batch):
        ticket = super().submit(batch)
        type(self).made += 1
        number = self.made

        def wait():
            if self.fails(number):
                raise CudaError("CUDA_ERROR_OUT_OF_MEMORY", "cuMemAlloc_v2")

        ticket.wait = wait
        return ticket


class Hanging(Stage):
    """Never comes to an end with a batch, and must not be asked again."""

    looks = 0

    def submit(self, batch):
        def comes(seconds):
            self.looks += 1
            assert seconds * self.looks <= 60
            return False

        return SimpleNamespace(comes=comes, turned=())

    def give_up(self):
        return "in decode (nvjpeg.py)"


#: When the GPU fails, and what is said of it.
FAILURES = {"opening": "OUT_OF_MEMORY", "later": "OUT_OF_MEMORY", "never": "60 s; the thread that drives it"}


@pytest.mark.parametrize("fails", FAILURES)
def test_a_gpu_that_fails_on_trial_gives_way_to_the_cpu(engine, caplog, fails):
    caplog.set_level("INFO", "millrace")
    with millrace.Feed(definition()) as feed:
        expected = [batch.ids for batch in feed.numpy()]
    Failing.made = 0
    with millrace.Feed(definition(), steps=6) as feed:
        view = OnTrial(feed, fails)
        found, states = [], []
        for batch in view:
            found.append(batch.ids)
            states.append(feed.state_dict()["position"])
        assert not view._decision.open and view._decision.who == "cpu"
        assert FAILURES[fails] in view._decision.why
    assert found == expected[:6] and states == [8 * (i + 1) for i in range(6)]
    assert "the CPU decodes images: the GPU could not do it" in caplog.text


class AllOnStage(OnTrial):
    """As JAX's view: what the CPU has decoded goes through the stage as well."""

    def _prepare(self, taken):
        return OnGpu._prepare(self, taken)


class FailingOnce(Failing):
    """Fails with the second batch alone."""

    def fails(self, number):
        return number == 2


def test_no_batch_is_lost_when_the_stage_fails_while_the_cpu_decodes(engine):
    with millrace.Feed(definition()) as feed:
        expected = [batch.ids for batch in feed.numpy()]
    FailingOnce.made = 0
    with millrace.Feed(definition()) as feed:
        view = AllOnStage(feed, None, who="cpu")
        view._staging._open_stage = lambda told, *_: FailingOnce(told)
        assert [batch.ids for batch in view] == expected
        assert view._decision.who == "cpu" and "OUT_OF_MEMORY" in view._decision.why


class Asking(Stage):
    """Has the engine redo a row of every batch, when the batch is waited for."""

    def submit(self, batch):
        ticket = super().submit(batch)
        ticket.wait = lambda: batch.redo("image", [0])
        return ticket


@pytest.mark.parametrize("gone", ["engine", "ring"])
def test_batches_whose_engine_is_gone_before_it_has_redone_their_rows_are_made_again(
    engine, runtime_folder, gone
):
    with millrace.Feed(definition()) as feed:
        expected = [batch.ids for batch in feed.numpy()]
    with millrace.Feed(definition()) as feed:
        view = OnTrial(feed, None)
        view._decision = Decision("gpu")
        view._staging._open_stage = lambda told, *_: Asking(told)
        found, states = [], []
        for batch in view:
            found.append(batch.ids)
            states.append(feed.state_dict()["position"])
            if len(found) == 3 and gone == "engine":
                os.kill(feed._stream.client.engine.pid, signal.SIGKILL)
            elif len(found) == 3:
                feed._stream.decode_on("gpu", None, 0.5)
    assert found == expected and states == [*range(8, 64, 8), 0]


def test_a_sample_is_bad_once_however_many_of_its_fields_are(engine):
    class BadTwice(Stage):
        def submit(self, batch):
            ticket = super().submit(batch)
            ticket.bad = {name: ticket.bad["image"] for name in ("image", "small")}
            ticket.arrays = {name: array.values for name, array in ticket.arrays.items()}
            return ticket

    fields = {
        **definition()["fields"],
        "small": {"from": "jpg", "as": "image", "apply": [{"resize": [8, 8]}]},
    }
    with millrace.Feed(definition(fields=fields, onError="drop")) as feed:
        view = OnTrial(feed, None)
        view._decision = Decision("gpu")
        view._staging._open_stage = lambda told, *_: BadTwice(told, bad=(5, 2))
        view._staging.fill = lambda batch, ticket, make: batch.update(ticket.arrays)
        assert [batch.count for batch in view] == [6] * 8
        assert feed.stats()["bad"]["count"] == 16
