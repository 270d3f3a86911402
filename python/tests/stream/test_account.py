"""Where the time of steps went: asked of the engine, which reads the spans of both processes."""

from __future__ import annotations

import json
import os
import time

import pytest
from patience import PATIENCE

import millrace
from millrace._generated.span_words import SpanLevel
from millrace._spans.level import level_of
from millrace._stream.epoch_line import told
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


def test_a_running_loop_is_diagnosed_at_once(engine):
    with millrace.Feed(FEED, workers=1) as feed:
        for i, _ in enumerate(feed):
            time.sleep(0.001)
            if i == 110:
                found = feed.diagnose(seconds=60)
                break
    assert set(found) >= {"verdict", "second", "stage", "parts", "evidence", "ceiling", "lost", "remedies"}
    assert json.loads(json.dumps(found)) == found
    assert str(found).startswith(found.sentence) and f"verdict   {found['verdict']}" in str(found)
    assert found.sentence in repr(found)


def test_a_feed_without_a_loop_is_run_and_stands_where_it_stood(engine):
    with millrace.Feed(FEED, workers=1) as feed:
        for batch in feed:
            if batch.positions[0] >= 28:
                break
        feed.load_state_dict({**feed.state_dict()})
        state = feed.state_dict()
        found = feed.diagnose(0.3, step_ms=2)
        assert feed.state_dict() == state
        assert any("2 ms" in line for line in found["evidence"])
        first = next(iter(feed))
        assert first.positions[0] == batch.positions[0] + 4


def known(lost, verdict, part="running", steps=200):
    parts = dict.fromkeys(("slowed", "handOver", "transfer", "running", "queued", "blocked", "noSlot"), 0.0)
    return {
        "account": {"steps": steps, "lost": lost, "parts": {**parts, part: lost}},
        "diagnosis": {"verdict": verdict},
        "sentence": "Your trainer loses 31 %: the workers can't decode fast enough. Use 4 workers: +20 %.",
    }


def test_the_line_after_an_epoch_says_why():
    assert told(known(0.012, "compute-bound")) == "compute-bound (1.2% lost)"
    assert told(known(0.31, "under-parallel")) == (
        "lost 31.0%, mostly to workers that run: the workers can't decode fast enough. Use 4 workers: +20 %"
    )
    assert told(known(0.31, "inconclusive", "blocked")) == "lost 31.0%, mostly to workers that are blocked"
    assert told(known(0.31, "inconclusive", steps=0)) is None
    other = {**known(0.31, "hand-over", "handOver"), "sentence": "Not so: quick."}
    assert told(other) == "lost 31.0%, mostly to hand-over: Not so: quick"


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


@pytest.mark.parametrize("observe", ["counters", "spans", "full"])
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
    if observe == "full":
        assert len(steps) == 20
    if observe == "counters":  # then they are joined for a second
        assert 2 <= len(steps) <= 2 + (time.monotonic() - begun)


def test_a_level_that_there_is_not(fake, monkeypatch):
    with pytest.raises(
        millrace.DefinitionError, match='observe: expected one of "counters", "spans", "full"'
    ):
        millrace.Feed(fake(8), observe="all")
    assert level_of("full") == SpanLevel.FULL and level_of(None) == SpanLevel.SPANS
    monkeypatch.setenv("MILLRACE_SPANS", "counters")
    assert level_of("full") == SpanLevel.COUNTERS
