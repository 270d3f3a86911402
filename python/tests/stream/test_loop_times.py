"""The sums of a loop: all of its steps, in little memory, as a list of all of them would have it."""

from __future__ import annotations

import math
import random
import threading
from types import SimpleNamespace

import pytest

from millrace._stream import consumer as consumer_module
from millrace._stream import loop_times
from millrace._stream.consumer import Consumer
from millrace._stream.loop_times import BLOCKS, FIRST, PLAIN, STARTS, LoopTimes, RunTimes
from millrace._stream.pauses import Pauses
from millrace._stream.reading import Taken
from millrace.batch import About, Batch


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=100.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(consumer_module, "time", clock)
    monkeypatch.setattr(loop_times, "time", clock)
    monkeypatch.setattr(consumer_module, "shared", lambda: None)  # no spans: sums are kept all the same
    return clock


def batch(step, complete):
    about = About(lambda epoch, positions: [])
    about.step = step
    taken = Taken(Batch(about=about), 0, None)
    taken.number, taken.ring, taken.complete = step, 7, complete
    return taken


def loop(consumer, clock, steps, seed=7):
    """Epochs of so many steps, whose waits range over five decades. What each took, by a clock of its own."""
    dice = random.Random(seed)
    own = []
    for epoch in steps:
        consumer.begin()
        for step in range(epoch):
            consumer.asked()
            supply, hand, copy = 10 ** dice.uniform(-6, -1), 1e-5 * dice.random(), 1e-4 * dice.random()
            complete = clock.now + supply
            clock.now = complete + hand
            consumer.sent()
            clock.now += copy
            consumer.there()
            consumer.handed(batch(step, complete), 4)
            compute = 0.02 * dice.random()
            clock.now += compute
            own.append((supply, hand, copy, compute))
        consumer.left()  # the last one of a loop, by `break` as well
        clock.now += 50  # what lies between two loops is no step
    return own


def percentile(waits, share):
    return sorted(waits)[math.ceil(share * len(waits)) - 1]


def told_percentile(told, share):
    reached, all_steps = 0, sum(steps for _, steps in told)
    for ms, steps in told:
        reached += steps
        if reached >= share * all_steps:
            return ms
    raise AssertionError("no waits")


@pytest.mark.parametrize("steps", [[1], [63], [65], [3, 3, 3], [2000, 1, 1500]])
def test_sums_are_those_of_all_steps(clock, steps):
    consumer = Consumer()
    own = loop(consumer, clock, steps)
    run, epoch = consumer.times.run, consumer.times.epoch
    for window, expected in ((run, own), (epoch, own[-steps[-1] :])):
        told = window.told()["steps"]
        assert len(told) <= BLOCKS + 2
        assert sum(one[6] for one in told) == len(expected)
        assert sum(one[5] for one in told) == 4 * len(expected)
        for place in range(4):
            assert sum(one[1 + place] for one in told) == pytest.approx(
                1000 * sum(step[place] for step in expected)
            )
        blocks = [one[0] for one in told if one[8] == PLAIN]
        assert blocks == sorted(blocks)
    marks = {one[8]: one for one in run.told()["steps"]}
    assert marks[FIRST][6] == 1 and marks[FIRST][1] == pytest.approx(1000 * own[0][0])
    assert (marks[STARTS][6] if STARTS in marks else 0) == len(steps) - 1


def test_percentiles_are_less_than_two_percent_off(clock):
    consumer = Consumer()
    own = loop(consumer, clock, [3000, 2000])
    waits = [1000 * (supply + hand) for supply, hand, *_ in own[1:]]
    told = consumer.times.run.told()["waits"]
    assert sum(steps for _, steps in told) == len(waits)
    for share in (0.01, 0.5, 0.95, 0.99):
        assert told_percentile(told, share) == pytest.approx(percentile(waits, share), rel=0.02)
    assert told[-1][0] == pytest.approx(max(waits))


def test_a_run_begins_with_its_first_batch_and_an_epoch_when_it_is_asked_for(clock):
    looks = []
    consumer = Consumer(look=looks.append)
    own = loop(consumer, clock, [3])
    first = sum(own[0][:3])
    assert looks == [1]
    assert consumer.times.run.told()["from"] == pytest.approx(1000 * (100 + first))
    asked = clock.now
    loop(consumer, clock, [3])
    assert looks == [1, 2]
    assert consumer.times.epoch.told()["from"] == pytest.approx(1000 * asked)
    assert [consumer.times.run.look, consumer.times.epoch.look] == [1, 2]


def test_epochs_that_follow_at_once_share_a_look(clock):
    times = RunTimes()
    assert times.look() == 1
    clock.now += 0.5
    assert times.look() is None
    clock.now += 0.5
    assert times.look() == 2


def test_a_loop_that_another_thread_leaves_has_no_last_step(clock):
    consumer = Consumer()
    consumer.begin()
    consumer.asked()
    consumer.sent()
    consumer.handed(batch(0, 0.0), 4)
    other = threading.Thread(target=consumer.left)
    other.start()
    other.join()
    assert consumer.times.run is None
    consumer.left()
    assert consumer.times.run.told()["steps"][0][6] == 1


def test_garbage_collections_count_as_far_as_they_fell_on_a_wait(clock, monkeypatch):
    pauses = Pauses()
    monkeypatch.setattr(consumer_module, "Pauses", lambda: pauses)
    consumer = Consumer()
    loop(consumer, clock, [1])
    consumer.begin()
    consumer.asked()
    begun = clock.now
    clock.now += 3
    consumer.sent()
    consumer.handed(batch(1, begun + 3), 4)
    clock.now += 3
    pauses.found.extend([(begun + 1, 1.0), (begun + 2.5, 1.0), (begun + 4, 1.0)])
    consumer.left()
    assert consumer.times.run.told()["steps"][-1][7] == pytest.approx(1500)


def test_waits_of_no_time_and_of_days_have_their_place():
    times = LoopTimes()
    for supply in (0.0, 1e6):
        times.add(PLAIN, 0.0, supply, 0.0, 0.0, 1.0, 4, 0.0)
    assert times.waits == [[0, 1], [1e9, 1]]
    assert LoopTimes().waits == []
