"""``Feed(trace="run.json.gz")``: a process beside the trainer that writes its trace (docs/trace.md).

It only reads, and ends when the feed is closed or the trainer is gone: also after a kill there is a trace.
"""

from __future__ import annotations

import os
import signal
import subprocess
import weakref
from typing import Optional

from . import process as engines

#: Seconds that it may take to write the end of the file.
ENDING = 10.0


class Recording:
    """Begins when it is made."""

    def __init__(self, path: "str | os.PathLike[str]") -> None:
        out = os.path.abspath(os.fspath(path))
        line = [*engines.engine_command(), "trace", "record", str(os.getpid()), "--out", out]
        # A session of its own: Ctrl-C in the terminal is for the trainer.
        self._process = subprocess.Popen(
            line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
        )
        self._end = weakref.finalize(self, _end, self._process, os.getpid())

    def close(self) -> None:
        """Ends the file."""
        self._end()


def _end(process: "subprocess.Popen[bytes]", owner: int) -> None:
    if os.getpid() != owner:
        return  # a fork: the recording is its parent's
    status: Optional[int] = process.poll()
    if status is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(ENDING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
