"""The spans of a loop: what it waited for, what it did, and what the user says about its steps."""

from __future__ import annotations

import gc
import time
import weakref

import pytest

import millrace
from millrace._generated.span_words import SpanKind
from millrace._stream import consumer as consumer_module
from millrace._stream.consumer import Consumer, StepMark
from millrace._stream.pauses import Pauses
from millrace._stream.reading import Taken
from millrace._stream.step_parts import divide
from millrace.batch import About, Batch

KINDS = {
    SpanKind.WAIT: "wait", SpanKind.HAND: "hand", SpanKind.COPY: "copy", SpanKind.STEP: "step",
    SpanKind.IDLE: "idle", SpanKind.GC: "gc",
}  # fmt: skip


class Lane:
    """Keeps what is written."""

    lane = 0

    def __init__(self):
        self.spans = []

    def add(self, ring, kind, start, duration, *, batch, first_row, rows):
        self.spans.append((KINDS[kind], round(start, 6), round(duration, 6), batch, first_row, rows))

    def flush(self):
        pass

    @property
    def times(self):
        return [span[:3] for span in self.spans]


class Spans:
    """In place of the memory of this process."""

    def __init__(self):
        self.lane = Lane()

    def take(self, kind, word):
        return self.lane

    def give(self, lane):
        pass


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 100.0
        spans = Spans()

        def monotonic(self):
            return self.now

    clock = Clock()
    clock.spans = Spans()
    monkeypatch.setattr(consumer_module, "time", clock)
    monkeypatch.setattr(consumer_module, "shared", lambda: clock.spans)
    return clock


def taken(number, complete, step=0):
    about = About(lambda epoch, positions: [])
    about.step = step
    one = Taken(Batch(about=about), 0, None)
    one.number, one.ring, one.complete = number, 7, complete
    return one


def hand_out(consumer, clock, number, complete, taking=0.001, copying=0.0):
    """One batch: it is complete then, and taking it takes a while."""
    consumer.asked()
    clock.now = max(clock.now, complete) + taking
    consumer.sent()
    clock.now += copying
    if copying:
        consumer.there()
    consumer.handed(taken(number, complete, number), 4)


def test_a_wait_is_supply_until_the_batch_is_complete():
    assert divide(10, 12, 12.5, 13) == (2, 0.5, 0.5)
    assert divide(10, 9, 9.5, 13) == (0, 0, 3)  # all was done, but the device had to wait for the copy
    assert divide(10, 9, 9.5, 10) == (0, 0, 0)  # prefetched: nothing is waited for
    assert divide(10, 20, 21, 13) == (3, 0, 0)  # clocks that disagree make no part negative
    assert divide(10, 9, 8, 9.9) == (0, 0, 0)
    for asked, complete, sent, there in ((1, 2, 3, 4), (1, 0, 3, 2), (1, 5, 0, 3)):
        assert sum(divide(asked, complete, sent, there)) == max(there, asked) - asked


def test_supply_hand_over_and_steps_are_told_apart(clock):
    consumer = Consumer()
    consumer.begin()
    hand_out(consumer, clock, 0, complete=100.5)
    clock.now += 2
    hand_out(consumer, clock, 1, complete=101.0)
    clock.now += 3
    consumer.asked()
    assert clock.spans.lane.spans == [
        ("wait", 100.0, 0.5, 0, 1, 4),
        ("hand", 100.5, 0.001, 0, 1, 4),
        ("step", 100.501, 2.0, 0, 1, 4),
        ("hand", 102.501, 0.001, 1, 2, 4),
        ("step", 102.502, 3.0, 1, 2, 4),
    ]


def test_what_is_waited_for_a_device_is_transfer(clock):
    consumer = Consumer()
    consumer.begin()
    hand_out(consumer, clock, 0, complete=100.5, copying=0.25)
    assert clock.spans.lane.times == [
        ("wait", 100.0, 0.5), ("hand", 100.5, 0.001), ("copy", 100.501, 0.25),
    ]  # fmt: skip


