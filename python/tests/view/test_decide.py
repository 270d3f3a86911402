"""Who decodes: given, as a state says, or as the tuner asks; how long a GPU waits, on its own clock."""

from __future__ import annotations

import pytest

from millrace._view import meter as meter_module
from millrace._view.decide import Decision
from millrace._view.meter import HostMeter, StreamMeter


@pytest.mark.parametrize("asked", ["cpu", "gpu"])
def test_what_was_asked_for_is_not_open(asked):
    decision = Decision(asked, saved=0.5)
    assert decision.who == decision.where == asked and decision.cpu_share == 0 and not decision.open


def test_the_cpu_begins():
    decision = Decision("auto")
    assert decision.open and decision.who == decision.where == "cpu" and decision.news is None


CASES = [(20, "cpu", "cpu", 0), (0, "gpu", "gpu", 0), (9, "both", "gpu", 0.45)]


@pytest.mark.parametrize(("twentieths", "who", "where", "share"), CASES)
def test_twentieths_say_who_decodes(twentieths, who, where, share):
    decision = Decision("auto")
    decision.twentieths = twentieths
    assert (decision.who, decision.where, decision.cpu_share) == (who, where, share)
    decision.settle("it was fastest")
    assert not decision.open and decision.news.endswith("it was fastest") and decision.news is None  # once


def test_a_state_says_who_decodes():
    decision = Decision("auto", saved=0.45)
    assert not decision.open and decision.who == "both" and decision.cpu_share == 0.45
    assert str(decision) == "CPU and GPU decode images, the CPU 45% of them: as the state says"


def test_an_impossible_gpu_is_not_tried():
    for saved in (None, 0.0):
        decision = Decision("auto", impossible="nvJPEG was not found", saved=saved)
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
