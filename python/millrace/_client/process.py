"""The engine's process: starting it, knowing whether it lives, and what it said last.

Threads: any. A thread of its own ("millrace-reaper") waits for each engine that this process has started, and
sets an event; no lock. Fork: the child forgets the engines, which belong to the parent."""

from __future__ import annotations

import os
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

#: The end of the engine's standard error that goes into an exception (bytes).
LAST_WORDS = 4000

#: Engines that this process has started, by pid.
_started: Dict[int, "Engine"] = {}


def engine_command() -> List[str]:
    """The command line that runs Millrace's engine."""
    from .node import engine_command as find

    return list(find())


#: Seconds for which an engine that lives on is waited for, to hear how it ended: it closed its socket first.
REAPING = 1.5
#: The same for one that is dead: the system tells that, however busy it is.
REAPING_DEAD = 30


class Engine:
    """A running engine: one of ours, or one that another rank has started."""

    def __init__(self, pid: int, words: Optional[int], process: Optional["subprocess.Popen[bytes]"]) -> None:
        self.pid = pid
        self.began = start_time(pid)
        self._words = words
        self._process = process
        self._gone = threading.Event()
        if words is not None:
            # Not __del__, which may come when the modules of a program that ends are gone.
            weakref.finalize(self, os.close, words)
        if process is not None:
            _started[pid] = self
            threading.Thread(target=self._reap, name="millrace-reaper", daemon=True).start()

    @staticmethod
    def start(path: str, starter: int, command: Optional[Sequence[str]] = None) -> "Engine":
        """Starts an engine that will listen at ``path`` and end with the process ``starter``."""
        line = [*(command or engine_command()), "serve", "--socket", path, "--starter", str(starter)]
        line.append("--allow-code")  # of feeds that the clients' own programs built, and say so
        # A file without a name: every rank can read the last words (through /proc), and it goes by itself.
        with tempfile.TemporaryFile() as words:
            # A session of its own: Ctrl-C in the terminal is for the trainer.
            process = subprocess.Popen(
                line, stdin=subprocess.DEVNULL, stdout=words, stderr=words, start_new_session=True
            )
            return Engine(process.pid, os.dup(words.fileno()), process)

    @staticmethod
    def behind(sock: socket.socket) -> "Engine":
        """The engine at the other end of a socket."""
        pid, _ = peer(sock)
        known = _started.get(pid)
        return known if known is not None else Engine(pid, _open_words(pid), None)

    def _reap(self) -> None:
        assert self._process is not None
        self._process.wait()
        self._gone.set()
        _started.pop(self.pid, None)

    @property
    def state(self) -> str:
        """The state of the process as /proc shows it (R, S, D, T, …), or X when it is gone."""
        if self._gone.is_set() or start_time(self.pid) != self.began:
            return "X"
        return _stat(self.pid)[0]

    @property
    def stopped(self) -> bool:
        """Whether it was stopped by a signal."""
        return self.state in ("T", "t")

    def kill(self) -> None:
        """Ends it, whatever it does. Afterwards no process listens at its socket."""
        if self.state != "X":
            try:
                os.kill(self.pid, signal.SIGKILL)
            except OSError:
                pass
        self.wait(1)

    def wait(self, seconds: float) -> None:
        """Until it is gone altogether, at most that long."""
        until = time.monotonic() + seconds
        while not self.over() and time.monotonic() < until:
            time.sleep(0.005)

    def over(self) -> bool:
        """Whether all its threads are gone, and how it ended is known if we started it. Its files are open as
        long as one of them is, also when the first one, after which the process is called, is a zombie."""
        if self._process is not None:
            return self._gone.is_set()
        if start_time(self.pid) not in ("", self.began):
            return True
        try:
            return self.state == "X" and len(os.listdir(f"/proc/{self.pid}/task")) <= 1
        except OSError:
            return True

    def ending(self) -> str:
        """How it ended, as far as that is known."""
        code = self._code()
        if code is None:
            return ""
        if code < 0:
            return f" by {signal.Signals(-code).name}"
        return f" with exit code {code}"

    @property
    def killed(self) -> bool:
        """Whether a signal ended it, as far as that is known."""
        return (self._code() or 0) < 0

    @property
    def ended_well(self) -> bool:
        """Whether it ended by itself, as far as that is known."""
        return self._process is None or self._code() == 0

    def _code(self) -> Optional[int]:
        """Its exit code. None when it lives, or when another process has started it."""
        if self._process is None:
            return None
        if not self._gone.wait(REAPING) and self.state in ("X", "Z"):
            self._gone.wait(REAPING_DEAD)
        return self._process.returncode

    def last_words(self) -> str:
        """The end of its standard error."""
        if self._words is None:
            return ""
        try:
            size = os.fstat(self._words).st_size
            return (
                os.pread(self._words, LAST_WORDS, max(0, size - LAST_WORDS)).decode("utf8", "replace").strip()
            )
        except OSError:
            return ""


def peer(sock: socket.socket) -> Tuple[int, int]:
    """The process at the other end of a socket, and its user."""
    size = struct.calcsize("3i")
    pid, user, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return pid, user


def _open_words(pid: int) -> Optional[int]:
    """The standard error of another process, where that is a file."""
    path = f"/proc/{pid}/fd/2"
    try:
        if stat.S_ISREG(os.stat(path).st_mode):
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        pass
    return None


def _stat(pid: int) -> List[str]:
    """The fields of /proc/PID/stat after the name: state first, start time at 19."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("latin1")
    except OSError:
        return ["X"]
    return text[text.rindex(")") + 2 :].split()


def start_time(pid: int) -> str:
    """When a process began, in clock ticks: with the pid it names a process for good.

    Empty when there is none.
    """
    fields = _stat(pid)
    return fields[19] if len(fields) > 19 and fields[0] != "Z" else ""


def forget() -> None:
    """In a forked child: the engines belong to the parent."""
    for engine in _started.values():
        engine._process = None
    _started.clear()
