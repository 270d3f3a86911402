"""Spans in Python: what is written is read, of this process and of others, alive and dead."""

from __future__ import annotations

import os
import random
import signal
import struct
import subprocess
import sys
import time
import zlib

import pytest
from patience import PATIENCE

import millrace
from millrace._generated.span_words import RECORD_BYTES, RECORDS, RECORDS_AT, HeadAt, LaneKind, SpanKind
from millrace._spans.file import SpanFile
from millrace._spans.reader import Spans

FEED = {
    "source": {"synthetic": {"count": 96, "images": {"width": 64, "height": 48}}},
    "fields": {"image": {"from": "jpg", "as": "image", "apply": [{"resize": [16, 16]}]}},
    "batch": {"size": 8, "last": "keep"},
}
NUMBERS = {
    "source": {"synthetic": {"count": 96, "tensors": {"shape": [1], "dtype": "u32"}}},
    "fields": {"number": {"from": "data", "as": "bytes", "ragged": {"max": 16384}}},
    "batch": {"size": 8, "last": "keep"},
}


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"it never came to this: {what}"
        time.sleep(0.01)


def lane_of():
    file = SpanFile()
    return file, file.take(LaneKind.CONSUMER, "trainer")


def write(lane, start, end):
    """A record for each batch, none of them joined."""
    for batch in range(start, end):
        lane.add(3, SpanKind.WAIT, batch * 0.01, 0.005, batch=batch, rows=batch % 100)
        lane.flush()


def test_what_is_written_is_read():
    file, lane = lane_of()
    ring = file.open_ring("cats ä", 1, 4, 4711, 9)
    lane.add(ring, SpanKind.STEP, 12.5, 0.25, bytes=100, batch=7, first_row=2, rows=8)
    with Spans(file.path) as spans:
        assert spans.pid == os.getpid()
        [named] = spans.rings()
        assert named[:7] == (ring, "cats ä", 1, 4, True, 4711, 9)
        [record], cursor, lost = spans.read_since()
        assert record.lane[:5] == (0, "consumer", 0, "trainer 0", True)
        assert (record.kind, record.ring, record.start, record.duration) == ("step", ring, 12500, 250)
        assert (record.bytes, record.batch, record.first_row, record.rows) == (100, 7, 2, 8)
        assert (record.joined, record.number, cursor, lost) == (1, 0, [1], 0)
        assert spans.read_since(cursor) == ([], cursor, 0)
        file.close_ring(ring)
        file.give(lane)
        assert not spans.rings()[0].open and not spans.lanes()[0].open


def test_waits_are_joined_as_their_steps_are():
    file, lane = lane_of()
    for batch in range(60):
        lane.add(3, SpanKind.WAIT, batch * 0.005, 0.003, batch=batch, rows=1)
        lane.add(3, SpanKind.STEP, batch * 0.005 + 0.003, 0.002, batch=batch, rows=1)
    lane.flush()
    with Spans(file.path) as spans:
        records = spans.read_since().records
    waits, steps = ([(r.batch, r.joined) for r in records if r.kind == kind] for kind in ("wait", "step"))
    assert waits == steps and len(steps) < 40


def test_a_ring_that_stays_open_keeps_its_name():
    file = SpanFile()
    training = file.open_ring("training", 0, 1, 4711, 9)
    for _ in range(600):
        file.close_ring(file.open_ring("validation", 0, 1, 4711, 10))
    with Spans(file.path) as spans:
        assert [(ring.ring, ring.name) for ring in spans.rings() if ring.open] == [(training, "training")]


