"""``feed.diagnose()``: of a loop that is on, of the feed alone, and where there is nothing to be said."""

from __future__ import annotations

import json
import logging
import time

import pytest

import millrace

FEED = {
    "source": {"synthetic": {"count": 480, "images": {"width": 64, "height": 48}}},
    "fields": {"image": {"from": "jpg", "as": "image", "apply": [{"resize": [16, 16]}]}},
    "batch": {"size": 4, "last": "keep"},
}
#: Epochs of it are over in some ms.
SHORT = {**FEED, "source": {"synthetic": {"count": 16, "images": {"width": 16, "height": 16}}}}


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


def epochs_told(caplog):
    return [record.getMessage() for record in caplog.records if ", epoch " in record.getMessage()]


def test_a_feed_that_is_run_alone_leaves_no_trace_in_figures_and_log(engine, caplog, monkeypatch):
    monkeypatch.setattr("millrace._stream.account.FRESH", -1.0)  # all figures are asked for anew
    with millrace.Feed(SHORT, workers=1) as feed, caplog.at_level(logging.INFO, "millrace"):
        for _ in range(3):
            for _ in feed:
                time.sleep(0.001)
        before, steps = feed.stats(), feed.metrics()["millrace/steps"]
        assert len(epochs_told(caplog)) == 3
        feed.diagnose(0.5, step_ms=1)
        after = feed.stats()
        assert feed.metrics()["millrace/steps"] == steps == 11
        assert len(epochs_told(caplog)) == 3
        assert next(iter(feed)).epoch == 3
    for name in ("batches", "samples", "waits", "waitMs", "firstBatchMs", "copies", "bad"):
        assert after[name] == before[name], name
    for of in ("account", "epoch"):
        for name in ("steps", "samples", "stepMs", "lost", "wait"):
            # Makers' shares are measured anew: the last digits may differ.
            assert after[of][name] == pytest.approx(before[of][name]), (of, name)


def test_a_feed_alone_has_no_trainer(engine):
    with millrace.Feed(FEED, workers=1) as feed:
        found = feed.diagnose(1)
        assert found["ceiling"] is None and "Your trainer" not in str(found)
        # However short: it goes on until there is a step to judge.
        assert not any("over 0 steps" in line for line in feed.diagnose(1e-6)["evidence"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"seconds": 0}, "seconds: expected a number above 0, not 0"),
        ({"seconds": -1}, "seconds: expected a number above 0, not -1"),
        ({"seconds": float("inf")}, "seconds: expected a number above 0, not inf"),
        ({"seconds": "10"}, "seconds: expected a number above 0, not '10'"),
        ({"step_ms": -3}, "step_ms: expected a number from 0, not -3"),
        ({"step_ms": float("nan")}, "step_ms: expected a number from 0, not nan"),
    ],
)
def test_arguments_are_checked_at_once(fake, options, said):
    with millrace.Feed(fake(8)) as feed:
        with pytest.raises(millrace.DefinitionError, match=said):
            feed.diagnose(**options)
        assert feed.stats()["batches"] == 0


def test_a_loop_without_a_step_says_so(engine):
    with millrace.Feed(FEED, workers=1) as feed:
        for _ in feed:
            with pytest.raises(
                millrace.MillraceError, match="no step of this loop was seen in the last 10 s"
            ):
                feed.diagnose()
            break


def test_a_feed_without_a_batch_can_not_be_diagnosed(fake):
    with millrace.Feed(fake(3, last="drop")) as feed:
        with pytest.raises(millrace.MillraceError, match="no batches"):
            feed.diagnose(0.01)


def test_a_closed_feed_is_not_diagnosed(fake):
    with millrace.Feed(fake(8)) as feed:
        pass
    with pytest.raises(millrace.MillraceError, match="this feed is closed, and has no loop to diagnose"):
        feed.diagnose()