def test_a_loop_that_looks_again_has_asked_once(clock):
    consumer = Consumer()
    consumer.begin()
    consumer.asked()
    clock.now += 1  # batches were put back, and are made again
    hand_out(consumer, clock, 0, complete=102.0)
    assert clock.spans.lane.times[0] == ("wait", 100.0, 2.0)


def test_the_time_between_two_loops_is_no_step(clock):
    consumer = Consumer()
    consumer.begin()
    hand_out(consumer, clock, 0, complete=0)
    clock.now += 50
    consumer.begin()
    hand_out(consumer, clock, 1, complete=0)
    assert [kind for kind, *_ in clock.spans.lane.spans] == ["hand", "hand"]


def test_the_user_says_when_a_step_is_over(clock):
    consumer = Consumer()
    consumer.begin()
    StepMark(consumer)  # before there is a batch: nothing
    hand_out(consumer, clock, 0, complete=0)
    clock.now += 2
    StepMark(consumer)
    clock.now += 5  # an evaluation
    consumer.asked()
    assert clock.spans.lane.times[1:] == [("step", 100.001, 2.0), ("idle", 102.001, 5.0)]


def test_the_user_says_from_where_to_where_a_step_goes(clock):
    consumer = Consumer()
    consumer.begin()
    hand_out(consumer, clock, 0, complete=0)
    clock.now += 1  # brings the batch to a device
    with StepMark(consumer):
        clock.now += 2
    clock.now += 5
    hand_out(consumer, clock, 1, complete=0)
    clock.now += 3  # not said of this one
    consumer.asked()
    assert clock.spans.lane.times == [
        ("hand", 100.0, 0.001),
        ("copy", 100.001, 1.0), ("step", 101.001, 2.0), ("idle", 103.001, 5.0),
        ("hand", 108.001, 0.001), ("step", 108.002, 3.0),
    ]  # fmt: skip


def test_steps_on_a_stream_are_written_as_they_were_measured(clock):
    class Carrier:
        ends = 0

        def record_end(self):
            self.ends += 1

    carrier, consumer = Carrier(), Consumer()
    consumer.begin(carrier.record_end)
    hand_out(consumer, clock, 0, complete=100.5, copying=0.25)
    StepMark(consumer)
    consumer.asked()
    assert clock.spans.lane.spans == [] and carrier.ends == 1  # the host's clock says nothing here
    about = consumer.about(taken(3, 200.0, 9), 4)._replace(sent=200.5)
    consumer.measured(about, 199.0, 201.0, 204.0, 206.0)
    assert clock.spans.lane.spans == [
        ("wait", 199.0, 1.0, 3, 10, 4),
        ("hand", 200.0, 0.5, 3, 10, 4),
        ("copy", 200.5, 0.5, 3, 10, 4),
        ("step", 201.0, 3.0, 3, 10, 4),
        ("idle", 204.0, 2.0, 3, 10, 4),
    ]
    gone = weakref.ref(carrier)
    del carrier
    assert gone() is None  # the consumer holds no carrier
    StepMark(consumer)


def test_long_garbage_collections_are_noted(monkeypatch):
    monkeypatch.setattr("millrace._stream.pauses.LONG", 0.0)
    before = list(gc.callbacks)
    pauses = Pauses()
    pauses.watch()
    since = time.monotonic()
    gc.collect()
    found = pauses.take()
    assert found and all(start >= since and seconds > 0 for start, seconds in found)
    assert pauses.take() == []
    pauses.close()
    assert gc.callbacks == before
    other = Pauses()
    other.watch()
    del other
    assert gc.callbacks == before


def test_waits_of_a_feed_end_when_the_batch_was_complete(fake):
    with millrace.Feed(fake(40, 4)) as feed:
        for _ in range(2):
            for batch in feed:
                with feed.step():
                    sum(batch["number"].ravel())
        with millrace.spans() as spans:
            ring = max(ring.ring for ring in spans.rings() if ring.open)
            records = spans.read_since(ring=ring).records
    assert {record.kind for record in records} >= {"hand", "step"}
    assert sum(record.joined for record in records if record.kind == "step") == 20
    assert sum(record.rows for record in records if record.kind == "step") == 80