def test_small_spans_are_joined():
    file, lane = lane_of()
    for i in range(20_000):
        kind = (SpanKind.WAIT, SpanKind.STEP)[i % 2]
        lane.add(1 + i // 2 % 2, kind, i * 50e-6, 50e-6, rows=1)
    lane.flush()
    with Spans(file.path) as spans:
        records = spans.read_since().records
    assert 100 < len(records) < 1100
    assert sum(record.joined for record in records) == sum(record.rows for record in records) == 20_000
    assert sum(record.duration for record in records) == pytest.approx(1000)
    for before, after in zip(records, records[1:]):
        assert after.start >= before.start + before.duration - 1e-6


def test_what_was_written_over_is_counted():
    file, lane = lane_of()
    write(lane, 0, RECORDS + 110)
    with Spans(file.path) as spans:
        records, cursor, lost = spans.read_since([10])
        assert lost == 100 and cursor == [RECORDS + 110]
        assert [record.batch for record in records] == list(range(110, RECORDS + 110))
        assert [record.rows for record in records[:3]] == [10, 11, 12]


@pytest.mark.parametrize("byte", range(0, RECORD_BYTES, 5))
def test_a_torn_record_is_left_out_and_counted(byte):
    file, lane = lane_of()
    write(lane, 0, 3)
    file.memory[RECORDS_AT + RECORD_BYTES + byte] ^= 1
    with Spans(file.path) as spans:
        records, _, lost = spans.read_since()
    assert [record.batch for record in records] == [0, 2] and lost == 1


def test_a_record_has_the_check_of_zlib():
    file, lane = lane_of()
    write(lane, 0, 1)
    record = file.memory[RECORDS_AT : RECORDS_AT + RECORD_BYTES]
    assert struct.unpack_from("<I", record, 60)[0] == zlib.crc32(record[:60])


def test_other_processes_can_only_read():
    file, _ = lane_of()
    code = """if True:
        import os, sys
        fd = os.open(sys.argv[1], os.O_RDWR)
        try:
            os.pwrite(fd, b"x", 0)
        except PermissionError:
            print(os.pread(fd, 8, 0))
    """
    out = subprocess.run([sys.executable, "-c", code, file.path], capture_output=True, text=True, check=True)
    assert out.stdout == "b'MILLSPAN'\n"


def test_a_fork_does_not_write_into_the_memory_of_its_parent():
    file, lane = lane_of()
    write(lane, 0, 1)
    child = os.fork()
    if child == 0:
        write(lane, 1, 5)
        os._exit(0)
    os.waitpid(child, 0)
    with Spans(file.path) as spans:
        assert len(spans.read_since().records) == 1


def test_two_feeds_never_see_each_others_spans():
    with millrace.Feed(FEED, workers=2) as pictures, millrace.Feed(NUMBERS, workers=2) as numbers:
        for _ in zip(pictures, numbers):
            pass

        def made(feed):
            return sum(one.rows for one in feed.spans().records if one.kind == "transform")

        for feed in (pictures, numbers):
            until(lambda feed=feed: made(feed) >= 96, "all rows are in the spans")
        assert pictures.stats()["spans"]["decode"] > 0
        assert "decode" not in numbers.stats()["spans"]
        assert len({one.ring for one in pictures.spans().records}) == 1
        assert {one.ring for one in pictures.spans().records} != {one.ring for one in numbers.spans().records}
        assert not [one for one in numbers.spans().records if one.kind == "decode"]


def test_the_loop_writes_how_long_it_waited_and_worked():
    with millrace.Feed(FEED, workers=1) as feed:
        for _ in feed:
            time.sleep(0.002)
        name = feed.name
        with millrace.spans() as spans:
            [ring] = [one for one in spans.rings() if one.name == name and one.open]
            records = spans.read_since(ring=ring.ring).records
        assert {one.lane.kind for one in records} == {"consumer"}
        for kind in ("hand", "step"):
            assert sum(one.joined for one in records if one.kind == kind) == 12
        # A batch that was complete in time was not waited for.
        assert sum(one.joined for one in records if one.kind == "wait") <= 12
        steps = [one for one in records if one.kind == "step"]
        assert sum(one.duration for one in steps) >= 24
        assert sum(one.rows for one in steps) == 96
        # The engine's spans of the same ring: what its workers did, on the same clock.
        with millrace.spans(ring.engine) as engine:
            [same] = [one for one in engine.rings() if one.ring == ring.engine_ring]
            assert same.name == name
            # Workers hold small spans back for a moment.
            until(
                lambda: any(one.kind == "decode" for one in engine.read_since(ring=same.ring).records),
                "decode",
            )
            worked = engine.read_since(ring=same.ring).records
        assert min(one.start for one in worked) < min(one.start + one.duration for one in steps)
        now = time.monotonic() * 1000
        assert all(one.start + one.duration <= now for one in [*worked, *records])
    with millrace.spans() as spans:
        assert not [one for one in spans.rings() if one.name == name and one.open]


def test_the_spans_of_an_engine_outlive_it():
    feed = millrace.Feed(FEED, workers=1, restart=False)
    for _ in feed:
        pass
    until(lambda: any(one.kind == "decode" for one in feed.spans().records), "spans of the engine")
    with millrace.spans() as own:
        [ring] = [one for one in own.rings() if one.name == feed.name and one.open]
    os.kill(ring.engine, signal.SIGKILL)
    with pytest.raises(millrace.EngineDied):
        for _ in feed:
            pass
    assert any(one.kind == "decode" for one in feed.spans().records)
    feed.close()


TRAINER = """if True:
    import time, millrace, sys
    feed = millrace.Feed({feed!r}, workers=2, epochs=None)
    for batch in feed:
        time.sleep(0.001)
"""


def test_every_lane_of_a_trainer_and_its_engine_is_seen_from_outside():
    trainer = subprocess.Popen([sys.executable, "-c", TRAINER.format(feed=FEED)])
    try:
        until(lambda: trainer.pid in dict(millrace.span_writers()), "the trainer writes spans")
        with millrace.spans(trainer.pid) as spans:
            until(lambda: {one.kind for one in spans.read_since().records} >= {"hand", "step"}, "steps")
            assert [lane.name for lane in spans.lanes()] == ["trainer 0"]
            cursor = spans.read_since().cursor
            until(lambda: spans.read_since(cursor).records, "it goes on")
            [ring] = spans.rings()
            with millrace.spans(ring.engine) as engine:
                until(
                    lambda: (
                        {lane.name for lane in engine.lanes() if lane.written} >= {"worker 0", "worker 1"}
                    ),
                    "both workers write",
                )
                trainer.kill()
                trainer.wait()
                records, _, lost = spans.read_since()
                assert lost <= 1 and {one.kind for one in records} - {"wait", "gc"} == {"hand", "step"}
                first = records[0].number  # 0, unless all this took so long that the lane was written over
                assert [one.number for one in records] == list(range(first, first + len(records)))
                assert engine.read_since().lost <= 2
    finally:
        trainer.kill()
        trainer.wait()
    with pytest.raises(millrace.MillraceError, match="writes no spans"):
        millrace.spans(trainer.pid)


WRITER = """if True:
    from millrace._spans.file import SpanFile
    file = SpanFile()
    lane = file.take(4, "trainer")
    print(file.path, flush=True)
    batch = 0
    while True:
        lane.add(1 + batch % 7, 7, batch, 5, batch=batch, rows=batch % 100)
        lane.flush()
        batch += 1
"""


def test_after_kill_9_what_is_read_is_whole():
    for _ in range(8):
        writer = subprocess.Popen([sys.executable, "-c", WRITER], stdout=subprocess.PIPE, text=True)
        try:
            with Spans(writer.stdout.readline().strip()) as spans:
                time.sleep(random.random() / 10)
                writer.kill()
                writer.wait()
                records, _, lost = spans.read_since()
                assert lost <= 1
                for one in records:
                    assert (one.batch, one.rows, one.ring) == (
                        one.number,
                        one.number % 100,
                        1 + one.number % 7,
                    )
        finally:
            writer.kill()
            writer.communicate()


def test_memory_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    with pytest.raises(millrace.MillraceError, match="holds no spans"):
        millrace.spans(str(path))
    with pytest.raises(millrace.MillraceError, match="can't open"):
        millrace.spans(str(tmp_path / "none"))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(millrace.MillraceError, match="holds no spans"):
        millrace.spans(str(tmp_path / "pipe"))
    head = bytearray(SpanFile().memory[:64])
    for at in (HeadAt.LANES, HeadAt.RINGS, HeadAt.LANE_BYTES, HeadAt.RECORDS):
        path.write_bytes(head[:at] + struct.pack("<I", 0x7FFFFFFF) + head[at + 4 :])
        with pytest.raises(millrace.MillraceError, match="is damaged"):
            millrace.spans(str(path))
