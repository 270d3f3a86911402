"""Epochs, breaks, lengths and states: what a `for` covers, and where a run goes on."""

from __future__ import annotations

import itertools
import json
import logging
import sys
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from patience import wait_until

import millrace
from millrace._stream.loop import Loop
from millrace._stream.stream import Stream
from millrace._view.carrier import Carrier
from millrace.feed import run_of
from millrace.views import View


def numbers(feed, stop=None):
    out = []
    for batch in feed:
        out.append(batch["number"].tolist())
        if len(out) == stop:
            break
    return out


def test_one_for_is_one_epoch(fake):
    with millrace.Feed(fake(10)) as feed:
        assert numbers(feed) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        assert numbers(feed) == [[1000, 1001, 1002, 1003], [1004, 1005, 1006, 1007], [1008, 1009]]
        assert len(feed) == 3


@pytest.mark.parametrize(
    "limit",
    [{"epochs": 1.5}, {"epochs": "2"}, {"epochs": -1}, {"epochs": True}, {"steps": 2.0}, {"steps": -1}],
)
def test_limits_are_whole_numbers(fake, limit):
    with pytest.raises(millrace.DefinitionError, match="expected a whole number from 0, not"):
        fake_feed = millrace.Feed(fake(8), **limit)
        fake_feed.close()


def test_after_a_break_comes_the_next_epoch(fake):
    with millrace.Feed(fake(20)) as feed:
        assert numbers(feed, stop=2) == [[0, 1, 2, 3], [4, 5, 6, 7]]
        assert feed.state_dict()["position"] == 8
        assert numbers(feed, stop=1) == [[1000, 1001, 1002, 1003]]
        # A break at the very last batch is an end like any other.
        assert len(numbers(feed, stop=5)) == 5
        assert numbers(feed)[0][0] == 3000


def test_a_first_look_at_one_batch_is_not_counted(fake, capfd, monkeypatch):
    monkeypatch.setattr(logging.getLogger("millrace"), "propagate", False)
    with millrace.Feed(fake(20)) as feed:
        iter(feed)  # nothing was taken: this is no look yet
        assert numbers(feed, stop=1) == [[0, 1, 2, 3]]
        assert (feed.epoch, len(feed)) == (0, 5)
        assert [batch[0] for batch in numbers(feed)] == [0, 4, 8, 12, 16]
        assert capfd.readouterr().err.count("counts as an epoch") == 0
        # Every other loop that is left counts, with one word for all of them: after one batch as well.
        assert numbers(feed, stop=1)[0][0] == 1000
        assert numbers(feed, stop=2)[0][0] == 2000
        assert numbers(feed)[0][0] == 3000
        said = capfd.readouterr().err
        assert said.count("counts as an epoch") == 1
        assert "a loop was left at position 4 of epoch 1" in said and "this one begins with epoch 2" in said


def test_a_first_look_from_a_state_and_two_looks(fake):
    with millrace.Feed(fake(20)) as feed:
        numbers(feed, stop=2)
        state = feed.state_dict()
    with millrace.Feed(fake(20), state=state) as feed:
        assert numbers(feed, stop=1) == [[8, 9, 10, 11]]
        assert [batch[0] for batch in numbers(feed)] == [8, 12, 16]
    with millrace.Feed(fake(20)) as feed:
        assert [numbers(feed, stop=1)[0][0] for _ in range(3)] == [0, 0, 1000]
    with millrace.Feed(fake(4)) as feed:  # the whole epoch is one batch: it was gone through, or it was left
        assert [numbers(feed)[0][0], numbers(feed)[0][0]] == [0, 1000]
    with millrace.Feed(fake(20)) as feed:
        numbers(feed, stop=2)
        feed.set_epoch(0)  # the user's word goes before what is counted
        assert numbers(feed, stop=1)[0][0] == 0
        feed.load_state_dict(state)
        assert numbers(feed)[0][0] == 8


def test_the_state_counts_what_was_handed_out(fake):
    with millrace.Feed(fake(10)) as feed:
        places = [(feed.state_dict()["epoch"], feed.state_dict()["position"])]
        for _ in feed:
            state = feed.state_dict()
            places.append((state["epoch"], state["position"]))
    assert places == [(0, 0), (0, 4), (0, 8), (1, 0)]


def test_a_state_goes_on_where_it_was_taken(fake):
    with millrace.Feed(fake(10)) as feed:
        numbers(feed, stop=1)
        state = json.loads(json.dumps(feed.state_dict()))
        numbers(feed)
        feed.load_state_dict(state)
        assert numbers(feed) == [[4, 5, 6, 7], [8, 9]]
        assert numbers(feed)[0] == [1000, 1001, 1002, 1003]
    with millrace.Feed(fake(10, rows=3), state=state) as other:
        assert numbers(other) == [[4, 5, 6], [7, 8, 9]]


