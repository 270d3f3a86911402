"""Steps of a stream on the host's clock: by events that come late, and are never waited for."""

from __future__ import annotations

import pytest
from fake_torch import FakeCuda, FakeEvent, FakeStream, view_of

import millrace
from millrace._view import meter as meter_module
from millrace._view.meter import StreamMeter


class Gpu:
    """A GPU whose clock began elsewhere, and which does things later than they were asked for."""

    OFFSET = 5000.0

    def __init__(self, monkeypatch):
        self.host = 100.0
        #: How far the stream is behind the host.
        self.lag = 0.0
        self.passed = self.still = True
        monkeypatch.setattr(meter_module.time, "monotonic", lambda: self.host)

    def Event(self, enable_timing=False):  # noqa: N802
        return Event(self)


class Event:
    def __init__(self, gpu):
        self.gpu = gpu

    def record(self, stream):
        self.stream = stream
        self.at = self.gpu.host - Gpu.OFFSET + (0 if stream == "still" else self.gpu.lag)

    def query(self):
        return self.gpu.still if self.stream == "still" else self.gpu.passed

    def elapsed_time(self, other):
        assert self.gpu.passed, "CUDA error: device not ready"
        return (other.at - self.at) * 1000


def test_times_of_the_stream_are_told_on_the_hosts_clock(monkeypatch):
    gpu = Gpu(monkeypatch)
    meter = StreamMeter(gpu, "still")
    gpu.host, gpu.lag = 101.0, 0.5
    meter.ask("stream")  # the stream comes there at 101.5
    gpu.host, gpu.lag = 101.2, 0.8
    meter.there("stream", 8, "batch 0")  # at 102
    gpu.host, gpu.lag = 101.3, 1.7
    meter.ask("stream")  # at 103
    gpu.passed = False
    assert list(meter.steps()) == []  # it looks, and does not wait
    gpu.passed = True
    [step] = meter.steps()
    assert step.asked == pytest.approx(101.5) and step.about == "batch 0" and step.samples == 8
    assert (step.waited, step.worked, step.seconds) == pytest.approx((0.5, 1.0, 1.5))
    assert list(meter.steps()) == []


def test_a_step_ends_where_the_user_says_so(monkeypatch):
    gpu = Gpu(monkeypatch)
    meter = StreamMeter(gpu, "still")
    meter.end("stream")  # no step yet
    for _ in range(2):
        meter.ask("stream")
        meter.end("stream")  # not in the middle of a wait
        meter.there("stream", 8)
        gpu.host += 1
        meter.end("stream")
        gpu.host += 5
    meter.ask("stream")
    assert [(step.worked, step.seconds) for step in meter.steps()] == [pytest.approx((1, 6))] * 2


def test_clocks_are_compared_again_now_and_then(monkeypatch):
    gpu = Gpu(monkeypatch)
    meter = StreamMeter(gpu, "still")
    for i in range(4):
        meter.ask("stream")
        meter.there("stream", 8)
        gpu.host += 8
        Gpu.OFFSET -= 0.001 * (i + 1)  # they drift apart
    meter.ask("stream")
    try:
        asked = [step.asked for step in meter.steps()]
        # An anchor is used for about ten seconds: each time is wrong by the drift since then.
        assert asked == pytest.approx([100, 108.001, 116, 124.003], abs=1e-6)
    finally:
        Gpu.OFFSET = 5000.0


def test_a_clock_that_is_not_known_yet_makes_no_time(monkeypatch):
    gpu = Gpu(monkeypatch)
    meter = StreamMeter(gpu, "still")
    meter.ask("stream")
    meter.there("stream", 8)
    meter.ask("stream")
    gpu.still = False
    [step] = meter.steps()
    assert step.asked is None and step.seconds == 0


def test_a_loop_on_a_gpu_writes_what_its_stream_did(fake):
    pytest.importorskip("torch")
    """The host is quick, the stream waits: 250 ms from each event to the next, as this device has it."""
    told = []

    class Stamped(FakeEvent):
        def elapsed_time(self, other):
            return super().elapsed_time(other) * 250

    cuda = FakeCuda()
    cuda.Event = Stamped
    with millrace.Feed(fake(40)) as feed:
        view, carrier = view_of(feed, cuda)
        carrier.run.consumer.measured = lambda *step: told.append(step)
        for _ in range(2):
            for _batch in view:
                feed.step()
                run_all(carrier.side, *STREAMS, cuda.mine)
            run_all(cuda.mine)
    assert len(told) == 19  # the last one is told when the next loop begins
    for about, asked, there, end, following in told:
        assert about.rows == 4 and about.sent > 0 and 1 <= about.step <= 10
        assert there - asked == pytest.approx(0.25) and end - there == pytest.approx(0.25)
        assert following - asked == pytest.approx(0.25)


def run_all(*streams):
    for stream in streams:
        while stream.step():
            pass


STREAMS = []
made = FakeStream.__init__


@pytest.fixture(autouse=True)
def streams(monkeypatch):
    """All streams that are made: the one on which nothing is done is among them."""
    STREAMS.clear()

    def note(stream, device=None):
        made(stream, device)
        STREAMS.append(stream)

    monkeypatch.setattr(FakeStream, "__init__", note)
