"""The death drill at any moment, the engine's start included: trainer, engine or both are ended or stopped.

Nothing may hang, nothing may be left behind, and a run that goes on afterwards sees every sample once.
`MILLRACE_DRILL=50` makes 50 rounds of it. A failure names its round; `MILLRACE_DRILL_ROUND=17` repeats it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable, List, Optional, Set

import pytest
from conftest import HERE, LAUNCHER, alive, sockets
from drill_trainer import FEED, SAMPLES, TOLD
from patience import PATIENCE, wait_until

import millrace
from millrace.feed import run_of

pytestmark = pytest.mark.usefixtures("engine")

ROUNDS = int(os.environ.get("MILLRACE_DRILL", "14"))
ONE = os.environ.get("MILLRACE_DRILL_ROUND")

CASES = [
    (who, number)
    for who in ("trainer", "engine")
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP)
]
CASES.append(("both", signal.SIGKILL))


class Round:
    """One trainer in a place of its own, and all that belongs to it."""

    def __init__(self, number: int, folder: Path) -> None:
        self.draw = random.Random(number)
        self.who, self.signal = CASES[number % len(CASES)]
        self.restart = self.draw.random() < 0.5
        self.folder = folder
        self.mark = f"MILLRACE_TEST_MARK={uuid.uuid4().hex}"
        self.was_open = False
        self.trainer: Optional["subprocess.Popen[bytes]"] = None

    def __str__(self) -> str:
        return f"{self.signal.name} to the {self.who}, {'with' if self.restart else 'without'} restart"

    def start(self, restart: bool) -> "subprocess.Popen[bytes]":
        name, value = self.mark.split("=")
        env = {key: held for key, held in os.environ.items() if key not in LAUNCHER}
        env.update({"XDG_RUNTIME_DIR": str(self.folder), name: value})
        line = [sys.executable, str(HERE / "drill_trainer.py"), str(self.folder)]
        with (self.folder / "words").open("ab") as words:
            self.trainer = subprocess.Popen(
                line + ["--no-restart"] * (not restart), env=env, stdout=words, stderr=words
            )
        return self.trainer

    def processes(self) -> List[int]:
        """What was started by this round and runs still."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (path / "environ").read_bytes() and alive(int(path.name)):
                    found.append(int(path.name))
            except OSError:
                pass
        return found

    def engines(self) -> List[int]:
        return [pid for pid in self.processes() if b"\0serve\0" in command(pid)]

    def done(self) -> bool:
        path = self.folder / "state.json"
        return path.exists() and json.loads(path.read_text())["feed"]["epoch"] > 0

    def words(self) -> str:
        return (self.folder / "words").read_text()

    # ------------------------------------------------------------ what happens

    def play(self) -> None:
        trainer = self.start(self.restart)
        # Half of the time while everything starts, else somewhere in the run.
        if self.draw.random() < 0.5:
            self.until(
                lambda: (self.folder / "ids.log").exists() and (self.folder / "ids.log").stat().st_size > 0
            )
        time.sleep(self.draw.uniform(0, 0.5))
        if self.who != "trainer":
            self.until(lambda: trainer.poll() is not None or len(self.engines()) > 0)
        engines = self.engines() if self.who != "trainer" else []
        victims = [*engines, *([trainer.pid] if self.who != "engine" and trainer.poll() is None else [])]
        was_open = (self.folder / "opened").exists()
        if self.done():
            victims = []  # an engine in the last second of its life has nobody left to clean up after it
        for pid in victims:
            try:
                os.kill(pid, self.signal)
            except ProcessLookupError:
                pass  # it was over
        self.was_open = was_open
        getattr(self, f"after_{self.who}")(trainer)
        self.nothing_is_left(swept=self.who != "both")

    def after_trainer(self, trainer: "subprocess.Popen[bytes]") -> None:
        if self.signal == signal.SIGSTOP:
            before = set(self.engines())
            time.sleep(self.draw.uniform(0.1, 2.5))
            # A stopped trainer is only slow: its engine waits for it.
            assert before <= set(self.engines()), "the engine left a trainer that was only stopped"
            trainer.send_signal(self.draw.choice([signal.SIGCONT, signal.SIGKILL]))
        trainer.wait(PATIENCE)

    def after_engine(self, trainer: "subprocess.Popen[bytes]") -> None:
        trainer.wait(PATIENCE)
        if self.restart and self.was_open:
            assert trainer.returncode == 0, "the trainer should have gone on with a new engine"
        else:
            # 0: every batch had been made already. A feed that can't be opened says so at once.
            assert trainer.returncode in (0, TOLD), f"the trainer ended with {trainer.returncode}"

    def after_both(self, trainer: "subprocess.Popen[bytes]") -> None:
        trainer.wait(PATIENCE)

    # ------------------------------------------------------------ what must hold

    def nothing_is_left(self, swept: bool = True) -> None:
        """``swept``: somebody was there to remove the socket."""
        assert wait_until(lambda: not self.processes()), f"left running: {self.described()}"
        if swept:
            assert wait_until(lambda: not sockets(self.folder)), f"left: {sockets(self.folder)}"

    def resume(self) -> None:
        """It goes on to its end, undisturbed, and the log has every sample once."""
        assert self.start(restart=True).wait(PATIENCE) == 0
        self.nothing_is_left()
        seen = [int(line) for line in (self.folder / "ids.log").read_text().split()]
        assert sorted(seen) == list(range(SAMPLES)), f"{len(seen)} ids, {len(set(seen))} different"

    def described(self) -> str:
        lines = []
        for pid in self.processes():
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            lines.append(f"{pid} ({state}) {command(pid)!r}")
        return ", ".join(lines)

    def until(self, what: Callable[[], bool]) -> None:
        assert wait_until(what), "the run never came so far"

    def clean(self) -> None:
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        if self.trainer is not None:
            self.trainer.wait(PATIENCE)


