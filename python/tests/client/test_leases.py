"""Keeping batches: whoever refers to memory keeps it, whoever hoards gets copies, nobody gets wrong bytes."""

from __future__ import annotations

import gc
import itertools
import logging
import sys
import threading
from queue import SimpleQueue

import numpy as np
import pytest
from patience import PATIENCE, wait_until

import millrace
from millrace._client.leases import Leases
from millrace._stream.reading import read
from millrace.feed import run_of


def held(feed):
    """Slots that this process has not given back."""
    run_of(feed).stream.client.leases.settle()
    return len(run_of(feed).stream.client.leases)


def test_arrays_are_views_that_can_be_written(fake):
    with millrace.Feed(fake()) as feed:
        batch = next(iter(feed))
        image = batch["image"]
        assert image.flags.writeable and not image.flags.owndata
        image[:] = 7
        assert batch["image"].max() == 7


@pytest.mark.parametrize(
    "keep",
    [
        lambda batch: batch["image"],
        lambda batch: batch["image"][1:, ..., ::2],
        lambda batch: memoryview(batch["image"]),
        lambda batch: batch["parts"].values,
        lambda batch: np.asarray(batch["number"]).reshape(2, 2),
    ],
)
def test_any_reference_keeps_the_slot(fake, keep):
    with millrace.Feed(fake(), depth=4) as feed:
        batches = iter(feed)
        kept = keep(next(batches))
        assert held(feed) == 1
        before = np.array(kept)
        for _ in range(4):
            next(batches)
        assert held(feed) == 1
        assert np.array_equal(np.array(kept), before)
        del kept
        assert held(feed) == 0


def test_torch_keeps_the_slot_through_autograd(fake):
    torch = pytest.importorskip("torch")
    with millrace.Feed(fake()) as feed:
        batches = iter(feed.torch())
        weight = torch.ones(3, 4, 4, requires_grad=True)
        loss = (next(batches)["image"] * weight).sum()
        assert held(feed) == 1  # saved for backward
        for _ in range(3):
            next(batches)
        loss.backward()
        assert weight.grad[0, 0, 0] == 0 + 1 + 2 + 3
        del loss
        gc.collect()
        assert held(feed) == 0


def test_hoarding_gives_copies_and_one_warning(fake, caplog):
    with millrace.Feed(fake(80), depth=4) as feed, caplog.at_level(logging.WARNING, "millrace"):
        hoard = list(feed)
        assert [batch["number"].tolist() for batch in hoard] == [
            [4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3] for i in range(20)
        ]
        assert all((batch["image"][:, 0, 0, 0] == batch["number"]).all() for batch in hoard)
        assert hoard[19]["caption"] == ["sample 76", "sample 77 ü", "sample 78", "sample 79 ü"]
        assert hoard[19].ids[0] == "sample-76"
        assert held(feed) == 3
        assert feed.stats()["copies"] == 17
        assert len([r for r in caplog.records if "copied" in r.message]) == 1
        del hoard
        assert held(feed) == 0
        assert feed.stats()["held"] <= 4


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_small_depths_never_deadlock(fake, depth):
    with millrace.Feed(fake(40), depth=depth) as feed:
        assert [batch["number"][0] for batch in feed] == list(range(0, 40, 4))


def test_a_move_leaves_kept_batches_alone(fake):
    with millrace.Feed(fake(80), depth=4) as feed:
        kept = []
        for epoch in range(6):
            for i, batch in enumerate(feed):
                if i == 1:
                    kept.append(batch)
                    break
            kept = kept[-2:]
            for one in kept:
                assert (one["image"][:, 0, 0, 0] == one["number"]).all()
            assert kept[-1]["number"][0] == 1000 * epoch + 4


def test_batches_may_be_dropped_by_any_thread(fake):
    with millrace.Feed(fake(400), depth=8) as feed:
        parcels = SimpleQueue()
        wrong = []

        def drop():
            for batch in iter(parcels.get, None):
                if (batch["image"][:, 0, 0, 0] != batch["number"]).any():
                    wrong.append(batch.ids)
                del batch

        threads = [threading.Thread(target=drop) for _ in range(4)]
        for thread in threads:
            thread.start()
        seen = []
        for batch in feed:
            seen.append(int(batch["number"][0]))
            parcels.put(batch)
            del batch
        for _ in threads:
            parcels.put(None)
        for thread in threads:
            thread.join(PATIENCE)
        assert not wrong
        assert seen == list(range(0, 400, 4))
        assert wait_until(lambda: held(feed) == 0)


def test_cycles_are_given_back_by_the_garbage_collector(fake):
    with millrace.Feed(fake(100), depth=4) as feed:
        seen = []
        for batch in feed:
            cycle = {"batch": batch}
            cycle["self"] = cycle
            seen.append(int(batch["number"][0]))
            if len(seen) % 7 == 0:
                gc.collect()
        assert seen == list(range(0, 100, 4))


def test_all_forms_of_fields(fake):
    with millrace.Feed(fake()) as feed:
        batch = next(iter(feed))
        assert list(batch) == ["number", "image", "half", "tokens", "parts", "caption"]
        assert batch["tokens"].tolist() == [[0, -1, -1, -1], [1, 1, -1, -1], [2, 2, 2, -1], [3, 3, 3, 3]]
        assert batch.lengths("tokens").tolist() == [1, 2, 3, 4]
        parts = batch["parts"]
        assert isinstance(parts, millrace.Ragged)
        assert parts.row(2).tolist() == [2, 2, 2]
        assert batch.lengths("parts").tolist() == [1, 2, 3, 4]
        assert batch["caption"] == ["sample 0", "sample 1 ü", "sample 2", "sample 3 ü"]


