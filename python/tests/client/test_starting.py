"""Engines that are killed before they listen."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from patience import PATIENCE

import millrace
from millrace._client.find_engine import KILLED
from millrace._client.process import Engine

pytestmark = pytest.mark.usefixtures("runtime_folder")


def dying(monkeypatch: pytest.MonkeyPatch, folder: Path, deaths: int, how: str) -> Path:
    """An engine of which the first few end so. Gives the file with a line for each that was started."""
    (_, fake), started = millrace._client.process.engine_command(), folder / "started"
    program = folder / "dying.py"
    program.write_text(
        "import os, signal, sys\n"
        f"with open({str(started)!r}, 'a+') as file:\n"
        "    print(os.getpid(), file=file, flush=True)\n"
        f"    if len(open({str(started)!r}).readlines()) <= {deaths}: {how}\n"
        "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])\n"
    )
    command = [sys.executable, str(program), fake]
    monkeypatch.setattr("millrace._client.process.engine_command", lambda: command)
    monkeypatch.setattr("millrace._client.find_engine.engine_command", lambda: command)
    return started


SIGKILL = "os.kill(os.getpid(), signal.SIGKILL)"


def test_one_that_is_killed_is_replaced(fake, monkeypatch, tmp_path):
    started = dying(monkeypatch, tmp_path, KILLED, SIGKILL)
    with millrace.Feed(fake(20)) as feed:
        assert sum(batch["number"].tolist() == [] for batch in feed) == 0
    assert len(started.read_text().split()) == KILLED + 1


def test_it_may_die_between_two_looks(fake, monkeypatch, tmp_path):
    """An engine that was alive when it was looked at, and is dead when that is thought about."""
    started = dying(monkeypatch, tmp_path, KILLED, SIGKILL)
    engines = {}
    state = Engine.state.fget

    def look(engine: Engine) -> str:
        found = state(engine)
        if engines.setdefault(engine, len(engines)) < KILLED:
            engine.wait(PATIENCE)
        return found

    monkeypatch.setattr(Engine, "state", property(look))
    with millrace.Feed(fake(20)) as feed:
        assert len(list(feed)) == 5
    assert len(started.read_text().split()) == KILLED + 1


@pytest.mark.parametrize(("how", "engines"), [(SIGKILL, KILLED + 1), ("sys.exit(3)", 1)])
def test_one_that_always_ends_is_not(fake, monkeypatch, tmp_path, how, engines):
    started = dying(monkeypatch, tmp_path, 100, how)
    with pytest.raises(millrace.EngineDied, match="could not start: it ended (by SIGKILL|with exit code 3)"):
        millrace.Feed(fake(20))
    assert len(started.read_text().split()) == engines
