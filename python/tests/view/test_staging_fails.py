"""A device stage that fails, hangs, or finds samples bad: no batch is lost, and none counts twice."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace

import pytest
from test_staging import Stage, definition

import millrace
from millrace._client.memory import Memory
from millrace._cuda.errors import CudaError
from millrace._generated.decoder import CPU, GPU
from millrace._view.carrier import Carrier, Staged
from millrace._view.decide import Decision
from millrace._view.meter import HostMeter
from millrace._view.on_gpu import OnGpu
from millrace._view.staging import Staging
from millrace.feed import run_of
from millrace.views import View


class OnTrial(Carrier):
    """Brings batches to a GPU that is being tried, by ``open_stage``. What the CPU decodes is left as it is,
    or, as with JAX, goes through the stage as well."""

    prefetch = 2

    def __init__(self, run, open_stage, decision, all_on_stage=False, fill=None):
        super().__init__(run)
        self.all_on_stage = all_on_stage
        staging = Staging(run, 0, open_stage=open_stage)
        staging.fill = fill or staging.fill
        pins = SimpleNamespace(lock=lambda memory: None)
        self.gpu = OnGpu(run, staging, pins, decision, HostMeter(), lambda numbers, array: numbers)
        self.enter, self.arrives, self.leave = self.gpu.enter, self.gpu.arrives, self.gpu.leave
        self.asked = self.gpu.step

    def load(self, taken):
        on_stage = self.all_on_stage or self.run.stream.opened.decode == "gpu"
        return self.gpu.load(taken) if on_stage else Staged(taken, taken.batch)

    def unload(self, staged):
        if not staged.on_stage:
            return staged.fields
        self.gpu.wait(staged)
        return self.gpu.finished(staged, lambda array: array)

    def has_room(self, staged):
        self.gpu.release()
        if staged:
            return self.run.stream.room
        self.gpu.make_room()
        return True


def trial(feed, open_stage, decision, **options):
    """A view of a feed on such a GPU."""
    return View(run_of(feed), OnTrial(run_of(feed), open_stage, decision, **options))


def undecided(who="gpu"):
    """Who decodes is still being measured."""
    decision = Decision("auto", None)
    decision.twentieths = CPU if who == "cpu" else GPU
    return decision


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


def failing(fails):
    """Opens a stage that fails with the second batch, that hangs, or fails to open one."""

    def opened(told, folder, device, memory):
        if fails == "opening":
            raise CudaError("CUDA_ERROR_OUT_OF_MEMORY", "cuMemAlloc_v2")
        return Failing(told) if fails == "later" else Hanging(told)

    return opened


@pytest.fixture(autouse=True)
def nothing_is_compiled(monkeypatch):
    monkeypatch.setattr(Staging, "compile_ahead", lambda self: None)


def test_what_the_tuner_asks_for_is_done_and_what_it_finds_is_in_the_state(engine, monkeypatch):
    asked = [None, (GPU, False), (9, False), (9, True)]
    monkeypatch.setattr(Memory, "decoder", property(lambda self: asked[min(step, 12) // 4]))
    with millrace.Feed(definition(), steps=16) as feed:
        expected = [batch.ids for batch in feed.numpy()]
    with millrace.Feed(definition(), steps=16) as feed:
        decision = Decision("auto")
        view = trial(feed, lambda told, *_: Stage(told), decision)
        found, who = [], []
        step = 0
        for batch in view:
            step += 1
            found.append(batch.ids)
            who.append(decision.who)
        assert found == expected
        assert who == ["cpu"] * 4 + ["gpu"] * 4 + ["both"] * 8
        assert not decision.open and feed.state_dict()["cpuShare"] == 0.45
        state = feed.state_dict()
    with millrace.Feed(definition(), state=state) as feed:
        run = run_of(feed)
        assert (run.cpu_share, feed.state_dict()["cpuShare"]) == (0.45, 0.45)
        assert Decision("auto", None, run.cpu_share).who == "both"
        with pytest.raises(millrace.StateError, match="cpuShare"):
            feed.load_state_dict({**state, "cpuShare": "half"})


@pytest.mark.parametrize("fails", FAILURES)
def test_a_gpu_that_fails_on_trial_gives_way_to_the_cpu(engine, caplog, fails):
    caplog.set_level("INFO", "millrace")
    with millrace.Feed(definition()) as feed:
        expected = [batch.ids for batch in feed.numpy()]
    Failing.made = 0
    with millrace.Feed(definition(), steps=6) as feed:
        decision = undecided()
        found, states = [], []
        for batch in trial(feed, failing(fails), decision):
            found.append(batch.ids)
            states.append(feed.state_dict()["position"])
        assert not decision.open and decision.who == "cpu"
        assert FAILURES[fails] in decision.why
    assert found == expected[:6] and states == [8 * (i + 1) for i in range(6)]
    assert "the CPU decodes images: the GPU could not do it" in caplog.text


class FailingOnce(Failing):
    """Fails with the second batch alone."""

    def fails(self, number):
        return number == 2


def test_no_batch_is_lost_when_the_stage_fails_while_the_cpu_decodes(engine):
    with millrace.Feed(definition()) as feed:
        expected = [batch.ids for batch in feed.numpy()]
    FailingOnce.made = 0
    with millrace.Feed(definition()) as feed:
        decision = undecided(who="cpu")
        view = trial(feed, lambda told, *_: FailingOnce(told), decision, all_on_stage=True)
        assert [batch.ids for batch in view] == expected
        assert decision.who == "cpu" and "OUT_OF_MEMORY" in decision.why


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
        view = trial(feed, lambda told, *_: Asking(told), Decision("gpu"))
        found, states = [], []
        for batch in view:
            found.append(batch.ids)
            states.append(feed.state_dict()["position"])
            if len(found) == 3 and gone == "engine":
                os.kill(run_of(feed).stream.client.engine.pid, signal.SIGKILL)
            elif len(found) == 3:
                run_of(feed).stream.decode_on("gpu", None, 0.5)
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
        view = trial(
            feed,
            lambda told, *_: BadTwice(told, bad=(5, 2)),
            Decision("gpu"),
            fill=lambda batch, ticket, make: batch.update(ticket.arrays),
        )
        assert [batch.count for batch in view] == [6] * 8
        assert feed.stats()["bad"]["count"] == 16


def test_a_trial_whose_ring_can_not_be_opened_ends_and_the_run_goes_on(engine, monkeypatch):
    """The GPU is only being tried: no memory for its ring, say, is no reason to end a run."""
    asked = [(CPU, False)]
    monkeypatch.setattr(Memory, "decoder", property(lambda self: asked[0]))
    with millrace.Feed(definition(), steps=16) as feed:
        expected = [batch.ids for batch in feed.numpy()]
    with millrace.Feed(definition(), steps=16) as feed:
        decision = undecided("cpu")
        stream = run_of(feed).stream
        decode_on = stream.decode_on

        def full(where, limit, cpu_share):
            if where == "gpu":
                raise millrace.MillraceError("no memory for two rings")
            decode_on(where, limit, cpu_share)

        monkeypatch.setattr(stream, "decode_on", full)
        found = []
        for batch in trial(feed, lambda told, *_: Stage(told), decision):
            found.append(batch.ids)
            asked[0] = (GPU, False)
    assert found == expected
    assert (decision.open, decision.twentieths) == (False, CPU)
    assert "no memory for two rings" in decision.why
