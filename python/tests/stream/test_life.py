"""Who dies first: engine or trainer, by any signal, and what the other one does."""

from __future__ import annotations

import logging
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import HERE, alive, sockets
from patience import PATIENCE, wait_until

import millrace
from millrace._client.client import Client
from millrace.feed import run_of

pytestmark = pytest.mark.usefixtures("runtime_folder")


def engine_of(feed):
    return run_of(feed).stream.client.engine.pid


def test_the_engine_dies_and_the_run_goes_on(fake, caplog):
    with millrace.Feed(fake(80)) as feed, caplog.at_level(logging.WARNING, "millrace"):
        seen, pids = [], []
        for batch in feed:
            seen += batch["number"].tolist()
            if len(seen) in (8, 40):
                pids.append(engine_of(feed))
                os.kill(pids[-1], signal.SIGKILL)
            assert len(batch.ids) == 4  # names are known, whoever made the batch
        assert seen == list(range(80))
        assert feed.stats()["restarts"] == 2
        assert len(set(pids)) == 2
    messages = [record.getMessage() for record in caplog.records]
    assert any("SIGKILL" in m and "fake engine listens" in m for m in messages)


def test_an_engine_that_several_threads_find_dead_is_replaced_once(fake):
    with millrace.Feed(fake(160, slow=0.001), restart=100) as feed:
        seen, killed, over = [], set(), threading.Event()

        def watch():
            while not over.is_set():
                feed.stats()

        watchers = [threading.Thread(target=watch) for _ in range(2)]
        for watcher in watchers:
            watcher.start()
        try:
            for batch in feed:
                seen += batch["number"].tolist()
                engine = engine_of(feed)
                if len(seen) % 20 == 0 and engine not in killed:
                    killed.add(engine)
                    os.kill(engine, signal.SIGKILL)
        finally:
            over.set()
            for watcher in watchers:
                watcher.join()
        assert seen == list(range(160))
        assert feed.stats()["restarts"] == len(killed) > 1


def test_without_restart_its_last_words_are_told(fake):
    with millrace.Feed(fake(400, slow=0.01), restart=False) as feed:
        with pytest.raises(millrace.EngineDied, match="SIGKILL") as caught:
            for i, _ in enumerate(feed):
                if i == 3:
                    os.kill(engine_of(feed), signal.SIGKILL)
        assert "fake engine listens" in caught.value.last_words


def test_three_restarts_and_no_more(fake):
    with millrace.Feed(fake(400, slow=0.005)) as feed:
        with pytest.raises(millrace.EngineDied):
            for _ in feed:
                # A batch that was ready before the last death comes without an engine.
                with suppress(ProcessLookupError):
                    os.kill(engine_of(feed), signal.SIGKILL)
        assert run_of(feed).stats.restarts == 3


def test_a_stopped_engine_is_replaced(fake, caplog):
    with millrace.Feed(fake(80, slow=0.01)) as feed, caplog.at_level(logging.WARNING, "millrace"):
        seen = []
        for batch in feed:
            seen += batch["number"].tolist()
            if len(seen) == 8:
                stopped = engine_of(feed)
                os.kill(stopped, signal.SIGSTOP)
        assert seen == list(range(80))
        assert "SIGSTOP" in caplog.text
        assert wait_until(lambda: not alive(stopped))


def test_an_engine_that_dies_between_loops(fake):
    with millrace.Feed(fake(8)) as feed:
        for epoch in range(3):
            assert [b["number"][0] for b in feed] == [1000 * epoch, 1000 * epoch + 4]
            os.kill(engine_of(feed), signal.SIGKILL)
            assert wait_until(lambda: run_of(feed).stream.client.wire.ended)


@pytest.mark.parametrize("late", [False, True])
def test_a_feed_that_is_closed_while_its_engine_is_replaced_stays_closed(fake, monkeypatch, late):
    opened = []
    with millrace.Feed(fake(400)) as feed:
        batches = iter(feed)
        next(batches)

        def closing(*arguments):
            """Another thread closes the feed as the next engine has answered."""
            opened.append(Client(*arguments))
            if not late:
                feed.close()
            return opened[-1]

        def telling(*_):
            """Or a moment later, before the new ring is put in place."""
            if late:
                feed.close()

        monkeypatch.setattr("millrace._stream.stream.Client", closing)
        monkeypatch.setattr("millrace._stream.stream.Stream._tell", telling)
        os.kill(engine_of(feed), signal.SIGKILL)
        with pytest.raises(millrace.MillraceError, match="closed"):
            list(batches)
        assert run_of(feed).stream.closed and [client.wire.closed for client in opened] == [True]


