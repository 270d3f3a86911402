"""``Feed(trace="run.json.gz")``: a process beside the trainer that writes its trace (docs/measure.md).

It only reads, and ends when the feed is closed or the trainer is gone: also after a kill there is a trace.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import weakref
from typing import Optional

from .._spans.file import shared
from ..errors import DefinitionError
from . import process as engines

#: Seconds that it may take to write the end of the file.
ENDING = 10.0
#: How its name ends: that says the format (docs/measure.md).
ENDS = (".json", ".json.gz", ".pfw", ".pfw.gz")


def trace_file(path: "str | os.PathLike[str]") -> str:
    """The file that a trace is written to. Raises where that can't be done."""
    given = os.fspath(path)
    out = os.path.abspath(os.path.expanduser(given))
    folder = os.path.dirname(out)
    if not out.endswith(ENDS):
        raise DefinitionError(f"trace: the name ends in {', '.join(ENDS)}, not as {given!r} does")
    if not os.path.isdir(folder):
        raise DefinitionError(f"trace: there is no folder {folder} for {given!r}: make it first")
    there = os.path.exists(out)
    if there and not stat.S_ISREG(os.stat(out).st_mode):
        raise DefinitionError(f"trace: {given!r} is no plain file")
    if not os.access(out if there else folder, os.W_OK):
        raise DefinitionError(f"trace: {out if there else folder} can't be written")
    if shared() is None:
        raise DefinitionError(
            "trace: it is made of spans, and those are turned off (MILLRACE_SPANS=0) or have no memory"
        )
    return out


class Recording:
    """Begins when it is made."""

    def __init__(self, out: str) -> None:
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
