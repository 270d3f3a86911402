"""The program of a Python process of the engine: it runs a user's datasets and functions for one worker.

Run as a file, not as a module, so that nothing of the package is imported before the user's own code. It
reads requests from standard input and answers on standard output until its input ends. Frames, values and the
shared memory (descriptor 3) are those of packages/core/python/wire.ts:

    frame   u32 length of the header | header, JSON | buffers that found no room in the memory
    memory  u32 number of the ask that is being answered | 60 unused bytes | rows | results of functions

Results depend on what is asked and on nothing else: before every sample and every call all generators that
worker_random.py finds are seeded with the ask's own key.
"""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import signal
import struct
import sys
import time
import traceback

from worker_dataset import Dataset
from worker_random import Seeds, generator
from worker_values import Room, pack, pack_columns, unpack

TYPE_CHECKING = False  # typing's own, without the time that it takes to load typing
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence, Tuple

    from worker_values import Bytes

    Ask = Dict[str, Any]
    Reply = Dict[str, Any]

#: Answers are sent together, unless they took longer than this (seconds): the engine goes on with some.
_TOGETHER = 0.0005
#: … or come to more bytes than this.
_TOGETHER_BYTES = 32768
#: Lines of a traceback that go into an error.
_TRACE_LINES = 6

_PR_SET_PDEATHSIG = 1


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class _Frames:
    """Frames over two descriptors that nothing else in this process can reach by printing."""

    def __init__(self) -> None:
        self._out = bytearray()
        self._flushed = 0.0
        self._read = os.dup(0)
        self._write = os.dup(1)
        for descriptor in (self._read, self._write):
            os.set_blocking(descriptor, True)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)  # what the user prints goes where errors go

    def receive(self) -> Optional[Tuple[Dict[str, Any], List[bytearray]]]:
        """The next request, or None at the end of the input, also in the middle of a frame."""
        try:
            length = struct.unpack("<I", self._exactly(4))[0]
            header = json.loads(bytes(self._exactly(length)))
            return header, [self._exactly(length) for length in header["buffers"]]
        except EOFError:
            return None

    def send(self, header: Reply, buffers: Sequence[Bytes]) -> None:
        if buffers:
            header["buffers"] = [len(data) for data in buffers]
        text = _encode(header).encode()
        self._out += struct.pack("<I", len(text))
        self._out += text
        for data in buffers:
            self.flush()
            self._all(data)
        if len(self._out) > _TOGETHER_BYTES or time.monotonic() - self._flushed > _TOGETHER:
            self.flush()

    def flush(self) -> None:
        if self._out:
            self._all(self._out)
            self._out = bytearray()
        self._flushed = time.monotonic()

    def _exactly(self, length: int) -> bytearray:
        data = bytearray(length)
        view = memoryview(data)
        at = 0
        while at < length:
            got = os.readv(self._read, [view[at:]])
            if got == 0:
                raise EOFError
            at += got
        return data

    def _all(self, data: Bytes) -> None:
        view = memoryview(data)
        while len(view) > 0:
            view = view[os.write(self._write, view) :]


class _Worker:
    """Answers the requests of one worker thread, in order, until its input ends."""

    def __init__(self, frames: _Frames, memory: mmap.mmap) -> None:
        self._frames = frames
        self._memory = memory
        self._loaded: Dict[str, Any] = {}

    def run(self) -> None:
        while True:
            request = self._frames.receive()
            if request is None:
                return
            header, buffers = request
            room = Room(self._memory, header["room"])
            for ask in header["asks"]:
                # If this ask kills the process, the engine reads here which one it was.
                struct.pack_into("<I", self._memory, 0, ask["t"])
                room.buffers = []
                before = room.next
                try:
                    reply = self._answer(ask, room, buffers)
                except (Exception, SystemExit) as error:  # a user's exit() must not end this process
                    room.next, room.buffers = before, []
                    reply = {"error": _told(error)}
                reply["t"] = ask["t"]
                reply["next"] = room.next
                self._frames.send(reply, room.buffers)
            self._frames.flush()

    def _answer(self, ask: Ask, room: Room, buffers: Sequence[Bytes]) -> Reply:
        if "load" in ask:
            self._loaded[ask["payload"]] = _load(ask["load"])
            return {}
        if "drop" in ask:
            self._loaded.pop(ask["payload"], None)
            return {}
        target = self._loaded[ask["payload"]]
        if "row" in ask:
            return {"columns": target.columns(ask, room)}
        key = int(ask["key"], 16)
        if "sample" in ask:
            sample = ask["sample"].items()
            result = target(key, lambda: {k: unpack(value, self._memory, buffers) for k, value in sample})
            if not isinstance(result, dict):
                raise TypeError(f"a function over the sample returns a dict, not {type(result).__name__}")
            return {"columns": pack_columns(result, None, room)}
        return {"value": pack(target(key, lambda: unpack(ask["call"], self._memory, buffers)), room)}