@pytest.mark.parametrize("world, rows", [(1, 32), (2, 16)])
def test_a_state_with_no_step_left_is_the_next_epoch(fake, world, rows):
    with millrace.Feed(fake(133, rows=16, last="drop")) as feed:
        numbers(feed, stop=7)
        state = feed.state_dict()
    assert (state["epoch"], state["position"]) == (0, 112)
    here, other = {"world": world, "rank": 0}, fake(133, rows=rows, last="drop")
    with millrace.Feed(other, state=state, **here) as opened, millrace.Feed(other, **here) as loaded:
        loaded.load_state_dict(state)
        for feed in (opened, loaded):
            place = feed.state_dict()
            assert (feed.epoch, place["epoch"], place["position"]) == (1, 1, 0)
            epochs = [
                {number // 1000 for batch in numbers(feed) for number in batch} for _ in range(feed.epoch, 2)
            ]
            assert epochs == [{1}] and feed.epoch == 2
    # Trainers that name the epoch of their checkpoint: nothing is left of it.
    for way in ("state", "load"):
        with millrace.Feed(other, state=state if way == "state" else None, **here) as feed:
            if way == "load":
                feed.load_state_dict(state)
            epochs = []
            for epoch in range(state["epoch"], 3):
                feed.set_epoch(epoch)
                epochs.append({number // 1000 for batch in numbers(feed) for number in batch})
            assert epochs == [set(), {1}, {2}]


def test_a_state_is_small(fake):
    with millrace.Feed(fake()) as feed:
        numbers(feed, stop=1)
        assert len(json.dumps(feed.state_dict())) < 1000


def test_a_state_of_another_order_is_refused(fake):
    with millrace.Feed(fake()) as feed:
        state = {**feed.state_dict(), "order": "another"}
        with pytest.raises(millrace.StateError, match="another order"):
            feed.load_state_dict(state)
        with pytest.raises(millrace.StateError, match="no state"):
            feed.load_state_dict({"epoch": 1})
        assert len(numbers(feed)) == 5


def test_set_epoch(fake):
    with millrace.Feed(fake(8)) as feed:
        feed.set_epoch(5)
        assert numbers(feed)[0][0] == 5000
        feed.set_epoch(6)
        assert numbers(feed)[0][0] == 6000
        feed.load_state_dict({**feed.state_dict(), "epoch": 9, "position": 4})
        feed.set_epoch(9)  # frameworks say this after loading a state
        assert numbers(feed) == [[9004, 9005, 9006, 9007]]


@pytest.mark.parametrize(
    ("options", "steps"),
    [({"epochs": 2}, [6, 6]), ({"steps": 2}, [2, 2, 2]), ({"steps": 7}, [7, 7]), ({"epochs": 2, "steps": 5},
    [5]), ({"epochs": 0}, [0]), ({"steps": 0}, [0, 0])],
)  # fmt: skip
def test_loops_of_given_length(fake, options, steps):
    with millrace.Feed(fake(10), **options) as feed:
        assert len(feed) == steps[0]
        everything = []
        for n in steps:
            loop = numbers(feed)
            assert len(loop) == n
            everything += [number for batch in loop for number in batch]
        expected = [1000 * epoch + p for epoch in range(9) for p in range(10)]
        assert everything == expected[: len(everything)]


def test_endless(fake):
    with millrace.Feed(fake(8), epochs=None) as feed:
        with pytest.raises(TypeError, match="never ends"):
            len(feed)
        assert [b[0] for b in numbers(feed, stop=5)] == [0, 4, 1000, 1004, 2000]


def test_a_dropped_tail_is_no_epoch_of_its_own(fake):
    with millrace.Feed(fake(10, last="drop")) as feed:
        assert numbers(feed) == [[0, 1, 2, 3], [4, 5, 6, 7]]
        feed.load_state_dict({**feed.state_dict(), "epoch": 3, "position": 8})
        assert numbers(feed) == [[4000, 4001, 4002, 4003], [4004, 4005, 4006, 4007]]


def test_padding_says_what_is_valid(fake):
    with millrace.Feed(fake(6, last="pad")) as feed:
        batches = list(feed)
        assert batches[1]["number"].tolist() == [4, 5, 0, 1]
        assert batches[1]["valid"].tolist() == [True, True, False, False]
        assert batches[1].ids == ["sample-4", "sample-5"]
        assert "valid" in batches[1].keys()


def test_ranks_share_an_epoch(fake):
    feeds = [millrace.Feed(fake(11), rank=rank, world=2) for rank in range(2)]
    steps = [numbers(feed) for feed in feeds]
    assert [len(s) for s in steps] == [2, 2]
    assert sorted(n for s in steps for batch in s for n in batch) == list(range(11))
    for feed in feeds:
        feed.close()


def test_bad_samples_by_policy(fake):
    with millrace.Feed(fake(8, bad=[5])) as feed:
        with pytest.raises(millrace.SampleError, match="torn"):
            numbers(feed)
        assert feed.state_dict()["position"] == 4
        assert numbers(feed, stop=1) == [[1000, 1001, 1002, 1003]]
    with millrace.Feed(fake(8, bad=[1, 5], policy="drop")) as feed:
        assert numbers(feed) == [[0, 2, 3], [4, 6, 7]]
        assert feed.stats()["bad"]["count"] == 2
    with (
        millrace.Feed(fake(8, bad=[1, 5, 6], policy="drop")) as feed,
        pytest.raises(millrace.MillraceError, match="3 bad samples are more than onError.budget = 2 allows"),
    ):
        numbers(feed)
    with millrace.Feed(fake(4, bad=[1], policy="mask")) as feed:
        assert next(iter(feed))["valid"].tolist() == [True, False, True, True]


def test_the_budget_counts_samples_not_how_often_they_come(fake, capfd, monkeypatch):
    import logging

    monkeypatch.setattr(logging.getLogger("millrace"), "propagate", False)
    for policy, done in (("drop", "dropped"), ("mask", "masked")):
        with millrace.Feed(fake(8, bad=[1, 5], policy=policy)) as feed:
            for _ in range(3):
                numbers(feed)
            bad = feed.stats()["bad"]
            assert bad["count"] == 2 and [one["id"] for one in bad["samples"]] == ["sample-1", "sample-5"]
        said = capfd.readouterr().err.splitlines()
        assert [line.split("; ")[-1] for line in said] == [f"2 bad samples {done}: sample-1, sample-5"] * 3


def test_a_failure_comes_in_its_turn(fake):
    with millrace.Feed(fake(40, failAt=3)) as feed:
        seen = []
        with pytest.raises(millrace.EngineError, match="taken 60 s"):
            for batch in feed:
                seen.append(batch["number"][0])
        assert seen == [0, 4, 8]


def test_steps_go_on_where_a_run_goes_on(fake):
    with millrace.Feed(fake(20)) as feed:
        for batch in feed:
            if batch.step == 1:
                break
        state = feed.state_dict()
        feed.load_state_dict(state)
        assert [batch.step for batch in feed] == [2, 3, 4]
    with millrace.Feed(fake(20, rows=3), state=state) as feed:  # by steps of the present size
        assert [batch.step for batch in feed] == [2, 3, 4, 5]


def test_what_code_for_data_loaders_asks(fake):
    with millrace.Feed(fake(20)) as feed:
        for loader in (feed, feed.numpy()):
            assert (len(loader), loader.batch_size, len(loader.dataset)) == (5, 4, 20)
        with pytest.raises(TypeError, match="no samples by number"):
            feed.dataset[0]


def test_a_batch_goes_to_a_device_as_it_is(fake):
    torch = pytest.importorskip("torch")
    with millrace.Feed(fake(8)) as feed:
        for batch in feed.torch():
            moved = batch.to(torch.device("cpu"), non_blocking=True).to(torch.float64)
            assert type(moved) is millrace.Batch and moved.ids == batch.ids and moved.step == batch.step
            assert moved["number"].dtype == moved["parts"].values.dtype == torch.float64
            assert moved["caption"] == batch["caption"]
            lengths = batch.lengths("tokens")
            mask = batch.mask("tokens")
            assert mask.dtype == torch.int64 and mask.shape == batch["tokens"].shape
            assert mask.tolist() == [[int(i < n) for i in range(mask.shape[1])] for n in lengths]
    with millrace.Feed(fake(8)) as feed:
        batch = next(iter(feed))
        assert batch.to("cpu")["number"] is batch["number"]
        assert batch.mask("tokens").sum(1).tolist() == batch.lengths("tokens").tolist()
        with pytest.raises(KeyError, match="number is not padded"):
            batch.mask("number")


def test_a_view_knows_its_feed(fake):
    with millrace.Feed(fake(8)) as feed:
        view = feed.numpy()
        assert view.feed is feed and len(view) == 2
        list(view)
        assert view.feed.stats()["batches"] == 2
        assert repr(view) == f"<View of {feed!r}>"
        assert view.state_dict() == feed.state_dict()


def test_two_loops_at_once(fake):
    with millrace.Feed(fake(20)) as feed:
        first = iter(feed)
        assert next(first)["number"][0] == 0
        second = iter(feed)
        with pytest.raises(millrace.MillraceError, match="another loop"):
            next(first)
        assert next(second)["number"][0] == 0
        assert next(second)["number"][0] == 4
        third, fourth = iter(feed), iter(feed)
        for over in (second, third):
            with pytest.raises(millrace.MillraceError, match="another loop"):
                next(over)
        assert next(fourth)["number"][0] == 1000


def test_definition_errors(fake, tmp_path):
    with pytest.raises(millrace.DefinitionError, match="only makes numbers"):
        millrace.Feed({"source": {}})
    with pytest.raises(millrace.DefinitionError, match="no such file"):
        millrace.Feed("nowhere.json")
    (tmp_path / "torn.json").write_text("{")
    with pytest.raises(millrace.DefinitionError, match="not JSON"):
        millrace.Feed(tmp_path / "torn.json")
    with pytest.raises(millrace.DefinitionError, match="give a feed"):
        millrace.Feed()
    with pytest.raises(millrace.DefinitionError, match="rank: 3"):
        millrace.Feed(fake(), rank=3, world=2)


def test_a_closed_feed_says_so(fake):
    feed = millrace.Feed(fake())
    kept = next(iter(feed))
    feed.close()
    feed.close()
    with pytest.raises(millrace.MillraceError, match="closed"):
        next(iter(feed))
    assert kept["number"].tolist() == [0, 1, 2, 3]  # what is in the user's hands stays
    assert np.all(kept["image"][3] == 3)
    assert "closed" in repr(feed)


def test_the_end_of_an_epoch_is_told(fake, capfd, monkeypatch):
    import logging

    logger = logging.getLogger("millrace")
    monkeypatch.setattr(logger, "propagate", False)  # as if nobody had set up logging
    with millrace.Feed(fake(40, slow=0.01)) as feed:
        list(feed)
    assert "the trainer waited" in capfd.readouterr().err


def test_tensorflow_is_asked_for_by_name(fake):
    try:
        import tensorflow  # noqa: F401
    except ImportError:
        with (
            millrace.Feed(fake()) as feed,
            pytest.raises(millrace.MissingError, match="pip install tensorflow"),
        ):
            feed.tensorflow()


class Hesitant(Carrier):
    """Puts back what it has when it is asked for the second batch."""

    prefetch = 2
    turns = 0

    def arrives(self, loop, staged):
        self.turns += 1
        if self.turns != 2:
            return True
        loop.put_back(len(staged))
        staged.clear()
        return False


def hesitant(feed):
    return View(run_of(feed), Hesitant(run_of(feed)))


def test_bad_samples_of_batches_that_are_put_back_count_once(fake):
    with millrace.Feed(fake(16, bad=[1, 6], policy="drop")) as feed:
        seen = [batch["number"].tolist() for batch in hesitant(feed)]
        assert seen == [[0, 2, 3], [4, 5, 7], [8, 9, 10, 11], [12, 13, 14, 15]]
        assert feed.stats()["bad"]["count"] == 2
    with millrace.Feed(fake(16, bad=[9])) as feed:
        seen = []
        with pytest.raises(millrace.SampleError, match="torn"):
            for batch in hesitant(feed):
                seen.append(batch["number"].tolist())
        assert seen == [[0, 1, 2, 3], [4, 5, 6, 7]]
        assert feed.stats()["bad"]["count"] == 1


@contextmanager
def interrupted(function, line):
    """A Ctrl-C at that line of a function, counted from the first that is run."""
    lines = itertools.count()

    def at_line(frame, event, argument):
        if event == "line" and next(lines) == line:
            raise KeyboardInterrupt
        return at_line

    def at_call(frame, event, argument):
        return at_line if frame.f_code is function.__code__ else None

    before = sys.gettrace()
    sys.settrace(at_call)
    try:
        yield
    finally:
        sys.settrace(before)


# Of 8 samples everything is taken ahead, and the next epoch is where the ring stands.
@pytest.mark.parametrize(
    ("function", "length", "taken"), [(Stream.go, 8, 1), (Loop.leave, 20, 1), (Loop.leave, 20, 2)]
)
def test_after_a_ctrl_c_comes_the_next_epoch(fake, function, length, taken):
    for line in range(16):
        with millrace.Feed(fake(length), depth=3) as feed:
            view = hesitant(feed)
            batches = iter(view)
            for _ in range(taken):
                next(batches)
            assert wait_until(lambda: run_of(feed).stream.client.memory.ready(1) is not None)
            with suppress(KeyboardInterrupt), interrupted(function, line):
                if function is not Loop.leave:
                    next(batches)
                batches.close()
            begins = [batch[0] for batch in numbers(view)]
            epoch = 0 if function is Loop.leave and taken == 1 else 1  # it was a look
            assert begins == list(range(1000 * epoch, 1000 * epoch + length, 4)), f"line {line}"


def test_an_error_that_is_kept_keeps_no_slot(fake):
    with millrace.Feed(fake(8, bad=[1])) as feed:
        kept = None
        try:
            list(feed)
        except millrace.SampleError as error:
            kept = error
        leases = run_of(feed).stream.client.leases
        leases.settle()
        assert kept is not None and len(leases) == 0