def command(pid: int) -> bytes:
    """The command line of a process; none when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def run_round(number: int, folder: Path) -> Optional[str]:
    """What went wrong, or None."""
    folder.mkdir(mode=0o700)
    one = Round(number, folder)
    try:
        one.play()
        one.resume()
        return None
    except (AssertionError, subprocess.TimeoutExpired) as error:
        return f"round {number} ({one}): {error}\n{one.words()}"
    finally:
        one.clean()


def unused_shared_memory() -> Set[str]:
    """Files in /dev/shm that no process has mapped: what somebody has left there."""
    used = set()
    for path in Path("/proc").glob("[0-9]*/maps"):
        try:
            used |= {
                line.split("/dev/shm/")[1].split()[0]
                for line in path.read_text().splitlines()
                if "/dev/shm/" in line
            }
        except OSError:
            pass
    return {path.name for path in Path("/dev/shm").iterdir()} - used


def test_nothing_is_left_behind_and_nothing_is_lost():
    before = unused_shared_memory()
    numbers = range(ROUNDS) if ONE is None else [int(ONE)]
    # A few at a time: a round mostly waits. Sockets have short paths.
    place = Path("/tmp") / f"mrd-{os.getpid()}"
    place.mkdir(mode=0o700)
    try:
        with ThreadPoolExecutor(3) as pool:
            failures = [
                one for one in pool.map(lambda n: run_round(n, place / str(n)), numbers) if one is not None
            ]
    finally:
        subprocess.run(["rm", "-rf", str(place)], check=False)
    assert not failures, "\n\n".join(failures)
    assert wait_until(lambda: unused_shared_memory() <= before), unused_shared_memory() - before


def test_an_engine_that_is_stopped_before_the_end_ends_too(runtime_folder):
    # All batches are made: nobody waits for it any more, and nobody would notice.
    with millrace.Feed({**FEED, "batch": {"size": SAMPLES // 2}}, workers=1) as feed:
        engine = run_of(feed).stream.client.engine.pid
        batches = iter(feed)
        next(batches)
        assert wait_until(lambda: run_of(feed).stream.client.memory.ready(1) is not None)
        os.kill(engine, signal.SIGSTOP)
        assert len(list(batches)) == 1
    assert wait_until(lambda: not alive(engine))
    assert not sockets(runtime_folder)


def test_a_stopped_engine_that_a_rank_meets_is_replaced(runtime_folder):
    with millrace.Feed(FEED, workers=1, rank=0, world=2) as one:
        stopped = run_of(one).stream.client.engine.pid
        os.kill(stopped, signal.SIGSTOP)
        with millrace.Feed(FEED, workers=1, rank=1, world=2) as two:
            assert not alive(stopped)
            seen = [int(name) for feed in (one, two) for batch in feed for name in batch.ids]
            assert run_of(one).stream.client.engine.pid == run_of(two).stream.client.engine.pid
    assert sorted(seen) == list(range(SAMPLES))


def test_a_new_engine_is_tuned_as_the_last_one_was(fake):
    with millrace.Feed(fake(80), depth=3) as feed:
        feed.tune(depth=5)
        batches = iter(feed)
        next(batches)
        os.kill(run_of(feed).stream.client.engine.pid, signal.SIGKILL)
        assert len(list(batches)) == 19 and run_of(feed).stats.restarts == 1
        assert run_of(feed).stream.opened.depth == run_of(feed).stream.client.memory.used == 5