def _function(function: Any) -> Any:
    """Calls a user's function with seeded generators; what it is given is made anew for every call."""
    seeds = Seeds(function)
    return lambda key, make: seeds.run(key, lambda: function(make(), generator(key)))


def _load(path: str) -> Any:
    """Reads what the trainer pickled: how to set this interpreter up, then the object itself."""
    import pickle

    with open(path, "rb") as file:
        setting = pickle.load(file)
        for entry in setting["path"]:
            if entry not in sys.path:
                sys.path.append(entry)
        _speak_to(setting.get("output"))
        sys.argv = setting["argv"]  # a program may look at them when it is imported
        if setting.get("main") is not None:
            _import_main(setting["main"])
        loaded = pickle.load(file)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    if setting["kind"] == "dataset":
        return Dataset(loaded["dataset"], loaded["columns"], loaded["map"], loaded["count"])
    return _function(loaded)


def _speak_to(path: Optional[str]) -> None:
    """What the user's code prints belongs to the trainer, not among the engine's last words."""
    if path is None:
        return
    try:
        # Not to wait for a reader of a pipe that has none any more.
        output = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return  # a socket, or another user's
    os.set_blocking(output, True)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)


def _import_main(main: Dict[str, str]) -> None:
    """Makes what the trainer's program defines known here, as multiprocessing does: under another name, so
    that what stands under ``if __name__ == "__main__"`` is left out."""
    import runpy
    import types

    if getattr(sys.modules["__main__"], "_millrace_main", None) == main:
        return
    module = types.ModuleType("__mp_main__")
    module.__dict__["_millrace_main"] = main
    if "name" in main:
        found = runpy.run_module(main["name"], run_name="__mp_main__", alter_sys=True)
    else:
        found = runpy.run_path(main["path"], run_name="__mp_main__")
    module.__dict__.update(found)
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module


def _told(error: BaseException) -> str:
    """An exception in a few lines: what, and where in the user's code."""
    lines = traceback.format_exception_only(type(error), error)
    own = os.path.dirname(__file__)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if os.path.dirname(f.filename) != own]
    where = [line for text in traceback.format_list(frames) for line in text.rstrip().split("\n")]
    return "\n".join(["".join(lines).strip(), *where[-_TRACE_LINES:]])


def _die_with_the_engine() -> None:
    """A process that is busy does not notice the end of its input: the kernel ends it when its thread is
    gone."""
    parent = os.getppid()
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (AttributeError, OSError):
        return  # not Linux
    if os.getppid() != parent:
        os._exit(1)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the trainer
    _die_with_the_engine()
    faulthandler.enable()
    frames = _Frames()
    memory = mmap.mmap(3, 0)
    os.close(3)
    # This file's folder: a user's modules may have the names of its files.
    sys.path.pop(0)
    for name in ("worker_dataset", "worker_random", "worker_values"):
        del sys.modules[name]
    stdout: Any = sys.stdout
    stdout.reconfigure(line_buffering=True)
    try:
        _Worker(frames, memory).run()
    except BrokenPipeError:
        os._exit(0)  # the engine is gone


if __name__ == "__main__":
    main()
