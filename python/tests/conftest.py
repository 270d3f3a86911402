"""What the tests share: folders for sockets, the fake engine, and the real one where it is built."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest
from patience import wait_until

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CLI = ROOT / "dist" / "cli" / "main.js"

sys.path.insert(0, str(HERE.parent))


LAUNCHER = (
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "MASTER_ADDR", "MASTER_PORT",
)  # fmt: skip


def private_folder() -> Iterator[Path]:
    """A folder for sockets; at its end nothing may be left there."""
    folder = Path("/tmp") / f"mr-{os.getpid()}-{time.monotonic_ns() % 10**9}"
    folder.mkdir(mode=0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        for name in LAUNCHER:
            patch.delenv(name, raising=False)
        yield folder
    left = [] if wait_until(lambda: not sockets(folder)) else sockets(folder)
    shutil.rmtree(folder)
    assert not left, f"sockets are left behind: {left}"


@pytest.fixture(autouse=True, scope="module")
def common_folder() -> Iterator[Path]:
    """Where the tests of a file meet an engine that serves one after the other."""
    yield from private_folder()


@pytest.fixture
def runtime_folder() -> Iterator[Path]:
    """Sockets, and so an engine, of this test alone."""
    yield from private_folder()


def sockets(folder: Path) -> List[str]:
    return [path.name for path in folder.rglob("*") if path.is_socket()]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Dict[str, Any]]:
    """Makes definitions for the fake engine, which is used in place of the real one."""
    command = [sys.executable, str(HERE / "fake_engine.py")]
    monkeypatch.setattr("millrace._client.process.engine_command", lambda: command)
    monkeypatch.setattr("millrace._client.find_engine.engine_command", lambda: command)

    def feed(length: int = 20, rows: int = 4, **rest: Any) -> Dict[str, Any]:
        return {"fake": {"length": length, "rows": rows, **rest}}

    return feed


@pytest.fixture
def engine() -> None:
    """The real engine; the test is skipped, with the reason, where there is none."""
    from millrace import MissingError
    from millrace._client.node import engine_command

    try:
        engine_command()
    except MissingError as error:
        pytest.skip(str(error))


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie doesn't)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
