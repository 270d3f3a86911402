"""Where the time of steps went: asked of the engine, which reads the spans of both processes."""

from __future__ import annotations

import logging
import os
import signal
import time

import pytest
from patience import PATIENCE, wait_until

import millrace
from millrace._generated.span_words import SpanLevel
from millrace._spans.level import level_of
from millrace._stream.epoch_line import HINT
from millrace.feed import run_of

FEED = {
    "source": {"synthetic": {"count": 480, "images": {"width": 64, "height": 48}}},
    "fields": {"image": {"from": "jpg", "as": "image", "apply": [{"resize": [16, 16]}]}},
    "batch": {"size": 4, "last": "keep"},
}


def looped(feed, epochs=1):
    for _ in range(epochs):
        for _ in feed:
            time.sleep(0.001)


def test_the_account_of_a_loop(engine):
    with millrace.Feed(FEED, workers=1) as feed:
        looped(feed)
        for i, _ in enumerate(feed):
            if i == 9:
                break
        stats = feed.stats()
        account = stats["account"]
        metrics, text = feed.metrics(), feed.prometheus()
    # All steps but the first, the last before `break` among them.
    assert [stats["batches"], account["steps"], stats["epoch"]["steps"]] == [130, 129, 10]
    assert account["samples"] == 4 * 129
    assert account["firstBatchMs"] > stats["firstBatchMs"] - 0.1  # it is there until it is handed out
    assert sum(account["parts"].values()) == pytest.approx(1, abs=0.01)
    assert account["lost"] == pytest.approx(1 - account["idealMs"] / account["stepMs"])
    assert account["idealFrom"] == "upper" and account["epochGapMs"] > 0
    assert account["makers"]["work"]["decode"] > 0 and account["host"]["allowed"] > 0
    assert metrics["millrace/lost"] == account["lost"] and metrics["millrace/steps"] == account["steps"]
    assert all(isinstance(value, (int, float)) for value in metrics.values())
    assert f'millrace_lost_ratio{{feed="synthetic",rank="0"}} {account["lost"]}' in text


def test_after_a_break_the_wait_for_the_next_epoch_is_all_told(engine, monkeypatch):
    with millrace.Feed(FEED, workers=1) as feed:
        next(iter(feed))  # and the loop is left: the next one moves the ring
        stream = run_of(feed).stream
        go = stream.go

        def slowly(*args):
            time.sleep(0.2)
            return go(*args)

        monkeypatch.setattr(stream, "go", slowly)
        looped(feed)
        account = feed.stats()["account"]
    assert account["epochGapMs"] >= 200
    assert account["wait"]["max"] >= 200


def test_an_engine_that_can_not_look_into_the_trainer_is_told(engine, monkeypatch):
    with millrace.Feed(FEED, workers=1) as feed:
        looped(feed)
        run = run_of(feed)
        seen = run.account.ask()["account"]
        ask = run.stream.ask

        def blind(message):
            if "account" in message and "records" not in message["account"]:
                return {"known": {"unknown": "process 1 is not yours to look into"}}
            return ask(message)

        monkeypatch.setattr(run.stream, "ask", blind)
        sent = run.account.ask()["account"]
    # What makers do meanwhile goes on.
    for name in ("steps", "samples", "stepMs", "lost", "wait"):
        assert sent[name] == pytest.approx(seen[name]), name
    assert sent["parts"]["handOver"] == pytest.approx(seen["parts"]["handOver"])


def test_where_nothing_is_known_it_is_said(fake):
    with millrace.Feed(fake(8)) as feed:
        for _ in feed:
            pass
        stats = feed.stats()
        assert stats["account"] is None and stats["epoch"] is None
        with pytest.raises(millrace.MillraceError, match="where the time went: this engine writes no spans"):
            feed.metrics()


def test_the_figures_of_a_closed_feed_are_those_of_its_end(engine, monkeypatch):
    with millrace.Feed(FEED, workers=1) as feed:
        looped(feed)
        early = feed.metrics()
        looped(feed)
    stats = feed.stats()
    assert [stats["batches"], stats["account"]["steps"], stats["epoch"]["steps"]] == [240, 239, 120]
    assert stats["workers"] == 1 and stats["spans"]["decode"] > 0
    monkeypatch.setattr("millrace._stream.account.FRESH", -1.0)  # however long ago that was
    assert feed.metrics()["millrace/steps"] == 239 > early["millrace/steps"]
    assert "millrace_lost_ratio" in feed.prometheus()
    feed.close()
    assert feed.stats() == stats


