"""Who decodes: decided by trials, on the GPU's clock."""

from __future__ import annotations

import pytest

from millrace._view import meter as meter_module
from millrace._view.decide import MEASURING, SETTLING, Decision
from millrace._view.meter import HostMeter, StreamMeter


def run(decision, rates, waits, most=2000):
    """Steps of 256 samples at each place's rate, until it is decided. Returns where they were made."""
    places = []
    for _ in range(most):
        who = decision.who
        seconds = 256 / rates[who]
        decision.step(256, seconds, seconds * waits[who])
        places.append(who)
        if not decision.open:
            return places
    raise AssertionError("never decided")


def test_cpu_that_keeps_up_is_never_left():
    decision = Decision("auto")
    places = run(decision, {"cpu": 5000}, {"cpu": 0.01})
    assert set(places) == {"cpu"} and decision.where == "cpu"
    assert len(places) >= SETTLING[0] + MEASURING[0]
    assert len(places) * 256 / 5000 >= SETTLING[1] + MEASURING[1]
    assert "keeps up" in str(decision) and "1.0%" in str(decision)


def trials(cpu, gpu, both, waited=0.5):
    decision = Decision("auto")
    waits = {"cpu": waited, "gpu": 0.1, "both": 0.0}
    places = run(decision, {"cpu": cpu, "gpu": gpu, "both": both}, waits)
    assert [who for who, before in zip(places, [None, *places]) if who != before] == ["cpu", "gpu", "both"]
    return decision


def test_gpu_and_both_are_tried_when_the_trainer_waits_and_the_fastest_is_kept():
    decision = trials(4000, 13000, 12000)
    assert (decision.who, decision.where, decision.cpu_share) == ("gpu", "gpu", 0)
    assert str(decision).startswith("the GPU decodes images: 13,000 samples/s") and "4,000" in str(decision)


def test_when_both_decode_the_cpu_does_nearly_what_it_can():
    decision = trials(7260, 9835, 12900, waited=0.4)
    assert (decision.who, decision.where, decision.cpu_share) == ("both", "gpu", 0.55)
    assert str(decision).startswith("CPU and GPU decode images, the CPU 55% of them: 12,900 samples/s")


def test_what_happens_before_it_has_settled_counts_for_nothing():
    decision = Decision("auto")
    for seconds in [0.01] * 20 + [1.3]:  # many short steps, then a long one: none says anything
        assert decision.who == "cpu" and not decision.step(256, seconds, seconds)
    run(decision, {"cpu": 5000}, {"cpu": 0.01})
    assert decision.who == "cpu" and "1.0%" in decision.why


def test_a_share_is_never_nothing():
    assert trials(10, 9000, 10000, waited=0.999).cpu_share == 0.05


def test_what_is_no_faster_leaves_the_gpu_to_the_trainer():
    assert trials(4000, 4010, 4020).who == "cpu"
    assert trials(4000, 8000, 7990).who == "both"  # as fast as the GPU alone, and takes less of it
    assert trials(4000, 8200, 8000).who == "gpu"


@pytest.mark.parametrize("asked", ["cpu", "gpu"])
def test_what_was_asked_for_is_not_measured(asked):
    decision = Decision(asked)
    assert decision.who == decision.where == asked and decision.cpu_share == 0 and not decision.open
    assert not any(decision.step(256, 1, 1) for _ in range(100))


def test_an_impossible_gpu_is_not_tried():
    decision = Decision("auto", impossible="nvJPEG was not found")
    assert decision.where == "cpu" and not decision.open
    assert decision.news == "the CPU decodes images: nvJPEG was not found"
    assert decision.news is None  # once
    assert Decision("cpu").news is None and Decision("gpu").news is None  # as asked


class Clock:
    """A GPU whose events come when they are told to."""

    def __init__(self):
        self.now = 0.0
        self.done = -1.0

    def Event(self, enable_timing=False):  # noqa: N802
        assert enable_timing
        return Event(self)


class Event:
    def __init__(self, clock):
        self.clock = clock

    def record(self, stream):
        self.at = self.clock.now

    def query(self):
        return self.at <= self.clock.done

    def elapsed_time(self, other):
        return (other.at - self.at) * 1000


def test_waiting_is_what_lies_between_asking_and_having():
    clock = Clock()
    meter = StreamMeter(clock)
    for _ in range(3):
        meter.ask("stream")
        clock.now += 0.25  # idle
        meter.there("stream", 256)
        clock.now += 0.75  # a step
    assert list(meter.steps()) == []  # nothing has come yet
    clock.done = clock.now
    steps = list(meter.steps())
    assert [(s.samples, round(s.seconds, 3), round(s.waited, 3)) for s in steps] == [(256, 1.0, 0.25)] * 2
    assert meter.seconds == pytest.approx(2.0) and meter.waited == pytest.approx(0.5)


def test_the_time_between_two_loops_is_no_step():
    clock = Clock()
    meter = StreamMeter(clock)
    meter.ask(None)
    meter.there(None, 1)
    meter.restart()
    clock.now += 100
    meter.ask(None)
    meter.there(None, 1)
    clock.now += 1
    meter.ask(None)
    meter.there(None, 1)
    clock.done = clock.now
    assert [step.seconds for step in meter.steps()] == [1.0]


def test_the_hosts_clock_counts_what_it_is_held_up(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(meter_module.time, "perf_counter", lambda: clock.now)
    clock.now = 5.0
    meter = HostMeter()
    assert meter.ask(0) is None  # the first time it comes, no step was made
    clock.now += 2  # it waits for the batch
    meter.there()
    clock.now += 6
    assert meter.ask(32) == (32, 8.0, 2.0)
    meter.there()
    meter.restart()
    clock.now += 100
    assert meter.ask(32) is None
    assert (meter.seconds, meter.waited) == (8.0, 2.0)