def test_an_engine_that_cannot_start(fake, monkeypatch):
    command = [sys.executable, "-c", "import sys; sys.exit('no such thing as an engine')"]
    monkeypatch.setattr("millrace._client.process.engine_command", lambda: command)
    with pytest.raises(millrace.EngineDied, match="no such thing"):
        millrace.Feed(fake())


def test_an_engine_that_is_killed_while_it_opens_the_feed(fake, monkeypatch, runtime_folder):
    program = """
import os, signal, socket, sys
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[sys.argv.index("--socket") + 1])
listening.listen()
listening.accept()[0].recv(10)
os.kill(os.getpid(), signal.SIGKILL)
"""
    monkeypatch.setattr("millrace._client.process.engine_command", lambda: [sys.executable, "-c", program])
    with pytest.raises(millrace.EngineDied, match="by SIGKILL"):
        millrace.Feed(fake())
    assert not sockets(runtime_folder)


def test_whoever_connects_when_the_engine_dies_is_served_by_the_next(fake, monkeypatch, tmp_path):
    # The first two engines die when they are asked for something; the third is a sound one.
    program = """
import os, signal, socket, sys
count = len(os.listdir(sys.argv[1]))
open(os.path.join(sys.argv[1], str(count)), "w").close()
if count == 2:
    os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[sys.argv.index("--socket") + 1])
listening.listen()
listening.accept()[0].recv(10)
os.kill(os.getpid(), signal.SIGKILL)
"""
    command = [sys.executable, "-c", program, str(tmp_path), str(HERE / "fake_engine.py")]
    monkeypatch.setattr("millrace._client.process.engine_command", lambda: command)
    with millrace.Feed(fake(), restart=False) as feed:
        assert [int(batch["number"][0]) for batch in feed] == [0, 4, 8, 12, 16]
    assert len(list(tmp_path.iterdir())) == 3


def test_the_engine_ends_with_the_feed(fake, runtime_folder):
    feed = millrace.Feed(fake())
    pid = engine_of(feed)
    next(iter(feed))
    feed.close()
    assert wait_until(lambda: not alive(pid))
    assert not sockets(runtime_folder)


def test_a_forgotten_feed_ends_too(fake):
    feed = millrace.Feed(fake())
    pid = engine_of(feed)
    next(iter(feed))
    del feed
    assert wait_until(lambda: not alive(pid))


TRAINER = """
    import sys, os, time
    sys.path[:0] = [{package!r}]
    import millrace
    from millrace._client import find_engine, process
    from millrace.feed import run_of
    process.engine_command = find_engine.engine_command = lambda: [sys.executable, {fake!r}]
    feed = millrace.Feed({{"fake": {{"length": 40000, "rows": 4}}}})
    for i, batch in enumerate(feed):
        if i == 5:
            print(run_of(feed).stream.client.engine.pid, flush=True)
        time.sleep(0.005)
"""


def start_trainer(code=TRAINER, **more):
    text = textwrap.dedent(code).format(package=str(HERE.parent), fake=str(HERE / "fake_engine.py"))
    return subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, **more)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_engine_ends_with_the_trainer(runtime_folder, number):
    trainer = start_trainer()
    engine = int(trainer.stdout.readline())
    trainer.send_signal(number)
    trainer.wait(PATIENCE)
    assert wait_until(lambda: not alive(engine))
    assert wait_until(lambda: not sockets(runtime_folder))


DDP = """
    import sys, tempfile
    sys.path[:0] = [{package!r}]
    import torch, torch.distributed as dist
    import millrace
    from millrace._client import find_engine, process
    process.engine_command = find_engine.engine_command = lambda: [sys.executable, {fake!r}]
    store = "file://" + tempfile.mktemp()
    dist.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    batches = iter(millrace.Feed({{"fake": {{"length": 400, "rows": 4}}}}).torch())
    for batch in batches:
        model(torch.zeros(1, 1)).sum().backward()
        break
"""


def test_a_loop_that_is_left_by_the_end_of_the_program_ends_in_silence(runtime_folder):
    pytest.importorskip("torch")  # its modules keep the loop until those of Python are gone
    trainer = start_trainer(DDP, stderr=subprocess.PIPE)
    _, said = trainer.communicate(timeout=PATIENCE)
    assert trainer.returncode == 0 and "ignored" not in said, said


def test_a_stopped_trainer_is_only_slow(runtime_folder):
    trainer = start_trainer()
    engine = int(trainer.stdout.readline())
    trainer.send_signal(signal.SIGSTOP)
    time.sleep(1)
    assert alive(engine)
    trainer.send_signal(signal.SIGCONT)
    time.sleep(0.2)
    assert trainer.poll() is None
    trainer.kill()
    trainer.wait(PATIENCE)
    assert wait_until(lambda: not alive(engine))


