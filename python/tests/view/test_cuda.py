"""Copies to a GPU: in order on a device that runs as late as it can, and on a real one where there is one."""

from __future__ import annotations

import gc
import random
import weakref

import pytest
from fake_torch import FakeCuda, view_of

import millrace
from millrace.feed import run_of

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("prefetch", "depth"), [(0, 4), (2, 4), (3, 3), (5, 2)])
def test_late_copies_and_late_steps(fake, seed, prefetch, depth):
    chance = random.Random(seed)
    cuda, checked = FakeCuda(), []
    with millrace.Feed(fake(80), depth=depth) as feed:
        view, carrier = view_of(feed, cuda, prefetch)
        for i, batch in enumerate(view):
            assert feed.state_dict()["position"] == (4 * (i + 1)) % 80  # whatever was taken ahead
            assert batch["caption"][0] == f"sample {4 * i}"
            assert cuda.mine in batch["image"].streams

            def step(i=i, batch=batch):
                assert batch["image"].value[:, 0, 0, 0].tolist() == [4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3]
                assert batch["number"].value[0] == 4 * i
                checked.append(i)

            cuda.mine.work.append(step)
            del batch
            for _ in range(chance.randrange(5)):
                chance.choice([cuda.mine, carrier.side]).step()
        while cuda.mine.step() or carrier.side.step():
            pass
        assert checked == list(range(20))
        if depth > 2:
            assert feed.stats()["copies"] == 0  # it waits for a copy to the device rather than copying twice


def test_a_break_waits_for_the_copies_under_way(fake):
    cuda = FakeCuda()
    with millrace.Feed(fake(80)) as feed:
        view, carrier = view_of(feed, cuda)
        for _ in view:
            break
        assert len(carrier.copies) == 0
        assert next(iter(view))["caption"][0] == "sample 1000"


def test_slots_are_locked_once_and_unlocked(fake):
    cuda = FakeCuda()
    feed = millrace.Feed(fake(80), depth=3)
    view, _ = view_of(feed, cuda)
    list(view)
    list(view)
    assert len(cuda.locked) == len(set(cuda.locked)) == 3
    feed.tune(depth=5)
    list(view)
    assert len(cuda.locked) == 5
    feed.close()
    del feed, view
    assert cuda.locked == []


def test_slots_that_another_view_has_locked_are_locked(fake, caplog):
    cuda = FakeCuda()
    feed = millrace.Feed(fake(80), depth=3)
    for _ in range(3):
        assert len(list(view_of(feed, cuda)[0])) == 20  # a view of its own each time
    view, _ = view_of(feed, cuda)
    list(view)
    feed.tune(depth=5)
    list(view)
    assert len(cuda.locked) == 5 and "page-locked" not in caplog.text
    feed.close()
    del feed, view
    assert cuda.locked == []


def test_a_gpu_that_is_lost_keeps_no_slots(fake, capsys):
    cuda = FakeCuda()
    with millrace.Feed(fake(80)) as feed:
        list(view_of(feed, cuda)[0])
        cuda.lost = True
    assert cuda.locked == [] and "Traceback" not in capsys.readouterr().err


def test_nothing_of_cuda_is_left_to_the_garbage_collector(fake):
    gc.collect()
    gc.disable()
    try:
        feed = millrace.Feed(fake(80))
        view, carrier = view_of(feed, FakeCuda())
        assert len(list(view)) == 20
        gone = weakref.ref(feed), weakref.ref(view), weakref.ref(carrier), weakref.ref(carrier.meter)
        assert feed.stats()["device"]["decode"] == "cpu"
        feed.close()
        del feed, view, carrier
        assert [one() for one in gone] == [None] * 4
    finally:
        gc.enable()


def test_copies_go_on_where_nothing_can_be_locked(fake, caplog):
    cuda = FakeCuda(refuse=True)
    with millrace.Feed(fake(80)) as feed:
        assert len(list(view_of(feed, cuda)[0])) == 20
    assert caplog.text.count("page-locked") == 1


def test_without_a_gpu_it_says_what_is_missing(fake):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with millrace.Feed(fake()) as feed, pytest.raises(millrace.MissingError, match="finds no GPU"):
        feed.torch(device="cuda")


def test_other_devices_by_torchs_own_copy(fake):
    with millrace.Feed(fake()) as feed:
        for batch in feed.torch(device="meta"):
            assert batch["image"].device.type == "meta"
            run_of(feed).stream.client.leases.settle()
            assert len(run_of(feed).stream.client.leases) == 0
            assert batch["caption"][0].startswith("sample")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_real_gpu(fake):
    with millrace.Feed(fake(4000), depth=4) as feed:
        total = torch.zeros((), device="cuda")
        expected = 0
        kept = None
        for i, batch in enumerate(feed.torch(device="cuda")):
            assert batch["image"].is_cuda and batch["half"].dtype == torch.bfloat16
            assert batch["parts"].values.is_cuda
            # Work that keeps the user's stream busy: what is read afterwards must still be this batch.
            noise = torch.randn(512, 512, device="cuda")
            for _ in range(3):
                noise = noise @ noise / 512
            total += batch["image"][:, 0, 0, 0].sum() + batch["number"].sum() * 0
            expected += sum(range(4 * i, 4 * i + 4))
            if i == 10:
                kept = batch["number"]
        assert total.item() == pytest.approx(expected, rel=1e-5)
        assert kept.tolist() == [40, 41, 42, 43]
        assert feed.stats()["copies"] == 0