def test_a_batch_is_a_dict_of_its_fields(fake):
    with millrace.Feed(fake()) as feed:
        batch = next(iter(feed))
        assert batch["ids"] == batch.ids == ["sample-0", "sample-1", "sample-2", "sample-3"]
        assert batch["positions"].tolist() == [0, 1, 2, 3]
        assert (batch["count"], batch["epoch"], batch["step"]) == (4, 0, 0)
        assert batch.get("ids")[0] == "sample-0" and batch.get("nothing", 5) == 5
        with pytest.raises(KeyError):
            batch["nothing"]

        def model(number, image, half, tokens, parts, caption):
            return caption

        assert model(**batch)[0] == "sample 0"
        for plain in (dict(batch), {**batch}, dict(batch.items()), batch.copy()):
            assert plain["caption"][1] == "sample 1 ü"
        assert type(batch)({"a": 1})["a"] == 1  # as frameworks rebuild what they map over
        assert "number: int64[4]" in repr(batch)


def test_tuples_and_batch_map(fake):
    double = {"batch_map": lambda batch: {**batch, "number": batch["number"] * 2}}
    with millrace.Feed(fake(), tuple=("number", "caption"), **double) as feed:
        number, caption = next(iter(feed))
        assert number.tolist() == [0, 2, 4, 6] and caption[0] == "sample 0"
        with pytest.raises(millrace.DefinitionError, match="no field 'label'"):
            feed.numpy(tuple=("label",))


def test_a_client_may_be_collected_while_the_engine_is_told_of_a_slot(fake):
    feed = millrace.Feed(fake())
    client = run_of(feed).stream.client

    def collected():
        client.close()  # a garbage collection comes here, in the middle of a send

    thread = threading.Thread(target=client.wire.send, args=(collected,), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_the_slot_of_a_bad_sample_is_not_left_to_the_garbage_collector(fake):
    with millrace.Feed(fake(20, bad=[9])) as feed:
        gc.collect()
        gc.disable()
        try:
            view = feed.numpy()
            view.prefetch = 2
            try:
                for batch in view:
                    del batch
            except millrace.SampleError:
                pass
            run_of(feed).stream.client.leases.settle()
            assert len(run_of(feed).stream.client.leases) == 0
        finally:
            gc.enable()


def test_a_depth_that_is_lowered_leaves_a_slot_beside_those_that_are_kept(fake):
    with millrace.Feed(fake(40), depth=5) as feed:
        batches = iter(feed)
        kept = [next(batches), next(batches)]
        assert feed.tune(depth=1)["depth"] == 3
        assert [batch["number"][0] for batch in batches] == list(range(8, 40, 4))
        del kept
        assert feed.tune(depth=1)["depth"] == 1
        assert len(list(feed)) == 10


def test_a_traceback_that_is_kept_keeps_no_slot_of_a_batch_that_was_being_read(fake, monkeypatch):
    def interrupted(*arguments):
        taken = read(*arguments)
        raise KeyboardInterrupt(taken.epoch)

    with millrace.Feed(fake(), depth=2) as feed:
        state = feed.state_dict()
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt) as kept:
            patch.setattr("millrace._stream.stream.read", interrupted)
            next(iter(feed))
        assert held(feed) == 0  # with all slots held, no batch could be made any more
        feed.load_state_dict(state)
        assert [batch["number"][0] for batch in feed] == list(range(0, 20, 4))
        del kept


@pytest.mark.parametrize("moment", range(1, 8))
def test_a_lease_whose_entry_is_interrupted_never_gives_back_a_slot_that_was_lent_anew(moment):
    gate = threading.Event()

    class Slow:
        """A wire that sends nothing before the slot is lent anew."""

        def send(self, message):
            assert gate.wait(PATIENCE)
            message()

    class Memory:
        pass

    leases = Leases(Slow())
    left = itertools.count(1 - moment)

    def interrupt(frame, event, _):
        if event == "line" and next(left) == 0:
            sys.settrace(None)
            raise KeyboardInterrupt
        return interrupt

    first, second = Memory(), Memory()
    try:
        sys.settrace(interrupt)
        leases.add(3, first)
    except KeyboardInterrupt:
        del first
        leases.add(3, second)
    finally:
        sys.settrace(None)
    gate.set()
    leases.settle()
    assert leases.held() == {3}
    first = second = None
    leases.settle()
    assert leases.held() == set()
    leases.close()


def test_ctrl_c_while_slots_are_settled_is_a_ctrl_c(monkeypatch):
    """Wherever it comes: at every line that runs in the meantime, and every call."""
    monkeypatch.setattr("millrace._client.leases.SETTLING", 0.001)
    leases = Leases(None)
    leases.close()  # no thread answers: every settling waits
    for moment in range(1, 200):
        left = itertools.count(1 - moment)

        def interrupt(frame, event, _, left=left):
            if next(left) == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
            return interrupt

        try:
            sys.settrace(interrupt)
            leases.settle()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
