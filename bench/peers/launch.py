"""Starts one_run.py in a fresh process, watches its memory, and ends whatever it leaves behind."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import meter

HERE = Path(__file__).resolve().parent
# What a run may take besides the seconds that it measures: imports, opening, the first batch, the end.
GRACE = 90


class Failed(Exception):
    """A contender did not do what it was asked; the message is its own last word."""


def run(python, contender, action, *args, seconds=0):
    """The answer of one_run.py, with `peakPssBytes`; Failed when there is none."""
    with tempfile.TemporaryDirectory() as folder:
        result, errors = Path(folder, "result.json"), Path(folder, "stderr")
        with errors.open("w") as stderr:
            process = subprocess.Popen(
                [python, HERE / "one_run.py", contender, result, action, *map(str, args)],
                stdin=subprocess.DEVNULL,
                stdout=stderr,
                stderr=stderr,
                env=environment(python),
                start_new_session=True,
            )
            memory = meter.PeakMemory(process.pid)
            try:
                code = process.wait(timeout=seconds + GRACE if seconds else 3600)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                peak = memory.stop()
                end_descendants()
        if code == 0 and result.exists():
            return {**json.loads(result.read_text()), "peakPssBytes": peak}
        raise Failed(last_word(errors.read_text(), code))


def environment(python):
    """SPDL needs FFmpeg's libraries; install.py puts those of PyAV beside the interpreter's environment."""
    libraries = Path(python).parent.parent / "ffmpeg"
    return {**os.environ, "LD_LIBRARY_PATH": str(libraries)} if libraries.is_dir() else dict(os.environ)


def last_word(text, code):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    word = (errors or lines or [f"exit code {code}"])[-1]
    return f"did not end in time; last it said: {word}" if code is None else word


def end_descendants():
    """Ends and reaps all that descends from this process: it adopts the orphans of a run."""
    me = os.getpid()
    for how in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + 5
        while left := [pid for pid in meter.tree(me) if pid != me]:
            for pid in left:
                try:
                    os.kill(pid, how)
                    os.waitpid(pid, os.WNOHANG)
                except (ProcessLookupError, ChildProcessError):
                    pass
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
