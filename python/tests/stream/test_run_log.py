"""The options ``log`` and ``progress``: what the engine writes of a run, and the line on stderr."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from types import SimpleNamespace

import pytest
from patience import wait_until

import millrace
from millrace._generated.options import CHOICES, ENGINE_NAMES
from millrace._open.request import options_of
from millrace._stream.progress_line import ProgressLine, duration
from millrace.errors import DefinitionError
from millrace.feed import run_of

FEED = {
    "source": {"synthetic": {"count": 480, "images": {"width": 64, "height": 48}}},
    "fields": {"image": {"from": "jpg", "as": "image", "apply": [{"resize": [16, 16]}]}},
    "batch": {"size": 4, "last": "keep"},
}


def request(**more):
    return options_of({**dict.fromkeys([*ENGINE_NAMES, *CHOICES]), **more})


def test_the_folder_is_sent_as_a_whole_path(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert "log" not in request()
    before = time.time() * 1000
    log = request(log="logs")["log"]
    assert log["folder"] == str(tmp_path / "logs") and before - 1 <= log["since"] <= time.time() * 1000
    monkeypatch.setenv("MILLRACE_LOG", "all")
    assert request()["log"]["folder"] == str(tmp_path / "all")
    assert request(log=tmp_path / "mine")["log"]["folder"] == str(tmp_path / "mine")
    assert request(log=False)["log"] is None
    for wrong in (True, "", 7):
        with pytest.raises(DefinitionError, match="log: expected a folder"):
            request(log=wrong)


def lines(folder):
    texts = [(folder / name).read_text() for name in os.listdir(folder)]
    # The last one may be half written.
    return [json.loads(line) for text in texts for line in text.split("\n")[:-1]]


def test_a_run_log(engine, tmp_path):
    folder = tmp_path / "logs"
    with millrace.Feed(FEED, workers=1, epochs=None, log=folder) as feed:
        steps = 0
        for _ in feed:
            steps += 1
            time.sleep(0.005)
            if sum("steps" in line and line["steps"] > 0 for line in lines(folder)) > 2:
                break
    assert wait_until(lambda: "end" in lines(folder)[-1])
    header, *records, end = lines(folder)
    assert header["header"]["trainer"] == os.getpid() and header["header"]["rows"] == 4
    assert end["end"]["reason"] == "the trainer has closed the feed, or has ended"
    # The first second counts as well.
    assert sum(record["steps"] for record in records) == steps == records[-1]["step"]
    assert sum(record["samples"] for record in records) == 4 * steps
    seen = [record for record in records if record["steps"] > 0]
    assert all(record["samples"] == 4 * record["steps"] for record in seen)
    assert seen[-1]["trainer"] == os.getpid() != seen[-1]["engine"]
    assert any(record["lost"] is not None for record in seen)


def test_a_run_of_less_than_a_second_is_in_its_log(engine, tmp_path):
    folder = tmp_path / "logs"
    with millrace.Feed(FEED, workers=1, log=folder, steps=3) as feed:
        assert sum(1 for _ in feed) == 3
    assert wait_until(lambda: "end" in lines(folder)[-1])
    assert sum(line.get("steps", 0) for line in lines(folder)) == 3


def test_a_folder_that_cannot_be_written_to_is_refused(engine, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(millrace.MillraceError, match="the run log can't be written to"):
        millrace.Feed(FEED, workers=1, log=tmp_path / "file")


def test_removed_options_have_no_effect_and_a_word_is_said(engine, caplog):
    with millrace.Feed(FEED, workers=1, alerts=["lost>5% 60s"]) as feed:
        assert len(feed) > 0
    assert "alerts has no effect any more: let Prometheus" in caplog.text
    with pytest.raises(TypeError, match="alert"):
        millrace.Feed(FEED, alert=["lost>5% 60s"])


def drawing():
    return any(thread.name == "millrace-progress" for thread in threading.enumerate())


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_drawn_on_a_terminal_and_taken_away(engine, monkeypatch):
    monkeypatch.setattr("millrace._stream.progress_line.REDRAW", 0.1)
    monkeypatch.setenv("COLUMNS", "200")
    terminal = Terminal()
    with millrace.Feed(FEED, workers=1) as feed:
        line = ProgressLine(run_of(feed), terminal)
        while "left" not in terminal.getvalue():
            for _ in feed:
                time.sleep(0.002)
        line.close()
    drawn = [part for part in terminal.getvalue().split("\r\x1b[K") if "left" in part]
    assert "millrace: synthetic  " in drawn[0] and " of 120 steps  " in drawn[0] and "samples/s" in drawn[0]
    assert "\n" not in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_progress_elsewhere_is_lines_and_ends_with_the_feed(engine, monkeypatch):
    monkeypatch.setattr("millrace._stream.progress_line.WRITE", 0.1)
    stream = io.StringIO()
    feed = millrace.Feed(FEED, workers=1, epochs=None)
    line = ProgressLine(run_of(feed), stream)
    for _ in feed:
        time.sleep(0.002)
        if stream.getvalue().count("\n") > 1:
            break
    line.close()
    feed.close()
    assert not drawing()
    assert all(" steps  " in text and " left" not in text for text in stream.getvalue().splitlines())


class LoopOfSteps:
    """What a line asks of a run: 100 samples/s at first, then 400. Keeps the seconds it was asked about."""

    name, rows = "cats", 4

    def __init__(self):
        self.now = 0.0
        self.progress = (0, None)
        self.stats = self.stream = self.account = self
        self.closed = False
        self.asked = []

    @property
    def samples(self):
        return int(100 * self.now + 300 * max(0.0, self.now - 20))

    def ask(self, revive, seconds):
        self.asked.append(seconds)
        return {"lines": {"progress": "lost 8.0 %"}}


def test_rate_and_loss_are_of_the_same_seconds(monkeypatch):
    run = LoopOfSteps()
    monkeypatch.setattr("millrace._stream.progress_line.time", SimpleNamespace(monotonic=lambda: run.now))
    line = ProgressLine(run, io.StringIO())
    rates = []
    for now in range(2, 42, 2):
        run.now = float(now)
        seen = run.samples
        text = line.text(run)
        past = run.asked[-1]
        run.now -= past
        rates.append((seen - run.samples) / past)
        assert f"{rates[-1]:,.0f} samples/s  lost 8.0 %" in text and past <= 15
    assert (rates[0], rates[-1]) == (100, 400) and max(run.asked) > 10
    # Between two loops nothing is counted.
    run.now, run.progress = 60.0, (None, None)
    assert line.text(run) is None
    run.now, run.progress = 62.0, (0, None)
    assert line.text(run) is not None and run.asked[-1] == 2
    line.close()


def test_the_option_progress(engine):
    with millrace.Feed(FEED, workers=1, progress=True, rank=1, world=2):
        assert not drawing()
    with millrace.Feed(FEED, workers=1, progress=True):
        assert drawing()
    assert not drawing()


def test_durations_in_words():
    assert [duration(s) for s in (0.2, 12, 75, 7200)] == ["0 s", "12 s", "1:15", "2:00:00"]