def test_a_fork_touches_nothing(fake):
    with millrace.Feed(fake(80), depth=4) as feed:
        batches = iter(feed)
        batch = next(batches)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                said = []
                for use in (lambda: next(iter(feed)), feed.state_dict, lambda: batch.ids, feed.stats):
                    try:
                        use()
                        said.append("worked")
                    except millrace.ForkedError as error:
                        said.append("refused" if "open a Feed of its own" in str(error) else str(error))
                said.append(str(batch["number"].sum()))
                del batch, batches
                feed.close()
                os.write(writing, ",".join(said).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert os.read(reading, 1000) == b"refused,refused,refused,refused,6"
        assert batch["number"].tolist() == [0, 1, 2, 3]
        rest = [int(b["number"][0]) for b in batches]
        assert rest == list(range(4, 80, 4))
        os.close(reading), os.close(writing)


def test_a_fork_does_not_keep_the_engine(fake):
    feed = millrace.Feed(fake())
    pid = engine_of(feed)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=time.sleep, args=(20,))
    child.start()
    try:
        feed.close()
        assert wait_until(lambda: not alive(pid))
    finally:
        child.kill()
        child.join()


def shared_memory():
    """What this process has of any ring: mappings, and descriptors."""
    maps = [line for line in Path("/proc/self/maps").read_text().splitlines() if "memfd:" in line]
    links = [os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    return maps + [link for link in links if "memfd:" in link]


@pytest.mark.parametrize("kept", [False, True])
def test_a_fork_keeps_no_memory(fake, kept):
    others = shared_memory()  # of libraries that earlier tests have loaded
    with millrace.Feed(fake(80)) as feed:
        batches = [next(iter(feed))]
        if not kept:
            batches.clear()
        assert set(shared_memory()) > set(others)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                left = [any(part not in others for part in shared_memory())]
                batches.clear()
                left += [part for part in shared_memory() if part not in others]
                os.write(writing, repr(left).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert os.read(reading, 5000) == repr([kept]).encode()
        os.close(reading), os.close(writing)


def interrupt_after(seconds):
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_ctrl_c_leaves_the_feed_iterable(fake):
    with millrace.Feed(fake(40000, slow=0.002)) as feed:
        for round in range(3):
            with pytest.raises(KeyboardInterrupt):
                for i, batch in enumerate(feed):
                    assert batch["number"][0] == 1000 * round + 4 * i
                    if i == 0:
                        timer = interrupt_after(0.02)
                time.sleep(PATIENCE)
            timer.join()
            state = feed.state_dict()
            assert state["epoch"] == round
        feed.load_state_dict(state)
        assert next(iter(feed))["positions"][0] == state["position"]


def test_ctrl_c_at_any_moment(fake, monkeypatch):
    failures = []

    def again(lost):
        # Python drops an interrupt that comes while it frees objects or collects garbage: it comes again.
        if lost.exc_type is KeyboardInterrupt:
            interrupt_after(0.005)
        else:
            failures.append(lost)

    monkeypatch.setattr(sys, "unraisablehook", again)
    chance = random.Random(3)
    with millrace.Feed(fake(400)) as feed:
        for _ in range(25):
            with pytest.raises(KeyboardInterrupt):
                timer = interrupt_after(0.005 + chance.random() * 0.03)
                while True:  # loops that begin, end and are broken off
                    start, most = None, chance.randrange(1, 12)
                    for i, batch in enumerate(feed):
                        start = batch["number"][0] if start is None else start
                        assert batch["number"].tolist() == list(range(start + 4 * i, start + 4 * i + 4))
                        assert (batch["image"][:, 0, 0, 0] == batch["number"]).all()
                        if i == most:
                            break
            timer.join()
        feed.load_state_dict({**feed.state_dict(), "epoch": 5, "position": 0})
        assert [int(batch["number"][0]) for batch in feed] == list(range(5000, 5400, 4))
        assert feed.stats()["restarts"] == 0  # the engine ends when a slot is given back twice
    assert failures == []


def test_descriptors_and_threads_are_given_back(fake):
    def count():
        return len(os.listdir("/proc/self/fd")), threading.active_count()

    def once():
        with millrace.Feed(fake(8)) as feed:
            list(feed)

    once()
    assert wait_until(lambda: threading.active_count() == 1)
    before = count()
    for _ in range(3):
        once()
    assert wait_until(lambda: count() == before), (before, count())


def test_nothing_of_ours_is_in_shared_memory(fake):
    with millrace.Feed(fake()) as feed:
        next(iter(feed))
        for pid in (os.getpid(), engine_of(feed)):
            assert "/dev/shm/" not in Path(f"/proc/{pid}/maps").read_text()
