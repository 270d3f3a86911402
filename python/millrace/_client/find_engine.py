"""Where the ranks of a job meet their engine: a socket in a private folder, named by the job.

All local ranks and all feeds of a job share one engine. A process that finds none locks the folder and starts
one; those that come later connect. The lock (``flock``) is on the folder itself, so no lock file is left
behind, and the kernel releases it when the process dies.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import socket
import stat
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Mapping, Optional, Tuple

from ..errors import EngineDied, MillraceError
from .process import Engine, engine_command, peer, start_time
from .say import log

#: How long an engine may take until it listens (seconds).
START = 30
#: Engines that are replaced when a signal ends them before that. One that ends by itself would do so again.
KILLED = 2
#: Longest path of a Unix socket, its closing zero included.
PATH_LIMIT = 108

#: What names a job of several ranks, by launcher: all variables of a line together.
JOB_VARIABLES = (
    ("TORCHELASTIC_RUN_ID",), ("MASTER_ADDR", "MASTER_PORT"), ("SLURM_JOB_ID", "SLURM_STEP_ID"),
    ("OMPI_MCA_ess_base_jobid",), ("PMIX_NAMESPACE",), ("JAX_COORDINATOR_ADDRESS",),
)  # fmt: skip
#: Names a job among those whose processes one process has started: Ray's ids count from 1 in each cluster.
RAY_JOB = "RAY_JOB_ID"


class Meeting:
    """The place where this process finds its engine."""

    def __init__(self, path: str, starter: Optional[int]) -> None:
        self.path = path
        #: The engine ends with this process; None: we never start one.
        self.starter = starter

    @staticmethod
    def at(path: "str | os.PathLike[str]") -> "Meeting":
        """An engine that was started by hand (``millrace serve``)."""
        return Meeting(os.path.expanduser(os.fspath(path)), None)

    @staticmethod
    def of_job(world: int, env: Mapping[str, str] = os.environ) -> "Meeting":
        """The place of this job: of this process alone, or of all ranks of one launcher on this host."""
        named = [names for names in JOB_VARIABLES if all(name in env for name in names)] if world > 1 else []
        parts = [f"{name}={env[name]}" for names in named for name in names]
        starter = os.getpid() if world == 1 else os.getppid()
        if not parts:
            parts = [f"process {starter} {start_time(starter)}", env.get(RAY_JOB, "")]
        # Another installation is another engine.
        name = hashlib.sha256("\0".join([*parts, *engine_command()]).encode()).hexdigest()[:16]
        return Meeting(str(private_folder() / f"{name}.sock"), starter)

    def join(self) -> Tuple[socket.socket, Engine]:
        """A connection to the engine, which is started if there is none."""
        sock = connect(self.path)
        if sock is not None:
            return sock, Engine.behind(sock)
        if self.starter is None:
            raise MillraceError(f"no engine listens at {self.path}: start one with `millrace serve --socket`")
        with locked(Path(self.path).parent):
            sock = connect(self.path)
            if sock is not None:
                return sock, Engine.behind(sock)
            sweep(Path(self.path).parent)
            return self._start(self.starter)

    def _start(self, starter: int) -> Tuple[socket.socket, Engine]:
        engine = Engine.start(self.path, starter)
        until = time.monotonic() + START
        killed = 0
        try:
            while True:
                sock = connect(self.path)
                if sock is not None:
                    return sock, engine
                if engine.over():
                    if not engine.killed or killed == KILLED:
                        what = f"the engine could not start: it ended{engine.ending()}"
                        raise EngineDied(what, engine.last_words())
                    killed += 1
                    log.warning(
                        "the engine was ended%s before it listened: another one starts", engine.ending()
                    )
                    _remove(self.path)
                    engine = Engine.start(self.path, starter)
                    until = time.monotonic() + START
                if engine.stopped:
                    raise EngineDied("the engine was stopped by a signal (SIGSTOP) before it listened")
                if time.monotonic() > until:
                    raise EngineDied(f"the engine does not listen after {START} s", engine.last_words())
                time.sleep(0.003)
        except BaseException:
            engine.kill()
            _remove(self.path)
            raise

    def clear(self) -> None:
        """Removes the socket of an engine that is dead, unless another one listens there by now.

        Never waits.
        """
        if self.starter is None:
            return
        try:
            with locked(Path(self.path).parent, wait=False):
                _remove_dead(self.path)
        except OSError:
            pass  # the process that has the lock starts an engine, and removes the socket first


def private_folder() -> Path:
    """A folder of this user's alone."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = Path(base if os.path.isdir(base) and os.access(base, os.W_OK) else tempfile.gettempdir())
    folder = folder / f"millrace-{os.getuid()}"
    if len(os.fsencode(folder)) + 24 > PATH_LIMIT:
        folder = Path("/tmp") / folder.name
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise MillraceError(
            f"{folder} should be a folder that only user {os.getuid()} can enter, and it is not: "
            "remove it, or set XDG_RUNTIME_DIR to a folder of your own"
        )
    return folder


def connect(path: str) -> Optional[socket.socket]:
    """A connection, or None when no process listens there."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.connect(path)
        _check_user(sock, path)
    except (FileNotFoundError, ConnectionRefusedError, ConnectionResetError):
        sock.close()
        return None
    except BaseException:
        sock.close()
        raise
    return sock


def _check_user(sock: socket.socket, path: str) -> None:
    """Only an engine of this user, or of root, may tell us what to map and what to open."""
    pid, user = peer(sock)
    if user not in (os.getuid(), 0):
        raise MillraceError(
            f"{path} is served by user {user} (process {pid}), and we are user {os.getuid()}: an engine must "
            "be run by the same user, or by root. Start one of your own with `millrace serve --socket`"
        )


@contextmanager
def locked(folder: Path, wait: bool = True) -> Iterator[None]:
    """Holds the lock of a folder. The kernel gives it back when we die."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(fd)


def sweep(folder: Path) -> None:
    """Removes sockets at which no process listens: an engine and all its ranks were killed at once."""
    for path in folder.glob("*.sock"):
        _remove_dead(str(path))


def _remove_dead(path: str) -> None:
    sock = connect(path)
    if sock is None:
        _remove(path)
    else:
        sock.close()


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
