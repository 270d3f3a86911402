"""The death drill: trainer and engine get signals at random moments; every sample still comes exactly once.

MILLRACE_DRILL=50 makes 50 rounds of it; by default there are a few.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from conftest import HERE, alive, sockets, wait_until

pytestmark = pytest.mark.usefixtures("engine")

ROUNDS = int(os.environ.get("MILLRACE_DRILL", "8"))
#: How long anything may take to notice a death (seconds), on a busy machine.
DEADLINE = 4.0
COUNT, EPOCHS = 240, 3
FEED = {
    "source": {"synthetic": {"count": COUNT, "images": {"width": 32, "height": 32}}},
    "order": {"shuffle": "global", "seed": 2},
    "fields": {"image": {"from": "jpg", "as": "image", "apply": [{"randomResizedCrop": 16}]}},
    "batch": {"size": 4, "last": "keep"},
}
TRAINER = f"""
    import json, os, sys, time
    sys.path[:0] = [{str(HERE.parent)!r}]
    import millrace
    log = sys.argv[1]
    lines = open(log).read().splitlines() if os.path.exists(log) else []
    state = json.loads(lines[-1])["state"] if lines else None
    feed = millrace.Feed(json.loads(sys.argv[2]), workers=1, state=state, restart=10)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    print(feed._stream.client.engine.pid, flush=True)
    while feed.epoch < {EPOCHS}:
        for batch in feed:
            line = json.dumps({{"epoch": batch.epoch, "ids": batch.ids, "state": feed.state_dict()}})
            os.write(out, line.encode() + b"\\n")
            time.sleep(float(sys.argv[3]))
            print(feed._stream.client.engine.pid, flush=True)
    print("done", flush=True)
"""


class Trainer:
    def __init__(self, log: Path, pause: float) -> None:
        line = [sys.executable, "-c", textwrap.dedent(TRAINER), str(log), json.dumps(FEED), str(pause)]
        self.process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.engines = set()
        self.last = ""

    def line(self) -> str:
        self.last = self.process.stdout.readline().strip()
        if self.last.isdigit():
            self.engines.add(int(self.last))
        return self.last


@pytest.mark.parametrize("seed", [int(os.environ.get("MILLRACE_DRILL_SEED", "1"))])
def test_death_drill(tmp_path, runtime_folder, seed):
    chance = random.Random(seed)
    log, shared, engines = tmp_path / "log", set(Path("/dev/shm").iterdir()), set()
    for number in range(ROUNDS):
        trainer = Trainer(log, pause=0.01)
        trainer.line()
        for _ in range(chance.randrange(6)):
            trainer.line()
        time.sleep(chance.random() * 0.03)
        who = ("trainer", "engine")[number % 2]
        what = (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP)[number // 2 % 3]
        if trainer.last == "done":
            log.unlink()  # all is told: from the beginning
        elif who == "trainer":
            trainer.process.send_signal(what)
            if what == signal.SIGSTOP:
                time.sleep(0.3)
                trainer.process.send_signal(signal.SIGCONT)
                begun = time.monotonic()
                assert trainer.line(), "a trainer that goes on gets batches"
                assert time.monotonic() - begun < DEADLINE
        else:
            if alive(int(trainer.last)):
                os.kill(int(trainer.last), what)
            begun = time.monotonic()
            for _ in range(8):  # the slots that are full, and then some of the new engine
                assert trainer.line(), "the trainer goes on with another engine"
            assert time.monotonic() - begun < DEADLINE + 3
        trainer.process.kill()
        trainer.process.communicate(timeout=10)
        engines |= trainer.engines
        assert wait_until(lambda: not any(alive(pid) for pid in engines), DEADLINE), (number, who, what)
        assert wait_until(lambda: not sockets(runtime_folder), DEADLINE), (number, who, what)
        check(log)
    trainer = Trainer(log, pause=0)
    while trainer.line() != "done":
        assert trainer.last, "the last trainer died"
    trainer.process.communicate(timeout=10)
    assert check(log) == EPOCHS * COUNT
    assert set(Path("/dev/shm").iterdir()) == shared


def check(log: Path) -> int:
    """No id twice in an epoch; how many there are."""
    seen = {}
    for line in log.read_text().splitlines() if log.exists() else []:
        told = json.loads(line)
        ids = seen.setdefault(told["epoch"], [])
        ids += told["ids"]
    for epoch, ids in seen.items():
        assert len(ids) == len(set(ids)), f"epoch {epoch}"
    return sum(len(ids) for ids in seen.values())