def test_a_closed_feed_whose_engine_died_has_its_own_figures(fake, runtime_folder):
    with millrace.Feed(fake(8)) as feed:
        assert sum(1 for _ in feed) == 2
        client = run_of(feed).stream.client
        os.kill(client.engine.pid, signal.SIGKILL)
        assert wait_until(lambda: client.wire.ended)
    stats = feed.stats()
    assert stats["batches"] == 2 and stats["account"] is None and "workers" not in stats


def test_the_first_line_without_a_cause_says_how_to_learn_it(fake, caplog, monkeypatch):
    lines = ("compute-bound (1.2 % lost)", True), ("lost 31.0 %", True), ("lost 31.0 %", False), (None, False)
    answers = iter({"lines": {"epoch": {"line": line, "certain": certain}}} for line, certain in lines)
    with millrace.Feed(fake(8)) as feed, caplog.at_level(logging.INFO, "millrace"):
        monkeypatch.setattr(run_of(feed).account, "sums", lambda of, revive: next(answers))
        for _ in range(4):
            looped(feed)
        said = [record.getMessage() for record in caplog.records if ", epoch " in record.getMessage()]
        monkeypatch.undo()
    assert [line.endswith(f"; {HINT}") for line in said] == [False, False, True, False]
    assert [" lost)" in said[0], "lost 31.0 %" in said[2], "the trainer waited" in said[3]] == [True] * 3
    assert "loader.diagnose()" in HINT


def test_a_trace_is_recorded_until_the_feed_is_closed(fake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "run.json"
    with millrace.Feed(fake(8), trace="run.json") as feed:
        assert sum(1 for _ in feed) == 2
        end = time.monotonic() + PATIENCE
        while not (out.exists() and out.read_text()):
            assert time.monotonic() < end, "no recorder was started"
            time.sleep(0.01)
    assert out.read_text() == f"{os.getpid()} ended"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("x.txt", "trace: the name ends in .json, .json.gz, .pfw, .pfw.gz, not as 'x.txt' does"),
        ("nosuch/x.json.gz", "trace: there is no folder .*/nosuch for 'nosuch/x.json.gz': make it first"),
        ("folder.json", "trace: 'folder.json' is no plain file"),
    ],
)
def test_a_trace_that_can_not_be_written_is_refused_at_once(fake, tmp_path, monkeypatch, path, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(millrace.DefinitionError, match=said):
        millrace.Feed(fake(8), trace=path)


def test_a_trace_without_spans_is_refused(fake, tmp_path, monkeypatch):
    monkeypatch.setattr("millrace._client.recording.shared", lambda: None)
    with pytest.raises(
        millrace.DefinitionError, match="trace: it is made of spans, and those are turned off"
    ):
        millrace.Feed(fake(8), trace=tmp_path / "run.json")


@pytest.mark.parametrize("observe", ["counters", "spans"])
def test_how_much_is_written_down(fake, observe, monkeypatch):
    monkeypatch.delenv("MILLRACE_SPANS", raising=False)
    begun = time.monotonic()
    with millrace.Feed(fake(80), observe=observe) as feed:
        for _ in feed:
            pass
        with millrace.spans() as spans:
            [ring] = [one for one in spans.rings() if one.open and one.name == feed.name]
            steps = [one for one in spans.read_since(ring=ring.ring).records if one.kind == "step"]
    assert ring.level == observe
    assert sum(one.joined for one in steps) == 20
    # The first one stands alone: accounts leave it out.
    assert steps[0].joined == 1
    if observe == "counters":  # then they are joined for a second
        assert 2 <= len(steps) <= 2 + (time.monotonic() - begun)


def test_a_level_that_there_is_not(fake, monkeypatch):
    with pytest.raises(millrace.DefinitionError, match='observe: expected one of "counters", "spans", not'):
        millrace.Feed(fake(8), observe="all")
    assert level_of("full") == level_of(None) == SpanLevel.SPANS
    monkeypatch.setenv("MILLRACE_SPANS", "counters")
    assert level_of("spans") == SpanLevel.COUNTERS


def test_a_level_of_the_environment_that_there_is_not_is_warned_of_once(fake, monkeypatch, caplog):
    for value in ("0", "", "spans"):
        monkeypatch.setenv("MILLRACE_SPANS", value)
        level_of(None)
    assert not caplog.records
    monkeypatch.setenv("MILLRACE_SPANS", "bogus")
    for _ in range(2):
        with millrace.Feed(fake(8), observe="counters"):
            assert level_of("counters") == SpanLevel.COUNTERS
    [warned] = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert warned == "MILLRACE_SPANS: expected one of 0, counters, spans, not 'bogus': it is ignored"
